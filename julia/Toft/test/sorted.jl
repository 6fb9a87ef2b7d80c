# SortedSet and SortedDict against Base's Set and Dict, and their tree against what must be true of it.
# SPDX-License-Identifier: MIT OR Apache-2.0

struct Day # a key type of the user's
    year::Int
    day::Int
end
Base.isless(a::Day, b::Day) = isless((a.year, a.day), (b.year, b.day))

mutable struct Label # and one that is an object
    number::Int
end
Base.isless(a::Label, b::Label) = isless(a.number, b.number)
Base.isequal(a::Label, b::Label) = a.number == b.number
Base.hash(a::Label, h::UInt) = hash(a.number, h)

# ---- Invariants of a tree ----

# Its leaves from the left, by the way down; and whether each inner node is as it must be.
function leaves_below(t, node, depth, found)
    if depth == t.height
        push!(found, node)
        return
    end
    k, n = Toft.base(node), Int(t.child_counts[node])
    must(1 <= n <= Toft.FANOUT && (depth > 0 || n > 1), "an inner node of ", n, " children")
    bounds = [Toft.load(t.bounds, i) for i in k+1:k+n-1]
    must(all(i -> isless(bounds[i-1], bounds[i]), 2:n-1), "bounds ", bounds)
    for c in 1:n
        from = length(found) + 1
        leaves_below(t, t.children[k+c], depth + 1, found)
        for leaf in found[from:end], key in leaf_keys(t, leaf)
            must(c == 1 || !isless(key, bounds[c-1]), "key ", key, " left of its bound")
            must(c == n || isless(key, bounds[c]), "key ", key, " right of its bound")
        end
    end
    for i in k+n:k+Toft.FANOUT
        K = eltype(t.bounds)
        greatest = Toft.is_coded(K) ? typemax(Toft.code_type(K)) : nothing
        must(vacant(t.bounds, i, greatest), "an unused bound is not vacant")
    end
    return
end

leaf_keys(t, leaf) = (w = t.windows[leaf]; [Toft.load(t.keys, Toft.base(leaf) + i) for i in w.from+1:w.upto])

vacant(v::Vector, i, x) =
    Toft.is_coded(eltype(v)) ? Toft.load(v, i) == x : !Toft.has_references(eltype(v)) || !isassigned(v, i)

live_slots(@nospecialize(p::Toft.DequePool)) = Set(eachindex(p))
live_slots(@nospecialize(p::Toft.CellPool)) = setdiff!(Set(1:p.last), Toft.free_slots(p))

function sound(@nospecialize(c))
    t = c.tree
    K = keytype_of(c)
    codes, C = Toft.is_coded(K), Toft.code_type(K)
    leaves = UInt32[]
    leaves_below(t, t.root, 0, leaves)
    must(t.first_leaf == leaves[1] && t.last_leaf == leaves[end], "the first and the last leaf")
    live = live_slots(c.pool)
    count, before, high = 0, nothing, codes ? typemin(C) : nothing
    for (n, leaf) in enumerate(leaves)
        w, links, k = t.windows[leaf], t.links[leaf], Toft.base(leaf)
        must(links.prev == (n == 1 ? 0 : leaves[n-1]) && links.next == (n == length(leaves) ? 0 : leaves[n+1]), "links")
        must(Toft.LOWEST <= w.from <= w.upto <= Toft.HIGHEST + 1 && (w.from < w.upto || t.height == 0), "a window ", w)
        low, high = high, codes ? Toft.load(t.keys, k + Toft.FANOUT) : nothing
        must(all(i -> vacant(t.keys, k + i, low), 1:w.from), "what lies below the window")
        must(all(i -> vacant(t.keys, k + i, high), w.upto+1:Toft.FANOUT), "what lies above the window")
        for i in k+w.from+1:k+w.upto
            key, slot = Toft.load(t.keys, i), t.slots[i]
            must(before === nothing || isless(something(before), key), "order")
            before = Some(key)
            must(!codes || (low < key || n == 1 && key == low) && key <= high, "a key outside of its leaf's range")
            must(slot in live, "slot ", slot, " is not live, or another key's")
            delete!(live, slot)
            must(isequal(c.pool[slot, 1], Toft.decode(K, key)), "the pool's key in slot ", slot)
        end
        count += w.upto - w.from
    end
    must(!codes || high == typemax(C), "the range of the last leaf")
    must(count == t.count == length(c), "count ", t.count, " of ", count)
    free, leaf = 0, t.free_leaf
    while leaf != 0
        free += 1
        k = Toft.base(leaf)
        first_key = codes ? Toft.load(t.keys, k + 1) : nothing
        must(all(i -> vacant(t.keys, i, first_key), k+1:k+Toft.FANOUT), "a free leaf with keys")
        leaf = t.links[leaf].next
    end
    must(free + length(leaves) == t.leaf_count, "leaves are lost")
    for at in (t.finger, t.older_finger)
        must(Toft.leaf_at(at) in 1:t.leaf_count, "a finger at ", at)
        must(Toft.LOWEST <= Toft.place_at(at) <= Toft.HIGHEST + 1, "a finger at ", at)
    end
    return true
