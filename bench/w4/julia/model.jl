# Pools by the scheme of Allocators.jl, reimplemented in a few lines: the rivals named model.
#
# A pool is a vector whose live part is first:last; an index is a position in it, and 0 means none. Allocating at the
# end moves `last`; a growing pool doubles when it is full, and halves when a quarter is in use. A pool with a free list
# has a second pool, a stack of the freed positions. Columns hold one vector for each field. As in the original no
# access is checked, and a fixed pool does not check its capacity.
#
# SPDX-License-Identifier: MIT OR Apache-2.0
module Model

export Columns, Pool, FreePool, allocateend!, deallocateend!, deallocatebegin!, deallocate!, emptyend!, field, setfield

struct Columns{T<:Tuple,S<:Tuple}
    vectors::S
end

function Columns{T}(n) where {T}
    vectors = ntuple(k -> Vector{fieldtype(T, k)}(undef, n), fieldcount(T))
    return Columns{T,typeof(vectors)}(vectors)
end

@inline at(v::Vector, i) = @inbounds v[i]
@inline at(c::Columns, i) = map(v -> @inbounds(v[i]), c.vectors)
@inline at!(v::Vector, x, i) = (@inbounds v[i] = x; nothing)
@inline at!(c::Columns, x, i) = (map((v, y) -> (@inbounds v[i] = y; nothing), c.vectors, x); nothing)
@inline field(v::Vector, i, ::Val{J}) where {J} = @inbounds v[i][J]
@inline field(c::Columns, i, ::Val{J}) where {J} = @inbounds c.vectors[J][i]
@generated changed(t::Tuple, x, ::Val{J}) where {J} =
    Expr(:tuple, (k == J ? :x : :(t[$k]) for k in 1:fieldcount(t))...)
@inline setfield(v::Vector, x, i, j::Val) = (@inbounds v[i] = changed(v[i], x, j); nothing)
@inline setfield(c::Columns, x, i, ::Val{J}) where {J} = (@inbounds c.vectors[J][i] = x; nothing)

cut_end!(v::Vector, n) = resize!(v, n)
cut_end!(c::Columns, n) = foreach(v -> resize!(v, n), c.vectors)
cut_begin!(v::Vector, n) = deleteat!(v, 1:n)
cut_begin!(c::Columns, n) = foreach(v -> deleteat!(v, 1:n), c.vectors)

const LEAST = 16

mutable struct Pool{T,S}
    n::Int
    resizable::Bool
    store::S
    first::Int
    last::Int
end

vector_of(::Type{T}, n) where {T} = Vector{T}(undef, n)
columns_of(::Type{T}, n) where {T} = Columns{T}(n)

function Pool{T}(store_of, n) where {T}
    length = n === nothing ? LEAST : n
    store = store_of(T, length)
    return Pool{T,typeof(store)}(length, n === nothing, store, 1, 0)
end

@inline function allocateend!(p::Pool, x)
    if p.resizable && p.last >= p.n
        p.n *= 2
        cut_end!(p.store, p.n)
    end
    p.last += 1
    at!(p.store, x, p.last)
    return p.last
end

@inline function deallocateend!(p::Pool)
    p.last -= 1
    if p.resizable && max(LEAST, 4 * p.last) < p.n
        p.n >>= 1
        cut_end!(p.store, p.n)
    end
    return nothing
end

@inline function deallocatebegin!(p::Pool)
    p.first += 1
    if p.resizable && max(LEAST, 4 * (p.n - p.first)) < p.n
        half = p.n >> 1
        cut_begin!(p.store, half)
        p.n -= half
        p.first -= half
        p.last -= half
    end
    return nothing
end

@inline deallocate!(::Pool, i) = nothing
@inline emptyend!(p::Pool) = (p.first = 1; p.last = 0; nothing)
@inline Base.isempty(p::Pool) = p.first == p.last + 1
@inline Base.getindex(p::Pool, i) = at(p.store, i)
@inline Base.setindex!(p::Pool, x, i) = at!(p.store, x, i)
@inline field(p::Pool, i, j) = field(p.store, i, j)
@inline setfield(p::Pool, x, i, j) = setfield(p.store, x, i, j)

struct FreePool{T,S}
    used::Pool{T,S}
    free::Pool{Int,Vector{Int}}
end

function FreePool{T}(store_of, n) where {T}
    used = Pool{T}(store_of, n)
    return FreePool{T,typeof(used.store)}(used, Pool{Int}(vector_of, n))
end

@inline function allocateend!(p::FreePool, x)
    isempty(p.free) && return allocateend!(p.used, x)
    i = p.free[p.free.last]
    p.free.last -= 1
    at!(p.used.store, x, i)
    return i
end

@inline deallocate!(p::FreePool, i) = (allocateend!(p.free, i); nothing)
@inline emptyend!(p::FreePool) = (emptyend!(p.used); emptyend!(p.free))
@inline Base.isempty(p::FreePool) = p.free.last == p.used.last
@inline Base.getindex(p::FreePool, i) = p.used[i]
@inline Base.setindex!(p::FreePool, x, i) = p.used[i] = x
@inline field(p::FreePool, i, j) = field(p.used.store, i, j)
@inline setfield(p::FreePool, x, i, j) = setfield(p.used.store, x, i, j)

end
