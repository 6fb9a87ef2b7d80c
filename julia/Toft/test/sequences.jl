# List, Stack and Queue against Base's Vector.
# SPDX-License-Identifier: MIT OR Apache-2.0

const ITEMS = Any[
    Int => rng -> rand(rng, Int),
    String => word,
    Tuple{Int,Float64} => rng -> (rand(rng, Int), rand(rng)),
    Any => rng -> rand(rng, Any[1, 2.5, "three", :four, nothing, missing]),
    Union{Int,Nothing} => rng -> rand(rng, Bool) ? nothing : rand(rng, Int),
    Mixed => rng -> Mixed(rand(rng, Int), word(rng), nothing),
    Box => rng -> Box(rand(rng, Int)),
    Empty => rng -> Empty(),
]

# What each may do: (function, whether it adds, at the beginning of the model or at its end). A stack begins at its top.
const DOES = Dict(
    List => [(pushfirst!, true, true), (push!, true, false), (popfirst!, false, true)],
    Stack => [(push!, true, true), (pop!, false, true)],
    Queue => [(push!, true, false), (popfirst!, false, true)],
)

function agree_sequence(@nospecialize(c), model)
    must(length(c) == length(model) && isempty(c) == isempty(model), "length ", length(c), ", not ", length(model))
    found = listed(c)
    must(length(found) == length(model) && all(k -> same(found[k], model[k]), eachindex(found)), found, ", not ", model)
    isempty(model) || must(same(first(c), model[1]) && same(last(c), model[end]), "the ends")
    return
end

# A list in a plain pool frees a slot if it was the last one taken, and keeps it until empty! otherwise.
function room_for(@nospecialize(c), taken, model, most)
    line = c isa GenericList ? c : c.items
    return line isa GenericList && line.cells isa Toft.PoolCells ? taken < most : length(model) < most
end

function sequence_stream(seed, @nospecialize(c), @nospecialize(Kind), make, most, steps)
    rng = MersenneTwister(seed)
    model, slots, taken = [], Int[], 0 # for each element the number of its slot
    growing = true
    for step in 1:steps
        rand(rng) < 0.02 && (growing = !growing)
        does = DOES[Kind][rand(rng, 1:end)]
        does[2] == growing || rand(rng) < 0.4 || continue
        f, adds, at_begin = does
        if rand(rng, 1:150) == 1
            must(empty!(c) === c, "empty!")
            empty!(model)
            empty!(slots)
            taken = 0
        elseif rand(rng, 1:100) == 1
            must(trim!(c) === c, "trim!")
        elseif adds && !room_for(c, taken, model, most)
            must(throws(PoolFullError, f, c, make(rng)), "a full one takes another")
        elseif adds
            x = make(rng)
            must(f(c, x) === c, f, " gives the collection")
            taken += 1
            at_begin ? (pushfirst!(model, x); pushfirst!(slots, taken)) : (push!(model, x); push!(slots, taken))
        elseif isempty(model)
            must(all(g -> throws(ArgumentError, g, c), (f, first, last)), "an empty one")
        else
            must(same(f(c), popfirst!(model)), f)
            popfirst!(slots) == taken && (taken -= 1)
        end
        agree_sequence(c, model)
        if Kind === List && rand(rng, 1:40) == 1
            must(reverse!(c) === c, "reverse!")
            reverse!(model)
            reverse!(slots)
            agree_sequence(c, model)
            must(isequal(collect(reverse(c)), reverse(model)), "reverse")
        elseif Kind === List && rand(rng, 1:40) == 1
            keep = rand(rng, Bool, length(model))
            number = 0
            must(filter!(x -> keep[number+=1], c) === c && number == length(model), "filter!")
            foreach(slot -> slot == taken && (taken -= 1), slots[.!keep])
            model, slots = model[keep], slots[keep]
            agree_sequence(c, model)
        end
    end
    return true
end

@testset "streams" begin
    steps = stream_length(600)
    @testset "$T" for (k, (T, make)) in enumerate(ITEMS)
        for (kind, Kind) in enumerate(KINDS), (c, C) in enumerate((List, Stack, Queue))
            ALL_TYPES || goes_with(k + c, kind) && (k <= 2 || isodd(k + c)) || continue
            @test sequence_stream(10k + kind, C{T}(Kind), C, make, typemax(Int), steps)
            @test sequence_stream(10k + kind, C{T}(Kind, 20), C, make, 20, steps)
        end
    end