end

keytype_of(s::AbstractSet) = eltype(s)
keytype_of(d::AbstractDict) = keytype(d)

include("sorted_streams.jl")

# ---- Trees of several levels ----

function big_dict(seed, @nospecialize(d), keys, insert, delete)
    rng = MersenneTwister(seed)
    arrange(ks, how) = how === :up ? sort(ks) : how === :down ? sort(ks; rev=true) : shuffle(rng, ks)
    keys = sort(unique(keys))
    for round in 1:2
        for k in arrange(keys, insert)
            d[k] = k
        end
        must(d.tree.height >= 2, "of ", d.tree.height, " levels")
        sound(d)
        must(listed_keys(d) == keys, "all keys in order")
        must(all(k -> d[k] == k, keys), "values")
        removed = arrange(keys, delete)[1:end÷2]
        foreach(k -> delete!(d, k), removed)
        sound(d)
        removed = Set(removed)
        must(listed_keys(d) == filter(k -> !(k in removed), keys), "half of the keys")
        must(all(k -> haskey(d, k) != (k in removed), keys), "haskey")
        for k in arrange(collect(removed), :random)[1:end÷2] # some come again
            d[k] = k
        end
        sound(d)
        for _ in 1:20
            low, high = minmax(rand(rng, keys), rand(rng, keys))
            expected = [k for k in keys if low <= k <= high && haskey(d, k)]
            must([p.first for p in between(d, low, high)] == expected, "between")
        end
        must(all(p -> p.first == p.second, d), "values of the pairs")
        foreach(k -> delete!(d, k), arrange(keys, delete))
        must(isempty(d) && sound(d), "emptied")
        must(d.pool isa Toft.DequePool || isempty(d.pool), "slots are left")
        d.pool isa Toft.DequePool && empty!(d)
    end
    return true
end

listed_keys(d) = [p.first for p in d]

@testset "trees of several levels" begin
    n = LONG ? 100_000 : 6000
    for (k, (insert, delete)) in enumerate(Iterators.product((:up, :down, :random), (:up, :down, :random)))
        @test big_dict(k, SortedDict{Int,Int}(), -n:2:n, insert, delete)
    end
    @test big_dict(1, SortedDict{Int,Int}(Allocator), -n:2:n, :random, :random)
    @test big_dict(2, SortedDict{Int,Int}(FreeListSOAllocator, n + 1), -n:2:n, :random, :up)
    words = [string(k; base=36) for k in 1:n]
    @test big_dict(4, SortedDict{String,String}(), words, :random, :random)
    @test big_dict(5, SortedDict{String,String}(), words, :down, :up)
    @test big_dict(6, SortedDict{UInt16,UInt16}(), UInt16.(0:8:65535), :random, :random)
