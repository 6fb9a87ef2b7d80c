# Arenas of C and of other processes: the layout, a missing library, precompilation. A part of arena.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

# ---- arenas of other languages ----

@testset "arenas of C" begin
    create = c(:toft_create)
    from_c = ccall(create, Ptr{Cvoid}, ())
    a = unsafe_wrap(Arena, from_c)
    @test pointer(a) == from_c && isopen(a)
    @test ArenaArray(a, [1, 2]) == [1, 2]
    @test_throws ArgumentError release!(a)
    @test isopen(a)
    # C and Julia allocate in turn from one head.
    malloc = c(:toft_hook_malloc)
    last = UInt(0)
    for i in 1:1000
        p = UInt(ccall(malloc, Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t), a, 8))
        q = UInt(alloc(a, 8))
        @test p != 0 && q >= p + 8 || q < p
        i < 20 && @test q == p + 8 && p == last + 24 || i == 1
        last = q
    end
    # A cleanup of Julia's that C runs, when nothing here refers to it.
    ran = Ref(0)
    (() -> cleanup!(() -> (ran[] += 1), unsafe_wrap(Arena, from_c)))()
    collect_garbage()
    Toft.op_reset(Ptr{UInt}(from_c), UInt32(0), 0)
    @test ran[] == 1 && isempty(Toft.KEPT)
    # What C has run is not kept.
    for i in 1:10
        cleanup!(() -> (ran[] += 1), a)
        Toft.op_reset(Ptr{UInt}(from_c), UInt32(0), 0)
    end
    @test ran[] == 11 && length(a.cleanups) == 1
    # A claim of C's closes it.
    range = Ref((UInt(0), UInt(0), UInt(0)))
    op(i) = ccall(Toft.operation(head(a), i), UInt, (Ptr{Cvoid}, Ref{NTuple{3,UInt}}, Csize_t, Csize_t), a, range, 0, 8)
    op(Toft.OPS_CLAIM)
    @test code_of(() -> reset!(a)) == TOFT_EBUSY
    mine = unsafe_wrap(Arena, from_c; own = true)
    @test code_of(() -> release!(mine)) == TOFT_EBUSY
    @test isopen(mine) && alloc(mine, 8) != C_NULL
    op(Toft.OPS_GIVE)
    release!(mine)
    @test !isopen(mine)
    # Owned: the finalizer's too.
    ran = Ref(0)
    @noinline function own()
        a = unsafe_wrap(Arena, ccall(create, Ptr{Cvoid}, ()); own = true)
        cleanup!(() -> (ran[] += 1), a)
        nothing
    end
    foreach(_ -> own(), 1:10)
    collect_garbage()
    @test ran[] >= 9
    # Values that are no arena.
    zeros4 = zeros(UInt, 4)
    @test_throws ArgumentError unsafe_wrap(Arena, C_NULL)
    GC.@preserve zeros4 @test_throws ArgumentError unsafe_wrap(Arena, pointer(zeros4))
    table = vcat(UInt32[Toft.OPS_SIZE, 2], zeros(UInt32, 40))
    made = UInt[4096, pointer(table), 4096, 2]
    GC.@preserve made table begin
        @test code_of(() -> unsafe_wrap(Arena, pointer(made))) == TOFT_ENOSYS
        table[2] = 1
        @test isopen(unsafe_wrap(Arena, pointer(made)))
        table[1] -= 1
        @test code_of(() -> unsafe_wrap(Arena, pointer(made))) == TOFT_ENOSYS
        made[3] = 4088
        @test_throws ArgumentError unsafe_wrap(Arena, pointer(made))
    end
end

# ---- the ABI's layout, as the C compiler sees it ----

