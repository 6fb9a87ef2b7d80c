# What the collector knows of arenas that are left to their finalizers. A part of arena.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

held() = Toft.HELD[]
after_collections() = (foreach(_ -> GC.gc(), 1:3); Toft.collect_arenas(); held())

# Makes arenas with so many bytes each, releases none, and returns the most that was held.
@noinline function leave(n, bytes; within = nothing)
    most = 0
    for _ in 1:n
        a = Arena(within = within)
        ArenaArray{UInt8}(a, undef, bytes) .= 0x01
        most = max(most, held())
    end
    return most
end

resident() = parse(Int, split(read("/proc/self/statm", String))[2]) * 4096

@testset "arenas that nothing releases" begin
    for (n, bytes) in ((40_000, 1), (20_000, 8000), (2000, 100_000), (300, 1_000_000), (100, 3_000_000))
        leave(10, bytes)
        before = after_collections()
        most = leave(n, bytes) # 150 to 300 MB
        @test before < most < before + 2 * Toft.heap_share()
        @test after_collections() <= before
    end
end

@testset "arenas without a collection, then with one" begin
    before, on_linux = after_collections(), Sys.islinux() && Toft.LIBRARY.heap_trim != C_NULL
    start = on_linux ? resident() : 0
    GC.enable(false)
    most = leave(2000, 100_000) # no error
    GC.enable(true)
    @test most > before + 200_000_000
    foreach(_ -> GC.gc(), 1:3)
    @test held() <= before + 1_000_000
    on_linux && @test resident() < start + (64 << 20) # the C heap returns what finalizers freed
end

@testset "what is counted" begin
    before = after_collections()
    @test arena(a -> (alloc(a, 1 << 20); held())) == before # it ends with its block
    a = Arena()
    @test held() == before + stats(a).reserved
    for n in (1, 10, 1 << 20, 1 << 22)
        p = alloc(a, n)
        @test held() == before + stats(a).reserved
        resize!(a, p, n, 9n)
        @test held() == before + stats(a).reserved
    end
    reset!(a; keep = 0)
    trim!(a)
    @test held() == before + stats(a).reserved < before + (1 << 20)
    budget!(a, 100)
    @test_throws Exception alloc(a, 1 << 20)
    @test held() == before + stats(a).reserved
    release!(a), release!(a)
    @test held() == before
    foreign = unsafe_wrap(Arena, ccall(Toft.LIBRARY.create, Ptr{Cvoid}, ()); own = true)
    alloc(foreign, 1 << 20)
    @test held() == before + stats(foreign).reserved
    alloc(unsafe_wrap(Arena, pointer(foreign)), 1 << 21) # not ours
    @test held() < before + stats(foreign).reserved
    release!(foreign)
    @test held() == before
    Threads.@threads for _ in 1:8 leave(100, 100_000) end
    @test after_collections() <= before + (1 << 20) # some may still be in registers of a thread
    within = Toft.Budget(limit = 1 << 24)
    leave(10, 1 << 16; within = within)
    @test after_collections() == before && stats(within).reserved == 0
end

mutable struct LeavesArenas end

@testset "a finalizer that leaves arenas" begin
    before, ran = after_collections(), Ref(0)
    (() -> (finalizer(_ -> (leave(30, 2_000_000); ran[] += 1), LeavesArenas()); nothing))()
    leave(100, 2_000_000)
    @test after_collections() <= before && ran[] == 1
end
