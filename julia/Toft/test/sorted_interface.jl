# Sorted sets and dictionaries as Base's; their types, ranges and places, and how they print. A part of sorted.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

@testset "a SortedSet is a set" begin
    s = SortedSet([3, 1, 2, 3])
    @test s isa AbstractSet{Int} && eltype(s) === Int && length(s) == 3
    @test collect(s) == [1, 2, 3] && collect(s) isa Vector{Int}
    @test collect(Iterators.reverse(s)) == [3, 2, 1]
    @test first(s) == 1 && last(s) == 3 && minimum(s) == 1 && sum(s) == 6
    @test s == Set([1, 2, 3]) && Set([1, 2, 3]) == s && s == SortedSet([1, 2, 3]) && s != Set([1, 2])
    @test isequal(s, Set([1, 2, 3])) && hash(s) == hash(Set([1, 2, 3]))
    @test SortedSet{Int}(FreeListSOAllocator, 3) == SortedSet{Int}(Allocator)
    @test 1.0 in s && 0x02 in s && big(3) in s && !(1.5 in s) && !(4 in s) && !("a" in s) && !(big(2)^70 in s)
    @test !(missing in s) && !(nothing in s) && !(NaN in s)
    @test delete!(copy(s), 2.0) == Set([1, 3]) && delete!(copy(s), "a") == s && delete!(copy(s), 2.5) == s
    @test !(97 in SortedSet(['a'])) && 1 in SortedSet([true]) && !(300 in SortedSet(Int8[44]))
    @test 0.0 in SortedSet([0.0]) && !(-0.0 in SortedSet([0.0])) && NaN in SortedSet([NaN])
    @test [1, 2] ⊆ s && s ⊆ [1, 2, 3, 4] && issubset(s, Set(1:3)) && !(s ⊆ [1]) && issetequal(s, 1:3)
    @test union(s, [9, 0]) isa SortedSet{Int} && collect(union(s, [9, 0])) == [0, 1, 2, 3, 9]
    @test intersect(s, [2, 3, 4]) isa SortedSet && collect(intersect(s, [2, 3, 4])) == [2, 3]
    @test collect(setdiff(s, Set([2]))) == [1, 3] && setdiff(s, [2]) isa SortedSet
    @test collect(symdiff(s, [3, 4])) == [1, 2, 4]
    @test union!(copy(s), 5:6, [0]) == Set([0, 1, 2, 3, 5, 6])
    @test intersect!(copy(s), [2, 9]) == Set([2]) && setdiff!(copy(s), 1:2) == Set([3])
    @test symdiff!(copy(s), [1, 7]) == Set([2, 3, 7])
    @test collect(filter(isodd, s)) == [1, 3] && filter(isodd, s) isa SortedSet{Int}
    @test filter!(isodd, copy(s)) == Set([1, 3])
    @test Set(s) == s && collect(Set(s) ∪ s) |> sort == [1, 2, 3]
    @test map(x -> 2x, collect(s)) == [2, 4, 6] && any(isodd, s) && count(isodd, s) == 2 && maximum(s) == 3
    other = copy(s)
    push!(other, 10)
    delete!(other, 1)
    @test collect(s) == [1, 2, 3] && collect(other) == [2, 3, 10]
    @test empty(s) == Set() && empty(s) isa SortedSet{Int} && empty(s, String) isa SortedSet{String}
    @test sizehint!(s, 100) === s && push!(s, 5, 4) == Set(1:5) && push!(s, 6.0) === s && 6 in s
    @test isempty(empty!(s)) && collect(s) == Int[] && isempty(SortedSet{String}())
    @test collect(Iterators.reverse(s)) == Int[]
    @test_throws ArgumentError first(s)
    @test_throws ArgumentError pop!(s)
    @test_throws KeyError pop!(s, 1)
    @test SortedSet("hello") == Set("hello") && join(SortedSet("hello")) == "ehlo"
    @test SortedSet(k for k in (2, 1)) == Set([1, 2])
    @test SortedSet([2.5, 1]) isa SortedSet{Float64} && SortedSet{Float64}([1, 2]) == Set([1.0, 2.0])
    @test issorted(collect(SortedSet(rand(MersenneTwister(1), 1000))))
end

