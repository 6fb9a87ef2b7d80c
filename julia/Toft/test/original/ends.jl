# A stack at the end of a pool, and queues between its ends, as in programs for Allocators.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

for (Name, start, put, i, free) in (
    (:PoolStack, :identity, :allocateend!, :(s.alloc.last), :deallocateend!),
    (:PoolQueue, :identity, :allocateend!, :(s.alloc.first), :deallocatebegin!),
    (:PoolQueueBackward, :emptybegin!, :allocatebegin!, :(s.alloc.last), :deallocateend!),
)
    @eval begin
        struct $Name{T,I,A<:AbstractAllocator{T,I}}
            alloc::A
            $Name(alloc::AbstractAllocator{T,I}) where {T,I} = ($start(alloc); new{T,I,typeof(alloc)}(alloc))
        end
        Base.isempty(s::$Name) = isempty(s.alloc)
        Base.push!(s::$Name{T}, x::T) where {T} = ($put(s.alloc, x); s)
        Base.pop!(s::$Name) = (x = s.alloc[$i]; $free(s.alloc); x)
        Base.empty!(s::$Name) = emptyend!(s.alloc)
    end
end