end

@testset "a thousand distinct values, half deleted at random" begin
    for Kind in KINDS, n in (nothing, 1000)
        d = SortedDict{Int,String}(Kind, n)
        rng = MersenneTwister(8)
        for k in shuffle(rng, 1:1000)
            d[k] = string("value ", k)
        end
        removed = shuffle(rng, 1:1000)[1:500]
        foreach(k -> delete!(d, k), removed)
        @test length(d) == 500 && all(k -> d[k] == string("value ", k), setdiff(1:1000, removed))
        @test !any(k -> haskey(d, k), removed)
    end
end

# ---- Fixed sizes ----

@testset "a fixed one takes as many as it was made for" begin
    for Kind in KINDS, n in (0, 1, 5, 64, 65, 300)
        s = SortedSet{Int}(Kind, n)
        foreach(k -> push!(s, 7k % 1000), 1:n)
        @test length(s) == n
        before = collect(s)
        @test_throws PoolFullError push!(s, -1)
        @test collect(s) == before && sound(s) && !(-1 in s)
        n == 0 && continue
        @test push!(s, first(s)) === s # it is there already
        delete!(s, first(s))
        if s.pool isa Toft.CellPool
            push!(s, -1)
            @test first(s) == -1 && length(s) == n
        else
            @test_throws PoolFullError push!(s, -1)
            @test length(s) == n - 1
        end
        empty!(s)
        foreach(k -> push!(s, k), 1:n)
        @test collect(s) == 1:n
        d = SortedDict{Int,String}(Kind, n)
        foreach(k -> d[k] = string(k), 1:n)
        @test_throws PoolFullError d[0] = "0"
        @test_throws PoolFullError get!(d, 0, "0")
        @test length(d) == n && d[n] == string(n) && !haskey(d, 0) && sound(d)
        d[n] = "another value needs no slot"
        @test d[n] == "another value needs no slot"
    end
end

# Growth fails as it does where memory ends: with an exception from resize!.
@testset "one that cannot grow is as it was" begin
    tree_vectors = (:keys, :slots, :windows, :links, :bounds, :children, :child_counts)
    for Kind in (CAN_SHARE ? KINDS : ()), field in tree_vectors, order in (:up, :down, :random)
        d, rng = SortedDict{Int,String}(Kind), MersenneTwister(9)
        all_keys = order === :up ? (1:40_000) : order === :down ? (40_000:-1:1) : shuffle(rng, 1:40_000)
        n = 5000
        foreach(k -> d[k] = string(k), all_keys[1:n])
        shared = share!(getfield(d.tree, field))
        failed = 0
        while failed == 0
            n += 1
            try
                d[all_keys[n]] = "new"
            catch e
                e isa ErrorException || rethrow()
                failed = all_keys[n]
            end
        end
        @test length(shared) > 0 && length(d) == n - 1 == length(d.pool) && sound(d) && !haskey(d, failed)
        @test_throws ErrorException d[failed] = "new"
        @test collect(keys(d)) == sort(all_keys[1:n-1]) && length(d.pool) == n - 1
        setfield!(d.tree, field, copy(getfield(d.tree, field))) # there is memory again
        d[failed] = "at last"
        @test d[failed] == "at last" && length(d) == n && sound(d)
    end
end

@testset "changes while it is walked" begin
    for Kind in KINDS, K in (Int, String), seed in 1:4
        rng = MersenneTwister(seed)
        d = SortedDict{K,Int}(Kind)
        foreach(k -> d[K === Int ? k : string(k)] = k, shuffle(rng, 1:2000))
        model, right, steps = Dict(d), true, 0
        for (k, v) in (isodd(seed) ? d : Iterators.reverse(d))
            steps += 1
            right &= get(model, k, nothing) === v # it is there at this moment
            for removed in (k, rand(rng, keys(model)))
                delete!(d, removed)
                delete!(model, removed)
                isempty(model) && break
            end
            isempty(model) && break
        end
        @test right && 0 < steps <= 2000 && d == model && sound(d)
        s = SortedSet{K}(Kind)
        union!(s, keys(model))
        for k in s
            push!(s, K === Int ? -k : "-" * k)
            length(s) > 3000 && trim!(empty!(s))
        end
        @test sound(s)
        @test filter!(p -> isodd(p.second), d) == filter(p -> isodd(p.second), model)
    end