@testset "a SortedDict is a dictionary" begin
    d = SortedDict("b" => 2, "a" => 1)
    @test d isa AbstractDict{String,Int} && eltype(d) === Pair{String,Int} && keytype(d) === String
    @test valtype(d) === Int
    @test collect(d) == ["a" => 1, "b" => 2] && collect(keys(d)) == ["a", "b"] && collect(values(d)) == [1, 2]
    @test collect(pairs(d)) == collect(d) && first(d) == ("a" => 1) && last(d) == ("b" => 2)
    @test collect(Iterators.reverse(d)) == ["b" => 2, "a" => 1]
    @test d == Dict("a" => 1, "b" => 2) && Dict("a" => 1, "b" => 2) == d && d != Dict("a" => 1, "b" => 3)
    @test d != Dict("a" => 1)
    @test isequal(d, Dict("a" => 1, "b" => 2)) && hash(d) == hash(Dict("a" => 1, "b" => 2))
    @test ("a" => 1) in d && !(("a" => 2) in d) && "a" in keys(d) && 2 in values(d) && !("z" in keys(d))
    @test haskey(d, SubString("abc", 1, 1)) && d[SubString("abc", 1, 1)] == 1
    @test SortedDict(1 => 'a')[1.0] == 'a' && !haskey(SortedDict(1 => 'a'), 1.5) && haskey(SortedDict(1.0 => 1), 1)
    @test SortedDict([1 => 2, 3 => 4]) == Dict(1 => 2, 3 => 4) == SortedDict((k, k + 1) for k in (1, 3))
    @test SortedDict{Int,Float64}(1 => 2) == Dict(1 => 2.0)
    @test SortedDict{Int,Float64}(1 => 2) isa SortedDict{Int,Float64}
    @test SortedDict{Int,Float64}([(1, 2)]) == Dict(1 => 2.0) && SortedDict(Dict(1 => 2)) == Dict(1 => 2)
    @test SortedDict(1 => "a", 2.5 => :b) == Dict(1 => "a", 2.5 => :b) && isempty(SortedDict())
    @test isempty(SortedDict{Int,Int}())
    @test Dict(d) == d && copy(d) == d && copy(d) isa SortedDict{String,Int}
    e = copy(d)
    e["c"] = 3
    delete!(e, "a")
    @test collect(d) == ["a" => 1, "b" => 2] && collect(e) == ["b" => 2, "c" => 3]
    @test merge(d, e) == Dict("a" => 1, "b" => 2, "c" => 3) && merge(d, e) isa SortedDict{String,Int}
    @test merge(+, d, e) == Dict("a" => 1, "b" => 4, "c" => 3) && merge(d, Dict("z" => 2.5))["a"] == 1
    @test merge!(copy(d), e) == merge(d, e) && merge!(+, copy(d), e)["b"] == 4
    @test mergewith(+, d, e) == merge(+, d, e) && mergewith!(+, copy(d), e) == merge(+, d, e)
    @test filter(p -> p.second > 1, d) == Dict("b" => 2) && filter(p -> p.second > 1, d) isa SortedDict
    @test filter!(p -> p.second > 1, copy(d)) == Dict("b" => 2)
    @test collect(map!(v -> 10v, values(e))) == [20, 30] && collect(e) == ["b" => 20, "c" => 30]
    @test empty(d) == Dict() && empty(d) isa SortedDict{String,Int} && empty(d, Int, Char) isa SortedDict{Int,Char}
    @test sizehint!(d, 50) === d && get!(d, "x", 9) == 9 && pop!(d, "x") == 9 && pop!(d, "x", 0) == 0
    @test (d["q"] = 7) == 7 && setindex!(d, 8, "q") === d && d["q"] == 8 && delete!(d, "nothing") === d
    @test_throws KeyError("zz") d["zz"]
    @test_throws KeyError pop!(d, "zz")
    @test findfirst(==(8), d) == "q" && count(p -> p.second > 1, d) == 2 && Dict(v => k for (k, v) in d)[8] == "q"
    @test sum(values(d)) == 11 && map(p -> p.second, collect(d)) == [1, 2, 8]
    @test isempty(empty!(d)) && collect(d) == Pair{String,Int}[] && collect(keys(d)) == String[]
    @test_throws ArgumentError first(d)
    @test_throws ArgumentError pop!(d)
    counts = SortedDict{Char,Int}()
    for c in "hello world"
        counts[c] = get(counts, c, 0) + 1
    end
    @test counts['l'] == 3 && join(keys(counts)) == " dehlorw"
    # a function of get! that changes the dictionary while it runs
    d = SortedDict{Int,Int}()
    @test get!(() -> (foreach(k -> d[k] = k, 1:500); 0), d, 250) == 0
    @test length(d) == 500 && d[250] == 0 && sound(d)
