# Meters: bytes by tag, budgets to the byte, samples of known paths, printed reports.
# SPDX-License-Identifier: MIT OR Apache-2.0
module MeterTests

using Test, Toft
using ..Main: thrown
using Toft: TOFT_EBUSY, TOFT_ENOSYS, alloc, report, reset!, scope, snapshot, stats, tag, checked!, metered!,
    tagbudget!, sampled!, ArenaReport, TagStats, ArenaStats

lives(a) = Dict(t.name => t.live for t in report(a))
printed(x) = repr("text/plain", x; context = :limit => true)

message_of(f) = (e = thrown(f); e === nothing ? "" : sprint(showerror, e))

# Is f refused with an ArgumentError, and does the report stay as it was?
function refused(f, a)
    before, head = printed(report(a)), Toft.word(a.head, Toft.HEAD_EPOCH)
    try
        f()
    catch e
        return e isa ArgumentError && printed(report(a)) == before && Toft.word(a.head, Toft.HEAD_EPOCH) == head
    end
    false
end

@testset "statistics for people" begin
    none = ArenaStats(0, 0, 0, nothing, 0, 0, 0, 0)
    some = ArenaStats(1536, 2048, 1024, 6144, 2 << 20, 48, 2, 7)
    @test sprint(show, none) == "ArenaStats(0 bytes live of 0 bytes in 0 blocks, peak 0 bytes, no budget)"
    @test sprint(show, some) ==
          "ArenaStats(1.500 KiB live of 2.000 MiB in 2 blocks, peak 1.500 KiB, budget 6.000 KiB)"
    list = """
    ArenaStats
      live          1.500 KiB
      allocated     2.000 KiB
      peak          1.500 KiB
      budget        6.000 KiB, 25 % of it live
      reserved      2.000 MiB
      wasted        48 bytes
      blocks        2
      source calls  7"""
    @test printed(some) == list
    @test occursin("\n  budget        none\n", printed(none))
    @test occursin("\n  budget        0 bytes\n", printed(ArenaStats(0, 0, 0, 0, 0, 0, 0, 0)))
    @test occursin("8192.000 PiB, 100 % of it live", printed(ArenaStats(typemax(Int), 0, 0, typemax(Int), 0, 0, 0, 0)))
    @test occursin(" in 1 block,", sprint(show, ArenaStats(0, 0, 0, nothing, 0, 0, 1, 0)))
    same = ArenaStats(1536, 2048, 1024, 6144, 2 << 20, 48, 2, 7)
    @test some == same && isequal(some, same) && hash(some) == hash(same) && some != none
    @test some != ArenaStats(1536, 2048, 1024, nothing, 2 << 20, 48, 2, 7)
    a = Arena(budget = 4096)
    alloc(a, 1024)
    @test printed(a) == replace(printed(stats(a)), "ArenaStats" => "Arena") && occursin("25 % of it", printed(a))
    @test sprint(show, a) == "Arena(1024 bytes live, $(stats(a).reserved) reserved)"
    @test Base.summarysize(a) > 0
    release!(a)
    @test printed(a) == "Arena(released)"
end

