# Collections in an open frozen file: vectors, lists, stacks and queues, sorted sets and dictionaries, pools.
# They read the file's memory, and have the functions of the collections that were written, but for those that change.
#
# A collection checks that its file is open in `size` and `length`, and so in each access that checks bounds.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    Toft.FrozenArray{T,N}
    Toft.FrozenVector{T}

An array in a frozen file, from [`Toft.content`](@ref): a `DenseArray` that cannot be changed, whose first dimension is
contiguous. After `close` of the file, each use is an `ArgumentError`; `@inbounds` leaves that check out, as it does the
one of the index.
"""
struct FrozenArray{T,N} <: DenseArray{T,N}
    at::Ptr{T}
    dims::NTuple{N,Int}
    file::Frozen
end
"[`Toft.FrozenArray`](@ref) of one dimension."
const FrozenVector{T} = FrozenArray{T,1}

@noinline throw_read_only(c) =
    throw(ArgumentError("a $(read_only_name(c)) of a frozen file cannot be changed; copy or collect it"))
read_only_name(c) = nameof(typeof(c))

Base.size(v::FrozenArray) = (must_be_open(v.file); v.dims)
Base.IndexStyle(::Type{<:FrozenArray}) = IndexLinear()
Base.elsize(::Type{<:FrozenArray{T}}) where {T} = stride_of(T)
Base.sizeof(v::FrozenArray{T}) where {T} = length(v) * stride_of(T)
Base.strides(v::FrozenArray) = strides_of(size(v))
Base.unsafe_convert(::Type{Ptr{T}}, v::FrozenArray{T}) where {T} = (must_be_open(v.file); v.at)

Base.@propagate_inbounds function Base.getindex(v::FrozenArray, i::Int)
    @boundscheck checkbounds(v, i)
    return unsafe_load(v.at, i)
end
Base.setindex!(v::FrozenArray, x, i::Int) = throw_read_only(v)

# ---- lists, stacks and queues: the elements lie side by side, in their order ----

struct FrozenCells{T}
    items::FrozenVector{T}
    head::Int # as of other cells: the first and the last; 0: empty
    tail::Int
end

frozen_list(items::FrozenVector{T}) where {T} =
    list_of_cells(T, Int, FrozenCells{T}(items, min(1, length(items)), length(items)))

read_only_name(::FrozenCells) = "List, Stack or Queue"

Base.length(c::FrozenCells) = length(c.items)
@inline cell(c::FrozenCells, i::Int) = c.items[i], i == c.tail ? 0 : i + 1
@inline checked_cell(c::FrozenCells, i::Int) = cell(c, i)
for f in (:new_cell!, :drop_cell!, :drop_all!, :trim!)
    @eval $f(c::FrozenCells, _...) = throw_read_only(c)
end
Base.reverse!(l::GenericList{T,Int,FrozenCells{T}}) where {T} = throw_read_only(l.cells)
Base.filter!(f, l::GenericList{T,Int,FrozenCells{T}}) where {T} = throw_read_only(l.cells)

# ---- sorted sets and dictionaries: the keys in order, the values beside them ----

"""
    Toft.FrozenSortedSet{K}

A set in a frozen file, from [`Toft.content`](@ref), in the order of `isless`: an `AbstractSet` with the functions of
[`SortedSet`](@ref) that change nothing. A search goes by bisection. `copy` gives a `SortedSet`.
"""
struct FrozenSortedSet{K} <: AbstractSet{K}
    keys::FrozenVector{K}
end

"""
    Toft.FrozenSortedDict{K,V}

