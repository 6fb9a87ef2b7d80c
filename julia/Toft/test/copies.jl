# Copies that do not call a constructor of the package: deepcopy, Serialization, copymutable. Each is equal and
# independent, or an ArgumentError; none refers to memory that it does not have.
# SPDX-License-Identifier: MIT OR Apache-2.0
module CopyTests

using Serialization, Test, Toft
using Toft: GenericList, GenericQueue, GenericStack, List, Mark, Queue, SortedDict, SortedSet, Stack,
            alloc,
    between, handle, report, scope, stats

function round_trip(x)
    io = IOBuffer()
    serialize(io, x)
    seekstart(io)
    return deserialize(io)
end

struct Holder
    x::Any
end
mutable struct MutableHolder{T}
    x::T
end

const COPIES = (round_trip, deepcopy)

@testset "what refers to an arena is refused" begin
    a = Arena()
    A, S, D = ArenaArray(a, [1, 2, 3]), ArenaSet(a, [1, 2]), ArenaDict(a, [1 => 2.0])
    M = ArenaArray(a, [1.0 2.0; 3.0 4.0])
    for x in (a, a.lifetime, A, M, view(A, 1:2), reshape(M, 4), M', view(M, :, 1), S, D, D.table, ArenaSet{Int}(a),
              keys(D), values(D), ArenaArray{Int}(a, undef, 0), pairs(A), enumerate(A), zip(A, A),
              (i for i in A))
        live = stats(a).live
        holders = (x, Holder(x), MutableHolder(x), Any[x], [x], (1, x), Dict(1 => x), Ref(x), () -> x)
        for copy_of in COPIES, held in holders
            @test_throws ArgumentError copy_of(held)
        end
        @test stats(a).live == live
    end
    @test A == [1, 2, 3] && S == Set([1, 2]) && D == Dict(1 => 2.0)
    release!(a)
    for x in (a, A, S, D), copy_of in COPIES
        @test_throws ArgumentError copy_of(x)
    end
end

# A mark is bits, and stays one of its arena.
@testset "marks" begin
    a, b = Arena(), Arena()
    m = mark(a)
    for copy_of in COPIES
        alloc(a, 100)
        @test copy_of(m) === m && copy_of([m]) == [m]
        rewind!(a, copy_of([m])[1])
        @test stats(a).live == 0
        @test_throws ArenaError rewind!(b, copy_of(m))
    end
    # those of other processes have other numbers, at any address
    code = "using Toft; print(mark(Arena()).generation)"
    run_here = `$(Base.julia_cmd()) --startup-file=no --project=$(Base.active_project()) -e $code`
    others = [parse(UInt, read(run_here, String)) for _ in 1:2]
    @test others[1] != others[2] && mark(Arena()).generation ∉ others
end

@testset "copies of Base's types" begin
    a = Arena()
    A, S, D = ArenaArray(a, [3, 1, 2]), ArenaSet(a, [1, 2]), ArenaDict(a, [1 => 2.0])
    for copy_of in (copy, Base.copymutable)
        @test copy_of(A) isa Vector{Int} && copy_of(A) == [3, 1, 2]
        @test copy_of(S) isa Set{Int} && copy_of(S) == Set([1, 2])
    end
    @test copy(D) isa Dict{Int,Float64} && copy(D) == Dict(1 => 2.0)
    @test sort(A) == [1, 2, 3] && A == [3, 1, 2] # by copymutable
    kept = (copy(A), copy(S), copy(D))
    release!(a)
    @test kept == ([3, 1, 2], Set([1, 2]), Dict(1 => 2.0))
    @test round_trip(kept) == kept
end

# Lists, pools and sorted collections are memory of Julia's.
@testset "pools and collections are copied whole" begin
    kinds = (Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator)
    for kind in kinds, T in (Tuple{Int,String}, Tuple{Int,Float64})
        pool = kind{T}(nothing, 4)
        element(i) = T === Tuple{Int,String} ? (i, string(i)) : (i, i / 2)
        slots = [allocateend!(pool, element(i)) for i in 1:20]
        kind in (FreeListAllocator, FreeListSOAllocator) ? deallocate!(pool, slots[end]) : deallocateend!(pool)
        for copy_of in COPIES
            other = copy_of(pool)
            @test typeof(other) === typeof(pool) && all(i -> other[slots[i]] == element(i), 1:19)
            other[slots[1]] = element(100)
            slot = allocateend!(other, element(7))
            @test pool[slots[1]] == element(1) && other[slot] == element(7)
        end
        if kind in (FreeListAllocator, FreeListSOAllocator)
            h, stale = handle(pool, slots[2]), handle(pool, slots[3])
            deallocate!(pool, stale)
            for copy_of in COPIES # a handle and its pool
                other, g, s = copy_of((pool, h, stale))
                @test other[g] == element(2)
                @test_throws StaleIndexError other[s]
            end
        end
    end
    list, stack, queue = List{Int}(), Stack{Int}(), Queue{Int}()
    for i in 1:50
        pushfirst!(list, i), push!(stack, i), push!(queue, i)
    end
    sorted, words = SortedSet(1:500), SortedDict(string(i) => i for i in 1:500)
    for copy_of in COPIES
        @test collect(copy_of(list)) == 50:-1:1 && collect(list) == 50:-1:1
        other = copy_of((stack, queue))
        @test [pop!(other[1]) for _ in 1:50] == 50:-1:1 && [popfirst!(other[2]) for _ in 1:50] == 1:50
        @test length(stack) == length(queue) == 50
        s, d = copy_of(sorted), copy_of(words)
        @test s == Set(1:500) && collect(s) == 1:500 && collect(d) == collect(words)
        delete!(s, 7)
        d["new"] = 1
        @test 7 in sorted && !haskey(words, "new") && d["new"] == 1 && 8 in s
        @test collect(copy_of(between(sorted, 3, 6))) == 3:6
    end
    a = Arena()
    @test round_trip(stats(a)) == stats(a)
    @test round_trip(PoolFullError(3)) == PoolFullError(3)
end

end
