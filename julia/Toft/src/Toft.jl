"""
Toft for Julia: index-addressed pools, structure-of-arrays, collections on them without garbage, and arenas outside the
garbage collector that C, C++, Rust and Go fill too.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
module Toft

# Exported are names that contain the name of their subject. Words that other packages export, or programs use as names
# of variables, are public without being exported: `using Toft: Stack, alloc` or `Toft.alloc`.

export PoolFullError, StaleIndexError, BudgetError, ArenaMemoryError,
    AbstractPool, Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator,
    allocateend!, allocatebegin!, deallocateend!, deallocatebegin!, deallocate!, emptyend!, emptybegin!, trim!,
    concretetype,
    Arena, arena, cstring, release!, rewind!, budget!, cleanup!,
    ArenaArray, ArenaVector, ArenaMatrix, ArenaSet, ArenaDict, ArenaError,
    Frozen, FrozenError, open_frozen

const PUBLIC = (
    :Columns, :capacity, :column, :storage, :Handle, :handle,
    :List, :Stack, :Queue, :SortedSet, :SortedDict, :between, :nth,
    :GenericList, :GenericStack, :GenericQueue, :GenericSortedSet, :GenericSortedDict,
    :alloc, :Mark, :scope, :default_arena,
    Symbol("@no_escape"), Symbol("@alloc"), Symbol("@alloc_ptr"),
    :reset!, :stats, :library,
    :checked!, :metered!, :tagbudget!, :sampled!, :tag, :report, :snapshot,
    :ArenaStats, :ArenaReport, :TagStats, :SiteStats, :cache_limit!, :cache_held, :cache_trim!,
    :Budget, :BudgetStats, :limit!, :limit_live!, :charge!, :uncharge!,
    :Allocators, :root, :moved, :freeze, :content,
    :FrozenArray, :FrozenVector, :FrozenSortedSet, :FrozenSortedDict, :FrozenPool,
)
@static if isdefined(Base, :ispublic)
    eval(Expr(:public, PUBLIC...))
end

include("errors.jl")
include("stores.jl")
include("deque_pool.jl")
include("free_list_pool.jl")
include("cell_pool.jl")
include("list.jl")
include("stack.jl")
include("tree.jl")
include("tree_changes.jl")
include("set.jl")
include("dict.jl")
include("sorted.jl")
include("concrete.jl")
include("show.jl")
include("arena.jl")
include("budget.jl")
include("arena_dict.jl")
include("arena_copies.jl")
include("dict_interface.jl")
include("block_arena.jl")
include("no_escape.jl")
include("frozen.jl")
include("frozen_collections.jl")
include("freeze.jl")
include("allocators.jl")

function __init__()
    number_lifetimes()
    reset_held()
    make_thread_arenas()
end

end
