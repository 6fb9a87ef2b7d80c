# Arenas: allocation on the shared head, marks, cleanups, errors. Arrays and streams are in its parts.
# SPDX-License-Identifier: MIT OR Apache-2.0
module ArenaTests

using Libdl, LinearAlgebra, Random, Test, Toft
using ..Main: thrown
using Toft: TOFT_EBUSY, TOFT_ECORRUPT, TOFT_EMARK, TOFT_ENOSYS, alloc, report, reset!, scope, snapshot, stats, tag,
    checked!, metered!, cache_limit!, cache_held, cache_trim!

const LONG = get(ENV, "TOFT_LONG", "0") != "0"

struct Point
    x::Float64
    y::Int32
end

struct Nothings end

mutable struct Mutable
    x::Int
end

struct Inner
    n::Int
    name::String
end

struct Outer
    p::Point
    inner::Inner
end

# The code of the ArenaError that f throws; nothing if it throws none.
code_of(f) =
    try
        f()
        nothing
    catch e
        e isa ArenaError || rethrow()
        e.code
    end

message_of(f) = (e = thrown(f); e === nothing ? "" : sprint(showerror, e))

head(a) = Ptr{UInt}(pointer(a))
words(a) = ntuple(i -> unsafe_load(head(a), i), 4)

# Is `f` refused with such an exception, and is `a` then as it was?
function refused(f, a, what)
    before, live = words(a), stats(a).live
    try
        f()
    catch e
        return e isa what && words(a) == before && stats(a).live == live
    end
    false
end

# A function of libtoft: to have C allocate, and to look behind Julia's back.
c(name) = dlsym(dlopen(Toft.library().path), name)

@testset "an arena's life" begin
    a = Arena()
    @test isopen(a)
    @test occursin("bytes live", sprint(show, a))
    p = alloc(a, Int)
    unsafe_store!(p, 42)
    @test unsafe_load(p) == 42
    @test p in a
    @test !(Ptr{Int}(pointer([1])) in a)
    release!(a)
    @test !isopen(a)
    @test sprint(show, a) == "Arena(released)"
    @test release!(a) === nothing # again: nothing to do
    for f in (() -> alloc(a, Int), () -> alloc(a, 0), () -> alloc(a, Nothings), () -> alloc(a, Int, 3),
              () -> alloc(a, 8; align = 4096), () -> cstring(a, "x"), () -> mark(a), () -> reset!(a), () -> trim!(a),
              () -> budget!(a, 1), () -> checked!(a), () -> cleanup!(() -> 0, a), () -> stats(a), () -> pointer(a),
              () -> p in a, () -> scope(() -> 0, a), () -> ArenaArray(a, [1]), () -> resize!(a, p, 1, 2),
              () -> deallocate!(a, p), () -> rewind!(a, Toft.Mark(0, 0, 1, 0)))
        @test_throws ArgumentError f()
        @test occursin("released", message_of(f))
    end

    a = Arena()
    close(a)
    @test !isopen(a)

    kept = nothing
    @test arena(a -> (kept = a; unsafe_load(ArenaArray(a, [7, 8]).at, 2))) == 8
    @test !isopen(kept)
    @test_throws ErrorException arena(a -> (kept = a; error("out")))
    @test !isopen(kept)
    @test_throws ArgumentError deepcopy(Arena())
end

@testset "options" begin
    arena(reserve = 1_000_000) do a
        alloc(a, 8000)
        at = stats(a)
        alloc(a, 900_000)
        @test stats(a).blocks == at.blocks && at.reserved > 1_000_000
    end
    arena(contiguous = 1 << 30) do a
        from = alloc(a, UInt8, 100_000)
        unsafe_store!(from, 0x55)
        p, n = from, 100_000
        for _ in 1:12
            p = resize!(a, p, n, 2n)
            n *= 2
        end
        @test p == from && unsafe_load(p) == 0x55 # 400 MB further on, where it was
        @test_throws ArenaMemoryError(1 << 30, stats(a).live, 1 << 30) alloc(a, 1 << 30)
    end
    if Sys.WORD_SIZE == 64
        for _ in 1:(LONG ? 20_000 : 3000) # 64 GiB of address space each: were it not freed, it would end
            arena(a -> alloc(a, 10_000), contiguous = 1 << 36)
        end
        @test isopen(Arena(contiguous = 1 << 36))
    end
    @test_throws ArgumentError Arena(reserve = 2, contiguous = 1)
    @test_throws ArgumentError Arena(reserve = -1)
    @test_throws ArgumentError Arena(contiguous = -1)
    @test_throws ArgumentError Arena(budget = -1)
    @test_throws ArgumentError Arena(reserve = typemax(Int))
    @test_throws ArenaMemoryError(1 << 61 - 1, 0, 1 << 61 - 1) Arena(contiguous = 1 << 61 - 1)
    arena(a -> @test_throws(BudgetError("arena", 8, 0, 0), alloc(a, Int)), budget = 0)
    arena(a -> @test(stats(a).budget === nothing))
    arena(a -> @test(stats(a).budget == 100), budget = 100)
    arena(a -> @test(isodd(words(a)[4])), checked = true)
