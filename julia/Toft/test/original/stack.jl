# A stack at the end of a pool, as in a program for Allocators.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

struct PoolStack{T,I,A<:AbstractAllocator{T,I}}
    alloc::A
end
PoolStack(alloc::AbstractAllocator{T,I}) where {T,I} = PoolStack{T,I,typeof(alloc)}(alloc)

Base.isempty(s::PoolStack) = isempty(s.alloc)

function Base.push!(s::PoolStack{T}, x::T) where {T}
    allocateend!(s.alloc, x)
    return s
end

function Base.pop!(s::PoolStack)
    x = s.alloc[s.alloc.last]
    deallocateend!(s.alloc)
    return x
end

Base.empty!(s::PoolStack) = emptyend!(s.alloc)
