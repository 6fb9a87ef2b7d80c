# Primitive types of all widths from 8 to 256 bits, in everything that holds elements. Those whose size is no multiple
# of their alignment, such as 24, 48 and 72 bits, are farther apart than their size.
# SPDX-License-Identifier: MIT OR Apache-2.0
module WidthTests

using Test, Toft
using Toft: @alloc, @no_escape, List, Queue, SortedDict, Stack, alloc, storage

const WIDTHS = 8:8:256
const LONG = get(ENV, "TOFT_LONG", "0") != "0"
is_compiled_for_all(bits) = LONG || bits in (24, 72) # by default the collections of the others are not compiled
for bits in WIDTHS
    @eval primitive type $(Symbol(:Bits, bits)) $bits end
end
type_of_width(bits) = getfield(@__MODULE__, Symbol(:Bits, bits))

# The value whose bytes are all different, and different from those of its neighbours.
function value(::Type{T}, k) where {T}
    bytes = [(7 * k + j) % UInt8 for j in 1:sizeof(T)]
    return GC.@preserve bytes unsafe_load(Ptr{T}(pointer(bytes)))
end
values(::Type{T}, n) where {T} = T[value(T, k) for k in 1:n]

const GUARD = 0xaa
guard(a) = fill!(ArenaArray{UInt8}(a, undef, 64), GUARD)
intact(guards...) = all(g -> all(==(GUARD), g), guards)

function test_strides(::Type{T}) where {T}
    a = Arena()
    source = values(T, 20)
    before = guard(a)
    A = ArenaArray{T}(a, undef, 20)
    after = guard(a)
    for i in 1:20
        A[i] = source[i]
    end
    @test intact(before, after)
    @test all(i -> A[i] === source[i], 1:20)
    @test Base.elsize(typeof(A)) == Base.elsize(Vector{T}) && sizeof(A) == sizeof(source) && strides(A) == (1,)
    copyto!(A, 2, A, 1, 19)
    @test A[1] === source[1] && all(i -> A[i] === source[i-1], 2:20) && intact(before, after)
    release!(a)
end

function test_arrays(::Type{T}) where {T}
    a = Arena()
    source = values(T, 20)
    A = ArenaArray(a, source)
    @test collect(A) == source && Array(A) == source && copy(A) == source
    @test A[3:7] == source[3:7] && view(A, 3:7) == source[3:7]
    @test pointer(A, 5) - pointer(A) == pointer(source, 5) - pointer(source)
    @test GC.@preserve(A, unsafe_wrap(Array, pointer(A), 20)) == source
    @test copyto!(Vector{T}(undef, 20), A) == source
    @test copyto!(fill!(ArenaArray{T}(a, undef, 20), source[1]), source) == source
    @test copyto!(ArenaArray{T}(a, undef, 20), A) == source
    B = ArenaArray(a, source)
    tail = guard(a)
    @test copyto!(B, 3, source, 1, 5) == [source[1:2]; source[1:5]; source[8:20]]
    @test copyto!(B, 1, B, 2, 19)[1:19] == [source[2]; source[1:5]; source[8:20]]
    @test copyto!(B, source) == source && intact(tail)
    @test fill!(ArenaArray{T}(a, undef, 3), source[2]) == fill(source[2], 3)
    M = ArenaArray{T}(a, reshape(source, 4, 5))
    @test M == reshape(source, 4, 5) && M[2, 3] === source[10] && reshape(M, 20) == source
    M[4, 5] = source[1]
    @test M[20] === source[1]
    if Base.elsize(Vector{T}) == sizeof(T) # Base refuses others, or should
        @test reinterpret(UInt8, ArenaArray(a, source)) == reinterpret(UInt8, source)
    end
    @test @no_escape(a, begin
        x, y = @alloc(T, 20), guard(a)
        x .= source
        intact(y) && all(x .=== source)
    end)
    release!(a)
end

