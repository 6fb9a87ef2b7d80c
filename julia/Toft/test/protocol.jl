# The functions of AbstractDict and AbstractSet on the package's dictionaries and sets. Each call has the same result as
# on Base's Dict or Set of the same contents: the same value, the same types, or the same exception with the same
# message. The end of the file lists what differs.
# SPDX-License-Identifier: MIT OR Apache-2.0
module ProtocolTests

using Test, Toft
using Toft: SortedDict, SortedSet
using ..Main: KINDS

# (:value, the result of f) or (:threw, its exception)
outcome(@nospecialize(f), @nospecialize(c)) = try
    (:value, f(c))
catch e
    (:threw, e)
end

said(e) = e isa MethodError ? e.f : sprint(showerror, e)

# Whether two values are equal; those that are collections must have the same type of elements too.
alike(a, b) = isequal(a, b)
alike(a::AbstractDict, b::AbstractDict) = isequal(a, b) && keytype(a) === keytype(b) && valtype(a) === valtype(b)
alike(a::AbstractSet, b::AbstractSet) = isequal(a, b) && eltype(a) === eltype(b)
alike(a::Tuple, b::Tuple) = length(a) == length(b) && all(map(alike, a, b))
alike(a::AbstractVector, b::AbstractVector) = isequal(a, b) && eltype(a) === eltype(b)

# Whether f has the same result on both, and leaves both with the same contents.
function agree(@nospecialize(f), @nospecialize(c), @nospecialize(base))
    ours, theirs = outcome(f, c), outcome(f, base)
    same = ours[1] === theirs[1] && (ours[1] === :threw ?
           typeof(ours[2]) === typeof(theirs[2]) && said(ours[2]) == said(theirs[2]) :
           theirs[2] === base ? ours[2] === c : alike(ours[2], theirs[2]))
    return same && isequal(c, base) && length(c) == length(base)
end

sorted(xs) = sort(collect(xs))

