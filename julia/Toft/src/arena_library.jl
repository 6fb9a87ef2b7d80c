# The C side of arenas: libtoft, which makes them, and the words and tables of the ABI, through which arenas of every
# provider are used. libtoft is loaded when the first arena is made; nothing else in this package needs it.
# SPDX-License-Identifier: MIT OR Apache-2.0

using Libdl

# ---- the ABI: abi/SPEC.md, version 1 ----

const WORD = sizeof(UInt)
const MAX_REQUEST = UInt(typemax(Int)) >> 1 # larger ones no provider serves

# The head, in words from 1, as unsafe_load counts.
const HEAD_CURSOR = 1
const HEAD_OPS = 2
const HEAD_LIMIT = 3
const HEAD_EPOCH = 4

# The table: its size and version, 32 bits each, then functions.
const OPS_FUNCTIONS = 8
const OPS_SIZE = OPS_FUNCTIONS + 13 * WORD
const OPS_ALLOC, OPS_RESIZE, OPS_FREE, OPS_REWIND, OPS_RESET, OPS_TRIM, OPS_CLEANUP, OPS_CLAIM, OPS_GIVE, OPS_CONTAINS,
      OPS_STATS, OPS_SET, OPS_RELEASE = 1:13

const TOFT_ZERO = UInt32(1)
const TOFT_STAY = UInt32(2)
const TOFT_KEEP_RECENT = UInt32(0)
const TOFT_KEEP_ALL = UInt32(1)
const TOFT_KEEP_BYTES = UInt32(2)
const TOFT_SET_BUDGET = UInt32(1)
const TOFT_SET_SAMPLE = UInt32(3)
const TOFT_SET_CHECKED = UInt32(4)
const TOFT_OK = Cint(0)
const TOFT_ENOMEM = Cint(-1)
const TOFT_EMARK = Cint(-2)
const TOFT_EBUSY = Cint(-3)
const TOFT_EARG = Cint(-4)
const TOFT_ENOSYS = Cint(-5)
const TOFT_ECORRUPT = Cint(-6)

struct RawStats # toft_stats
    live::UInt64
    allocated::UInt64
    peak::UInt64
    budget::UInt64
    reserved::UInt64
    wasted::UInt64
    blocks::UInt64
    source_calls::UInt64
end

struct RawOptions # toft_options
    size::Csize_t
    source::Ptr{Cvoid}
    buffer::Ptr{Cvoid}
    buffer_size::Csize_t
    budget::UInt64
    reserve::Csize_t
    failure::Ptr{Cvoid}
    failure_arg::Ptr{Cvoid}
    flags::UInt32
end

struct RawTag # toft_tag_report
    name::Ptr{UInt8}
    number::Ptr{UInt64}
    live::UInt64
    allocated::UInt64
    budget::UInt64
end

struct RawSite # toft_site_report
    site::UInt
    tag::Ptr{UInt8}
    count::UInt64
    bytes::UInt64
    stack::Ptr{Ptr{Cvoid}}
    depth::Csize_t
end

struct RawSnapshot # toft_snapshot_options
    size::Csize_t
    flags::UInt32
    symbolizer::Ptr{Cvoid}
    symbolizer_arg::Ptr{Cvoid}
end

struct RawSymbol # toft_symbol
    name::Ptr{UInt8}
    offset::Csize_t
    module_name::Ptr{UInt8}
    module_offset::Csize_t
    file::Ptr{UInt8}
    line::Cuint
end

struct RawReserve # toft_reserve_source
    take::Ptr{Cvoid}
    put::Ptr{Cvoid}
    extend::Ptr{Cvoid}
    base::Ptr{Cvoid}
    max::Csize_t
    committed::Csize_t
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

# Pointers are filled in when the library is loaded: in a precompiled image they are all NULL.
mutable struct Library
    create::Ptr{Cvoid}
    create_with::Ptr{Cvoid}
    reserve_init::Ptr{Cvoid}
    reserve_done::Ptr{Cvoid}
    cache_limit::Ptr{Cvoid}
    cache_held::Ptr{Cvoid}
    cache_trim::Ptr{Cvoid}
    pages_held::Ptr{Cvoid}
    at_place::Ptr{Cvoid}
    budget_create::Ptr{Cvoid}
    budget_release::Ptr{Cvoid}
    budget_source::Ptr{Cvoid}
    budget_set_limit::Ptr{Cvoid}
    budget_stats::Ptr{Cvoid}
    budget_limit_live::Ptr{Cvoid}
    budget_charge::Ptr{Cvoid}
    budget_uncharge::Ptr{Cvoid}
    budget_live_stats::Ptr{Cvoid}
    set_metered::Ptr{Cvoid}
    set_tag_budget::Ptr{Cvoid}
    tag_push::Ptr{Cvoid}
    tag_pop::Ptr{Cvoid}
    tags::Ptr{Cvoid}
    sites::Ptr{Cvoid}
    snapshot_text::Ptr{Cvoid}
    symbolize::Ptr{Cvoid}
    heap_trim::Ptr{Cvoid} # glibc's malloc_trim
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
        LIBRARY.create_with = found(:toft_create_with)
        LIBRARY.reserve_init = found(:toft_reserve_source_init)
        LIBRARY.reserve_done = found(:toft_reserve_source_release)
        LIBRARY.cache_limit = found(:toft_cache_limit)
        LIBRARY.cache_held = found(:toft_cache_bytes)
        LIBRARY.cache_trim = found(:toft_cache_trim)
        LIBRARY.pages_held = found(:toft_page_cache_bytes)
        LIBRARY.at_place = found(:toft_at_place)
        LIBRARY.budget_create = found(:toft_budget_create)
        LIBRARY.budget_release = found(:toft_budget_release)
        LIBRARY.budget_source = found(:toft_budget_source)
        LIBRARY.budget_set_limit = found(:toft_budget_set_limit)
        LIBRARY.budget_stats = found(:toft_budget_get_stats)
        LIBRARY.budget_limit_live = found(:toft_budget_limit_live)
        LIBRARY.budget_charge = found(:toft_budget_charge)
        LIBRARY.budget_uncharge = found(:toft_budget_uncharge)
        LIBRARY.budget_live_stats = found(:toft_budget_get_live_stats)
        LIBRARY.set_metered = found(:toft_set_metered)
        LIBRARY.set_tag_budget = found(:toft_set_tag_budget)
        LIBRARY.tag_push = found(:toft_tag_push_slow)
        LIBRARY.tag_pop = found(:toft_tag_pop_slow)
        LIBRARY.tags = found(:toft_tags)
        LIBRARY.sites = found(:toft_sites)
        LIBRARY.snapshot_text = found(:toft_snapshot_text)
        LIBRARY.symbolize = found(:toft_symbolize)
        LIBRARY.heap_trim = found(:malloc_trim) # of the C library that libtoft uses
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
