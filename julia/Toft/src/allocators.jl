# The names of Allocators.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    Toft.Allocators

The names of the package Allocators.jl: the four kinds of pools, their seven functions, and what `Toft` has under other
names: `TupleVector`, the abstract types, and `N`, the number of slots with which a pool that grows begins. A program
for Allocators.jl runs after `using Toft.Allocators`.

    julia> using Toft.Allocators

    julia> columns = TupleVector{Tuple{Int,Int}}(N);

    julia> pool = SOAllocator{Tuple{Int,Int},Int,typeof(columns)}(columns, nothing);

    julia> allocateend!(pool, (1, 2))
    1
"""
module Allocators

using ..Toft: Toft, AbstractPool, DequePool, Columns, Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator,
    allocateend!, allocatebegin!, deallocateend!, deallocatebegin!, deallocate!, emptyend!, emptybegin!

export Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator, TupleVector, N,
    AbstractFreeListAllocator, AbstractAllocator, AbstractSOAllocator, AbstractFreeListSOAllocator,
    allocateend!, allocatebegin!, deallocateend!, deallocatebegin!, deallocate!, emptyend!, emptybegin!

"The number of slots with which a pool that grows begins."
const N = Toft.LEAST

"A structure of arrays: `Toft.Columns`."
const TupleVector = Columns

"All four kinds: [`AbstractPool`](@ref)."
const AbstractFreeListAllocator{T,I<:Integer} = AbstractPool{T,I}
"The two kinds without a free list: [`Allocator`](@ref) and [`SOAllocator`](@ref)."
const AbstractAllocator{T,I<:Integer} = DequePool{T,I}
"[`SOAllocator`](@ref)."
const AbstractSOAllocator{T,I<:Integer,S<:Columns{T}} = SOAllocator{T,I,S}
"The two kinds with columns: [`SOAllocator`](@ref) and [`FreeListSOAllocator`](@ref)."
const AbstractFreeListSOAllocator{T,I<:Integer,S<:Columns{T}} = Union{SOAllocator{T,I,S},FreeListSOAllocator{T,I,S}}

end
