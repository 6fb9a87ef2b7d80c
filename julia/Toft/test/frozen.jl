# Frozen files, written by hand from the specification: at their own address, moved, damaged, and refused.
# SPDX-License-Identifier: MIT OR Apache-2.0

module FrozenTests

using Random, Test, Toft
using Main: stream_length, throws
using Toft: moved, root

const WORD = sizeof(UInt)
const OBJECTS = 4096
const BASE = UInt64(WORD == 8 ? 2^45 + 2^25 : 2^30)

struct Word
    next::Ptr{Word}
    text::Ptr{UInt8}
    size::UInt
    code::UInt64
end

# ---- an encoder ----

mutable struct Image
    bytes::Vector{UInt8}
    pointers::Vector{Int} # offsets
    root::Int
    base::UInt64
end

put!(bytes, at, value) = copyto!(bytes, at + 1, reinterpret(UInt8, [value]))
get64(bytes, at) = reinterpret(UInt64, bytes[at+1:at+8])[1]

function add!(i::Image, bytes)
    at = length(i.bytes)
    append!(i.bytes, [bytes; zeros(UInt8, mod(-length(bytes), 8))])
    return at
end

function point!(i::Image, at, to)
    put!(i.bytes, at, UInt(i.base + to))
    push!(i.pointers, at)
end

function checksum(sum, bytes)
    for word in reinterpret(UInt64, bytes)
        sum = bitrotate(xor(sum, word), 29) * 0x9e3779b97f4a7c15
    end
    return sum
end

seal!(file) = put!(file, 96, checksum(UInt64(0), file[1:96]))

function set_bit!(file, size, at)
    place = size + at ÷ WORD ÷ 64 * 8
    put!(file, place, xor(get64(file, place), UInt64(1) << (at ÷ WORD % 64)))
end

function encode(i::Image)
    size = length(i.bytes)
    file = [i.bytes; zeros(UInt8, cld(size ÷ WORD, 64) * 8)]
    foreach(at -> set_bit!(file, size, at), i.pointers)
    copyto!(file, [0x89; codeunits("TOFT\r\n"); 0x1a])
    put!(file, 8, 0x01020304)
    put!(file, 12, UInt16(1))
    put!(file, 14, UInt16(WORD))
    foreach((at, n) -> put!(file, at, UInt64(n)), 16:8:48, (i.base, size, i.root, length(i.pointers), 77))
    copyto!(file, 57, codeunits("words 1"))
    put!(file, 88, max(UInt64(1), checksum(UInt64(1), file[105:end])))
    return seal!(file)
end

function words(texts; base=BASE)
    i, last = Image(zeros(UInt8, OBJECTS), [], OBJECTS, base), 0
    for (n, text) in enumerate(texts)
        at = add!(i, zeros(UInt8, sizeof(Word)))
        last == 0 || point!(i, last, at)
        last = at
        point!(i, at + WORD, add!(i, codeunits(text)))
        put!(i.bytes, at + 2WORD, UInt(sizeof(text)))
        put!(i.bytes, at + fieldoffset(Word, 4), UInt64(n) << 40)
    end
    return i
end

function texts_of(f)
    texts, p, n = String[], root(f, Word), 0
    while p != C_NULL
        word = unsafe_load(p)
        push!(texts, word.code == UInt64(n += 1) << 40 ? unsafe_string(word.text, word.size) : "code $(word.code)")
        p = word.next
    end
    return texts
end

numbered(n) = [repeat('x', k % 5) * string(k) for k in 1:n]

# Written in place, since a file system may wait for the disk when a file is truncated.
function rewrite(path, file)
    open(path, isfile(path) && filesize(path) == length(file) ? "r+" : "w") do io
        write(io, file)
    end
    return path
end

reason(path; options...) =
    try
        close(open_frozen(path; options...))
        :opened
    catch e
        e isa FrozenError && !isempty(sprint(showerror, e)) ? e.reason : rethrow()
    end

const MAPS = Sys.islinux()

mktempdir() do folder
path = joinpath(folder, "words.frozen")

