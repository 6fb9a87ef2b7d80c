# Arenas: memory that is handed out by moving a pointer and freed at once, outside the garbage collector. The head
# is the four words that C, C++, Rust and Go see too: Julia moves its cursor inline and calls the provider when a block
# is full.
# SPDX-License-Identifier: MIT OR Apache-2.0

include("arena_library.jl")

# How arrays detect that their memory was freed: an array holds a Lifetime and the generation that it had. There is
# one Lifetime for each part of the arena between two marks in which an array was made; giving that part back increments
# its generation. It is an object of its own, and arrays keep the arena reachable through it.
#
# An arena has a stack of Lifetimes. A mark begins the next one, unless no array was made in the last: then that one
# serves the arrays after the mark too. A mark refers to the Lifetime below. A rewind to it leaves the one above at the
# top, with a new generation, and so a loop that marks, makes arrays and rewinds does not change the stack.
mutable struct Lifetime{A}
    generation::UInt
    arena::A
end

# What C gets as the argument of a cleanup.
mutable struct Cleanup
    f::Any
    arena::Any
    done::Bool
    error::Any # nothing, or what f threw
end

"""
    Arena(; budget = nothing, reserve = 0, contiguous = 0, checked = false, within = nothing)
    arena(f; ...)

Memory outside the garbage collector, handed out by moving a pointer ([`alloc`](@ref), [`ArenaArray`](@ref),
[`cstring`](@ref)) and freed as a whole ([`release!`](@ref), [`reset!`](@ref), [`rewind!`](@ref)). It holds bits
types only. C, C++, Rust and Go can allocate from the same arena: pass [`pointer(a)`](@ref pointer(::Arena)).

    arena() do a
        v = ArenaArray{Float64}(a, undef, 1000)
        ...
    end                                 # released here, also when an exception passes

An `Arena` is released by `release!` or `close`; or by a finalizer when nothing refers to it any more, arrays of it
included. Raw pointers do not keep it: `GC.@preserve a` does. Arenas that are left to their finalizers are counted: when
they have grown by a quarter of the heap and of themselves since the last such collection (32 MiB at least, 1 GiB at
most), the call that brings the block collects garbage. Blocks that C, C++, Rust or Go code brings count at the next one
that Julia code does. `arena() do` counts for nothing.

* `budget`: bytes that may be live at once, paddings included; `nothing`: no limit (see [`budget!`](@ref)).
* `reserve`: bytes expected; the first block is made that large.
* `contiguous`: not 0: one range of at most this number of bytes of address space, committed as the arena grows.
* `checked`: start with checks (see [`checked!`](@ref)).
* `within`: a [`Toft.Budget`](@ref) that the blocks count for, with those of other arenas. Not with `contiguous`.

Throws [`ArenaMemoryError`](@ref) where there is no memory or address space, [`BudgetError`](@ref) where `within` has no
room, `ArgumentError` for options that make no sense, and an `ErrorException` where libtoft is missing (see
[`Toft.library`](@ref)), and while a package is precompiled, because the memory would be missing when the package is
loaded; `arena() do` works there too, as long as `a` is not stored.

Threads: one task at a time; it may pass from one to another. Two tasks that use a checked arena at once are an
`ErrorException` in one of them; in other arenas they may get the same memory. The finalizer, and the cleanups that it
runs, may run on any thread.
"""
mutable struct Arena
    head::Ptr{UInt}                # once released, that of an arena without room: the inline paths need no check
    lifetime::Lifetime{Arena}      # of arrays made now: the last one in use
    used::Bool                     # an array was made in it since it began, or since the last rewind
    depth::Int                     # how many Lifetimes are in use
    below::UInt                    # the generation of the one below the last; of the first, root
    root::UInt                     # counts the resets
    lifetimes::Vector{Lifetime{Arena}} # those in use, and some to be used again
    cleanups::Vector{Cleanup}      # oldest first
    calling::Bool                  # the provider may be running cleanups for us
    owned::Bool
    unchecked::Bool                # if it is watched, then only by meters
    range::Ptr{RawReserve}         # goes after the arena; NULL: none
    within::Any                    # its Budget, which ends after it, or nothing
    held::Int                      # the bytes that it counts for (arena_held.jl); below 0: it has no finalizer
    user::Threads.Atomic{UInt}     # of a checked one: the address of the task that calls the provider; 0: none

    function Arena(head::Ptr{UInt}, owned::Bool, range::Ptr{RawReserve}, finalized::Bool, within = nothing)
        a = new(head)
        a.root = a.below = first_generation()
        a.lifetime = Lifetime{Arena}(a.root, a)
        a.used = false
        a.depth = 1
        a.lifetimes = NO_LIFETIMES
        a.cleanups = NO_CLEANUPS
        a.calling = false
        a.owned = owned
        a.unchecked = false
        a.range = range
        a.within = within
        a.held = finalized ? 0 : -1
        a.user = isodd(word(head, HEAD_EPOCH)) ? Threads.Atomic{UInt}(0) : UNCHECKED_USER
        finalized && finalizer(finish, a)
        a
    end