end

@testset "allocation" begin
    @test Toft.alignment(NTuple{8,VecElement{Float32}}) == 32 && Toft.alignment(Int32) == 4
    a = Arena()
    for T in (Int8, Int, Float32, Point, NTuple{3,UInt8}, Int128, Complex{Float64}, Ptr{Int}, Nothings, Bool, Char,
              NTuple{8,VecElement{Float32}})
        @test alloc(a, T) isa Ptr{T}
        for _ in 1:5 # from each step of 8
            alloc(a, 8)
            @test UInt(alloc(a, T)) % max(8, Toft.alignment(T)) == 0
            alloc(a, 8)
            @test UInt(alloc(a, T, 3)) % max(8, Toft.alignment(T)) == 0
        end
        p = alloc(a, T, 5)
        @test p isa Ptr{T} && (sizeof(T) == 0 || p in a && p + 5 * sizeof(T) - 1 in a)
        @test UInt(alloc(a, UInt8)) - UInt(p) >= 5 * sizeof(T)
    end
    for shift in 0:16, size in (1, 7, 8, 9, 100, 5000), kind in 1:3
        align = 1 << shift
        p = kind == 1 ? alloc(a, size; align = align) : kind == 2 ? alloc(a, Point, size; align = align) :
            ArenaArray{Int16}(a, undef, size; align = align).at
        @test UInt(p) % max(align, 8) == 0
    end
    @test alloc(a, 0) != C_NULL && UInt(alloc(a, 0; align = 1024)) % 1024 == 0
    @test alloc(a, Int, 0) != C_NULL && alloc(a, Int, big(3)) in a && alloc(a, 0x05) in a
    # Rooms of 8, 16, ...: each size at the end of a block, where it fits and where it does not.
    for room in 0:8:64, size in 0:65
        reset!(a)
        alloc(a, 8) # the block is there now
        at = words(a)
        left = at[3] - at[1]
        @assert left > room
        alloc(a, left - room)
        cursor = words(a)[1]
        p = UInt(alloc(a, size))
        @test (p == cursor) == (size <= room)
    end
    release!(a)
end

