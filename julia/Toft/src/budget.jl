# Budgets: limits over many arenas, with parents. The arithmetic is libtoft's.
# SPDX-License-Identifier: MIT OR Apache-2.0

# As C declares them.
struct RawBudgetOptions
    size::Csize_t; name::Cstring; parent::Ptr{Cvoid}; source::Ptr{Cvoid}; limit::Csize_t; refused::Ptr{Cvoid}
    refused_arg::Ptr{Cvoid}
end

struct RawBudgetStats
    limit::UInt64; reserved::UInt64; peak::UInt64; available::UInt64; refusals::UInt64; children::UInt64
end

struct RawBudgetLiveStats
    limit::UInt64; live::UInt64; peak::UInt64; available::UInt64; parked::UInt64; refusals::UInt64
end

"""
    Toft.Budget(; name = "", limit = nothing, live_limit = nothing, parent = nothing, on_refusal = nothing)

A limit on the memory of many arenas, of any tasks and threads: those of a process, of a tenant, of a request. The
blocks of an arena that is made [`within`](@ref Arena) a budget count for it and for all its parents; a block is refused
before one of them would exceed its limit by a byte, and the request fails with a [`BudgetError`](@ref) while others go
on. What an arena returns in `reset!` or `release!` counts no more. Arenas within a budget keep no unused blocks over a
`reset!`.

    process = Toft.Budget(limit = 1 << 30)
    tenant = Toft.Budget(name = "tenant 7", limit = 64 << 20, parent = process)
    arena(within = tenant) do a
        ...
    end

* `name`: at most 31 bytes, without a NUL.
* `limit`: bytes that may be reserved at a time; `nothing`: no limit (see [`limit!`](@ref)).
* `live_limit`: bytes that may be live at a time, in whichever blocks; `nothing`: they are not counted, unless the
  parent's are (see [`limit_live!`](@ref)).
* `parent`: a budget that counts and limits the same bytes.
* `on_refusal`: called as `on_refusal(budget, bytes)` for a request of so many bytes that the limit of this budget
  refuses, once for the request and without a lock. It may make and release other arenas, also within the budget, and
  returns whether the request is tried again. It must not use the arena that requests, nor wait for other tasks. What it
  throws counts as `false`. While it runs, it is not called again on its thread: what the limit refuses there fails.

A budget is released by `release!` or `close`, or by a finalizer when nothing refers to it. Any task may use it.
Throws an `ArgumentError` for options that make no sense, `OutOfMemoryError`, and as [`Arena`](@ref) does where libtoft
is missing or a package is precompiled.
"""
mutable struct Budget
    raw::Ptr{Cvoid} # NULL: released
    parent::Union{Budget,Nothing}
    name::String
    on_refusal::Any
end

# What C calls, on the task that requests. No exception passes through C.
function refuse(at::Ptr{Cvoid}, ::Ptr{Cvoid}, bytes::Csize_t)
    b = unsafe_pointer_to_objref(at)::Budget
    try
        return Cint(Base.invokelatest(b.on_refusal, b, bytes % Int) === true)
    catch
        return Cint(0)
    end
end

function Budget(; name::AbstractString = "", limit = nothing, live_limit = nothing,
                parent::Union{Budget,Nothing} = nothing, on_refusal = nothing)
    precompiling() && arena_in_image()
    library()
    LIBRARY.budget_create == C_NULL && error("Toft: ", LIBRARY.path, " has no budgets")
    live_limit === nothing || raw_limit(live_limit) # throws what it refuses before the budget is made
    (sizeof(name) > 31 || '\0' in name) &&
        throw(ArgumentError("the name is longer than 31 bytes, or contains a NUL: $(repr(name))"))
    b = Budget(C_NULL, parent, name, on_refusal)
    GC.@preserve b begin
        call = on_refusal === nothing ? C_NULL : @cfunction(refuse, Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t))
        raw_parent = parent === nothing ? C_NULL : opened(parent)
        options = RawBudgetOptions(sizeof(RawBudgetOptions), pointer(b.name), raw_parent, C_NULL, raw_limit(limit),
                                   call, pointer_from_objref(b))
        b.raw = ccall(LIBRARY.budget_create, Ptr{Cvoid}, (Ref{RawBudgetOptions},), options)
    end
    b.raw == C_NULL && throw(OutOfMemoryError())
    finalizer(finish, b)
    live_limit === nothing || limit_live!(b, live_limit)
    return b
end

raw_limit(limit) = min(limit_of(limit), typemax(UInt)) % UInt

function opened(b::Budget)
    b.raw == C_NULL && throw(ArgumentError("the budget was released"))
    b.raw
end

# Throws the error of the first budget that has no room for `needed` bytes, which were requested as `bytes`.
need_budget(::Nothing, bytes, needed) = nothing
function need_budget(b::Budget, bytes, needed)
    s = stats(b)
    for (limit, used) in ((s.limit, s.reserved), (s.live_limit, s.live))
        limit === nothing || needed <= limit - used || throw(BudgetError("budget $(b.name)", bytes, used, limit))
    end
    need_budget(b.parent, bytes, needed)
end

# The source of arenas within a budget, or NULL.
source_within(::Nothing) = C_NULL
source_within(b::Budget) = ccall(LIBRARY.budget_source, Ptr{Cvoid}, (Ptr{Cvoid},), opened(b))

