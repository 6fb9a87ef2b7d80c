# SortedSet: the elements in a pool, their order in a tree.
# SPDX-License-Identifier: MIT OR Apache-2.0

struct Member{K} # an element of a set in its pool: of any type K, in any kind of pool
    key::K
    Member{K}(key::K) where {K} = new{K}(key)
end

"""
    GenericSortedSet{K,P}

The sorted sets of elements of type `K` in a pool of any type `P`. [`SortedSet`](@ref) constructs them, and is the one
whose pool frees its slots one by one.
"""
struct GenericSortedSet{K,P<:AbstractPool{Member{K},UInt32}} <: AbstractSet{K}
    pool::P
    tree::Tree{K}
    GenericSortedSet{K,P}(pool::P, tree::Tree{K}) where {K,P<:AbstractPool{Member{K},UInt32}} = new{K,P}(pool, tree)
end

"""
    SortedSet{K}(kind=FreeListAllocator, n=nothing)
    SortedSet{K}(elements)
    SortedSet(elements)

A set whose elements are in the order of `isless`: an `AbstractSet`. They are stored in slots of its own, as in this
kind of pool ([`Allocator`](@ref), [`FreeListAllocator`](@ref), [`SOAllocator`](@ref) or
[`FreeListSOAllocator`](@ref)), for `n` elements at most, or as many as there are; when a fixed one is full, `push!`
throws [`PoolFullError`](@ref). In the two kinds without a free list, the slot of a deleted element stays taken until
`empty!`.

`first`, `last`, `pop!` (the last), `popfirst!`, iteration, `Iterators.reverse` and [`between`](@ref) go by the order.
Searching, adding and deleting take time in proportion to the logarithm of the length. Steady use makes no garbage.

While a set is walked, adding and deleting may have the walk leave elements out, even all that would follow, or give
them twice; each value is in the set at that moment. To delete some of the elements there is `filter!`. Walks and
lookups may run on several threads at a time while nothing changes the set.

    julia> using Toft: SortedSet, between

    julia> s = SortedSet([3, 1, 2])
    SortedSet{Int64}([1, 2, 3])

    julia> collect(between(s, 2, 9)) == [2, 3]
    true

`SortedSet{K}` is the concrete type of a set of the kind `FreeListAllocator`; with another kind the constructor makes
another [`GenericSortedSet`](@ref).
"""
const SortedSet{K} = GenericSortedSet{K,CellPool{Member{K},UInt32,Vector{Member{K}}}}

function SortedSet{K}(kind::Type{<:AbstractPool}=FreeListAllocator, n::Union{Integer,Nothing}=nothing) where {K}
    pool = own_pool(kind, Member{K}, UInt32)(n)
    return GenericSortedSet{K,typeof(pool)}(pool, Tree{K}(something(n, 0)))
end

SortedSet{K}(elements) where {K} = union!(SortedSet{K}(), elements)
SortedSet(elements) = set_of(with_eltype(elements))
set_of(elements) = SortedSet{eltype(elements)}(elements)
SortedSet() = SortedSet{Any}()
# Of a concrete type, as conversion to that of a field needs it.
GenericSortedSet{K,P}(elements=()) where {K,P<:AbstractPool{Member{K},UInt32}} =
    union!(GenericSortedSet{K,P}(P(nothing), Tree{K}(0)), elements)

@inline Base.in(x::K, s::GenericSortedSet{K}) where {K} = search(s.tree, encode(K, x))[2]
function Base.in(x, s::GenericSortedSet{K}) where {K}
    key = as_key(K, x)
    return key !== nothing && in(something(key), s)
end

@inline function Base.push!(s::GenericSortedSet{K}, x::K) where {K}
    code = encode(K, x)
    at, there = search(s.tree, code)
    there || add!(s, at, code, Member{K}(x))
    return s
end
@inline element(s::GenericSortedSet{K}, at) where {K} = decode(K, key_at(s.tree, at))::K

# What Base's functions of sets make

Base.empty(::GenericSortedSet{K}, ::Type{U}=K) where {K,U} = SortedSet{U}()
if isdefined(Base, :emptymutable)
    Base.emptymutable(::GenericSortedSet{K}, ::Type{U}=K) where {K,U} = SortedSet{U}()
end
if isdefined(Base, :copymutable)
    Base.copymutable(s::GenericSortedSet) = copy(s)
end
Base.copy(s::GenericSortedSet{K}) where {K} = union!(SortedSet{K}(), s)
Base.filter(f, s::GenericSortedSet{K}) where {K} = union!(SortedSet{K}(), Iterators.filter(f, s))

function Base.show(io::IO, s::GenericSortedSet{K}) where {K}
    print(io, "SortedSet{", K, "}(")
    isempty(s) || show_elements(io, s)
    print(io, ")")
end
