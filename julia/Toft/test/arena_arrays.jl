# Arrays in an arena: indices, copies that overlap, arrays whose memory was freed. A part of arena.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0

@testset "a BoundsError is printed though the arena has ended, and sizeof is of the elements" begin
    for f in (a -> zeros(a, Int, 3)[4], a -> view(zeros(a, Int, 3), 1:2)[3], a -> zeros(a, Int, 2, 2)[3, 1])
        e = try arena(f) catch e; e end
        @test e isa BoundsError && occursin("whose memory was freed", sprint(showerror, e))
    end
    arena() do a
        @test sizeof(zeros(a, Int8, 3)) == 3 && sizeof(zeros(a, Float64, 2, 3)) == 48 && sizeof(zeros(a, Int, 0)) == 0
        @test summary(zeros(a, Int, 2)) |> startswith("2-element")
    end
end

@testset "copies for the sake of overlap end with a scope" begin
    arena() do a
        A = ArenaArray(a, 1:1000)
        live = stats(a).live
        for i in 1:10
            scope(() -> A[2:end] .= view(A, 1:999), a)
        end
        @test A[1:12] == [fill(1, 11); 2] && stats(a).live == live
    end
end

@testset "arrays" begin
    a = Arena()
    v = ArenaArray{Int}(a, undef, 5)
    @test v isa ArenaVector{Int} && v isa DenseVector{Int} && size(v) == (5,) && length(v) == 5
    v .= 1:5
    @test v == 1:5 && collect(v) == 1:5 && sum(v) == 15 && [x for x in v] == 1:5 && v[end] == 5 && v[2:3] == [2, 3]
    @test pointer(v) in a && pointer(v, 5) == pointer(v) + 4 * sizeof(Int)
    @test IndexStyle(v) == IndexLinear() && strides(v) == (1,) && eachindex(v) == 1:5
    for i in (0, 6, -1, typemin(Int), typemax(Int))
        @test_throws BoundsError v[i]
        @test_throws BoundsError v[i] = 1
    end
    @test_throws InexactError v[1] = 1.5
    m = ArenaArray{Float64}(a, undef, 3, 4)
    @test m isa ArenaMatrix{Float64} && strides(m) == (1, 3) && size(m, 2) == 4
    m .= reshape(1.0:12, 3, 4)
    @test m[2, 3] == 8 && m[8] == 8 && m[2, 3, 1] == 8 && m[:, 2] == [4, 5, 6] && m' == collect(m)'
    m[2, 3] = 80
    @test m[8] == 80
    @test_throws BoundsError m[4, 1]
    @test_throws BoundsError m[1, 5] = 0
    @test_throws BoundsError m[2, 3, 2]
    @test_throws BoundsError m[13]
    t = ArenaArray{Int8}(a, undef, 2, 3, 4)
    t .= reshape(1:24, 2, 3, 4)
    @test t == reshape(1:24, 2, 3, 4) && strides(t) == (1, 2, 6) && t[2, 1, 3] == 14 && t[CartesianIndex(2, 3, 4)] == 24
    @test t[5] == 5 && t[2, 1, 3, 1] == 14
    @test_throws BoundsError t[2, 11]
    scalar = ArenaArray{Int}(a, undef)
    scalar[] = 3
    @test ndims(scalar) == 0 && scalar[] == 3 && strides(scalar) == ()
    @test isempty(ArenaArray{Int}(a, undef, 0)) && sum(ArenaArray{Int}(a, undef, 3, 0)) == 0
    # Copies in and out, and computed arrays.
    @test ArenaArray(a, [1 2; 3 4]) == [1 2; 3 4] && ArenaArray{Float64}(a, 1:3) isa ArenaVector{Float64}
    @test ArenaArray{Float64,1}(a, 1:3) == 1:3 && ArenaArray(a, view(v, 2:4)) == 2:4 && ArenaArray(a, v) == v
    @test zeros(a, Int, 2, 3) == zeros(a, Int, (2, 3)) == zeros(Int, 2, 3)
    @test ones(a, Float32, 4) isa ArenaVector{Float32} && ones(a, Float32, 4) == ones(4)
    @test similar(v) isa Vector{Int} && copy(v) isa Vector{Int} && v .+ 1 isa Vector{Int} && map(abs, v) isa Vector{Int}
    @test copyto!(zeros(Int, 7), 2, v, 3, 3) == [0, 3, 4, 5, 0, 0, 0]
    @test copyto!(zeros(a, Int, 7), 2, [1, 2, 3], 2, 2) == [0, 2, 3, 0, 0, 0, 0]
    @test copyto!(v, 2, v, 1, 4) == [1, 1, 2, 3, 4] # as memmove
    @test_throws BoundsError copyto!(v, 3, [1, 2, 3, 4], 1, 4)
    @test_throws BoundsError copyto!(v, [1, 2, 3, 4, 5, 6])
    @test_throws BoundsError copyto!([1, 2], v)
    @test_throws ArgumentError copyto!(v, 1, [1], 1, -1)
    @test size(ArenaArray{Int,2}(a, undef, (0x02, big(3)))) == (2, 3)
    many = zeros(a, UInt8, 250) # where the ends of the ranges overflow
    @test_throws BoundsError copyto!(many, UInt8(200), many, UInt8(200), UInt8(100))
    @test_throws BoundsError copyto!(many, 2, many, 2, typemax(Int))
    @test_throws BoundsError copyto!(many, typemax(Int), many, 1, 2)
    @test_throws BoundsError copyto!(many, 1, many, typemax(Int), 2)
    @test copyto!(many, 250, UInt8[1, 2], 2, 1)[250] == 2
    @test copyto!(zeros(a, Float64, 3), Int8[1, 2, 3]) == 1:3
    @test fill!(v, 9) == fill(9, 5)
    # Broadcasting where source and destination overlap, views, reshapes.
    v .= 1:5
    v[2:5] .= view(v, 1:4) .* 10
    @test v == [1, 10, 20, 30, 40]
    w = view(v, 2:3)
    w .+= 1
    @test v == [1, 11, 21, 30, 40] && w == [11, 21]
    r = reshape(m, 4, 3)
    @test r isa ArenaMatrix{Float64} && pointer(r) == pointer(m) && vec(r) == vec(m) && vec(m) isa ArenaVector
    m .= reshape(m, 3, 4)
    r .= reshape(collect(m), 4, 3) .+ 1
    @test Base.mightalias(r, m) && !Base.mightalias(v, m)
    @test_throws DimensionMismatch reshape(m, 5, 5)
    @test reinterpret(UInt64, v) == UInt64[1, 11, 21, 30, 40]
    # To LAPACK and C, without a copy.
    x, y = ArenaArray(a, rand(20, 20)), ArenaArray(a, rand(20, 20))
    z = ArenaArray{Float64}(a, undef, 20, 20)
    @test mul!(z, x, y) === z && z ≈ collect(x) * collect(y)
    @test x \ y ≈ collect(x) \ collect(y) && dot(x, y) ≈ dot(collect(x), collect(y))
    @test lu!(copyto!(z, x)).L ≈ lu(collect(x)).L
    @test ccall(:memcmp, Cint, (Ptr{Float64}, Ptr{Float64}, Csize_t), x, collect(x), 3200) == 0
    @test sort!(ArenaArray(a, [3, 1, 2])) == 1:3 && occursin("5-element", sprint(show, MIME"text/plain"(), v))
    @test sprint(show, v) == "[1, 11, 21, 30, 40]"
    p = alloc(a, Point, 3)
    q = unsafe_wrap(ArenaArray, a, p, 3)
    q[2] = Point(1.5, 2)
    @test unsafe_load(p, 2) == Point(1.5, 2) && size(unsafe_wrap(ArenaArray, a, p, (3, 1))) == (3, 1)
    @test_throws ArgumentError unsafe_wrap(ArenaArray, a, p, -1)
    release!(a)