end

# No Lifetime begins with the generation of another, so that a mark of another arena is detected, even if its epoch and
# cursor fit. Marks are bits, which Serialization and files copy, so the numbers of processes differ too.
const LIFETIMES = Threads.Atomic{UInt}(1) # made so far, and a number of the process
number_lifetimes() = LIFETIMES[] = hash((time_ns(), time(), getpid()))
first_generation() = Threads.atomic_add!(LIFETIMES, UInt(1)) << (3 * WORD)

const NO_LIFETIMES = Lifetime{Arena}[] # never changed: most arenas need no list of their own
const NO_CLEANUPS = Cleanup[]
const UNCHECKED_USER = Threads.Atomic{UInt}(0) # never changed

"""
    Toft.ArenaError

What went wrong with an arena, but for memory that it does not get ([`BudgetError`](@ref),
[`ArenaMemoryError`](@ref)) and bad arguments (`ArgumentError`).
`code` is the C library's: `Toft.TOFT_EMARK`, a mark of another arena, from before a reset or already rewound past;
`Toft.TOFT_EBUSY`, a range of the arena is claimed or a cleanup is running; `Toft.TOFT_ENOSYS`, the provider does
not offer this; `Toft.TOFT_ECORRUPT`, done, and a checked arena found bytes written outside an allocation. `what` is the
call.
"""
struct ArenaError <: Exception
    code::Cint
    what::String
end

function Base.showerror(io::IO, e::ArenaError)
    why = e.code == TOFT_EMARK ? "the mark is of another arena, from before a reset, or was already rewound past" :
          e.code == TOFT_EBUSY ? "a range of the arena is claimed, or a cleanup is running" :
          e.code == TOFT_ENOSYS ? "the arena's provider does not offer this" :
          e.code == TOFT_ECORRUPT ? "done, but bytes were written outside an allocation" : "code $(e.code)"
    print(io, "ArenaError: ", e.what, ": ", why)
end

failure(code, what) =
    code == TOFT_ENOMEM ? OutOfMemoryError() :
    code == TOFT_EARG ? ArgumentError("$what: an argument that has no meaning") : ArenaError(code, what)

check(code, what) = code >= TOFT_OK ? nothing : throw(failure(code, what))

# ---- making and ending ----

const CLOSED = Ref{Ptr{UInt}}(C_NULL)

# The head of released arenas: no room, and watched, so that every inline path ends in a slow one, which recognizes it.
function closed_head()
    CLOSED[] == C_NULL && lock(LOADING) do
        CLOSED[] == C_NULL || return
        head = Ptr{UInt}(Libc.malloc(4 * WORD))
        head == C_NULL && throw(OutOfMemoryError())
        unsafe_store!(head, UInt(head), HEAD_CURSOR)
        unsafe_store!(head, 0, HEAD_OPS)
        unsafe_store!(head, UInt(head), HEAD_LIMIT)
        unsafe_store!(head, 1, HEAD_EPOCH)
        CLOSED[] = head
    end
    CLOSED[]
end

# The head of an open arena, for calls to its provider.
function opened(a::Arena)
    a.head == CLOSED[] && throw(ArgumentError("the arena was released"))
    a.head
end

# A package is being precompiled, or a system image made: reachable objects are written to a file at the end, with null
# for each pointer.
precompiling() = ccall(:jl_generating_output, Cint, ()) != 0