# Calls whose result does not depend on an order. The argument of each is a new dictionary with the pairs 1 => 1.5, ...,
# 9 => 9.5, of type {Int,Float64}.
const DICT_CALLS = Function[
    length, isempty, eltype, keytype, valtype, d -> Base.IteratorSize(typeof(d)), hash,
    d -> Base.IteratorEltype(typeof(d)), sorted, d -> sorted(keys(d)), d -> sorted(values(d)), d -> pairs(d),
    d -> eltype(keys(d)), d -> eltype(values(d)), d -> length(keys(d)), d -> length(values(d)), d -> typeof(first(d)),
    d -> d[2], d -> d[2.0], d -> d[0x02], d -> d[big(2)], d -> d[99], d -> d["a"], d -> d[2.5], d -> d[nothing],
    d -> d[1, 2], d -> d[missing], d -> d[typemax(UInt64)],
    d -> haskey(d, 2), d -> haskey(d, 2.0), d -> haskey(d, 99), d -> haskey(d, "a"), d -> haskey(d, 2.5),
    d -> get(d, 2, :none), d -> get(d, 99, :none), d -> get(d, "a", nothing), d -> get(() -> :made, d, 99),
    d -> get(() -> error("called"), d, 2), d -> get(Vector{Int}, d, 99), d -> get(() -> error("called"), d, 99),
    d -> getkey(d, 2.0, 0), d -> getkey(d, 99, :none), d -> getkey(d, "a", :none),
    d -> setindex!(d, 7, 5), d -> (d[5] = 7), d -> (d[50.0] = 0x01), d -> (d[5] += 1), d -> (d[5.5] = 1),
    d -> (d["a"] = 1), d -> (d[5] = "a"), d -> (d[50] = "a"), d -> (d[5] = 1 + im), d -> (d[typemax(UInt)] = 1),
    d -> push!(d, 50 => 1), d -> push!(d, 50 => 1, 51 => 2), d -> push!(d, 50),
    d -> get!(d, 2, 7), d -> get!(d, 50, 7), d -> get!(() -> 7, d, 50), d -> get!(() -> error("called"), d, 2),
    d -> get!(() -> error("called"), d, 50), d -> get!(d, 50, "a"), d -> get!(d, "a", 1), d -> get!(d, 50.0, 1),
    d -> get!(d, 5.5, 1),
    d -> pop!(d, 2), d -> pop!(d, 2.0), d -> pop!(d, 99), d -> pop!(d, "a"), d -> pop!(d, 2, :none),
    d -> pop!(d, 99, :none), d -> pop!(empty!(d)), d -> pop!(empty!(d), 1), d -> push!(d, pop!(d)),
    d -> delete!(d, 2), d -> delete!(d, 2.0), d -> delete!(d, 99), d -> delete!(d, "a"), d -> empty!(d),
    d -> isempty(empty!(d)), d -> first(empty!(d)), d -> foreach(k -> delete!(d, k), 1:9),
    d -> filter(p -> isodd(p.first), d), d -> filter!(p -> isodd(p.first), d), d -> filter((k, v) -> isodd(k), d),
    d -> filter!(p -> error("called"), d), d -> filter!(p -> false, d), d -> filter!(p -> true, d),
    d -> merge(d), d -> merge(d, Dict(2 => 7)), d -> merge(d, Dict(50 => 1 + 2im)),
    d -> merge(d, Dict(2 => 7), Dict(2 => 8, 60 => 1.0)), d -> merge(+, d, Dict(2 => 7), Dict(2 => 1)),
    d -> mergewith(+, d, Dict(2 => 7)), d -> mergewith(-)(d, Dict(2 => 7)),
    d -> mergewith!(+, d, Dict(2 => 7, 50 => 1)),
    d -> merge!(d, Dict(2 => 7, 50 => 1)), d -> merge!(d, Dict("a" => 1)), d -> merge!(+, d, Dict(2 => 7)),
    d -> merge(Dict(2 => 7), d), d -> merge!(Dict(2 => 7.0), d),
    d -> copy(d), d -> (e = copy(d); e[50] = 1; delete!(e, 1); sorted(d)), d -> empty(d), d -> empty(d, String),
    d -> empty(d, Char, String), d -> copy!(d, Dict(7 => 8)), d -> Dict(d), d -> Dict{Float64,Any}(d),
    d -> convert(AbstractDict, d), d -> convert(Dict{Int,Real}, d), d -> convert(typeof(d), d),
    d -> (2 => 2.5) in d, d -> (2 => 7) in d, d -> (99 => 7) in d, d -> (2, 2.5) in d, d -> 2 in d,
    d -> in(2 => 2.5, d, ===), d -> in(2 => 3, d, !=), d -> 2 in keys(d), d -> 2.0 in keys(d), d -> 99 in keys(d),
    d -> 2.5 in values(d), d -> 99 in values(d), d -> "a" in keys(d),
    d -> sorted(union(keys(d), [50])), d -> sorted(setdiff(keys(d), [1, 2])), d -> sorted(intersect(keys(d), 2:3)),
    d -> issubset(2:3, keys(d)), d -> keys(d) == Set(1:9),
    d -> d == Dict(d), d -> Dict(d) == d, d -> d == Dict(1 => 1.5), d -> isequal(d, Dict(d)), d -> d == copy(d),
    d -> hash(d) == hash(Dict(d)), d -> d != Dict(), d -> d == 5, d -> d == collect(d),
    d -> Dict(k + 0.0 => v for (k, v) in d) == d,
    d -> findfirst(==(2.5), d), d -> sorted(findall(>(7), d)), d -> count(p -> p.second > 3, d),
    d -> any(p -> p.first == 3, d), d -> all(p -> p.first > 0, d), d -> sum(values(d)), d -> maximum(keys(d)),
    d -> sorted(map!(v -> 2v, values(d))), d -> map(identity, d), d -> sort(map(p -> p.first, collect(d))),
    d -> replace(d, (2 => 2.5) => (2 => 7.0)), d -> replace!(p -> p.first == 2 ? 2 => 0.5 : p, d),
    d -> reduce((a, p) -> a + p.second, d; init=0.0), d -> allunique(d), d -> sorted(k for (k, v) in d),
    d -> sorted(Iterators.filter(p -> p.first > 5, d)), d -> length(collect(zip(d, d))), d -> sizehint!(d, 1000),
    d -> sorted(d)[1], d -> similar(d), d -> summary(d) isa String, d -> ndims(d), d -> axes(d), d -> d(1),
    d -> foldl(mergewith(+), [d, d]; init=Dict{Int,Float64}()), d -> (d[2] = NaN; d == d),
    d -> (d[2] = NaN; isequal(d, copy(d))), d -> (d[2] = -0.0; isequal(d[2], 0.0)),
]

