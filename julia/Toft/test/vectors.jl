# Plays the ABI's vectors (abi/vectors, whose README has the format) on arenas of libtoft: Julia allocates, marks and
# rewinds inline, C does the rest, on the same head. The JSON parser below reads the files where they are; without the
# tree around the package no vector is played. The source of blocks, which logs and refuses, is Julia too: no C compiler
# is needed. Played quietly, there are no statistics between the operations, since these are slow calls.
# SPDX-License-Identifier: MIT OR Apache-2.0
module ArenaVectors

using Test, Toft
using Toft: alloc, release!, reset!, stats

# ---- JSON: objects, arrays, strings without escapes but \" and \\, integers, true, false, null ----

function parse_json(text::String)
    value, at = parse_value(text, skip(text, 1))
    skip(text, at) > ncodeunits(text) || error("JSON: something follows the value")
    value
end

function skip(s, i)
    while i <= ncodeunits(s) && codeunit(s, i) in (0x20, 0x0a, 0x0d, 0x09)
        i += 1
    end
    i
end

function parse_value(s, i)
    c = s[i]
    if c == '{'
        out = Dict{String,Any}()
        i = skip(s, i + 1)
        while s[i] != '}'
            name, i = parse_value(s, i)
            i = skip(s, i)
            s[i] == ':' || error("JSON: no colon at $i")
            out[name], i = parse_value(s, skip(s, i + 1))
            i = skip(s, i)
            s[i] == ',' && (i = skip(s, i + 1))
        end
        return out, i + 1
    elseif c == '['
        list = Any[]
        i = skip(s, i + 1)
        while s[i] != ']'
            item, i = parse_value(s, i)
            push!(list, item)
            i = skip(s, i)
            s[i] == ',' && (i = skip(s, i + 1))
        end
        return list, i + 1
    end
    for (pattern, make) in ((r"\G\"((?:[^\"\\]|\\[\"\\])*)\"", m -> replace(m.captures[1], r"\\(.)" => s"\1")),
                            (r"\G-?[0-9]+", m -> parse(Int128, m.match)),
                            (r"\Gtrue", m -> true), (r"\Gfalse", m -> false), (r"\Gnull", m -> nothing))
        m = match(pattern, s, i)
        m === nothing || return make(m), i + ncodeunits(m.match)
    end
    error("JSON: no value at $i")
end

# Sizes may be symbolic: "max", "half", "max-7", "half+1", "none".
amount(n::Integer) = n
function amount(n::String)
    name, sign, by = match(r"^([a-z]+)(?:([+-])([0-9]+))?$", n).captures
    base = name == "half" ? Int128(typemax(Int)) : name == "max" ? Int128(typemax(UInt)) : Int128(typemax(UInt64))
    by === nothing ? base : base + parse(Int128, sign * by)
end

# ---- a source of pages that logs, and refuses as the vector requires ----

mutable struct Pages
    fail_at::Vector{Int}
    calls::Int
    out::Dict{UInt,Int} # size by base
    took::Vector{Int}
    gave::Vector{Int}
    ran::Vector{String}
    open::Bool          # a cleanup found the arena open
    wrong::Bool         # got back a block that it did not grant
    source::Ptr{Ptr{Cvoid}}
end

const PAGES = Ref{Pages}() # of the vector that is played: C's callbacks find it here

function page_take(::Ptr{Cvoid}, size::Csize_t)
    s = PAGES[]
    s.calls += 1
    s.calls in s.fail_at && return C_NULL
    base = Sys.iswindows() ? ccall(:_aligned_malloc, Ptr{Cvoid}, (Csize_t, Csize_t), size, 4096) :
           (at = Ref{Ptr{Cvoid}}(C_NULL);
            ccall(:posix_memalign, Cint, (Ref{Ptr{Cvoid}}, Csize_t, Csize_t), at, 4096, size);
            at[])
    ccall(:memset, Ptr{Cvoid}, (Ptr{Cvoid}, Cint, Csize_t), base, 0xa5, min(size, 1 << 20))
    s.out[UInt(base)] = size
    push!(s.took, size)
    base
