# Programs written for Allocators.jl run on this package as they are: original/ holds some, on its interface alone.
# SPDX-License-Identifier: MIT OR Apache-2.0

module Original
using Random
using Toft.Allocators
const PROGRAMS = sort(filter(endswith(".jl"), readdir(joinpath(@__DIR__, "original"); join=true)))
foreach(include, PROGRAMS)
end

# The pools of elements T with indices I as such a program makes them, for n elements: (pool, does it free one by one).
function original_pools(::Type{T}, ::Type{I}, n) where {T,I}
    columns(k) = Original.TupleVector{T}(k)
    S = typeof(columns(0))
    return Any[
        (Original.Allocator{T,I}(I(n)), false), (Original.Allocator{T,I}(nothing), false),
        (Original.SOAllocator{T,I,S}(columns(n), I(n)), false),
        (Original.SOAllocator{T,I,S}(columns(Original.N), nothing), false),
        (Original.FreeListAllocator{T,I}(I(n)), true), (Original.FreeListAllocator{T,I}(nothing), true),
        (Original.FreeListSOAllocator{T,I,S}(columns(n), I(n)), true),
        (Original.FreeListSOAllocator{T,I,S}(columns(Original.N), nothing), true),
    ]
end

# Its names are the only ones that this module has. The other condition is that the programs do not contain `Toft`,
# nor use a field of a pool that the original's do not have.
@testset "they use the interface of the original, and nothing else" begin
    used, fields = Set{Symbol}(), Set{Symbol}()
    look!(x, of) = nothing
    look!(x::Symbol, of) = push!(of, x)
    look!(x::QuoteNode, of) = look!(x.value, of)
    function look!(x::Expr, of)
        foreach(y -> look!(y, of), x.args)
        x.head == :. && x.args[2] isa QuoteNode && push!(fields, x.args[2].value)
    end
    for file in Original.PROGRAMS
        look!(Meta.parse("begin\n" * read(file, String) * "\nend"), used)
    end
    @test !(:Toft in used)
    @test fields == Set([:alloc, :first, :last, :setindex, :isempty, :push!, :pop!, :empty!]) # and Base's names
    @test length(Original.PROGRAMS) == 3
    functions = [:allocateend!, :allocatebegin!, :deallocateend!, :deallocatebegin!, :deallocate!, :emptyend!,
                 :emptybegin!]
    @test functions ⊆ used # with getindex, setindex! and isempty: all ten
end

@testset "list, indices $I" for I in (Int, Int32)
    n = 1000
    for (pool, frees) in original_pools(Tuple{Int,I}, I, n), round in 1:3
        list = Original.prepend_all(1:n, pool)
        @test list isa I && !isempty(pool)
        @test Original.list_elements(list, pool) == n:-1:1
        list = Original.reverse_list!(list, pool)
        @test Original.list_elements(list, pool) == 1:n
        @test Original.free_list!(list, pool) == 0
        frees || emptyend!(pool)
        @test isempty(pool)
    end
end

@testset "stack, indices $I" for I in (Int, Int32)
    T = Tuple{Int,NTuple{2,Float64}}
    for (pool, frees) in original_pools(T, I, 100)
        frees && continue
        stack, model = Original.PoolStack(pool), T[]
        rng = MersenneTwister(1)
        agreed = true
        for step in 1:2000
            if length(model) < 100 && rand(rng) < (step ÷ 500 % 2 == 0 ? 0.6 : 0.4)
                x = (step, (rand(rng), rand(rng)))
                push!(stack, x)
                push!(model, x)
            elseif !isempty(model)
                agreed &= pop!(stack) === pop!(model)
            end
            agreed &= isempty(stack) == isempty(model)
        end
        @test agreed
        empty!(stack)
        @test isempty(stack)
    end
end

@testset "queue, indices $I" for I in (Int, Int32), Queue in (Original.PoolQueue, Original.PoolQueueBackward)
    T = Tuple{Int,Float64}
    for (pool, frees) in original_pools(T, I, 100)
        frees && continue
        queue, model = Queue(pool), T[]
        rng = MersenneTwister(2)
        agreed = true
        for step in 1:4000 # forty times around a fixed one
            if length(model) < 100 && rand(rng) < (step ÷ 500 % 2 == 0 ? 0.6 : 0.4)
                x = (step, rand(rng))
                push!(queue, x)
                push!(model, x)
            elseif !isempty(model)
                agreed &= pop!(queue) === popfirst!(model)
            end
            agreed &= isempty(queue) == isempty(model)
        end
        @test agreed
    end
end