end

# In a process with two threads, as this one may have only one.
const READERS = """
using Toft: SortedDict, SortedSet, between
function looks(d, s, seed)
    right, x = 0, UInt32(seed)
    for step in 1:300_000
        x = x * 0x0019660d + 0x3c6ef35f
        k = Int(x >> 8) % 20_000
        at = step % 3 == 0 ? k : step % 5_000 # far and near
        right += (get(d, 2at, -1) == at) == (at < 20_000) && !haskey(d, 2at + 1) && ((2at) in s)
        step % 1000 == 0 && (right += sum(p.second for p in between(d, 2k, 2k + 100)) == sum(k:min(k + 50, 19_999)))
    end
    return right
end
d, s = SortedDict{Int,Int}(), SortedSet{Int}()
for k in 0:19_999
    d[2k] = k
    push!(s, 2k)
end
found = zeros(Int, Threads.nthreads())
Threads.@threads for t in 1:Threads.nthreads()
    found[t] = looks(d, s, t)
end
print(Threads.nthreads(), " ", all(==(300_300), found))
"""

@testset "lookups on several threads" begin
    command = `$(Base.julia_cmd()) --startup-file=no --project=$(Base.active_project()) -e $READERS`
    @test read(setenv(command, merge(ENV, Dict("JULIA_NUM_THREADS" => "2"))), String) == "2 true"
end

@testset "keys that do not compare" begin
    s = SortedSet{Any}([1, 2.5])
    @test_throws MethodError push!(s, "a")
    @test isequal(collect(s), [1, 2.5]) && sound(s) && length(s.pool) == 2
    d = SortedDict{Any,Int}(1 => 1)
    @test_throws MethodError d["a"] = 2
    @test length(d) == 1 && length(d.pool) == 1 && sound(d)
    @test_throws InexactError push!(SortedSet{Int}(), 1.5)
    @test_throws Exception SortedDict{Int,Int}()[1.5] = 1
    @test_throws MethodError push!(SortedSet{Int}(), "a")
    d = SortedDict{Int,Int}()
    @test_throws InexactError d[1] = 1.5
    @test isempty(d) && isempty(d.pool)
    @test_throws ErrorException get!(() -> error("no value"), d, 1)
    @test isempty(d) && isempty(d.pool) && sound(d)
end

include("sorted_interface.jl")

# ---- isless, isequal and constructors of the user's ----

mutable struct Sly # its isless and isequal call a function first
    number::Int
end
const ON_COMPARE = Ref{Any}(nothing)
compared() = (f = ON_COMPARE[]; f === nothing || f(); nothing)
Base.isless(a::Sly, b::Sly) = (compared(); isless(a.number, b.number))
Base.isequal(a::Sly, b::Sly) = (compared(); a.number == b.number)
Base.hash(a::Sly, h::UInt) = hash(a.number, h)
Base.convert(::Type{Sly}, n::Int) = (compared(); Sly(n))

# f with each comparison up to the n-th left alone, and the n-th doing `what`.
function nth_compare(f, what, n)
    count = Ref(0)
    ON_COMPARE[] = () -> (count[] += 1) == n && (ON_COMPARE[] = nothing; what())
    try
        f()
    finally
        ON_COMPARE[] = nothing
    end
    return count[] >= n
end

sly_dict(Kind, numbers) = (d = SortedDict{Sly,Int}(Kind); foreach(k -> d[Sly(k)] = k, numbers); d)
numbers_of(d) = [(p.first.number, p.second) for p in d]