const LAYOUT = """
#include "toft.h"
#include <stdio.h>
#define P(x) printf("%llu\\n", (unsigned long long)(x));
#define O(s, m) P(offsetof(s, m))
int main(void) {
  O(toft_arena, cursor) O(toft_arena, ops) O(toft_arena, limit) O(toft_arena, epoch) P(sizeof(toft_arena_ops))
  O(toft_arena_ops, size) O(toft_arena_ops, version) O(toft_arena_ops, alloc) O(toft_arena_ops, resize)
  O(toft_arena_ops, free) O(toft_arena_ops, rewind) O(toft_arena_ops, reset) O(toft_arena_ops, trim)
  O(toft_arena_ops, cleanup) O(toft_arena_ops, claim) O(toft_arena_ops, give) O(toft_arena_ops, contains)
  O(toft_arena_ops, stats) O(toft_arena_ops, set) O(toft_arena_ops, release)
  P(sizeof(toft_options)) O(toft_options, size) O(toft_options, source) O(toft_options, buffer)
  O(toft_options, buffer_size) O(toft_options, budget) O(toft_options, reserve) O(toft_options, failure)
  O(toft_options, failure_arg) O(toft_options, flags)
  P(sizeof(toft_reserve_source)) O(toft_reserve_source, source.take) O(toft_reserve_source, source.put)
  O(toft_reserve_source, source.extend) O(toft_reserve_source, base) O(toft_reserve_source, max)
  O(toft_reserve_source, committed) O(toft_reserve_source, taken)
  P(sizeof(toft_stats)) O(toft_stats, live) O(toft_stats, allocated) O(toft_stats, peak) O(toft_stats, budget)
  O(toft_stats, reserved) O(toft_stats, wasted) O(toft_stats, blocks) O(toft_stats, source_calls)
  P(sizeof(toft_tag_report)) O(toft_tag_report, name) O(toft_tag_report, number) O(toft_tag_report, live)
  O(toft_tag_report, allocated) O(toft_tag_report, budget)
  P(sizeof(toft_site_report)) O(toft_site_report, site) O(toft_site_report, tag) O(toft_site_report, count)
  O(toft_site_report, bytes) O(toft_site_report, stack) O(toft_site_report, depth)
  P(sizeof(toft_snapshot_options)) O(toft_snapshot_options, size) O(toft_snapshot_options, flags)
  O(toft_snapshot_options, symbolizer) O(toft_snapshot_options, symbolizer_arg)
  P(sizeof(toft_symbol)) O(toft_symbol, function) O(toft_symbol, offset) O(toft_symbol, module)
  O(toft_symbol, module_offset) O(toft_symbol, file) O(toft_symbol, line)
  P(TOFT_ZERO) P(TOFT_STAY) P(TOFT_KEEP_RECENT) P(TOFT_KEEP_ALL) P(TOFT_KEEP_BYTES) P(TOFT_SET_BUDGET)
  P(TOFT_SET_SAMPLE) P(TOFT_SET_CHECKED) P(TOFT_CHECKED) P(-TOFT_OK) P(-TOFT_ENOMEM) P(-TOFT_EMARK) P(-TOFT_EBUSY)
  P(-TOFT_EARG)
  P(-TOFT_ENOSYS) P(-TOFT_ECORRUPT)
  return 0;
}
"""

offsets(T) = [sizeof(T); [Int(fieldoffset(T, i)) for i in 1:fieldcount(T)]]

function layout_here()
    head = [(i - 1) * Toft.WORD for i in (Toft.HEAD_CURSOR, Toft.HEAD_OPS, Toft.HEAD_LIMIT, Toft.HEAD_EPOCH)]
    ops = [Toft.OPS_FUNCTIONS + (i - 1) * Toft.WORD for i in
           (Toft.OPS_ALLOC, Toft.OPS_RESIZE, Toft.OPS_FREE, Toft.OPS_REWIND, Toft.OPS_RESET, Toft.OPS_TRIM,
            Toft.OPS_CLEANUP, Toft.OPS_CLAIM, Toft.OPS_GIVE, Toft.OPS_CONTAINS, Toft.OPS_STATS, Toft.OPS_SET,
            Toft.OPS_RELEASE)]
    constants = [Toft.TOFT_ZERO, Toft.TOFT_STAY, Toft.TOFT_KEEP_RECENT, Toft.TOFT_KEEP_ALL, Toft.TOFT_KEEP_BYTES,
                 Toft.TOFT_SET_BUDGET, Toft.TOFT_SET_SAMPLE, Toft.TOFT_SET_CHECKED, true, -Toft.TOFT_OK,
                 -Toft.TOFT_ENOMEM, -Toft.TOFT_EMARK, -Toft.TOFT_EBUSY, -Toft.TOFT_EARG, -Toft.TOFT_ENOSYS,
                 -Toft.TOFT_ECORRUPT]
    Int[head; Toft.OPS_SIZE; 0; 4; ops; offsets(Toft.RawOptions); offsets(Toft.RawReserve); offsets(Toft.RawStats);
        offsets(Toft.RawTag); offsets(Toft.RawSite); offsets(Toft.RawSnapshot); offsets(Toft.RawSymbol); constants]
end