end

page_free(base) = Sys.iswindows() ? ccall(:_aligned_free, Cvoid, (Ptr{Cvoid},), base) : Libc.free(base)

function page_put(::Ptr{Cvoid}, base::Ptr{Cvoid}, size::Csize_t)
    s = PAGES[]
    s.wrong |= pop!(s.out, UInt(base), -1) != size
    push!(s.gave, size)
    page_free(base)
    nothing
end

function Pages(fail_at)
    source = Ptr{Ptr{Cvoid}}(Libc.malloc(3 * sizeof(Ptr{Cvoid})))
    unsafe_store!(source, @cfunction(page_take, Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t)), 1)
    unsafe_store!(source, @cfunction(page_put, Cvoid, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t)), 2)
    unsafe_store!(source, C_NULL, 3)
    PAGES[] = Pages(fail_at, 0, Dict(), [], [], [], false, false, source)
end

function create(s::Pages, budget, reserve)
    o = Ref(Toft.RawOptions(sizeof(Toft.RawOptions), s.source, C_NULL, 0, budget, reserve, C_NULL, C_NULL, 0))
    Toft.library()
    ccall(Toft.LIBRARY.create_with, Ptr{UInt}, (Ref{Toft.RawOptions},), o)
end

# ---- playing ----

struct Wrong <: Exception
    what::String
end
Base.showerror(io::IO, e::Wrong) = print(io, e.what)

mutable struct Node # what C hands to a cleanup
    name::String
    arena::Arena
    at::UInt
end

mutable struct Player
    a::Arena
    pages::Pages
    quiet::Bool
    placed::Bool            # the vector determines placement
    blocks::Dict{Int,UInt}
    seen::Dict{String,Tuple{UInt,Int128}}
    marks::Dict{String,Toft.Mark}
    ranges::Dict{String,Base.RefValue{NTuple{3,UInt}}}
    nodes::Dict{String,Node}
    all_nodes::Vector{Node} # C may hold them longer than a name does
    op::Dict{String,Any}
end

wrong(m, what...) = throw(Wrong(string(m.op, ": ", what...)))
same(m, what, got, want) = got == want || wrong(m, what, " is ", got, ", not ", want)

# The code of a call that throws.
function code_of(f)
    try
        f()
        return 0
    catch e
        e isa Toft.ArenaError && return Int(e.code)
        e isa OutOfMemoryError && return -1
        e isa ArgumentError && return -4
        rethrow()
    end
end

# An address, 0 where there is no memory.
function address(f)
    try
        return UInt(f())
    catch e
        e isa OutOfMemoryError || e isa Toft.ArenaError && e.code == Toft.TOFT_EBUSY || rethrow()
        return UInt(0)
    end
end

function traffic(m, o)
    s = m.pages
    for (name, got) in (("took", s.took), ("gave", sort(s.gave)), ("ran", s.ran))
        m.placed || name == "ran" || continue
        same(m, name, got, get(o, name, []))
    end
    empty!(s.took), empty!(s.gave), empty!(s.ran)
end

function check_address(m, p::UInt, at)
    (p == 0) == (at === nothing) || wrong(m, string(p, base = 16), ", not ", at)
    p == 0 && return
    if at === true
        any(b -> b.first + 64 <= p <= b.first + b.second, m.pages.out) || wrong(m, "the address is in no block")
        align = m.op["op"] == "alloc" ? amount(get(m.op, "align", 8)) : 8
        p % 8 == 0 && p % align == 0 || wrong(m, "the address is not aligned")
        return
    end
    block, offset = at
    base = p - UInt(offset)
    haskey(m.pages.out, base) && offset <= m.pages.out[base] || wrong(m, "the address is not at ", at)
    get!(m.blocks, block, base) == base || wrong(m, "blocks are mixed up: ", at)
