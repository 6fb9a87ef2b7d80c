# Sets and dictionaries in arenas, by hashing.
# SPDX-License-Identifier: MIT OR Apache-2.0

include("hash_table.jl")

"""
    ArenaSet{K}(a::Arena)
    ArenaSet{K}(a::Arena, elements)
    ArenaSet(a::Arena, elements)

A set of bits types whose table lies in an arena: an `AbstractSet`, in no order, with the equality of Base's `Set`.
Only the object itself is memory of the garbage collector. Memory, its end and threads are as described for
[`ArenaDict`](@ref). Results computed from a set (`copy`, `union`, `filter`, `empty`) are a `Set`.

    julia> arena() do a
               s = ArenaSet(a, [3, 1, 2, 3])
               length(s), 2 in s, 7 in s
           end
    (3, true, false)
"""
struct ArenaSet{K} <: AbstractSet{K}
    table::HashTable{K,Nothing}
    ArenaSet{K}(a::Arena) where {K} = new{K}(HashTable{K,Nothing}(a))
end

"""
    ArenaDict{K,V}(a::Arena)
    ArenaDict{K,V}(a::Arena, pairs)
    ArenaDict(a::Arena, pairs)

A dictionary of bits types whose table lies in an arena: an `AbstractDict`, in no order, with the equality of Base's
`Dict`. Only the object itself is memory of the garbage collector. Results computed from a dictionary (`copy`, `merge`,
`filter`, `empty`) is a `Dict`, which may outlive the arena.

**Memory**: a table has 16 places, or a greater power of two; at most two thirds are taken. A place has room
for a key and a value, and one byte more; nine bytes more if the keys are not integers, floats, `Char` or `Bool`. When a
table is full, it is copied to new memory of the arena, with four times the places, or twice from 4096 places on. So
after it doubled, a pair takes 1.5 to 3 places. The old memory stays allocated until the arena is rewound or reset; all
old tables together are smaller than the new one. `sizehint!(d, n)` before the first key is added avoids the copies.
Deleting and adding keys at a constant length allocates nothing, and `empty!` keeps the table.

**End**: after its memory was freed, an access to the dictionary throws an `ArgumentError`, as with
[`ArenaArray`](@ref);
`isvalid(d)` is `true` while the memory exists. A dictionary that grows within a `scope`, or after a mark, loses its
memory when the scope or the rewind ends it: call `sizehint!` before. Making and growing a dictionary throw what
[`alloc`](@ref) throws, and leave the dictionary unchanged.

`deepcopy` and `Serialization` refuse a dictionary with an `ArgumentError`: pass `copy(d)`.

If keys are added or deleted during an iteration, it may skip pairs or repeat them.

**Threads**: a dictionary belongs to the task of its arena. Several tasks may look up keys and iterate at the same time
while none changes the dictionary.

    julia> arena() do a
               d = ArenaDict{Int,Float64}(a)
               d[7] = 0.5
               d[7] += 1
               get(d, 8, 0.0), d[7]
           end
    (0.0, 1.5)
"""
struct ArenaDict{K,V} <: AbstractDict{K,V}
    table::HashTable{K,V}
    ArenaDict{K,V}(a::Arena) where {K,V} = new{K,V}(HashTable{K,V}(a))
end

const Hashed{K} = Union{ArenaSet{K},ArenaDict{K}}

ArenaSet{K}(a::Arena, elements) where {K} = union!(ArenaSet{K}(a), elements)
ArenaSet(a::Arena, elements) = arena_set_of(a, with_eltype(elements))
arena_set_of(a, elements) = ArenaSet{eltype(elements)}(a, elements)

ArenaDict{K,V}(a::Arena, pairs) where {K,V} = put_pairs!(ArenaDict{K,V}(a), pairs)
ArenaDict(a::Arena, pairs) = arena_dict_of(a, pairs, eltype(pairs))
arena_dict_of(a, pairs, ::Union{Type{Pair{K,V}},Type{Tuple{K,V}}}) where {K,V} = ArenaDict{K,V}(a, pairs)
function arena_dict_of(a, pairs, ::Type) # Dict finds the types that the keys and the values have in common
    d = Dict(pairs)
    return ArenaDict{keytype(d),valtype(d)}(a, d)