@noinline arena_in_image() =
    error("Toft: an arena that is made while a package is precompiled would be without its memory when the package is ",
          "loaded: make it in __init__, or for the length of a block by `arena() do a ... end`")

@noinline function make(budget, reserve, contiguous, checked, within = nothing)
    library()
    closed_head()
    limit = limit_of(budget)
    reserve, contiguous = size_of("reserve", reserve), size_of("contiguous", contiguous)
    contiguous != 0 && reserve > contiguous && throw(ArgumentError("reserve exceeds contiguous"))
    contiguous != 0 && within !== nothing && throw(ArgumentError("contiguous within a budget"))
    range = Ptr{RawReserve}(C_NULL)
    source = source_within(within)
    if contiguous != 0
        range = Ptr{RawReserve}(Libc.malloc(sizeof(RawReserve)))
        range == C_NULL && throw(OutOfMemoryError())
        source = ccall(LIBRARY.reserve_init, Ptr{Cvoid}, (Ptr{RawReserve}, Csize_t), range, contiguous)
        source == C_NULL && (Libc.free(range); throw(ArenaMemoryError(contiguous, 0, contiguous)))
    end
    head = if limit == typemax(UInt64) && reserve == 0 && contiguous == 0 && !checked && within === nothing
        ccall(LIBRARY.create, Ptr{UInt}, ())
    else # a budget of 0 would be none there: it is set below
        options = Ref(RawOptions(sizeof(RawOptions), source, C_NULL, 0, limit, reserve, C_NULL, C_NULL, checked))
        ccall(LIBRARY.create_with, Ptr{UInt}, (Ref{RawOptions},), options)
    end
    if head == C_NULL
        end_range(range)
        need_budget(within, reserve % Int, reserve % Int + 4096)
        throw(ArenaMemoryError(reserve, 0, nothing))
    end
    limit == 0 && op_set(head, TOFT_SET_BUDGET, 0)
    head, range
end

end_range(range) = range == C_NULL ||
                   (ccall(LIBRARY.reserve_done, Cvoid, (Ptr{RawReserve},), range); Libc.free(range))

limit_of(::Nothing) = typemax(UInt64)
function limit_of(bytes::Integer)
    bytes >= 0 || throw(ArgumentError("a negative budget: $bytes"))
    bytes > typemax(UInt64) ? typemax(UInt64) : UInt64(bytes)
end

function size_of(name, bytes::Integer)
    bytes >= 0 || throw(ArgumentError("$name is negative: $bytes"))
    bytes > MAX_REQUEST ? too_large("$name of $bytes bytes") : UInt(bytes)
end

function Arena(; budget = nothing, reserve = 0, contiguous = 0, checked = false, within = nothing)
    precompiling() && arena_in_image()
    head, range = make(budget, reserve, contiguous, checked, within)
    a = Arena(head, true, range, true, within)
    count_held!(a)
    return a
end

"""
    arena(f; budget = nothing, reserve = 0, contiguous = 0, checked = false, within = nothing)

Calls `f(a)` with a new [`Arena`](@ref), releases it, also when an exception passes, and returns what `f` did, which
must not be memory of the arena. Errors as `Arena` and [`release!`](@ref).

    julia> using Toft: alloc

    julia> arena(budget = 4096) do a
               p = alloc(a, Int, 3) # a Ptr{Int}: 24 bytes that the collector does not see
               unsafe_store!(p, 7, 2)
               unsafe_load(p, 2)
           end
    7
"""
function arena(f; budget = nothing, reserve = 0, contiguous = 0, checked = false, within = nothing)
    head, range = make(budget, reserve, contiguous, checked, within)
    a = Arena(head, true, range, false, within) # no finalizer, which would cost more than the arena
    try
        result = f(a)
        result === a && precompiling() && arena_in_image()
        return result
    finally
        release!(a)
    end
end