@testset "the layout" begin
    compiler = something(Sys.which("cc"), Sys.which("gcc"), Sys.which("clang"), Some(nothing))
    if compiler === nothing
        @info "no C compiler: the layout of C's structs is not compared"
    else
        mktempdir() do folder
            program = joinpath(folder, "layout")
            write(program * ".c", LAYOUT)
            run(`$compiler -std=c11 -I$(dirname(Toft.HEADER)) -o $program $program.c`)
            @test parse.(Int, split(read(`$program`, String))) == layout_here()
        end
    end
    @test Toft.library().version == string(Toft.HEADER_VERSION)
    @test isfile(Toft.library().path)
    @test !Toft.fits(VersionNumber(Toft.HEADER_VERSION.major + 1)) && Toft.fits(Toft.HEADER_VERSION)
    @test Toft.HEADER_VERSION.major > 0 || !Toft.fits(VersionNumber(0, Toft.HEADER_VERSION.minor + 1))
end

# ---- libtoft is missing, or is another ----

# A Julia of its own, with the packages of this process and `library` as TOFT_LIBRARY ("" is: not set).
function elsewhere(code, library; errors = devnull)
    paths = join(map(Base.load_path_expand, filter(p -> Base.load_path_expand(p) !== nothing, LOAD_PATH)),
                 Sys.iswindows() ? ';' : ':')
    command = addenv_of(`$(Base.julia_cmd()) --startup-file=no -e $code`, "JULIA_LOAD_PATH" => paths,
                        "TOFT_LIBRARY" => library, "JULIA_DEPOT_PATH" => join(DEPOT_PATH, Sys.iswindows() ? ';' : ':'))
    read(pipeline(command; stderr = errors), String)
end

addenv_of(command, pairs...) = setenv(command, merge(Dict(ENV), Dict(pairs...)))

const ASK = """
using Toft
for f in (() -> Arena(), () -> arena(a -> 1), () -> Toft.library(), () -> Toft.cache_held())
    try
        f()
        print("none;")
    catch e
        print(typeof(e), " ", e.msg, ";")
    end
end
"""

@testset "without libtoft" begin
    message = elsewhere(ASK, joinpath(mktempdir(), "no-such-file"))
    @test count("Pkg.build(\"Toft\")", message) == 4 && count("ErrorException", message) == 4
    # A library that is none of ours.
    message = elsewhere(ASK, dlpath(first(filter(p -> occursin("libjulia", p), dllist()))))
    @test count("of version unknown", message) == 4
    @test elsewhere("using Toft; print(arena(a -> sum(zeros(a, Int, 3) .+ 1)))", Toft.library().path) == "3"
end

const WORKLOAD = """
module Workload
using Toft
squares(n) = arena(budget = 1 << 20) do a
    v = ArenaArray{Int}(a, undef, n)
    v .= (1:n) .^ 2
    Toft.scope(() -> zeros(a, Int, 10), a)
    cleanup!(() -> CLEANED[] += 1, a)
    sum(v)
end
block(v) = Toft.@no_escape begin
    x = @alloc(Float64, length(v))
    x .= v .^ 2
    sum(x)
end
const CLEANED = Ref(0)
const BLOCK = block([3, 4])
const SUM = squares(10)
try
    arena(a -> error("thrown"))
catch
end
end
"""

@testset "arenas while a package is precompiled" begin
    mktempdir() do folder
        early(body) = "module Early; using Toft; $body; end"
        use(code) = "pushfirst!(DEPOT_PATH, $(repr(folder))); pushfirst!(LOAD_PATH, $(repr(folder))); $code"
        # What ends within its block works, before and after the package is loaded from its cache.
        write(joinpath(folder, "Workload.jl"), WORKLOAD)
        for round in 1:2
            code = use("using Workload; print(Workload.SUM, ' ', Workload.squares(20), ' ', Workload.CLEANED[], ' ', " *
                       "Workload.BLOCK + Workload.block([1.0]))")
            @test elsewhere(code, Toft.library().path) == "385 2870 2 26.0"
            @test any(name -> endswith(name, ".ji"), [f for (_, _, files) in walkdir(folder) for f in files])
        end
        # Arenas in an image are refused, and the error names the remedy.
        for body in ("const A = Arena()", "const A = arena(identity)")
            write(joinpath(folder, "Early.jl"), early(body))
            said = joinpath(folder, "said")
            code = use("try using Early; print(\"loaded\") catch e print(\"refused\") end")
            @test elsewhere(code, Toft.library().path; errors = said) == "refused"
            @test occursin("make it in __init__", read(said, String))
        end
        write(joinpath(folder, "Early.jl"), early("const A = Ref{Arena}(); __init__() = (A[] = Arena(); nothing)"))
        @test elsewhere(use("using Early; print(isopen(Early.A[]))"), Toft.library().path) == "true"
    end
end