@testset "set and dictionary, indices $I" for I in (Int, Int32)
    # 1000 distinct values, half of them deleted at random: the others are right, in each kind of pool
    for (pool, frees) in original_pools(Original.TreeNode{Int,I,String}, I, 1000)
        rng = MersenneTwister(3)
        keys = shuffle(rng, 1:1000)
        model, root = Dict{Int,String}(), zero(I)
        for k in keys
            root = Original.tree_insert!(root, k, string("value ", k), pool)
            model[k] = string("value ", k)
        end
        @test Original.tree_is_right(root, pool)
        for k in shuffle(rng, keys)[1:500]
            root = Original.tree_delete!(root, k, pool)
            delete!(model, k)
        end
        @test Original.tree_is_right(root, pool)
        @test Original.tree_pairs(root, pool) == sort(collect(model); by=first)
        @test all(k -> Original.tree_has(root, k, pool) == haskey(model, k), 0:1001)
        @test all(k -> Original.tree_get(root, k, pool) == model[k], Base.keys(model))
        # deleted values come again where pools free: a fixed one of 1000 has room for it
        if frees
            for k in setdiff(1:1000, Base.keys(model))
                root = Original.tree_insert!(root, k, "again", pool)
            end
            @test Original.tree_is_right(root, pool) && length(Original.tree_pairs(root, pool)) == 1000
            for k in shuffle(rng, keys)
                root = Original.tree_delete!(root, k, pool)
            end
            @test root == 0 && isempty(pool)
        end
        emptyend!(pool)
        @test isempty(pool)
        # the benchmark of the original: both signs in, looked up, out
        root = zero(I)
        for k in 1:200
            root = Original.tree_insert!(Original.tree_insert!(root, k, "", pool), -k, "", pool)
        end
        @test !Original.tree_has(root, 0, pool) && Original.tree_has(root, -200, pool)
        for k in 1:200
            root = Original.tree_delete!(Original.tree_delete!(root, k, pool), -k, pool)
        end
        @test root == 0 && isempty(pool) == frees
    end
end

# Each row of "What was wrong there" and "What differs" in docs/from-allocators-jl.md.
@testset "what the guide says" begin
    E = Tuple{Int,Int}
    refused(f, kind) = try f(); false catch e; e isa kind end
    sized = (Allocator{E}, SOAllocator{E}, FreeListAllocator{E}, FreeListSOAllocator{E})
    for make in sized # a fixed pool is full; an index outside
        pool = make(2)
        foreach(k -> allocateend!(pool, (k, k)), 1:2)
        @test refused(() -> allocateend!(pool, (3, 3)), PoolFullError) && collect(pool) == [(1, 1), (2, 2)]
        @test all(i -> refused(() -> pool[i], BoundsError) && refused(() -> pool[i] = (0, 0), BoundsError), (0, 3, -1))
        @test all(i -> refused(() -> pool[i, 1], BoundsError) && refused(() -> pool[i, 1] = 0, BoundsError), (0, 3, -1))
    end
    for make in sized[3:4] # freed twice, used after that, and taken again
        pool = make(2)
        i = allocateend!(pool, (1, 1))
        h = handle(pool, i)
        deallocate!(pool, i)
        for f in (() -> deallocate!(pool, i), () -> pool[i], () -> pool[i, 1], () -> pool[i] = (0, 0))
            @test refused(f, StaleIndexError)
        end
        @test allocateend!(pool, (2, 2)) == i && pool[i] == (2, 2) && isvalid(pool, i) && !isvalid(pool, h)
        @test refused(() -> pool[h], StaleIndexError) && refused(() -> deallocate!(pool, h), StaleIndexError)
    end
    for make in sized[1:2]
        pool = make(3) # a fixed queue is a ring
        for k in 1:100
            allocateend!(pool, (k, k))
            k > 2 && deallocatebegin!(pool)
        end
        @test collect(pool) == [(99, 99), (100, 100)]
    end
    for make in sized # growing at the front moves no index; nothing shrinks but by trim!
        pool = make(nothing)
        at = Dict(allocatebegin!(pool, (k, -k)) => k for k in 1:1000)
        @test length(at) == 1000 && all(i -> pool[i] == (at[i], -at[i]), keys(at))
        had = capacity(pool)
        emptyend!(pool)
        @test capacity(pool) == had && isempty(pool)
        @test capacity(trim!(pool)) < had
        make in sized[[2, 4]] && @test length(storage(pool, 1)) == length(storage(pool, 2)) == capacity(pool)
    end
    for I in (UInt32, Int16, UInt8), Kind in (Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator)
        @test allocateend!(Kind{E,I}(nothing), (1, 1)) === I(1)
    end
    # a free-list pool takes two to nine bytes a slot more, and four more from the first handle on
    for (I, most) in ((UInt8, 2), (UInt32, 5), (Int, 9)), n in (100,)
        free = FreeListAllocator{E,I}(n)
        more() = length(free.flags) + sizeof(free.free) + sizeof(free.generations.frees)
        @test more() == most * n
        handle(free, allocateend!(free, (1, 1)))
        @test more() == (most + 4) * n
    end
    # @inbounds leaves the checks out, unless Julia was started to check always
    unchecked(pool, i) = @inbounds pool[i]
    pool = FreeListAllocator{E}(2)
    i = allocateend!(pool, (5, 6))
    deallocate!(pool, i)
    ALWAYS_CHECKED || @test unchecked(pool, i) == (5, 6)
    ALWAYS_CHECKED && @test refused(() -> unchecked(pool, i), StaleIndexError)
    # the original's names: those of lists and trees are the programs' own
    @test !isdefined(Toft, :cons) && !isdefined(Toft, :nil)
    @test Original.N == capacity(Allocator{E}(nothing)) && Original.TupleVector === Columns
end