A dictionary in a frozen file, from [`Toft.content`](@ref), in the order of `isless` of its keys: an `AbstractDict` with
the functions of [`SortedDict`](@ref) that change nothing. A search goes by bisection. `copy` gives a `SortedDict`.
"""
struct FrozenSortedDict{K,V} <: AbstractDict{K,V}
    keys::FrozenVector{K}
    vals::FrozenVector{V}
end

const FrozenSorted{K} = Union{FrozenSortedSet{K},FrozenSortedDict{K}}

Base.length(c::FrozenSorted) = length(c.keys)
Base.isempty(c::FrozenSorted) = length(c) == 0
@inline element(s::FrozenSortedSet, i::Int) = @inbounds s.keys[i]
@inline element(d::FrozenSortedDict{K,V}, i::Int) where {K,V} = @inbounds Pair{K,V}(d.keys[i], d.vals[i])

# The number of keys that are less than x. All reads lie within the keys, for any result of isless.
function count_less(c::FrozenSorted{K}, x::K) where {K}
    keys, code = c.keys, encode(K, x)
    low, high = 0, length(keys)
    while low < high
        middle = (low + high) >>> 1
        if less(encode(K, @inbounds(keys[middle+1])), code)
            low = middle + 1
        else
            high = middle
        end
    end
    return low
end

# The place of a key, from 1; 0: it is not there.
function place(c::FrozenSorted{K}, x::K) where {K}
    i = count_less(c, x) + 1
    return i <= length(c) && isequal(@inbounds(c.keys[i]), x) ? i : 0
end
function place(c::FrozenSorted{K}, x) where {K}
    key = as_key(K, x)
    return key === nothing ? 0 : place(c, something(key))
end

Base.in(x, s::FrozenSortedSet) = place(s, x) != 0
Base.haskey(d::FrozenSortedDict, k) = place(d, k) != 0
Base.get(d::FrozenSortedDict, k, default) = (i = place(d, k); i == 0 ? default : @inbounds(d.vals[i]))
Base.get(f::Union{Function,Type}, d::FrozenSortedDict, k) = (i = place(d, k); i == 0 ? f() : @inbounds(d.vals[i]))
Base.getkey(d::FrozenSortedDict, k, default) = (i = place(d, k); i == 0 ? default : @inbounds(d.keys[i]))
Base.getindex(d::FrozenSortedDict, k) = (i = place(d, k); i == 0 ? throw_key(k) : @inbounds(d.vals[i]))

Base.iterate(c::FrozenSorted, i::Int=1) = 1 <= i <= length(c) ? (element(c, i), i + 1) : nothing
Base.iterate(r::Iterators.Reverse{<:FrozenSorted}, i::Int=length(r.itr)) =
    1 <= i <= length(r.itr) ? (element(r.itr, i), i - 1) : nothing
nth(c::FrozenSorted, n::Integer) = 1 <= n <= length(c) ? element(c, Int(n)) : throw(BoundsError(c, n))
@static if isdefined(Iterators, :nth)
    Iterators.nth(c::FrozenSorted, n::Integer) = nth(c, n)
end
Base.first(c::FrozenSorted) = isempty(c) ? throw_empty() : element(c, 1)
Base.last(c::FrozenSorted) = isempty(c) ? throw_empty() : element(c, length(c))

Base.searchsortedfirst(c::FrozenSorted{K}, x) where {K} = count_less(c, convert(K, x)::K) + 1
Base.searchsortedlast(c::FrozenSorted{K}, x) where {K} =
    (key = convert(K, x)::K; count_less(c, key) + (place(c, key) != 0))
Base.searchsorted(c::FrozenSorted, x) = searchsortedfirst(c, x):searchsortedlast(c, x)

between(c::FrozenSorted{K}, low, high) where {K} = Between{typeof(c),K}(c, low, high)
function Base.iterate(b::Between{<:FrozenSorted,K}, i::Int=searchsortedfirst(b.collection, b.low)) where {K}
    c = b.collection
    1 <= i <= length(c) || return nothing
    less(encode(K, b.high), encode(K, @inbounds(c.keys[i]))) && return nothing
    return element(c, i), i + 1
end

Base.copy(s::FrozenSortedSet{K}) where {K} = SortedSet{K}(s)
Base.copy(d::FrozenSortedDict{K,V}) where {K,V} = SortedDict{K,V}(d)

Base.push!(s::FrozenSortedSet, x) = throw_read_only(s)
Base.setindex!(d::FrozenSortedDict, v, k) = throw_read_only(d)
Base.get!(d::FrozenSortedDict, k, default) = throw_read_only(d)
Base.get!(f::Union{Function,Type}, d::FrozenSortedDict, k) = throw_read_only(d)
Base.delete!(c::FrozenSorted, k) = throw_read_only(c)
Base.pop!(c::FrozenSorted, k, default) = throw_read_only(c)
Base.pop!(c::FrozenSorted, k) = throw_read_only(c)
for f in (:(Base.pop!), :(Base.popfirst!), :(Base.empty!), :trim!)
    @eval $f(c::FrozenSorted) = throw_read_only(c)
end

# ---- pools: each element at its index ----

"""
    Toft.FrozenPool{T,I,S}

