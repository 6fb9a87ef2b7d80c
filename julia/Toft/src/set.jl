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
Searching, adding and deleting take time in proportion to the logarithm of the length. Steady use makes no garbage.

While a set is walked, adding and deleting may have the walk leave elements out, even all that would follow, or give
them twice; what it gives is in the set at that moment. To delete some of the elements there is `filter!`. Walks and
lookups may run on several threads at a time while nothing changes the set.

    julia> using Toft: SortedSet, between

    julia> s = SortedSet([3, 1, 2])
    SortedSet{Int64}([1, 2, 3])

    julia> collect(between(s, 2, 9)) == [2, 3]
    true

`SortedSet{K}` is not a concrete type, as that of a field of a struct should be: [`concretetype`](@ref) gives it.
"""
struct SortedSet{K,P<:AbstractPool,C} <: AbstractSet{K}
    pool::P
    tree::Tree{C}
end

function SortedSet{K}(kind::Type{<:AbstractPool}=FreeListAllocator, n::Union{Integer,Nothing}=nothing) where {K}
    pool = kind{Tuple{storable(K)},UInt32}(n)
    tree = Tree{code_type(K)}(something(n, 0))
    return SortedSet{K,typeof(pool),code_type(K)}(pool, tree)
end

SortedSet{K}(elements) where {K} = union!(SortedSet{K}(), elements)
SortedSet(elements) = set_of(with_eltype(elements))
set_of(elements) = SortedSet{eltype(elements)}(elements)
SortedSet() = SortedSet{Any}()
# Of a concrete type, as conversion to that of a field needs it.
SortedSet{K,P,C}(elements=()) where {K,P<:AbstractPool,C} = union!(SortedSet{K,P,C}(P(nothing), Tree{C}(0)), elements)

@inline Base.in(x::K, s::SortedSet{K}) where {K} = search(s.tree, encode(K, x))[2]
function Base.in(x, s::SortedSet{K}) where {K}
    key = as_key(K, x)
    return key !== nothing && in(something(key), s)
end

@inline function Base.push!(s::SortedSet{K}, x::K) where {K}
    code = encode(K, x)
    at, there = search(s.tree, code)
    there || add!(s, at, code, (x,))
    return s
end
@inline element(s::SortedSet{K}, at) where {K} = decode(K, key_at(s.tree, at))::K

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

function Base.show(io::IO, s::SortedSet{K}) where {K}
    print(io, "SortedSet{", K, "}(")
    isempty(s) || show_elements(io, s)
    print(io, ")")
end
