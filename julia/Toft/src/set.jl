# SortedSet: the elements in a pool, their order in a tree.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    SortedSet{K}(kind=FreeListAllocator, n=nothing)
    SortedSet{K}(elements)
    SortedSet(elements)

A set whose elements are in the order of `isless`: an `AbstractSet`. They are stored in a pool of this kind
([`Allocator`](@ref), [`FreeListAllocator`](@ref), [`SOAllocator`](@ref) or [`FreeListSOAllocator`](@ref)), for `n`
elements at most, or as many as there are; when a fixed one is full, `push!` throws [`PoolFullError`](@ref). In the two
kinds without a free list, the slot of what is deleted stays taken until `empty!`.

`first`, `last`, `pop!` (the last), `popfirst!`, iteration, `Iterators.reverse` and [`between`](@ref) go by the order.
Searching, adding and deleting take time in proportion to the logarithm of the length. Steady use makes no garbage. Only
lookups may run on several threads at a time.

    julia> s = SortedSet([3, 1, 2])
    SortedSet{Int64}([1, 2, 3])

    julia> collect(between(s, 2, 9))
    2-element Array{Int64,1}:
     2
     3
"""
struct SortedSet{K,P<:AbstractPool,C} <: AbstractSet{K}
    pool::P
    tree::Tree{C}
end

function SortedSet{K}(kind::Type{<:AbstractPool}=FreeListAllocator, n::Union{Integer,Nothing}=nothing) where {K}
    pool = kind{Tuple{K},UInt32}(n)
    tree = Tree{code_type(K)}(something(n, 0))
    return SortedSet{K,typeof(pool),code_type(K)}(pool, tree)
end

SortedSet{K}(elements) where {K} = union!(SortedSet{K}(), elements)
SortedSet(elements) = SortedSet{eltype(elements)}(elements)
SortedSet() = SortedSet{Any}()

Base.length(s::SortedSet) = s.tree.count
Base.isempty(s::SortedSet) = s.tree.count == 0

# x as a key of type K; nothing is equal to what cannot be converted.
function as_key(::Type{K}, x) where {K}
    key = try
        convert(K, x)::K
    catch
        return nothing
    end
    return isequal(key, x) ? Some{K}(key) : nothing
end

@inline Base.in(x::K, s::SortedSet{K}) where {K} = search(s.tree, encode(K, x))[2]
function Base.in(x, s::SortedSet{K}) where {K}
    key = as_key(K, x)
    return key !== nothing && in(something(key), s)
end

@inline function Base.push!(s::SortedSet{K}, x::K) where {K}
    code = encode(K, x)
    at, there = search(s.tree, code)
    there || put_key!(s.tree, at, code, allocateend!(s.pool, (x,)))
    return s
end
Base.push!(s::SortedSet{K}, x) where {K} = push!(s, convert(K, x)::K)

@inline function Base.delete!(s::SortedSet{K}, x::K) where {K}
    code = encode(K, x)
    at, there = search(s.tree, code)
    there && give_back!(s.pool, take_key!(s.tree, at, code))
    return s
end
function Base.delete!(s::SortedSet{K}, x) where {K}
    key = as_key(K, x)
    return key === nothing ? s : delete!(s, something(key))
end

# The pool's slot of an element that is no more; the collection knows it is live.
@inline give_back!(p::FreePool, i::Integer) = @inbounds deallocate!(p, i)
@inline give_back!(p::EndPool, i::Integer) = (refers(p.store) && forget!(p.store, i % Int); nothing)

function Base.pop!(s::SortedSet{K}, x) where {K}
    x in s || throw(KeyError(x))
    delete!(s, x)
    return x
end
function Base.pop!(s::SortedSet{K}, x, default) where {K}
    x in s || return default
    delete!(s, x)
    return x
end

function Base.pop!(s::SortedSet)
    x = last(s)
    delete!(s, x)
    return x
end

function Base.popfirst!(s::SortedSet)
    x = first(s)
    delete!(s, x)
    return x
end

function Base.empty!(s::SortedSet)
    emptyend!(s.pool)
    start!(s.tree)
    return s
end

# Order

@inline element(s::SortedSet{K}, at) where {K} = decode(K, key_at(s.tree, at))::K

function Base.iterate(s::SortedSet, at::Int=first_at(s.tree))
    is_key(s.tree, at) || return nothing
    return element(s, at), at_after(s.tree, at)
end

function Base.iterate(r::Iterators.Reverse{<:SortedSet}, at::Int=last_at(r.itr.tree))
    is_key(r.itr.tree, at) || return nothing
    return element(r.itr, at), at_before(r.itr.tree, at)
end

function Base.first(s::SortedSet)
    isempty(s) && throw(ArgumentError("collection must be non-empty"))
    return element(s, first_at(s.tree))
end

function Base.last(s::SortedSet)
    isempty(s) && throw(ArgumentError("collection must be non-empty"))
    return element(s, last_at(s.tree))
end

struct Between{C,K}
    collection::C
    low::K
    high::K
end

"""
    between(set, low, high)
    between(dict, low, high)

The elements of a [`SortedSet`](@ref) from `low` to `high`, both included, in order; of a [`SortedDict`](@ref), the
pairs whose keys are in that range. Nothing is copied: an iterator, which finds its beginning when it is run.
"""
between(s::SortedSet{K}, low, high) where {K} = Between{typeof(s),K}(s, low, high)

Base.IteratorSize(::Type{<:Between}) = Base.SizeUnknown()
Base.eltype(::Type{<:Between{C}}) where {C} = eltype(C)

function Base.iterate(b::Between{C,K}, at::Int=first_from(b.collection.tree, encode(K, b.low))) where {C,K}
    t = b.collection.tree
    is_key(t, at) || return nothing
    less(encode(K, b.high), key_at(t, at)) && return nothing
    return element(b.collection, at), at_after(t, at)
end

# What Base's functions of sets make

Base.empty(::SortedSet{K}, ::Type{U}=K) where {K,U} = SortedSet{U}()
if isdefined(Base, :emptymutable)
    Base.emptymutable(::SortedSet{K}, ::Type{U}=K) where {K,U} = SortedSet{U}()
end
if isdefined(Base, :copymutable)
    Base.copymutable(s::SortedSet) = copy(s)
end
Base.copy(s::SortedSet{K}) where {K} = union!(SortedSet{K}(), s)
Base.filter(f, s::SortedSet{K}) where {K} = union!(SortedSet{K}(), Iterators.filter(f, s))

function Base.filter!(f, s::SortedSet)
    foreach(x -> delete!(s, x), [x for x in s if !f(x)])
    return s
end

function Base.show(io::IO, s::SortedSet{K}) where {K}
    print(io, "SortedSet{", K, "}(")
    show_elements(io, s)
    print(io, ")")
end
