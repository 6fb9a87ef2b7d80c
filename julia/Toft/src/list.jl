# List: cells in a pool, each with the index of the next.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    GenericList{T,I,P}

The lists of elements of type `T` in a pool of any type `P` of cells `Tuple{T,I}`. [`List`](@ref) constructs them, and
is the one in a [`FreeListAllocator`](@ref) with `I` `Int`.
"""
mutable struct GenericList{T,I,P<:AbstractPool}
    pool::P
    head::Int # 0: empty
    tail::Int
    count::Int
    shares::Bool
end

"""
    List{T}(kind=FreeListAllocator, n=nothing)
    List{T}(elements)
    List(elements)
    List(pool)

A singly linked list of elements of type `T`: `pushfirst!`, `popfirst!` and `push!` (at the end) in constant time;
iteration from the first. Its cells are `Tuple{T,I}`, an element and the index of the next cell (0: none). They lie in a
pool of its own of this kind, for `n` elements at most, or as many as there are; or in a pool of such cells that several
lists share, each with cells of its own. When the pool is full, [`PoolFullError`](@ref) is thrown. In the kinds that do
not free, a removed element keeps its slot until `empty!` (where the pool is shared, until [`emptyend!`](@ref) of it),
unless it was the last one taken.

While a list is walked, elements may be added, and those that the walk has given may be removed. If the one that would
come next is removed, the walk ends with a [`StaleIndexError`](@ref), or where the kind does not free, with a
`BoundsError` or by the slot's old value.

A number alone, which could be meant as a size, is an `ArgumentError`. `List{T}` is the concrete type of a list in a
`FreeListAllocator` of cells `Tuple{T,Int}`; with another kind or pool the constructor makes another
[`GenericList`](@ref).

    julia> using Toft: List

    julia> l = List([2, 3]); pushfirst!(l, 1)
    List{Int64}([1, 2, 3])
"""
const List{T} = GenericList{T,Int,FreeListAllocator{Tuple{T,Int},Int}}

function List{T}(kind::Type{<:AbstractPool}=FreeListAllocator, n::Union{Integer,Nothing}=nothing) where {T}
    pool = kind{Tuple{T,Int},Int}(n)
    return GenericList{T,Int,typeof(pool)}(pool, 0, 0, 0, false)
end
List(pool::AbstractPool{Tuple{T,I},I}) where {T,I} = GenericList{T,I,typeof(pool)}(pool, 0, 0, 0, true)
List{T}(elements) where {T} = append!(List{T}(), elements)
List{T}(n::Number) where {T} = throw_number("List{$T}", n)
List(elements) = list_of(with_eltype(elements))
List(n::Number) = throw_number("List", n)
list_of(elements) = List{eltype(elements)}(elements)

@noinline throw_number(C, n) =
    throw(ArgumentError("$C($n): for the element $n alone, $C([$n]); for $n elements at most, " *
                        "$C(kind, $n) with a kind of pool"))

# Elements whose type is known: those of a generator, as collect finds it.
with_eltype(elements) = with_eltype(elements, Base.IteratorEltype(elements))
with_eltype(elements, ::Base.HasEltype) = elements
with_eltype(elements, ::Base.EltypeUnknown) = collect(elements)

# Cells of a pool of its own are known to be live.
@inline cell(l::GenericList, i::Int) = l.shares ? l.pool[i] : @inbounds(l.pool[i])
@inline next_cell(l::GenericList, i::Int) = Int(l.shares ? l.pool[i, 2] : @inbounds(l.pool[i, 2]))

@inline function Base.pushfirst!(l::GenericList{T,I}, x::T) where {T,I}
    i = Int(allocateend!(l.pool, (x, l.head % I)))
    l.head == 0 && (l.tail = i)
    l.head = i
    l.count += 1
    return l
end
Base.pushfirst!(l::GenericList{T}, x) where {T} = pushfirst!(l, convert(T, x)::T)

@inline function Base.push!(l::GenericList{T,I}, x::T) where {T,I}
    i = Int(allocateend!(l.pool, (x, zero(I))))
    if l.head == 0
        l.head = i
    else
        @inbounds l.pool[l.tail, 2] = i % I
    end
    l.tail = i
    l.count += 1
    return l
end
Base.push!(l::GenericList{T}, x) where {T} = push!(l, convert(T, x)::T)

function Base.append!(l::GenericList, elements)
    foreach(x -> push!(l, x), elements === l ? collect(l) : elements) # a walk of l would not end
    return l
end

@inline function Base.popfirst!(l::GenericList)
    i = l.head
    i == 0 && throw_empty()
    x, next = cell(l, i)
    drop_cell!(l.pool, i)
    l.head = Int(next)
    l.count -= 1
    return x
end

# A pool without a free list frees its last slot.
@inline drop_cell!(p::FreeListPool, i::Int) = @inbounds deallocate!(p, i)
@inline drop_cell!(p::DequePool, i::Int) = i == p.last ? drop_end!(p) : give_back!(p, i)

Base.first(l::GenericList) = l.head == 0 ? throw_empty() : cell(l, l.head)[1]
Base.last(l::GenericList) = l.head == 0 ? throw_empty() : cell(l, l.tail)[1]
Base.length(l::GenericList) = l.count
Base.isempty(l::GenericList) = l.head == 0
Base.eltype(::Type{<:GenericList{T}}) where {T} = T

@inline function Base.iterate(l::GenericList, i::Int=l.head)
    i == 0 && return nothing
    x, next = l.pool[i] # checked: the list may have changed since i was read
    return x, Int(next)
end

"""
    empty!(list)

Remove all elements. A list with a pool of its own frees all slots at once, one that shares its cells one by one.
"""
function Base.empty!(l::GenericList)
    if l.shares
        i = l.head
        while i != 0
            next = next_cell(l, i)
            drop_cell!(l.pool, i)
            i = next
        end
    else
        emptyend!(l.pool)
    end
    l.head = l.count = 0
    return l
end

function Base.reverse!(l::GenericList{T,I}) where {T,I}
    i, before = l.head, 0
    l.tail = i
    while i != 0
        next = next_cell(l, i)
        @inbounds l.pool[i, 2] = before % I
        before, i = i, next
    end
    l.head = before
    return l
end

function trim!(l::GenericList)
    trim!(l.pool)
    return l
end

Base.copy(l::GenericList{T}) where {T} = List{T}(l)
Base.empty(::GenericList{T}, ::Type{U}=T) where {T,U} = List{U}()