"""
    unsafe_wrap(Arena, p::Ptr; own = false)

The arena at `p`, a `toft_arena *` that C, C++, Rust or Go made. With `own = false` it stays theirs: they release it,
and not while it is used here; `release!` refuses. With `own = true` it is released here, by `release!` or the
finalizer. libtoft is not needed. Unsafe: `p` must point to the head of a living arena. Throws an `ArgumentError` for
what does not look like one, and `Toft.ArenaError` (`TOFT_ENOSYS`) for another version of the ABI.

What another side rewinds, resets or releases is not noticed by arrays made here.
"""
function Base.unsafe_wrap(::Type{Arena}, p::Ptr; own::Bool = false)
    head = Ptr{UInt}(p)
    code = look(head)
    code == TOFT_EARG && throw(ArgumentError("this is not the head of an arena"))
    check(code, "unsafe_wrap")
    closed_head()
    head == CLOSED[] && throw(ArgumentError("this is not the head of an arena"))
    Arena(head, own, Ptr{RawReserve}(C_NULL), own)
end

"""
    pointer(a::Arena) -> Ptr{Cvoid}

The arena's pointer in C, a `toft_arena *`: for `ccall`s that allocate from it. Keep `a` reachable until then
(`GC.@preserve a`). Throws an `ArgumentError` once `a` is released.
"""
Base.pointer(a::Arena) = Ptr{Cvoid}(opened(a))

Base.cconvert(::Type{Ptr{Cvoid}}, a::Arena) = a
Base.unsafe_convert(::Type{Ptr{Cvoid}}, a::Arena) = pointer(a)

# Here and below: nothing refers to an arena whose last use this is, and the collector may run between reading its head
# and the call, so it is preserved.

# Calls f, which calls the provider, and refuses another task that does so at the same time.
@inline by_one_task(f, a::Arena) = a.user === UNCHECKED_USER ? f() : by_one_task_checked(f, a)

@noinline function by_one_task_checked(f, a::Arena)
    task = UInt(pointer_from_objref(current_task()))
    other = Threads.atomic_cas!(a.user, UInt(0), task)
    other == 0 || other == task || two_tasks()
    try
        return f()
    finally
        other == 0 && (a.user[] = 0) # else a call within a cleanup
    end
end

@noinline two_tasks() = error("two tasks use a checked arena at once")

# Calls to the provider that may run cleanups. They must not nest, or an inner one would collect the outer's errors.
@inline calling(f, a::Arena, what) = by_one_task(a) do
    a.calling && throw(ArenaError(TOFT_EBUSY, what))
    head = opened(a)
    a.calling = true
    say_place(a, head)
    code = f(head)
    a.calling = false # which also keeps a until now
    code
end

"""
    release!(a::Arena)
    close(a::Arena)

Runs the cleanups and frees all memory. Arrays of `a` throw from then on, and so does each call with `a`.
A released arena is left as it is. Throws `Toft.ArenaError` (`TOFT_EBUSY`), having done nothing, while a cleanup is
running or a range is claimed; `TOFT_ECORRUPT`, having done its work, where a checked arena found damage; and what
cleanups threw. An arena that was wrapped without `own` is not ours to release: `ArgumentError`.
"""
function release!(a::Arena)
    isopen(a) || return nothing
    a.owned || throw(ArgumentError("release!: the arena is wrapped, and its provider's to release"))
    code = calling(a, "release!") do head
        # The provider refuses without an error, and does not report damage. A head that is not watched is open.
        first = isodd(word(head, HEAD_EPOCH)) ? op_reset(head, TOFT_KEEP_BYTES, 0) : TOFT_OK
        first == TOFT_EBUSY || (say_place(a, head); op_release(head))
        first
    end
    code == TOFT_EBUSY && throw(ArenaError(code, "release!"))
    a.head = CLOSED[]
    uncount_held!(a)
    end_all_lifetimes!(a)
    end_range(a.range)
    a.range = C_NULL
    a.within = nothing
    check_cleanups(a, code, "release!")
end

Base.close(a::Arena) = release!(a)

# A range that C claimed and never gave keeps the arena for ever, as the ABI requires.
finish(a::Arena) = try
    a.unchecked = true # whose code this interrupts did not do it
    bytes = uncount_held!(a)
    release!(a)
    finished!(bytes)
catch e
    e isa ArenaError && e.code == TOFT_EBUSY || rethrow() # Julia prints what finalizers throw
end

"""
    isopen(a::Arena) -> Bool

Whether `a` is not released yet.
"""
Base.isopen(a::Arena) = a.head != CLOSED[]

