# The columns of pools: of equal lengths, and views of the live elements.
# SPDX-License-Identifier: MIT OR Apache-2.0

all_equal(lengths) = all(==(first(lengths)), lengths)

@testset "columns stay together" begin
    for Kind in COLUMN_KINDS
        pool = Kind{Tuple{Int,Float32,String}}(nothing)
        indices = [allocateend!(pool, (k, Float32(k), string(k))) for k in 1:1000]
        for n in (900, 300, 100, 20, 3, 0)
            while length(pool) > n
                pool isa Toft.FreeListPool ? deallocate!(pool, pop!(indices)) :
                (deallocatebegin!(pool); popfirst!(indices))
            end
            trim!(pool)
            @test all_equal(column_lengths(pool))
            @test all(i -> pool[i][2] == pool[i][1] == pool[i, 2] && pool[i][3] == string(pool[i, 1]), indices)
        end
        pool = Kind{Point,Int32}(nothing)
        foreach(k -> allocateend!(pool, Point(k, k / 2)), 1:40)
        @test storage(pool, 1) isa Vector{Int} && length(storage(pool, :y)) == capacity(pool) > 40
        @test column(pool, 1) == 1:40 && column(pool, 2) == (1:40) / 2
        column(pool, :x)[7] = -7 # the column itself, not a copy
        @test pool[7] === Point(-7, 3.5)
        pool[8, 2] = 1
        @test pool[8] === Point(8, 1.0) && column(pool, :y)[8] === 1.0
        @test_throws ArgumentError column(pool, 3)
        @test_throws ArgumentError pool[1, 0]
        @test_throws ArgumentError pool[1, 3]
        @test_throws ArgumentError pool[1, 3] = 1
        @test_throws Exception pool[1, :z]
        @test_throws BoundsError pool[41, 1]
    end
    for Kind in (Allocator, FreeListAllocator), f in (column, storage)
        @test occursin("Allocator has no columns", sprint(showerror, thrown(f, Kind{Point}(1), 1)))
    end
end

# A step of a pool whose elements are a number and its half.
function any_step!(rng, pool, live, k)
    full, dice = capacity(pool) == length(pool) && Toft.is_fixed(pool), rand(rng, 1:100)
    if dice <= 2
        rand(rng, Bool) ? emptyend!(pool) : emptybegin!(pool)
        empty!(live)
    elseif dice <= 6
        trim!(pool)
    elseif dice <= 55 && !full
        push!(live, (rand(rng) < 0.8 ? allocateend! : allocatebegin!)(pool, (x = k, y = k / 2)))
    elseif !isempty(live)
        by_index = pool isa Toft.FreeListPool
        i = rand(rng, by_index ? live : (pool.first, pool.last))
        by_index ? deallocate!(pool, i) : i == pool.last ? deallocateend!(pool) : deallocatebegin!(pool)
        delete!(live, i)
    end
end

@testset "a column is that of the live elements, or refused" begin
    for Kind in (Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator), n in (0, 1, 10, nothing), seed in 1:4
        pool = Kind{NamedTuple{(:x, :y),Tuple{Int,Float64}}}(n)
        rng, live, seen = MersenneTwister(seed), Set{Int}(), Dict(true => 0, false => 0)
        for k in 1:ifelse(Kind in (SOAllocator, FreeListSOAllocator), 1000, 50)
            any_step!(rng, pool, live, k)
            indices = collect(eachindex(pool))
            one_range = all(==(1), diff(indices))
            is_columns(Kind) || must(throws(ArgumentError, column, pool, 1), "a column of rows")
            if is_columns(Kind)
                one_range &= !(pool isa Toft.FreeListPool) || pool.used.contiguous && pool.used.free_count == 0
                seen[one_range] += 1
                y = one_range ? column(pool, :y) : thrown(column, pool, :y)
                must(one_range ? y == [e.y for e in pool] && sum(y) == mapreduce(e -> e.y, +, pool; init=0.0) :
                     y isa ArgumentError && occursin("Toft.storage(pool, j)", y.msg), "column of ", indices, ": ", y)
                must(all(i -> storage(pool, 1)[i] == pool[i].x, indices), "storage")
            end
        end
        is_columns(Kind) && n in (10, nothing) && @test minimum(values(seen)) > 10
    end
end

@testset "a column of 10^6, without garbage" begin
    for Kind in (SOAllocator, FreeListSOAllocator)
        pool = Kind{Tuple{Int,Float64}}(nothing)
        foreach(k -> allocateend!(pool, (k, k / 2)), 1:1_000_000)
        @test length(column(pool, 1)) == 1_000_000 && sum(column(pool, 2)) == sum(e[2] for e in pool)
        total(pool) = sum(column(pool, 2))
        total(pool)
        @test @allocated(total(pool)) <= 64 # the result
    end
end
