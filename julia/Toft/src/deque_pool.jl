# Pools that are filled and emptied at their two ends: Allocator and SOAllocator.
#
# The slots are numbered 1 to n, and a number never moves. `runs` is the order in which they follow each other: at first
# 1:n, and around again, so a fixed pool is a ring. A pool that grows inserts its new slots as a run between the end and
# the beginning; the order then is not that of the numbers.
#
#     fast path    one compare: the end moves within its run (take_end!, drop_end!, take_begin!, drop_begin!)
#     slow path    the ..._slow! functions: to the next run, empty and full pools, growth
#
# While the live slots are first:last, a split point between front and back lets each end check one bound only; the end
# that reaches it moves the split point.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    AbstractPool{T,I}

A pool: slots for elements of type `T`, addressed by indices of the integer type `I`; 0 is none. The four kinds
are [`Allocator`](@ref), [`SOAllocator`](@ref), [`FreeListAllocator`](@ref) and [`FreeListSOAllocator`](@ref).

A pool belongs to one task at a time.
"""
abstract type AbstractPool{T,I<:Integer} end

const LEAST = 16 # slots that a pool begins with when it grows

mutable struct DequePool{T,I<:Integer,S<:AbstractVector{T}} <: AbstractPool{T,I}
    store::S
    first::Int # index of the first live slot; last + 1 when there is none
    last::Int  # and of the last
    stop::Int  # last may rise so far in the fast path: not beyond its run, and not into live slots
    low_bound::Int # and fall so far
    high_bound::Int # first may rise so far in the fast path
    begin_low::Int # and fall so far, but not onto last
    contiguous::Bool # the live slots are first:last
    least_index::Int # when they are not: low and n, the indices that may be used; else beyond any index
    greatest_index::Int
    single_run::Bool # and all slots are the run 1:n
    resizable::Bool
    wrapped::Bool # the end has come around into the run where the beginning is
    low::Int # the slots are low:n; low is 1 but for what `init` leaves out
    n::Int
    runs::Vector{UnitRange{Int}} # all slots, in the order in which they follow each other, and around
    end_run::Int # in which of them is last
    begin_run::Int # and first
    free_count::Int # of a FreeListPool: how many of the slots from first to last are free

    function DequePool{T,I,S}(store::S, n::Int, resizable::Bool, init::Int) where {T,I<:Integer,S<:AbstractVector{T}}
        low = init + 1
        return new{T,I,S}(store, low, init, n, init, low, low, true, typemax(Int), 0, init == 0, resizable, false, low,
                           n, [low:n], 1, 1, 0)
    end
end

"""
    Allocator{T,I=Int}(n, init=0)
    Allocator{T,I=Int}(nothing, init=0)

A pool of elements of type `T` in a `Vector{T}`: of `n` slots for good, or one that grows (it begins with 16 slots).

[`allocateend!`](@ref) and [`allocatebegin!`](@ref) take a slot at one of the ends and return its index, of the type
`I`; [`deallocateend!`](@ref) and [`deallocatebegin!`](@ref) free the last or the first. An index is good until its
slot is freed: growth does not move it. A fixed pool is a ring: a slot freed at one end can be taken at the
other. The first `init` slots are left out until the pool is emptied.

[`deallocate!`](@ref) frees nothing in a pool of this kind; [`emptyend!`](@ref) frees all. An index outside of
the live slots is a `BoundsError`; `@inbounds` leaves the check out. While the live slots go around, from a higher to a
lower index, only an index outside of the pool is one, and a slot that was freed reads as its old bytes:
[`isvalid`](@ref) is exact then too. When all slots are taken, a
fixed pool throws [`PoolFullError`](@ref), as one that grows does when `I` cannot number more.

    julia> using Toft

    julia> pool = Allocator{Float64}(2);

    julia> i = allocateend!(pool, 2.5)
    1

    julia> pool[i]
    2.5
"""
const Allocator{T,I<:Integer} = DequePool{T,I,Vector{T}}

"""
    SOAllocator{T,I=Int}(n, init=0)
    SOAllocator{T,I=Int}(nothing, init=0)

