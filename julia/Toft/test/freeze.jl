# Collections that are written to a frozen file and read in it: every kind, in this process, another one and C;
# refused types, damaged files, and writes that fail.
# SPDX-License-Identifier: MIT OR Apache-2.0

module FreezeTests

using Random, Test, Toft
using Main: Mixed, Nested, Point, same, throws
using Toft: Columns, FrozenArray, FrozenPool, FrozenSortedDict, FrozenSortedSet, FrozenVector, GenericList,
    GenericQueue, GenericStack, List, Queue, SortedDict, SortedSet, Stack, between, capacity, column, content, freeze,
    nth, storage

struct Padded
    small::Int8
    large::Int64
    last::Int16
end

struct Reversed # has an order of its own
    n::Int
end
Base.isless(a::Reversed, b::Reversed) = a.n > b.n

const CHILD = joinpath(@__DIR__, "freeze_child.jl")
const KINDS = (Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator)

# Calls `use` with the content, at the file's own address and at another one.
function each_reading(use, path, T)
    for elsewhere in (false, true)
        open_frozen(f -> use(content(f, T)), path; elsewhere=elsewhere, verify=true)
    end
end

refusal(@nospecialize(f), @nospecialize(arguments...)) =
    try
        f(arguments...)
        "nothing"
    catch e
        e isa ArgumentError ? e.msg : rethrow()
    end

# A pool after allocations and frees at random, and {index => element}.
function filled(kind, n, rng)
    ends = kind === Allocator || kind === SOAllocator
    pool = concretetype(kind{Padded,Int32})(ends ? max(1, 2n ÷ 3) : nothing)
    model, order = Dict{Int32,Padded}(), Int32[]
    for k in 1:n
        if !isempty(order) && (rand(rng) < 0.3 || ends && length(order) == capacity(pool))
            i = ends ? first(order) : rand(rng, order)
            ends ? deallocatebegin!(pool) : deallocate!(pool, i)
            delete!(model, i)
            filter!(!=(i), order)
        end
        x = Padded(k % Int8, k, -k % Int16)
        i = allocateend!(pool, x)
        model[i] = x
        push!(order, i)
    end
    return pool, model
end

# struct toft_frozen of toft/freeze.h, and the root's struct { struct { int64_t *at; uint64_t count; } keys, values; }
struct OpenInC
    root::Ptr{Cvoid}
    memory::Ptr{Cvoid}
    size::UInt64
    moved::UInt32
    flags::UInt32
    mapping::Ptr{Cvoid}
    mapped::UInt64
end

struct OptionsOfC
    size::Csize_t
    layout::Cstring
    layout_hash::UInt64
    flags::UInt32
end

# Reads all elements, also of a damaged file.
read_all(x) = x
read_all(c::Union{AbstractVector,AbstractSet,GenericList,GenericStack,GenericQueue}) = (collect(c); length(c))
read_all(d::AbstractDict) = (collect(d); foreach(k -> get(d, k, 0), -3:3); foreach(k -> haskey(d, k), keys(d)))
read_all(p::AbstractPool) = (foreach(i -> p[i], eachindex(p)); collect(p))
read_all(all::NamedTuple) = foreach(read_all, all)

const FIELDS_OF_HEADER = [16, 24, 32, 40, 48, 88]

mktempdir() do folder
path = joinpath(folder, "content.frozen")
written(value) = (freeze(path, value); typeof(value))

@testset "sequences of $n" for n in (0, 1, 10, 1_000_000)
    elements = [Nested(Point(k, k / 2), 'a' + k % 26) for k in 1:n]
    for (value, kind) in ((elements, FrozenVector), (List(elements), GenericList), (Stack(elements), GenericStack),
                          (Queue(elements), GenericQueue))
        each_reading(path, written(value)) do c
            @test c isa kind && length(c) == n && isempty(c) == (n == 0) && eltype(c) == Nested
            @test c == value && all(same(a, b) for (a, b) in zip(c, value))
            @test n == 0 || (first(c), last(c)) == (first(value), last(value))
            @test n == 0 ? throws(Union{ArgumentError,BoundsError}, first, c) : true
            @test n > 10 || collect(Iterators.reverse(collect(c))) == reverse!(collect(value))
            @test n > 10 || value isa List || collect(Iterators.reverse(c)) == reverse!(collect(value))
            @test n > 10 || sprint(show, c) == sprint(show, value)
        end
    end