end

Base.length(c::Hashed) = (must_be_valid(c.table); c.table.count)
Base.isempty(c::Hashed) = length(c) == 0
Base.isvalid(c::Hashed) = isvalid(c.table)
Base.sizehint!(c::Hashed, n::Integer; hints...) = (reserve!(c.table, whole(n)); c)
Base.empty!(c::Hashed) = (empty_table!(c.table); c)

@inline function place_of(c::Hashed{K}, k::K) where {K}
    i, there = search(c.table, k, hash_of(K, k))
    return there ? i : -1
end
function place_of(c::Hashed{K}, k) where {K}
    key = as_key(K, k)
    return key === nothing ? -1 : place_of(c, something(key))
end

@inline function Base.iterate(c::Hashed, i::Int=first_taken(c.table))
    t = c.table
    must_be_valid(t)
    i = taken_from(t, i)
    return i > t.mask ? nothing : (element(c, i), i + 1)
end

@inline element(s::ArenaSet, i::Int) = key_at(s.table, i)
@inline element(d::ArenaDict{K,V}, i::Int) where {K,V} = Pair{K,V}(key_at(d.table, i), value_at(d, i))
@inline value_at(d::ArenaDict, i::Int) = unsafe_load(value_pointer(d.table, i))

function Base.delete!(c::Hashed, k)
    i = place_of(c, k)
    i < 0 || remove!(c.table, i)
    return c
end

function Base.pop!(c::Hashed)
    i = first_taken(c.table)
    i > c.table.mask && throw_nothing_to_pop(c)
    found = element(c, i)
    remove!(c.table, i)
    return found
end

# A set

@inline Base.in(x, s::ArenaSet) = place_of(s, x) >= 0

@inline function Base.push!(s::ArenaSet{K}, x::K) where {K}
    h = hash_of(K, x)
    i, there = search(s.table, x, h)
    there || add!(s.table, i, h, x, nothing)
    return s
end

# A dictionary: a slot is a place, counted from 1.

@inline slot_of(d::ArenaDict, k) = place_of(d, k) + 1
@inline value_of(d::ArenaDict, slot::Int) = value_at(d, slot - 1)
@inline stored_key(d::ArenaDict, slot::Int) = key_at(d.table, slot - 1)

@inline function put_pair!(d::ArenaDict{K,V}, k::K, v::V) where {K,V}
    h = hash_of(K, k)
    i, there = search(d.table, k, h)
    if there
        unsafe_store!(value_pointer(d.table, i), v)
    else
        add!(d.table, i, h, k, v)
    end
    return d
end

# Copies are sets and dictionaries of Base

Base.copy(s::ArenaSet{K}) where {K} = Set{K}(s)
Base.copy(d::ArenaDict{K,V}) where {K,V} = Dict{K,V}(d)

function Base.show(io::IO, c::Hashed)
    isvalid(c) || return print(io, typeof(c), "(freed)")
    print_elements(io, c)
end
Base.show(io::IO, ::MIME"text/plain", s::ArenaSet) = show(io, s)
function Base.show(io::IO, mime::MIME"text/plain", d::ArenaDict)
    isvalid(d) || return show(io, d)
    invoke(show, Tuple{IO,typeof(mime),AbstractDict}, io, mime, d)
end
Base.summary(io::IO, d::ArenaDict) =
    isvalid(d) ? invoke(summary, Tuple{IO,AbstractDict}, io, d) : show(io, d)

function print_elements(io::IO, s::ArenaSet{K}) where {K}
    print(io, "ArenaSet{", K, "}(")
    isempty(s) || show_elements(io, s)
    print(io, ")")
end
function print_elements(io::IO, d::ArenaDict{K,V}) where {K,V}
    print(io, "ArenaDict{", K, ", ", V, "}(")
    show_elements(io, d; open="", close="")
    print(io, ")")
end
