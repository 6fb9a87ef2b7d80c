# Pools against models under random streams, and the contract of each operation, one by one.
# SPDX-License-Identifier: MIT OR Apache-2.0

@testset "streams of operations" begin
    steps = stream_length(250)
    @testset "$T" for (k, (T, make)) in enumerate(ELEMENTS)
        for (kind, Kind) in enumerate(KINDS)
            is_columns(Kind) && fieldcount_or_0(T) == 0 && continue
            k == 3 || goes_with(k, kind) || fieldcount_or_0(T) == 0 && goes_with(k + 1, kind) || continue
            @test stream(1, Kind{T}(nothing), Int, typemax(Int), false, make, steps)
            @test stream(2, Kind{T}(5), Int, 5, true, make, steps)
        end
    end
    T, make = ELEMENTS[3]
    less_often = ALL_TYPES ? (Int16, Int32, UInt16, UInt64, UInt128) : ()
    @testset "indices of type $I" for I in (Int8, UInt8, UInt32, Int128, less_often...)
        for Kind in (ALL_TYPES ? KINDS : I === UInt8 ? (Allocator, FreeListSOAllocator) : (Allocator,))
            most = Int(min(typemax(I), typemax(Int) >> 1))
            @test stream(3, Kind{T,I}(nothing), I, most, false, make, steps)
            @test stream(4, Kind{T,I}(17), I, 17, true, make, steps)
        end
    end
    @testset "$n slots" for n in (0, 1, 2, 3, 4, 16, 17)
        for Kind in KINDS
            @test stream(n, Kind{T}(n), Int, n, true, make, steps)
        end
    end
    @testset "some slots left out" begin # until the pool is emptied: so no stream, which empties it
        for Kind in KINDS, (n, init) in ((5, 2), (nothing, 2), (nothing, 16), (nothing, 40), (3, 3), (3, 0))
            pool = Kind{Tuple{Int}}(n, init)
            most = n === nothing ? 100 : n - init
            @test isempty(pool) && (n === nothing || capacity(pool) == most)
            @test [allocateend!(pool, (k,)) for k in 1:most] == init .+ (1:most)
            n === nothing || @test_throws PoolFullError allocateend!(pool, (0,))
            @test all(k -> pool[init+k] == (k,), 1:most)
            init == 0 || @test_throws BoundsError pool[init]
            @test !isvalid(pool, init)
            emptyend!(pool)
            @test allocateend!(pool, (1,)) == 1
            n === nothing || @test capacity(pool) == n
        end
    end
end

@testset "a long stream through the pool of kind $k" for (k, Kind) in enumerate(KINDS)
    # Big enough for several growths and many rounds through the runs; the model is checked in part at each step.
    function through(rng, pool, grows, steps)
        order = Pair{Int,Tuple{Int,Int32}}[]
        high = 0
        for step in 1:steps
            up = (step ÷ 3000) % 2 == 0 ? 0.6 : 0.4
            at_end = rand(rng, Bool)
            if rand(rng) < up && (grows || length(order) < capacity(pool))
                value = (step, step % Int32)
                i = at_end ? allocateend!(pool, value) : allocatebegin!(pool, value)
                at_end ? push!(order, i => value) : pushfirst!(order, i => value)
            elseif !isempty(order)
                if pool isa Toft.FreeListPool
                    k = rand(rng, 1:length(order))
                    deallocate!(pool, first(order[k]))
                    order[k] = order[end]
                    pop!(order)
                else
                    at_end ? deallocateend!(pool) : deallocatebegin!(pool)
                    at_end ? pop!(order) : popfirst!(order)
                end
            end
            high = max(high, length(order))
            must(length(pool) == length(order), "length at step ", step)
            isempty(order) && continue
            for (i, value) in (order[1], order[end], rand(rng, order))
                must(pool[i] == value, "slot ", i, " at step ", step)
            end
        end
        must(allunique(first.(order)), "an index twice")
        must(all(pair -> pool[first(pair)] == last(pair), order), "values")
        pool isa Toft.DequePool && must(collect(pool) == last.(order), "order")
        grows && must(capacity(pool) <= max(16, 2high), "capacity ", capacity(pool), " for ", high)
        return high
    end
    steps = stream_length(30_000)
    @test through(MersenneTwister(5), Kind{Tuple{Int,Int32}}(nothing), true, steps) > 400
    @test through(MersenneTwister(6), Kind{Tuple{Int,Int32},Int32}(1000), false, steps) > 400
