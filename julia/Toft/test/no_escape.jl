# @no_escape, the arena of a task, and the extension for Bumper.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0
module NoEscapeTests

using Test, Toft
using Toft: @alloc, @alloc_ptr, @no_escape, alloc, default_arena, reset!, stats

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

@testset "blocks give back what they allocated" begin
    a = default_arena()
    @test a === default_arena() && a isa Arena
    @test sum_of_squares([3, 4]) == 25.0 && stats(a).live == 0
    sum_of_squares([3, 4])
    @test @allocated(sum_of_squares([3, 4])) <= 256 # the vector and what @allocated sees of it
    b = Arena()
    @test nested(a, b) == 43 && nested(a, a) == 43 && stats(a).live == stats(b).live == 0
    before = @no_escape begin
        alloc(a, 100)
        stats(a).live
    end
    @test before >= 100 && stats(a).live == 0
    loops() = @no_escape (s = 0; for i in 1:3; s += map(j -> (return j), i); end; s)
    @test loops() == 6
end

@testset "each task has an arena" begin
    others = [fetch(@async default_arena()) for _ in 1:2]
    @test length(unique(objectid.([others; default_arena()]))) == 3
    release!(default_arena())
    @test isopen(default_arena())
end

@testset "what must not leave a block" begin
    a = Arena()
    @test_throws ArgumentError @no_escape a @alloc(Int, 3)
    @test_throws ArgumentError @no_escape a (1, view(@alloc(Int, 3), 1:2))
    kept = ArenaArray{Int}(a, undef, 2)
    @test (@no_escape a kept) === kept && isvalid(kept)
    live = stats(a).live
    @test live > 0
    # an exception leaves the memory to the block around it
    @no_escape a begin
        try
            @no_escape a (@alloc(Int, 1000); error("thrown"))
        catch
        end
        @test stats(a).live >= live + 8000
    end
    @test stats(a).live == live
    for code in ("@no_escape return 1", "@no_escape begin; @goto out; end", "@alloc(Int, 3)", "@alloc_ptr(3)")
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
