# The C side of arenas: libtoft, which makes them, and the words and tables of the ABI, through which arenas of every
# provider are used. libtoft is loaded when the first arena is made; nothing else in this package needs it.
# SPDX-License-Identifier: MIT OR Apache-2.0

using Libdl

# ---- the ABI: abi/SPEC.md, version 1 ----

const WORD = sizeof(UInt)
const MAX_REQUEST = UInt(typemax(Int)) >> 1 # larger ones no provider serves

# The head, in words from 1, as unsafe_load counts.
const HEAD_CURSOR, HEAD_OPS, HEAD_LIMIT, HEAD_EPOCH = 1:4

# The table: its size and version, 32 bits each, then functions.
const OPS_FUNCTIONS = 8
const OPS_SIZE = OPS_FUNCTIONS + 13 * WORD
const OPS_ALLOC, OPS_RESIZE, OPS_FREE, OPS_REWIND, OPS_RESET, OPS_TRIM, OPS_CLEANUP, OPS_CLAIM, OPS_GIVE, OPS_CONTAINS,
      OPS_STATS, OPS_SET, OPS_RELEASE = 1:13

const TOFT_ZERO, TOFT_STAY = UInt32(1), UInt32(2)
const TOFT_KEEP_RECENT, TOFT_KEEP_ALL, TOFT_KEEP_BYTES = UInt32(0), UInt32(1), UInt32(2)
const TOFT_SET_BUDGET, TOFT_SET_SAMPLE, TOFT_SET_CHECKED = UInt32(1), UInt32(3), UInt32(4)
const TOFT_OK, TOFT_ENOMEM, TOFT_EMARK, TOFT_EBUSY, TOFT_EARG, TOFT_ENOSYS, TOFT_ECORRUPT = map(Cint, 0:-1:-6)

struct RawStats # toft_stats
    live::UInt64; allocated::UInt64; peak::UInt64; budget::UInt64; reserved::UInt64; wasted::UInt64; blocks::UInt64
    source_calls::UInt64
end

struct RawOptions # toft_options
    size::Csize_t; source::Ptr{Cvoid}; buffer::Ptr{Cvoid}; buffer_size::Csize_t; budget::UInt64; reserve::Csize_t
    failure::Ptr{Cvoid}; failure_arg::Ptr{Cvoid}; flags::UInt32
end

struct RawTag # toft_tag_report
    name::Ptr{UInt8}; number::Ptr{UInt64}; live::UInt64; allocated::UInt64; budget::UInt64
end

struct RawSite # toft_site_report
    site::UInt; tag::Ptr{UInt8}; count::UInt64; bytes::UInt64; stack::Ptr{Ptr{Cvoid}}; depth::Csize_t
end

struct RawSnapshot # toft_snapshot_options
    size::Csize_t; flags::UInt32; symbolizer::Ptr{Cvoid}; symbolizer_arg::Ptr{Cvoid}
end

struct RawSymbol # toft_symbol
    name::Ptr{UInt8}; offset::Csize_t; module_name::Ptr{UInt8}; module_offset::Csize_t; file::Ptr{UInt8}; line::Cuint
end

struct RawReserve # toft_reserve_source
    take::Ptr{Cvoid}; put::Ptr{Cvoid}; extend::Ptr{Cvoid}; base::Ptr{Cvoid}; max::Csize_t; committed::Csize_t
    taken::Cint
end

thread_count() = isdefined(Threads, :maxthreadid) ? Threads.maxthreadid() : Threads.nthreads()

@inline word(head::Ptr{UInt}, i) = unsafe_load(head, i)

# The provider's function: read again for each call, since a provider may swap its table.
operation(head::Ptr{UInt}, i) = unsafe_load(Ptr{Ptr{Cvoid}}(word(head, HEAD_OPS) + OPS_FUNCTIONS), i)

op_alloc(head, size, align, flags) =
    ccall(operation(head, OPS_ALLOC), UInt, (Ptr{UInt}, Csize_t, Csize_t, UInt32, UInt), head, size, align, flags, 0)
op_resize(head, p, old, new, align, flags) =
    ccall(operation(head, OPS_RESIZE), UInt, (Ptr{UInt}, UInt, Csize_t, Csize_t, Csize_t, UInt32, UInt), head, p, old,
          new, align, flags, 0)
function op_free(head, p, size)
    f = operation(head, OPS_FREE)
    f == C_NULL || ccall(f, Cvoid, (Ptr{UInt}, UInt, Csize_t), head, p, size)
    nothing
end
op_rewind(head, cursor, epoch) = ccall(operation(head, OPS_REWIND), Cint, (Ptr{UInt}, UInt, UInt), head, cursor, epoch)
op_reset(head, policy, keep) = ccall(operation(head, OPS_RESET), Cint, (Ptr{UInt}, UInt32, Csize_t), head, policy, keep)
op_trim(head, keep) = ccall(operation(head, OPS_TRIM), Cvoid, (Ptr{UInt}, Csize_t), head, keep)
op_cleanup(head, f, arg) =
    ccall(operation(head, OPS_CLEANUP), UInt, (Ptr{UInt}, Ptr{Cvoid}, Ptr{Cvoid}), head, f, arg)