@testset "tags" begin
    a = Arena()
    alloc(a, 40)
    @test isempty(report(a)) && isempty(report(a).sites) && report(a).stats == stats(a)
    metered!(a)
    @test lives(a) == Dict("" => 40)
    given = tag(a, "level") do
        foreach(_ -> alloc(a, NTuple{5,Int}), 1:1000)
        @test tag(() -> alloc(a, 100_000), a, "sound") isa Ptr
        alloc(a, 8)
        tag(() -> alloc(a, 16), a, SubString("x/ai", 2)) # from the root
        tag(() -> tag(() -> alloc(a, 5), a, "inner"), a, "sound")
        tag(() -> alloc(a, 32), a, "/")
        7
    end
    alloc(a, 24)
    want = Dict("" => 96, "level" => 40_008, "level/sound" => 100_000, "level/sound/inner" => 8, "ai" => 16)
    @test given == 7 && lives(a) == want
    r = report(a)
    @test [t.name for t in r] == [t.name for t in r.tags] && first(r).name == "" && eltype(r) == TagStats
    @test r["level"].live == 40_008 && r["level"].budget === nothing && haskey(r, "ai") && !haskey(r, "x")
    @test_throws KeyError r["x"]
    @test collect(r) == r.tags && length(r) == 5
    # A tag ends with an exception, and with one the next is none of its children.
    @test_throws ErrorException tag(() -> tag(() -> error("out"), a, "in"), a, "thrown")
    alloc(a, 8)
    @test lives(a)[""] == 104 && report(a)["thrown/in"].live == 0
    # Bytes that are live when it is switched on belong to no tag; off, there are none, on any level.
    tag(a, "level") do
        metered!(a, false)
        alloc(a, 8)
        @test isempty(report(a))
        metered!(a)
        tag(() -> alloc(a, 8), a, "new")
    end
    alloc(a, 8)
    r = report(a)
    @test r[""].live == stats(a).live - 8 && r["new"].live == 8 && r["level"].live == 0
    metered!(a, false)
    @test iseven(Toft.word(a.head, Toft.HEAD_EPOCH))
    # Switched on within: the end ends no tag of others.
    tag(a, "before") do
        metered!(a)
        tag(a, "outer") do
            tag(() -> nothing, a, "inner")
            alloc(a, 8)
        end
    end
    @test report(a)["outer"].live == 8
    # Given back within: the arena, its bytes.
    tag(() -> (alloc(a, 8); reset!(a); alloc(a, 16)), a, "reset")
    @test report(a)["reset"].live == 16 == stats(a).live
    @test tag(() -> (release!(a); 3), a, "released") == 3
    arena(a -> @test(isempty(report(a)))) # the next at this place
end

tagged(a) = tag(() -> (alloc(a, Int); nothing), a, "off")
function bytes_of(f, a)
    f(a)
    f(a)
    @allocated for _ in 1:100
        f(a)
    end
end

@testset "where nothing is switched on" begin
    a = Arena()
    before = ntuple(i -> Toft.word(a.head, i), 4)
    @test bytes_of(tagged, a) == 0
    @test isempty(report(a)) && ntuple(i -> Toft.word(a.head, i), 4)[2:4] == before[2:4]
    # Not even the name is looked at.
    @test tag(() -> 1, a, "a\0b") == 1 && tag(() -> 2, a, "\xff") == 2
    # Metered, the inline path stays: within a tag, allocations move the cursor alone.
    metered!(a)
    tag(a, "on") do
        alloc(a, 8)
        before = ntuple(i -> Toft.word(a.head, i), 4)
        alloc(a, 8)
        after = ntuple(i -> Toft.word(a.head, i), 4)
        @test after[2:4] == before[2:4] && after[1] == before[1] + 8 && after[1] < after[3]
    end
    release!(a)
end

@testset "with checks" begin
    a = Arena()
    metered!(a)
    @test a.unchecked # then no stack is read
    checked!(a)
    @test !a.unchecked
    sampled!(a, 64)
    @test !a.unchecked
    p = tag(() -> alloc(a, UInt8, 10), a, "checked")
    @test report(a)["checked"].live >= 16
    unsafe_store!(p, 1, 11)
    @test_throws ArenaError reset!(a)
    release!(a)
    arena(a -> (metered!(a); @test(!a.unchecked)), checked = true)
end

@testset "budgets of tags" begin
    a = Arena()
    tagbudget!(a, "ai", 1000) # before there are tags
    tag(() -> alloc(a, 2000), a, "ai")
    metered!(a)
    tag(a, "ai") do
        alloc(a, 992)
        live = stats(a).live
        @test_throws BudgetError("tag ai", 9, 992, 1000) alloc(a, 9)
        @test_throws BudgetError ArenaArray{Int}(a, undef, 2)
        tag(() -> alloc(a, 5000), a, "own")
        @test stats(a).live == live + 5000
        alloc(a, 8)
        @test_throws BudgetError alloc(a, 1)
        tagbudget!(a, "ai", big(1008))
        alloc(a, 1)
        @test_throws BudgetError alloc(a, 1)
        tagbudget!(a, "/ai", nothing)
        alloc(a, 100_000)
    end
    @test report(a)["ai"].live == 101_008 && report(a)["ai"].budget === nothing
    tagbudget!(a, "", 2000 + 8)
    @test report(a)[""].budget == 2008
    alloc(a, 8)
    @test_throws BudgetError alloc(a, 1)
    m = mark(a)
    tag(() -> alloc(a, 1), a, "other")
    rewind!(a, m)
    tagbudget!(a, "other", 0)
    @test_throws BudgetError tag(() -> alloc(a, 1), a, "other")
    @test report(a)["other"] == TagStats("other", 0, 8, 0)
    tagbudget!(a, "other", big(1) << 70)
    @test report(a)["other"].budget === nothing
    release!(a)
