# Pools whose slots can be freed one by one: FreeListAllocator and FreeListSOAllocator.
#
# Beside the slots lie, for each, whether it is live, and a stack of the freed slots, which has room for all: freeing
# one calls nothing, so in a loop the compiler keeps the addresses in registers. For the same reason a pool is
# immutable, and all that changes in the fast paths is in `used`.
#
# Once a handle was made, there is also how often each slot was freed since. The generation of a slot is that number,
# plus the number of times that the whole pool was emptied.
#
# A flag is a value of a union of two types without fields. Of an array of such values, Julia stores one byte for each,
# the index of its type. The compiler assumes that a store to the elements of another array does not change these bytes,
# so it tests the flag of an index once for several accesses. A number would be loaded again after each store.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

struct Dead end
struct Live end

mutable struct Generations
    frees::Vector{UInt32} # of each slot; empty before the first handle
    new_frees::UInt32 # of new slots: not below those of slots that trim! returned
    emptied::UInt32 # how often all slots were freed at once, on top of a number of the pool
end

struct FreeListPool{T,I<:Integer,S<:AbstractVector{T}} <: AbstractPool{T,I}
    used::DequePool{T,I,S} # the slots that were ever taken
    flags::Vector{Union{Dead,Live}}
    free::Vector{I} # the freed slots: the first used.free_count of it; not shorter than flags
    generations::Generations

    FreeListPool{T,I,S}(used::DequePool{T,I,S}) where {T,I<:Integer,S<:AbstractVector{T}} =
        new{T,I,S}(used, dead_flags(used.n), Vector{I}(undef, used.n), Generations(UInt32[], 0, pool_number()))
end

# Pools begin with generations that are far apart, so that a handle of another pool is stale here. Two tasks that make a
# pool at the same time may get one number.
const POOLS = Ref{UInt32}(0)
@inline pool_number() = POOLS[] += 0x9e3779b9

dead_flags(n::Int) = fill!(Vector{Union{Dead,Live}}(undef, n), Dead())

"""
    FreeListAllocator{T,I=Int}(n, init=0)
    FreeListAllocator{T,I=Int}(nothing, init=0)

As [`Allocator`](@ref), but any slot can be freed by [`deallocate!`](@ref) and is taken again: the last one freed
is the first. An index that was freed is a [`StaleIndexError`](@ref) until its slot is taken again; a
[`handle`](@ref) is one for good. `@inbounds` leaves these checks out.

    julia> using Toft: handle

    julia> pool = FreeListAllocator{String}(nothing);

    julia> i = allocateend!(pool, "a"); h = handle(pool, i);

    julia> deallocate!(pool, i)

    julia> allocateend!(pool, "b") == i, isvalid(pool, i), isvalid(pool, h)
    (true, true, false)
"""
const FreeListAllocator{T,I<:Integer} = FreeListPool{T,I,Vector{T}}

"""
    FreeListSOAllocator{T,I=Int}(n, init=0)
    FreeListSOAllocator{T,I=Int}(nothing, init=0)

As [`FreeListAllocator`](@ref), with a column for each field, as [`SOAllocator`](@ref) has. For the field of a struct,
[`concretetype`](@ref) gives the concrete type.
"""
const FreeListSOAllocator{T,I<:Integer,S<:Columns{T}} = FreeListPool{T,I,S}

FreeListPool{T,I,S}(n::Union{Integer,Nothing}, init::Integer=0) where {T,I<:Integer,S<:AbstractVector{T}} =
    FreeListPool{T,I,S}(DequePool{T,I,S}(n, init))
FreeListPool{T,I,S}(store::S, n::Union{Integer,Nothing}, init::Integer=0) where {T,I<:Integer,S<:Columns{T}} =
    FreeListPool{T,I,S}(DequePool{T,I,S}(store, n, init))

FreeListAllocator{T}(n::Union{Integer,Nothing}, init::Integer=0) where {T} = FreeListAllocator{T,Int}(n, init)
FreeListSOAllocator{T,I}(n::Union{Integer,Nothing}, init::Integer=0) where {T,I} =
    FreeListSOAllocator{T,I,columns_type(T)}(n, init)