end

# ---- One by one ----

@testset "indices as they are promised" begin
    for Kind in KINDS
        pool = Kind{Tuple{Int}}(4)
        @test [allocateend!(pool, (k,)) for k in 1:4] == 1:4
        emptyend!(pool)
        @test allocateend!(pool, (1,)) === 1
        emptybegin!(pool)
        @test [allocatebegin!(pool, (k,)) for k in 1:4] == 4:-1:1
        emptyend!(pool)
        @test allocatebegin!(pool, (1,)) === 4 # the ring goes around
        @test allocateend!(pool, (2,)) === 1
        emptybegin!(pool)
        @test isempty(pool) && capacity(pool) == 4
    end
end

@testset "a full pool says so, and is as it was" begin
    for Kind in KINDS, allocate in (allocateend!, allocatebegin!)
        pool = Kind{Tuple{Int,String}}(4)
        indices = [allocate(pool, (k, string(k))) for k in 1:4]
        @test length(pool) == capacity(pool) == 4
        @test_throws PoolFullError(4) allocate(pool, (5, "5")) # the fifth in a pool of four
        @test_throws PoolFullError(4) allocate(pool)
        @test sort(indices) == 1:4 && length(store(pool)) == 4
        @test [pool[i] for i in indices] == [(k, string(k)) for k in 1:4]
        @test length(pool) == 4 && length(collect(pool)) == 4
    end
    for Kind in KINDS
        pool = Kind{Tuple{UInt8},UInt8}(nothing)
        @test [allocateend!(pool, (k % UInt8,)) for k in 1:255] == 1:255
        for _ in 1:2
            @test_throws PoolFullError(255) allocateend!(pool, (0x00,))
            @test_throws PoolFullError(255) allocatebegin!(pool, (0x00,))
        end
        @test capacity(pool) == length(pool) == 255
        @test [pool[i] for i in 0x01:0xff] == [(k,) for k in 0x01:0xff]
        pool isa Toft.FreeListPool ? deallocate!(pool, 0xff) : deallocateend!(pool)
        @test allocateend!(pool, (0x07,)) === 0xff
        @test pool[0xff] === (0x07,)
    end
    pool = Allocator{Int,Int8}(nothing)
    foreach(k -> allocatebegin!(pool, k), 1:127)
    @test_throws PoolFullError(127) allocatebegin!(pool, 0)
    @test sort(collect(eachindex(pool))) == 1:127 && collect(pool) == 127:-1:1
    # a value that does not convert takes no slot
    pool = FreeListAllocator{Int}(2)
    @test_throws InexactError allocateend!(pool, 1.5)
    @test_throws MethodError allocatebegin!(pool, "no")
    @test isempty(pool)
    @test allocateend!(pool, 1.0) === 1 && pool[1] === 1
    @test_throws InexactError pool[1] = 2.5
    @test pool[1] === 1
    pool = SOAllocator{Point}(2)
    allocateend!(pool, Point(1, 2))
    @test_throws InexactError pool[1, :x] = 1.5
    @test_throws MethodError pool[1] = (1, 2.0)
    @test pool[1] === Point(1, 2)
end

