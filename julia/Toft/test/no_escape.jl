# @no_escape, the arena of a task, and the extension for Bumper.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0
module NoEscapeTests

using Random, Test, Toft
using Toft: @alloc, @alloc_ptr, @no_escape, alloc, default_arena, reset!, stats, checked!
using ..Main: throws, thrown

# Bytes in the arenas of blocks that the threads have.
open_bytes() = sum(stats(b.arena).live for b in block_arenas())
block_arenas() =
    unique(b for t in Toft.THREADS for b in [t.idle; collect(values(t.displaced)); something(t.current, [])])

sum_of_squares(v) = @no_escape begin
    squares = @alloc(Float64, length(v))
    squares .= v .^ 2
    sum(squares)
end

function nested(a, b)
    @no_escape a begin
        x = @alloc(Int, 3)
        x .= 1
        y = @no_escape b begin
            z = @alloc(Int, 2, 2)
            z .= 10
            sum(z)
        end
        p = Ptr{Int}(@alloc_ptr(8))
        unsafe_store!(p, y)
        sum(x) + unsafe_load(p)
    end
end

@testset "blocks free what they allocated" begin
    @test default_arena() === default_arena() && default_arena() isa Arena
    @test sum_of_squares([3, 4]) == 25.0 && open_bytes() == 0
    sum_of_squares([3, 4])
    @test @allocated(sum_of_squares([3, 4])) <= 256 # the vector and what @allocated sees of it
    a, b = Arena(), Arena()
    @test nested(a, b) == 43 && nested(a, a) == 43 && stats(a).live == stats(b).live == 0
    outside = default_arena()
    before = @no_escape begin
        inside = default_arena()
        alloc(inside, 100)
        inside === outside ? 0 : stats(inside).live
    end
    @test before >= 100 && open_bytes() == 0 && default_arena() === outside
    loops() = @no_escape (s = 0; for i in 1:3; s += map(j -> (return j), i); end; s)
    @test loops() == 6
end

# ---- ways out of a block ----

function leave_by_continue(n)
    s = 0
    for i in 1:n
        @no_escape begin
            x = fill!(@alloc(Int, 100), i)
            isodd(i) && continue
            i > n - 2 && break
            s += x[1]
        end
    end
    return s
end
leave_by_return(i) = @no_escape begin
    x = fill!(@alloc(Int, 100), 1)
    for k in 1:3 # its own loop
        k == 3 && break
        k == i && return sum(x)
    end
    -1
end
function leave_by_goto()
    @no_escape begin
        x = fill!(@alloc(Int, 100), 7)
        @goto inside
        x[1] = 8
        @label inside
        x[1] == 7 && @goto out
    end
    @label out
    return 5
end
macro return_if(condition)
    return esc(:($condition && return 3))
end
leave_by_macro(x) = @no_escape begin
    y = @alloc(Int, 100)
    @return_if x
    y[1] = 4
end
leave_two(a, i) = @no_escape begin
    x = fill!(@alloc(Int, 10), 1)
    @no_escape a begin
        y = fill!(@alloc(Int, 10), 2)
        i == 1 && return sum(y)
        @no_escape begin
            z = fill!(@alloc(Int, 10), 3)
            i == 2 && return sum(x) + sum(z)
        end
    end
    sum(x)
end
give_away(a) = @no_escape a begin
    return @alloc(Int, 3)
end

@testset "ways out of a block" begin
    a = Arena()
    @test leave_by_continue(1000) == sum(2:2:998) && open_bytes() == 0
    @test [leave_by_return(i) for i in 1:3] == [100, 100, -1] && open_bytes() == 0
    @test leave_by_goto() == 5 && leave_by_macro(true) == 3 && leave_by_macro(false) == 4 && open_bytes() == 0
    @test [leave_two(a, i) for i in 1:3] == [20, 40, 10] && open_bytes() == stats(a).live == 0
    @test_throws ArgumentError give_away(a)
    @test stats(a).live == 0
end

leave_by_exception(n) = @no_escape begin
    x = fill!(@alloc(Int, 1000), n)
    n == 0 && error("thrown")
    leave_by_exception(n - 1)
end
function catch_in_one_function(n)
    for i in 1:n
        try
            @no_escape begin
                @alloc(Int, 1000)
                error("thrown")
            end
        catch
        end
    end
