# Arrays in arenas. Each refers to its Lifetime, so that it detects when its memory was freed, and
# keeps the arena reachable through it.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    ArenaArray{T,N} <: DenseArray{T,N}
    ArenaArray{T}(a::Arena, undef, dims...; align)
    ArenaArray(a::Arena, src::AbstractArray), ArenaArray{T}(a, src)
    zeros(a::Arena, T, dims...), ones(a::Arena, T, dims...)

An array of bits types whose memory lies in an arena: not initialised, a copy of `src`, or filled. Indices begin at 1,
the first dimension is contiguous. Making one is an allocation of the arena and, as a rule, none of Julia's. `align`: a
power of two; as `T` is, and 8 at least, unless given. Errors as [`alloc`](@ref), and `ArgumentError` for a negative
dimension.

It is a strided array: it goes to `ccall`, BLAS and LAPACK without a copy. Results computed from it (`similar`, `copy`,
`map`, `A .+ 1`) is an ordinary `Array`: it may outlive the arena, and temporaries would fill the arena, which gives
nothing back before its end. To compute into the arena, assign: `B .= A .+ 1`, `mul!(C, A, B)`. Where both sides
overlap (`A[2:end] .= view(A, 1:n)`), a copy of the source is made first, in its arena: a [`scope`](@ref) gives it back.

**After the memory is freed** (`rewind!` to a mark from before, `reset!`, `release!`, the end of a `scope` or
`arena` block), the array throws an `ArgumentError`: `A[i]` and `A[i] = x` where they check bounds, and always
`size`, `length`, `axes`, `eachindex`, iteration, `pointer` and thus all that begins with them: `sum`, broadcasting,
`copyto!`, views, `ccall`. Under `@inbounds` (and `--check-bounds=no`) the accesses themselves are not checked, and are
as fast as those of an `Array`: a promise that the index is right and that the arena is open and reachable. What another
side (C) frees is not noticed, nor is `deallocate!` of its memory.

The array keeps its arena from being finalized; under `@inbounds` only while the array is in use elsewhere too, as it is
if it is an argument of the function that loops. `isvalid(A)` returns whether the memory is still there.

`deepcopy` and `Serialization`, and so a call of `Distributed`, refuse an array: an `ArgumentError`. Pass `Array(A)`.

Threads: as the arena's; but several tasks may read and write elements at the same time.

    julia> arena() do a
               A = ArenaArray(a, [1.0 2.0; 3.0 4.0])
               A .*= 2
               sum(A)
           end
    20.0
"""
struct ArenaArray{T,N} <: DenseArray{T,N}
    at::Ptr{T}
    dims::NTuple{N,Int}
    lifetime::Lifetime{Arena}
    generation::UInt

    @inline function ArenaArray{T,N}(a::Arena, ::UndefInitializer, dims::NTuple{N,Int}; align::Integer = 1) where {T,N}
        at = alloc(a, T, elements(dims); align = align)
        l = lifetime(a)
        new{T,N}(at, dims, l, l.generation)
    end

    ArenaArray{T,N}(at::Ptr{T}, dims::NTuple{N,Int}, lifetime::Lifetime{Arena}, generation::UInt) where {T,N} =
        new{T,N}(at, dims, lifetime, generation)
end

"""
    ArenaVector{T}

Short for `ArenaArray{T,1}`: see [`ArenaArray`](@ref).
"""
const ArenaVector{T} = ArenaArray{T,1}

"""
    ArenaMatrix{T}

Short for `ArenaArray{T,2}`: see [`ArenaArray`](@ref).
"""
const ArenaMatrix{T} = ArenaArray{T,2}

# The product of the dimensions. What does not fit an Int fits no arena.
@inline elements(dims::Tuple{Int}) = dims[1]
function elements(dims::Tuple{Vararg{Int}})
    n, over = 1, false
    for d in dims
        d < 0 && throw(ArgumentError("a negative dimension: $d"))
        n, more = Base.Checked.mul_with_overflow(n, d)
        over |= more
    end
    over && !(0 in dims) ? too_large("an array of " * join(dims, "×")) : 0 in dims ? 0 : n
end

@inline ArenaArray{T,N}(a::Arena, u::UndefInitializer, dims::Vararg{Integer,N}; align::Integer = 1) where {T,N} =
    ArenaArray{T,N}(a, u, map(whole, dims); align = align)
@inline ArenaArray{T}(a::Arena, u::UndefInitializer, dims::Vararg{Integer,N}; align::Integer = 1) where {T,N} =
    ArenaArray{T,N}(a, u, map(whole, dims); align = align)
@inline ArenaArray{T}(a::Arena, u::UndefInitializer, dims::Tuple{Vararg{Integer,N}}; align::Integer = 1) where {T,N} =
    ArenaArray{T,N}(a, u, map(whole, dims); align = align)

ArenaArray{T,N}(a::Arena, u::UndefInitializer, dims::Tuple{Vararg{Integer,N}}; align::Integer = 1) where {T,N} =
    ArenaArray{T,N}(a, u, map(whole, dims); align = align)

ArenaArray{T,N}(a::Arena, src::AbstractArray{S,N}; align::Integer = 1) where {T,S,N} =
    copyto!(ArenaArray{T,N}(a, undef, size(src); align = align), src)
ArenaArray{T}(a::Arena, src::AbstractArray{S,N}; align::Integer = 1) where {T,S,N} =
    ArenaArray{T,N}(a, src; align = align)
ArenaArray(a::Arena, src::AbstractArray{T,N}; align::Integer = 1) where {T,N} = ArenaArray{T,N}(a, src; align = align)

Base.zeros(a::Arena, ::Type{T}, dims::Tuple{Vararg{Integer}}) where {T} = fill!(ArenaArray{T}(a, undef, dims), zero(T))
Base.ones(a::Arena, ::Type{T}, dims::Tuple{Vararg{Integer}}) where {T} = fill!(ArenaArray{T}(a, undef, dims), one(T))
Base.zeros(a::Arena, ::Type{T}, dims::Integer...) where {T} = zeros(a, T, dims)
Base.ones(a::Arena, ::Type{T}, dims::Integer...) where {T} = ones(a, T, dims)

"""
    unsafe_wrap(ArenaArray, a::Arena, p::Ptr{T}, dims)

