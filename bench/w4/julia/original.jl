# The programs of Allocators.jl, from a checkout of it, on its pools and on Toft's; and beside the fastest of them,
# Toft's own collections as a program makes them without naming a pool. Prints the tables of docs/from-allocators-jl.md.
#
#     scripts/julia --project=julia/Toft bench/w4/julia/original.jl CHECKOUT [--rounds=N] [WORDS...]
#
# WORDS: only rows whose names contain one of them. A time is the least of N batches, each after a call that is not
# measured; the contenders of a row take turns. Both sides keep their pools and collections from call to call, as the
# original's measurements do.
#
# SPDX-License-Identifier: MIT OR Apache-2.0
import Toft

const CHECKOUT = abspath(popfirst!(ARGS))
const ROUNDS = parse(Int, get(match.(r"^--rounds=(\d+)$", filter(startswith("--rounds="), ARGS)), 1, ("100",))[1])
const WORDS = filter(!startswith("--"), ARGS)

struct Numbers{P} # what its examples take from another package
    data::NTuple{P,Float64}
end
numbers(p) = Numbers{p}(ntuple(_ -> 0.0, p))

# A module with its data structures and the functions of one of its examples, on its pools or on Toft's.
function program(example, structures, toft)
    name = Symbol(example, toft ? "_on_toft" : "_as_it_is")
    made = Module(name)
    Core.eval(made, :(include(file) = Base.include($made, file)))
    source(file) = Core.eval(made, :(include($(joinpath(CHECKOUT, "src", file)))))
    if toft
        Core.eval(made, :(using Toft.Allocators))
    else
        foreach(source, ("soalight.jl", "allocator.jl"))
    end
    source(structures)
    text = read(joinpath(CHECKOUT, "example", "$example.jl"), String)
    at = 1
    while at <= lastindex(text)
        parsed, at = Meta.parse(text, at; raise=false)
        is_function = parsed isa Expr && parsed.head === :function
        is_function && parsed.args[1].args[1] in (:testalloc, :testfree) && Core.eval(made, parsed)
    end
    return made
end

const STRUCTURES = ("list" => "list.jl", "stack" => "stack.jl", "queue" => "queue.jl", "set" => "tree_iter.jl",
                    "dict" => "tree_iter.jl")
const PROGRAMS = Dict{Tuple{String,Bool},Module}()
for (example, file) in STRUCTURES, toft in (false, true)
    PROGRAMS[example, toft] = program(example, file, toft)
end

# ---- its pools: (columns, free list, fixed) ----

const KINDS = [(columns, free, fixed) for free in (false, true) for columns in (false, true) for fixed in (true, false)]
kinds_of(example) = example in ("stack", "queue") ? KINDS[1:2] : KINDS

function pool(M, ::Type{E}, n, (columns, free, fixed)) where {E}
    columns || return (free ? M.FreeListAllocator : M.Allocator){E,Int}(fixed ? n : nothing)
    store = M.TupleVector{E}(fixed ? n : M.N)
    return (free ? M.FreeListSOAllocator : M.SOAllocator){E,Int,typeof(store)}(store, fixed ? n : nothing)
end

function body(example, toft, kind, n, z::Z) where {Z}
    M = PROGRAMS[example, toft]
    run = kind[2] ? M.testfree : M.testalloc
    if example == "list"
        a = pool(M, M.ListNode{Tuple{Int,Z},Int}, n, kind)
        return () -> run(Ref(n), z, a)
    elseif example in ("stack", "queue")
        a = pool(M, Tuple{Int,Z}, n, kind)
        s = (example == "stack" ? M.Stack : M.Queue){Tuple{Int,Z},Int,typeof(a)}(a)
        return () -> run(Ref(n), z, s)
    elseif example == "set"
        a = pool(M, M.TreeNode{Int,Int,Nothing}, 2n, kind)
        return () -> run(Ref(n), a)
    end
    a = pool(M, M.TreeNode{Int,Int,Z}, 2n, kind)
    return () -> run(Ref(n), z, a)
end

# ---- Toft's collections, doing the same ----

function own_list(n, p, l)
    for j in 1:n[]
        pushfirst!(l, (j, p))
    end
    s = 0
    for car in l
        s += car[1]
    end
    @assert s == n[] * (n[] + 1) / 2
    empty!(l)
end

function own_stack(n, p, s)
    for j in 1:n[]
        push!(s, (j, p))
    end
    for j in n[]:-1:1
        @assert j == pop!(s)[1]
    end
    @assert isempty(s)
    empty!(s)