A pool in a frozen file, from [`Toft.content`](@ref): each element has the index that it had. `pool[i]`, `pool[i, j]`,
[`Toft.column`](@ref), `isvalid`, iteration and `eachindex` are those of other pools. The index of a slot that was not
live is a [`StaleIndexError`](@ref), one behind the last live slot a `BoundsError`.
"""
struct FrozenPool{T,I<:Integer,S<:AbstractVector{T}} <: AbstractPool{T,I}
    store::S
    live::FrozenVector{UInt64} # bit i - 1 is that of slot i
    count::Int
end

Base.length(p::FrozenPool) = (must_be_open(p.live.file); p.count)
Base.isempty(p::FrozenPool) = length(p) == 0
capacity(p::FrozenPool) = length(p.store)
is_fixed(::FrozenPool) = true
function live_range(p::FrozenPool) # the last slot is live
    first_live = isempty(p) ? 1 : first(eachindex(p)) % Int
    return first_live + length(p) - 1 == capacity(p) ? (first_live:capacity(p)) : nothing
end
kind_name(::FrozenPool) = "FrozenPool"

is_live(p::FrozenPool, i::Int) =
    (i - 1) % UInt < length(p.store) % UInt && @inbounds(p.live[(i - 1) >>> 6 + 1]) >> ((i - 1) & 63) & 1 == 1

@inline function check_slot(p::FrozenPool, i::Integer)
    in_int = i % Int
    (in_int == i) & ((in_int - 1) % UInt < length(p.store) % UInt) || throw_bounds(p, i)
    is_live(p, in_int) || throw_stale(i)
    return nothing
end

read_field(store::FrozenVector, i::Int, j) = getfield(@inbounds(store[i]), j)

# The next live slot: the word that it is in, and those of its bits that are still to come.
function next_live(p::FrozenPool, (k, word)::Tuple{Int,UInt64})
    while word == 0
        k == length(p.live) && return nothing
        k += 1
        word = @inbounds p.live[k]
    end
    return 64 * (k - 1) + trailing_zeros(word) + 1, (k, word & (word - 1))
end

function Base.iterate(p::FrozenPool, state::Tuple{Int,UInt64}=(0, zero(UInt64)))
    found = next_live(p, state)
    return found === nothing ? nothing : (@inbounds(p.store[found[1]]), found[2])
end
function Base.iterate(live::LiveIndices{I,<:FrozenPool}, state::Tuple{Int,UInt64}=(0, zero(UInt64))) where {I}
    found = next_live(live.pool, state)
    return found === nothing ? nothing : (found[1] % I, found[2])
end

for f in (:take_end!, :take_begin!, :deallocateend!, :deallocatebegin!, :emptyend!, :emptybegin!, :trim!)
    @eval $f(p::FrozenPool) = throw_read_only(p)
end
deallocate!(p::FrozenPool, i::Slot) = throw_read_only(p)
Base.setindex!(p::FrozenPool, t, i::Slot) = throw_read_only(p)
Base.setindex!(p::FrozenPool, x, i::Slot, j::Field) = throw_read_only(p)