@testset "content" begin
    for n in (1, 2, 10, 20_000), elsewhere in (false, true), verify in (false, true)
        texts = numbered(n)
        image = words(texts)
        rewrite(path, encode(image))
        open_frozen(path; layout="words 1", layout_hash=77, elsewhere=elsewhere, verify=verify) do f
            @test texts_of(f) == texts
            @test sizeof(f) == length(image.bytes) && isopen(f)
            @test !MAPS || moved(f) == elsewhere
            @test moved(f) == (UInt(root(f)) != BASE + OBJECTS)
            @test UInt(root(f)) % 65536 == OBJECTS
        end
    end
end

@testset "several at once" begin
    rewrite(path, encode(words(["a", "b"])))
    first, second = open_frozen(path), open_frozen(path)
    @test moved(second) && root(first) != root(second)
    close(first)
    @test texts_of(second) == ["a", "b"]
    close(second)
    again = open_frozen(path)
    @test !MAPS || !moved(again)
    close(again)
    files = map(1:10) do n
        other = joinpath(folder, "$n.frozen")
        open_frozen(rewrite(other, encode(words(numbered(n); base=BASE + UInt64(n) << 20))))
    end
    @test !MAPS || !any(moved, files)
    @test all(texts_of(files[n]) == numbered(n) for n in 1:10)
    foreach(close, files)
end

@testset "threads" begin
    texts = numbered(100)
    rewrite(path, encode(words(texts)))
    shared, good = open_frozen(path), zeros(Bool, 16)
    Threads.@threads for k in 1:16
        open_frozen(path) do f
            good[k] = texts_of(f) == texts == texts_of(shared)
        end
    end
    close(shared)
    @test all(good)
end

@testset "closed" begin
    rewrite(path, encode(words(["a"])))
    f = open_frozen(path)
    close(f)
    close(f)
    @test !isopen(f) && occursin("closed", sprint(show, f))
    @test throws(ArgumentError, root, f, Word)
    @test throws(ErrorException, open_frozen, _ -> error("of the user"), path)
    @test reason(path) == :opened
end

@testset "types of the root" begin
    image = words(["a"])
    rewrite(path, encode(image))
    open_frozen(path) do f
        @test throws(ArgumentError, root, f, String)
        @test throws(ArgumentError, root, f, Vector{Int})
        @test throws(FrozenError, root, f, NTuple{100,UInt})
        @test root(f, UInt8) == root(f)
    end
    image.root += 1
    open_frozen(rewrite(path, encode(image))) do f
        @test throws(FrozenError, root, f, UInt64)
        @test root(f, NTuple{8,UInt8}) == root(f)
    end
end

@testset "layouts" begin
    rewrite(path, encode(words(["a"])))
    @test reason(path; layout="words 1") == reason(path; layout_hash=77) == :opened
    @test reason(path; layout="words") == reason(path; layout="words 11") == reason(path; layout="") == :layout
    @test reason(path; layout="words 1", layout_hash=78) == :layout
end

@testset "other than files" begin
    @test throws(SystemError, open_frozen, joinpath(folder, "none"))
    @test throws(ArgumentError, open_frozen, folder)
    if Sys.islinux()
        pipe = joinpath(folder, "pipe")
        run(`mkfifo $pipe`)
        @test throws(ArgumentError, open_frozen, pipe)
        rewrite(path, encode(words(["a"])))
        open(path) do io
            @test reason("/dev/fd/$(fd(io))"; verify=true) == :opened
        end
    end
end

