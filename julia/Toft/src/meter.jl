# Meters: where an arena's memory goes. Bytes by tag, exact; who allocates, by sampling; budgets of tags. Switched on
# for each arena while the program runs; off, they cost nothing. libtoft does the work: see its toft/meter.h.
# SPDX-License-Identifier: MIT OR Apache-2.0

# Switches a setting of the arena's provider, and throws its error.
function switch(f, a::Arena, what)
    head = opened(a)
    watched = isodd(word(head, HEAD_EPOCH))
    code = GC.@preserve a f(head)
    code == TOFT_ENOSYS &&
        throw(ArgumentError("$what: the arena was not made by this libtoft, and its provider does not offer this"))
    check(code, what)
    watched || (a.unchecked = true)
    nothing
end

"""
    metered!(a::Arena, on = true)

Switches the accounting by tags, which [`tag`](@ref) begins. Bytes that are live then have no tag; switched off, tags
end. Allocations stay inline, and frees become calls of the C library. Throws `OutOfMemoryError`,
`Toft.ArenaError` (`TOFT_EBUSY`), and `ArgumentError` for a released arena or one of another provider (Rust), which
has switches of its own. Nothing has changed then.
"""
function metered!(a::Arena, on::Bool = true)
    opened(a)
    library()
    switch(head -> ccall(LIBRARY.set_metered, Cint, (Ptr{UInt}, Cint), head, on), a, "metered!")
end

"""
    tag(f, a::Arena, name)

Calls `f()`, counts its allocations for a tag, and returns its result. Within another tag the name
is a path; one that begins with `/` is a path as it stands. The tag ends with `f`, also when an exception passes. Bytes
stay their tag's until they are freed, under any other tag too.

    julia> using Toft: alloc, metered!, report, tag, tagbudget!

    julia> arena() do a
               metered!(a)
               tag(a, "level") do
                   alloc(a, Float64, 1000)
                   tag(() -> alloc(a, 100), a, "sound") # level/sound
                   tag(() -> alloc(a, 24), a, "/ai")    # ai
               end
               map(path -> report(a)[path].live, ("level", "level/sound", "ai"))
           end
    (8000, 104, 24)

In an arena that is not metered this is a call of `f` after a compare, so it may stay where it is. Throws an
`ArgumentError`, without a call of `f`, for a name that is not UTF-8 or holds a NUL, if the arena is metered; and for a
released arena. In a cleanup of `a`, and where there is no memory to note the tag, `f` runs under the tag before.
"""
@inline tag(f, a::Arena, name::AbstractString) =
    isodd(GC.@preserve a word(a.head, HEAD_EPOCH)) ? tag_watched(f, a, name) : f()

@noinline function tag_watched(f, a::Arena, name)
    head = opened(a)
    LIBRARY.tag_push == C_NULL && return f() # an arena that another side made, and watches
    text = name_of_tag(name)
    GC.@preserve a ccall(LIBRARY.tag_push, Cint, (Ptr{UInt}, Cstring), head, text) # what fails is popped all the same
    try
        return f()
    finally
        GC.@preserve a isopen(a) && ccall(LIBRARY.tag_pop, Cvoid, (Ptr{UInt},), a.head)
    end
end

function name_of_tag(name)
    text = String(name)
    isvalid(text) || throw(ArgumentError("a tag's name is UTF-8, not $(repr(text))"))
    '\0' in text && throw(ArgumentError("a tag's name holds no NUL: $(repr(text))"))
    text
end

"""
    tagbudget!(a::Arena, path, bytes)

At most `bytes` bytes may be live under the tag with this path while the arena is metered, to the byte and without those
of the tags within it: an allocation above throws [`BudgetError`](@ref). The path `""` is that of bytes without a tag;
`nothing` lifts the budget. Throws as [`metered!`](@ref) does, and `ArgumentError` for a negative budget and for a path
that is not UTF-8 or holds a NUL.

    julia> using Toft: alloc, metered!, tag, tagbudget!

    julia> arena() do a
               metered!(a)
               tagbudget!(a, "ai", 1000)
               tag(a, "ai") do
                   alloc(a, 1000)
                   try alloc(a, 1) catch e; e end
               end
           end
    BudgetError("tag ai", 1, 1000, 1000)
"""
function tagbudget!(a::Arena, path::AbstractString, bytes::Union{Nothing,Integer})
    opened(a)
    limit, text = limit_of(bytes), name_of_tag(path)
    library()
    switch(head -> ccall(LIBRARY.set_tag_budget, Cint, (Ptr{UInt}, Cstring, UInt64), head, text, limit), a,
           "tagbudget!")
end