@testset "what is refused" begin
    a = Arena()
    alloc(a, 24)
    for n in (-1, typemin(Int), big(-1) << 70)
        @test refused(() -> alloc(a, n), a, ArgumentError)
        @test refused(() -> alloc(a, Int, n), a, ArgumentError)
        @test refused(() -> ArenaArray{Int}(a, undef, n), a, ArgumentError)
        @test refused(() -> ArenaArray{Int}(a, undef, 3, n), a, ArgumentError)
        @test refused(() -> zeros(a, Int, n), a, ArgumentError)
    end
    e = thrown(alloc, a, typemax(Int) >> 1)
    @test e == ArenaMemoryError(typemax(Int) >> 1, stats(a).live, nothing)
    @test occursin("no memory for 4", sprint(showerror, e))
    for n in (typemax(Int), typemax(Int) >> 1 + 1, big(1) << 70, typemax(UInt))
        @test refused(() -> alloc(a, n), a, ArgumentError) && occursin("$n", message_of(() -> alloc(a, n)))
        @test refused(() -> alloc(a, Int, n), a, ArgumentError)
        @test refused(() -> ArenaArray{Point}(a, undef, n), a, ArgumentError)
        @test refused(() -> ArenaArray{Point}(a, undef, 1, n), a, ArgumentError)
    end
    # Products that wrap to something small.
    @test refused(() -> alloc(a, Int128, (typemax(UInt) >> 4) + 2), a, ArgumentError)
    @test refused(() -> ArenaArray{Int}(a, undef, 1 << 32, 1 << 32), a, ArgumentError)
    @test refused(() -> ArenaArray{Int}(a, undef, 1 << 40, 1 << 40, 2), a, ArgumentError)
    @test size(ArenaArray{Int}(a, undef, 1 << 40, 0, 1 << 40)) == (1 << 40, 0, 1 << 40)
    @test refused(() -> ArenaArray{Int}(a, undef, -1, 0), a, ArgumentError)
    for align in (0, 3, 12, -8, typemin(Int))
        @test refused(() -> alloc(a, 8; align = align), a, ArgumentError)
        @test refused(() -> alloc(a, Int, 1; align = align), a, ArgumentError)
        @test refused(() -> ArenaArray{Int}(a, undef, 1; align = align), a, ArgumentError)
    end
    @test refused(() -> alloc(a, 8; align = big(1) << 80), a, ArgumentError)
    @test refused(() -> alloc(a, 8; align = 1 << 62), a, ArgumentError)
    # Types: the path to the field at fault.
    for (T, message) in ((Mutable, "Mutable is mutable"),
                         (Outer, "Outer.inner::ArenaTests.Inner.name::String is mutable"),
                      (Vector{Int}, "is mutable"), (Any, "Any is no concrete type"), (Real, "no concrete type"),
                      (Union{Int,Nothing}, "no concrete type"), (Tuple{Int,String}, ".2::String is mutable"))
        for f in (() -> alloc(a, T), () -> alloc(a, T, 2), () -> ArenaArray{T}(a, undef, 2),
                  () -> resize!(a, Ptr{T}(alloc(a, 8)), 1, 2), () -> unsafe_wrap(ArenaArray, a, Ptr{T}(8), 1))
            @test_throws ArgumentError f()
            @test occursin(message, replace(message_of(f), "Main." => ""))
        end
    end
    @test_throws ArgumentError trim!(a, -1)
    @test_throws ArgumentError budget!(a, -1)
    @test_throws ArgumentError reset!(a; keep = -1)
    @test_throws ArgumentError reset!(a; keep = :some)
    release!(a)
end

# The effects of a compiled call: the functions it calls, and if it allocates. With coverage counted, it differs.
function calls(f, types)
    found = String[]
    for s in only(code_typed(f, types; optimize = true)).first.code
        s isa Expr && s.head === :(=) && (s = s.args[2])
        s isa Expr || continue
        if s.head === :invoke
            m = s.args[1]
            m isa Core.MethodInstance || (m = m.def) # a CodeInstance, in later Julias
            push!(found, string(m.def.name))
        end
        s.head in (:foreigncall, :new) && push!(found, string(s.head))
        if s.head === :call
            g = s.args[1]
            g = g isa GlobalRef ? getfield(g.mod, g.name) : g
            g isa Core.IntrinsicFunction || g isa Core.Builtin || push!(found, string(g))
        end
    end
    sort(unique(found))
end

four(a) = (alloc(a, Int); alloc(a, Point); alloc(a, Float64, 3); alloc(a, 5); nothing)
round_of(a) = (m = mark(a); four(a); rewind!(a, m))
function array_round(a)
    m = mark(a)
    v = ArenaArray{Float64}(a, undef, 8)
    v .= 1.0
    v[3] = 2.0
    total = sum(v)
    rewind!(a, m)
    total
end
function bytes_of(f, a)
    f(a)
    f(a)
    @allocated for _ in 1:100
        f(a)
    end
end

@testset "the inline path" begin
    if Base.JLOptions().code_coverage == 0
        @test calls(a -> alloc(a, Int), (Arena,)) == ["take_slow"]
        @test calls(a -> alloc(a, Point), (Arena,)) == ["take_slow"]
        @test calls(a -> alloc(a, NTuple{8,VecElement{Float32}}), (Arena,)) == ["take_slow"]
        @test calls((a, n) -> alloc(a, Int, n), (Arena, Int)) == ["bad_count", "take_slow"]
        # Keywords leave a branch that is never taken, which the compiler drops later.
        @test setdiff(calls(a -> alloc(a, 24; align = 64), (Arena,)), ["getindex"]) == ["take_slow"]
        @test calls((a, m) -> rewind!(a, m), (Arena, Toft.Mark)) == ["end_lifetimes_since!", "rewind_slow!"]
    end
    a = Arena()
    @test bytes_of(four, a) == 0
    @test bytes_of(round_of, a) == 0
    @test bytes_of(array_round, a) == 0
    @test array_round(a) == 9.0
    @test a.depth == 1 && a.lifetimes === Toft.NO_LIFETIMES # blocks of arrays take turns in one Lifetime
    outer = ArenaArray(a, [1.0])
    array_round(a)
    @test a.depth == 2 && isvalid(outer)
    array_round(a)
    @test a.depth == 2 && length(a.lifetimes) == 2 && isvalid(outer)
    # Within a block nothing but the cursor changes: the provider was not called.
    reset!(a)
    before = words(a)
    four(a)
    @test words(a)[2:4] == before[2:4] && words(a)[1] - before[1] == 8 + 16 + 24 + 8
    release!(a)