As [`Allocator`](@ref), with a column for each field of the tuple, named tuple or struct `T`. `pool[i, j]` and
`pool[i, j] = x` touch field `j` (a number or a name) alone; [`column`](@ref) is field `j` of all live elements. For
the field of a struct, [`concretetype`](@ref) gives the concrete type.

    julia> using Toft: column

    julia> pool = SOAllocator{NamedTuple{(:x, :n),Tuple{Float64,Int}}}(100);

    julia> i = allocateend!(pool, (x = 1.5, n = 7))
    1

    julia> pool[i, :n] += 1
    8

    julia> column(pool, :x)[i]
    1.5
"""
const SOAllocator{T,I<:Integer,S<:Columns{T}} = DequePool{T,I,S}

# Constructors

function index_limit(::Type{I}) where {I<:Integer}
    isbitstype(I) && I !== Bool || throw(ArgumentError("$I cannot number slots"))
    return Int(min(typemax(I), typemax(Int) >> 1))
end

function check_size(::Type{I}, n::Integer, init::Integer) where {I}
    0 <= n <= index_limit(I) || throw(ArgumentError("a pool with indices of type $I cannot have $n slots"))
    0 <= init <= n || throw(ArgumentError("of $n slots, $init cannot be left out"))
    return Int(n)
end

first_size(::Type{I}, init::Integer) where {I} = check_size(I, max(min(LEAST, index_limit(I)), init), init)

function DequePool{T,I,S}(n::Integer, init::Integer=0) where {T,I<:Integer,S<:AbstractVector{T}}
    n = check_size(I, n, init)
    return DequePool{T,I,S}(empty_store(S, n), n, false, Int(init))
end

function DequePool{T,I,S}(::Nothing, init::Integer=0) where {T,I<:Integer,S<:AbstractVector{T}}
    n = first_size(I, init)
    return DequePool{T,I,S}(empty_store(S, n), n, true, Int(init))
end

# With a store that the caller made, as long as the pool is to be
function DequePool{T,I,S}(store::S, n::Union{Integer,Nothing}, init::Integer=0) where {T,I<:Integer,S<:Columns{T}}
    n === nothing || n == length(store) ||
        throw(ArgumentError("a store of $(length(store)) slots for a pool of $n"))
    return DequePool{T,I,S}(store, check_size(I, length(store), init), n === nothing, Int(init))
end

Allocator{T}(n::Union{Integer,Nothing}, init::Integer=0) where {T} = Allocator{T,Int}(n, init)

columns_type(::Type{T}) where {T} = typeof(Columns{T}(0))
SOAllocator{T,I}(n::Union{Integer,Nothing}, init::Integer=0) where {T,I} = SOAllocator{T,I,columns_type(T)}(n, init)
SOAllocator{T}(n::Union{Integer,Nothing}, init::Integer=0) where {T} = SOAllocator{T,Int}(n, init)

# Elements

# Whether a slot is live.
function is_live(p::DequePool, i::Int)
    p.contiguous && return p.first <= i <= p.last
    p.low <= i <= p.n || return false
    k = 1
    while !(i in p.runs[k])
        k += 1
    end
    k == p.begin_run && k == p.end_run && return i >= p.first || i <= p.last
    k == p.begin_run && return i >= p.first
    k == p.end_run && return i <= p.last
    return mod(k - p.begin_run, length(p.runs)) < mod(p.end_run - p.begin_run, length(p.runs)) || p.wrapped
end

# The live slots as ranges, from the first to the last.
function live_pieces(p::DequePool)
    p.contiguous && return [p.first:p.last]
    pieces = [p.first:last(p.runs[p.begin_run])]
    k = p.begin_run
    while true
        k = k == length(p.runs) ? 1 : k + 1
        k == p.end_run && break
        push!(pieces, p.runs[k])
    end
    return push!(pieces, first(p.runs[p.end_run]):p.last)
end

# Whether an index may be used: while the live slots are first:last, that of a live slot; else that of any slot, since
# to find the runs would need a call that returns. The compiler reloads every field after such a call, which makes trees
# twice as slow; after a call that only throws it reloads nothing.
@inline in_range(p::DequePool, i::Int) = (min(p.first, p.least_index) <= i) && (i <= max(p.last, p.greatest_index))

@inline function check_slot(p::DequePool, i::Integer)
    in_int = i % Int
    in_int == i && in_range(p, in_int) || throw_bounds(p, i)
    return nothing
end

@noinline throw_bounds(p, i) = throw(BoundsError(p, i))

"""
    Handle{I}