# Growth fails as it does where memory ends: with an exception from resize!. (Not that of a free-list pool's flags: a
# Vector of a union grows also while it shares its memory.)
@testset "a pool that cannot grow is as it was" begin
    parts(pool) = store(pool) isa Columns ? store(pool).vectors : (store(pool),)
    frees(pool) = pool.generations.frees # there since the first handle
    vectors(pool) = pool isa Toft.FreeListPool ? (parts(pool)..., pool.free, frees(pool)) : parts(pool)
    for Kind in (CAN_SHARE ? KINDS : ()), allocate in (allocateend!, allocatebegin!)
        for k in eachindex(vectors(Kind{Tuple{Int,String}}(nothing)))
            pool = Kind{Tuple{Int,String}}(nothing)
            values = [(j, string(j)) for j in 1:16]
            indices = [allocate(pool, x) for x in values]
            pool isa Toft.FreeListPool && handle(pool, indices[1])
            order = collect(eachindex(pool))
            shared = share!(vectors(pool)[k])
            for _ in 1:3
                @test_throws ErrorException allocate(pool, (17, "17"))
                @test length(pool) == 16 && collect(eachindex(pool)) == order && [pool[i] for i in indices] == values
                @test all(==(column_lengths(pool)[1]), column_lengths(pool))
                @test !any(i -> isvalid(pool, i), 17:64) && throws(BoundsError, getindex, pool, 17)
            end
            @test length(shared) == 16
            pool isa Toft.FreeListPool ? deallocate!(pool, indices[7]) : deallocateend!(pool)
            i = allocate(pool, (0, "0")) # there is room for this one
            @test length(pool) == 16 && pool[i] == (0, "0")
            pool isa Toft.FreeListPool && vectors(pool)[k] === frees(pool) || continue
            pool.generations.frees = copy(frees(pool)) # there is memory again
            i = allocate(pool, (18, "18"))
            @test pool[i] == (18, "18") && length(pool) == 17 && isvalid(pool, i) && !(i in indices)
        end
    end
end

@testset "an element with an undefined field takes no slot of columns" begin
    for Kind in COLUMN_KINDS, allocate in (allocateend!, allocatebegin!)
        pool = Kind{Unfinished}(2)
        @test_throws UndefRefError allocate(pool, Unfinished(1))
        @test isempty(pool) && isempty(collect(eachindex(pool)))
    end
    pool = Allocator{Unfinished}(2)
    @test pool[allocateend!(pool, Unfinished(7))].number == 7
end

@testset "a fixed pool is a ring" begin
    for Kind in END_KINDS
        pool = Kind{Tuple{Int}}(4)
        allocateend!(pool, (0,))
        for k in 1:1000
            allocateend!(pool, (k,))
            must(pool[pool.first] == (k - 1,), "first")
            deallocatebegin!(pool)
        end
        @test collect(pool) == [(1000,)]
        for k in 1:1000
            allocatebegin!(pool, (k,))
            deallocateend!(pool)
        end
        @test collect(pool) == [(1000,)] && capacity(pool) == 4
        @test length(store(pool)) == 4
    end
end

@testset "growth at the front moves no index" begin
    for Kind in KINDS, I in (Int, Int32)
        pool = Kind{Tuple{Int,Int},I}(nothing)
        indices = [allocatebegin!(pool, (111, -111)) for _ in 1:1]
        append!(indices, [allocatebegin!(pool, (k, -k)) for k in 2:1000])
        @test pool[indices[1]] == (111, -111)
        @test all(k -> pool[indices[k]] == (k, -k), 2:1000)
        @test allunique(indices)
        pool isa Toft.DequePool && @test collect(eachindex(pool)) == reverse(indices)
        append!(indices, [allocateend!(pool, (k, -k)) for k in 1001:3000])
        @test all(k -> pool[indices[k]] == (k, -k), 2:3000) && allunique(indices)
    end
end

include("columns.jl")