FreeListSOAllocator{T}(n::Union{Integer,Nothing}, init::Integer=0) where {T} = FreeListSOAllocator{T,Int}(n, init)

# Elements

@inline is_live(p::FreeListPool, i::Int) = (i - 1) % UInt < length(p.flags) % UInt && @inbounds(p.flags[i]) isa Live

# No call of it returns into the access, as in DequePool.
@inline function check_slot(p::FreeListPool, i::Integer)
    in_int = i % Int
    (in_int == i) & ((in_int - 1) % UInt < length(p.flags) % UInt) || throw_bounds(p, i)
    @inbounds(p.flags[in_int]) isa Live || throw_dead(p, i)
    return nothing
end

@noinline throw_dead(p::FreeListPool, i) = is_live(p.used, i % Int) ? throw_stale(i) : throw_bounds(p, i)
@noinline throw_stale(i) = throw(StaleIndexError(i))

@inline store_of(p::FreeListPool) = p.used.store

# Slots

# `last` and `free_count` are stored where the paths meet: so in a loop the compiler keeps them in registers.
@inline function take_end!(p::FreeListPool)
    used = p.used
    count, last = used.free_count, used.last
    if count > 0
        i = @inbounds p.free[count] % Int
        count -= 1
    else
        last = (last == used.stop) | (last >= length(p.flags)) ? take_end_slow!(p) : last + 1
        i = last
    end
    used.free_count, used.last = count, last
    @inbounds p.flags[i] = Live()
    return i
end

@inline function take_begin!(p::FreeListPool)
    used = p.used
    count = used.free_count
    if count > 0
        i = @inbounds p.free[count] % Int
        used.free_count = count - 1
    else
        i = take_begin!(used)
        i > length(p.flags) && grow_flags!(p, i)
    end
    @inbounds p.flags[i] = Live()
    return i
end

@noinline function take_end_slow!(p::FreeListPool)
    i = take_end!(p.used)
    i > length(p.flags) && grow_flags!(p, i)
    return i
end

# Slot i, which was just taken, is the last or the first: it goes back where there is no memory for what lies beside it.
# The flags grow last, since their number is compared.
@noinline function grow_flags!(p::FreeListPool, i::Int)
    n, have, generations = p.used.n, length(p.flags), p.generations
    try
        resize!(p.free, n)
        isempty(generations.frees) || resize!(generations.frees, n)
        resize!(p.flags, n)
    catch
        i == p.used.last ? drop_end!(p.used) : drop_begin!(p.used)
        rethrow()
    end
    isempty(generations.frees) || fill!(view(generations.frees, have+1:n), generations.new_frees)
    fill!(view(p.flags, have+1:n), Dead())
    return nothing
end

Base.@propagate_inbounds function deallocate!(p::FreeListPool{T,I}, i::Slot) where {T,I}
    @boundscheck check_slot(p, i)
    slot, used, frees = index_of(i), p.used, p.generations.frees
    count = used.free_count + 1
    refers(used.store) && forget!(used.store, slot)
    @inbounds p.flags[slot] = Dead()
    isempty(frees) || @inbounds frees[slot] += 0x00000001
    @inbounds p.free[count] = slot % I
    used.free_count = count
    return nothing
end

# Frees all live slots.
@noinline function end_generations!(p::FreeListPool)
    flags, used = p.flags, p.used
    slots = used.contiguous ? (used.first:used.last) : (1:length(flags))
    @inbounds for i in slots
        flags[i] = Dead()
    end
    p.generations.emptied += 0x00000001
    return nothing
end

@inline function emptyend!(p::FreeListPool)
    p.used.contiguous && isempty(p) || end_generations!(p)
    p.used.free_count = 0
    return emptyend!(p.used)
end

function emptybegin!(p::FreeListPool)
    p.used.contiguous && isempty(p) || end_generations!(p)
    p.used.free_count = 0
    return emptybegin!(p.used)
end

capacity(p::FreeListPool) = capacity(p.used)
is_fixed(p::FreeListPool) = is_fixed(p.used)
@inline live_range(p::FreeListPool) = p.used.free_count == 0 ? live_range(p.used) : nothing

