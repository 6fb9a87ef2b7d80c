# Stack and Queue: at the ends of a plain pool; in a free-list pool, which has no ends, a List.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    GenericStack{T,S}

The stacks of elements of type `T` whose memory is of any type `S`. [`Stack`](@ref) constructs them, and is the one in
an [`Allocator`](@ref).
"""
struct GenericStack{T,S}
    items::S # a DequePool, whose end is the top; or a list, whose first element is
    global stack_on(::Type{T}, items::S) where {T,S} = new{T,S}(items)
end

"""
    Stack{T}(kind=Allocator, n=nothing)
    Stack{T}(elements)

A stack of elements of type `T` in a pool of this kind, for `n` elements at most ([`PoolFullError`](@ref) beyond them),
or as many as there are. `push!`, `pop!`, `first` (what `pop!` would return) and `last` (the oldest) take constant time;
iteration goes from the top. In the plain kinds of pool the elements lie side by side; in the free-list kinds they are
linked. `Iterators.reverse` goes the other way; where the elements are linked, it copies them first.

A number alone is an `ArgumentError`: in DataStructures it is a block size, which this stack does not have.
`Stack{T}` is the concrete type of a stack in an `Allocator`; with another kind the constructor makes another
[`GenericStack`](@ref).

    julia> using Toft: Stack

    julia> s = Stack{Int}(Allocator, 2); push!(s, 1); push!(s, 2);

    julia> pop!(s), length(s)
    (2, 1)
"""
const Stack{T} = GenericStack{T,Allocator{T,Int}}

"""
    GenericQueue{T,S}

The queues of elements of type `T` whose memory is of any type `S`. [`Queue`](@ref) constructs them, and is the one in
an [`Allocator`](@ref).
"""
struct GenericQueue{T,S}
    items::S
    global queue_on(::Type{T}, items::S) where {T,S} = new{T,S}(items)
end

"""
    Queue{T}(kind=Allocator, n=nothing)
    Queue{T}(elements)

A queue of elements of type `T` in a pool of this kind, for `n` elements at most ([`PoolFullError`](@ref) beyond them),
or as many as there are. `push!` at the end, `popfirst!`, `first` and `last` take constant time; iteration goes from the
first. In the plain kinds of pool it is a ring; in the free-list kinds the elements are linked. `Iterators.reverse`
goes the other way; where the elements are linked, it copies them first.

A number alone is an `ArgumentError`: in DataStructures it is a block size, which this queue does not have.
`Queue{T}` is the concrete type of a queue in an `Allocator`; with another kind the constructor makes another
[`GenericQueue`](@ref).

    julia> using Toft: Queue

    julia> q = Queue([1, 2]); push!(q, 3); popfirst!(q)
    1