function test_pointers(::Type{T}) where {T}
    a = Arena()
    source = values(T, 12)
    one = alloc(a, T)
    after_one = guard(a)
    unsafe_store!(one, source[1])
    p = alloc(a, T, 5)
    @test UInt(p) % Base.datatype_alignment(T) == 0
    for i in 1:5
        unsafe_store!(p, source[i], i)
    end
    q = resize!(a, p, 5, 12) # in place, since it is the newest
    @test q === p
    after = guard(a)
    for i in 6:12
        unsafe_store!(q, source[i], i)
    end
    @test intact(after_one, after) && unsafe_load(one) === source[1]
    @test all(unsafe_load(q, i) === source[i] for i in 1:12)
    r = resize!(a, q, 12, 30) # to a new place
    @test r !== q && all(unsafe_load(r, i) === source[i] for i in 1:12)
    r = resize!(a, r, 30, 2)
    s = alloc(a, T, 3)
    @test s >= r + 2 * Base.elsize(Vector{T})
    deallocate!(a, s, 3)
    @test alloc(a, T, 3) === s
    t = alloc(a, T)
    deallocate!(a, t)
    @test alloc(a, T) === t
    A = unsafe_wrap(ArenaArray, a, q, 12)
    @test A == source
    @test_throws ArgumentError alloc(a, T, typemax(Int))
    release!(a)
end

struct Holder{T} # with nothing behind x: Julia 1.5 cannot compile structs with a byte behind one of 24 bits
    a::UInt8
    x::T
end

function test_pools(::Type{T}) where {T}
    source = values(T, 40)
    for kind in (Allocator, FreeListAllocator)
        pool = kind{T}(nothing, 4)
        slots = [allocateend!(pool, x) for x in source]
        @test all(pool[slots[i]] === source[i] for i in 1:40)
        pool[slots[3]] = source[5]
        @test pool[slots[3]] === source[5] && pool[slots[4]] === source[4]
    end
    for kind in (Allocator, SOAllocator, FreeListAllocator, FreeListSOAllocator)
        pool = kind{Holder{T}}(nothing, 4)
        slots = [allocateend!(pool, Holder(0x01, x)) for x in source]
        @test all(pool[slots[i], :x] === source[i] && pool[slots[i], :a] === 0x01 for i in 1:40)
        pool[slots[3], :x] = source[5]
        @test pool[slots[3]] === Holder(0x01, source[5]) && pool[slots[4], 2] === source[4]
        kind in (SOAllocator, FreeListSOAllocator) && @test storage(pool, :x)[slots[6:40]] == source[6:40]
    end
    list, stack, queue = List{T}(), Stack{T}(), Queue{T}()
    for x in source
        pushfirst!(list, x), push!(stack, x), push!(queue, x)
    end
    @test collect(list) == reverse(source) && [pop!(stack) for _ in 1:40] == reverse(source)
    @test [popfirst!(queue) for _ in 1:40] == source
end

function test_tables(::Type{T}) where {T}
    a = Arena()
    n = 250
    source = unique(values(T, n))
    s = ArenaSet(a, source)
    after = guard(a)
    @test length(s) == length(source) && all(x -> x in s, source) && Set(s) == Set(source)
    d = ArenaDict{T,Int}(a)
    for (i, x) in enumerate(source)
        d[x] = i
    end
    @test all(d[x] == i for (i, x) in enumerate(source)) && copy(d) == Dict(x => i for (i, x) in enumerate(source))
    e = ArenaDict{Int,T}(a)
    f = ArenaDict{UInt8,T}(a)
    g = ArenaDict{T,T}(a)
    h = ArenaDict{T,UInt8}(a)
    for (i, x) in enumerate(source)
        e[i], f[i % UInt8], g[x], h[x] = x, x, x, i % UInt8
    end
    @test all(e[i] === x && f[i % UInt8] === x && g[x] === x && h[x] === i % UInt8 for (i, x) in enumerate(source))
    for (i, x) in enumerate(source) # the keys behind them move down
        isodd(i) && foreach((c, k) -> delete!(c, k), (s, d, e, f, g, h), (x, x, i, i % UInt8, x, x))
    end
    right = map(enumerate(source)) do (i, x)
        isodd(i) && return !(x in s || any(haskey.((d, e, f, g, h), (x, i, i % UInt8, x, x))))
        x in s && d[x] == i && e[i] === f[i % UInt8] === g[x] === x && h[x] === i % UInt8
    end
    @test all(right)
    @test intact(after)
    pairs = SortedDict{Int,T}()
    for (i, x) in enumerate(source)
        pairs[i] = x
    end
    @test all(pairs[i] === x for (i, x) in enumerate(source))
    release!(a)
end

@testset "$bits bits" for bits in WIDTHS
    T = type_of_width(bits)
    test_strides(T)
    test_pointers(T)
    is_compiled_for_all(bits) || continue
    test_arrays(T)
    test_pools(T)
    test_tables(T)
end

end
