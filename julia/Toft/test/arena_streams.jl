# Random streams of operations on an arena, against a model. A part of arena.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

mutable struct Piece
    at::Ptr{UInt8}
    n::Int
    seed::UInt8
    array::Union{Nothing,ArenaVector{UInt8}}
end

pattern(seed, i) = (seed * 0x83 + i * 0x07) % UInt8
write_to(x::Piece) = foreach(i -> unsafe_store!(x.at, pattern(x.seed, i), i), 1:x.n)
intact(x::Piece) = all(i -> unsafe_load(x.at, i) == pattern(x.seed, i), 1:x.n)

function disjoint(pieces)
    spans = sort([(UInt(x.at), UInt(x.at) + x.n) for x in pieces if x.n > 0])
    all(i -> spans[i][2] <= spans[i+1][1], 1:length(spans)-1)
end

# What is wrong with the pieces, or "".
function fault_of(a, live, dead)
    disjoint(live) || return "two allocations overlap"
    all(intact, live) || return "an allocation was overwritten"
    all(x -> x.array === nothing || isvalid(x.array), live) || return "a live array is refused"
    any(x -> x.array !== nothing && isvalid(x.array), dead) && return "a dead array is accepted"
    stats(a).live >= sum(Int[x.n for x in live]) || return "the live bytes are too few"
    return ""
end

function stream(seed, steps; options...)
    rng = MersenneTwister(seed)
    live, dead, marks, ran, expected = Piece[], Piece[], Tuple{Toft.Mark,Int,Int}[], Ref(0), Int[]
    pending = Int[] # cleanups, as their numbers
    arena(; options...) do a
        add(x) = (write_to(x); push!(live, x))
        # Newer than every mark, or a resize would take it beyond one that it must survive.
        newest() = !isempty(live) && live[end].array === nothing && (isempty(marks) || marks[end][2] < length(live))
        drop(to) = (append!(dead, live[to+1:end]); resize!(live, to))
        for step in 1:steps
            kind = rand(rng, 1:100)
            n = rand(rng) < 0.02 ? rand(rng, 5000:200_000) : rand(rng, 0:300)
            seed = rand(rng, UInt8)
            try
                if kind <= 30
                    add(Piece(alloc(a, n), n, seed, nothing))
                elseif kind <= 40
                    align = 1 << rand(rng, 0:12)
                    p = alloc(a, n; align = align)
                    @assert UInt(p) % max(align, 8) == 0
                    add(Piece(p, n, seed, nothing))
                elseif kind <= 65
                    v = ArenaArray{UInt8}(a, undef, n)
                    add(Piece(v.at, n, seed, v))
                elseif kind <= 75 && newest()
                    x = live[end]
                    p = resize!(a, x.at, x.n, n)
                    @assert all(i -> unsafe_load(p, i) == pattern(x.seed, i), 1:min(n, x.n))
                    x.at, x.n = p, n
                    write_to(x)
                elseif kind <= 78 && newest()
                    x = pop!(live)
                    deallocate!(a, x.at, x.n)
                elseif kind <= 86
                    push!(marks, (mark(a), length(live), length(pending)))
                elseif kind <= 90
                    cleanup!(() -> (ran[] += 1), a)
                    push!(pending, step)
                elseif kind <= 97 && !isempty(marks)
                    i = rand(rng, 1:length(marks))
                    m, count, cleanups = marks[i]
                    before = ran[]
                    rewind!(a, m)
                    drop(count)
                    resize!(marks, i)
                    @assert ran[] - before == length(pending) - cleanups
                    resize!(pending, cleanups)
                elseif kind == 98
                    trim!(a)
                elseif kind == 99 && step % 5 == 0
                    before = ran[]
                    reset!(a)
                    drop(0)
                    empty!(marks)
                    @assert ran[] - before == length(pending)
                    empty!(pending)
                end
            catch e
                e isa BudgetError && haskey(options, :budget) || rethrow()
            end
            step % 50 == 0 || continue
            fault = fault_of(a, live, dead)
            isempty(fault) || return "$fault at step $step"
            length(dead) > 5000 && empty!(dead)
        end
        return ""
    end
end

@testset "random streams" begin
    for seed in 1:(LONG ? 200 : 12)
        @test stream(seed, 3000) == ""
        @test stream(1000 + seed, 1000; budget = 100_000) == ""
        @test stream(2000 + seed, 600; checked = true) == ""
    end
end