# The same for sets: the argument of each call is a new set with the elements 1:9, of type Int.
const SET_CALLS = Function[
    length, isempty, eltype, hash, s -> Base.IteratorSize(typeof(s)), sorted, s -> typeof(first(s)), sum, maximum,
    s -> 2 in s, s -> 2.0 in s, s -> 99 in s, s -> "a" in s, s -> 2.5 in s, s -> nothing in s, s -> missing in s,
    s -> in.([2, 99], Ref(s)), s -> typemax(UInt64) in s,
    s -> push!(s, 2), s -> push!(s, 50), s -> push!(s, 50.0), s -> push!(s, 50.5), s -> push!(s, "a"),
    s -> push!(s, 50, 51, 2), s -> push!(s, typemax(UInt)),
    s -> pop!(s, 2), s -> pop!(s, 2.0), s -> pop!(s, 99), s -> pop!(s, "a"), s -> pop!(s, 2, :none),
    s -> pop!(s, 99, :none), s -> pop!(empty!(s)), s -> pop!(empty!(s), 1), s -> push!(s, pop!(s)),
    s -> delete!(s, 2), s -> delete!(s, 2.0), s -> delete!(s, 99), s -> delete!(s, "a"), s -> empty!(s),
    s -> first(empty!(s)), s -> foreach(x -> delete!(s, x), 1:9),
    s -> union(s), s -> union(s, [50]), s -> union(s, Set([50]), 60:61), s -> union(s, [1.5]),
    s -> union([50], s) isa Vector, s -> union(Set([50]), s), s -> s ∪ [50],
    s -> union!(s, [50, 51]), s -> union!(s, 1:3, Set([60])), s -> union!(s, [1.5]), s -> union!(Set([50]), s),
    s -> intersect(s, [2, 99]), s -> intersect(s, Set([2, 99]), 2:3), s -> intersect(Set([2, 99]), s),
    s -> intersect!(s, [2, 99]), s -> intersect!(s, Set([2, 99])), s -> intersect!(s, 2:5, 3:9), s -> s ∩ (2:3),
    s -> setdiff(s, [2, 99]), s -> setdiff(s, Set(2:3), 4:5), s -> setdiff(Set(1:20), s), s -> setdiff(1:11, s),
    s -> setdiff!(s, [2, 99]), s -> setdiff!(s, Set(2:3)), s -> setdiff!(s, 1:2, 3:4), s -> setdiff!(Set(1:20), s),
    s -> setdiff!(s, s), s -> symdiff!(s, copy(s)),
    s -> symdiff(s, [2, 99]), s -> symdiff(s, Set(2:30)), s -> symdiff(Set(1:20), s), s -> symdiff(s, [1.5]),
    s -> symdiff!(s, [2, 99]), s -> symdiff!(s, Set(2:30)), s -> symdiff!(Set(1:20), s),
    s -> issubset(2:3, s), s -> issubset(s, 1:9), s -> issubset(s, Set(1:8)), s -> s ⊆ s,
    s -> s ⊊ s, s -> s ⊊ Set(1:10),
    s -> s ⊇ 2:3, s -> s ⊈ 1:3, s -> issetequal(s, 1:9), s -> issetequal(9:-1:1, s), s -> issetequal(s, Set(1:9)),
    s -> isdefined(Base, :isdisjoint) && isdisjoint(s, 20:30),
    s -> s == Set(1:9), s -> Set(1:9) == s, s -> s == Set(1:8), s -> isequal(s, Set(1:9)), s -> s == Set(1.0:9.0),
    s -> s == 1:9, s -> hash(s) == hash(Set(1:9)), s -> s != Set(), s -> s == copy(s), s -> s < Set(1:10),
    s -> s <= Set(1:9),
    s -> filter(isodd, s), s -> filter!(isodd, s), s -> filter!(x -> error("called"), s), s -> filter!(x -> false, s),
    s -> copy(s), s -> (t = copy(s); push!(t, 50); delete!(t, 1); sorted(s)), s -> empty(s), s -> empty(s, String),
    s -> copy!(s, Set([7])), s -> Set(s), s -> Set{Float64}(s), s -> convert(AbstractSet, s),
    s -> convert(Set{Float64}, s), s -> convert(typeof(s), s), s -> unique(s) isa Vector, s -> allunique(s),
    s -> map(identity, s), s -> sort(map(x -> 2x, collect(s))), s -> replace(s, 2 => 50), s -> replace!(s, 2 => 50),
    s -> replace!(x -> x > 5 ? x + 1 : x, s), s -> replace(x -> 1, s), s -> count(isodd, s), s -> any(==(3), s),
    s -> all(>(0), s), s -> extrema(s), s -> sorted(2x for x in s), s -> sizehint!(s, 1000) === s || s isa Set,
    s -> reduce(+, s), s -> s[1], s -> ndims(s), s -> s(1), s -> collect(s) isa Vector{Int}, s -> similar(s),
    s -> isempty(setdiff(s, s)), s -> sort!(collect(s); rev=true), s -> indexin([2, 99], sorted(s)),
]