@testset "fields of whole elements" begin
    for Kind in (Allocator, FreeListAllocator)
        pool = Kind{Nested}(2)
        i = allocateend!(pool, Nested(Point(1, 2.0), 'a'))
        pool[i, :tag] = 'b'
        pool[i, 1] = Point(3, 4.0)
        @test pool[i] === Nested(Point(3, 4.0), 'b') && pool[i, 2] === 'b'
        pool = Kind{Positive}(2)
        i = allocateend!(pool, Positive(4))
        pool[i, 2] = 9.0
        @test pool[i, :value] === 4 && pool[i, :twice] === 9
        pool = Kind{Mixed}(2)
        i = allocateend!(pool, Mixed(1, "one", nothing))
        pool[i, :small] = 3
        @test pool[i] === Mixed(1, "one", Int8(3))
        @test_throws ArgumentError pool[i, 4]
        @test_throws BoundsError Kind{Int}(1, 1)[1, 1] = 1
        box = Kind{Box}(1)
        i = allocateend!(box, Box(1))
        @test_throws ArgumentError box[i, :value] # of a mutable element: box[i].value
        @test_throws ArgumentError box[i, :value] = 2
        number = Kind{Int}(1)
        allocateend!(number, 1)
        @test_throws ArgumentError number[1, 1]
        @test_throws ArgumentError number[1, 1] = 1
    end
end

@testset "handles of other pools" begin
    for Kind in FREE_KINDS
        p, q = Kind{Tuple{Int,Int}}(4), Kind{Tuple{Int,Int}}(4)
        h, i = handle(p, allocateend!(p, (1, 2))), allocateend!(q, (3, 4))
        @test !isvalid(q, h) && throws(StaleIndexError, getindex, q, h) && throws(StaleIndexError, deallocate!, q, h)
        @test p[h] == deepcopy(p)[h] == (1, 2) && q[handle(q, i)] == (3, 4)
        emptyend!(q)
        @test !isvalid(q, h)
    end
end

@testset "stale indices and handles" begin
    for Kind in FREE_KINDS, I in (Int, UInt16)
        pool = Kind{Tuple{Int,Int},I}(4)
        i = allocateend!(pool, (1, 1))
        k = allocateend!(pool, (2, 2))
        h = handle(pool, i)
        @test h isa Handle{I} && pool[h] == (1, 1) && pool[h, 2] == 1
        deallocate!(pool, i)
        @test_throws StaleIndexError(i) deallocate!(pool, i) # a second time
        @test_throws StaleIndexError(i) pool[i]
        @test_throws StaleIndexError(h) pool[h]
        @test length(pool) == 1 && pool[k] == (2, 2)
        @test allocateend!(pool, (3, 3)) === i # the same slot, another generation
        @test pool[i] == (3, 3) && isvalid(pool, i) && !isvalid(pool, h)
        @test_throws StaleIndexError(h) pool[h]
        @test_throws StaleIndexError(h) pool[h] = (4, 4)
        @test_throws StaleIndexError(h) pool[h, 1] = 4
        @test_throws StaleIndexError(h) deallocate!(pool, h)
        @test pool[i] == (3, 3) && length(pool) == 2
        # a slot that is freed twice does not get two owners
        @test allocateend!(pool, (5, 5)) != allocateend!(pool, (6, 6))
        @test_throws PoolFullError allocateend!(pool, (7, 7))
        @test_throws BoundsError pool[0]
        @test_throws BoundsError pool[5]
        @test_throws MethodError deallocateend!(pool)
        @test_throws MethodError deallocatebegin!(pool)
    end
    # A generation outlives emptying and trimming, in each state of the slot.
    for Kind in FREE_KINDS, clear in (emptyend!, emptybegin!, trim!), given_back in (false, true)
        pool = Kind{Tuple{Int}}(nothing)
        indices = [allocateend!(pool, (k,)) for k in 1:100]
        handles = [handle(pool, i) for i in indices]
        given_back || clear === trim! ? foreach(i -> deallocate!(pool, i), indices) : nothing
        clear(pool)
        clear === trim! && @test capacity(pool) == 16
        @test isempty(pool) && !any(h -> isvalid(pool, h), handles)
        @test thrown(getindex, pool, handles[100]) isa StaleIndexError
        again = [allocateend!(pool, (-k,)) for k in 1:100]
        @test !any(h -> isvalid(pool, h), handles)
        @test all(k -> pool[again[k]] == (-k,), 1:100)
        fresh = [handle(pool, i) for i in again]
        @test all(h -> isvalid(pool, h), fresh) && isempty(intersect(fresh, handles))
    end
    @test Handle{Int}(1, 3) == Handle{Int}(1, 3) && isbitstype(Handle{Int32}) && sizeof(Handle{Int32}) == 8
