# Copies field by field, by deepcopy and Serialization (so by Distributed too), are refused for objects that refer to
# memory of an arena: Serialization replaces each pointer by NULL. It does not write an Array in the place of an array
# either, since the field or the container that it is read back into may have the type of the array.
# SPDX-License-Identifier: MIT OR Apache-2.0

using Serialization

refuse_copy(::Union{Arena,Lifetime}) =
    throw(ArgumentError("an arena cannot be copied: two heads would hand out the same bytes"))
refuse_copy(::ArenaArray) =
    throw(ArgumentError("an array in an arena cannot be copied as it is: copy(A) gives an Array"))
refuse_copy(::Union{Hashed,HashTable}) =
    throw(ArgumentError("a collection in an arena cannot be copied as it is: copy makes a Set or a Dict of it"))

const OfArena = Union{Arena,Lifetime,ArenaArray,Hashed,HashTable}

Base.deepcopy_internal(x::OfArena, ::IdDict) = refuse_copy(x)
Serialization.serialize(::AbstractSerializer, x::OfArena) = refuse_copy(x)