end
# Blocks within blocks, and exceptions at random: each block finds its memory as it was.
function random_blocks(rng, depth)
    @no_escape begin
        x = fill!(@alloc(Int, rand(rng, 1:100)), depth)
        for _ in 1:2
            dice = rand(rng, 1:6)
            dice == 1 && depth > 3 && error("thrown")
            dice == 2 && return depth
            if dice > 3 && depth < 12
                try
                    random_blocks(rng, depth + 1)
                catch
                end
            end
        end
        all(==(depth), x) || error("overwritten")
        depth
    end
end

@testset "blocks that an exception leaves" begin
    @test any(==(Expr(:meta, :noinline)), code_lowered(sum_of_squares, (Vector{Int},))[1].code)
    @test all(_ -> throws(ErrorException, leave_by_exception, 3), 1:1000)
    @test open_bytes() <= 4 * 8000
    catch_in_one_function(1000)
    @test open_bytes() <= 5 * 8000
    rng = Random.MersenneTwister(1)
    @test all(_ -> random_blocks(rng, 1) == 1, 1:2000)
    arenas = length(block_arenas())
    @test all(_ -> throws(Exception, fetch, @async leave_by_exception(2)), 1:50) # tasks that end by one
    @test length(block_arenas()) <= arenas + 2
end

@testset "tasks share the arenas of their threads" begin
    work(i) = @no_escape begin
        x = fill!(@alloc(Int, 1000), i)
        i % 3 == 0 && yield()
        all(==(i), x) ? i : error("overwritten")
    end
    before = length(block_arenas())
    @test all(i -> fetch(@async work(3i + 1)) == 3i + 1, 1:1000)
    @test length(block_arenas()) <= before + 1
    for start in (i -> (@async work(i)), i -> Threads.@spawn work(i))
        @test map(fetch, [start(i) for i in 1:200]) == 1:200
        @test map(fetch, [start(i) for i in 1:200]) == 1:200 # of those that the first ones have left
    end
    @test length(block_arenas()) <= 1000
    foreach(_ -> work(1), 1:20*Toft.ROUNDS)
    @test length(Toft.THREADS[Threads.threadid()].idle) <= 1
    release!(@no_escape default_arena()) # by mistake
    @test work(1) == 1
end

@testset "a loop of several threads in a block" begin
    sums() = @no_escape begin
        s, x = zeros(Int, 64), fill!(@alloc(Int, 4), 1)
        Threads.@threads for i in 1:64
            y = fill!(@alloc(Int, 10), i)
            isodd(i) && continue
            s[i] = sum(y)
            fill!(y, 0)
        end
        sum(s) + sum(x)
    end
    @test all(_ -> sums() == sum(10i for i in 2:2:64) + 4, 1:20)
end

@testset "each task has an arena" begin
    others = [fetch(@async default_arena()) for _ in 1:2]
    @test length(unique(objectid.([others; default_arena()]))) == 3
    release!(default_arena())
    @test isopen(default_arena())
end

# What f throws in a task, on any thread.
function thrown_in(task)
    wait_for(task)
    return task.exception
end
wait_for(task) = try
    wait(task)
catch
end
refused(e) = e isa ErrorException && occursin("another task", e.msg)

# Each way to run code of a block in another task. They return the exception, and what the block still
# allocates.
function in_async(a)
    @no_escape a begin
        x = fill!(@alloc(Int, 4), 1)
        e = thrown_in(@async sum(fill!(@alloc(Int, 4), 2)))
        y = fill!(@alloc(Int, 4), 3)
        (e, sum(x) + sum(y))
    end
end
function in_spawn(a)
    @no_escape a begin
        x = fill!(@alloc(Int, 4), 1)
        e = thrown_in(Threads.@spawn sum(fill!(@alloc(Int, 4), 2)))
        (e, sum(x) + sum(fill!(@alloc(Int, 4), 3)))
    end
end
function in_task(a)
    @no_escape a begin
        x = fill!(@alloc(Int, 4), 1)
        e = thrown_in(schedule(Task(() -> unsafe_store!(Ptr{Int}(@alloc_ptr(8)), 2))))
        (e, sum(x) + sum(fill!(@alloc(Int, 4), 3)))
    end
end
function in_function(a)
    @no_escape a begin
        f() = sum(fill!(@alloc(Int, 4), 2))
        function g()
            yield()
            f()
        end
        x = fill!(@alloc(Int, 4), 1)
        e = thrown_in(@async g())
        (e, sum(x) + g() + 4)
    end