end

@testset "marks and scopes" begin
    a = Arena()
    alloc(a, 8)
    m = mark(a)
    at = words(a)[1]
    for size in (8, 3000, 100_000, 5_000_000), _ in 1:3
        alloc(a, size)
        alloc(a, 8)
        rewind!(a, m)
        @test words(a)[1] == at && stats(a).live == 8
    end
    @test scope(() -> (alloc(a, 100); 7), a) == 7
    @test words(a)[1] == at
    @test_throws ErrorException scope(() -> (alloc(a, 100_000); error("out")), a)
    @test words(a)[1] == at
    inner = Ref(UInt(0))
    scope(a) do
        alloc(a, 16)
        inner[] = words(a)[1]
        scope(() -> alloc(a, 100_000), a)
        @test words(a)[1] == inner[]
    end
    @test words(a)[1] == at
    # Marks that are not good.
    fresh = Arena(), Arena(), Arena() # whose marks differ in nothing but the address
    foreach(b -> alloc(b, 100), fresh)
    for b in fresh, other in fresh
        b === other || @test code_of(() -> rewind!(b, mark(other))) == TOFT_EMARK
        @test stats(b).live == 104
    end
    foreach(release!, fresh)
    reset!(a)
    @test code_of(() -> rewind!(a, m)) == TOFT_EMARK
    @test code_of(() -> scope(() -> reset!(a), a)) == TOFT_EMARK
    release!(a)
    a = Arena() # of one block, where the provider is not called
    outer = mark(a)
    ArenaArray(a, [1])
    stale = mark(a)
    rewind!(a, outer)
    v = ArenaArray(a, [1, 2, 3])
    @test code_of(() -> rewind!(a, stale)) == TOFT_EMARK
    @test v == [1, 2, 3]
    @test rewind!(a, outer) === nothing && rewind!(a, outer) === nothing # good for ever
    release!(a)
end

include("arena_arrays.jl")

@testset "strings" begin
    arena() do a
        for s in ("", "toft", "Grundstück ≤ 8", SubString("abcdef", 2, 4), "x"^10_000, GenericString("generic"))
            p = cstring(a, s)
            @test unsafe_string(p) == s && unsafe_load(p, sizeof(String(s)) + 1) == 0
            @test ccall(:strlen, Csize_t, (Ptr{UInt8},), p) == sizeof(String(s))
        end
        before = words(a)
        @test_throws ArgumentError cstring(a, "a\0")
        @test words(a) == before
    end
end

@testset "resize! and deallocate!" begin
    arena() do a
        p = alloc(a, Int, 4)
        foreach(i -> unsafe_store!(p, i, i), 1:4)
        @test resize!(a, p, 4, 8) == p == resize!(a, p, 8, 4)
        alloc(a, 8)
        q = resize!(a, p, 4, 100)
        @test q != p && [unsafe_load(q, i) for i in 1:4] == 1:4
        @test resize!(a, p, 4, 2) == p
        @test UInt(resize!(a, q, 100, 200; align = 4096)) % 4096 == 0
        before = words(a)
        @test_throws ArgumentError resize!(a, q, 100, typemax(Int))
        @test_throws ArgumentError resize!(a, q, 100, -1)
        @test_throws ArgumentError resize!(a, q, 100, 200; align = 3)
        @test words(a) == before
        at = words(a)[1]
        p = alloc(a, Point, 3)
        @test deallocate!(a, p, 3) === nothing && words(a)[1] == at
        p = alloc(a, Point)
        alloc(a, 8)
        at = words(a)[1]
        deallocate!(a, p)
        deallocate!(a, Ptr{Int}(C_NULL))
        @test words(a)[1] == at
        big = alloc(a, 3_000_000)
        held = stats(a).live
        deallocate!(a, big, 3_000_000)
        @test stats(a).live < held
    end
