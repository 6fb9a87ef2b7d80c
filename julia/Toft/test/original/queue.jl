# A queue between the two ends of a pool, as in a program for Allocators.jl, and one that goes the other way.
# SPDX-License-Identifier: MIT OR Apache-2.0

struct PoolQueue{T,I,A<:AbstractAllocator{T,I}}
    alloc::A
end
PoolQueue(alloc::AbstractAllocator{T,I}) where {T,I} = PoolQueue{T,I,typeof(alloc)}(alloc)

Base.isempty(q::PoolQueue) = isempty(q.alloc)

function Base.push!(q::PoolQueue{T}, x::T) where {T}
    allocateend!(q.alloc, x)
    return q
end

function Base.pop!(q::PoolQueue)
    x = q.alloc[q.alloc.first]
    deallocatebegin!(q.alloc)
    return x
end

struct PoolQueueBackward{T,I,A<:AbstractAllocator{T,I}}
    alloc::A
    function PoolQueueBackward(alloc::AbstractAllocator{T,I}) where {T,I}
        emptybegin!(alloc)
        return new{T,I,typeof(alloc)}(alloc)
    end
end

Base.isempty(q::PoolQueueBackward) = isempty(q.alloc)

function Base.push!(q::PoolQueueBackward{T}, x::T) where {T}
    allocatebegin!(q.alloc, x)
    return q
end

function Base.pop!(q::PoolQueueBackward)
    x = q.alloc[q.alloc.last]
    deallocateend!(q.alloc)
    return x
end