end
function in_generator(a)
    @no_escape a begin
        lazy = (sum(fill!(@alloc(Int, 4), 2)) for _ in 1:2)
        x = fill!(@alloc(Int, 4), 1)
        e = thrown_in(@async sum(lazy))
        (e, sum(x) + sum(lazy) - 4)
    end
end
function in_sync(a)
    @no_escape a begin
        x = fill!(@alloc(Int, 4), 1)
        e = try
            @sync for _ in 1:2
                @async @alloc(Int, 1)
            end
        catch e
            first(e.exceptions).task.exception
        end
        (e, sum(x) + 12)
    end
end
function in_threads(a)
    @no_escape a begin # with an argument
        x = fill!(@alloc(Int, 4), 1)
        errors = Vector{Any}(undef, Threads.nthreads())
        Threads.@threads for k in 1:Threads.nthreads()
            errors[k] = try
                @alloc(Int, 4)
            catch e
                e
            end
        end
        others = filter(e -> !(e isa ArenaArray), errors) # with one thread the loop may run in the block's task
        push!(others, Threads.nthreads() == 1 ? ErrorException("another task") : nothing)
        (first(others), sum(x) + 12)
    end
end

@testset "other tasks than that of the block" begin
    a = Arena()
    for f in (in_async, in_spawn, in_task, in_function, in_generator, in_sync, in_threads)
        e, total = f(a)
        @test refused(e) && total == 16 && stats(a).live == 0
    end

    # a block in each task, with yields, also within a block of the parent
    function block(n)
        @no_escape begin
            x = fill!(@alloc(Int, 10), n)
            yield()
            y = @no_escape begin
                z = fill!(@alloc(Int, 10), 1)
                yield()
                sum(z)
            end
            yield()
            sum(x) + y
        end
    end
    @test map(fetch, [@async block(n) for n in 1:20]) == [10n + 10 for n in 1:20]
    @test map(fetch, [Threads.@spawn block(n) for n in 1:20]) == [10n + 10 for n in 1:20]
    outer() = @no_escape begin
        x = fill!(@alloc(Int, 10), 5)
        sums = zeros(Int, 8)
        Threads.@threads for k in 1:8
            sums[k] = @no_escape begin
                y = fill!(@alloc(Int, 10), k)
                yield()
                sum(y)
            end
        end
        sums == [10k for k in 1:8] && all(==(5), x)
    end
    @test all(_ -> outer(), 1:20)

    # in the block's own task: macros, functions, loops
    own() = @no_escape begin
        f(n) = sum(fill!(@alloc(Int, n), 1))
        s = f(2) + sum(map(n -> f(n), 1:3))
        @inbounds for n in 1:3
            s += sum(fill!(@alloc(Int, n), 1))
        end
        s
    end
    @test own() == 14
end

# One task is certainly in a call when it runs a cleanup.
@testset "two tasks at once in a checked arena" begin
    at_once(e) = e isa ErrorException && occursin("two tasks", e.msg)
    made_checked, set_checked = Arena(checked=true), Arena()
    checked!(set_checked)
    for a in (made_checked, set_checked)
        p = alloc(a, Int, 4)
        m = mark(a)
        calls = (() -> alloc(a, Int), () -> ArenaArray{Int}(a, undef, 3), () -> reset!(a), () -> rewind!(a, m),
                 () -> stats(a), () -> Toft.resize!(a, p, 4, 100), () -> Toft.deallocate!(a, p, 4), () -> release!(a),
                 () -> Toft.cleanup!(() -> 1, a), () -> budget!(a, 10), () -> Toft.trim!(a), () -> p in a,
                 () -> (@no_escape a @alloc_ptr(8)), () -> checked!(a, false))
        seen = Any[]
        Toft.cleanup!(a) do
            for f in calls
                push!(seen, thrown_in(@async f()), thrown_in(Threads.@spawn f()))
            end
            push!(seen, try
                alloc(a, Int) # in the task itself
            catch e
                e
            end)
        end
        reset!(a)
        @test length(seen) == 2 * length(calls) + 1 && all(at_once, seen[1:end-1])
        @test last(seen) isa ArenaError && stats(a).live == 0
        @test fetch(@async alloc(a, Int)) != C_NULL # one after the other

        errors = Any[]
        Threads.@threads for _ in 1:2
            for _ in 1:2000
                try
                    alloc(a, Int)
                catch e
                    at_once(e) || push!(errors, e)
                end
            end
        end
        @test isempty(errors)
        release!(a)
    end
end