A slot's index and generation, from [`handle`](@ref). It takes the place of an index; once its slot was freed it is
a [`StaleIndexError`](@ref), also when the slot was taken again, and so it is in another pool, but not in a copy of
its own. (Generations have 32 bits: after 2^32 such rounds of one slot its handle would be good again.)
The first handle of a pool takes 4 bytes more for each slot, and from then on each free is counted.
"""
struct Handle{I<:Integer}
    index::I
    generation::UInt32
end

const Slot = Union{Integer,Handle}
@inline index_of(i::Integer) = i % Int
@inline index_of(h::Handle) = h.index % Int
check_slot(p::AbstractPool, h::Handle) = throw_no_handles(p)
@noinline throw_no_handles(p) =
    throw(ArgumentError("$(kind_name(p)) has no handles, as FreeListAllocator and FreeListSOAllocator have"))

@inline store_of(p::AbstractPool) = p.store

# Of all kinds:

Base.@propagate_inbounds function Base.getindex(p::AbstractPool, i::Slot)
    store = store_of(p) # before the check, so that the compiler moves it out of loops
    @boundscheck check_slot(p, i)
    return @inbounds store[index_of(i)]
end

Base.@propagate_inbounds function Base.setindex!(p::AbstractPool{T}, t, i::Slot) where {T}
    x = convert(T, t)::T # which may change the pool
    store = store_of(p)
    @boundscheck check_slot(p, i)
    @inbounds store[index_of(i)] = x
    return p
end

const Field = Union{Integer,Symbol}

Base.@propagate_inbounds function Base.getindex(p::AbstractPool, i::Slot, j::Field)
    store = store_of(p)
    @boundscheck check_slot(p, i)
    return read_field(store, index_of(i), j)
end

Base.@propagate_inbounds function Base.setindex!(p::AbstractPool, x, i::Slot, j::Field)
    @boundscheck check_slot(p, i)
    write_field!(store_of(p), x, index_of(i), j)
    return p
end

# The fast paths: at each end, take and drop a slot. What the slow path returns is stored once more, where the two paths
# meet: so in a loop the compiler keeps it in a register.

@inline function take_end!(p::DequePool)
    i = p.last
    i = i == p.stop ? take_end_slow!(p) : i + 1
    p.last = i
    return i
end

@inline function drop_end!(p::DequePool)
    i = p.last
    next = last_before(p, i)
    refers(p.store) && forget!(p.store, i)
    p.last = next
    return nothing
end

# What the last slot is after i, which is it, and the first; the caller sets it. Throws if there is none.
@inline last_before(p::DequePool, i::Int) = i > p.low_bound ? i - 1 : drop_end_slow!(p)
@inline function first_after(p::DequePool, i::Int)
    if i >= p.high_bound
        p.contiguous & (i <= p.last) || return drop_begin_slow!(p)
        p.low_bound, p.high_bound = p.last, p.last + 1
    end
    return i + 1
end

@inline function take_begin!(p::DequePool)
    i = p.first - 1
    if (i < p.begin_low) | (i == p.last)
        i = take_begin_slow!(p)
    elseif p.last < i # the two ends may be about to meet: the end takes its slow path there
        p.stop = min(p.stop, i - 1)
    end
    p.first = i
    return i
end

@inline function drop_begin!(p::DequePool)
    i = p.first
    next = first_after(p, i)
    refers(p.store) && forget!(p.store, i)
    p.first = next
    return nothing
end

# The slow paths

# Computes the limits of the fast paths from first, last, runs, end_run, begin_run and wrapped.
function update_limits!(p::DequePool)
    end_slots, begin_slots = p.runs[p.end_run], p.runs[p.begin_run]
    p.contiguous = p.end_run == p.begin_run && !p.wrapped
    p.least_index, p.greatest_index = p.contiguous ? (typemax(Int), 0) : (p.low, p.n)
    p.single_run = p.contiguous && p.low == 1 && length(p.runs) == 1
    p.stop = p.wrapped ? p.first - 1 : last(end_slots)
    p.low_bound, p.high_bound = p.contiguous ? (p.first - 1, p.first) : (first(end_slots), last(begin_slots))
    p.begin_low = first(begin_slots)
    return nothing
end

# Nothing is live: all slots are one run again, and the end takes `next` first.
function restart!(p::DequePool, next::Int)
    length(p.runs) == 1 || resize!(p.runs, 1)
    p.runs[1] = p.low:p.n
    p.first, p.last = next, next - 1
    p.end_run = p.begin_run = 1
    p.wrapped = false
    update_limits!(p)
    return nothing
end

run_after(p::DequePool, k::Int) = k == length(p.runs) ? 1 : k + 1
run_before(p::DequePool, k::Int) = k == 1 ? length(p.runs) : k - 1

@noinline function take_end_slow!(p::DequePool)
    while true
        if isempty(p)
            p.last == last(p.runs[p.end_run]) && restart!(p, p.low)
        elseif !p.wrapped && p.last == last(p.runs[p.end_run])
            next = run_after(p, p.end_run)
            if next != p.begin_run || p.first > first(p.runs[next]) # it has room
                p.wrapped = next == p.begin_run
                p.end_run = next
                p.last = first(p.runs[next]) - 1
            end
        end
        update_limits!(p)
        p.last < p.stop && break
        grow!(p)
    end
    p.last += 1
    return p.last
end

@noinline function take_begin_slow!(p::DequePool)
    while true
        if isempty(p)
            p.first == first(p.runs[p.begin_run]) && restart!(p, p.n + 1)
        elseif !p.wrapped && p.first == first(p.runs[p.begin_run])
            next = run_before(p, p.begin_run)
            if next != p.end_run || p.last < last(p.runs[next])
                p.wrapped = next == p.end_run
                p.begin_run = next
                p.first = last(p.runs[next]) + 1
            end
        end
        update_limits!(p)
        (p.wrapped ? p.last : p.begin_low - 1) < p.first - 1 && break
        grow!(p)
    end
    p.first -= 1
    update_limits!(p)
    return p.first
end

# The pool is empty, or goes on in another run; or the live slots are first:last, and the end may go where first is.

@noinline function drop_end_slow!(p::DequePool)
    isempty(p) && throw_empty()
    if p.contiguous
        p.last -= 1
    else
        p.end_run = run_before(p, p.end_run)
        p.last = last(p.runs[p.end_run])
        p.wrapped = false
    end
    update_limits!(p)
    return p.last
end

@noinline function drop_begin_slow!(p::DequePool)
    isempty(p) && throw_empty()
    p.begin_run = run_after(p, p.begin_run)
    p.first = first(p.runs[p.begin_run])
    p.wrapped = false
    update_limits!(p)
    return p.first
end

@noinline throw_empty() = throw(ArgumentError("collection must be non-empty"))

# All slots are live, or there are none: as many again, between the end and the beginning.
function grow!(p::DequePool{T,I}) where {T,I}
    n, limit = p.n, index_limit(I)
    p.resizable && n < limit || throw(PoolFullError(n))
    more = n > limit >> 1 ? limit : max(2n, min(LEAST, limit))
    grow_store!(p.store, more)
    slots, k = p.runs[p.end_run], p.end_run
    if p.wrapped # they met within a run
        splice!(p.runs, k, [first(slots):p.last, n+1:more, p.first:last(slots)])
        p.begin_run = k + 2
        p.wrapped = false
    elseif last(slots) == n
        p.runs[k] = first(slots):more
    else
        insert!(p.runs, k + 1, n+1:more)
        p.begin_run > k && (p.begin_run += 1)
    end
    p.n = more
    update_limits!(p)
    return nothing
end

# The interface

"""
    allocateend!(pool, t) -> index
    allocateend!(pool) -> index

