# Four allocations of 32 B, a number written to each and read again, and all freed: n times.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

const Words = NTuple{4,Int}

@inline function used(take, k)
    a, b, c, d = take(), take(), take(), take()
    unsafe_store!(Ptr{Int}(a), k)
    unsafe_store!(Ptr{Int}(b), 2k)
    unsafe_store!(Ptr{Int}(c), 3k)
    unsafe_store!(Ptr{Int}(d), 4k)
    read = unsafe_load(Ptr{Int}(a)) + unsafe_load(Ptr{Int}(b)) + unsafe_load(Ptr{Int}(c)) + unsafe_load(Ptr{Int}(d))
    return read == 10k, a, b, c, d
end

function with_mark(a, n)
    right = true
    for k in 1:n
        m = Toft.mark(a)
        right &= used(() -> Toft.alloc(a, Words), k)[1]
        Toft.rewind!(a, m)
    end
    return right
end

function with_arrays(a, n)
    right = true
    for k in 1:n
        m = Toft.mark(a)
        right &= used(() -> pointer(Toft.ArenaVector{Int}(a, undef, 4)), k)[1]
        Toft.rewind!(a, m)
    end
    return right
end

function with_reset(a, n)
    right = true
    for k in 1:n
        right &= used(() -> Toft.alloc(a, Words), k)[1]
        Toft.reset!(a)
    end
    return right
end

# The provider's function, from the table that the second word of the head points to (abi/SPEC.md): the cost of a
# foreign call.
function by_ccall(a, n)
    right = true
    GC.@preserve a begin
        head = Ptr{UInt}(pointer(a))
        for k in 1:n
            m = Toft.mark(a)
            f = unsafe_load(Ptr{Ptr{Cvoid}}(unsafe_load(head, 2) + 8))
            take() = ccall(f, Ptr{Cvoid}, (Ptr{UInt}, Csize_t, Csize_t, UInt32, UInt), head, 32, 8, 0, 0)
            right &= used(take, k)[1]
            Toft.rewind!(a, m)
        end
    end
    return right
end

function by_malloc(n)
    right = true
    for k in 1:n
        good, a, b, c, d = used(() -> Libc.malloc(32), k)
        right &= good
        Libc.free(a)
        Libc.free(b)
        Libc.free(c)
        Libc.free(d)
    end
    return right
end

@noinline vector() = Vector{Int}(undef, 4) # as a function of another module would return it

function by_vectors(n)
    right = true
    for k in 1:n
        a, b, c, d = vector(), vector(), vector(), vector()
        a[1], b[1], c[1], d[1] = k, 2k, 3k, 4k
        right &= a[1] + b[1] + c[1] + d[1] == 10k
    end
    return right
end

# A cursor and a limit in an object of Julia's, without anything else.
mutable struct Bump
    cursor::UInt
    limit::UInt
end

@noinline full() = error("the floor's block is full")

@inline function bump(b::Bump, size)
    b.limit - b.cursor < size && full()
    at = b.cursor
    b.cursor = at + size
    return Ptr{Cvoid}(at)
end

function by_bump(b, n)
    right = true
    start = b.cursor
    for k in 1:n
        right &= used(() -> bump(b, UInt(32)), k)[1]
        b.cursor = start
    end
    return right
end

function heads()
    arena(body) = n -> (a = Toft.Arena(); () -> body(a, n))
    return [Contender("toft mark", arena(with_mark)), Contender("toft arrays", arena(with_arrays)),
            Contender("toft reset", arena(with_reset)),
            Contender("toft by ccall", arena(by_ccall)), Contender("malloc", n -> (() -> by_malloc(n))),
            Contender("Vectors", n -> (() -> by_vectors(n))),
            Contender("floor", n -> (at = UInt(Libc.malloc(4096)); b = Bump(at, at + 4096); () -> by_bump(b, n)))]
end
