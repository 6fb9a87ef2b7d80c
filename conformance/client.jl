# The client in Julia: the package's arenas, wrapped around heads of any provider. Julia is the process: it loads the
# driver, which loads the others.
#
#     julia client.jl DRIVER ARGUMENT...
#
# SPDX-License-Identifier: MIT OR Apache-2.0
using Libdl
using Toft
using Toft: alloc, reset!, stats, checked!

# conformance_record; its bytes follow.
struct Record
    older::Ptr{Record}
    size::UInt64
    seed::UInt64
end

# toft_mark
struct RawMark
    cursor::UInt
    epoch::UInt
end

const CODES = Dict(:ok => Cint(0), :nomem => Cint(-1), :arg => Cint(-4), :nosys => Cint(-5))

# The driver shows each arena before it is used. A Toft.Mark holds more than two words, so those made here are kept.
const ARENAS = Dict{Ptr{Cvoid},Arena}()
const LEASED = Dict{Ptr{Cvoid},Arena}() # the arenas that were made here
const MARKS = Dict{Tuple{Ptr{Cvoid},RawMark},Toft.Mark}()

# The code of a call that throws.
function code_of(f)
    try
        f()
        return CODES[:ok]
    catch e
        e isa Toft.ArenaError && return e.code
        e isa Union{OutOfMemoryError,BudgetError,ArenaMemoryError} && return CODES[:nomem]
        e isa ArgumentError && return CODES[:arg]
        rethrow()
    end
end

function address(f)
    try
        return Ptr{Cvoid}(f())
    catch e
        e isa Union{BudgetError,ArenaMemoryError,ArgumentError} || code_of(rethrow) == Toft.TOFT_EBUSY || rethrow()
        return C_NULL
    end
end

function accept(p::Ptr{Cvoid})::Cint
    empty!(MARKS)
    code_of(() -> ARENAS[p] = unsafe_wrap(Arena, p))
end

allocate(p::Ptr{Cvoid}, size::Csize_t, align::Csize_t)::Ptr{Cvoid} =
    address(() -> alloc(ARENAS[p], size; align = align))

resized(p::Ptr{Cvoid}, at::Ptr{Cvoid}, old::Csize_t, new::Csize_t, align::Csize_t)::Ptr{Cvoid} =
    address(() -> resize!(ARENAS[p], Ptr{UInt8}(at), old, new; align = align))

free(p::Ptr{Cvoid}, at::Ptr{Cvoid}, size::Csize_t)::Cvoid = deallocate!(ARENAS[p], Ptr{UInt8}(at), size)

function marked(p::Ptr{Cvoid})::RawMark
    m = mark(ARENAS[p])
    raw = RawMark(m.cursor, m.epoch)
    MARKS[(p, raw)] = m
    raw
end

function rewound(p::Ptr{Cvoid}, raw::RawMark)::Cint
    m = get(MARKS, (p, raw), nothing)
    m === nothing ? CODES[:nosys] : code_of(() -> rewind!(ARENAS[p], m))
end

reset(p::Ptr{Cvoid})::Cint = code_of(() -> reset!(ARENAS[p]))
trim(p::Ptr{Cvoid}, keep::Csize_t)::Cvoid = trim!(ARENAS[p], keep)
budget(p::Ptr{Cvoid}, bytes::UInt64)::Cint =
    code_of(() -> budget!(ARENAS[p], bytes == typemax(UInt64) ? nothing : bytes))
checked(p::Ptr{Cvoid}, on::Cint)::Cint = code_of(() -> checked!(ARENAS[p], on != 0))

function read_stats(p::Ptr{Cvoid}, out::Ptr{UInt64})::Cvoid
    s = stats(ARENAS[p])
    all = (s.live, s.allocated, s.peak, something(s.budget, -1), s.reserved, s.wasted, s.blocks, s.source_calls)
    foreach(i -> unsafe_store!(out, all[i] % UInt64, i), 1:8)
end

contained(p::Ptr{Cvoid}, at::Ptr{Cvoid})::Cint = at in ARENAS[p]