Memory that `alloc` gave, or that C allocated in `a`, as an array of `a`: it throws when memory allocated at this point
is freed. Unsafe: `p` must point to that many `T` in `a`. `dims` is an `Int` or a tuple of them.
"""
function Base.unsafe_wrap(::Type{<:ArenaArray}, a::Arena, p::Ptr{T}, dims::Tuple{Vararg{Int,N}}) where {T,N}
    isbitstype(T) || not_bits(T)
    opened(a)
    bytes_of(T, elements(dims)) # throws for sizes that make no sense
    l = lifetime(a)
    ArenaArray{T,N}(p, dims, l, l.generation)
end
Base.unsafe_wrap(::Type{A}, a::Arena, p::Ptr{T}, n::Int) where {T,A<:ArenaArray} = unsafe_wrap(A, a, p, (n,))

# ---- is the memory still there? ----

"""
    isvalid(A::ArenaArray) -> Bool

Whether the memory of `A` was not freed yet, as far as Julia did it.
"""
@inline Base.isvalid(A::ArenaArray) = A.lifetime.generation == A.generation

@noinline throw_freed() =
    throw(ArgumentError("the memory of this array was freed: its arena was rewound, reset or released"))
@inline valid(A::ArenaArray) = isvalid(A) ? nothing : throw_freed()

# ---- the interface of arrays ----

Base.IndexStyle(::Type{<:ArenaArray}) = IndexLinear()

@inline function Base.size(A::ArenaArray)
    valid(A)
    A.dims
end

@inline function Base.length(A::ArenaArray)
    valid(A)
    prod(A.dims)
end

@inline function inside(A::ArenaArray, i::Int)
    valid(A)
    (i - 1) % UInt < prod(A.dims) % UInt || throw(BoundsError(A, i))
    nothing
end

@inline function inside(A::ArenaArray{T,2}, i::Int, j::Int) where {T}
    valid(A)
    ((i - 1) % UInt < A.dims[1] % UInt) & ((j - 1) % UInt < A.dims[2] % UInt) || throw(BoundsError(A, (i, j)))
    nothing
end

@inline inside(A::ArenaArray, i::Int, j::Int, more::Int...) = checkbounds(A, i, j, more...)

# No GC.@preserve: no collection can come between the check, which reads the Lifetime, and the access. Without the check
# it would be needed, but loops with it are not vectorised, which costs them up to 20 times: see the docs of ArenaArray.
@inline function Base.getindex(A::ArenaArray, i::Int)
    @boundscheck inside(A, i)
    unsafe_load(A.at, i)
end

@inline function Base.setindex!(A::ArenaArray{T}, x, i::Int) where {T}
    y = convert(T, x)::T
    @boundscheck inside(A, i)
    unsafe_store!(A.at, y, i)
    A
end

# Those of AbstractArray read the size at each access, also under @inbounds.
@inline function Base.getindex(A::ArenaArray, i::Int, j::Int, more::Int...)
    @boundscheck inside(A, i, j, more...)
    unsafe_load(A.at, linear(A.dims, i, j, more...))
end

@inline function Base.setindex!(A::ArenaArray{T}, x, i::Int, j::Int, more::Int...) where {T}
    y = convert(T, x)::T
    @boundscheck inside(A, i, j, more...)
    unsafe_store!(A.at, y, linear(A.dims, i, j, more...))
    A
end

@inline linear(dims, I...) = @inbounds LinearIndices(dims)[I...]

@inline Base.iterate(A::ArenaArray, i::Int = 1) =
    (i - 1) % UInt < length(A) % UInt ? (unsafe_load(A.at, i), i + 1) : nothing

# A view checks its own bounds, not its parent's, which are checked here.
@inline function Base.axes(V::SubArray{T,N,<:ArenaArray}) where {T,N}
    valid(parent(V))
    invoke(axes, Tuple{SubArray}, V)
end

Base.elsize(::Type{<:ArenaArray{T}}) where {T} = stride_of(T)
Base.sizeof(A::ArenaArray{T}) where {T} = length(A) * stride_of(T) # of the elements, as an Array's: for memset and such
Base.strides(A::ArenaArray) = strides_of(size(A))
strides_of(dims::Tuple{}) = ()
strides_of(dims::Tuple) = Base.front(cumprod_of(1, dims...))
cumprod_of(n) = (n,)
cumprod_of(n, d, more...) = (n, cumprod_of(n * d, more...)...)

@inline function Base.unsafe_convert(::Type{Ptr{T}}, A::ArenaArray{T}) where {T}
    valid(A)
    A.at
end

Base.dataids(A::ArenaArray) = (UInt(A.at),)

# Of the same type, as broadcasting needs where its source and its destination overlap: so it takes memory of the arena.
Base.unaliascopy(A::ArenaArray) = ArenaArray(A.lifetime.arena, A)

function Base.reshape(A::ArenaArray{T}, dims::Tuple{Vararg{Int,N}}) where {T,N}
    elements(dims) == length(A) ||
        throw(DimensionMismatch("new dimensions $dims must hold as many elements as $(A.dims)"))
    ArenaArray{T,N}(A.at, dims, A.lifetime, A.generation)
end

function Base.fill!(A::ArenaArray{T}, x) where {T}
    y = convert(T, x)::T
    @inbounds for i in eachindex(A)
        A[i] = y
    end
    A
end


# ---- copies of bytes ----

copy_elements!(dest, i, src, j, n) = copy_elements!(dest, Int(i), src, Int(j), Int(n))
function copy_elements!(dest, i::Int, src, j::Int, n::Int)
    n == 0 && return dest
    n > 0 || throw(ArgumentError("copyto!: a negative number of elements: $n"))
    1 <= i <= length(dest) - n + 1 || throw(BoundsError(dest, i:i+n-1)) # a range that overflows is empty
    1 <= j <= length(src) - n + 1 || throw(BoundsError(src, j:j+n-1))
    GC.@preserve dest src unsafe_copy_elements!(pointer(dest, i), pointer(src, j), n)
    dest
end

unsafe_copy_elements!(to::Ptr{T}, from::Ptr{T}, n) where {T} =
    ccall(:memmove, Ptr{Cvoid}, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t), to, from, n * stride_of(T))

# What Base stores side by side; since Julia 1.11 a Memory too.
if isdefined(Base, :Memory)
    const Flat{T} = Union{Array{T},Base.Memory{T}}
else
    const Flat{T} = Array{T}
end

Base.copyto!(dest::ArenaArray{T}, i::Integer, src::Flat{T}, j::Integer, n::Integer) where {T} =
    copy_elements!(dest, i, src, j, n)
Base.copyto!(dest::Flat{T}, i::Integer, src::ArenaArray{T}, j::Integer, n::Integer) where {T} =
    copy_elements!(dest, i, src, j, n)
Base.copyto!(dest::ArenaArray{T}, i::Integer, src::ArenaArray{T}, j::Integer, n::Integer) where {T} =
    copy_elements!(dest, i, src, j, n)
Base.copyto!(dest::ArenaArray{T}, src::Flat{T}) where {T} = copy_elements!(dest, 1, src, 1, length(src))
Base.copyto!(dest::Flat{T}, src::ArenaArray{T}) where {T} = copy_elements!(dest, 1, src, 1, length(src))
Base.copyto!(dest::ArenaArray{T}, src::ArenaArray{T}) where {T} = copy_elements!(dest, 1, src, 1, length(src))

# ---- printing: also of arrays whose memory was freed ----

function Base.show(io::IO, mime::MIME"text/plain", A::ArenaArray)
    isvalid(A) && return invoke(show, Tuple{IO,typeof(mime),AbstractArray}, io, mime, A)
    summary(io, A)
end

# A BoundsError is printed with this, as a rule after its arena's block has ended.
function Base.summary(io::IO, A::ArenaArray)
    isvalid(A) && return invoke(summary, Tuple{IO,AbstractArray}, io, A)
    print(io, join(A.dims, "×"), " ", typeof(A), " whose memory was freed")
end

function Base.summary(io::IO, V::SubArray{T,N,<:ArenaArray}) where {T,N}
    isvalid(parent(V)) && return invoke(summary, Tuple{IO,AbstractArray}, io, V)
    print(io, typeof(V), " whose memory was freed")
end

function Base.show(io::IO, A::ArenaArray)
    isvalid(A) && return invoke(show, Tuple{IO,AbstractArray}, io, A)
    print(io, typeof(A), "(freed)")
end
