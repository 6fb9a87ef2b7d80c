# Random streams of operations on sorted sets and dictionaries, against a model. A part of sorted.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

const BAD_CHARACTER = reinterpret(Char, 0xffffffff)

# Keys of each type: few enough that they come again, and the extremes among them.
const KEYS = Any[
    Int => rng -> rand(rng) < 0.05 ? rand(rng, (typemin(Int), typemax(Int))) + rand(rng, -1:1) : rand(rng, -300:300),
    Int8 => rng -> rand(rng, Int8),
    UInt64 => rng -> rand(rng) < 0.1 ? rand(rng, (typemin(UInt64), typemax(UInt64))) : UInt64(rand(rng, 1:400)) << 55,
    Float64 => rng -> rand(rng, (rand(rng, -99:99) / 7, -0.0, 0.0, NaN, -NaN, Inf, -Inf, nextfloat(0.0), floatmax())),
    Float16 => rng -> reinterpret(Float16, rand(rng, UInt16)),
    Char => rng -> rand(rng) < 0.1 ? rand(rng, ('\0', '\U10ffff', BAD_CHARACTER)) : Char(rand(rng, 0:500)),
    Bool => rng -> rand(rng, Bool),
    Union{Int8,UInt16} => rng -> rand(rng, (rand(rng, Int8), rand(rng, UInt16))),
    String => rng -> randstring(rng, 'a':'d', rand(rng, 0:4)),
    Symbol => rng -> Symbol(randstring(rng, 'a':'c', 4)),
    Tuple{Int,String} => rng -> (rand(rng, 1:20), randstring(rng, 'a':'c', 2)),
    Day => rng -> Day(rand(rng, 2000:2009), rand(rng, 1:30)),
    BigInt => rng -> big(rand(rng, -200:200))^5,
    Any => rng -> rand(rng, (rand(rng, -99:99), rand(rng, -99:99) / 2, rand(rng, -9:9) // 4, missing, NaN)),
    Union{Missing,Int} => rng -> rand(rng, 1:20) == 1 ? missing : rand(rng, 1:300),
    Rational{Int} => rng -> rand(rng, -30:30) // rand(rng, 1:9),
    Label => rng -> Label(rand(rng, 1:300)),
]

in_order(keys) = sort!(collect(Any, keys); lt=isless)

function agree_set(@nospecialize(s), model)
    must(length(s) == length(model) && isempty(s) == isempty(model), "length ", length(s), ", not ", length(model))
    order = in_order(model)
    must(same_list(listed(s), order), "in order: ", listed(s), ", not ", order)
    must(same_list(listed(Iterators.reverse(s)), reverse(order)), "in reverse")
    sound(s)
end

function agree_dict(@nospecialize(d), model)
    must(length(d) == length(model) && isempty(d) == isempty(model), "length ", length(d), ", not ", length(model))
    order = in_order(keys(model))
    found = listed(d)
    must(same_list(first.(found), order), "keys: ", first.(found), ", not ", order)
    must(all(pair -> pair.second === model[pair.first], found), "values")
    must(same_list(first.(listed(Iterators.reverse(d))), reverse(order)), "in reverse")
    sound(d)
end

same_list(a, b) = length(a) == length(b) && all(k -> isequal(a[k], b[k]), eachindex(a))

# In a fixed plain pool deleted elements count until empty!.
mutable struct Room
    most::Int
    spent::Int
    frees::Bool
end
full(r::Room, count) = (r.frees ? count : r.spent) == r.most

# Pops the first or the last, which an empty collection refuses. The order is of its keys.
function pop_end(@nospecialize(c), order, low)
    if isempty(order)
        must(throws(ArgumentError, low ? popfirst! : pop!, c), "popping an empty collection")
        must(throws(ArgumentError, low ? first : last, c), "an end of an empty collection")
        return nothing
    end
    expected, at_end = low ? order[1] : order[end], (low ? first : last)(c)
    must(isequal(at_end isa Pair ? at_end.first : at_end, expected), "an end")
    must(isequal((low ? popfirst! : pop!)(c), at_end), "popping")
    return at_end
end

function set_stream(seed, @nospecialize(s), key, most, steps)
    rng = MersenneTwister(seed)
    model, room = Set{Any}(), Room(most, 0, s.pool isa Toft.CellPool)
    growing = true
    for step in 1:steps
        rand(rng) < 0.02 && (growing = !growing)
        x, dice = key(rng), rand(rng, 1:100)
        if dice <= (growing ? 55 : 20)
            if !(x in model) && full(room, length(model))
                must(throws(PoolFullError, push!, s, x), "a full set takes another")
            else
                x in model || (room.spent += 1)
                must(push!(s, x) === s, "push!")
                push!(model, x)
            end
        elseif dice <= 80
            must(delete!(s, x) === s, "delete!")
            delete!(model, x)
        elseif dice <= 84
            if x in model
                must(isequal(pop!(s, x), x), "pop! of ", x)
                delete!(model, x)
            else
                must(throws(KeyError, pop!, s, x) && pop!(s, x, :none) === :none, "pop! of nothing")
            end
        elseif dice <= 88
            popped = pop_end(s, in_order(model), rand(rng, Bool))
            isempty(model) || delete!(model, popped)
        elseif dice <= 93
            other = key(rng)
            expected = filter(y -> !isless(y, x) && !isless(other, y), in_order(model))
            must(same_list(listed(between(s, x, other)), expected), "between ", x, " and ", other)
        elseif dice <= 98
            must((x in s) == (x in model), "in: ", x)
        elseif dice == 99
            trim!(s)
        elseif rand(rng) < 0.3
            must(empty!(s) === s, "empty!")
            empty!(model)
            room.spent = 0
        end
        step % 8 == 0 && agree_set(s, model)
    end
    agree_set(s, model)
    for x in shuffle(rng, collect(model))
        delete!(s, x)
    end
    agree_set(s, Set())
    return true
end

# Puts v at x, which a full dictionary refuses. The ways: get!, get! of a function, setindex!.
function put_at(@nospecialize(d), model, room, x, v, way)
    if !haskey(model, x) && full(room, length(model))
        must(throws(PoolFullError, setindex!, d, v, x), "a full dictionary takes another")
        must(throws(PoolFullError, get!, d, x, v), "and by get!")
        return
    end
    haskey(model, x) || (room.spent += 1)
    if way == 0
        must(get!(d, x, v) === get!(model, x, v), "get!")
    elseif way == 1
        must(get!(() -> v, d, x) === get!(model, x, v), "get! of a function")
    else
        d[x] = v
        model[x] = v
    end
end

# v is no value of the dictionary.
function agree_at(@nospecialize(d), model, x, v)
    must(haskey(d, x) == haskey(model, x) && get(d, x, v) === get(model, x, v), "haskey, get of ", x)
    must(get(() -> v, d, x) === get(model, x, v), "get of a function")
    if haskey(model, x)
        must(d[x] === model[x] && isequal(getkey(d, x, nothing), x), "reading ", x)
    else
        must(throws(KeyError, getindex, d, x) && getkey(d, x, v) === v, "reading nothing")
    end
end

function dict_stream(seed, @nospecialize(d), key, most, steps)
    rng = MersenneTwister(seed)
    model, room = Dict{Any,Any}(), Room(most, 0, d.pool isa Toft.CellPool)
    growing = true
    for step in 1:steps
        rand(rng) < 0.02 && (growing = !growing)
        x, v, dice = key(rng), string("value ", step), rand(rng, 1:100)
        if dice <= (growing ? 55 : 20)
            put_at(d, model, room, x, v, dice % 3)
        elseif dice <= 75
            must(delete!(d, x) === d, "delete!")
            delete!(model, x)
        elseif dice <= 80
            if haskey(model, x)
                must(pop!(d, x) === pop!(model, x), "pop! of ", x)
            else
                must(throws(KeyError, pop!, d, x) && pop!(d, x, v) === v, "pop! of nothing")
            end
        elseif dice <= 84
            pair = pop_end(d, in_order(keys(model)), rand(rng, Bool))
            isempty(model) || must(pair.second === pop!(model, pair.first), "the value of what was popped")
        elseif dice <= 89
            other = key(rng)
            expected = filter(y -> !isless(y, x) && !isless(other, y), in_order(keys(model)))
            found = listed(between(d, x, other))
            must(same_list(first.(found), expected), "between ", x, " and ", other)
            must(all(pair -> pair.second === model[pair.first], found), "values between")
        elseif dice <= 98
            agree_at(d, model, x, v)
        elseif dice == 99
            trim!(d)
        elseif rand(rng) < 0.3
            must(empty!(d) === d, "empty!")
            empty!(model)
            room.spent = 0
        end
        step % 8 == 0 && agree_dict(d, model)
    end
    agree_dict(d, model)
    for x in shuffle(rng, collect(keys(model)))
        delete!(d, x)
    end
    agree_dict(d, Dict())
    return true
end

@testset "streams" begin
    steps = stream_length(1500)
    less_often = (Int8, UInt64, Float16, Day, Tuple{Int,String}, Symbol, BigInt, Rational{Int})
    @testset "keys of type $K" for (k, (K, key)) in enumerate(KEYS)
        ALL_TYPES || !(K in less_often) || continue
        for (kind, Kind) in enumerate(KINDS)
            goes_with(k, kind) || continue
            @test dict_stream(10k + kind, SortedDict{K,String}(Kind), key, typemax(Int), steps)
            @test dict_stream(10k + kind, SortedDict{K,String}(Kind, 100), key, 100, steps)
        end
        for (kind, Kind) in enumerate(KINDS)
            goes_with_one(k + 2, kind) && (ALL_TYPES || K in (Int, String)) || continue
            @test set_stream(10k + kind, SortedSet{K}(Kind), key, typemax(Int), steps)
            @test set_stream(10k + kind, SortedSet{K}(Kind, 100), key, 100, steps)
        end
    end
    @test length(SortedSet{Bool}([true, false, true])) == 2
end
