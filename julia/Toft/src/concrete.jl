# The concrete types of pools and collections, for the fields of structs.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    concretetype(C)
    concretetype(C, kind)

The concrete type of a collection or pool, for the field of a struct: of what `C()` returns, or `C(kind)` with this kind
of pool. `C` is `SortedDict{K,V}`, `SortedSet{K}`, `List{T}`, `Stack{T}` or `Queue{T}`; or, without a kind, a pool's
`Allocator{T,I}`, `SOAllocator{T,I}`, `FreeListAllocator{T,I}` or `FreeListSOAllocator{T,I}`, where `I` may be left out
as in its constructor. A concrete type is its own: that of a collection without a kind, `Allocator{T,I}` and
`FreeListAllocator{T,I}`. The two names with columns cannot be concrete: the types of their columns are those of the
fields of `T`, and the definition of a type in Julia cannot compute them.

    julia> using Toft: SortedDict, Stack

    julia> struct Inventory
               stock::SortedDict{String,Int}
               order::concretetype(Stack{Int}, SOAllocator)
           end

    julia> inventory = Inventory(SortedDict{String,Int}(), Stack{Int}(SOAllocator));

    julia> all(isconcretetype, fieldtypes(Inventory))
    true
"""
function concretetype(::Type{C}) where {C}
    isconcretetype(C) || throw(ArgumentError("concretetype: $C is no collection or pool whose elements have a type"))
    return C
end

concretetype(::Type{Allocator{T}}) where {T} = Allocator{T,Int}
concretetype(::Type{FreeListAllocator{T}}) where {T} = FreeListAllocator{T,Int}
concretetype(::Type{SOAllocator{T}}) where {T} = concretetype(SOAllocator{T,Int})
concretetype(::Type{SOAllocator{T,I}}) where {T,I} = SOAllocator{T,I,columns_type(T)}
concretetype(::Type{FreeListSOAllocator{T}}) where {T} = concretetype(FreeListSOAllocator{T,Int})
concretetype(::Type{FreeListSOAllocator{T,I}}) where {T,I} = FreeListSOAllocator{T,I,columns_type(T)}

concretetype(::Type{SortedDict{K,V}}, kind::Type{<:AbstractPool}) where {K,V} =
    GenericSortedDict{K,V,own_pool(kind, Pair{K,V}, UInt32)}
concretetype(::Type{SortedSet{K}}, kind::Type{<:AbstractPool}) where {K} =
    GenericSortedSet{K,own_pool(kind, Member{K}, UInt32)}
concretetype(::Type{List{T}}, kind::Type{<:AbstractPool}) where {T} =
    GenericList{T,Int,cells_type(kind, T)}
concretetype(::Type{Stack{T}}, kind::Type{<:AbstractPool}) where {T} = GenericStack{T,items_type(T, kind)}
concretetype(::Type{Queue{T}}, kind::Type{<:AbstractPool}) where {T} = GenericQueue{T,items_type(T, kind)}

items_type(::Type{T}, kind::Type{<:DequePool}) where {T} = concretetype(kind{stored_type(T, kind),Int})
items_type(::Type{T}, kind::Type{<:FreeListPool}) where {T} = concretetype(List{T}, kind)