@testset "keywords of @alloc" begin
    a = Arena()
    aligned(n) = @no_escape a begin
        x, y, z = @alloc(Int8, n; align=64), @alloc(Int8, n, align=128), @alloc(Int8, n, 2; align=256)
        (UInt(pointer(x)) % 64, UInt(pointer(y)) % 128, UInt(pointer(z)) % 256, size(y), size(z))
    end
    @test all(n -> aligned(n) == (0, 0, 0, (n,), (n, 2)), 1:5)
end

@testset "what must not leave a block" begin
    a = Arena()
    @test_throws ArgumentError @no_escape a @alloc(Int, 3)
    for wrap in (x -> (1, view(x, 1:2)), x -> (n=1, x=x), x -> Ref(x), x -> [x], x -> [(1, x), (2, x)], transpose,
                 x -> (y for y in x), x -> (() -> sum(x)), x -> Some(view(x, 1:2)), x -> (k * x for k in 1:2),
                 x -> 1 => x, x -> Union{Nothing,typeof(x)}[nothing, x], x -> ArenaVector[x])
        e = thrown(() -> @no_escape(a, wrap(@alloc(Int, 3))))
        @test e isa ArgumentError && occursin("@no_escape", e.msg)
        f(wrap) = @no_escape a (return wrap(@alloc(Int, 3)); 1)
        @test thrown(f, wrap) isa ArgumentError
    end
    inside = Any[1]
    push!(inside, inside)
    for value in (1, "a", nothing, [1], Any[1], [inside], Ref(1), (1, [2]), Dict(1 => 2), x -> x, (x for x in 1:2), Int)
        @test @no_escape(a, (@alloc(Int, 3); value)) === value
    end
    y = 1
    @no_escape a begin
        y = 2
        z = 3
    end
    @test y == 2 && !(@isdefined z) # a block is a let
    kept = ArenaArray{Int}(a, undef, 2)
    @test (@no_escape a kept) === kept && isvalid(kept)
    live = stats(a).live
    @test live > 0
    # an exception leaves the memory of a given arena to the block around it
    @no_escape a begin
        try
            @no_escape a (@alloc(Int, 1000); error("thrown"))
        catch
        end
        @test stats(a).live >= live + 8000
    end
    @test stats(a).live == live
    for code in ("@alloc(Int, 3)", "@alloc_ptr(3)", "@no_escape try return 1 finally 2 end",
                 "for i in 1:2; @no_escape (try; break; catch; finally; 2; end); end")
        thrown = try
            macroexpand(NoEscapeTests, Meta.parse(code))
            nothing
        catch e
            e isa LoadError ? e.error : e # before Julia 1.7
        end
        @test thrown isa ArgumentError
    end
end

# Bumper itself where it is installed; else a module with the functions that an extension defines.
const BUMPER_IS_HERE = Base.find_package("Bumper") !== nothing
BUMPER_IS_HERE || @info "Bumper is not installed: its extension is tested with the functions it defines"

if BUMPER_IS_HERE
    import Bumper
else
    @eval Main module Bumper
        function alloc_ptr! end
        function checkpoint_save end
        function checkpoint_restore! end
        function reset_buffer! end
    end
    const Bumper = Main.Bumper
end

if BUMPER_IS_HERE && isdefined(Base, :get_extension)
    @test Base.get_extension(Toft, :ToftBumperExt) !== nothing
else
    Core.eval(Main, :(import Toft))
    let text = read(joinpath(@__DIR__, "..", "ext", "ToftBumperExt.jl"), String)
        include_string(Main, BUMPER_IS_HERE ? text : replace(text, "import Bumper" => "import ..Bumper"))
    end
end

function one_block(a)
    checkpoint = Bumper.checkpoint_save(a)
    p = Bumper.alloc_ptr!(a, 16)
    used = stats(a).live
    Bumper.checkpoint_restore!(checkpoint)
    return p isa Ptr{Cvoid} && p != C_NULL && used >= 16
end

@testset "Bumper" begin
    a = Arena()
    @test Base.invokelatest(one_block, a) && stats(a).live == 0
    alloc(a, 100)
    Base.invokelatest(Bumper.reset_buffer!, a)
    @test stats(a).live == 0
    if BUMPER_IS_HERE
        f = include_string(Module(:WithBumper), """
            using Bumper: @no_escape, @alloc
            a -> @no_escape a begin
                x = @alloc(Float64, 8)
                x .= 1
                sum(x)
            end""")
        @test Base.invokelatest(f, a) == 8 && stats(a).live == 0
    end
end

end