end

@testset "arrays whose memory was freed" begin
    a = Arena()
    old = ArenaArray(a, [1, 2, 3])
    m = mark(a)
    new, far = ArenaArray(a, [4 5; 6 7]), ArenaArray{Int}(a, undef, 100_000)
    rewind!(a, m)
    @test isvalid(old) && old == [1, 2, 3]
    @test !isvalid(new) && !isvalid(far)
    for f in (() -> new[1], () -> new[1, 1], () -> new[1] = 1, () -> new[1, 1] = 1, () -> size(new), () -> length(new),
              () -> axes(new), () -> sum(new), () -> iterate(new), () -> collect(new), () -> pointer(new),
              () -> copy(new),
              () -> view(new, 1, :), () -> reshape(new, 4), () -> new .+ 1, () -> (new .= 1), () -> fill!(new, 1),
              () -> copyto!(old, new), () -> copyto!(new, [1, 2, 3, 4]), () -> new == new, () -> strides(new),
              () -> maximum(new), () -> map(abs, new), () -> mul!(ones(2, 2), new, ones(2, 2)), () -> new[:, 1],
              () -> ccall(:memcmp, Cint, (Ptr{Int}, Ptr{Int}, Csize_t), new, old, 1), () -> eachindex(new))
        @test_throws ArgumentError f()
        @test occursin("freed", message_of(f))
    end
    @test occursin("freed", sprint(show, MIME"text/plain"(), new)) && occursin("freed", sprint(show, new))
    again = ArenaArray(a, [8, 9])
    @test isvalid(again) && !isvalid(new) && again == [8, 9]
    views = (view(again, 1:1), view(again, [1]), again', reinterpret(UInt64, again), view(reshape(again, 1, 2), :, 1))
    kept = scope(() -> ArenaArray(a, [1]), a)
    @test !isvalid(kept) && isvalid(again)
    # Nested marks, in any order.
    m1 = mark(a); x1 = ArenaArray(a, [1])
    m2 = mark(a); x2 = ArenaArray(a, [2])
    m3 = mark(a); x3 = ArenaArray(a, [3])
    rewind!(a, m3); @test map(isvalid, (x1, x2, x3)) == (true, true, false)
    x4 = ArenaArray(a, [4])
    rewind!(a, m2); @test map(isvalid, (x1, x2, x4)) == (true, false, false)
    x5 = ArenaArray(a, [5])
    rewind!(a, m2); @test map(isvalid, (x1, x5)) == (true, false)
    rewind!(a, m1); @test map(isvalid, (again, x1)) == (true, false)
    trim!(a)
    @test again == [8, 9]
    reset!(a)
    @test !isvalid(old) && !isvalid(again)
    for v in views
        @test_throws ArgumentError v[1]
        @test_throws ArgumentError sum(v)
        @test_throws ArgumentError v .+ 1
    end
    fresh = ArenaArray(a, [1])
    release!(a)
    @test !isvalid(fresh)
    @test_throws ArgumentError fresh[1]
    # An array whose memory was refused leaves nothing behind.
    arena(budget = 1000) do a
        ArenaArray{Int}(a, undef, 10)
        @test refused(() -> ArenaArray{Int}(a, undef, 1000), a, BudgetError)
    end
end