end

moved(m) = filter!(p -> p.first == 0, m.blocks)

function play_alloc(m, o)
    n, align, a = amount(o["n"]), amount(get(o, "align", 8)), m.a
    zero = get(o, "zero", false)
    if zero || align <= 0 || !ispow2(align)
        p = Toft.op_alloc(Ptr{UInt}(pointer(a)), n % UInt, align % UInt, zero ? Toft.TOFT_ZERO : UInt32(0))
        if zero && p != 0
            all(==(0), unsafe_wrap(Array, Ptr{UInt8}(p), Int(n))) || wrong(m, "not zeroed")
        end
        return p
    end
    address(() -> alloc(a, n; align = align))
end

function play_resize(m, o)
    p, old = get(m.seen, get(o, "id", ""), (UInt(0), Int128(0)))
    n, align = amount(o["n"]), amount(get(o, "align", 8))
    flags = (get(o, "zero", false) ? Toft.TOFT_ZERO : UInt32(0)) | (get(o, "stay", false) ? Toft.TOFT_STAY : UInt32(0))
    (flags != 0 || align <= 0 || !ispow2(align)) &&
        return Toft.op_resize(Ptr{UInt}(pointer(m.a)), p, old % UInt, n % UInt, align % UInt, flags)
    address(() -> resize!(m.a, Ptr{UInt8}(p), old, n; align = align))
end

function on_cleanup(arg::Ptr{Cvoid})
    node = unsafe_pointer_to_objref(arg)::Node
    s, a = PAGES[], node.arena
    push!(s.ran, node.name)
    s.open |= address(() -> alloc(a, 8)) != 0 || code_of(() -> rewind!(a, mark(a))) != -3 ||
              code_of(() -> reset!(a)) != -3
    nothing
end

claim(m, r, n, align) = ccall(Toft.operation(Ptr{UInt}(pointer(m.a)), Toft.OPS_CLAIM), UInt,
                              (Ptr{UInt}, Ref{NTuple{3,UInt}}, Csize_t, Csize_t), Ptr{UInt}(pointer(m.a)), r, n, align)
give(m, r) = ccall(Toft.operation(Ptr{UInt}(pointer(m.a)), Toft.OPS_GIVE), Cint, (Ptr{UInt}, Ref{NTuple{3,UInt}}),
                   Ptr{UInt}(pointer(m.a)), r)
past(r, n) = (r[1] + (n % UInt), r[2], r[3])

function play_range(m, o, kind)
    r = get!(() -> Ref((UInt(0), UInt(0), UInt(0))), m.ranges, o["id"])
    was = r[]
    if kind == "claim"
        p = claim(m, r, amount(o["n"]) % UInt, amount(get(o, "align", 8)) % UInt)
        check_address(m, p, o["at"])
        p == 0 && return was[3] == 0 || same(m, "a range after a failed claim", r[], was)
        m.placed && check_address(m, r[][1], o["from"])
        m.placed && check_address(m, r[][2], o["to"])
        head = Ptr{UInt}(pointer(m.a))
        unsafe_load(head, 1) == unsafe_load(head, 3) && isodd(unsafe_load(head, 4)) || wrong(m, "open while claimed")
    elseif kind == "claim_past"
        r[] = past(was, o["n"])
        same(m, "the claim", claim(m, r, 0, 8), 0)
        r[] = was
    elseif kind == "copy"
        r[] = m.ranges[o["of"]][]
    elseif kind == "fill"
        r[] = past(was, o["n"])
    elseif kind == "give"
        same(m, "the code", give(m, r), o["code"])
    else
        r[] = past(was, o["n"])
        same(m, "the code", give(m, r), o["code"])
        r[] = was
    end
end