@testset "an isless that throws leaves all as it was" begin
    fewer = LONG ? 1 : 5 # the long tier stops at each size
    for Kind in (Allocator, FreeListSOAllocator), change in (d -> d[Sly(1001)] = 0, d -> d[Sly(-1)] = 0,
                                  d -> delete!(d, Sly(500)), d -> pop!(d), d -> popfirst!(d),
                                  d -> get!(d, Sly(1001), 0), d -> pop!(d, Sly(502), 0),
                                  d -> d[Sly(500)] = 7, d -> d[Sly(501)] = 0, d -> filter!(p -> p.second > 20, d))
        d = sly_dict(Kind, 2:2:1000)
        for k in 1:180÷fewer # with leaves of all sizes, until some are merged and removed
            before, live = numbers_of(d), length(d.pool)
            n, failed = 0, true
            while failed
                n += n < 12 ? 1 : 7
                n > 4000 && break
                failed = try
                    nth_compare(() -> change(d), () -> error("compared"), n)
                catch e
                    e isa ErrorException || rethrow()
                    true
                end
                if failed
                    # filter! may have done some of its work
                    change_is_whole = numbers_of(d) == before || length(d) < length(before)
                    must(change_is_whole, "a part of a change")
                    sound(d)
                    must(!has_free_list(Kind) || length(d.pool) == length(d), "slots are lost")
                    length(d) == length(before) || (before = numbers_of(d))
                end
            end
            ON_COMPARE[] = nothing
            isempty(d) && break
            k > 3 && foreach(_ -> isempty(d) || popfirst!(d), 1:fewer)
        end
        @test sound(d)
    end
end

@testset "splits and merges where isless throws" begin
    for Kind in FREE_KINDS
        d, rng = SortedDict{Sly,Int}(Kind), MersenneTwister(5)
        model = Dict{Int,Int}()
        for step in 1:6000
            k = rand(rng, 1:700)
            adding = rand(rng) < (step ÷ 1500 % 2 == 0 ? 0.7 : 0.3)
            try
                change() = adding ? (d[Sly(k)] = step) : delete!(d, Sly(k))
                nth_compare(change, () -> error("compared"), rand(rng, 1:25))
                adding ? (model[k] = step) : delete!(model, k)
            catch e
                e isa ErrorException || rethrow()
            end
            ON_COMPARE[] = nothing
            must(length(d) == length(model) == length(d.pool), "step ", step)
            step % 20 == 0 && sound(d)
        end
        @test sound(d) && numbers_of(d) == sort([(k, v) for (k, v) in model])
    end
end

@testset "an isless that changes the collection" begin
    for Kind in (SOAllocator, FreeListAllocator), what in (d -> d[Sly(2001)] = 1,
                                d -> foreach(k -> d[Sly(k)] = k, 2001:2200), d -> delete!(d, Sly(500)), d -> empty!(d),
                                d -> trim!(empty!(d)), d -> (foreach(_ -> pop!(d), 1:400); trim!(d)),
                                d -> GC.gc(false)),
        use in (d -> d[Sly(501)] = 0, d -> delete!(d, Sly(500)), d -> haskey(d, Sly(500)), d -> get!(d, Sly(503), 1),
                d -> d[Sly(500)] = 9, d -> collect(between(d, Sly(400), Sly(600))), d -> pop!(d), d -> popfirst!(d),
                d -> merge(d, SortedDict(Sly(501) => 1)), d -> d[501] = 2)
        outcomes = Set{Any}()
        for n in (1:9..., 12)
            d = sly_dict(Kind, 2:2:1000)
            try
                nth_compare(() -> use(d), () -> what(d), n)
                push!(outcomes, nothing)
            catch e
                e isa Union{ArgumentError,KeyError,UndefRefError} || rethrow()
                push!(outcomes, typeof(e))
            end
            ON_COMPARE[] = nothing
            sound(d)
            must(!has_free_list(Kind) || length(d.pool) == length(d), "slots are lost")
            d[Sly(7)] = 7
            must(d[Sly(7)] == 7 && sound(d), "it goes on")
        end
        @test !isempty(outcomes)
    end
    d = sly_dict(FreeListAllocator, 2:2:1000)
    e = thrown(nth_compare, () -> d[Sly(501)] = 0, () -> delete!(d, Sly(2)), 3)
    @test e isa ArgumentError && occursin("isless", e.msg) && !haskey(d, Sly(501)) && !haskey(d, Sly(2)) && sound(d)
