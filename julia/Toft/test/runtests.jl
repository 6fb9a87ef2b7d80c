# The tests of the package: `julia --project test/runtests.jl`, or Pkg.test. Arguments, or TOFT_TEST_SETS, name the
# files of test sets to run; without any, all run. TOFT_LONG=1 plays longer streams, and puts more types into more kinds
# of pools; TOFT_LONG=streams does the former alone.
# SPDX-License-Identifier: MIT OR Apache-2.0

using Random
using Test
using Toft
using Toft: Columns, GenericList, GenericStack, Handle, List, Queue, SortedDict, SortedSet, Stack, between, nth,
    capacity, column, handle, storage

include("common.jl")
include("pool_model.jl")

const TEST_SETS = ["names" => "names", "instructions" => "instructions of fast paths", "pools" => "pools",
                   "original" => "programs for Allocators.jl", "sequences" => "list, stack and queue",
                   "sorted" => "sorted set and dictionary", "protocol" => "sets and dictionaries as in Base",
                   "arena" => "arenas", "budget" => "budgets",
                   "widths" => "primitive types of all widths",
                   "arena_dict" => "set and dictionary in an arena",
                   "copies" => "copies field by field", "no_escape" => "blocks and buffers", "meter" => "meters",
                   "frozen" => "frozen files", "freeze" => "collections in frozen files",
                   "docs" => "docstrings", "aqua" => "Aqua"]

const CHOSEN = isempty(ARGS) ? split(get(ENV, "TOFT_TEST_SETS", "")) : ARGS

for name in CHOSEN
    any(set -> first(set) == name, TEST_SETS) || error("no test set $name: ", join(first.(TEST_SETS), ", "))
end

@testset "Toft" begin
    for (name, title) in TEST_SETS
        if isempty(CHOSEN) || name in CHOSEN
            @testset "$title" begin
                include("$name.jl")
            end
        end
    end
end