end

@testset "budgets, resets, trims" begin
    a = Arena(budget = 10_000)
    n = 0
    while try alloc(a, 100); true catch e; e isa BudgetError || rethrow(); false end
        n += 1
    end
    @test n == 10_000 ÷ 104
    @test refused(() -> alloc(a, 100), a, BudgetError)
    @test thrown(alloc, a, 100) == BudgetError("arena", 100, 9984, 10_000)
    @test refused(() -> cleanup!(() -> 0, a), a, BudgetError)
    @test thrown(resize!, a, Ptr{Int}(0), 0, 1000) == BudgetError("arena", 8000, 9984, 10_000)
    budget!(a, 20_000)
    @test alloc(a, 100) in a
    budget!(a, 5)
    @test refused(() -> alloc(a, 1), a, BudgetError)
    budget!(a, nothing)
    @test alloc(a, 100_000) in a && stats(a).budget === nothing
    budget!(a, big(1) << 100)
    @test stats(a).budget === nothing
    foreach(_ -> alloc(a, 1000), 1:5000)
    reset!(a; keep = :all)
    @test stats(a).reserved >= 5_000_000
    reset!(a; keep = 100_000)
    @test stats(a).reserved < 1_000_000
    trim!(a)
    @test stats(a).reserved == 4096
    release!(a)
    # Released blocks go to the thread's cache, and from there to the system.
    limit = cache_limit!(4 << 20)
    arena(a -> alloc(a, 100_000))
    @test cache_held() > 100_000
    cache_trim!()
    @test cache_held() == 0
    # An idle process returns the pages of large blocks unasked.
    large = Arena()
    fill!(unsafe_wrap(Array, alloc(large, UInt8, 200 << 20), 200 << 20), 1)
    release!(large)
    @test cache_held() >= 200 << 20
    timedwait(() -> cache_held() < 8 << 20, 60.0)
    @test cache_held() < 8 << 20
    @test cache_limit!(0) == 4 << 20
    arena(a -> alloc(a, 100_000))
    @test cache_held() == 0
    cache_limit!(limit)
    @test_throws ArgumentError cache_limit!(-1)
    for huge in (typemax(UInt), big(2)^70)
        @test cache_limit!(huge) == limit && cache_limit!(limit) == typemax(Int)
    end
end

@testset "checked arenas" begin
    a = Arena(checked = true)
    m = mark(a)
    p = alloc(a, Int)
    v = ArenaArray(a, [1, 2, 3])
    @test v == [1, 2, 3]
    stale = mark(a)
    rewind!(a, m)
    alloc(a, 1000)
    @test code_of(() -> rewind!(a, stale)) == TOFT_EMARK
    p = alloc(a, UInt8, 10)
    unsafe_store!(p, 1, 11)
    @test code_of(() -> reset!(a)) == TOFT_ECORRUPT
    @test stats(a).live == 0
    w = ArenaArray{UInt8}(a, undef, 10)
    unsafe_store!(w.at, 1, 11)
    @test code_of(() -> rewind!(a, mark(a))) === nothing
    @test code_of(() -> release!(a)) == TOFT_ECORRUPT
    @test !isopen(a) && !isvalid(w)
    a = Arena()
    checked!(a)
    p = alloc(a, UInt8, 10)
    unsafe_store!(p, 1, 11)
    @test code_of(() -> reset!(a)) == TOFT_ECORRUPT
    @test occursin("outside an allocation", message_of(() -> throw(ArenaError(TOFT_ECORRUPT, "x"))))
    checked!(a, false)
    @test iseven(words(a)[4])
    release!(a)
    # Whose name was looked for is not looked for again.
    a = Arena(checked = true)
    @noinline again(n) = foreach(_ -> alloc(a, 8), 1:n)
    again(1)
    known = length(Toft.PLACES)
    again(1000)
    @test length(Toft.PLACES) == known > 0
    @test any(place -> occursin(basename(@__FILE__), place), values(Toft.PLACES))
    release!(a)
    # No caller waits for those names: a finalizer may use them, which the program did not call.
    @noinline here() = backtrace()
    address = first(at for at in here() if at isa Ptr && occursin(basename(@__FILE__), Toft.place_at(at)))
    known = copy(Toft.PLACES)
    @test trylock(Toft.LOOKING)
    empty!(Toft.PLACES)
    @test Toft.place_at(address) == known[address] && isempty(Toft.PLACES)
    unlock(Toft.LOOKING)
    Toft.finish(Arena(checked = true))
    @test isempty(Toft.PLACES)
    @test Toft.place_at(address) == known[address] && length(Toft.PLACES) == 1
