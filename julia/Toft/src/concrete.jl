# The concrete types of pools and collections, for the fields of structs.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    concretetype(C)
    concretetype(C, kind)

The concrete type of a collection or pool: of what `C()` returns, or `C(kind)` with this kind of pool. `C` is
`SortedDict{K,V}`, `SortedSet{K}`, `List{T}`, `Stack{T}` or `Queue{T}`; or, without a kind, a pool's `Allocator{T,I}`,
`SOAllocator{T,I}`, `FreeListAllocator{T,I}` or `FreeListSOAllocator{T,I}`, where `I` may be left out as in its
constructor. A concrete type is its own.

These names leave parameters out, and so a field that is declared with one of them is as slow as any field of an
abstract type: Julia looks up the type of the collection whenever it is used. A field of the concrete type, or of a type
parameter of the struct, is not.

    julia> using Toft: SortedDict, Stack

    julia> struct Inventory
               stock::concretetype(SortedDict{String,Int})
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

concretetype(::Type{SortedDict{K,V}}, kind::Type{<:AbstractPool}=FreeListAllocator) where {K,V} =
    SortedDict{K,V,concretetype(kind{Tuple{storable(K),storable(V)},UInt32}),code_type(K)}
concretetype(::Type{SortedSet{K}}, kind::Type{<:AbstractPool}=FreeListAllocator) where {K} =
    SortedSet{K,concretetype(kind{Tuple{storable(K)},UInt32}),code_type(K)}
concretetype(::Type{List{T}}, kind::Type{<:AbstractPool}=FreeListAllocator) where {T} =
    List{T,Int,concretetype(kind{Tuple{T,Int},Int})}
concretetype(::Type{Stack{T}}, kind::Type{<:AbstractPool}=Allocator) where {T} = Stack{T,items_type(T, kind)}
concretetype(::Type{Queue{T}}, kind::Type{<:AbstractPool}=Allocator) where {T} = Queue{T,items_type(T, kind)}

items_type(::Type{T}, kind::Type{<:DequePool}) where {T} = concretetype(kind{stored_type(T, kind),Int})
items_type(::Type{T}, kind::Type{<:FreeListPool}) where {T} = concretetype(List{T}, kind)