cleanup(p::Ptr{Cvoid}, notify::Ptr{Cvoid}, arg::Ptr{Cvoid})::Cint =
    code_of(() -> cleanup!(() -> ccall(notify, Cvoid, (Ptr{Cvoid},), arg), ARENAS[p])) == 0

# Ours only if it was wrapped so.
function release(p::Ptr{Cvoid})::Cint
    a = unsafe_wrap(Arena, p; own = true)
    delete!(ARENAS, p)
    code_of(() -> release!(a))
end

function lease(key::Ptr{UInt64})::Ptr{Cvoid}
    a = Arena()
    LEASED[pointer(a)] = a
    pointer(a)
end

end_lease(p::Ptr{Cvoid}, key::UInt64)::Cint = code_of(() -> release!(pop!(LEASED, p)))

pattern(r::Record, i) = (r.seed * 131 + i * 7 + i ÷ 256) % UInt8

function write_one(p::Ptr{Cvoid}, older::Ptr{Record}, size::UInt64, seed::UInt64, align::Csize_t)::Ptr{Record}
    at = Ptr{Record}(address(() -> alloc(ARENAS[p], sizeof(Record) + size; align = align)))
    at == C_NULL && return at
    r = Record(older, size, seed)
    unsafe_store!(at, r)
    bytes = Ptr{UInt8}(at + sizeof(Record))
    for i in UInt64(0):size-1
        size == 0 && break # whose last byte is none
        unsafe_store!(bytes + i, pattern(r, i))
    end
    at
end

function read_all(at::Ptr{Record})::UInt64
    whole = UInt64(0)
    while at != C_NULL
        r = unsafe_load(at)
        bytes = Ptr{UInt8}(at + sizeof(Record))
        for i in 1:r.size
            unsafe_load(bytes + i - 1) == pattern(r, i - 1) || return whole
        end
        whole += 1
        at = r.older
    end
    whole
end

# conformance_client, word by word.
const NAME = "Julia\0"
const HEAD = Ptr{Cvoid}
table() = Ptr{Cvoid}[
    pointer(NAME),
    @cfunction(accept, Cint, (HEAD,)),
    @cfunction(allocate, Ptr{Cvoid}, (HEAD, Csize_t, Csize_t)),
    C_NULL, # zeroed
    @cfunction(resized, Ptr{Cvoid}, (HEAD, Ptr{Cvoid}, Csize_t, Csize_t, Csize_t)),
    @cfunction(free, Cvoid, (HEAD, Ptr{Cvoid}, Csize_t)),
    Ptr{Cvoid}(0), # free_calls_from
    @cfunction(marked, RawMark, (HEAD,)),
    @cfunction(rewound, Cint, (HEAD, RawMark)),
    @cfunction(reset, Cint, (HEAD,)),
    @cfunction(trim, Cvoid, (HEAD, Csize_t)),
    @cfunction(budget, Cint, (HEAD, UInt64)),
    @cfunction(checked, Cint, (HEAD, Cint)),
    @cfunction(read_stats, Cvoid, (HEAD, Ptr{UInt64})),
    @cfunction(contained, Cint, (HEAD, Ptr{Cvoid})),
    @cfunction(cleanup, Cint, (HEAD, Ptr{Cvoid}, Ptr{Cvoid})),
    Ptr{Cvoid}(1), # node_alone
    C_NULL, # claimed
    @cfunction(release, Cint, (HEAD,)),
    @cfunction(write_one, Ptr{Record}, (HEAD, Ptr{Record}, UInt64, UInt64, Csize_t)),
    @cfunction(read_all, UInt64, (Ptr{Record},)),
    @cfunction(lease, Ptr{Cvoid}, (Ptr{UInt64},)),
    @cfunction(end_lease, Cint, (HEAD, UInt64)),
]

function main()
    driver = dlsym(dlopen(ARGS[1]), :conformance_main)
    arguments = ["conformance"; ARGS[2:end]]
    client = table()
    GC.@preserve client ccall(driver, Cint, (Cint, Ptr{Ptr{UInt8}}, Ptr{Ptr{Cvoid}}), length(arguments), arguments,
                              client)
end

exit(main())
