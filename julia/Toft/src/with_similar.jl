# Results of array functions in an arena, for the length of a block.
# SPDX-License-Identifier: MIT OR Apache-2.0

ScratchArray(A::ArenaArray{T,N}) where {T,N} = ScratchArray{T,N}(A.at, A.dims, A.lifetime, A.generation)

"""
    Toft.with_similar(f, arrays::ArenaArray...)

Calls `f(arrays...)` with the same memory as [`Toft.ScratchArray`](@ref)s: within `f`, results computed from them are
in their arena too, not in `Array`s, and results of these as well: `similar`, `copy`, `map`, `A .+ 1`,
`A * B`.
Afterwards the allocations in the arena are freed, as by [`scope`](@ref), also when an exception passes. Elements
that are no bits types still make an `Array`, and so do broadcasts of views and of other wrappers alone.

Returns what `f` did, which must not be memory of the block: an array of it is an `ArgumentError`. Assign to an array
from before, or return `Array(result)`. Arrays of different arenas are an `ArgumentError`.

    julia> using Toft: with_similar

    julia> arena() do a
               A = ArenaArray(a, [1.0 2.0; 3.0 4.0])
               with_similar(A) do A
                   sum(A * A .+ 1) # no Array is made
               end
           end
    58.0
"""
function with_similar(f, A::ArenaArray, more::ArenaArray...)
    a = A.lifetime.arena
    all(B -> B.lifetime.arena === a, more) || throw(ArgumentError("with_similar: arrays of different arenas"))
    value = scope(() -> f(ScratchArray(A), map(ScratchArray, more)...), a)
    is_freed(value) && escaped("a with_similar")
    return value
end

Base.similar(A::ScratchArray, ::Type{T}, dims::Tuple{Vararg{Int,N}}) where {T,N} =
    scratch(A.lifetime.arena, T, dims)
@inline scratch(a::Arena, ::Type{T}, dims::Tuple{Vararg{Int,N}}) where {T,N} =
    isbitstype(T) ? ScratchArray(ArenaArray{T,N}(a, undef, dims)) : Array{T,N}(undef, dims)

Base.unaliascopy(A::ScratchArray) = copy(A)

const ScratchStyle = Base.Broadcast.ArrayStyle{ScratchArray}
Base.BroadcastStyle(::Type{<:ScratchArray}) = ScratchStyle()
Base.similar(b::Base.Broadcast.Broadcasted{ScratchStyle}, ::Type{T}) where {T} =
    scratch(arena_of(b.args...), T, length.(axes(b)))
arena_of(x, more...) = arena_of(more...)
arena_of(A::ScratchArray, more...) = A.lifetime.arena
arena_of(b::Base.Broadcast.Broadcasted{ScratchStyle}, more...) = arena_of(b.args...)
