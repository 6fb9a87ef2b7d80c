# ArenaSet and ArenaDict against Base's Set and Dict: their table, its memory, and what ends it.
# SPDX-License-Identifier: MIT OR Apache-2.0
module ArenaDictTests

using Random, Test, Toft
using Toft: alloc, mark, reset!, scope, stats

const LONG = get(ENV, "TOFT_LONG", "0") != "0"

must(ok::Bool, @nospecialize(what...)) = ok ? nothing : error(string(what...))
thrown(f, arguments...) = try (f(arguments...); nothing) catch e; e end

struct Spot # bits, compared and hashed as Base does
    x::Int32
    y::Int8
end

struct Crowded # few hashes: long searches, and gaps that many keys could fill
    number::Int
end
Base.hash(c::Crowded, h::UInt) = UInt(c.number % 3)

struct Nothings end

# The invariants of a table: each key is found from its home without a gap, and counted.
function sound(c)
    t = c.table
    t.limit == 0 && return t.count == 0
    taken = 0
    for i in 0:t.mask
        tag = Toft.tag_at(t, i)
        tag == Toft.EMPTY_TAG && continue
        taken += 1
        must(i >= t.from, "a key before the first")
        h = Toft.hash_of(keytype_of(c), Toft.key_at(t, i))
        must(tag == Toft.tag_of(h) && h == Toft.stored_hash(t, i), "the tag or the hash of ", i)
        j = Toft.home_of(t, h)
        while j != i
            must(Toft.tag_at(t, j) != Toft.EMPTY_TAG, "a gap before place ", i)
            j = (j + 1) & t.mask
        end
    end
    must(taken == t.count <= t.limit < t.mask + 1, "count ", t.count, " of ", taken)
    return true
end
keytype_of(::ArenaSet{K}) where {K} = K
keytype_of(::ArenaDict{K}) where {K} = K

const KEYS = Any[
    Int => rng -> rand(rng) < 0.05 ? rand(rng, (typemin(Int), typemax(Int))) + rand(rng, -1:1) : rand(rng, -300:300),
    UInt8 => rng -> rand(rng, UInt8),
    Float64 => rng -> rand(rng, (rand(rng, -99:99) / 7, -0.0, 0.0, NaN, -NaN, Inf, -Inf, nextfloat(0.0))),
    Char => rng -> Char(rand(rng, 0:500)),
    Int128 => rng -> Int128(rand(rng, -200:200))^9,
    Tuple{Int8,Float32} => rng -> (rand(rng, Int8(1):Int8(20)), Float32(rand(rng, 1:9))),
    Spot => rng -> Spot(rand(rng, 1:20), rand(rng, 1:9)),
    Crowded => rng -> Crowded(rand(rng, 1:100)),
    Nothings => rng -> Nothings(),
]

function stream(seed, a, K, V, key, value, steps)
    rng = MersenneTwister(seed)
    d, model = ArenaDict{K,V}(a), Dict{K,V}()
    s, set = ArenaSet{K}(a), Set{K}()
    growing = true
    for step in 1:steps
        rand(rng) < 0.02 && (growing = !growing)
        k, v, dice = key(rng), value(step), rand(rng, 1:100)
        if dice <= (growing ? 60 : 25)
            dice % 3 == 0 ? must(get!(d, k, v) === get!(model, k, v), "get!") : (d[k] = v; model[k] = v)
            push!(s, k)
            push!(set, k)
        elseif dice <= 85
            must(pop!(d, k, nothing) === pop!(model, k, nothing), "pop! of ", k)
            delete!(s, k)
            delete!(set, k)
        elseif dice <= 95
            must(get(d, k, nothing) === get(model, k, nothing) && haskey(d, k) == haskey(model, k), "get of ", k)
            must((k in s) == (k in set), "in")
        elseif dice <= 97 && !isempty(model)
            p = pop!(d)
            must(pop!(model, p.first) === p.second, "pop!")
        elseif dice == 98
            sizehint!(d, 2length(d))
        elseif dice == 99 && rand(rng) < 0.2
            empty!(d)
            empty!(model)
        end
        if step % 16 == 0
            must(isequal(d, model) && isequal(s, set), "contents at step ", step)
            must(isequal(Dict(d), model) && isequal(Set(s), set), "iteration at step ", step)
            sound(d) && sound(s)
        end
    end
    foreach(k -> delete!(d, k), collect(keys(model)))
    must(isempty(d) && sound(d), "emptied")
    return true