end

struct Resets
    arena::Arena
end
Base.convert(::Type{Int}, r::Resets) = (reset!(r.arena); 1)

@testset "functions of the user that throw, collect garbage or come back" begin
    # Cleanups, with the collector at work in them, and other arenas made and released.
    a, ran = Arena(), Int[]
    for i in 1:4
        cleanup!(a) do
            GC.gc()
            arena(b -> sum(ArenaArray(b, 1:100)))
            i == 2 && throw(DomainError(i))
            push!(ran, i)
        end
    end
    @test_throws DomainError reset!(a)
    @test ran == [4, 3, 1] && isempty(a.cleanups) && stats(a).live == 0
    cleanup!(() -> cleanup!(() -> 0, a), a) # one that registers another: refused, and the call throws
    @test code_of(() -> reset!(a)) == TOFT_EBUSY
    @test alloc(a, 8) in a && reset!(a) === nothing
    # Blocks that end the arena or mark around them.
    @test code_of(() -> scope(() -> reset!(a), a)) == TOFT_EMARK && isopen(a)
    @test_throws DomainError scope(() -> (alloc(a, 100); GC.gc(); throw(DomainError(1))), a)
    @test stats(a).live == 0
    @test scope(() -> scope(() -> (alloc(a, 8); 7), a), a) == 7 && stats(a).live == 0
    m = mark(a)
    alloc(a, 8)
    scope(() -> alloc(a, 8), a)
    rewind!(a, m)
    @test_throws ArgumentError scope(() -> release!(a), a)
    @test !isopen(a)
    @test arena(a -> (release!(a); 5)) == 5 # the block's own release finds nothing to do
    @test_throws DomainError arena(a -> (cleanup!(() -> push!(ran, 5), a); throw(DomainError(1))))
    @test ran[end] == 5
    kept = Ref{Arena}()
    @test_throws ErrorException("late") arena(a -> (kept[] = a; cleanup!(() -> error("late"), a); 1))
    @test !isopen(kept[])
    a = Arena()
    metered!(a)
    @test_throws DomainError tag(() -> (alloc(a, 16); GC.gc(); throw(DomainError(1))), a, "thrown")
    alloc(a, 8)
    @test report(a)["thrown"].live == 16 && report(a)[""].live == 8 # the tag has ended
    tag(() -> release!(a), a, "released within")
    @test !isopen(a)
    # Conversions: before anything is written.
    a = Arena()
    v = zeros(a, Int, 3)
    @test_throws InexactError v[1] = 1.5
    @test_throws InexactError fill!(v, 2.5)
    @test v == [0, 0, 0]
    @test_throws ArgumentError v[1] = Resets(a) # its conversion gave the array's memory back
    @test !isvalid(v) && alloc(a, 8) in a
    release!(a)
end

