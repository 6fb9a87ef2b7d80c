# Results in an arena, by with_similar.
# SPDX-License-Identifier: MIT OR Apache-2.0
module SimilarTests

using LinearAlgebra, Test, Toft
using Toft: ScratchArray, reset!, stats, with_similar

thrown(f, arguments...) = try (f(arguments...); nothing) catch e; e end

dot_product(a, v) = with_similar(v) do v
    w = v .* 2.0 .+ 1.0
    sum(w .* v)
end

@testset "what is computed lies in the arena" begin
    a = Arena()
    A, v = ArenaArray(a, [1.0 2.0; 3.0 4.0]), ArenaArray(a, [1.0, 2.0])
    live = stats(a).live
    for f in (similar, copy, A -> map(x -> x + 1, A), A -> A .+ 1, A -> 2 .* A .+ A, A -> A * A, A -> A[:, 1],
              A -> A[1:2], A -> copy(A'), A -> A + A, A -> -A, A -> abs.(A), A -> A .> 2, A -> similar(A, Int, 7),
              A -> reshape(A, 4), A -> (1:2) .+ A, A -> A .+ [1.0, 2.0], A -> sin.(A) .+ Ref(1),
              A -> A * view(A, :, 1), A -> sort(vec(A)), A -> accumulate(+, vec(A)), A -> A .* A[:, 1]')
        want = f([1.0 2.0; 3.0 4.0])
        with_similar(A) do S
            @test S isa ScratchArray && S == A && pointer(S) == pointer(A)
            got = f(S)
            @test got isa ScratchArray && pointer(got) in a
            f === similar || @test axes(got) == axes(want) && (got ≈ want || size(got) == (7,))
            nothing
        end
        @test stats(a).live == live # all of it was freed
    end
    @test with_similar((A, v) -> sum(A * v .+ v), A, v) == sum(A * v .+ v)
    with_similar(A) do S
        S[1, 1] = 7 # the same memory
        S .= S .+ 1
        nothing
    end
    @test A == [8.0 3.0; 4.0 5.0]
    @test A .+ 1 isa Array && similar(A) isa Array && copy(A) isa Array # as before, outside of a block
    @test with_similar(S -> map(string, S), A) == string.(A) # no bits: an Array
    @test with_similar(S -> S .+ big(1), A) isa Matrix{BigFloat}
    @test with_similar(S -> (S[1:3] .= view(S, 2:4); S[1]), A) == 4.0 # where both sides overlap
    @test (@inferred dot_product(a, v)) == 13.0
    dot_product(a, v)
    @test (@allocated dot_product(a, v)) <= 64
    @test occursin("ScratchArray", with_similar(S -> summary(S), A))
end

@testset "what leaves the block" begin
    a, b = Arena(), Arena()
    v = ArenaArray(a, [1, 2, 3])
    for f in (copy, S -> S .+ 1, S -> view(S .+ 1, 1:2), S -> (1, S .+ 1))
        e = thrown(with_similar, f, v)
        @test e isa ArgumentError && occursin("with_similar", e.msg)
    end
    @test with_similar(identity, v) == v # whose memory is from before
    @test with_similar(S -> Array(S .+ 1), v) == [2, 3, 4]
    kept = Ref{Any}()
    @test thrown(with_similar, S -> (kept[] = S .+ 1; error("within")), v) isa ErrorException
    @test !isvalid(kept[]) && thrown(sum, kept[]) isa ArgumentError && isvalid(v)
    @test thrown(with_similar, +, v, ArenaArray(b, [1, 2, 3])) isa ArgumentError
    reset!(a)
    @test thrown(with_similar, sum, v) isa ArgumentError
    @test thrown(deepcopy, ScratchArray(ArenaArray(a, [1]))) isa ArgumentError
end

end