"""
    release!(b::Toft.Budget)
    close(b)

Ends the budget; a released one is left as it is. Throws `Toft.ArenaError` (`TOFT_EBUSY`), having done nothing, while
arenas within it are not released, bytes are charged, or budgets are below it.
"""
function release!(b::Budget)
    b.raw == C_NULL && return nothing
    check(ccall(LIBRARY.budget_release, Cint, (Ptr{Cvoid},), b.raw), "release!")
    b.raw = C_NULL
    nothing
end

Base.close(b::Budget) = release!(b)
Base.isopen(b::Budget) = b.raw != C_NULL

# Arenas and children that nothing refers to either may be finalized later.
finish(b::Budget) = try
    release!(b)
catch
    finalizer(finish, b)
end

"""
    Toft.limit!(b::Toft.Budget, bytes)

Sets the limit; `nothing` removes it. A limit below the reserved bytes refuses every block until enough is returned.
"""
function limit!(b::Budget, bytes)
    limit = raw_limit(bytes)
    GC.@preserve b ccall(LIBRARY.budget_set_limit, Cvoid, (Ptr{Cvoid}, Csize_t), opened(b), limit)
    nothing
end

"""
    Toft.limit_live!(b::Toft.Budget, bytes)

Begins to count live bytes, here and in budgets that are made below, and sets their limit; `nothing` removes it. Arenas
hold up to 1/128 of it without using it; their `rewind!`, `reset!` and `release!` take the slow path then. Throws
`Toft.ArenaError` (`TOFT_EBUSY`) if live bytes are not counted yet and there are arenas within `b` or budgets below it.
"""
function limit_live!(b::Budget, bytes)
    limit = raw_limit(bytes)
    code = GC.@preserve b ccall(LIBRARY.budget_limit_live, Cint, (Ptr{Cvoid}, Csize_t), opened(b), limit)
    check(code, "limit_live!")
end

"""
    Toft.charge!(b::Toft.Budget, bytes)

Counts bytes of memory that does not come from arenas, such as Julia's own, until [`uncharge!`](@ref). Throws a
[`BudgetError`](@ref) if a limit refuses them, after a call of `on_refusal`; `ArgumentError` for a negative number.
"""
function charge!(b::Budget, bytes::Integer)
    size = raw_limit(bytes)
    GC.@preserve b ccall(LIBRARY.budget_charge, Cint, (Ptr{Cvoid}, Csize_t), opened(b), size) == 0 && return nothing
    needed = min(size, typemax(Int)) % Int
    need_budget(b, needed, needed)
    throw(ArenaMemoryError(needed, stats(b).reserved, nothing)) # another task has returned memory by now
end

"""
    Toft.uncharge!(b::Toft.Budget, bytes)

Ends the count of so many of the bytes that were charged, in any portions. Throws an `ArgumentError`, having done
nothing, if fewer are.
"""
function uncharge!(b::Budget, bytes::Integer)
    size = raw_limit(bytes)
    GC.@preserve b ccall(LIBRARY.budget_uncharge, Cint, (Ptr{Cvoid}, Csize_t), opened(b), size) == 0 ||
                   throw(ArgumentError("$bytes bytes are more than are charged"))
    nothing
end

"""
    Toft.BudgetStats

The result of [`stats`](@ref) of a budget, in bytes: `limit`, or `nothing`; `reserved` in blocks of arenas within this
budget and all below it; `peak`, the most that was; `available` before it or a parent refuses, or `nothing`. And counts:
`refusals` of this budget's limit, and `children`. The same of live bytes, 0 while they are not counted: `live_limit`,
`live` with what is parked, `live_peak`, `live_available`, `parked`, and the count `live_refusals`.
"""
struct BudgetStats
    limit::Union{Nothing,Int64}
    reserved::Int64
    peak::Int64
    available::Union{Nothing,Int64}
    refusals::Int64
    children::Int64
    live_limit::Union{Nothing,Int64}
    live::Int64
    live_peak::Int64
    live_available::Union{Nothing,Int64}
    parked::Int64
    live_refusals::Int64
end

"""
    stats(b::Toft.Budget) -> Toft.BudgetStats

    julia> using Toft: stats

    julia> stats(Toft.Budget(limit = 4096)).available
    4096
"""
function stats(b::Budget)
    s, l = GC.@preserve b (ccall(LIBRARY.budget_stats, RawBudgetStats, (Ptr{Cvoid},), opened(b)),
                           ccall(LIBRARY.budget_live_stats, RawBudgetLiveStats, (Ptr{Cvoid},), opened(b)))
    bytes(x) = x > typemax(Int64) || x == typemax(UInt) ? nothing : Int64(x)
    BudgetStats(bytes(s.limit), s.reserved, s.peak, bytes(s.available), s.refusals, s.children, bytes(l.limit), l.live,
                l.peak, bytes(l.available), l.parked, l.refusals)
end

function Base.show(io::IO, b::Budget)
    print(io, "Toft.Budget(", repr(b.name))
    isopen(b) || return print(io, ", released)")
    s = stats(b)
    print(io, ", ", bytes_text(s.reserved), " reserved", s.limit === nothing ? "" : " of " * bytes_text(s.limit), ")")
end
