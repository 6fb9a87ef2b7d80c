# Arenas that are left to their finalizers: the collector sees an object of some words, and not their blocks. These are
# counted here when a block comes, and a collection begins when the arenas have grown by a share of the heap.
#
# The C heap keeps what finalizers free, in blocks below 1 MiB. So it returns its free pages after a collection.
# SPDX-License-Identifier: MIT OR Apache-2.0

const LEAST_GROWTH = 32 << 20 # bytes by which arenas may grow between two collections, at least
const MOST_GROWTH = 1 << 30
const LEAST_TRIM = 16 << 20 # bytes freed by finalizers outside of such a collection, before the C heap is trimmed

const HELD = Threads.Atomic{Int}(0) # bytes of all arenas with a finalizer
const COLLECT_AT = Threads.Atomic{Int}(LEAST_GROWTH)
const HELD_OLD = Threads.Atomic{Int}(0) # what the last full collection left
const COLLECTING = Threads.Atomic{Int}(0) # 1: a task does
const FINISHED = Threads.Atomic{Int}(0) # bytes freed by finalizers since the C heap was trimmed

# Of this process: a system image has kept what there was when it was made.
function reset_held()
    HELD[] = HELD_OLD[] = COLLECTING[] = FINISHED[] = 0
    COLLECT_AT[] = LEAST_GROWTH
    resize!(OF_THREAD, thread_count())
    return nothing
end

const OF_THREAD = RawStats[] # where the provider writes them: a Ref would be an object of Julia's for each block

function reserved_by(head)
    thread = Threads.threadid()
    thread <= length(OF_THREAD) || return op_stats(head).reserved % Int # a thread that was added later
    GC.@preserve OF_THREAD begin
        at = pointer(OF_THREAD, thread)
        ccall(operation(head, OPS_STATS), Csize_t, (Ptr{UInt}, Ptr{RawStats}, Csize_t), head, at, sizeof(RawStats))
        return unsafe_load(at).reserved % Int
    end
end

# After a call that may have brought a block. It may run a collection.
@noinline function count_held!(a::Arena)
    bytes = reserved_by(a.head)
    more = bytes - a.held
    a.held = bytes
    held = Threads.atomic_add!(HELD, more) + more
    more > 0 && held >= COLLECT_AT[] && collect_arenas()
    return nothing
end
@inline count_new!(a::Arena, epoch) = a.held < 0 || word(a.head, HEAD_EPOCH) == epoch || count_held!(a)

# The bytes that the arena was counted for.
function uncount_held!(a::Arena)
    bytes = max(a.held, 0)
    bytes > 0 && Threads.atomic_sub!(HELD, bytes)
    a.held = -1
    return bytes
end

heap_share() = clamp((HELD[] + Base.gc_live_bytes()) ÷ 4, LEAST_GROWTH, MOST_GROWTH)

# Of the young objects first: of all where twice as many bytes are left as after the last full collection.
function collect_arenas()
    Threads.atomic_xchg!(COLLECTING, 1) == 0 || return # a finalizer, or another task
    try
        GC.gc(false)
        if HELD[] > 2 * HELD_OLD[] + LEAST_GROWTH ÷ 2
            GC.gc(true)
            HELD_OLD[] = HELD[]
        end
        COLLECT_AT[] = HELD[] + heap_share()
        trim_heap(LEAST_TRIM ÷ 4)
    finally
        COLLECTING[] = 0
    end
end

# A finalizer has freed these bytes.
function finished!(bytes)
    Threads.atomic_add!(FINISHED, bytes)
    COLLECT_AT[] = max(COLLECT_AT[] - bytes, HELD[] + LEAST_GROWTH)
    COLLECTING[] == 0 && trim_heap(LEAST_TRIM)
end

function trim_heap(least)
    FINISHED[] >= least || return
    FINISHED[] = 0
    LIBRARY.heap_trim == C_NULL || ccall(LIBRARY.heap_trim, Cint, (Csize_t,), 0)
    return nothing
end