end

# ---- References ----

# Made here and nowhere else, so that nothing but the pool keeps it.
@noinline function filled(@nospecialize(make), @nospecialize(pool), allocate)
    refs = WeakRef[]
    for k in 1:20
        box = Box(k)
        push!(refs, WeakRef(box))
        allocate(pool, make(box))
    end
    return refs
end

struct Holder
    number::Int
    box::Box
end

@testset "references: what is freed is not kept alive" begin
    makes = Any[Union{Nothing,Box} => identity, Holder => b -> Holder(1, b), Tuple{Int,Box,Any} => b -> (1, b, b)]
    ALL_TYPES && append!(makes, [Box => identity, Any => identity, NamedTuple{(:a,),Tuple{Box}} => b -> (a = b,),
                                 Tuple{Tuple{Int,Box}} => b -> ((1, b),)])
    filled_pools = []
    ways = ((nothing, allocateend!), (20, allocatebegin!), (nothing, allocatebegin!))
    for (T, make) in makes, Kind in KINDS, (n, allocate) in ways
        is_columns(Kind) && fieldcount_or_0(T) == 0 && continue
        pool = Kind{T}(n)
        push!(filled_pools, (pool, filled(make, pool, allocate), make, allocate))
    end
    @test length(filled_pools) == (ALL_TYPES ? 66 : 15)
    function kept(n)
        GC.gc()
        for (pool, refs) in filled_pools
            found = count(r -> r.value !== nothing, refs)
            must(found == n == length(pool), typeof(pool), ": ", found, " are kept of ", length(pool))
        end
        return true
    end
    @test kept(20)
    for (pool, _) in filled_pools
        if pool isa Toft.FreeListPool
            foreach(i -> deallocate!(pool, i), collect(eachindex(pool))[1:8])
        else
            foreach(_ -> deallocateend!(pool), 1:4)
            foreach(_ -> deallocatebegin!(pool), 1:4)
        end
    end
    @test kept(12)
    foreach(entry -> trim!(entry[1]), filled_pools)
    @test kept(12)
    for (k, (pool, _)) in enumerate(filled_pools)
        isodd(k) ? emptyend!(pool) : emptybegin!(pool)
    end
    @test kept(0)
    map!(filled_pools, filled_pools) do (pool, _, make, allocate)
        (pool, filled(make, pool, allocate), make, allocate)
    end
    @test kept(20)
    for (k, (pool, _)) in enumerate(filled_pools) # as soon as it is full, with nothing freed
        isodd(k) ? emptybegin!(pool) : emptyend!(pool)
    end
    @test kept(0)
    # a slot that was taken and not set yet has no old value
    for Kind in KINDS
        pool = Kind{Tuple{Int,Any}}(1)
        allocateend!(pool, (1, [1]))
        pool isa Toft.FreeListPool ? deallocate!(pool, 1) : deallocateend!(pool)
        @test allocateend!(pool) === 1
        @test_throws UndefRefError pool[1]
        pool[1] = (2, "set")
        @test pool[1] == (2, "set")
    end
end

# ---- Checks, and how to do without ----

read_unchecked(pool, i) = @inbounds pool[i]
read_unchecked(pool, i, j) = @inbounds pool[i, j]
write_unchecked!(pool, value, i) = @inbounds pool[i] = value
write_unchecked!(pool, x, i, j) = @inbounds pool[i, j] = x