"""
    sampled!(a::Arena, bytes)

Samples about one allocation in this number of bytes, records its tag and its callers, and estimates from these how
many there are: [`report`](@ref) has them. 0 or `nothing` switches it off; the records stay. An estimate of B bytes
with a period of n comes from about B / n looks: a hundred are good to about 10 %. Throws as [`metered!`](@ref) does,
and `ArgumentError` for a negative period; an arena of another provider is sampled if that can do so, for reports of its
own.
"""
function sampled!(a::Arena, bytes::Union{Nothing,Integer})
    period = bytes === nothing ? UInt64(0) : bytes >= 0 ? min(bytes, typemax(UInt64)) % UInt64 :
             throw(ArgumentError("sampled!: negative: $bytes"))
    switch(head -> op_set(head, TOFT_SET_SAMPLE, period), a, "sampled!")
end

# ---- reports ----

"""
    TagStats

The bytes of a tag, without those of the tags within it: `name`, its path, empty for bytes without a tag; `live`;
`allocated`, since the arena was metered; `budget`, or `nothing` (see [`tagbudget!`](@ref)).
"""
struct TagStats
    name::String
    live::Int64
    allocated::Int64
    budget::Union{Nothing,Int64}
end

"""
    SiteStats

Allocations of one stack of calls under one tag, estimated: `tag`, its path; `count`, how many; `bytes`, as requested,
without paddings; `stack`, the calls that led there, the newest first, as `stacktrace` has them.
"""
struct SiteStats
    tag::String
    count::Int64
    bytes::Int64
    stack::Vector{Base.StackTraces.StackFrame}
end

"""
    ArenaReport

The result of [`report`](@ref): `stats`, an [`ArenaStats`](@ref); `tags`, the [`TagStats`](@ref) of a metered arena, the
first one for bytes without a tag; `sites`, the [`SiteStats`](@ref) of a sampled one, most bytes first. Iterates
its tags; `r[path]` is the tag with that path, a `KeyError` if there is none, and `haskey(r, path)` works.
"""
struct ArenaReport
    stats::ArenaStats
    tags::Vector{TagStats}
    sites::Vector{SiteStats}
end

Base.iterate(r::ArenaReport, i = 1) = iterate(r.tags, i)
Base.length(r::ArenaReport) = length(r.tags)
Base.eltype(::Type{ArenaReport}) = TagStats
Base.haskey(r::ArenaReport, path::AbstractString) = any(t -> t.name == path, r.tags)
function Base.getindex(r::ArenaReport, path::AbstractString)
    i = findfirst(t -> t.name == path, r.tags)
    i === nothing ? throw(KeyError(path)) : r.tags[i]
end

# What C calls for each tag and site. An exception must not pass through C: it ends the walk, and is thrown after it.
mutable struct Received
    tags::Vector{TagStats}
    sites::Vector{Tuple{String,Int64,Int64,Vector{Ptr{Cvoid}}}}
    error::Any
end

count_of(n::UInt64) = min(n, typemax(Int64)) % Int64

function receive(f, at)
    t = unsafe_pointer_to_objref(at)::Received
    try
        f(t)
        return Cint(0)
    catch e
        t.error = e
        return Cint(1)
    end
end

take_tag(at::Ptr{Cvoid}, p::Ptr{RawTag}) = receive(at) do t
    r = unsafe_load(p)
    budget = r.budget > typemax(Int64) ? nothing : Int64(r.budget)
    push!(t.tags, TagStats(unsafe_string(r.name), count_of(r.live), count_of(r.allocated), budget))
end

take_site(at::Ptr{Cvoid}, p::Ptr{RawSite}) = receive(at) do t
    r = unsafe_load(p)
    stack = [unsafe_load(r.stack, i) for i in 1:r.depth]
    push!(t.sites, (unsafe_string(r.tag), count_of(r.count), count_of(r.bytes), stack))
end

# The calls that return to these addresses, Toft's own left out, and Julia's runtime. known: those looked up before,
# since that takes long.
function frames(stack, known)
    found = Base.StackTraces.StackFrame[]
    for p in stack, frame in get!(() -> Base.StackTraces.lookup(p - 1), known, p)
        frame.from_c || startswith(String(frame.file), @__DIR__) || push!(found, frame)
    end
    found
end