"""
Slots freed at the highest indices are forgotten first, so that a pool with many freed slots shrinks.
"""
function trim!(p::FreeListPool)
    used = p.used
    used.resizable && used.contiguous || return p
    while !isempty(used) && p.flags[used.last] isa Dead
        drop_end!(used)
    end
    top = isempty(used) ? 0 : used.last
    keep = filter!(i -> used.first <= i <= top, p.free[1:used.free_count])
    copyto!(p.free, keep)
    used.free_count = length(keep)
    trim!(used)
    n, generations = used.n, p.generations
    if n < length(p.flags)
        if !isempty(generations.frees)
            generations.new_frees = max(generations.new_frees, maximum(@view generations.frees[n+1:end]))
            cut!(generations.frees, n)
        end
        cut!(p.flags, n)
        cut!(p.free, n)
    end
    return p
end

cut!(v::Vector, n::Int) = sizehint!(resize!(v, n), n) # returns the memory

@inline Base.isempty(p::FreeListPool) = length(p) == 0
@inline Base.length(p::FreeListPool) = length(p.used) - p.used.free_count

# Handles

# Of a slot, once a handle was made.
@inline generation(p::FreeListPool, i::Int) = @inbounds(p.generations.frees[i]) + p.generations.emptied

# From the first handle on, frees are counted.
@noinline function count_frees!(p::FreeListPool)
    p.generations.frees = zeros(UInt32, length(p.flags))
    return nothing
end

"""
    handle(pool, index) -> Handle

The [`Handle`](@ref) of a live slot of a free-list pool.
"""
Base.@propagate_inbounds function handle(p::FreeListPool{T,I}, i::Integer) where {T,I}
    @boundscheck check_slot(p, i)
    isempty(p.generations.frees) && count_frees!(p)
    return Handle{I}(i % I, generation(p, i % Int))
end

handle(p::AbstractPool, i::Integer) = throw_no_handles(p)

"""
    isvalid(pool, handle) -> Bool

Whether the slot of this handle, or with this index, is live (and for a handle, still the same).
"""
function Base.isvalid(p::FreeListPool, h::Handle)
    i = h.index % Int
    return i == h.index && is_live(p, i) && !isempty(p.generations.frees) && generation(p, i) == h.generation
end
Base.isvalid(p::AbstractPool, i::Integer) = i % Int == i && is_live(p, i % Int)

@inline check_slot(p::FreeListPool, h::Handle) = isvalid(p, h) || throw_stale(h)

# Iteration goes by the index. Which of 64 slots are live is gathered in a word, without a branch for each; the state is
# where these slots begin, and those of them that are still to come.

const SlotWord = Tuple{Int,UInt64}

function live_word(p::FreeListPool, start::Int)
    word = zero(UInt64)
    flags = p.flags
    stop = min(start + 63, length(flags))
    @inbounds for i in start:stop
        word |= UInt64(flags[i] isa Live) << ((i - start) & 63)
    end
    return word
end

# The next words that are not zero, up to the last slot.
@inline function next_word(p::FreeListPool, (start, word)::SlotWord)
    while word == 0
        start += 64
        start > length(p.flags) && return start, word
        word = live_word(p, start)
    end
    return start, word
end

first_word(p::FreeListPool) = isempty(p) ? (length(p.flags) + 1, zero(UInt64)) : (-63, zero(UInt64))

@inline function Base.iterate(p::FreeListPool, state::SlotWord=first_word(p))
    start, word = next_word(p, state)
    word == 0 && return nothing
    i = start + trailing_zeros(word)
    return p.used.store[i], (start, word & (word - 1))
end

@inline function Base.iterate(live::LiveIndices{I,<:FreeListPool}, state::SlotWord=first_word(live.pool)) where {I}
    start, word = next_word(live.pool, state)
    word == 0 && return nothing
    return (start + trailing_zeros(word)) % I, (start, word & (word - 1))
end

kind_name(::FreeListAllocator) = "FreeListAllocator"
kind_name(::FreeListSOAllocator) = "FreeListSOAllocator"