end

mutable struct Moody # compares as it likes
    number::Int
end
const MOOD = MersenneTwister(1)
Base.isless(a::Moody, b::Moody) = rand(MOOD, Bool)
Base.isequal(a::Moody, b::Moody) = a === b

@testset "an isless that is no order reads and writes nothing else" begin
    for Kind in FREE_KINDS
        s, refused = SortedSet{Moody}(Kind), 0
        for step in 1:20_000
            x = Moody(step)
            try
                rand(MOOD) < (step ÷ 4000 % 2 == 0 ? 0.8 : 0.3) || isempty(s) ? push!(s, x) : delete!(s, first(s))
            catch e
                e isa ArgumentError || rethrow()
                refused += 1
            end
            must(length(s) == length(s.pool) == count(_ -> true, s), "step ", step)
        end
        @test refused > 0 && isempty(empty!(s)) && isempty(s.pool)
    end
end

@testset "a conversion that changes the pool" begin
    for Kind in KINDS
        pool = Kind{Tuple{Sly}}(nothing)
        foreach(k -> allocateend!(pool, (Sly(k),)), 1:1000)
        shrink() = (emptyend!(pool); trim!(pool))
        e = thrown(nth_compare, () -> pool[900] = (5,), shrink, 1)
        @test e isa Union{BoundsError,StaleIndexError} && isempty(pool)
    end
end

# ---- Memory ----

@noinline function filled_dict(Kind)
    d, refs = SortedDict{Int,Box}(Kind), WeakRef[]
    for k in 1:200
        box = Box(k)
        push!(refs, WeakRef(box))
        d[k] = box
    end
    return d, refs
end

@noinline function filled_labels(Kind)
    s, refs = SortedSet{Label}(Kind), WeakRef[]
    for k in shuffle(MersenneTwister(1), 1:500)
        label = Label(k)
        push!(refs, WeakRef(label))
        push!(s, label)
    end
    return s, refs
end

alive(refs) = count(r -> r.value !== nothing, refs)

@testset "what is deleted is not kept alive" begin
    dicts = [filled_dict(Kind) for Kind in KINDS]
    sets = [filled_labels(Kind) for Kind in KINDS]
    GC.gc()
    @test all(((d, refs),) -> alive(refs) == 200, dicts) && all(((s, refs),) -> alive(refs) == 500, sets)
    for (d, _) in dicts
        foreach(k -> delete!(d, k), 1:50)
        foreach(k -> (pop!(d, k); nothing), 51:100)
        d[101] = Box(0) # the element there was removed
    end
    for (s, _) in sets
        foreach(k -> delete!(s, Label(k)), 1:2:499)
    end
    GC.gc()
    @test all(((d, refs),) -> alive(refs) == 99, dicts)
    # of the keys, the few that part the nodes of the tree may stay
    @test all(((s, refs),) -> 250 <= alive(refs) <= 250 + s.tree.leaf_count, sets)
    for (k, (d, _)) in enumerate(dicts)
        isodd(k) ? empty!(d) : foreach(k -> delete!(d, k), 101:200)
    end
    for (k, (s, _)) in enumerate(sets)
        isodd(k) ? empty!(s) : foreach(k -> delete!(s, Label(k)), 2:2:500)
    end
    GC.gc()
    @test all(((d, refs),) -> alive(refs) == 0, dicts)
    @test all(((s, refs),) -> alive(refs) == 0, sets)