function play_one(m, o)
    kind, a = o["op"], m.a
    head = Ptr{UInt}(pointer(a))
    if kind == "alloc"
        p = play_alloc(m, o)
        check_address(m, p, o["at"])
        p == 0 || (m.seen[get(o, "id", "")] = (p, amount(o["n"])))
    elseif kind == "allocs"
        for i in 1:o["times"]
            p = play_alloc(m, o)
            i == 1 && check_address(m, p, o["at"])
            i == o["times"] && check_address(m, p, o["last"])
        end
    elseif kind == "resize"
        p = play_resize(m, o)
        moved(m)
        if o["at"] == "stays"
            same(m, "the address", p, m.seen[o["id"]][1])
        else
            check_address(m, p, o["at"])
        end
        p == 0 || (m.seen[get(o, "id", "")] = (p, amount(o["n"])))
    elseif kind == "free"
        p, n = pop!(m.seen, get(o, "id", ""), (UInt(0), Int128(0)))
        deallocate!(a, Ptr{UInt8}(p), n)
        moved(m)
    elseif kind == "mark"
        m.marks[o["id"]] = mark(a)
    elseif kind == "rewind"
        same(m, "the code", code_of(() -> rewind!(a, m.marks[o["id"]])), o["code"])
        o["code"] == 0 && moved(m)
    elseif kind == "rewind_raw"
        at = m.marks[o["id"]]
        cursor = get(o, "foreign", false) ? UInt(m.pages.source) & ~UInt(7) : at.cursor + (get(o, "plus", 0) % UInt)
        same(m, "the code", Toft.op_rewind(head, cursor, at.epoch + (get(o, "epoch_plus", 0) % UInt)), o["code"])
        o["code"] == 0 && moved(m)
    elseif kind == "reset"
        keep = get(Dict("recent" => :recent, "all" => :all, "bytes" => amount(get(o, "keep", 0))), o["policy"], nothing)
        code = keep === nothing ? Toft.op_reset(head, UInt32(99), 0) : code_of(() -> reset!(a; keep = keep))
        same(m, "the code", code, o["code"])
        o["code"] == 0 && moved(m)
    elseif kind == "trim"
        trim!(a, amount(o["keep"]))
    elseif kind == "budget"
        same(m, "the code", code_of(() -> budget!(a, amount(o["n"]))), o["code"])
    elseif kind == "set_unknown"
        same(m, "the code", Toft.op_set(head, UInt32(99), 0), o["code"])
    elseif kind == "cleanup"
        node = Node(o["id"], a, 0)
        push!(m.all_nodes, node)
        node.at = Toft.op_cleanup(head, @cfunction(on_cleanup, Cvoid, (Ptr{Cvoid},)), pointer_from_objref(node))
        check_address(m, node.at, o["at"])
        node.at == 0 || (m.nodes[o["id"]] = node)
    elseif kind == "cancel"
        unsafe_store!(Ptr{UInt}(m.nodes[o["id"]].at), 0)
    elseif kind == "release_early"
        Toft.op_release(head)
    elseif kind in ("claim", "claim_past", "copy", "fill", "give", "give_past")
        play_range(m, o, kind)
    else
        wrong(m, "unknown")
    end
end

function play_all(m, ops)
    for o in ops
        if o["op"] == "repeat"
            foreach(_ -> play_all(m, o["ops"]), 1:o["times"])
            continue
        end
        m.op = o
        play_one(m, o)
        traffic(m, o)
        head = Ptr{UInt}(pointer(m.a))
        cursor, limit = unsafe_load(head, 1), unsafe_load(head, 3)
        0 < cursor <= limit && (cursor | limit) % 8 == 0 || wrong(m, "the head is broken")
        m.quiet && continue
        s, p = stats(m.a), m.pages
        got = (live = s.live, blocks = s.blocks, reserved = s.reserved, calls = s.source_calls)
        want = (live = get(o, "live", s.live), blocks = get(o, "blocks", s.blocks), reserved = sum(values(p.out)),
                calls = p.calls)
        same(m, "the arena's statistics", got, want)
    end
