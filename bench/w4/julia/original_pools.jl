# The pools of Allocators.jl, from the checkout that the variable ALLOCATORS names: the rivals named original. As in its
# own programs, no access is checked, and an index of 0 means none.
# SPDX-License-Identifier: MIT OR Apache-2.0
module Original

export ORIGINAL, original_pool, allocateend!, deallocate!, emptyend!, is_all_free, field, setfield

const ORIGINAL = haskey(ENV, "ALLOCATORS")

if ORIGINAL
    foreach(file -> include(joinpath(abspath(ENV["ALLOCATORS"]), "src", file)), ("soalight.jl", "allocator.jl"))
else
    for name in (:allocateend!, :deallocate!, :deallocateend!, :deallocatebegin!, :emptyend!, :is_all_free, :field,
                 :setfield)
        @eval function $name end
    end
end

# n: its capacity, or nothing: it grows.
function original_pool(::Type{T}, columns, free, n) where {T}
    columns || return (free ? FreeListAllocator : Allocator){T,Int}(n)
    store = TupleVector{T}(n === nothing ? N : n)
    return (free ? FreeListSOAllocator : SOAllocator){T,Int,typeof(store)}(store, n)
end

if ORIGINAL
    const WithFreeList = Union{FreeListAllocator,FreeListSOAllocator}
    is_all_free(pool) = !(pool isa WithFreeList) || isempty(pool) # others have no list of free slots
    const InColumns = Union{SOAllocator,FreeListSOAllocator}
    @inline field(pool, i, ::Val{J}) where {J} = pool[i][J]
    @inline field(pool::InColumns, i, ::Val{J}) where {J} = pool[i, J]
    @generated changed(t::Tuple, x, ::Val{J}) where {J} =
        Expr(:tuple, (k == J ? :x : :(t[$k]) for k in 1:fieldcount(t))...)
    @inline setfield(pool, x, i, j::Val) = (pool[i] = changed(pool[i], x, j); nothing)
    @inline setfield(pool::InColumns, x, i, ::Val{J}) where {J} = (pool[i, J] = x; nothing)
end

end