include("arena_held.jl")
include("arena_alloc.jl")

# ---- marks ----

"""
    Toft.Mark

A point of an arena to come back to; made by `mark(a)`. Plain bits, to be kept or dropped as one likes.
"""
struct Mark
    cursor::UInt
    epoch::UInt
    depth::Int  # the Lifetimes below, and the generation of the last: a mark that outlived them is detected
    generation::UInt
end

"""
    mark(a::Arena) -> Toft.Mark

Remembers this point of the arena, for [`rewind!`](@ref): a few loads. Throws an `ArgumentError` once `a` is released.
"""
@inline function Base.mark(a::Arena)
    GC.@preserve a begin
        head = a.head
        epoch = word(head, HEAD_EPOCH)
        isodd(epoch) && opened(a)
        a.used && begin_lifetime!(a)
        Mark(word(head, HEAD_CURSOR), epoch & ~UInt(1), a.depth - 1, a.below)
    end
end

"""
    rewind!(a::Arena, m::Toft.Mark)

Frees everything allocated since `m = mark(a)` and runs the cleanups registered since, the newest first. Arrays
made since throw from then on. The mark stays good for another rewind. Inline, a compare and a store, unless a block
came or cleanups were registered since the mark.

Throws `Toft.ArenaError`: `TOFT_EMARK` for a mark of another arena, from before a reset, or already rewound past (the
last is always detected on checked arenas, else where arrays were made in between); `TOFT_EBUSY` in a cleanup of
`a`; the arena is then as it was. `TOFT_ECORRUPT` after the work, on a checked arena; and what cleanups threw.
`ArgumentError` for a released arena.
"""
@inline function rewind!(a::Arena, m::Mark)
    GC.@preserve a begin
        head = a.head
        if m.epoch == word(head, HEAD_EPOCH) && m.cursor <= word(head, HEAD_CURSOR)
            if m.depth == a.depth - 1 && m.generation == a.below
                a.used && end_last!(a)
            else
                end_lifetimes_since!(a, m)
            end
            unsafe_store!(head, m.cursor, HEAD_CURSOR)
            nothing
        else
            rewind_slow!(a, m)
        end
    end
end

@noinline function rewind_slow!(a::Arena, m::Mark)
    code = calling(a, "rewind!") do head
        outlived(a, m) ? TOFT_EMARK : op_rewind(head, m.cursor, m.epoch)
    end
    code < TOFT_OK && code != TOFT_ECORRUPT && throw(failure(code, "rewind!"))
    end_lifetimes!(a, m.depth)
    check_cleanups(a, code, "rewind!")
end

@noinline function end_lifetimes_since!(a::Arena, m::Mark)
    outlived(a, m) && throw(ArenaError(TOFT_EMARK, "rewind!"))
    end_lifetimes!(a, m.depth)
end

outlived(a, m) = m.depth >= a.depth || m.generation != generation_at(a, m.depth)

"""
    scope(f, a::Arena)

Calls `f()` and frees its allocations, also when an exception passes: [`rewind!`](@ref) to where it
began. Returns what `f` did, which must not be memory of the scope.

    scope(a) do
        name = cstring(a, "toft")
        ccall(...)
    end
"""
function scope(f, a::Arena)
    m = mark(a)
    try
        return f()
    finally
        rewind!(a, m)
    end
end

# ---- the Lifetimes of arrays ----

lifetime_at(a, depth) = depth == 1 && a.lifetimes === NO_LIFETIMES ? a.lifetime : a.lifetimes[depth]
generation_at(a, depth) = depth == 0 ? a.root : lifetime_at(a, depth).generation

# Arrays are made with this.
@inline function lifetime(a::Arena)
    a.used = true
    a.lifetime
end

@noinline function begin_lifetime!(a::Arena)
    a.lifetimes === NO_LIFETIMES && (a.lifetimes = [a.lifetime])
    a.depth == length(a.lifetimes) && push!(a.lifetimes, Lifetime{Arena}(first_generation(), a))
    a.below = a.lifetime.generation
    a.depth += 1
    a.lifetime = a.lifetimes[a.depth]
    a.used = false
    nothing
end

# The arrays of the last Lifetime throw from now on.
@inline function end_last!(a::Arena)
    a.lifetime.generation += 1
    a.used = false
    nothing