Take a slot after the last one, put `t` there, and return its index. Without `t` the slot keeps its old value,
or nothing (`UndefRefError` when it is read before it is set, for types that hold references). In the free-list kinds a
slot that was freed is taken first, the last such first. Throws [`PoolFullError`](@ref) when there is none.
"""
@inline function allocateend!(p::AbstractPool{T,I}, t::T) where {T,I<:Integer}
    need_fields(store_of(p), t)
    i = take_end!(p)
    @inbounds store_of(p)[i] = t
    return i % I
end
allocateend!(p::AbstractPool{T}, t) where {T} = allocateend!(p, convert(T, t)::T)
allocateend!(p::AbstractPool{T,I}) where {T,I<:Integer} = take_end!(p) % I

"""
    allocatebegin!(pool, t) -> index
    allocatebegin!(pool) -> index

As [`allocateend!`](@ref), before the first slot. In an empty pool it begins at the highest index.
"""
@inline function allocatebegin!(p::AbstractPool{T,I}, t::T) where {T,I<:Integer}
    need_fields(store_of(p), t)
    i = take_begin!(p)
    @inbounds store_of(p)[i] = t
    return i % I
end
allocatebegin!(p::AbstractPool{T}, t) where {T} = allocatebegin!(p, convert(T, t)::T)
allocatebegin!(p::AbstractPool{T,I}) where {T,I<:Integer} = take_begin!(p) % I

"""
    deallocateend!(pool)