end

@testset "streams" begin
    for (n, (K, key)) in enumerate(KEYS)
        arena() do a
            @test stream(n, a, K, Int, key, identity, LONG ? 20_000 : 3000)
            @test stream(20n, a, K, NTuple{20,Int}, key, step -> ntuple(i -> step + i, 20), LONG ? 10_000 : 1000)
        end
    end
end

@testset "large" begin
    arena() do a
        d, keys = ArenaDict{Int,Int}(a), shuffle(MersenneTwister(1), -50_000:50_000)
        foreach(k -> d[k] = 2k, keys)
        @test length(d) == 100_001 && all(k -> d[k] == 2k, keys) && !haskey(d, 50_001) && sound(d)
        @test sum(p -> p.second, d) == 0 && sort(collect(Base.keys(d))) == -50_000:50_000
        foreach(k -> delete!(d, k), keys[1:50_000])
        @test length(d) == 50_001 && all(k -> d[k] == 2k, keys[50_001:end]) && sound(d)
        @test !any(k -> haskey(d, k), keys[1:50_000])
        while !isempty(d) # takes time in proportion to the length, not to its square
            pop!(d)
        end
        @test sound(d)
        for stride in (1, 1 << 16, 1 << 32, 1 << 48) # keys that differ in some bits only
            s = ArenaSet(a, (k * stride for k in 0:9999))
            longest, run = 0, 0
            for i in 0:s.table.mask
                run = Toft.tag_at(s.table, i) == Toft.EMPTY_TAG ? 0 : run + 1
                longest = max(longest, run)
            end
            @test length(s) == 10_000 && longest < 200
        end
    end
end

function churn(d, s, n)
    total = 0
    for k in 1:n
        d[7919k % 100_003] = k
        push!(s, 7919k % 100_003)
    end
    for k in 1:n
        total += d[7919k % 100_003] + haskey(d, -k) + (k in s) + get(d, -k, 0)
    end
    for (k, v) in d
        total += v
    end
    for x in s
        total += x
    end
    for k in 1:n
        delete!(d, 7919k % 100_003)
        delete!(s, 7919k % 100_003)
    end
    return total
end

@testset "no garbage, and no memory in a steady state" begin
    arena() do a
        d, s = sizehint!(ArenaDict{Int,Int}(a), 5000), ArenaSet{Int}(a)
        churn(d, s, 5000)
        live = stats(a).live
        @test (@allocated churn(d, s, 5000)) <= 64
        for k in 1:50_000 # a window that moves: keys come and go
            push!(s, k)
            delete!(s, k - 1000)
        end
        @test stats(a).live == live && length(s) == 1000 && sound(s)
        @test sizehint!(d, 100) === d && stats(a).live == live
        empty!(s)
        @test stats(a).live == live && isempty(s) && collect(s) == [] && sound(s)
    end
    arena() do a # the bytes that the docstring names
        d = sizehint!(ArenaDict{Int,Int}(a), 680)
        @test 1024 * 17 <= stats(a).live <= 1024 * 17 + 64 && length(d) == 0
        foreach(k -> d[k] = k, 1:680)
        @test stats(a).live <= 1024 * 17 + 64
        before = stats(a).live
        s = sizehint!(ArenaSet{Spot}(a), 10)
        @test 16 * 17 <= stats(a).live - before <= 16 * 17 + 64 + 8 # 5 B are 8, and 8 for the hash
    end
end

