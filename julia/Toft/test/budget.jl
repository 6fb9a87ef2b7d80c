# SPDX-License-Identifier: MIT OR Apache-2.0
using Toft: Budget, alloc, limit!, limit_live!, reset!, stats

refused_by(f) = try (f(); nothing) catch e; e isa BudgetError || rethrow(); e.of end
fails_for_memory(f) = startswith(something(refused_by(f), ""), "budget ")

@testset "a block counts for all parents" begin
    process = Budget(name = "process", limit = 3 << 20)
    one = Budget(name = "one", limit = 2 << 20, parent = process)
    two = Budget(parent = process)
    a, b = Arena(within = one), Arena(within = two)
    @test refused_by(() -> alloc(a, 2 << 20)) == "budget one"
    alloc(a, 1 << 20)
    @test refused_by(() -> alloc(b, 2 << 20)) == "budget process"
    alloc(b, 1 << 20)
    s, p = stats(one), stats(process)
    @test s.reserved == stats(a).reserved && s.limit == 2 << 20 && s.refusals > 0 && p.children == 2
    @test p.reserved == s.reserved + stats(two).reserved && p.available == p.limit - p.reserved
    @test stats(two).limit === nothing && stats(two).available == p.available
    @test_throws Toft.ArenaError release!(one)
    @test_throws Toft.ArenaError release!(process)
    release!(a)
    @test stats(one).reserved == 0 && stats(process).reserved == stats(two).reserved
    reset!(b)
    @test stats(two).reserved <= 1 << 16 && stats(two).peak >= 1 << 20
    release!(b)
    @test sprint(show, one) == "Toft.Budget(\"one\", 0 bytes reserved of 2.000 MiB)"
    for budget in (one, two, process)
        release!(budget)
        @test !isopen(budget) && release!(budget) === nothing
    end
    @test sprint(show, one) == "Toft.Budget(\"one\", released)"
end

@testset "a refused request calls the budget that refuses" begin
    calls, cache = [], Ref{Any}(nothing)
    function drop(b, bytes)
        push!(calls, b.name => bytes)
        cache[] === nothing && return false
        release!(cache[])
        cache[] = nothing
        return true
    end
    process = Budget(name = "process", on_refusal = drop)
    tenant = Budget(name = "tenant", limit = 1 << 20, parent = process, on_refusal = drop)
    cache[] = Arena(within = tenant)
    alloc(cache[], 700_000)
    arena(within = tenant) do a
        @test alloc(a, 700_000) in a # in place of the cache
        @test fails_for_memory(() -> alloc(a, 700_000))
        @test first.(calls) == ["tenant", "tenant"] && all(>=(700_000) ∘ last, calls)
        limit!(process, 1)
        @test fails_for_memory(() -> alloc(a, 70_000)) && first(calls[end]) == "process"
        limit!(process, nothing)
        @test alloc(a, 70_000) in a
    end
    @test stats(process).reserved == 0
end

@testset "what on_refusal throws counts as false" begin
    for wrong in (() -> error("here"), () -> "true", () -> nothing)
        arena(within = Budget(limit = 1 << 16, on_refusal = (b, n) -> wrong())) do a
            @test fails_for_memory(() -> alloc(a, 1 << 20))
            @test alloc(a, 1000) in a
        end
    end
end

@testset "a limit of live bytes" begin
    b = Budget(live_limit = 1_000_000)
    one, two = Arena(within = b), Arena(within = b)
    alloc(one, 600_000)
    alloc(two, 300_000)
    @test fails_for_memory(() -> alloc(two, 200_000)) && thrown(alloc, two, 200_000).limit == 1_000_000
    s = stats(b)
    @test s.live_limit == 1_000_000 && 900_000 <= s.live <= 1_000_000 && s.parked <= 10_000 && s.live_refusals > 0
    reset!(one)
    @test alloc(two, 200_000) in two
    rewind!(one, mark(one))
    release!(one)
    @test_throws ArgumentError limit_live!(b, -1)
    limit_live!(b, nothing)
    @test stats(b).live_limit === nothing && alloc(two, 2_000_000) in two
    release!(two)
    @test stats(b).live == 0
    release!(b)
    plain = Budget()
    a = Arena(within = plain)
    @test_throws Toft.ArenaError limit_live!(plain, 1000)
    release!(a)
    limit_live!(plain, 1000)
    @test stats(Budget(parent = plain)).live_available == 1000
    @test_throws ArgumentError Budget(live_limit = -1)
end

@testset "finalizers release what nothing refers to, in any order" begin
    counted = Ref(0)
    process = Budget()
    function make_garbage()
        for _ in 1:50
            a = Arena(within = Budget(parent = Budget(parent = process)))
            alloc(a, 100)
        end
    end
    make_garbage()
    @test stats(process).reserved > 0
    for _ in 1:20
        GC.gc()
        (s = stats(process)).reserved == 0 && s.children == 0 && break
    end
    @test stats(process).reserved == 0 && stats(process).children == 0
end

@testset "bytes of other allocators" begin
    calls = Ref(0)
    process = Budget(limit = 1000, on_refusal = (_, _) -> (calls[] += 1; true))
    tenant = Budget(parent = process)
    Toft.charge!(tenant, 600)
    @test_throws BudgetError("budget ", 401, 600, 1000) Toft.charge!(tenant, 401)
    @test calls[] == 1
    Toft.charge!(tenant, 400)
    @test stats(process).reserved == 1000 && stats(tenant).reserved == 1000
    @test_throws ArgumentError Toft.uncharge!(tenant, 1001)
    @test_throws ArgumentError Toft.uncharge!(process, 1)
    @test_throws ArgumentError Toft.charge!(tenant, -1)
    @test_throws Toft.ArenaError release!(tenant)
    Toft.uncharge!(tenant, 1000)
    release!(tenant)
    @test stats(process).reserved == 0
end

@testset "misuse" begin
    @test_throws ArgumentError Budget(name = "a name of more than thirty-one bytes")
    @test_throws ArgumentError Budget(name = "a\0b")
    @test_throws ArgumentError Budget(limit = -1)
    b = Budget(limit = 0)
    @test_throws BudgetError("budget ", 0, 0, 0) Arena(within = b)
    @test_throws ArgumentError limit!(b, -1)
    @test_throws ArgumentError Arena(within = b, contiguous = 1 << 20)
    limit!(b, big(1) << 100)
    @test stats(b).limit === nothing
    release!(b)
    for f in (() -> stats(b), () -> limit!(b, 1), () -> Budget(parent = b), () -> Arena(within = b),
              () -> arena(identity, within = b))
        @test_throws ArgumentError("the budget was released") f()
    end
end