Free the last slot. Throws `ArgumentError` when the pool is empty. Not for the free-list kinds, where any slot can
be freed: [`deallocate!`](@ref).
"""
@inline deallocateend!(p::DequePool) = drop_end!(p)

"""
    deallocatebegin!(pool)

Free the first slot. Throws `ArgumentError` when the pool is empty. Not for the free-list kinds.
"""
@inline deallocatebegin!(p::DequePool) = drop_begin!(p)

"""
    deallocate!(pool, index)

Free the slot with this index, or [`handle`](@ref). In [`Allocator`](@ref) and [`SOAllocator`](@ref), which give
back at their ends alone, this only checks the index: the memory returns with [`emptyend!`](@ref). In the free-list
kinds an index that was freed already is a [`StaleIndexError`](@ref); one that was never taken, a
`BoundsError`.
"""
Base.@propagate_inbounds function deallocate!(p::DequePool, i::Integer)
    @boundscheck check_slot(p, i)
    return nothing
end

"""
    emptyend!(pool)

Free all slots; [`allocateend!`](@ref) begins at index 1 again. The memory is kept: [`trim!`](@ref) returns it.
The time does not depend on the number of slots, unless they hold references; in the free-list kinds, if any slot is
live, one byte is written for each slot that was ever taken.
"""
@inline function emptyend!(p::DequePool)
    forget_all!(p)
    if p.single_run
        p.first, p.last, p.stop, p.low_bound, p.high_bound = 1, 0, p.n, 0, 1
    else
        p.low = 1
        restart!(p, 1)
    end
    return nothing
end

"""
    emptybegin!(pool)

Free all slots; [`allocatebegin!`](@ref) begins at the highest index again.
"""
function emptybegin!(p::DequePool)
    forget_all!(p)
    p.low = 1
    restart!(p, p.n + 1)
    return nothing
end

@inline forget_all!(p::DequePool) = refers(p.store) && forget_live!(p)

@noinline function forget_live!(p::DequePool)
    for piece in live_pieces(p), i in piece
        forget!(p.store, i)
    end
end

"""
    capacity(pool)

How many slots the pool has, live or not.
"""
capacity(p::DequePool) = p.n - p.low + 1

is_fixed(p::DequePool) = !p.resizable

"""
    trim!(pool) -> pool

Return the memory behind the last live slot of a pool that grows. No index moves. A pool whose live slots go around,
from its highest to its lowest index, keeps its memory, and a fixed one does.
"""
function trim!(p::DequePool)
    p.resizable && p.contiguous || return p
    n = max(isempty(p) ? p.low - 1 : p.last, min(LEAST, p.n))
    if n < p.n
        p.store = shrunk(p.store, n)
        p.n = n
        if isempty(p)
            restart!(p, p.low)
        else
            resize!(p.runs, 1)
            p.runs[1] = p.low:n
            p.end_run = p.begin_run = 1
            update_limits!(p)
        end
    end
    return p
end

"""
    column(pool, j)