@testset "the end of its memory" begin
    a = Arena()
    d = ArenaDict(a, [1 => 2])
    m = mark(a)
    s = ArenaSet(a, [1])
    @test isvalid(s) && isvalid(d)
    rewind!(a, m)
    @test !isvalid(s) && isvalid(d) && d[1] == 2
    for f in (length, isempty, first, collect, empty!, pop!, s -> 1 in s, s -> push!(s, 2), s -> delete!(s, 1),
              s -> sizehint!(s, 100), s -> s == Set(1), copy, hash, s -> union!(s, [1]))
        @test thrown(f, s) isa ArgumentError
    end
    @test occursin("freed", repr(s)) && occursin("freed", repr("text/plain", s))
    scope(a) do # its memory is from before
        foreach(k -> d[k] = k, 1:10)
    end
    @test d[7] == 7 && sound(d)
    scope(a) do # it grows within
        foreach(k -> d[k] = k, 1:1000)
        @test d[700] == 700
    end
    @test !isvalid(d) && thrown(getindex, d, 7) isa ArgumentError
    @test thrown(setindex!, d, 7, 7) isa ArgumentError && thrown(get!, d, 7, 7) isa ArgumentError
    d = ArenaDict(a, [1 => 2])
    scope(() -> (alloc(a, 1000); d[1] = 3), a)
    @test d[1] == 3
    release!(a)
    @test !isvalid(d) && thrown(haskey, d, 1) isa ArgumentError && occursin("freed", repr(d))
    @test occursin("freed", repr("text/plain", d)) && occursin("freed", summary(d))
    @test thrown(ArenaDict{Int,Int}, a) isa ArgumentError
    @test ArenaDict(Arena(), [1 => 2])[1] == 2 # it keeps its arena
    kept = [ArenaDict(Arena(), [k => 2k]) for k in 1:100]
    GC.gc()
    @test all(k -> kept[k][k] == 2k, 1:100)
end

@testset "what cannot be stored, and memory that ends" begin
    a = Arena(budget=8192)
    for f in (ArenaSet{String}, ArenaDict{Int,Any}, ArenaDict{Vector{Int},Int}, ArenaSet{Union{Int,Missing}})
        @test thrown(f, a) isa ArgumentError
    end
    d = ArenaDict{Int,Int}(a)
    e = thrown(() -> foreach(k -> d[k] = k, 1:1000))
    @test e isa BudgetError && sound(d) && 10 <= length(d) < 500
    @test d == Dict(k => k for k in 1:length(d)) # it is as it was
    @test thrown(sizehint!, d, 1 << 40) isa BudgetError && thrown(sizehint!, d, typemax(Int)) isa ArgumentError
    @test sizehint!(d, -1) === d && sound(d) && d[1] == 1
end

# isequal and hash of the user's, which call a function first.
struct Sly
    number::Int
end
const ON_COMPARE = Ref{Any}(nothing)
compared() = (f = ON_COMPARE[]; f === nothing || f(); nothing)
Base.isequal(a::Sly, b::Sly) = (compared(); a.number == b.number)
Base.hash(a::Sly, h::UInt) = (compared(); hash(a.number % 7, h))

@testset "an isequal or hash that throws, or changes the dictionary" begin
    uses = (d -> d[Sly(5)] = 0, d -> d[Sly(500)] = 0, d -> delete!(d, Sly(6)), d -> haskey(d, Sly(7)), d -> pop!(d),
            d -> get!(d, Sly(501), 1), d -> pop!(d, Sly(8), 0), d -> filter!(p -> p.second > 20, d))
    changes = (d -> error("compared"), d -> d[Sly(2001)] = 1, d -> foreach(k -> d[Sly(k)] = k, 2001:2200),
               d -> delete!(d, Sly(5)), d -> empty!(d), d -> sizehint!(d, 5000), d -> GC.gc(false),
               d -> release!(d.table.lifetime.arena))
    for use in uses, change in changes, n in (1:6..., 12, 30)
        d = ArenaDict(Arena(), (Sly(k) => k for k in 1:40))
        calls = 0
        ON_COMPARE[] = () -> (calls += 1) == n && (ON_COMPARE[] = nothing; change(d))
        e = thrown(use, d)
        ON_COMPARE[] = nothing
        must(e === nothing || e isa Union{ErrorException,ArgumentError}, "threw ", e)
        if isvalid(d)
            sound(d)
            d[Sly(9)] = 9
            must(d[Sly(9)] == 9, "it goes on")
        end
    end
    @test true # none of them ended the process or broke the table
end

@testset "printing" begin
    arena() do a
        @test repr(ArenaSet(a, [7])) == "ArenaSet{$Int}([7])" && repr(ArenaSet{Int}(a)) == "ArenaSet{$Int}()"
        @test repr(ArenaDict(a, [1 => 'a'])) == "ArenaDict{$Int, Char}(1 => 'a')"
        text = repr("text/plain", ArenaDict(a, [1 => 'a']))
        @test occursin("1 => 'a'", text) && occursin("1 entry", text)
        @test occursin("…", sprint(show, ArenaSet(a, 1:1000); context=:limit => true))
    end
end

end
