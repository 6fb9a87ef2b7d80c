# The arenas of blocks: a task takes one from its thread at the beginning of its outermost block, and returns it at the
# end, so that tasks of any number share a few.
#
# A block that an exception leaves has no end. So an arena records where each open block lies on the task's stack,
# which grows downwards. A block that begins at the place of a recorded one, or above, proves that this one was left:
# functions with blocks are not inlined, and a block within another one in the same function does not come here.
# SPDX-License-Identifier: MIT OR Apache-2.0

mutable struct BlockArena
    arena::Arena
    task::Union{Task,Nothing} # that used it last
    home::Int                 # the thread that it belongs to; 0: none
    depth::Int                # open blocks; without any it is idle
    places::Vector{UInt}      # of the open blocks on the stack
    marks::Vector{Mark}
    rounds::Int               # outermost blocks
end

mutable struct ThreadArenas
    current::Union{BlockArena,Nothing} # that was used last
    idle::Vector{BlockArena}
    displaced::IdDict{Task,BlockArena} # that were in use when another one became current
    check_at::Int                      # at this number of displaced ones, those without open blocks become idle
end

const THREADS = ThreadArenas[]
const ROUNDS = 512 # outermost blocks of an arena between two times at which memory that is not needed is returned

# Of this process: what a system image has kept is without its memory.
function make_thread_arenas()
    empty!(THREADS)
    append!(THREADS, [ThreadArenas(nothing, [], IdDict{Task,BlockArena}(), 16) for _ in 1:thread_count()])
end

function new_block_arena(task, home)
    head, range = make(nothing, 0, 0, false) # while a package is precompiled too: it is not in the package's image
    a = Arena(head, true, range, true)
    count_held!(a)
    return BlockArena(a, task, home, 0, Vector{UInt}(undef, 8), Vector{Mark}(undef, 8), 0)
end

# An address in the frame of the function that this is inlined to, or below it. (The name is imported: with it, a
# function that an interpreter would run is compiled.)
using Core.Intrinsics: llvmcall
const PLACE_IR = """
    %p = alloca i8
    %i = ptrtoint $(VERSION >= v"1.12" ? "ptr" : "i8*") %p to i$(Sys.WORD_SIZE)
    ret i$(Sys.WORD_SIZE) %i"""
@eval @inline stack_place() = llvmcall($PLACE_IR, UInt, Tuple{})

# Begins a block, and returns what its end needs.
@inline function begin_block(place::UInt)
    b = arena_of_task()
    b.depth != 0 && @inbounds(b.places[b.depth]) <= place && end_left_blocks!(b, place)
    m = mark(b.arena)
    depth = b.depth + 1
    depth > length(b.places) && grow!(b)
    @inbounds b.places[depth] = place
    @inbounds b.marks[depth] = m
    b.depth = depth
    return b, m, depth
end

@inline function arena_of_task()
    task, thread = current_task(), Threads.threadid()
    if thread <= length(THREADS)
        b = @inbounds(THREADS[thread]).current
        b isa BlockArena && b.task === task && isopen(b.arena) && return b
    end
    return other_arena(task, thread)::BlockArena
end

# Depth changes last: another task may use the arena from then on, of another thread too.
@inline function end_block(b::BlockArena, m::Mark, depth::Int)
    rewind!(b.arena, m)
    if depth == 1
        b.rounds += 1
        b.rounds % ROUNDS == 0 && return_memory!(b)
        b.home == Threads.threadid() || Threads.atomic_fence()
    end
    b.depth = depth - 1
    nothing
end

# Of the arena itself, and of every second one that is idle: a thread needs few unless many tasks wait in blocks.
@noinline function return_memory!(b::BlockArena)
    reset!(b.arena)
    b.home == Threads.threadid() || return
    t = THREADS[b.home]
    collect_idle!(t)
    for _ in 1:length(t.idle)÷2
        release!(popfirst!(t.idle).arena)
    end
end

@noinline function end_left_blocks!(b::BlockArena, place)
    depth = b.depth
    while depth > 0 && b.places[depth] <= place
        depth -= 1
    end
    b.depth = depth
    rewind!(b.arena, b.marks[depth+1])
end

@noinline grow!(b::BlockArena) = (resize!(b.places, 2 * length(b.places)); resize!(b.marks, length(b.places)))

# The task's arena, which is not the thread's current one; or one for its outermost block.
@noinline function other_arena(task, thread)
    if thread > length(THREADS) # a thread that was added later
        return get!(() -> new_block_arena(task, 0), task_local_storage(), BlockArena)::BlockArena
    end
    t = THREADS[thread]
    c = t.current
    if c !== nothing && c.depth == 0 && isopen(c.arena)
        c.task = task
        return c
    end
    b = pop!(t.displaced, task, nothing)
    b === nothing && (b = pop_idle!(t))
    if b === nothing
        b = new_block_arena(task, 0) # which may wait
        thread = Threads.threadid()
        t, b.home = THREADS[thread], thread
    end
    displace_current!(t)
    b.task = task
    t.current = b
    return b
end

function pop_idle!(t::ThreadArenas)
    isempty(t.idle) && length(t.displaced) >= t.check_at && collect_idle!(t)
    while !isempty(t.idle)
        b = pop!(t.idle)
        isopen(b.arena) && return b
    end
    return nothing
end

function collect_idle!(t::ThreadArenas)
    for b in values(t.displaced)
        istaskdone(b.task) && empty_arena!(b)
        b.depth == 0 && push!(t.idle, b)
    end
    filter!(entry -> entry.second.depth != 0, t.displaced)
    t.check_at = 2 * length(t.displaced) + 16
end

# A task has ended by an exception in its block.
empty_arena!(b::BlockArena) = (b.depth = 0; reset!(b.arena))

function displace_current!(t::ThreadArenas)
    c = t.current
    c === nothing && return
    istaskdone(c.task) && empty_arena!(c)
    c.depth == 0 ? push!(t.idle, c) : (t.displaced[c.task] = c)
    nothing
end

# The arena of the innermost open block of the task, or nothing.
function block_arena(task)
    thread = Threads.threadid()
    thread <= length(THREADS) || return nothing
    t = THREADS[thread]
    b = t.current !== nothing && t.current.task === task ? t.current : get(t.displaced, task, nothing)
    return b === nothing || b.depth == 0 ? nothing : b.arena
end