end

@testset "what is refused" begin
    a = Arena()
    metered!(a)
    tagbudget!(a, "x", 8)
    called = Ref(false)
    for name in ("a\0b", "\0", "\xff", "a\xc3")
        @test refused(() -> tag(() -> called[] = true, a, name), a)
        @test refused(() -> tagbudget!(a, name, 1), a)
    end
    @test !called[]
    @test refused(() -> tagbudget!(a, "x", -1), a) && refused(() -> tagbudget!(a, "x", big(-1) << 70), a)
    @test refused(() -> sampled!(a, -1), a)
    @test report(a)["x"].budget == 8
    # Names that look odd are names: as in C.
    tag(a, "level") do
        tag(() -> alloc(a, 8), a, "")
        tag(() -> alloc(a, 16), a, "//")
        tag(() -> alloc(a, 24), a, "a//b")
        tag(() -> alloc(a, 32), a, "ünïcode \"quoted\"\n")
    end
    want = Dict("" => 0, "x" => 0, "level" => 8, "/" => 16, "level/a//b" => 24, "level/ünïcode \"quoted\"\n" => 32)
    @test lives(a) == want
    # In a cleanup the arena is closed: tags are passed over, switches are refused.
    codes = Any[]
    m = mark(a)
    cleanup!(a) do
        push!(codes, tag(() -> 5, a, "cleanup"))
        for f in (() -> metered!(a, false), () -> sampled!(a, 8), () -> tagbudget!(a, "x", 1))
            push!(codes, try f() catch e; e isa ArenaError ? e.code : e end)
        end
        push!(codes, report(a)["level"].live, occursin("\"level\"", snapshot(a)))
    end
    rewind!(a, m)
    @test codes == [5, TOFT_EBUSY, TOFT_EBUSY, TOFT_EBUSY, 8, true]
    alloc(a, 8)
    @test report(a)[""].live == 8
    release!(a)
    for f in (() -> metered!(a), () -> metered!(a, false), () -> tag(() -> 0, a, "x"), () -> tagbudget!(a, "x", 1),
              () -> sampled!(a, 1), () -> report(a), () -> snapshot(a), () -> snapshot(devnull, a))
        @test_throws ArgumentError f()
        @test occursin("released", message_of(f))
    end
end

# A provider that offers statistics alone.
no_set(head::Ptr{UInt}, what::UInt32, value::UInt64, text::Ptr{UInt8}, n::Csize_t) = TOFT_ENOSYS
function seven_live(head::Ptr{UInt}, out::Ptr{UInt64}, n::Csize_t)
    unsafe_store!(Ptr{Toft.RawStats}(out), Toft.RawStats(7, 0, 0, typemax(UInt64), 0, 0, 0, 0))
    Csize_t(64)
end

@testset "arenas of another provider" begin
    functions = fill(C_NULL, 13)
    functions[Toft.OPS_SET] = @cfunction(no_set, Cint, (Ptr{UInt}, UInt32, UInt64, Ptr{UInt8}, Csize_t))
    functions[Toft.OPS_STATS] = @cfunction(seven_live, Csize_t, (Ptr{UInt}, Ptr{UInt64}, Csize_t))
    table = vcat(reinterpret(UInt, UInt32[Toft.OPS_SIZE, 1]), UInt.(functions))
    made = UInt[4096, pointer(table), 4096, 3] # watched, by its provider
    GC.@preserve made table begin
        a = unsafe_wrap(Arena, pointer(made))
        for f in (() -> metered!(a), () -> metered!(a, false), () -> tagbudget!(a, "x", 1), () -> sampled!(a, 64))
            @test_throws ArgumentError f()
            @test occursin("its provider does not offer this", message_of(f))
        end
        @test tag(() -> 7, a, "x") == 7
        @test report(a).stats.live == 7 && isempty(report(a)) && occursin("\"live\":7", snapshot(a))
        @test made[[1, 3, 4]] == [4096, 4096, 3]
    end