@testset "cleanups" begin
    a = Arena()
    ran = Int[]
    add(i) = cleanup!(() -> push!(ran, i), a)
    add(1)
    m = mark(a)
    add(2)
    v = ArenaArray(a, [7])
    cleanup!(() -> push!(ran, v[1]), a) # runs while the memory is there
    rewind!(a, m)
    @test ran == [7, 2] && !isvalid(v)
    rewind!(a, m)
    @test ran == [7, 2]
    add(3)
    reset!(a)
    @test ran == [7, 2, 3, 1]
    add(4)
    add(5)
    release!(a)
    @test ran == [7, 2, 3, 1, 5, 4]
    arena(a -> cleanup!(() -> push!(ran, 6), a))
    @test ran[end] == 6
    # The arena is closed until then; others are open.
    a, b = Arena(), Arena()
    codes, other = Any[], Ref(0)
    m = mark(a)
    cleanup!(a) do
        for f in (() -> alloc(a, 8), () -> rewind!(a, m), () -> reset!(a), () -> release!(a),
                  () -> cleanup!(() -> 0, a),
                  () -> budget!(a, 1), () -> checked!(a), () -> resize!(a, Ptr{Int}(8), 1, 2))
            push!(codes, code_of(f))
        end
        other[] = ArenaArray(b, [5])[1]
        release!(b)
    end
    rewind!(a, m)
    @test codes == fill(TOFT_EBUSY, 8) && other[] == 5 && isopen(a) && !isopen(b)
    @test alloc(a, 8) in a
    # Their exceptions are thrown when all have run.
    empty!(ran)
    m = mark(a)
    cleanup!(() -> push!(ran, 1), a)
    cleanup!(() -> error("one"), a)
    cleanup!(() -> push!(ran, 2), a)
    @test_throws ErrorException("one") rewind!(a, m)
    @test ran == [2, 1] && words(a)[1] == m.cursor
    cleanup!(() -> error("one"), a)
    cleanup!(() -> throw(KeyError(2)), a)
    err = try reset!(a) catch e; e end
    @test err isa CompositeException && [e for e in err] == [KeyError(2), ErrorException("one")]
    @test stats(a).live == 0
    cleanup!(() -> error("last"), a)
    @test_throws ErrorException("last") release!(a)
    @test !isopen(a)
    # Across blocks, with the collector at work; each once.
    a = Arena()
    count = Ref(0)
    for i in 1:1000
        cleanup!(() -> (count[] += i), a)
        alloc(a, 100)
        i % 300 == 0 && GC.gc()
    end
    reset!(a)
    reset!(a)
    @test count[] == sum(1:1000)
    release!(a)
end

# ---- the garbage collector ----

@noinline forget(ran) = (a = Arena(); alloc(a, 50_000); cleanup!(() -> (ran[] += 1), a); nothing)
@noinline array_of_forgotten(ran) = (a = Arena(); cleanup!(() -> (ran[] += 1), a); ArenaArray(a, 1:1000))
@noinline view_of_forgotten(ran) = view(array_of_forgotten(ran), 5:10)
collect_garbage() = foreach(_ -> GC.gc(), 1:3)

# Checked accesses keep the arena; and so does an argument, without checks.
@noinline function checked_loop(ran, n)
    v = array_of_forgotten(ran)
    total, seen = 0, 0
    for i in 1:n
        total += v[i]
        i % 10 == 0 && GC.gc()
        seen = ran[]
    end
    total, seen
end
@noinline function unchecked_loop(v, ran, n)
    total, seen = 0, 0
    @inbounds for i in 1:n
        total += v[i]
        i % 10 == 0 && GC.gc()
        seen = ran[]
    end
    total, seen
end
@noinline calls_loop(ran, n) = unchecked_loop(array_of_forgotten(ran), ran, n)

@testset "finalizers" begin
    ran = Ref(0)
    for _ in 1:20
        forget(ran)
    end
    collect_garbage()
    @test ran[] >= 19 # a register may still hold the last
    ran = Ref(0)
    v = array_of_forgotten(ran)
    w = view_of_forgotten(ran)
    held = [array_of_forgotten(ran) for _ in 1:10]
    collect_garbage()
    @test ran[] == 0 && v == 1:1000 && w == 5:10 && all(==(1:1000), held)
    empty!(held)
    v = w = nothing
    collect_garbage()
    @test ran[] >= 10
    ran = Ref(0)
    @test checked_loop(ran, 50) == (sum(1:50), 0)
    ran = Ref(0)
    @test calls_loop(ran, 50) == (sum(1:50), 0)
    # An arena that its own cleanup refers to is no cycle that lives for ever.
    ran = Ref(0)
    @noinline cyclic() = (a = Arena(); cleanup!(() -> (isopen(a); ran[] += 1), a); nothing)
    foreach(_ -> cyclic(), 1:10)
    collect_garbage()
    @test ran[] >= 9
    # Many, with no memory left behind: finalizers run on the thread that collects.
    tasks = [Threads.@spawn(for _ in 1:200
                                a = Arena()
                                @assert ArenaArray(a, [i, 2i])[2] == 2i
                                arena(b -> @assert(sum(zeros(b, Int, 100)) == 0))
                            end) for i in 1:4]
    foreach(wait, tasks)
    collect_garbage()
    cache_trim!()
    @test cache_held() == 0 || Threads.nthreads() > 1
end

foreach(include, ("arena_elsewhere.jl", "arena_held.jl", "arena_streams.jl"))

end