end

function churn(s, d, n)
    total = 0
    for k in 1:n
        push!(s, 7919k % 100_003)
        d[7919k % 100_003] = k
    end
    for k in 1:n
        total += (7919k % 100_003 in s) + d[7919k % 100_003] + haskey(d, -k)
    end
    for x in s
        total += x
    end
    for (k, v) in d
        total += v
    end
    for x in between(s, 10, 1000)
        total += x
    end
    total += pop!(s) + first(s) + last(d).second
    for k in 1:n
        delete!(s, 7919k % 100_003)
        delete!(d, 7919k % 100_003)
    end
    empty!(s)
    empty!(d)
    return total
end

@testset "no garbage in a steady state" begin
    for Kind in KINDS, n in (nothing, 5000)
        s, d = SortedSet{Int}(Kind, n), SortedDict{Int,Int}(Kind, n)
        churn(s, d, 5000)
        churn(s, d, 5000)
        @test (@allocated churn(s, d, 5000)) <= 64
    end
end

@testset "trim! returns memory" begin
    for Kind in KINDS
        d = SortedDict{Int,Int}(Kind)
        foreach(k -> d[k] = k, 1:50_000)
        full = Base.summarysize(d)
        foreach(k -> delete!(d, k), 101:50_000)
        has_free_list(Kind) || (empty!(d); foreach(k -> d[k] = k, 1:100))
        trim!(d)
        @test Base.summarysize(d) < full ÷ 2 && sound(d)
        @test collect(d) == [k => k for k in 1:100]
        empty!(d)
        @test Base.summarysize(trim!(d)) < 10_000 && sound(d)
        foreach(k -> d[k] = k, 1:5000)
        @test sound(d) && length(d) == 5000 && all(k -> d[k] == k, 1:5000)
    end
end

first_between(s, a, b) = first(between(s, a, b))

@testset "types are inferred" begin
    s, d = SortedSet([1, 2]), SortedDict("a" => 1.5)
    @test @inferred(in(1, s)) && @inferred(in(1.0, s))
    @inferred push!(s, 3)
    @inferred delete!(s, 3)
    @test (@inferred pop!(s, 2)) == 2
    @test (@inferred first(s)) == 1 && (@inferred last(s)) == 1 && (@inferred collect(s)) == [1]
    @test (@inferred first_between(s, 0, 9)) == 1
    @test (@inferred d["a"]) == 1.5 && (@inferred get(d, "b", 2.5)) == 2.5 && @inferred(haskey(d, "a"))
    @test (@inferred get!(d, "c", 3.5)) == 3.5 && (@inferred pop!(d, "c")) == 3.5
    @test (@inferred first(d)) == ("a" => 1.5) && (@inferred collect(d)) == ["a" => 1.5]
    @test (@inferred collect(keys(d))) == ["a"] && (@inferred collect(values(d))) == [1.5]
    @inferred setindex!(d, 2.5, "a")
    @inferred copy(s)
    @inferred copy(d)
end

@testset "trim! returns what deleting left free of the order" begin
    for K in (Int, String), left in (0, 1, 1000)
        key(i) = K === Int ? i : string(i, pad = 6)
        s = SortedSet{K}(key(i) for i in 1:50_000)
        foreach(i -> delete!(s, key(i)), 1:50_000-left)
        trim!(s)
        @test Toft.tree_bytes(s.tree) < 3000 + 100 * left && collect(s) == key.(50_001-left:50_000) && sound(s)
        push!(s, key(1), key(60_000))
        @test length(s) == left + 2 && first(s) == key(1) && last(s) == key(60_000) && sound(s)
        @test Toft.tree_bytes(trim!(empty!(s)).tree) < 3000 && isempty(s) && sound(s)
    end
end
