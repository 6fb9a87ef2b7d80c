# The fast paths: none of them dispatches dynamically or allocates, on any release of Julia; and what Julia 1.5 compiles
# them to for x86-64 must not grow. Other compilers make other code, so there the instructions are not counted.
# SPDX-License-Identifier: MIT OR Apache-2.0
module InstructionTests

using InteractiveUtils, Test, Toft
using Toft: List, Queue, Stack, @alloc, @no_escape

# Instructions of f for these arguments, without what only fills up; and how many of them are calls.
function instructions(f, arguments...)
    text = sprint(io -> code_native(io, f, typeof.(arguments); debuginfo=:none))
    lines = [strip(line) for line in split(text, '\n') if startswith(line, '\t')]
    lines = filter(line -> !startswith(line, '.') && !startswith(line, "nop"), lines)
    return length(lines), count(line -> startswith(line, "call"), lines)
end

take_slot(pool, x) = allocateend!(pool, x)
give_slot(pool, i) = @inbounds deallocate!(pool, i)
read_slot(pool, i) = @inbounds pool[i]
read_second(pool, i) = @inbounds pool[i, 2]
read_checked(pool, i) = pool[i]
swap_checked(pool, i) = pool[i] = (pool[i, 2], pool[i, 1]) # one check serves three accesses, since it only throws
function link_two(pool, i) # the flag of slot l is tested once, though a store lies between its two accesses
    l = pool[i, 1]
    r = pool[l, 2]
    pool[i, 1] = r
    pool[l, 2] = i
    return l
end
push_one(stack, x) = (push!(stack, x); nothing)
pop_one(stack) = pop!(stack)
pop_first(queue) = popfirst!(queue)
push_first(list, x) = (pushfirst!(list, x); nothing)
function sum_of(list)
    sum = 0
    for x in list
        sum += x
    end
    return sum
end

function four_arrays(a, n) # the task is compared only where an allocation may run in another one
    @no_escape a begin
        w, x, y, z = @alloc(Int, n), @alloc(Int, n), @alloc(Int, n), @alloc(Int, n)
        @inbounds w[1] = x[1] = y[1] = z[1] = n
        n
    end
end

const OPTIONS = Base.JLOptions()
const COUNTED = v"1.5" <= VERSION < v"1.6-" && Sys.ARCH === :x86_64 && OPTIONS.check_bounds == 0

calls_current_task(f, arguments...) =
    occursin("current_task", sprint(io -> code_llvm(io, f, typeof.(arguments); raw=true)))
one_in_a_function(a, n) = @no_escape a (f = () -> sum(@alloc(Int, n)); f())

# What f calls of Julia's runtime that a fast path must not: dynamic dispatch, boxes, objects.
function runtime_calls(f, arguments...)
    text = sprint(io -> code_llvm(io, f, typeof.(arguments); debuginfo=:none, optimize=true, raw=true))
    calls = [m.captures[1] for m in eachmatch(r"\bcall\b[^\n]*?@\"?([\w!#.]+)", text)]
    return filter(name -> occursin(r"apply_generic|apply_type|gc_\w*alloc|box_|alloc_obj|jl_invoke", name), calls)
end

dispatches(x) = push!(x[], 1)
makes_an_object(x) = Ref(x)

COUNTED || @info "not run: the count of instructions, which is for Julia 1.5 on x86-64 without --check-bounds"

if OPTIONS.opt_level < 2 || OPTIONS.code_coverage != 0
    @info "not run: the tests of fast paths, which need -O2 and no coverage"
else
    @testset "instructions" begin
        @test !isempty(runtime_calls(dispatches, Ref{Any}(Int[])))
        @test !isempty(runtime_calls(makes_an_object, 1))
        pool, columns = Allocator{Tuple{Int,Int}}(8), SOAllocator{Tuple{Int,Int}}(8)
        free = FreeListAllocator{Tuple{Int,Int}}(8)
        allocateend!(pool, (1, 2)), allocateend!(columns, (1, 2)), allocateend!(free, (1, 2))
        list = List{Int}()
        stack, queue = Stack{Int}(Allocator, 8), Queue{Int}(Allocator, 8)
        for (what, most, most_calls, f, arguments) in (
            ("take a slot", 24, 1, take_slot, (pool, (1, 2))),
            ("take a slot of columns", 26, 1, take_slot, (columns, (1, 2))),
            ("read a slot", 7, 0, read_slot, (pool, 1)),
            ("read a field", 5, 0, read_second, (pool, 1)),
            ("read a field of columns", 4, 0, read_second, (columns, 1)),
            ("read a slot, checked", 26, 1, read_checked, (pool, 1)),
            ("read a slot of columns, checked", 29, 1, read_checked, (columns, 1)),
            ("read a slot of a free list, checked", 28, 2, read_checked, (free, 1)),
            ("swap the fields of a slot, checked", 30, 1, swap_checked, (pool, 1)),
            ("swap the fields of columns, checked", 31, 1, swap_checked, (columns, 1)),
            ("swap the fields of a slot of a free list, checked", 32, 2, swap_checked, (free, 1)),
            ("link two slots of a free list, checked", 41, 4, link_two, (free, 1)),
            ("take a slot that was freed, or a new one", 60, 2, take_slot, (free, (1, 2))),
            ("give a slot back", 18, 0, give_slot, (free, 1)),
            ("push", 21, 1, push_one, (stack, 1)),
            ("pop", 23, 1, pop_one, (stack,)),
            ("pop the first", 29, 1, pop_first, (queue,)),
            ("push to a list", 45, 1, push_one, (list, 1)),
            ("push before the first of a list", 44, 1, push_first, (list, 1)),
            ("pop the first of a list", 22, 1, pop_first, (list,)),
            ("a walk of a list", 76, 4, sum_of, (list,)),
        )
            calls = runtime_calls(f, arguments...)
            isempty(calls) || println(what, " calls ", calls)
            @test isempty(calls)
            COUNTED || continue
            counted = instructions(f, arguments...)
            counted[1] <= most && counted[2] <= most_calls || println(what, ": ", counted)
            @test counted[1] <= most
            @test counted[2] <= most_calls
        end
        @test calls_current_task(one_in_a_function, Arena(), 4) && !calls_current_task(four_arrays, Arena(), 4)
        COUNTED && @test instructions(four_arrays, Arena(), 4)[1] <= 209
    end
end

end
