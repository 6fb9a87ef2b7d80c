# Statistics of an arena, and how it is shown.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    ArenaStats

The result of [`stats`](@ref), in bytes: `live`, allocated and not freed, with paddings: exact; `allocated`, ever, and
`peak`, the most that was live: as seen at slow calls, so that memory allocated and rewound in between within one
block is missing; `budget`, or `nothing`; `reserved`, held of the source, kept blocks included; `wasted`, about what
headers and unused ends of blocks come to. And counts: `blocks` in use; `source_calls`, how often blocks were requested,
ever. It prints for people, and is equal to another whose fields are.

    julia> using Toft: stats

    julia> arena(stats, budget = 4096)
    ArenaStats
      live          0 bytes
      allocated     0 bytes
      peak          0 bytes
      budget        4.000 KiB, 0 % of it live
      reserved      4.000 KiB
      wasted        512 bytes
      blocks        1
      source calls  1
"""
struct ArenaStats
    live::Int64
    allocated::Int64
    peak::Int64
    budget::Union{Nothing,Int64}
    reserved::Int64
    wasted::Int64
    blocks::Int64
    source_calls::Int64
end

"""
    stats(a::Arena) -> ArenaStats

What the arena holds now: see [`ArenaStats`](@ref). An `ArgumentError` once it is released.
"""
function stats(a::Arena)
    s = GC.@preserve a by_one_task(() -> op_stats(opened(a)), a)
    budget = s.budget > typemax(Int64) ? nothing : Int64(s.budget)
    ArenaStats(s.live, s.allocated, s.peak, budget, s.reserved, s.wasted, s.blocks, s.source_calls)
end

"""
    in(p::Ptr, a::Arena) -> Bool
    p in a

Whether `p` points into memory that the arena has handed out. Walks the blocks.
"""
Base.in(p::Ptr, a::Arena) = GC.@preserve a by_one_task(() -> op_contains(opened(a), Ptr{Cvoid}(p)), a) == 1

Base.show(io::IO, s::ArenaStats) = (print(io, "ArenaStats("); say_stats(io, s); print(io, ")"))
Base.show(io::IO, ::MIME"text/plain", s::ArenaStats) = (print(io, "ArenaStats"); list_stats(io, s))

function Base.show(io::IO, a::Arena)
    isopen(a) || return print(io, "Arena(released)")
    s = GC.@preserve a op_stats(a.head)
    print(io, "Arena(", s.live, " bytes live, ", s.reserved, " reserved)")
end

function Base.show(io::IO, ::MIME"text/plain", a::Arena)
    isopen(a) || return show(io, a)
    print(io, "Arena")
    list_stats(io, stats(a))
end

# In a line: "104 bytes live of 4.000 KiB in 1 block, peak 104 bytes, no budget".
say_stats(io, s) =
    print(io, bytes_text(s.live), " live of ", bytes_text(s.reserved), " in ", s.blocks,
          s.blocks == 1 ? " block" : " blocks", ", peak ", bytes_text(peak_of(s)), ", ",
          s.budget === nothing ? "no budget" : "budget " * bytes_text(s.budget))

function list_stats(io, s)
    budget = s.budget === nothing ? "none" : bytes_text(s.budget) * share(s.live, s.budget)
    for (name, value) in (("live", bytes_text(s.live)), ("allocated", bytes_text(s.allocated)),
                          ("peak", bytes_text(peak_of(s))), ("budget", budget),
                          ("reserved", bytes_text(s.reserved)), ("wasted", bytes_text(s.wasted)),
                          ("blocks", s.blocks), ("source calls", s.source_calls))
        print(io, "\n  ", rpad(name, 14), value)
    end
end

if isdefined(Base, :format_bytes)
    bytes_text(n) = Base.format_bytes(n)
else
    bytes_text(n) = "$n bytes"
end
peak_of(s) = max(s.peak, s.live) # the peak is as of the last slow call
share(live, budget) = budget == 0 ? "" : string(", ", round(Int, 100 * (live / budget)), " % of it live")