op_contains(head, p) = ccall(operation(head, OPS_CONTAINS), Cint, (Ptr{UInt}, Ptr{Cvoid}), head, p)
function op_stats(head)
    out = Ref(RawStats(0, 0, 0, 0, 0, 0, 0, 0))
    ccall(operation(head, OPS_STATS), Csize_t, (Ptr{UInt}, Ref{RawStats}, Csize_t), head, out, sizeof(RawStats))
    out[]
end
op_set(head, what, value) =
    ccall(operation(head, OPS_SET), Cint, (Ptr{UInt}, UInt32, UInt64, Ptr{UInt8}, Csize_t), head, what, value,
          C_NULL, 0)
op_release(head) = ccall(operation(head, OPS_RELEASE), Cvoid, (Ptr{UInt},), head)

# Is this the head of an arena that we understand? TOFT_OK, TOFT_EARG or TOFT_ENOSYS.
function look(head::Ptr{UInt})
    (head == C_NULL || UInt(head) % WORD != 0 || word(head, HEAD_OPS) == 0) && return TOFT_EARG
    cursor, limit = word(head, HEAD_CURSOR), word(head, HEAD_LIMIT)
    (cursor == 0 || limit < cursor || (cursor | limit) % 8 != 0) && return TOFT_EARG
    size, version = unsafe_load.(Ptr{UInt32}(word(head, HEAD_OPS)), (1, 2))
    version == 1 && size >= OPS_SIZE ? TOFT_OK : TOFT_ENOSYS
end

# Where this package was called from, for findings of checked arenas. Before each call to the provider of a watched one
# that may be checked: looking at the stack takes long.
@inline say_place(a, head::Ptr{UInt}) =
    (isodd(word(head, HEAD_EPOCH)) && !a.unchecked && say_place_slow(head); nothing)

@noinline function say_place_slow(head)
    LIBRARY.at_place == C_NULL && return
    for address in backtrace()
        place = place_at(address)
        isempty(place) && continue
        ccall(LIBRARY.at_place, Cvoid, (Ptr{UInt}, Cstring), head, place)
        return
    end
end

# What an address of code is called, or "" within this package and Julia. To look it up takes Julia some milliseconds;
# code does not move.
const PLACES = Dict{Ptr{Cvoid},String}()
const LOOKING = Threads.SpinLock()

function place_at(address::Ptr)
    known = with_places(() -> get(PLACES, address, nothing))
    known === nothing || return known
    place = place_of(Base.StackTraces.lookup(address))
    with_places() do
        length(PLACES) >= 10_000 && empty!(PLACES)
        PLACES[address] = place
    end
    place
end
place_at(interpreted) = place_of(Base.StackTraces.lookup(interpreted))

# No caller waits for the table: a finalizer may use it while the code that it interrupted holds it.
function with_places(f)
    trylock(LOOKING) || return nothing
    try
        return f()
    finally
        unlock(LOOKING)
    end
end

function place_of(frames)
    for frame in frames
        file = String(frame.file)
        (frame.from_c || startswith(file, @__DIR__) || startswith(file, ".")) && continue # "./": Julia's own
        return "$file:$(frame.line) in $(frame.func)"
    end
    ""
end

# ---- libtoft ----

# The functions, by the names that they have here. Their pointers are filled in when the library is loaded: in a
# precompiled image they are all NULL.
const FUNCTIONS = (
    create = :create, create_with = :create_with, reserve_init = :reserve_source_init,
    reserve_done = :reserve_source_release, cache_limit = :cache_limit, cache_held = :cache_bytes,
    cache_trim = :cache_trim, pages_held = :page_cache_bytes, at_place = :at_place, budget_create = :budget_create,
    budget_release = :budget_release, budget_source = :budget_source, budget_set_limit = :budget_set_limit,
    budget_stats = :budget_get_stats, budget_limit_live = :budget_limit_live, budget_charge = :budget_charge,
    budget_uncharge = :budget_uncharge, budget_live_stats = :budget_get_live_stats, set_metered = :set_metered,
    set_tag_budget = :set_tag_budget, tag_push = :tag_push_slow, tag_pop = :tag_pop_slow, tags = :tags, sites = :sites,
    snapshot_text = :snapshot_text, symbolize = :symbolize)

@eval mutable struct Library
    $((:($name::Ptr{Cvoid}) for name in keys(FUNCTIONS))...)
    heap_trim::Ptr{Cvoid} # malloc_trim of glibc, if libtoft uses it
    path::String
    version::String
end

const LIBRARY = Library(ntuple(_ -> C_NULL, fieldcount(Library) - 2)..., "", "")
const LOADING = ReentrantLock()