"""
    report(a::Arena) -> ArenaReport

What the arena holds now, and by whom: of one of another provider its statistics alone. See [`ArenaReport`](@ref).

    julia> using Toft: alloc, metered!, report, tag, tagbudget!

    julia> arena() do a
               metered!(a)
               tagbudget!(a, "level/sound", 1000)
               tag(a, "level") do
                   alloc(a, Float64, 100)
                   tag(() -> alloc(a, 100), a, "sound")
               end
               report(a)
           end
    ArenaReport: 904 bytes live of 4.000 KiB in 1 block, peak 904 bytes, no budget
      tag          live       allocated  budget
      (none)       0 bytes    0 bytes    none
      level/sound  104 bytes  104 bytes  1000 bytes, 10 % of it live
      level        800 bytes  800 bytes  none

Throws an `ArgumentError` for a released arena.
"""
function report(a::Arena)
    head = opened(a)
    library()
    t = Received([], [], nothing)
    GC.@preserve a t begin
        at = pointer_from_objref(t)
        ccall(LIBRARY.tags, Cint, (Ptr{UInt}, Ptr{Cvoid}, Ptr{Cvoid}), head,
              @cfunction(take_tag, Cint, (Ptr{Cvoid}, Ptr{RawTag})), at)
        ccall(LIBRARY.sites, Cint, (Ptr{UInt}, Ptr{Cvoid}, Ptr{Cvoid}), head,
              @cfunction(take_site, Cint, (Ptr{Cvoid}, Ptr{RawSite})), at)
    end
    t.error === nothing || throw(t.error)
    known = Dict{Ptr{Cvoid},Vector{Base.StackTraces.StackFrame}}()
    sites = [SiteStats(tag, count, bytes, frames(stack, known)) for (tag, count, bytes, stack) in t.sites]
    ArenaReport(stats(a), t.tags, sort!(sites; by = s -> s.bytes, rev = true))
end

Base.show(io::IO, r::ArenaReport) =
    print(io, "ArenaReport(", length(r.tags), " tags, ", length(r.sites), " sites, ", bytes_text(r.stats.live),
          " live)")

function Base.show(io::IO, ::MIME"text/plain", r::ArenaReport)
    print(io, "ArenaReport: ")
    say_stats(io, r.stats)
    bytes = bytes_text
    isempty(r.tags) || show_table(io, ("tag", "live", "allocated", "budget"), r.tags) do t
        (t.name == "" ? "(none)" : t.name, bytes(t.live), bytes(t.allocated),
         t.budget === nothing ? "none" : bytes(t.budget) * share(t.live, t.budget))
    end
    isempty(r.sites) || show_table(io, ("about", "allocations", "tag", "by"), r.sites) do s
        (bytes(s.bytes), s.count, s.tag == "" ? "(none)" : s.tag, isempty(s.stack) ? "?" : first(s.stack))
    end
end

# On a screen not all of them.
function show_table(row, io, titles, items)
    most = get(io, :limit, false) ? 20 : typemax(Int)
    rows = [map(string, titles); [map(string, row(x)) for x in Iterators.take(items, most)]]
    widths = [maximum(textwidth(r[i]) for r in rows) for i in eachindex(titles)]
    for r in rows
        print(io, '\n')
        for (i, text) in enumerate(r)
            print(io, "  ", text, i == length(r) ? "" : " "^(widths[i] - textwidth(text)))
        end
    end
    length(items) > most && print(io, "\n  ⋮")
end

# ---- snapshots ----

# The name of a call, or nothing if it is C's. The strings must stay as long as C may read them.
const Named = Union{Nothing,Tuple{String,String,Cuint}}

function name_of(address)::Named
    frame = last(Base.StackTraces.lookup(address - 1)) # of inlined calls the one that holds them
    frame.from_c ? nothing : (string(frame.func), string(frame.file), max(frame.line, 0) % Cuint)
end

# C calls it for each call: a function of Julia's, whose first byte is not known; else the dynamic linker's name.
function symbolize(at::Ptr{Cvoid}, address::Ptr{Cvoid}, out::Ptr{RawSymbol})
    try
        names = unsafe_pointer_to_objref(at)::Dict{Ptr{Cvoid},Named}
        named = get!(() -> name_of(address), names, address)
        if named !== nothing
            name, file, line = named
            unsafe_store!(out, RawSymbol(pointer(name), 0, C_NULL, 0, line == 0 ? C_NULL : pointer(file), line))
            return Cint(1)
        end
    catch
    end
    return ccall(LIBRARY.symbolize, Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{RawSymbol}), C_NULL, address, out)
end

"""
    snapshot(a::Arena) -> String
    snapshot(io::IO, a::Arena)

The report as one object of JSON in a line, as the C library and the Rust crate write it too: docs/snapshot.md and
abi/snapshot.schema.json describe its members. Throws an `ArgumentError` for a released arena.
"""
function snapshot(a::Arena)
    head = opened(a)
    library()
    names = Dict{Ptr{Cvoid},Named}() # to look one up takes long
    text = Vector{UInt8}(undef, 4096)
    GC.@preserve a names begin
        options = Ref(RawSnapshot(sizeof(RawSnapshot), 0,
                                  @cfunction(symbolize, Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{RawSymbol})),
                                  pointer_from_objref(names)))
        while true
            n = ccall(LIBRARY.snapshot_text, Csize_t, (Ptr{UInt}, Ref{RawSnapshot}, Ptr{UInt8}, Csize_t), head, options,
                      text, length(text))
            n < length(text) && return String(resize!(text, n))
            resize!(text, n + 1)
        end
    end
end

snapshot(io::IO, a::Arena) = (write(io, snapshot(a)); nothing)