end

@testset "fixed sizes" begin
    for Kind in KINDS
        # a stack and a queue of n take n, in each kind of pool, however often they were filled before
        for C in (Stack, Queue)
            take = C === Stack ? pop! : popfirst!
            c = C{Int}(Kind, 5)
            for round in 1:100
                foreach(k -> push!(c, k), length(c)+1:5)
                foreach(_ -> take(c), 1:3)
            end
            empty!(c)
            foreach(k -> push!(c, k), 1:5)
            for _ in 1:2
                @test_throws PoolFullError push!(c, 6)
            end
            @test collect(c) == (C === Stack ? (5:-1:1) : (1:5))
        end
        l = List{Int}(Kind, 5)
        foreach(k -> pushfirst!(l, k), 1:5)
        @test_throws PoolFullError pushfirst!(l, 6)
        @test_throws PoolFullError push!(l, 6)
        @test collect(l) == 5:-1:1 && length(l) == 5
        for k in 1:100 # used as a stack, it goes on
            popfirst!(l)
            pushfirst!(l, k)
        end
        @test collect(l) == [100, 4, 3, 2, 1]
        @test_throws PoolFullError push!(Stack{Int}(Kind, 0), 1)
        @test isempty(Queue{Int}(Kind, 0))
    end
    q = Queue{Int}(Allocator, 4) # a ring
    for k in 1:1000
        push!(q, k)
        k > 3 && must(popfirst!(q) == k - 3, "first in, first out")
    end
    @test collect(q) == 998:1000 && capacity(q.items) == 4
end

@testset "lists that share a pool" begin
    for Kind in KINDS, I in (Int, Int32)
        pool = Kind{Tuple{String,I},I}(nothing)
        a, b = List(pool), List(pool)
        for k in 1:50
            pushfirst!(a, "a$k")
            push!(b, "b$k")
        end
        @test collect(a) == ["a$k" for k in 50:-1:1] && collect(b) == ["b$k" for k in 1:50] && length(pool) == 100
        reverse!(a)
        @test collect(a) == ["a$k" for k in 1:50]
        foreach(_ -> popfirst!(a), 1:20)
        @test collect(b) == ["b$k" for k in 1:50] && first(a) == "a21" && last(a) == "a50"
        empty!(a)
        @test isempty(a) && collect(b) == ["b$k" for k in 1:50]
        pool isa Toft.FreeListPool && @test length(pool) == 50
        foreach(k -> push!(a, string(k)), 1:30)
        @test collect(a) == string.(1:30) && collect(b) == ["b$k" for k in 1:50]
        pool isa Toft.FreeListPool && @test length(pool) == 80
    end
    # of one that frees, a cell that another list gave back is detected
    pool = FreeListAllocator{Tuple{Int,Int}}(4)
    l = List(pool)
    push!(l, 1)
    deallocate!(pool, 1)
    @test_throws StaleIndexError first(l)
    @test_throws StaleIndexError popfirst!(l)
end

@testset "lists that change while they are walked" begin
    for Kind in KINDS, T in (Int, String)
        values = T === Int ? collect(1:50) : string.(1:50)
        l, seen = append!(List{T}(Kind), values), T[]
        for x in l
            push!(seen, x)
            popfirst!(l)
            length(seen) <= 5 && push!(l, x) # comes again
            length(seen) <= 5 && pushfirst!(l, x) # is removed next
        end
        @test seen == vcat(values, values[1:5])
    end
    for Kind in FREE_KINDS # the next is removed
        l, seen = append!(List{Int}(Kind), 1:50), Int[]
        @test_throws StaleIndexError for x in l
            push!(seen, x)
            popfirst!(l)
            popfirst!(l)
        end
        @test seen == [1] && collect(l) == 3:50
    end
    for C in (List, Stack, Queue), Kind in KINDS # all are removed, and their memory is freed
        c = append!(C{Int}(Kind), 1:1000)
        @test_throws Union{StaleIndexError,BoundsError} for x in c
            trim!(empty!(c))
        end
        @test isempty(c) && collect(push!(c, 7)) == [7]
    end
