# List: cells in a pool, each with the index of the next.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    GenericList{T,I,P}

The lists of elements of type `T` whose cells are of any type `P`, with indices of type `I`. [`List`](@ref) constructs
them.
"""
struct GenericList{T,I,P}
    cells::P # a CellPool, or PoolCells
    global list_of_cells(::Type{T}, ::Type{I}, cells::P) where {T,I,P} = new{T,I,P}(cells)
end

# The cells of a list in a pool of tuples, an element and the index of the next cell.
mutable struct PoolCells{T,I,P<:AbstractPool{Tuple{T,I},I}}
    pool::P
    head::Int # 0: empty
    tail::Int
    count::Int
    shares::Bool # the pool is the caller's, and other lists may be in it
end
PoolCells{T,I,P}(n::Union{Integer,Nothing}) where {T,I,P} = PoolCells{T,I,P}(P(n), 0, 0, 0, false)

"""
    List{T}(kind=FreeListAllocator, n=nothing)
    List{T}(elements)
    List(elements)
    List(pool)

A singly linked list of elements of type `T`: `pushfirst!`, `popfirst!` and `push!` (at the end) in constant time;
iteration from the first. Its cells, an element and the index of the next cell (0: none), are its own and freed as in
this kind of pool, for `n` elements at most, or as many as there are; or they are slots of a pool of `Tuple{T,I}` that
several lists share, each with cells of its own. When the pool is full, [`PoolFullError`](@ref) is thrown. In the kinds
that do not free, a removed element keeps its slot until `empty!` (where the pool is shared, until [`emptyend!`](@ref)
of it), unless it was the last one taken.

While a list is walked, elements may be added, and those that the walk has given may be removed. If the one that would
come next is removed, the walk ends with a [`StaleIndexError`](@ref), or where the kind does not free, with a
`BoundsError` or by the slot's old value.

A number alone, which could be meant as a size, is an `ArgumentError`. `List{T}` is the concrete type of a list that
owns its cells, in either kind that frees them one by one; with another kind or pool the constructor makes another
[`GenericList`](@ref).

    julia> using Toft: List

    julia> l = List([2, 3]); pushfirst!(l, 1)
    List{Int64}([1, 2, 3])
