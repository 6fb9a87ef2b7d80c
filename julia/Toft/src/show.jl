# How collections print and compare.
# SPDX-License-Identifier: MIT OR Apache-2.0

# The elements between brackets, as Base prints those of a vector: the type once, and on a screen not all of them.
function show_elements(io::IO, elements; open="[", close="]")
    most = get(io, :limit, false) ? 20 : typemax(Int)
    inner = IOContext(io, :typeinfo => eltype(elements))
    print(io, open)
    for (k, x) in enumerate(elements)
        k > 1 && print(io, ", ")
        if k > most
            print(io, "…")
            break
        end
        show(inner, x)
    end
    print(io, close)
end

const Sequence = Union{GenericList,GenericStack,GenericQueue}
name_of(::GenericList) = "List"
name_of(::GenericStack) = "Stack"
name_of(::GenericQueue) = "Queue"

function Base.show(io::IO, c::Sequence)
    print(io, name_of(c), "{", eltype(c), "}(")
    show_elements(io, c)
    print(io, ")")
end

# Types by their public names, as releases of Julia from 1.6 on print constants.
@static if VERSION < v"1.6-"
    const NAMES = (("Allocator", Allocator, 2), ("SOAllocator", SOAllocator, 3), ("Toft.List", List, 1),
                   ("FreeListAllocator", FreeListAllocator, 2), ("FreeListSOAllocator", FreeListSOAllocator, 3),
                   ("Toft.Stack", Stack, 1), ("Toft.Queue", Queue, 1), ("Toft.SortedSet", SortedSet, 1),
                   ("Toft.SortedDict", SortedDict, 2))
    function Base.show(io::IO, T::Type{<:Union{DequePool,FreeListPool,Sequence,GenericSortedSet,GenericSortedDict}})
        for (name, C, n) in NAMES
            T isa DataType && T.name === Base.unwrap_unionall(C).name || continue
            n == 3 && !(T.parameters[3] isa Type && T.parameters[3] <: Columns) && continue
            T === C{T.parameters[1:n]...} && return print(io, name, "{", join(T.parameters[1:n], ","), "}")
        end
        invoke(show, Tuple{IO,Type}, io, T)
    end
end

# Equal: of the same kind, with equal elements in the same order, in any storage.
same_elements(a, b) = length(a) == length(b) && all(pair -> isequal(pair...), zip(a, b))
Base.:(==)(a::GenericList, b::GenericList) = same_elements(a, b)
Base.:(==)(a::GenericStack, b::GenericStack) = same_elements(a, b)
Base.:(==)(a::GenericQueue, b::GenericQueue) = same_elements(a, b)
Base.hash(c::Sequence, h::UInt) = foldl((h, x) -> hash(x, h), c; init=hash(name_of(c), h))

# A set on a screen in one line; a dictionary as Base shows any.
Base.show(io::IO, ::MIME"text/plain", s::GenericSortedSet) = show(io, s)

# Pools grow by themselves; the size is a hint, and so are the keywords of later releases of Julia.
Base.sizehint!(c::Union{Sequence,GenericSortedSet,GenericSortedDict}, n; hints...) = c