end

@testset "constructors, as Dict's and Set's" begin
    for pairs in ((1 => 1, 2 => nothing), (1 => 1, 2 => 2.5), ("a" => missing, "b" => 1, "c" => nothing), (1 => 'a',))
        d, base = SortedDict(pairs...), Dict(pairs...)
        @test isequal(d, base) && keytype(d) === keytype(base) && valtype(d) === valtype(base)
        @test collect(d) isa Vector{Pair{keytype(base),valtype(base)}}
    end
    @test_throws MethodError SortedDict(1 => 1, :b => 2) # keys that have no order
    for pairs in (Pair{Any,Int}[1 => 2], Tuple{Any,Int}[(1, 2)], Pair[1 => 2], Any[1 => 2, (3, 4)], [[1, 2], [3, 4]],
                  Pair{Int,Any}[], Tuple{Int,Any}[], Any[], (), zip(1:2, "ab"), ((k, v) for (k, v) in zip(1:2, "ab")),
                  (k => isodd(k) ? k : nothing for k in 1:4), Iterators.Stateful([1 => 2, 3 => nothing]))
        again = pairs isa Iterators.Stateful ? [1 => 2, 3 => nothing] : pairs
        d, base = SortedDict(pairs), Dict(again)
        @test d == base && keytype(d) === keytype(base) && valtype(d) === valtype(base)
    end
    for bad in (0, [1], [(1, 2), 0], nothing, "ab", (1, 2), :a)
        e = thrown(SortedDict, bad)
        @test e isa ArgumentError && occursin("iterator of tuples or pairs", e.msg)
    end
    @test_throws BoundsError SortedDict([(1,)]) # as Dict
    @test_throws DomainError SortedDict(k => throw(DomainError(k)) for k in 1:2) # what an element throws comes through
    dict_of_generator() = SortedDict(k => 2.0k for k in 1:3)
    set_of_generator() = SortedSet(2k for k in 1:3)
    @test (@inferred dict_of_generator()) == Dict(1 => 2.0, 2 => 4.0, 3 => 6.0)
    @test (@inferred set_of_generator()) == Set([2, 4, 6])
    @test (@inferred SortedDict(1 => 2)) == Dict(1 => 2) && (@inferred SortedDict([(1, "a")])) == Dict(1 => "a")
    @test SortedSet(k > 1 ? missing : k for k in 1:2) isa SortedSet{Union{Int,Missing}}
    @test SortedSet(k for k in 1:0) isa SortedSet{Int} && SortedSet(5) == Set(5)
    # without a type: something to add to
    ds = [SortedDict(1 => 1, 2 => 5), SortedDict(1 => 2), SortedDict(3 => 3)]
    sum = foldl(mergewith(+), ds; init=SortedDict{Union{},Union{}}())
    @test sum == Dict(1 => 3, 2 => 5, 3 => 3) && sum isa SortedDict{Int,Int}
    @test merge(SortedDict{Union{},Union{}}(), SortedDict(1 => 2)) == Dict(1 => 2)
    for Kind in KINDS
        none, empty_set = SortedDict{Union{},Union{}}(Kind), SortedSet{Union{}}(Kind)
        @test isempty(none) && isempty(empty_set) && collect(none) == [] && sound(none) && sound(empty_set)
        @test !haskey(none, 1) && get(none, 1, 2) == 2 && !(1 in empty_set) && union(empty_set, [1]) == Set([1])
        @test delete!(none, 1) === none && thrown(setindex!, none, 1, 1) !== nothing && isempty(none)
    end
end