# Each call is made on sorted collections and on one in an arena.
dicts() = Any[(SortedDict{Int,Float64}(Kind) for Kind in KINDS)..., ArenaDict{Int,Float64}(Arena())]
sets() = Any[(SortedSet{Int}(Kind) for Kind in KINDS)..., ArenaSet{Int}(Arena())]

@testset "AbstractDict" begin
    @test agree(length, Dict(1 => 2), Dict(1 => 2)) && !agree(typeof, SortedDict(1 => 2), Dict(1 => 2))
    @test !agree(d -> d isa Dict && (d[2] = 3; nothing), SortedDict(1 => 2), Dict(1 => 2))
    @test !agree(d -> throw(KeyError(d isa Dict)), SortedDict(1 => 2), Dict(1 => 2))
    for call in DICT_CALLS, d in dicts()
        base = Dict{Int,Float64}()
        foreach(i -> (d[i] = i + 0.5; base[i] = i + 0.5), (5, 2, 8, 1, 4, 7, 3, 9, 6))
        same = agree(call, d, base)
        same || println("call ", k, " on ", typeof(d))
        @test same
    end
end

@testset "AbstractSet" begin
    for call in SET_CALLS, s in sets()
        base = Set{Int}()
        foreach(i -> (push!(s, i); push!(base, i)), (5, 2, 8, 1, 4, 7, 3, 9, 6))
        same = agree(call, s, base)
        same || println("call ", k, " on ", typeof(s))
        @test same
    end
end

