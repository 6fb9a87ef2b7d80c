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