@testset "pairs whose type is one union" begin
    # Tuple{Int,Union{Int,Nothing}} is a Union of two tuples where that was there first.
    T = Union{Tuple{Int8,Int8},Tuple{Int8,Nothing}}
    for pool in (FreeListAllocator{T}(2), Allocator{T}(2), SOAllocator{T}(2), FreeListSOAllocator{T}(2))
        i = allocateend!(pool, (Int8(1), nothing))
        @test pool[i] === (Int8(1), nothing) && pool[i, 2] === nothing && pool[i, 1] === Int8(1)
        pool[i, 2] = 3
        @test pool[i] === (Int8(1), Int8(3))
    end
    @test_throws ArgumentError SOAllocator{Union{Tuple{Int8,Int8},Tuple{Int8}}}(2)
    @test_throws ArgumentError SOAllocator{Union{Tuple{Int8,Int16},Tuple{Int16,Int8}}}(2)
    for Kind in KINDS
        d = SortedDict{Int8,Union{Int8,Nothing}}(Kind)
        d[1] = nothing
        d[2] = 5
        @test collect(d) == [1 => nothing, 2 => 5] && sound(d)
    end
end

# ---- Concrete types ----

const Names = Any[(SortedDict{String,Int}, KINDS), (SortedDict{Float64,Any}, KINDS), (SortedSet{Int}, KINDS),
                  (SortedSet{Char}, KINDS), (SortedDict{Union{},Union{}}, KINDS), (List{String}, KINDS),
                  (Stack{Int}, KINDS), (Stack{Tuple{Int,String}}, KINDS), (Queue{Int}, KINDS), (Queue{Any}, KINDS)]

struct OneField{T} # each T makes a type as if its field were declared with it
    it::T
end
struct OfDict
    it::SortedDict{Int,Int}
end
struct OfStack
    it::Stack{Int}
end
struct OfColumns
    it::concretetype(FreeListSOAllocator{Tuple{Int,Float64},UInt32})
end
look_up(x, k) = x.it[k]
pop_from(x) = pop!(x.it)
read_column(x, k) = x.it[k, 2]

@testset "concretetype" begin
    for (C, kinds) in Names
        @test isconcretetype(C) && typeof(C()) === C === concretetype(C) # and of every kind:
        for Kind in kinds
            D = concretetype(C, Kind)
            @test isconcretetype(D) && typeof(C(Kind)) === D && typeof(C(Kind, 4)) === D && concretetype(D) === D
        end
    end
    for Kind in KINDS, T in (Tuple{Int,Float64}, Point)
        @test typeof(Kind{T}(3)) === concretetype(Kind{T}) === concretetype(Kind{T,Int})
        @test typeof(Kind{T,Int}(nothing)) === concretetype(Kind{T,Int})
        @test typeof(Kind{T,UInt32}(3)) === concretetype(Kind{T,UInt32})
    end
    @test concretetype(Int) === Int
    for bad in (SortedDict, SortedDict{Int}, Stack, Integer, Allocator)
        @test_throws ArgumentError concretetype(bad)
    end
    @test isconcretetype(fieldtype(OfDict, :it)) && isconcretetype(fieldtype(OfColumns, :it))
    x = OfDict(SortedDict(1 => 2))
    @test (@inferred look_up(x, 1)) === 2
    @test isconcretetype(fieldtype(OfStack, :it)) && (@inferred pop_from(OfStack(Stack([1, 2])))) === 2
    y = OfColumns(FreeListSOAllocator{Tuple{Int,Float64},UInt32}(nothing))
    allocateend!(y.it, (1, 2.5))
    @test (@inferred read_column(y, 1)) === 2.5
end

@testset "ranges" begin
    s = SortedSet(10:10:1000)
    @test collect(between(s, 15, 45)) == [20, 30, 40] && collect(between(s, 20, 40)) == [20, 30, 40]
    @test collect(between(s, 45, 15)) == [] && collect(between(s, -5, 5)) == [] && collect(between(s, 1001, 2000)) == []
    @test collect(between(s, typemin(Int), typemax(Int))) == collect(s) && collect(between(s, 1000, 1000)) == [1000]
    @test eltype(between(s, 1, 2)) === Int && collect(between(SortedSet{Int}(), 1, 2)) == Int[]
    @test collect(between(s, 15.0, 0x20)) == [20, 30] # bounds of other types
    d = SortedDict(k => string(k) for k in 1:100)
    @test collect(between(d, 98, 200)) == [98 => "98", 99 => "99", 100 => "100"]
    @test sum(p.first for p in between(d, 1, 100)) == 5050
    f = SortedSet([-Inf, -1.0, -0.0, 0.0, 1.0, Inf, NaN])
    @test isequal(collect(between(f, -0.0, Inf)), [-0.0, 0.0, 1.0, Inf])
    @test isequal(collect(between(f, 0.0, NaN)), [0.0, 1.0, Inf, NaN])
    @test collect(between(SortedSet(["a", "b", "c"]), "aa", "b")) == ["b"]