@testset "@inbounds leaves the check out" begin
    for Kind in KINDS
        pool = Kind{Tuple{Int,Int}}(4)
        allocateend!(pool, (1, 10))
        allocateend!(pool, (2, 20))
        pool isa Toft.FreeListPool ? deallocate!(pool, 2) : deallocateend!(pool)
        E = pool isa Toft.FreeListPool ? StaleIndexError : BoundsError
        @test_throws E pool[2]
        if ALWAYS_CHECKED
            @test_throws E read_unchecked(pool, 2)
            @test_throws E read_unchecked(pool, 2, 1)
            @test_throws E write_unchecked!(pool, (3, 30), 2)
            @test_throws E write_unchecked!(pool, 3, 2, 1)
        else
            @test read_unchecked(pool, 2) == (2, 20) # dead, but in the store
            @test read_unchecked(pool, 2, 2) == 20
            write_unchecked!(pool, (3, 30), 2)
            write_unchecked!(pool, 4, 2, 1)
            @test read_unchecked(pool, 2) == (4, 30)
        end
        @test read_unchecked(pool, 1) == (1, 10) && read_unchecked(pool, 1, 2) == 10
    end
    for Kind in FREE_KINDS
        pool = Kind{Tuple{Int,Int}}(4)
        h = handle(pool, allocateend!(pool, (1, 10)))
        deallocate!(pool, h)
        allocateend!(pool, (2, 20))
        if ALWAYS_CHECKED
            @test_throws StaleIndexError read_unchecked(pool, h)
        else
            @test read_unchecked(pool, h) == (2, 20)
        end
    end
end

@testset "what a pool cannot be made of" begin
    for Kind in KINDS
        T = Tuple{Int}
        @test_throws ArgumentError Kind{T}(-1)
        @test_throws ArgumentError Kind{T,Int8}(128)
        @test_throws ArgumentError Kind{T,UInt8}(256)
        @test capacity(Kind{T,UInt8}(255)) == 255
        @test_throws ArgumentError Kind{T}(4, 5)
        @test_throws ArgumentError Kind{T}(4, -1)
        @test_throws ArgumentError Kind{T}(nothing, -1)
        @test_throws ArgumentError Kind{T,Int8}(nothing, 128)
        @test_throws ArgumentError Kind{T,Bool}(1)
        @test_throws ArgumentError Kind{T,BigInt}(1)
        @test eltype(Kind{T}(1)) === T && eltype(Kind{T,Int8}(nothing)) === T
        @test Kind{T}(1) isa AbstractPool{T,Int} && Kind{T,UInt32}(1) isa Kind{T,UInt32}
        @test Kind{T}(1) isa Kind
    end
    for Kind in COLUMN_KINDS, T in (Int, String, Any, Box, Empty, Tuple{}, Union{Int,Nothing}, Real)
        @test_throws ArgumentError Kind{T}(4)
    end
    for Kind in COLUMN_KINDS
        T = Tuple{Int,String}
        slots = Columns{T}(3)
        @test slots isa Columns{T} && length(slots) == 3
        @test Kind{T,Int,typeof(slots)}(slots, 3) isa Kind{T,Int}
        @test capacity(Kind{T,Int32,typeof(slots)}(slots, nothing)) == 3
        @test_throws ArgumentError Kind{T,Int,typeof(slots)}(slots, 4)
        @test_throws ArgumentError Kind{T,Int,typeof(slots)}(slots, 2)
    end
    # a store of the caller's may be empty, and grow from there
    slots = Columns{Tuple{Int}}(0)
    pool = SOAllocator{Tuple{Int},Int,typeof(slots)}(slots, nothing)
    @test [allocateend!(pool, (k,)) for k in 1:40] == 1:40 && collect(pool) == [(k,) for k in 1:40]
end