"""
const List{T} = GenericList{T,Int,CellPool{T,Int,Vector{T}}}

cells_type(kind::Type{<:DequePool}, ::Type{T}) where {T} = PoolCells{T,Int,own_pool(kind, Tuple{T,Int}, Int)}
cells_type(::Type{<:FreeListPool}, ::Type{T}) where {T} = CellPool{T,Int,Vector{T}}

List{T}() where {T} = list_of_cells(T, Int, CellPool{T,Int,Vector{T}}(nothing))
List{T}(kind::Type{<:AbstractPool}, n::Union{Integer,Nothing}=nothing) where {T} =
    list_of_cells(T, Int, cells_type(kind, T)(n))
List(pool::AbstractPool{Tuple{T,I},I}) where {T,I} =
    list_of_cells(T, I, PoolCells{T,I,typeof(pool)}(pool, 0, 0, 0, true))
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

# A cell: its element and the index of the next one. Those of a pool of its own are known to be live.
@inline cell(c::PoolCells, i::Int) = c.shares ? c.pool[i] : @inbounds(c.pool[i])
@inline next_cell(c::PoolCells, i::Int) = Int(c.shares ? c.pool[i, 2] : @inbounds(c.pool[i, 2]))
@inline link!(c::PoolCells{T,I}, i::Int, next::Int) where {T,I} = @inbounds c.pool[i, 2] = next % I
@inline function new_cell!(c::PoolCells{T,I}, x::T, next::Int) where {T,I}
    i = Int(allocateend!(c.pool, (x, next % I)))
    c.count += 1
    return i
end
@inline function drop_cell!(c::PoolCells, i::Int)
    drop_cell!(c.pool, i)
    c.count -= 1
    return nothing
end
@inline checked_cell(c::PoolCells, i::Int) = c.pool[i]
Base.length(c::PoolCells) = c.count

# A pool without a free list frees its last slot.
@inline drop_cell!(p::FreeListPool, i::Int) = @inbounds deallocate!(p, i)
@inline drop_cell!(p::DequePool, i::Int) = i == p.last ? drop_end!(p) : give_back!(p, i)

@inline cell(p::CellPool, i::Int) = @inbounds((p.store[i], p.links[i]))
@inline next_cell(p::CellPool, i::Int) = Int(@inbounds p.links[i])
@inline link!(p::CellPool{T,I}, i::Int, next::Int) where {T,I} = @inbounds p.links[i] = next % I
@inline function new_cell!(p::CellPool{T}, x::T, next::Int) where {T}
    i = Int(allocateend!(p, x))
    link!(p, i, next)
    return i
end
@inline drop_cell!(p::CellPool, i::Int) = give_back!(p, i)
@inline function checked_cell(p::CellPool, i::Int)
    (i - 1) % UInt < p.last % UInt || throw_bounds(p, i)
    next = @inbounds p.links[i]
    next < 0 && throw_stale(i)
    x = @inbounds p.store[i]
    next == i - 1 && return x, guessed(i) - 1 # as pushfirst! takes new slots
    next == i + 1 && return x, guessed(i) + 1 # as push! does
    return x, Int(next)
end

# i itself, which the compiler cannot relate to the link. Most cells that follow each other in a list are neighbours,
# and then a walk goes on after a branch that the processor predicted, without waiting for the link.
const GUESSED = replace("%2 = call INT asm \"\", \"=r,0\"(INT %0) nounwind readnone\nret INT %2",
                        "INT" => "i$(Sys.WORD_SIZE)")
@eval @inline guessed(i::Int) = Base.llvmcall($GUESSED, Int, Tuple{Int}, i)

@inline function Base.pushfirst!(l::GenericList{T}, x::T) where {T}
    c = l.cells
    i = new_cell!(c, x, c.head)
    c.head == 0 && (c.tail = i)
    c.head = i
    return l
end
Base.pushfirst!(l::GenericList{T}, x) where {T} = pushfirst!(l, convert(T, x)::T)

@inline function Base.push!(l::GenericList{T}, x::T) where {T}
    c = l.cells
    i = new_cell!(c, x, 0)
    if c.head == 0
        c.head = i
    else
        link!(c, c.tail, i)
    end
    c.tail = i
    return l
end
Base.push!(l::GenericList{T}, x) where {T} = push!(l, convert(T, x)::T)

function Base.append!(l::GenericList, elements)
    foreach(x -> push!(l, x), is_same(l, elements) ? collect(l) : elements) # a walk of l would not end
    return l
end
is_same(a::T, b::T) where {T} = a === b # of two types of collections Julia 1.5 compiles no ===, and aborts
is_same(a, b) = false

@inline function Base.popfirst!(l::GenericList)
    c = l.cells
    i = c.head
    i == 0 && throw_empty()
    x, next = cell(c, i)
    drop_cell!(c, i)
    c.head = Int(next)
    return x
end

Base.first(l::GenericList) = isempty(l) ? throw_empty() : cell(l.cells, l.cells.head)[1]
Base.last(l::GenericList) = isempty(l) ? throw_empty() : cell(l.cells, l.cells.tail)[1]
Base.length(l::GenericList) = length(l.cells)
Base.isempty(l::GenericList) = l.cells.head == 0
Base.eltype(::Type{<:GenericList{T}}) where {T} = T

@inline function Base.iterate(l::GenericList, i::Int=l.cells.head)
    i == 0 && return nothing
    x, next = checked_cell(l.cells, i) # the list may have changed since i was read
    return x, Int(next)
end

"""
    empty!(list)

Remove all elements. A list with a pool of its own frees all slots at once, one that shares its cells one by one.
"""
function Base.empty!(l::GenericList)
    drop_all!(l.cells)
    return l
end

@inline drop_all!(p::CellPool) = (emptyend!(p); p.head = 0; nothing)
function drop_all!(c::PoolCells)
    if c.shares
        i = c.head
        while i != 0
            next = next_cell(c, i)
            drop_cell!(c.pool, i)
            i = next
        end
    else
        emptyend!(c.pool)
    end
    c.head = c.count = 0
    return nothing
end

function Base.reverse!(l::GenericList)
    c = l.cells
    i, before = c.head, 0
    c.tail = i
    while i != 0
        next = next_cell(c, i)
        link!(c, i, before)
        before, i = i, next
    end
    c.head = before
    return l
end

Base.reverse(l::GenericList) = reverse!(copy(l))

"""
    filter!(f, list)

Remove the elements for which `f` is false; `f` must not change the list. If it throws, those before are filtered.
"""
function Base.filter!(f, l::GenericList)
    c = l.cells
    before, i = 0, c.head
    while i != 0
        x, next = cell(c, i)
        if f(x)
            before = i
        else
            before == 0 ? (c.head = next) : link!(c, before, Int(next))
            c.tail == i && (c.tail = before)
            drop_cell!(c, i)
        end
        i = Int(next)
    end
    return l
end
Base.filter(f, l::GenericList) = filter!(f, copy(l))

trim!(c::PoolCells) = trim!(c.pool)
function trim!(l::GenericList)
    trim!(l.cells)
    return l
end

Base.copy(l::GenericList{T}) where {T} = List{T}(l)
Base.empty(::GenericList{T}, ::Type{U}=T) where {T,U} = List{U}()