end

@testset "trim! keeps the cells that are in use" begin
    for Kind in FREE_KINDS, T in (Int, String)
        values = T === Int ? collect(1:200) : string.(1:200)
        l = append!(List{T}(Kind), values)
        foreach(_ -> popfirst!(l), 1:50)
        foreach(x -> push!(l, x), values[1:20]) # 20 of the freed cells
        for _ in 1:3
            @test trim!(l) === l && capacity(l.cells) == 200 && l.cells.free_count == 30
            @test collect(l) == [values[51:200]; values[1:20]] && length(l) == 170
        end
        foreach(_ -> popfirst!(l), 1:150) # those that are left are in the first 50 cells
        @test capacity(trim!(l).cells) == 50 && collect(l) == values[1:20]
        append!(l, values)
        @test collect(l) == [values[1:20]; values] && length(l) == 220
        @test capacity(trim!(empty!(l)).cells) == 16 && isempty(l) && collect(append!(l, values)) == values
    end
end

@testset "a list that cannot grow is as it was" begin
    for part in (CAN_SHARE ? (:store, :links) : ()), push in (push!, pushfirst!)
        l = append!(List{String}(), string.(1:16))
        shared = share!(getfield(l.cells, part))
        for _ in 1:3
            @test_throws ErrorException push(l, "17")
            @test collect(l) == string.(1:16) && length(l) == 16 && length(shared) == 16
        end
        popfirst!(l)
        @test length(push(l, "0")) == 16 && "0" in l # there is room for this one
        setfield!(l.cells, part, copy(getfield(l.cells, part))) # there is memory again
        @test length(push(l, "18")) == 17 && "18" in l && "16" in l
    end
end

@testset "Base's interfaces" begin
    for C in (List, Stack, Queue)
        c = C([1, 2, 3])
        order = C === Stack ? [3, 2, 1] : [1, 2, 3]
        @test typeof(c) === C{Int} && isconcretetype(C{Int})
        @test eltype(c) === Int && length(c) == 3 && collect(c) == order && collect(c) isa Vector{Int}
        @test sum(c) == 6 && 2 in c && !(4 in c) && [x for x in c] == order && maximum(c) == 3
        @test map(x -> 2x, c) == 2order
        @test c == C([1, 2, 3]) && c != C([1, 2]) && c != C([1, 2, 4]) && hash(c) == hash(C([1, 2, 3]))
        @test hash(c) != hash(C([3, 1, 2]))
        @test c == append!(C{Int}(FreeListSOAllocator, 3), [1, 2, 3]) # in any storage
        @test isequal(C([NaN]), C([NaN]))
        other = copy(c)
        push!(other, 9)
        @test other isa C{Int} && collect(c) == order && length(other) == 4
        @test empty(c) isa C{Int} && isempty(empty(c)) && empty(c, String) isa C{String}
        @test append!(c, (4, 5)) === c && length(c) == 5 && push!(c, 6.0) === c && 6 in c
        @test C{Float64}([1, 2]) isa C{Float64} && C(k for k in 1:2) isa C && isempty(C{String}())
        @test_throws InexactError push!(c, 1.5)
        @test_throws MethodError push!(c, "no")
        @test length(c) == 6
        name = C === List ? "List" : C === Stack ? "Stack" : "Queue"
        @test sprint(show, C([1, 2])) == string(name, "{Int64}(", C === Stack ? "[2, 1]" : "[1, 2]", ")")
        @test occursin("…", sprint(show, C(1:100); context=:limit => true))
        @test isempty(empty!(c)) && collect(c) == Int[] && empty!(c) === c
    end
    for C in (List, Stack, Queue) # a number is no block size, and no element
        for made in (() -> C{Int}(5), () -> C(5), () -> C{Float64}(2.5))
            e = thrown(made)
            @test e isa ArgumentError && occursin("([", e.msg) && occursin("at most", e.msg)
        end
        @test C(2k for k in 1:3) isa C{Int} && C{Int}([5]) == C([5])
    end
    @test List([1]) != Queue([1])
    @test_throws MethodError pop!(Queue([1, 2]))
    l = List("abc")
    @test join(l) == "abc" && join(reverse!(l)) == "cba" && join(push!(l, 'x')) == "cbax" && last(l) == 'x'