end

# Those of all Lifetimes beyond depth; the next one is then the last.
function end_lifetimes!(a::Arena, depth)
    for i in depth+1:a.depth
        lifetime_at(a, i).generation += 1
    end
    a.lifetime = lifetime_at(a, depth + 1)
    a.below = generation_at(a, depth)
    a.depth = depth + 1
    a.used = false
    nothing
end

# All of them, and all marks.
function end_all_lifetimes!(a::Arena)
    a.root += 1
    end_lifetimes!(a, 0)
end

# ---- resetting ----

"""
    reset!(a::Arena; keep = :recent)

Frees every allocation and runs the cleanups, but keeps memory for the next round: `:recent`, as much as the
largest of the last 64 rounds needed; `:all`; or at most about a number of bytes. Marks and arrays from before are
refused then. Throws `Toft.ArenaError` (`TOFT_EBUSY`; `TOFT_ECORRUPT`, having done its work) and what cleanups threw;
`ArgumentError` for another `keep` and for a released arena.
"""
function reset!(a::Arena; keep::Union{Symbol,Integer} = :recent)
    policy, bytes = keep === :recent ? (TOFT_KEEP_RECENT, UInt(0)) : keep === :all ? (TOFT_KEEP_ALL, UInt(0)) :
                    keep isa Integer && keep >= 0 ? (TOFT_KEEP_BYTES, min(keep, typemax(UInt)) % UInt) :
                    throw(ArgumentError("reset!: keep is :recent, :all or a number of bytes, not $(repr(keep))"))
    code = calling(head -> op_reset(head, policy, bytes), a, "reset!")
    code < TOFT_OK && code != TOFT_ECORRUPT && throw(failure(code, "reset!"))
    end_all_lifetimes!(a)
    check_cleanups(a, code, "reset!")
end

"""
    trim!(a::Arena, keep = 0)

Returns memory that holds no allocation to where it came from, until about `keep` bytes of it are left. Marks, pointers
and arrays stay good. Nothing happens in a cleanup of `a`.
"""
function trim!(a::Arena, keep::Integer = 0)
    keep >= 0 || throw(ArgumentError("trim!: negative: $keep"))
    bytes = min(keep, typemax(UInt)) % UInt
    GC.@preserve a by_one_task(() -> op_trim(opened(a), bytes), a)
    a.held < 0 || count_held!(a)
    return nothing
end

"""
    budget!(a::Arena, bytes)

From now on at most `bytes` bytes may be live in `a`, paddings included: an allocation above is a [`BudgetError`](@ref).
It costs nothing until it is reached. A budget below the live bytes refuses every allocation until enough is freed.
`nothing` lifts it. Throws `Toft.ArenaError` (`TOFT_EBUSY`).
"""
function budget!(a::Arena, bytes::Union{Nothing,Integer})
    limit = limit_of(bytes)
    GC.@preserve a check(by_one_task(() -> op_set(opened(a), TOFT_SET_BUDGET, limit), a), "budget!")
end

"""
    checked!(a::Arena, on = true)

Switches checks of later allocations: red zones around each, compared when it is freed (`rewind!`,
`reset!` and `release!` then throw `Toft.ArenaError` with `TOFT_ECORRUPT`, having done their work); freed memory
is filled with `0xDD`; marks already rewound past are refused. Slow, and exact. Throws `Toft.ArenaError`: `TOFT_EBUSY`,
or `TOFT_ENOSYS` where the provider offers no checks.

With `TOFT_CHECKED=1` in the environment when the first arena is made, every arena is checked from its start. Each
finding is then a line that names the places in Julia, on standard error or appended to the file that `TOFT_FINDINGS`
names. libtoft reads both variables, and ignores them in a privileged process.
"""
function checked!(a::Arena, on::Bool = true)
    GC.@preserve a check(by_one_task(() -> op_set(opened(a), TOFT_SET_CHECKED, on), a), "checked!")
    on && (a.unchecked = false)
    on && a.user === UNCHECKED_USER && (a.user = Threads.Atomic{UInt}(0))
    nothing
end

include("arena_stats.jl")
include("arena_cleanup.jl")
include("arena_array.jl")
include("meter.jl")