Field `j` (a number or a name) of the live elements of a structure-of-arrays pool, in the order of iteration: a view of
the column, which can be written. It is of the slots that are live now; when the pool has changed, ask for it again. The
live slots must be one range: `ArgumentError` while a slot between them is free (in the free-list kinds) and while they
go around (from a higher to a lower index). `pool[i, j]` for the `i` of `eachindex(pool)` works then too. Also an
`ArgumentError` for a pool without columns, and for a field that there is not.

    julia> using Toft: column

    julia> pool = SOAllocator{Tuple{Int,Float64}}(nothing);

    julia> foreach(k -> allocateend!(pool, (k, k / 2)), 1:3)

    julia> column(pool, 1) .*= 2; sum(column(pool, 1)), sum(column(pool, 2))
    (12, 3.0)
"""
@inline function column(p::AbstractPool, j::Field)
    all, live = storage(p, j), live_range(p)
    live === nothing && throw_no_range()
    return @inbounds view(all, live)
end

"""
    Toft.storage(pool, j)

The whole column of field `j`, for all slots, live or not: the `Vector` itself, whose element `i` belongs to the slot
with index `i`. Freed slots have their old values there, and slots that were never taken any values. The pool replaces
it when it is trimmed.
"""
@inline storage(p::AbstractPool, j::Field) =
    store_of(p) isa Columns ? whole_column(store_of(p), j) : throw_no_columns(p)

@noinline throw_no_columns(p) =
    throw(ArgumentError("$(kind_name(p)) has no columns, as SOAllocator and FreeListSOAllocator have"))

@noinline throw_no_range() =
    throw(ArgumentError("column: the live slots are not one range: some between them are free, or they go around; " *
                        "use pool[i, j] for i in eachindex(pool), or Toft.storage(pool, j) for all slots, live or not"))
@inline live_range(p::DequePool) = p.contiguous ? (p.first:p.last) : nothing

@inline Base.isempty(p::DequePool) = (p.last + 1 == p.first) & p.contiguous
Base.length(p::DequePool) = p.contiguous ? p.last - p.first + 1 : sum(length, live_pieces(p))
Base.eltype(::Type{<:AbstractPool{T}}) where {T} = T

# Iteration: elements from the first to the last; eachindex: their indices. The state is a slot and its run.

next_slot(p::DequePool, i::Int, k::Int) =
    i == p.last ? (0, 0) : i == last(p.runs[k]) ? (first(p.runs[run_after(p, k)]), run_after(p, k)) : (i + 1, k)

slot_before(p::DequePool, i::Int, k::Int) =
    i == p.first ? (0, 0) : i == first(p.runs[k]) ? (last(p.runs[run_before(p, k)]), run_before(p, k)) : (i - 1, k)

first_slot(p::DequePool) = isempty(p) ? (0, 0) : (p.first, p.begin_run)
last_slot(p::DequePool) = isempty(p) ? (0, 0) : (p.last, p.end_run)

function Base.iterate(p::DequePool, (i, k)=first_slot(p))
    i == 0 && return nothing
    return p[i], next_slot(p, i, k)
end

struct LiveIndices{I,P<:AbstractPool}
    pool::P
end

Base.eachindex(p::AbstractPool{T,I}) where {T,I} = LiveIndices{I,typeof(p)}(p)
Base.eltype(::Type{<:LiveIndices{I}}) where {I} = I
Base.length(live::LiveIndices) = length(live.pool)

function Base.iterate(live::LiveIndices{I,<:DequePool}, (i, k)=first_slot(live.pool)) where {I}
    i == 0 && return nothing
    return i % I, next_slot(live.pool, i, k)
end

kind_name(::Allocator) = "Allocator"
kind_name(::SOAllocator) = "SOAllocator"

function Base.show(io::IO, p::AbstractPool{T,I}) where {T,I}
    print(io, kind_name(p), "{", T, ", ", I, "}: ", length(p), " of ", capacity(p), " slots live")
end
Base.show(io::IO, ::MIME"text/plain", p::AbstractPool) = show(io, p)
