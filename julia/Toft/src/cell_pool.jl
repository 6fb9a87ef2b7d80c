# The slots of a collection that owns them and frees them one by one: List, SortedSet and SortedDict.
#
# No index of such a slot leaves its collection, so there are no flags and no generations to store when a slot is taken
# or freed. Beside each slot lies a link. That of a live slot is the collection's; those of the free slots chain them,
# the last one freed first, as ~i for slot i: where I is signed, a negative link shows that the slot is free.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

mutable struct CellPool{T,I<:Integer,S<:AbstractVector{T}} <: AbstractPool{T,I}
    store::S
    links::Vector{I}
    last::Int # the slots 1:last were taken since the pool was emptied
    n::Int    # how many there are; the two vectors are not shorter
    free::Int # the slot freed last; 0: all of 1:last are live
    free_count::Int
    resizable::Bool
    head::Int # of a list: its first and its last slot, here so that all its words are in one object
    tail::Int

    function CellPool{T,I,S}(n::Union{Integer,Nothing}) where {T,I<:Integer,S<:AbstractVector{T}}
        slots = n === nothing ? LEAST : check_size(I, n, 0)
        return new{T,I,S}(empty_store(S, slots), Vector{I}(undef, slots), 0, slots, 0, 0, n === nothing,
                         0, 0)
    end
end

# The type of the pool that a collection of this kind owns.
own_pool(kind::Type{<:DequePool}, ::Type{T}, ::Type{I}) where {T,I} = concretetype(kind{T,I})
own_pool(::Type{FreeListAllocator}, ::Type{T}, ::Type{I}) where {T,I} = CellPool{T,I,Vector{T}}
own_pool(::Type{FreeListSOAllocator}, ::Type{T}, ::Type{I}) where {T,I} = CellPool{T,I,columns_type(T)}

# `last` is stored where the paths meet: so in a loop the compiler keeps it in a register.
@inline function take_end!(p::CellPool)
    i, last = p.free, p.last
    if i == 0
        i = (last == p.n ? grow!(p) : last) + 1
        last = i
    else
        p.free = ~@inbounds(p.links[i]) % Int
        p.free_count -= 1
    end
    p.last = last
    return i
end

# The last slot, which is no longer the last one that there is.
@noinline function grow!(p::CellPool{T,I}) where {T,I}
    n, limit = p.n, index_limit(I)
    p.resizable && n < limit || throw(PoolFullError(n))
    more = n > limit >> 1 ? limit : max(2n, LEAST)
    grow_store!(p.store, more)
    resize!(p.links, more)
    p.n = more
    return p.last
end

# A live slot.
@inline function give_back!(p::CellPool{T,I}, i::Integer) where {T,I}
    slot = i % Int
    refers(p.store) && forget!(p.store, slot)
    @inbounds p.links[slot] = ~p.free % I
    p.free = slot
    p.free_count += 1
    return nothing
end

function emptyend!(p::CellPool)
    refers(p.store) && foreach(i -> forget!(p.store, i), 1:p.last)
    p.last = p.free = p.free_count = 0
    return nothing
end

# Of a live slot, which the collection knows.
@inline check_slot(p::CellPool, i::Integer) = nothing

Base.length(p::CellPool) = p.last - p.free_count
Base.isempty(p::CellPool) = length(p) == 0
capacity(p::CellPool) = p.n
is_fixed(p::CellPool) = !p.resizable

# The free slots, the last one freed first.
function free_slots(p::CellPool)
    slots, i = Int[], p.free
    while i != 0
        push!(slots, i)
        i = ~p.links[i] % Int
    end
    return slots
end

function trim!(p::CellPool{T,I}) where {T,I}
    p.resizable || return p
    slots = free_slots(p)
    is_free = falses(p.last)
    is_free[slots] .= true
    top = something(findlast(!, is_free), 0)
    filter!(i -> i <= top, slots)
    n = max(top, min(LEAST, p.n))
    if n < p.n
        store, links = shrunk(p.store, n), shrunk(p.links, n)
        p.store, p.links, p.n = store, links, n
    end
    p.last, p.free, p.free_count = top, 0, 0
    foreach(i -> give_back!(p, i), Iterators.reverse(slots))
    return p
end

kind_name(::CellPool) = "CellPool"