@testset "refused" begin
    image = words(["a", "b"])
    size = length(image.bytes)
    field(at, n) = file -> seal!(put!(file, at, n))
    for (change, expected) in [
        (file -> empty!(file), :corrupt), (file -> resize!(file, 104), :corrupt), (file -> resize!(file, 50), :corrupt),
        (file -> resize!(file, length(file) - 1), :corrupt), (file -> resize!(file, size), :corrupt),
        (file -> push!(file, 0), :corrupt), (field(0, 0x88), :corrupt), (field(9, 0x07), :corrupt),
        (field(8, 0x04030201), :system), (file -> put!(file, 40, UInt64(9)), :corrupt), (field(12, UInt16(2)), :system),
        (field(14, UInt16(12 - WORD)), :system), (field(16, UInt64(0)), :corrupt), (field(16, BASE + 8), :corrupt),
        (field(16, UInt64(typemax(UInt)) & ~UInt64(63)), :corrupt), (field(24, UInt64(0)), :corrupt),
        (field(24, UInt64(size + 1)), :corrupt), (field(24, UInt64(size + 2^20)), :corrupt),
        (field(24, ~UInt64(7)), :corrupt), (field(32, UInt64(OBJECTS - 8)), :corrupt),
        (field(32, UInt64(size)), :corrupt), (field(87, 0x01), :corrupt)]
        file = encode(image)
        change(file)
        rewrite(path, file)
        @test reason(path) == reason(path; elsewhere=true) == expected
    end
end

@testset "damaged content" begin
    image = words(["a", "b"])
    size = length(image.bytes)
    function in_start(file)
        put!(file, OBJECTS - WORD, UInt(BASE))
        set_bit!(file, size, OBJECTS - WORD)
        seal!(put!(file, 40, UInt64(length(image.pointers) + 1)))
    end
    for change in (file -> put!(file, image.pointers[1], UInt(BASE - 1)), in_start,
                   file -> put!(file, image.pointers[1], UInt(BASE + size + 1)),
                   file -> set_bit!(file, size, OBJECTS + 3 * 8), file -> set_bit!(file, size, size),
                   file -> seal!(put!(file, 40, UInt64(1))))
        file = encode(image)
        change(file)
        rewrite(path, file)
        @test reason(path; verify=true) == reason(path; elsewhere=true) == :corrupt
        @test !MAPS || reason(path) == :opened # nothing is read
    end
    file = encode(image)
    file[OBJECTS + 33] += 1
    rewrite(path, file)
    @test reason(path; verify=true) == :corrupt && reason(path; elsewhere=true) == :opened
    seal!(put!(file, 88, UInt64(0))) # no checksum is recorded
    @test reason(rewrite(path, file); verify=true) == :opened
    image = words(["a"])
    point!(image, OBJECTS, length(image.bytes)) # the address behind the content
    @test reason(rewrite(path, encode(image)); elsewhere=true) == :opened
end

@testset "altered files" begin
    image = words(["one", "two", "three"])
    whole, rng, opened = encode(image), MersenneTwister(1), 0
    mappings = MAPS ? countlines("/proc/self/maps") : 0
    for round in 1:stream_length(3000)
        file = copy(whole)
        for _ in 1:rand(rng, 1:3)
            near = [16, 24, 32, 40, OBJECTS, OBJECTS + 8, length(image.bytes) + OBJECTS ÷ 8 ÷ WORD, image.pointers...]
            at = rand(rng, Bool) ? rand(rng, 1:length(file)) : rand(rng, near) + rand(rng, 1:8)
            file[at] = xor(file[at], UInt8(1) << rand(rng, 0:7))
        end
        meant = iseven(round)
        meant && seal!(put!(file, 88, UInt64(0)))
        file == whole && continue
        rewrite(path, file)
        elsewhere = rand(rng, Bool)
        f = try
            open_frozen(path; verify=!(meant && elsewhere), elsewhere=elsewhere)
        catch e
            e isa FrozenError && e.reason in (:corrupt, :system) || rethrow()
            continue
        end
        opened += 1
        start = root(f) - get64(file, 32)
        inside = all(image.pointers) do at
            bit = get64(file, length(image.bytes) + at ÷ WORD ÷ 64 * 8) >> (at ÷ WORD % 64) & 1
            bit == 0 || unsafe_load(Ptr{UInt}(start + at)) - UInt(start) <= sizeof(f)
        end
        close(f)
        meant && inside || error("round $round: a damaged file was opened")
    end
    @test opened > stream_length(3000) ÷ 50
    @test !MAPS || countlines("/proc/self/maps") < mappings + 50 # nothing stays mapped
end
end

end
