"""
Toft for Julia: index-addressed pools, structure-of-arrays, collections on them without garbage, and arenas outside the
garbage collector that C, C++, Rust and Go fill too.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
module Toft

export PoolFullError, StaleIndexError,
    AbstractPool, Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator, Columns, TupleVector,
    AbstractFreeListAllocator, AbstractAllocator, AbstractSOAllocator, AbstractFreeListSOAllocator,
    allocateend!, allocatebegin!, deallocateend!, deallocatebegin!, deallocate!, emptyend!, emptybegin!,
    capacity, trim!, column, Handle, handle,
    List, Stack, Queue, SortedSet, SortedDict, between, concretetype,
    Arena, arena, alloc, cstring, release!, reset!, rewind!, scope, budget!, checked!, cleanup!, stats, ArenaStats,
    ArenaArray, ArenaVector, ArenaMatrix, ArenaError, cache_limit!, cache_held, cache_trim!,
    metered!, tag, tagbudget!, sampled!, report, snapshot, ArenaReport, TagStats, SiteStats

include("errors.jl")
include("stores.jl")
include("ends.jl")
include("freelists.jl")
include("list.jl")
include("stack.jl")
include("tree.jl")
include("set.jl")
include("dict.jl")
include("sorted.jl")
include("concrete.jl")
include("show.jl")
include("arena.jl")

end