end

# What Base finds in a sorted vector of the same keys.
@testset "places and extremes" begin
    for keys in (Int[], [7], collect(1:3:3000), shuffle(MersenneTwister(1), collect(-500:700)), ["b", "a", "", "c"],
                 [0.0, -0.0, Inf, -Inf, 2.5], [NaN, 1.0], Any[3, 2.5, 1], Union{Int,Missing}[2, missing, 1])
        s, v = SortedSet(keys), sort(keys; lt=isless)
        d = SortedDict(k => 0 for k in keys)
        others = eltype(keys) === Int ? [typemin(Int), -501, 0, 8, 701, typemax(Int)] : keys
        for x in Iterators.flatten((keys, others))
            places = searchsorted(v, x; lt=isless)
            must(searchsorted(s, x) == places == searchsorted(d, x), "the places of ", x)
            must(searchsortedfirst(s, x) == first(places) && searchsortedlast(s, x) == last(places), "ends of ", x)
        end
        @test all(n -> nth(s, n) === v[n] && nth(d, n).first === v[n], eachindex(v))
        @test throws(BoundsError, nth, s, 0) && throws(BoundsError, nth, s, length(v) + 1)
        if isempty(keys)
            @test throws(ArgumentError, minimum, s) && throws(ArgumentError, maximum, s)
        else
            @test isequal(minimum(s), minimum(v)) && isequal(maximum(s), maximum(v))
            @test isequal(extrema(s), (minimum(v), maximum(v))) && isequal(extrema(d), (first(d), last(d)))
        end
    end
    s = SortedSet(1:2000) # after changes in the middle
    foreach(x -> delete!(s, x), 3:3:2000)
    v = filter(x -> x % 3 != 0, 1:2000)
    @test [nth(s, n) for n in 1:length(s)] == v && [searchsortedfirst(s, x) for x in v] == 1:length(v)
end

@testset "copies onto themselves" begin
    arena() do a
        for c in (SortedSet([1, 2]), ArenaSet(a, [1, 2]), SortedDict(1 => 2), ArenaDict(a, [1 => 2]))
            before = sort(collect(c))
            @test copy!(c, c) === c && sort(collect(c)) == before
        end
    end
    @test copy!(SortedSet([9]), Set([1])) == Set([1]) && copy!(SortedDict(9 => 9), Dict(1 => 2)) == Dict(1 => 2)
end

@testset "how they print" begin
    @test sprint(show, between(SortedSet(["a"]), "a", "b")) == "between(SortedSet{String}([\"a\"]), \"a\", \"b\")"
    @test sprint(show, SortedSet([3, 1, 2])) == "SortedSet{Int64}([1, 2, 3])"
    @test repr("text/plain", SortedSet([1])) == "SortedSet{Int64}([1])"
    @test sprint(show, SortedSet{String}()) == "SortedSet{String}()"
    @test sprint(show, SortedSet()) == "SortedSet{Any}()" && sprint(show, SortedDict()) == "SortedDict{Any, Any}()"
    @test sprint(show, SortedDict(2 => "b", 1 => "a")) == "SortedDict{Int64, String}(1 => \"a\", 2 => \"b\")"
    @test occursin("…", sprint(show, SortedSet(1:1000); context=:limit => true))
    @test !occursin("…", sprint(show, SortedSet(1:1000)))
    text = repr("text/plain", SortedDict(2 => "b", 1 => "a"))
    @test startswith(text, "SortedDict{Int64, String} with 2 entries") && occursin("1 => \"a\"", text)
    @test eval(Meta.parse(sprint(show, SortedSet([3, 1])))) == SortedSet([1, 3])
    @test eval(Meta.parse(sprint(show, SortedDict(3 => 1)))) == SortedDict(3 => 1)
end
