# W4 in Julia: measures every case and prints a line of JSON for each contender of each.
#
#     scripts/julia --project=julia/Toft bench/w4/julia/main.jl [--quick] [--part=K/M] [WORDS...]
#
# WORDS: only cases whose names contain them. --part: every M-th case from the K-th on, where K is 0 to M - 1.
#
# SPDX-License-Identifier: MIT OR Apache-2.0
using Random
import Toft

include("measure.jl")
include("original_pools.jl")
using .Original: Original, ORIGINAL, original_pool
ORIGINAL || left_out("original", "ALLOCATORS names no checkout of goerch/Allocators.jl")
include("sequences.jl")
include("ordered.jl")
include("iteration.jl")
include("head.jl")

const SMALL = 10

function cases(large)
    found = Tuple{String,Int,Int,Any}[] # name, n, operations per call (times are for one), the contenders' constructor
    add(name, n, made) = push!(found, ("$name $n", n, 1, made))
    for p in (1, 10, 100), n in (large, SMALL)
        for (name, case) in (("list", lists), ("stack", stacks), ("queue", queues))
            add("$name p$p", n, () -> case(p))
        end
    end
    for n in (large, 1000, SMALL)
        add("set", n, () -> sets(ascending))
        add("set shuffled", n, () -> sets(shuffled))
    end
    for p in (1, 10, 100)
        same = Same(filled(Payload{p}, 0))
        for n in (large, SMALL)
            add("dict p$p", n, () -> dicts(p, ascending, same))
        end
        add("dict shuffled p$p", large, () -> dicts(p, shuffled, same))
    end
    own = Own{Payload{10}}()
    add("dict distinct p10", large, () -> dicts(10, shuffled, own))
    add("dict half p10", 1000, () -> dicts(10, shuffled, own, dict_half))
    add("scan", large, () -> scanned())
    for p in (1, 10)
        add("iterate p$p", large, () -> iterations(p))
    end
    push!(found, ("head", 1000, 1000, heads))
    return found
end

function main(given)
    quick = "--quick" in given
    part = filter(word -> startswith(word, "--part="), given)
    k, m = isempty(part) ? (0, 1) : parse.(Int, split(part[1][8:end], "/"))
    words = filter(word -> !startswith(word, "--"), given)
    settings = quick ? Settings(5, 200_000, 150_000_000, false) : Settings(15, 1_000_000, typemax(Int), true)
    for (i, (name, n, per, made)) in enumerate(cases(quick ? 10_000 : 100_000))
        i % m == k && all(word -> word in split(name), words) && measure(name, i, made(), n, per, settings)
    end
end

main(ARGS)