# Keys of types other than Int.
@testset "keys of other types" begin
    for make in (() -> SortedDict{Float32,Int}(), () -> ArenaDict{Float32,Int}(Arena())),
        call in (d -> (d[0.1] = 1), d -> get!(d, 0.1, 1), d -> (d[0.5] = 1), d -> (d[NaN] = 1; d[-NaN32]),
                 d -> (d[0.0] = 1; haskey(d, -0.0)), d -> (d[1] = 1; d[true]), d -> (d["a"] = 1), d -> d[0.1],
                 d -> (d[1//2] = 3; d[0.5]), d -> (d[Inf] = 1; d[-Inf] = 2; sorted(d)))
        @test agree(call, make(), Dict{Float32,Int}())
    end
    for make in (() -> SortedDict{Char,Char}(), () -> ArenaDict{Char,Char}(Arena())),
        call in (d -> (d['a'] = 'b'; d['a']), d -> (d[97] = 'b'; d), d -> d["a"], d -> (d['\0'] = '\U10ffff'; d))
        @test agree(call, make(), Dict{Char,Char}())
    end
end

# Constructors without type parameters find the same types of keys, values and elements as those of Base.
@testset "construction" begin
    for pairs in (Pair{Any,Int}[1 => 2], [(1, 2.5)], Any[1 => 2], (), zip(1:2, 3:4), (k => 2k for k in 1:3),
                  Dict(1 => 2), (1 => 2, 3 => 4.0))
        @test alike(SortedDict(pairs), Dict(pairs))
        base = Dict(pairs)
        isbitstype(keytype(base)) && isbitstype(valtype(base)) || continue
        @test alike(ArenaDict(Arena(), pairs), base)
    end
    for elements in ([1, 2, 1], (1, 2.5), 1:3, (k for k in 1:3), Set([1.5]), (), [missing, 1])
        @test alike(SortedSet(elements), Set(elements))
        isbitstype(eltype(Set(elements))) || continue
        @test alike(ArenaSet(Arena(), elements), Set(elements))
    end
    for bad in (0, [1], nothing, "ab", :a)
        ours, theirs = outcome(SortedDict, bad), outcome(Dict, bad)
        @test typeof(ours[2]) === typeof(theirs[2]) === ArgumentError
        @test outcome(x -> ArenaDict(Arena(), x), bad)[2] isa ArgumentError
    end
end

struct WithFields
    dict::SortedDict{Int,Int}
    set::SortedSet{String}
    arena_dict::ArenaDict{Int,Int}
    arena_set::ArenaSet{Char}
end

sum_of_field(x) = x.dict[1] + x.arena_dict[1] + length(x.set)

@testset "fields of structs" begin
    @test all(isconcretetype, fieldtypes(WithFields))
    a = Arena()
    x = WithFields(Dict(1 => 2), Set(["b", "a"]), ArenaDict(a, [1 => 5]), ArenaSet(a, "ab")) # converts
    @test (@inferred sum_of_field(x)) === 9 && collect(x.set) == ["a", "b"] && x.arena_set == Set("ab")
    D, S = concretetype(SortedDict{Int,Int}, SOAllocator), concretetype(SortedSet{Int}, Allocator)
    @test D() isa D && D([1 => 2]) == Dict(1 => 2) && S() isa S && S(1:3) == Set(1:3)
    @test convert(D, Dict(1 => 2)) isa D && convert(SortedDict{Int,Float64}, Dict(1 => 2)) == Dict(1 => 2.0)
    @test convert(S, Set(1:3)) isa S && push!(S(), 4) == Set(4)
end

@testset "inference" begin
    for d in (SortedDict(1 => 2.5), ArenaDict(Arena(), [1 => 2.5]))
        @test (@inferred d[1]) === 2.5 && (@inferred get(d, 2, 0.5)) === 0.5 && (@inferred get(() -> 0.5, d, 2)) === 0.5
        @test (@inferred get!(d, 2, 0.5)) === 0.5 && (@inferred pop!(d, 2)) === 0.5 && (@inferred haskey(d, 1))
        @test (@inferred first(d)) === (1 => 2.5) && (@inferred length(d)) === 1 && !(@inferred isempty(d))
        @test (@inferred getkey(d, 1, 0)) === 1 && (@inferred collect(d)) == [1 => 2.5] && (@inferred hash(d)) isa UInt
        @test (@inferred collect(keys(d))) == [1] && (@inferred collect(values(d))) == [2.5]
        @test (@inferred pop!(d)) === (1 => 2.5)
        for f in (copy, empty, empty!, d -> delete!(d, 1), d -> filter!(p -> true, d), d -> filter(p -> true, d),
                  d -> merge(d, d), d -> mergewith(+, d, d), d -> merge!(d, d), d -> setindex!(d, 1.5, 1))
            @test (@inferred f(d)) isa AbstractDict{Int,Float64}
        end
    end
    for s in (SortedSet([1]), ArenaSet(Arena(), [1]))
        @test (@inferred in(1, s)) && !(@inferred in(2.5, s)) && (@inferred length(s)) === 1
        @test (@inferred first(s)) === 1
        @test (@inferred pop!(s)) === 1 && (@inferred collect(s)) == Int[]
        for f in (copy, empty, empty!, s -> push!(s, 1), s -> delete!(s, 2), s -> union(s, [2]), s -> union!(s, [2]),
                  s -> intersect(s, [2]), s -> setdiff(s, [2]), s -> symdiff(s, [2]), s -> filter(isodd, s),
                  s -> filter!(isodd, s), s -> setdiff!(s, [2]), s -> intersect!(s, [2]), s -> symdiff!(s, [2]))
            @test (@inferred f(s)) isa AbstractSet{Int}
        end
    end
end

@testset "results have their kind" begin
    d, s = SortedDict(2 => 2.5, 1 => 1.5), SortedSet([2, 1])
    for f in (copy, empty, merge, d -> filter(p -> true, d), d -> merge(d, Dict(3 => 1)), d -> mergewith(+, d, d))
        @test f(d) isa SortedDict{Int,Float64}
    end
    for f in (copy, empty, union, s -> union(s, [3]), s -> intersect(s, [3]), s -> setdiff(s, [3]),
              s -> symdiff(s, [3]), s -> filter(isodd, s))
        @test f(s) isa SortedSet{Int}
    end
    @test collect(Iterators.reverse(d)) == [2 => 2.5, 1 => 1.5] && collect(Iterators.reverse(s)) == [2, 1]
    @test collect(keys(d)) == [1, 2] && collect(values(d)) == [1.5, 2.5] && eltype(Iterators.reverse(s)) === Int
    a = Arena()
    d, s = ArenaDict(a, d), ArenaSet(a, s)
    for f in (copy, empty, d -> filter(p -> true, d), d -> merge(d, Dict(3 => 1)), d -> mergewith(+, d, d))
        @test f(d) isa Dict{Int,Float64}
    end
    for f in (copy, empty, s -> union(s, [3]), s -> intersect(s, [3]), s -> setdiff(s, [3]), s -> filter(isodd, s))
        @test f(s) isa Set{Int}
    end
end

# What differs from Base:
#   - pop! and first of a sorted collection return the last and the first element in the order of the keys;
#   - collections print with their own names;
#   - a key that isless cannot compare with the others is a MethodError in a sorted collection;
#   - deepcopy of a collection in an arena is an ArgumentError, and so is making one for types that are not bits types.
@testset "differences" begin
    @test pop!(SortedDict(2 => 'b', 1 => 'a', 3 => 'c')) == (3 => 'c') && first(SortedSet([2, 1])) == 1
    @test repr(SortedSet([1])) == "SortedSet{Int64}([1])" || Int === Int32
    @test occursin("ArenaDict{Int", repr(ArenaDict(Arena(), [1 => 2])))
    @test_throws MethodError SortedSet(Any[1, "a"])
    @test_throws MethodError merge(SortedDict(1 => 2), Dict("a" => 1))
    @test_throws MethodError union(SortedSet([1]), ["a"])
    @test_throws ArgumentError deepcopy(ArenaDict(Arena(), [1 => 2]))
    @test_throws ArgumentError ArenaDict{Int,String}(Arena())
    @test deepcopy(SortedDict(1 => [2])) == Dict(1 => [2])
end

end
