# The tests of the package: `julia --project test/runtests.jl`, or Pkg.test. TOFT_LONG=1 plays longer streams, and
# puts more types into more kinds of pools; TOFT_LONG=streams does the former alone.
# SPDX-License-Identifier: MIT OR Apache-2.0

using Random
using Test
using Toft

include("common.jl")

@testset "Toft" begin
    include("names.jl")
    include("instructions.jl")
    @testset "pools" begin
        include("pools.jl")
    end
    @testset "programs for Allocators.jl" begin
        include("original.jl")
    end
    @testset "list, stack and queue" begin
        include("sequences.jl")
    end
    @testset "sorted set and dictionary" begin
        include("sorted.jl")
    end
    @testset "arenas" begin
        include("arena.jl")
    end
    @testset "meters" begin
        include("meter.jl")
    end
    @testset "vectors of the ABI" begin
        include("vectors.jl")
    end
    include("docs.jl")
end