"""
const Queue{T} = GenericQueue{T,Allocator{T,Int}}

# Columns need fields: a type without is stored as a tuple of one.
stored_type(::Type{T}, ::Type{<:DequePool}) where {T} = T
stored_type(::Type{T}, ::Type{<:SOAllocator}) where {T} = has_fields(T) ? T : Tuple{T}
@inline pack(::Type{T}, ::DequePool{E}, x::T) where {T,E} = T === E ? x : (x,)
@inline unpack(::Type{T}, ::DequePool{E}, x::E) where {T,E} = T === E ? x : x[1]

make_items(::Type{T}, kind::Type{<:DequePool}, n) where {T} = kind{stored_type(T, kind),Int}(n)
make_items(::Type{T}, kind::Type{<:FreeListPool}, n) where {T} = List{T}(kind, n)

for (C, on) in ((:Stack, :stack_on), (:Queue, :queue_on))
    @eval begin
        $C{T}(kind::Type{<:AbstractPool}=Allocator, n::Union{Integer,Nothing}=nothing) where {T} =
            $on(T, make_items(T, kind, n))
        $C{T}(elements) where {T} = append!($C{T}(), elements)
        $C{T}(n::Number) where {T} = throw_number(string($(string(C)), "{", T, "}"), n)
        $C(elements) = (known = with_eltype(elements); $C{eltype(known)}(known))
        $C(n::Number) = throw_number($(string(C)), n)
    end
end

const EndStack{T} = GenericStack{T,<:DequePool}
const EndQueue{T} = GenericQueue{T,<:DequePool}
const Line = Union{GenericStack,GenericQueue}

# What end of the pool is which

@inline function Base.push!(s::EndStack{T}, x::T) where {T}
    allocateend!(s.items, pack(T, s.items, x))
    return s
end
@inline Base.push!(s::GenericStack{T,<:GenericList}, x::T) where {T} = (pushfirst!(s.items, x); s)
@inline function Base.push!(q::EndQueue{T}, x::T) where {T}
    allocateend!(q.items, pack(T, q.items, x))
    return q
end
@inline Base.push!(q::GenericQueue{T,<:GenericList}, x::T) where {T} = (push!(q.items, x); q)
Base.push!(c::GenericStack{T}, x) where {T} = push!(c, convert(T, x)::T)
Base.push!(c::GenericQueue{T}, x) where {T} = push!(c, convert(T, x)::T)

@inline element_at(c::Union{EndStack{T},EndQueue{T}}, i::Int) where {T} =
    unpack(T, c.items, @inbounds(c.items.store[i]))::T

@inline function Base.pop!(s::EndStack)
    pool, i = s.items, s.items.last
    next = last_before(pool, i)
    x = element_at(s, i)
    refers(pool.store) && forget!(pool.store, i)
    pool.last = next
    return x
end
@inline Base.pop!(s::GenericStack{T,<:GenericList}) where {T} = popfirst!(s.items)

@inline function Base.popfirst!(q::EndQueue)
    pool, i = q.items, q.items.first
    next = first_after(pool, i)
    x = element_at(q, i)
    refers(pool.store) && forget!(pool.store, i)
    pool.first = next
    return x
end
@inline Base.popfirst!(q::GenericQueue{T,<:GenericList}) where {T} = popfirst!(q.items)

Base.first(s::EndStack) = isempty(s.items) ? throw_empty() : element_at(s, s.items.last)
Base.last(s::EndStack) = isempty(s.items) ? throw_empty() : element_at(s, s.items.first)
Base.first(q::EndQueue) = isempty(q.items) ? throw_empty() : element_at(q, q.items.first)
Base.last(q::EndQueue) = isempty(q.items) ? throw_empty() : element_at(q, q.items.last)
Base.first(c::Line) = first(c.items)
Base.last(c::Line) = last(c.items)

# From the top of a stack, down. Checked: the next element may have been removed.
@inline checked_element_at(c::Union{EndStack{T},EndQueue{T}}, i::Int) where {T} = unpack(T, c.items, c.items[i])::T

function Base.iterate(s::EndStack, (i, k)=last_slot(s.items))
    i == 0 && return nothing
    return checked_element_at(s, i), slot_before(s.items, i, k)
end

function Base.iterate(q::EndQueue, (i, k)=first_slot(q.items))
    i == 0 && return nothing
    return checked_element_at(q, i), next_slot(q.items, i, k)
end

Base.iterate(c::Line, state...) = iterate(c.items, state...)

function Base.iterate(r::Iterators.Reverse{<:EndStack}, (i, k)=first_slot(r.itr.items))
    i == 0 && return nothing
    return checked_element_at(r.itr, i), next_slot(r.itr.items, i, k)
end

function Base.iterate(r::Iterators.Reverse{<:EndQueue}, (i, k)=last_slot(r.itr.items))
    i == 0 && return nothing
    return checked_element_at(r.itr, i), slot_before(r.itr.items, i, k)
end

# A cell of a list does not refer to the one before it.
function Base.iterate(r::Iterators.Reverse{<:Line}, (elements, i)=(collect(r.itr), length(r.itr)))
    i == 0 && return nothing
    return elements[i], (elements, i - 1)
end

# Both

Base.length(c::Line) = length(c.items)
@inline Base.isempty(c::Line) = isempty(c.items)
Base.eltype(::Type{<:GenericStack{T}}) where {T} = T
Base.eltype(::Type{<:GenericQueue{T}}) where {T} = T

clear!(p::DequePool) = emptyend!(p)
clear!(l::GenericList) = empty!(l)

function Base.empty!(c::Line)
    clear!(c.items)
    return c
end

function Base.append!(c::Line, elements)
    foreach(x -> push!(c, x), is_same(c, elements) ? collect(c) : elements) # a walk of a queue would not end
    return c
end

function trim!(c::Line)
    trim!(c.items)
    return c
end

# A stack is pushed anew from the oldest on.
Base.copy(s::GenericStack{T}) where {T} = append!(Stack{T}(), reverse!(collect(s)))
Base.copy(q::GenericQueue{T}) where {T} = append!(Queue{T}(), q)
Base.empty(::GenericStack{T}, ::Type{U}=T) where {T,U} = Stack{U}()
Base.empty(::GenericQueue{T}, ::Type{U}=T) where {T,U} = Queue{U}()