end

# ---- samples and snapshots ----

@noinline small_ones(a) = foreach(_ -> alloc(a, 16), 1:100_000)
@noinline large_ones(a) = foreach(_ -> alloc(a, 160), 1:10_000)

@testset "samples" begin
    a = Arena()
    sampled!(a, 1000)
    metered!(a)
    tag(() -> small_ones(a), a, "small")
    tag(() -> large_ones(a), a, "large")
    sampled!(a, nothing)
    large_ones(a)
    r = report(a)
    for (name, count, f) in (("small", 100_000, :small_ones), ("large", 10_000, :large_ones))
        found = filter(s -> s.tag == name, r.sites)
        @test isapprox(sum(s.bytes for s in found), 1_600_000; rtol = 0.2) # 1600 looks: good to 2.5 %
        @test isapprox(sum(s.count for s in found), count; rtol = 0.2)
        @test all(s -> any(frame -> frame.func == f, s.stack), found)
        @test all(s -> String(first(s.stack).file) == @__FILE__, found)
    end
    @test issorted(r.sites; by = s -> -s.bytes) && Set(s.tag for s in r.sites) == Set(["small", "large"])
    @test occursin(r"\n  about +allocations  tag +by\n.* (small|large)  .* at .*meter.jl:\d+", printed(r))
    text = snapshot(a)
    @test occursin("\"function\":\"small_ones\"", text) && occursin(basename(@__FILE__), text)
    # Samples in any thread's cache of arenas end with the arena.
    release!(a)
    arena(b -> @test(isempty(report(b).sites)))
end

@testset "what is printed" begin
    arena(budget = 1 << 20) do a
        @test printed(report(a)) == "ArenaReport: " * sprint(show, stats(a))[12:end-1]
        metered!(a)
        for i in 1:30
            tag(() -> alloc(a, 8i), a, "tag $i")
        end
        tagbudget!(a, "tag 3", 96)
        lines = split(printed(report(a)), '\n')
        @test lines[2] == "  tag     live       allocated  budget"
        @test lines[3] == "  (none)  0 bytes    0 bytes    none"
        @test lines[6] == "  tag 3   24 bytes   24 bytes   96 bytes, 25 % of it live"
        @test length(lines) == 2 + 20 + 1 && lines[end] == "  ⋮"
        @test length(split(repr("text/plain", report(a)), '\n')) == 2 + 31
        @test sprint(show, report(a)) == "ArenaReport(31 tags, 0 sites, 3.633 KiB live)"
    end
end

@testset "snapshots" begin
    a = Arena(budget = 1 << 20)
    made = Pair{String,String}["julia-new" => snapshot(a)]
    metered!(a)
    sampled!(a, 64)
    for i in 1:100
        tag(() -> alloc(a, 8), a, "/" * "long"^20 * string(i))
    end
    tagbudget!(a, "quoted \"\\\n", 8)
    text = snapshot(a)
    @test sizeof(text) > 8192 && isvalid(text) && sprint(snapshot, a) == text
    @test startswith(text, "{\"version\":1,\"stats\":{\"live\":800,\"allocated\":800,") && endswith(text, "}")
    named = "{\"name\":\"quoted \\\"\\\\\\u000a\","
    @test occursin(named * "\"number\":null,\"live\":0,\"allocated\":0,\"budget\":8}", text)
    @test count("\"live\":8,", text) == 100
    push!(made, "julia-sampled" => text)
    release!(a)
    # scripts/test holds them against the schema.
    folder = get(ENV, "TOFT_SNAPSHOTS", "")
    if !isempty(folder)
        foreach(((name, text),) -> write(joinpath(folder, name * ".json"), text), made)
    end
end

end