@testset "Columns" begin
    c = Columns{Point}(3)
    c[1], c[2], c[3] = Point(1, 1), Point(2, 2), Point(3, 3)
    @test size(c) == (3,) && c == [Point(1, 1), Point(2, 2), Point(3, 3)]
    @test c.vectors == ([1, 2, 3], [1.0, 2.0, 3.0])
    @test_throws BoundsError c[0]
    @test_throws BoundsError c[4]
    @test_throws BoundsError c[4] = Point(1, 1)
    @test_throws ArgumentError Columns{Int}(3)
    @test_throws ArgumentError Columns{Point}(-1)
    # an inner constructor is not called, nor needed
    c = Columns{Positive}(1)
    c[1] = Positive(7)
    @test c[1] === Positive(7)
end

# ---- Memory ----

@testset "trim! gives memory back" begin
    for Kind in KINDS
        pool = Kind{Tuple{Int,Float64}}(nothing)
        indices = [allocateend!(pool, (k, Float64(k))) for k in 1:10_000]
        full = Base.summarysize(store(pool))
        while length(pool) > 10
            pool isa Toft.FreeListPool ? deallocate!(pool, pop!(indices)) : (deallocateend!(pool); pop!(indices))
        end
        @test Base.summarysize(store(pool)) == full # kept until a trim
        trim!(pool)
        @test Base.summarysize(store(pool)) < 1000
        @test capacity(pool) == 16 && all(k -> pool[indices[k]] == (k, k), 1:10)
        @test [allocateend!(pool, (k, 0.0)) for k in 11:100] == 11:100
        # one live slot at a high index keeps those below
        kept_index = 100
        pool isa Toft.FreeListPool ? foreach(i -> deallocate!(pool, i), 1:99) :
        foreach(_ -> deallocatebegin!(pool), 1:99)
        trim!(pool)
        @test pool[kept_index] == (100, 0.0) && capacity(pool) == 100
        @test sort([allocateend!(pool, (0, 0.0)) for _ in 1:99]) == 1:99 # and those below are used again
        emptyend!(pool)
        trim!(pool)
        @test capacity(pool) == 16
        # a fixed one keeps its size
        pool = Kind{Tuple{Int,Float64}}(100)
        trim!(pool)
        @test capacity(pool) == 100
        # live slots that go around are kept, and read as before
        pool = Kind{Tuple{Int,Float64}}(nothing)
        high, low = allocatebegin!(pool, (1, 1.0)), allocateend!(pool, (2, 2.0))
        trim!(pool)
        @test pool[high] == (1, 1.0) && pool[low] == (2, 2.0)
    end
end

function rounds(pool, value, n)
    total = 0
    for _ in 1:3
        for k in 1:n
            i = isodd(k) ? allocateend!(pool, value) : allocatebegin!(pool, value)
            pool[i] = value
            total += i + pool[i][1]
        end
        if pool isa Toft.FreeListPool
            i = pool.used.first
            deallocate!(pool, i)
            deallocate!(pool, handle(pool, allocateend!(pool, value)))
        else
            deallocateend!(pool)
            deallocatebegin!(pool)
        end
        emptyend!(pool)
    end
    return total
end

function stack_rounds(pool, value, n)
    for _ in 1:3
        foreach(_ -> allocateend!(pool, value), 1:n)
        foreach(_ -> deallocateend!(pool), 1:n)
    end
    return length(pool)
end

function free_rounds(pool, value, n)
    for _ in 1:3
        foreach(_ -> allocateend!(pool, value), 1:n)
        foreach(i -> deallocate!(pool, i), 1:n)
    end
    return length(pool)
end

steady(pool::Toft.DequePool, value, n) = stack_rounds(pool, value, n)
steady(pool::Toft.FreeListPool, value, n) = free_rounds(pool, value, n)

garbage(f, pool, value, n) = (f(pool, value, n); f(pool, value, n); @allocated f(pool, value, n))