# A released package carries the header; in the repository it is in c/include.
const RELEASED_HEADER = joinpath(@__DIR__, "..", "deps", "toft.h")
const TREE_HEADER = joinpath(@__DIR__, "..", "..", "..", "c", "include", "toft.h")
const HEADER = isfile(RELEASED_HEADER) ? RELEASED_HEADER : TREE_HEADER
include_dependency(HEADER)
# The release of the C library whose structs are declared above.
const HEADER_VERSION = VersionNumber(match(r"#define TOFT_VERSION \"(.*)\"", read(HEADER, String)).captures[1])

# Structs may change with the major number, and before 1.0 with the minor one.
fits(v::VersionNumber) = v.major == HEADER_VERSION.major && (v.major > 0 || v.minor == HEADER_VERSION.minor)

built_library() = normpath(joinpath(@__DIR__, "..", "deps", "libtoft." * Libdl.dlext))

"""
    Toft.library() -> (path, version)

Loads libtoft, if that has not happened yet, and returns its file and its version. The file is
`ENV["TOFT_LIBRARY"]` if that is set, else the one that `Pkg.build("Toft")` made. Throws an `ErrorException` where there
is none, where it cannot be loaded, or where it is of another release. Making an arena calls this; pools and collections
never do. Safe from any thread.
"""
function library()
    LIBRARY.create == C_NULL && load_library()
    (path = LIBRARY.path, version = LIBRARY.version)
end

@noinline function load_library()
    lock(LOADING) do
        LIBRARY.create == C_NULL || return
        path = get(ENV, "TOFT_LIBRARY", "")
        if isempty(path)
            path = built_library()
            isfile(path) || error("Toft: arenas need libtoft, which is not built: put a C compiler on PATH (or in ",
                                  "ENV[\"CC\"]) and run `import Pkg; Pkg.build(\"Toft\")`, or name a libtoft in ",
                                  "ENV[\"TOFT_LIBRARY\"]. Pools and collections work without.")
        end
        handle = try
            dlopen(path)
        catch e
            error("Toft: arenas need libtoft, and ", path, " cannot be loaded (", sprint(showerror, e), "). `import ",
                  "Pkg; Pkg.build(\"Toft\")` builds one; ENV[\"TOFT_LIBRARY\"] names one.")
        end
        found(name) = something(dlsym(handle, name; throw_error = false), C_NULL)
        version_of = found(:toft_version)
        version = version_of == C_NULL ? "unknown" : unsafe_string(ccall(version_of, Ptr{UInt8}, ()))
        if version_of == C_NULL || !fits(VersionNumber(version))
            dlclose(handle)
            error("Toft: ", path, " is of version ", version, ", and this package needs ", HEADER_VERSION)
        end
        for (name, symbol) in pairs(FUNCTIONS)
            name === :create || setfield!(LIBRARY, name, found(Symbol(:toft_, symbol)))
        end
        LIBRARY.heap_trim = found(:malloc_trim)
        LIBRARY.path = path
        LIBRARY.version = version
        background = found(:toft_background_thread)
        if background != C_NULL && !haskey(ENV, "TOFT_BACKGROUND_THREAD")
            ccall(background, Cint, (Cint,), 1) # returns pages while Julia is idle or computes something else
        end
        LIBRARY.create = found(:toft_create) # last: readers take it as a sign that the rest is there
    end
    nothing
end

"""
    cache_limit!(bytes) -> Int

How many bytes of released arenas and blocks libtoft keeps for each thread, for the next arena: 4 MiB unless set, 0 is
off. Returns the limit there was. Each thread reads it at its next release; blocks released by a finalizer are those of
the thread that runs it. Safe from any thread.
"""
function cache_limit!(bytes::Integer)
    bytes >= 0 || throw(ArgumentError("cache_limit!: negative: $bytes"))
    library()
    limit = min(bytes, typemax(Int)) % UInt # the limit that the next call returns is an Int
    min(ccall(LIBRARY.cache_limit, Csize_t, (Csize_t,), limit), typemax(Int)) % Int
end

"""
    cache_held() -> Int

Bytes that the calling thread's cache holds (see [`cache_limit!`](@ref)), and those of the free pages that libtoft
keeps for all threads, in blocks of 1 MiB and more. Pages are kept while as many were in use within the last second, 256
MiB at most; a thread of libtoft, which exists only while there are any, returns the others to the system, unless
`ENV["TOFT_BACKGROUND_THREAD"]` is set to `"0"` before Toft makes its first arena.
"""
function cache_held()
    library()
    Int(ccall(LIBRARY.cache_held, Csize_t, ()) + ccall(LIBRARY.pages_held, Csize_t, ()))
end

"""
    cache_trim!()

Returns all that the calling thread's cache and the cache of pages hold to the system: see [`cache_held`](@ref).
"""
function cache_trim!()
    library()
    ccall(LIBRARY.cache_trim, Cvoid, ())
end