end

# Nothing, or a description of the difference.
function play(v, quiet)
    o = v["options"]
    s = Pages(Int.(get(v, "fail_at", [])))
    budget = amount(o["budget"]) % UInt64
    try
        head = create(s, budget == typemax(UInt64) ? UInt64(0) : budget, amount(o["reserve"]) % UInt)
        created = get(v, "created", true)
        (head != C_NULL) == created || return "creation should have " * (created ? "worked" : "failed")
        created || return nothing
        a = unsafe_wrap(Arena, head)
        m = Player(a, s, quiet, v["policy"] == 1, Dict(), Dict(), Dict(), Dict(), Dict(), [], Dict())
        traffic(m, Dict("took" => [4096]))
        play_all(m, v["ops"])
        m.op = Dict("op" => "release")
        GC.@preserve m Toft.op_release(head)
        traffic(m, v["end"])
        s.open && return "a cleanup found the arena open"
        isempty(s.out) || return "$(length(s.out)) blocks were not freed"
        s.wrong && return "gave a block that it did not take"
        return nothing
    catch e
        e isa Wrong || rethrow()
        return e.what
    finally
        foreach(base -> page_free(Ptr{Cvoid}(base)), keys(s.out))
        Libc.free(s.source)
    end
end

const FOLDER = get(ENV, "TOFT_VECTORS", normpath(joinpath(@__DIR__, "..", "..", "..", "abi", "vectors")))

@testset "the ABI's vectors" begin
    files = String[]
    for kind in ("rules", "policy1"), folder in (joinpath(FOLDER, kind),)
        isdir(folder) && append!(files, filter(endswith(".json"), readdir(folder; join = true)))
    end
    isempty(files) && @info "the ABI's vectors are not in this package: no vector is played"
    for file in files, v in parse_json(read(file, String))["vectors"], quiet in (false, true)
        v["word"] == "any" || v["word"] == 8 * sizeof(UInt) || continue
        outcome = play(v, quiet)
        outcome === nothing || @error "$(basename(file)): $(v["name"])$(quiet ? " [quiet]" : "")" outcome
        @test outcome === nothing
    end
end

# The source fails from its 1st, 2nd, ... k-th call on, until a run passes untouched: OutOfMemoryError, what is live has
# not changed, and the next try succeeds when there is memory again.
@testset "each refusal of the source" begin
    sizes = [10, 3000, 24, 70000, 9000, 400000, 100, 5000, 300000, 40000, 1 << 20, 2000, 16]
    refused = 0
    for k in Iterators.countfrom(1)
        s = Pages(k:k + 40) # smaller blocks are refused too
        head = create(s, UInt64(0), UInt(0))
        @test (head == C_NULL) == (k == 1)
        head == C_NULL && (refused += 1; @test isempty(s.out); empty!(s.fail_at); head = create(s, UInt64(0), UInt(0)))
        a = unsafe_wrap(Arena, head; own = true)
        kept = Ptr{UInt8}[]
        intact() = all(i -> all(==(i % UInt8), unsafe_wrap(Array, kept[i], sizes[i])), eachindex(kept))
        for (i, n) in enumerate(sizes)
            before = stats(a)
            p = try
                alloc(a, UInt8, n)
            catch e
                refused += 1
                after = stats(a)
                @test e isa OutOfMemoryError && after.source_calls > before.source_calls
                @test (after.live, after.blocks, after.reserved) == (before.live, before.blocks, before.reserved)
                @test intact()
                empty!(s.fail_at)
                alloc(a, UInt8, n)
            end
            fill!(unsafe_wrap(Array, p, n), i % UInt8)
            push!(kept, p)
        end
        @test intact()
        release!(a)
        @test isempty(s.out) && !s.wrong
        Libc.free(s.source)
        s.calls < k && break
    end
    @test refused > 4
end

end