@testset "no garbage in a steady state" begin
    for Kind in KINDS, n in (nothing, 1000), f in (rounds, steady)
        # the rest is of the call, the pool's type not being known here
        @test garbage(f, Kind{Tuple{Int,Float64}}(n), (1, 2.0), 1000) <= 64
    end
end

first_field(pool, i) = pool[i, 1]
set_first_field!(pool, x, i) = setindex!(pool, x, i, 1)
second_column(pool) = column(pool, 2)

@testset "types are inferred" begin
    for Kind in KINDS, I in (Int, UInt32)
        pool = Kind{Tuple{Int,String},I}(nothing)
        i = @inferred allocateend!(pool, (1, "a"))
        @test i === I(1)
        @test (@inferred allocatebegin!(pool, (2, "b"))) isa I
        @inferred pool[i]
        @inferred first_field(pool, i)
        @inferred setindex!(pool, (3, "c"), i)
        @inferred set_first_field!(pool, 4, i)
        @test pool[i] == (4, "c")
        @test (@inferred length(pool)) === 2
        @test !(@inferred isempty(pool))
        @inferred capacity(pool)
        @inferred isvalid(pool, i)
        @test (@inferred collect(eachindex(pool))) isa Vector{I}
        @test (@inferred collect(pool)) isa Vector{Tuple{Int,String}}
        if pool isa Toft.FreeListPool
            h = @inferred handle(pool, i)
            @inferred pool[h]
            @inferred setindex!(pool, (5, "e"), h)
            @inferred deallocate!(pool, h)
        else
            @inferred deallocate!(pool, i)
            @inferred deallocateend!(pool)
            @inferred deallocatebegin!(pool)
        end
        @test (@inferred allocateend!(pool)) isa I
        @inferred emptyend!(pool)
        @inferred emptybegin!(pool)
        @inferred trim!(pool)
        is_columns(Kind) && @test (@inferred second_column(pool)) isa SubArray{String,1}
    end
end

@testset "how pools and their exceptions read" begin
    pool = FreeListSOAllocator{Tuple{Int,Int},Int32}(4)
    allocateend!(pool, (1, 2))
    @test sprint(show, pool) == "FreeListSOAllocator{Tuple{Int64,Int64}, Int32}: 1 of 4 slots live" ||
          sprint(show, pool) == "FreeListSOAllocator{Tuple{Int64, Int64}, Int32}: 1 of 4 slots live"
    @test startswith(sprint(show, MIME"text/plain"(), Allocator{Int}(2)), "Allocator{Int64, Int64}: 0 of 2")
    @test startswith(sprint(show, SOAllocator{Tuple{Int}}(2)), "SOAllocator{")
    @test startswith(sprint(show, FreeListAllocator{Int}(2)), "FreeListAllocator{")
    @test occursin("4", sprint(showerror, PoolFullError(4)))
    @test occursin("17", sprint(showerror, StaleIndexError(17)))
    @test occursin("17", sprint(showerror, thrown(getindex, pool, 17)))
    if VERSION < v"1.6-" # later releases print the names of constants by themselves
        for T in (Allocator{Int,Int8}, FreeListAllocator{Int,Int8}, concretetype(SOAllocator{Tuple{Int}}), List{Int},
                  concretetype(FreeListSOAllocator{Point}), Stack{Int}, Queue{Int}, SortedSet{Int}, SortedDict{Int,Any})
            @test eval(Meta.parse(string(T))) === T && !occursin(r"Generic|Pool|Cell", string(T))
        end
        @test all(T -> occursin(" where ", string(T)), (Allocator, SOAllocator, List, SortedDict{Int}))
        @test occursin("access Allocator{Int64,Int64}", sprint(showerror, thrown(getindex, Allocator{Int}(2), 1)))
    end
    @test occursin("SOAllocator has no handles", sprint(showerror, thrown(handle, SOAllocator{Tuple{Int}}(1), 1)))
end