end

function own_queue(n, p, q)
    for j in 1:n[]
        push!(q, (j, p))
    end
    for j in 1:n[]
        @assert j == popfirst!(q)[1]
    end
    @assert isempty(q)
    empty!(q)
end

function own_set(n, set)
    for j in 1:n[]
        push!(set, j)
        push!(set, -j)
    end
    @assert !(0 in set)
    for j in 1:n[]
        @assert j in set
        @assert -j in set
    end
    @assert !(n[] + 1 in set)
    @assert !(-n[] - 1 in set)
    for j in 1:n[]
        @assert j in set
        @assert -j in set
        delete!(set, j)
        delete!(set, -j)
        @assert !(j in set)
        @assert !(-j in set)
    end
    @assert isempty(set)
end

function own_dict(n, p, dict)
    for j in 1:n[]
        dict[j] = p
        dict[-j] = p
    end
    @assert !haskey(dict, 0)
    for j in 1:n[]
        @assert dict[j] === p
        @assert dict[-j] === p
    end
    @assert !haskey(dict, n[] + 1)
    @assert !haskey(dict, -n[] - 1)
    for j in 1:n[]
        @assert haskey(dict, j)
        @assert haskey(dict, -j)
        delete!(dict, j)
        delete!(dict, -j)
        @assert !haskey(dict, j)
        @assert !haskey(dict, -j)
    end
    @assert isempty(dict)
end

function own(example, n, z::Z) where {Z}
    example == "list" && return kept(own_list, n, z, Toft.List{Tuple{Int,Z}}())
    example == "stack" && return kept(own_stack, n, z, Toft.Stack{Tuple{Int,Z}}())
    example == "queue" && return kept(own_queue, n, z, Toft.Queue{Tuple{Int,Z}}())
    example == "set" && return kept(own_set, n, Toft.SortedSet{Int}())
    return kept(own_dict, n, z, Toft.SortedDict{Int,Z}())
end
kept(run::F, n, given...) where {F} = () -> run(Ref(n), given...)

# ---- measurement ----

function batch(f, k)
    start = time_ns()
    for _ in 1:k
        f()
    end
    return (time_ns() - start) / k
end

function least(bodies)
    foreach(f -> (batch(f, 1); batch(f, 1)), bodies) # compiled, and grown
    calls = [max(1, ceil(Int, 50_000 / batch(f, 1))) for f in bodies]
    best = fill(Inf, length(bodies))
    for _ in 1:ROUNDS, k in eachindex(bodies)
        batch(bodies[k], 1)
        best[k] = min(best[k], batch(bodies[k], calls[k]))
    end
    return best
end

two(x) = string(round(x; digits=2))
row(cells) = println("| ", join(cells, " | "), " |")
const NAMES = Dict((false, false) => "`Allocator`", (true, false) => "`SOAllocator`",
                   (false, true) => "`FreeListAllocator`", (true, true) => "`FreeListSOAllocator`")

function main()
    lines = Vector{Any}[]
    row(["program", (NAMES[columns, free] for free in (false, true) for columns in (false, true))...])
    println("|---|---|---|---|---|")
    for example in ("list", "stack", "queue", "set", "dict"), p in (example == "set" ? (1,) : (1, 10, 100)),
        n in (10, 200, 2_000, 20_000)

        name = example == "set" ? "set $n" : "$example p$p $n"
        isempty(WORDS) || any(word -> word in split(name), WORDS) || continue
        z, kinds = numbers(p), kinds_of(example)
        contenders = Function[own(example, n, z)]
        for kind in kinds, toft in (false, true)
            push!(contenders, body(example, toft, kind, n, z))
        end
        GC.gc()
        times = least(contenders)
        original, on_toft = times[2:2:end], times[3:2:end]
        ratios = two.(on_toft ./ original)
        row([name; [join(ratios[k:k+1], ", ") for k in 1:2:length(ratios)]; fill("", (8 - length(ratios)) ÷ 2)])
        flush(stdout)
        best = argmin(original)
        (columns, free, fixed) = kinds[best]
        push!(lines, [name, two(times[1] / 1000), two(original[best] / 1000),
                      NAMES[columns, free] * (fixed ? " fixed" : " growing"), two(times[1] / original[best])])
    end
    println()
    row(["program", "Toft, us", "original's fastest, us", "its pool", "ratio"])
    println("|---|---|---|---|---|")
    foreach(row, lines)
end

main()