end

@testset "the other way around" begin
    for C in (Stack, Queue), Kind in KINDS, n in (nothing, 4)
        c = C{Int}(Kind, n)
        @test collect(Iterators.reverse(c)) == Int[]
        for round in 1:9 # around a ring, and again
            while length(c) < 4
                push!(c, 10round + length(c))
            end
            @test collect(Iterators.reverse(c)) == reverse!(collect(c)) && length(Iterators.reverse(c)) == 4
            for _ in 1:round % 4
                C === Stack ? pop!(c) : popfirst!(c)
            end
        end
        @test eltype(Iterators.reverse(c)) === Int && collect(Iterators.reverse(Iterators.reverse(c))) == collect(c)
    end
    q = Queue{Int}() # grown while it went around
    foreach(k -> (push!(q, k); k % 3 == 0 && popfirst!(q)), 1:200)
    @test collect(Iterators.reverse(q)) == reverse!(collect(q)) && first(Iterators.reverse(q)) == 200
end

@noinline function filled_sequence(C, Kind)
    c, refs = C{Box}(Kind), WeakRef[]
    for k in 1:20
        box = Box(k)
        push!(refs, WeakRef(box))
        push!(c, box)
    end
    return c, refs
end

take_one(c::GenericStack) = (pop!(c); nothing)
take_one(c) = (popfirst!(c); nothing)

@testset "what is removed is not kept alive" begin
    all_filled = [filled_sequence(C, Kind) for C in (List, Stack, Queue), Kind in KINDS]
    GC.gc()
    @test all(((c, refs),) -> count(r -> r.value !== nothing, refs) == 20, all_filled)
    for (c, _) in all_filled
        foreach(_ -> take_one(c), 1:15)
    end
    GC.gc()
    @test all(((c, refs),) -> count(r -> r.value !== nothing, refs) == 5 == length(c), all_filled)
    foreach(((c, refs),) -> empty!(c), all_filled)
    GC.gc()
    @test all(((c, refs),) -> count(r -> r.value !== nothing, refs) == 0, all_filled)
end

function pump(c, x, n)
    total = 0
    for _ in 1:3
        foreach(_ -> push!(c, x), 1:n)
        for y in c
            total += first(y)
        end
        for _ in 1:n
            total += first(c isa GenericStack ? pop!(c) : popfirst!(c))
        end
        empty!(c)
    end
    return total
end

@testset "no garbage in a steady state" begin
    for C in (List, Stack, Queue), Kind in KINDS, n in (nothing, 1000)
        c = C{Tuple{Int,Float64}}(Kind, n)
        pump(c, (1, 2.0), 1000)
        pump(c, (1, 2.0), 1000)
        @test (@allocated pump(c, (1, 2.0), 1000)) <= 64
    end
end

@testset "types are inferred" begin
    for Kind in KINDS
        l, s, q = List{String}(Kind), Stack{String}(Kind), Queue{String}(Kind)
        @inferred push!(l, "b")
        @inferred pushfirst!(l, "a")
        @inferred push!(s, "a")
        @inferred push!(q, "a")
        @test (@inferred first(l)) == "a" && (@inferred last(l)) == "b" && (@inferred collect(l)) == ["a", "b"]
        @test (@inferred popfirst!(l)) == "a" && (@inferred pop!(s)) == "a" && (@inferred popfirst!(q)) == "a"
        @test (@inferred collect(s)) == String[] && (@inferred collect(q)) == String[] && @inferred(isempty(s))
    end
end

@testset "append! of itself ends" begin
    for kind in (Allocator, FreeListAllocator)
        @test collect(append!(Queue{Int}(kind, 6), 1:3) |> q -> append!(q, q)) == [1, 2, 3, 1, 2, 3]
        @test collect(append!(List{Int}(kind, 6), 1:3) |> l -> append!(l, l)) == [1, 2, 3, 1, 2, 3]
        @test length(append!(Stack{Int}(kind, 6), 1:3) |> s -> append!(s, s)) == 6
    end
end
