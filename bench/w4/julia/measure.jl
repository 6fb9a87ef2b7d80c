# The measurement: calls of a body in batches long enough for the clock, contenders rotated from round to round, the
# collector run between them. Allocations of a batch, and the collector's time in it, are read from Base.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

"A contender: its name; a function of n that makes its body, a function that is true when its results were right; the
largest n that it can do in reasonable time."
struct Contender
    name::String
    make::Function
    upto::Int
end
Contender(name, make) = Contender(name, make, typemax(Int))

struct Settings
    rounds::Int
    batch_ns::Int # minimum duration of a batch
    case_ns::Int  # no further round of a case begins after this time
    collect::Bool # before each contender, or only before the case
end

@noinline function batch(body::F, k::Int) where {F}
    right = true
    for _ in 1:k
        right &= body()
    end
    return right
end

function timed(body, k)
    counters = Base.gc_num()
    start = time_ns()
    right = batch(body, k)
    time = time_ns() - start
    spent = Base.GC_Diff(Base.gc_num(), counters)
    return time, Base.gc_alloc_count(spent), spent.allocd, spent.total_time, right
end

# Calls until a batch is long enough. The first calls touch new memory.
function calls(body, batch_ns)
    right = batch(body, 1)
    k = 1
    while true
        time = max(timed(body, k)[1], 1)
        time >= batch_ns && return k, right
        k = max(k + 1, min(100k, ceil(Int, 1.2 * k * batch_ns / time)))
    end
end

middle(v) = (s = sort(v); n = length(s); isodd(n) ? s[(n + 1) ÷ 2] : (s[n ÷ 2] + s[n ÷ 2 + 1]) / 2)

text(x::AbstractString) = "\"" * escape_string(x) * "\""
text(x::Bool) = string(x)
text(x::Real) = string(isinteger(x) && abs(x) < 1e15 ? Int(x) : round(x; sigdigits=6))

line(pairs...) = println("{", join((text(k) * ": " * text(v) for (k, v) in pairs), ", "), "}")

# Times are for one call of the body, or for one of the `per` operations of a call.
function measure(case, order, contenders, n, per, settings::Settings)
    contenders = filter(c -> n <= c.upto, contenders)
    isempty(contenders) && return nothing
    print(stderr, "bench: W4, ", case, "\n")
    bodies = map(contenders) do contender
        batch(contender.make(min(n, 10)), 1) # compiles it
        contender.make(n)
    end
    GC.gc()
    found = [calls(body, settings.batch_ns) for body in bodies]
    per_call = [calls for (calls, _) in found]
    right = [first for (_, first) in found]
    began = time_ns()
    samples = [NTuple{4,Float64}[] for _ in bodies]
    for round in 1:settings.rounds
        round > 1 && time_ns() - began > settings.case_ns && break
        for turn in eachindex(bodies)
            j = mod1(turn + 5round, length(bodies))
            settings.collect && GC.gc()
            time, allocs, bytes, gc, good = timed(bodies[j], per_call[j])
            push!(samples[j], (time, allocs, bytes, gc) ./ (per_call[j] * per))
            right[j] &= good
        end
    end
    for (j, contender) in enumerate(contenders)
        times = [s[1] for s in samples[j]]
        line("workload" => "W4", "order" => order, "case" => case, "contender" => contender.name,
            "language" => "Julia", "unit" => "ns",
            "median" => middle(times), "min" => minimum(times), "max" => maximum(times), "rounds" => length(times),
            "n" => per_call[j], "allocs" => middle([s[2] for s in samples[j]]),
            "bytes" => middle([s[3] for s in samples[j]]), "gc_ns" => middle([s[4] for s in samples[j]]),
            "verified" => right[j])
    end
    flush(stdout)
    return nothing
end

"A row that cannot be: its contender is named, and why."
left_out(name, why) = line("left_out" => name, "why" => why)