end

@testset "arrays of $dims" for dims in ((), (0, 3), (3, 0), (1, 1), (3, 4), (2, 3, 4), (1000, 1000), (1, 2, 1, 2, 5))
    value = reshape([Padded(k % Int8, k, 0) for k in 1:prod(dims)], dims)
    each_reading(path, written(value)) do c
        @test c isa FrozenArray{Padded,length(dims)} && size(c) == dims && strides(c) == strides(value)
        @test c == value && sizeof(c) == sizeof(value) && all(I -> c[I] === value[I], CartesianIndices(value))
        @test occursin("cannot be changed", refusal(setindex!, c, Padded(1, 2, 3), 1))
    end
    for T in (Vector{Padded}, Array{Padded,length(dims) + 1}, Array{Point,length(dims)})
        @test throws(FrozenError, open_frozen, f -> content(f, T), path)
    end
end

@testset "what matrices do" begin
    m = [1.0 2 3; 4 5 6]
    each_reading(path, written((m, view(m, :, 2:3), m', 1))) do c
        @test c[1] * [1, 1, 1] == [6, 15] && c[1]' * c[1] == m' * m && c[2] == m[:, 2:3] && c[3] == m'
        @test view(c[1], 2, :) == [4, 5, 6] && reshape(c[1], 3, 2) == reshape(m, 3, 2) && copy(c[1]) isa Matrix{Float64}
        @test throws(BoundsError, getindex, c[1], 3, 1) && throws(BoundsError, getindex, c[1], 7)
    end
end

@testset "sets and dictionaries of $n" for n in (0, 1, 10, 1_000_000)
    rng = MersenneTwister(n)
    keys = Random.randperm(rng, 3n)[1:n]
    set, dict = SortedSet(keys), SortedDict{Int,Float32}(k => k / 3 for k in keys)
    each_reading(path, written((set=set, dict=dict, hashed=Dict(dict), hashed_set=Set(keys)))) do c
        @test c.set isa FrozenSortedSet{Int} && c.dict isa FrozenSortedDict{Int,Float32}
        @test length(c.set) == length(c.dict) == n && isempty(c.dict) == (n == 0)
        @test c.set == set == c.hashed_set && c.dict == dict == c.hashed
        @test all(same(a, b) for (a, b) in zip(c.dict, dict)) && all(same(a, b) for (a, b) in zip(c.hashed_set, set))
        @test all(k -> (k in c.set) == (k in set) == haskey(c.dict, k) == haskey(dict, k), rand(rng, -1:3n+1, 1000))
        for x in rand(rng, -1:3n+1, 50)
            @test get(c.dict, x, -1f0) === get(dict, x, -1f0) === get(() -> -1f0, c.dict, x)
            @test getkey(c.dict, x, 0) == getkey(dict, x, 0)
            @test searchsorted(c.set, x) == searchsorted(set, x) == searchsorted(c.dict, x)
            @test collect(between(c.dict, x, x + 20)) == collect(between(dict, x, x + 20))
        end
        @test throws(KeyError, getindex, c.dict, 3n + 1) && throws(BoundsError, nth, c.set, n + 1)
        @test n == 0 || (first(c.dict), last(c.set), nth(c.set, n)) == (first(dict), last(set), last(set))
        @test n > 10 || collect(Iterators.reverse(c.dict)) == collect(Iterators.reverse(dict))
        @test n > 10 || copy(c.set) isa SortedSet && copy(c.dict) isa SortedDict && copy(c.dict) == dict
    end
end

@testset "orders of keys" begin
    floats = [NaN, -0.0, 0.0, Inf, -Inf, 1.5]
    values = (SortedDict(x => 1 for x in floats), Set(floats), SortedSet(['z', 'a']), SortedSet([(2, 'a'), (1, 'b')]),
              SortedSet(Reversed.(1:9)), Set(Reversed.(1:9)), SortedSet([typemin(UInt8), typemax(UInt8)]))
    for value in values
        each_reading(path, written(value)) do c
            @test isequal(collect(c), sort!(collect(value)))
            @test all(x -> (value isa AbstractSet ? x : first(x)) in (value isa AbstractSet ? c : keys(c)), value)
        end
    end
    each_reading(path, written(values[1])) do c
        @test c[NaN] == 1 && haskey(c, -0.0) && !haskey(c, 7.0) && !haskey(c, "text")
    end
end

@testset "$kind of $n" for kind in KINDS, n in (0, 1, 10, 1000)
    pool, model = filled(kind, n, MersenneTwister(n))
    freeze(path, pool)
    each_reading(path, kind{Padded,Int32}) do p
        @test p isa FrozenPool{Padded,Int32} && length(p) == length(model) && isempty(p) == isempty(model)
        @test Dict(i => p[i] for i in eachindex(p)) == model && Set(collect(p)) == Set(values(model))
        @test eltype(eachindex(p)) == Int32 && capacity(p) == maximum([0; collect(keys(model))])
        for i in -1:capacity(p)+70
            @test isvalid(p, i) == haskey(model, i)
            @test haskey(model, i) ? (p[i], p[i, :large], p[i, 1]) == (model[i], model[i].large, model[i].small) :
                  throws(1 <= i <= capacity(p) ? StaleIndexError : BoundsError, getindex, p, i)
        end
        if kind in (SOAllocator, FreeListSOAllocator)
            @test all(storage(p, :large)[i] == x.large for (i, x) in model)
            one_range = all(==(1), diff(sort!(collect(keys(model)))))
            @test one_range ? column(p, :large) == [x.large for x in p] : throws(ArgumentError, column, p, :large)
        end
        freeze(joinpath(folder, "again.frozen"), p) # a frozen pool can be written
        @test read(joinpath(folder, "again.frozen")) == read(path)
    end
end

@testset "a pool of 10^6" begin
    pool = FreeListSOAllocator{Point}(nothing)
    foreach(k -> allocateend!(pool, Point(k, k)), 1:1_000_000)
    foreach(i -> deallocate!(pool, i), 3:3:1_000_000)
    each_reading(path, written(pool)) do p
        @test length(p) == length(pool) && sum(x -> x.x, p) == sum(x -> x.x, pool)
    end
end

@testset "several, and numbers" begin
    value = (number=0x07, point=Point(1, 2.5), nested=(List([1.5]), (), nothing, 'x'), rows=Columns{Point}(2))
    value.rows[1], value.rows[2] = Point(3, 4), Point(5, 6)
    each_reading(path, written(value)) do c
        @test (c.number, c.point, c.nested[2:4]) === (0x07, Point(1, 2.5), ((), nothing, 'x'))
        @test c.nested[1] == List([1.5]) && c.rows == value.rows && c.rows.vectors[2] == [4.0, 6.0]
    end
    for plain in (3, Point(1, 2), (1, 2), 1:3, nothing, (), 'a', true)
        each_reading(c -> @test(c === plain), path, written(plain))
    end
    each_reading(c -> @test(length(c) == 5), path, written(fill(nothing, 5)))
    arena() do a
        v = ArenaArray(a, [1, 2, 3])
        each_reading(c -> @test(c == [1, 2, 3]), path, written(v))
        d = ArenaDict(a, (3 => 'c', 1 => 'a'))
        each_reading(c -> @test(collect(c) == [1 => 'a', 3 => 'c']), path, written(d))
    end
    v = [1.0 2.0; 3.0 4.0][:]
    each_reading(path, written(v)) do c
        @test (sum(c), c' * c, pointer(c) == c.at, c .+ 1) == (10.0, 30.0, true, v .+ 1)
    end
end

@testset "types that are refused" begin
    rm(path; force=true)
    for (value, named) in (["a"] => "String", Dict("a" => 1) => "String", Ptr{Int}[] => "Ptr", Any[1] => "Any",
                           (1, [Mixed(1, "", nothing)]) => "Mixed", List(Union{Int,Nothing}[1]) => "Union",
                           ["a" "b"] => "String", SortedSet([:a]) => "Symbol", Ref(1) => "RefValue",
                           (p=C_NULL,) => "Ptr", big(1) => "BigInt",
                           FreeListAllocator{Vector{Int}}(3) => "Array", Cstring[] => "Cstring", "text" => "String")
        message = refusal(freeze, path, value)
        @test startswith(message, "freeze: ") && occursin(named, replace(message, "Vector" => "Array"))
    end
    for layout in (repeat("x", 32), "a\0b")
        @test occursin("31 bytes", refusal((p, v) -> freeze(p, v; layout=layout), path, 1))
    end
    @test readdir(folder) == ["again.frozen"]
end

@testset "no change" begin
    value = (v=[1, 2], l=List([1, 2]), s=Stack([1, 2]), q=Queue([1, 2]), set=SortedSet([1, 2]), d=SortedDict(1 => 2),
             p=FreeListAllocator{Int}(4), rows=SOAllocator{Point}(4))
    allocateend!(value.p, 7), allocateend!(value.rows, Point(1, 2))
    written(value)
    before = read(path)
    each_reading(path, typeof(value)) do c
        for change in (
            () -> c.v[1] = 3, () -> fill!(c.v, 1), () -> sort!(c.v; rev=true), () -> push!(c.l, 1),
            () -> pushfirst!(c.l, 1), () -> popfirst!(c.l), () -> reverse!(c.l), () -> filter!(isodd, c.l),
            () -> empty!(c.l), () -> trim!(c.l), () -> append!(c.l, 1:2), () -> push!(c.s, 1), () -> pop!(c.s),
            () -> empty!(c.s),
            () -> push!(c.q, 1.0), () -> popfirst!(c.q), () -> push!(c.set, 3), () -> delete!(c.set, 1),
            () -> pop!(c.set), () -> popfirst!(c.set), () -> pop!(c.set, 1), () -> empty!(c.set),
            () -> union!(c.set, [9]), () -> c.d[1] = 1, () -> delete!(c.d, 1), () -> pop!(c.d, 1),
            () -> pop!(c.d, 9, 0), () -> get!(c.d, 9, 0), () -> get!(() -> 1, c.d, 9),
            () -> merge!(c.d, Dict(1 => 3)), () -> empty!(c.d), () -> trim!(c.d), () -> c.p[1] = 8,
            () -> allocateend!(c.p, 1), () -> allocateend!(c.p, 1.0), () -> allocatebegin!(c.p),
            () -> deallocate!(c.p, 1), () -> emptyend!(c.p), () -> trim!(c.p), () -> c.rows[1, :x] = 2,
            () -> column(c.rows, :x)[1] = 2, () -> deallocateend!(c.rows))
            @test occursin("cannot be changed", refusal(change))
        end
        @test c.v == [1, 2] && c.l == List([1, 2]) && c.d == Dict(1 => 2) && c.p[1] == 7
    end
    @test read(path) == before
end

@testset "closed" begin
    value = (v=[1, 2], l=List([1, 2]), s=Stack([1, 2]), set=SortedSet([1, 2]), d=SortedDict(1 => 2),
             p=Allocator{Int}(4))
    allocateend!(value.p, 7)
    T = written(value)
    f = open_frozen(path)
    c = content(f, T)
    close(f)
    for use in (() -> c.v[1], () -> sum(c.v), () -> pointer(c.v), () -> collect(c.l), () -> first(c.s),
                () -> 1 in c.set, () -> collect(c.set), () -> c.d[1], () -> collect(c.d), () -> c.p[1],
                () -> collect(c.p), () -> length(c.l), () -> content(f, T), () -> freeze(path, c))
        @test occursin("was closed", refusal(use))
    end
    @test open_frozen(g -> content(g, T).v == [1, 2], path)
end

@testset "layouts" begin
    reason(T; options...) =
        try
            open_frozen(f -> content(f, T), path; options...)
            :opened
        catch e
            e isa FrozenError ? e.reason : rethrow()
        end
    freeze(path, SortedDict(1 => Point(1, 2)); layout="points 1")
    @test reason(Dict{Int,Point}; layout="points 1") == :opened && reason(Dict{Int,Point}; layout="points 2") == :layout
    for T in (SortedDict{Int,Point}, Dict{Int,Point}, FrozenSortedDict{Int,Point})
        @test reason(T) == :opened
    end
    for T in (SortedDict{Int32,Point}, SortedDict{UInt,Point}, SortedDict{Int,Tuple{Int,Float64}}, SortedSet{Int}, Int,
              Vector{Int}, Tuple{SortedDict{Int,Point}}, SortedDict{Int,Padded})
        @test reason(T) == :layout
    end
    freeze(path, List([1]))
    @test reason(List{Int}) == :opened && reason(Stack{Int}) == reason(Vector{Int}) == :layout
    @test throws(ArgumentError, open_frozen, f -> content(f, Vector{String}), path)
    @test throws(ArgumentError, open_frozen, f -> content(f, Vector), path)
end

@testset "the same file for the same content" begin
    elements = [Padded(k, -k, k) for k in 1:9]
    freeze(path, elements)
    first_file = read(path)
    Base.unsafe_store!(Ptr{UInt8}(pointer(elements)) + 1, 0x77) # a byte of padding
    freeze(path, elements)
    @test read(path) == first_file
    freeze(path, elements[1:8])
    @test read(path)[17:24] != first_file[17:24] # another address
end

@testset "the address of a file" for n in (1, 1000, 100_000) # rule F3
    freeze(path, collect(1:n))
    bytes = read(path)
    base, size = reinterpret(UInt64, bytes)[3:4]
    words, bits = reinterpret(UInt, bytes), reinterpret(UInt64, bytes[size+1:end])
    for k in 0:length(bits)*64-1
        bits[k÷64+1] >> (k % 64) & 1 == 0 || (words[k+1] -= base % UInt) # pointers become offsets
    end
    add(s, w) = bitrotate(xor(s, w), 29) * 0x9e3779b97f4a7c15
    sum = foldl(add, reinterpret(UInt64, bytes[105:end]); init=UInt64(1))
    align, start = UInt64(max(65536, nextpow(2, length(bytes)))), UInt64(2)^(sizeof(UInt) == 8 ? 45 : 29)
    @test base == start + (sum >> 32 * align) % start
end

Sys.isunix() && @testset "the file that is replaced" begin
    within = mkdir(joinpath(folder, "within"))
    file, link, long = joinpath.(within, ("file", "link", "n"^255))
    symlink("file", link)
    freeze(link, [1]) # a new file
    chmod(file, 0o604)
    stat(file).uid == 0 && chown(file, 1001, 1002)
    before = stat(file)
    freeze(link, [2])
    after = stat(file)
    @test islink(link) && before.inode != after.inode
    @test (after.mode, after.uid, after.gid) == (before.mode, before.uid, before.gid)
    freeze(long, [3])
    run(`mkfifo $(joinpath(within, "fifo"))`)
    @test throws(SystemError, freeze, joinpath(within, "fifo"), [1])
    @test throws(SystemError, freeze, within, [1])
    @test isfifo(joinpath(within, "fifo")) && length(readdir(within)) == 4
end

@testset "an open file that is replaced" begin
    freeze(path, [1])
    open_frozen(path) do f
        c = content(f, Vector{Int})
        freeze(path, [2])
        @test c == [1] && open_frozen(g -> content(g, Vector{Int}) == [2], path)
    end
end

@testset "writes that fail" begin
    freeze(path, [1])
    mkdir(joinpath(folder, "a folder"))
    before = readdir(folder)
    for bad in (joinpath(folder, "none", "file"), joinpath(folder, "a folder"))
        @test throws(Union{Base.IOError,SystemError}, freeze, bad, [1])
        @test readdir(folder) == before
    end
    @test throws(Exception, freeze, path, Dict(1im => 2, 2im => 3)) # no order
    @test open_frozen(f -> content(f, Vector{Int}) == [1], path)
end

# In a process whose files may have 1 MiB only.
Sys.islinux() && @testset "another process" begin
    squares = SortedDict(k => k^2 for k in 1:1000)
    list = List([Tuple(codeunits("none")), Tuple(codeunits("last"))])
    freeze(path, (squares=squares, names=list); layout="numbers 1")
    other = joinpath(folder, "other.frozen")
    freeze(other, [3])
    names = readdir(folder)
    project = dirname(Base.active_project())
    julia = `$(Base.julia_cmd()) --startup-file=no --project=$project $(CHILD) $path $other`
    printed = read(`sh -c 'trap "" XFSZ; ulimit -f 2048; exec "$@"' sh $julia`, String)
    @test split(printed, '\n')[1:2] == ["1000 5929 $(sum(k^2 for k in 1:1000)) last", "refused"]
    @test readdir(folder) == names && open_frozen(f -> content(f, Vector{Int}) == [3], other)
end

@testset "C" begin
    library = Toft.Libdl.dlopen(Toft.library().path)
    open_in_c, close_in_c = Toft.Libdl.dlsym.(Ref(library), (:toft_frozen_open, :toft_frozen_close))
    freeze(path, SortedDict(k => 2k for k in 1:100); layout="doubles 1")
    for (layout, flags, expected) in (("doubles 1", 2, 0), ("doubles 1", 4, 0), ("doubles 2", 0, -8))
        f = Ref{OpenInC}()
        result = GC.@preserve layout begin
            options = Ref(OptionsOfC(sizeof(OptionsOfC), Cstring(pointer(layout)), 0, flags))
            ccall(open_in_c, Cint, (Ref{OpenInC}, Cstring, Ref{OptionsOfC}), f, path, options)
        end
        @test result == expected
        result == 0 || continue
        (keys, values) = unsafe_load(Ptr{NTuple{2,Tuple{Ptr{Int},UInt64}}}(f[].root))
        @test unsafe_wrap(Array, keys[1], keys[2]) == 1:100 && unsafe_wrap(Array, values[1], values[2]) == 2:2:200
        ccall(close_in_c, Cvoid, (Ref{OpenInC},), f)
    end
end

@testset "altered files" begin
    pool = FreeListSOAllocator{Padded}(nothing)
    foreach(k -> allocateend!(pool, Padded(k, k, k)), 1:70)
    deallocate!(pool, 9)
    value = (v=[1, 2, 3], l=List([1.5, 2.5]), s=Stack(['a']), set=SortedSet([3, 1]), d=SortedDict(1 => 2), p=pool)
    T = written(value)
    whole, rng, reasons = read(path), MersenneTwister(5), Dict{Symbol,Int}()
    sums(file) = (words = reinterpret(UInt64, file[1:96]); Toft.frozen_checksum(zero(UInt64), words, 1, 12))
    for round in 1:10_000
        file = copy(whole)
        for _ in 1:rand(rng, 1:3)
            field, in_root = rand(rng, FIELDS_OF_HEADER) + rand(rng, 1:8), 4096 + rand(rng, 1:200)
            at = rand(rng, (rand(rng, 1:length(file)), in_root, field))
            file[at] = rand(rng, Bool) ? rand(rng, UInt8) : xor(file[at], UInt8(1) << rand(rng, 0:7))
        end
        rand(rng, 1:20) == 1 && resize!(file, rand(rng, 0:length(file)))
        if rand(rng, Bool) && length(file) >= 104 # a damage that the header's checksum does not show
            copyto!(file, 97, reinterpret(UInt8, [sums(file)]))
        end
        open(io -> write(io, file), path, "w")
        reason = try
            open_frozen(path; elsewhere=rand(rng, Bool)) do f
                read_all(content(f, T))
            end
            :opened
        catch e
            e isa FrozenError ? e.reason : rethrow()
        end
        reasons[reason] = get(reasons, reason, 0) + 1
    end
    @test all(reason -> get(reasons, reason, 0) > 100, (:opened, :corrupt, :layout)) && length(reasons) <= 4
end
end

end
