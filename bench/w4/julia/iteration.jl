# Iterating over the live slots of a pool after a random half was freed.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

function sum_first(elements)
    sum = 0
    for x in elements
        sum += x[1]
    end
    return sum
end

# By index: of a pool of columns only the first column is read.
function sum_slots(pool)
    sum = 0
    for i in eachindex(pool)
        sum += @inbounds pool[i, 1]
    end
    return sum
end

# The usual code for pools that do not record which slots are live: a separate array.
struct Marked{P}
    pool::P
    live::Vector{Bool}
end

function sum_slots(marked::Marked)
    sum = 0
    for i in eachindex(marked.live)
        if @inbounds marked.live[i]
            sum += Original.field(marked.pool, i, Val(1))
        end
    end
    return sum
end

function sum_first(v::Vector{Union{Nothing,T}}) where {T}
    sum = 0
    for x in v
        x === nothing || (sum += x[1])
    end
    return sum
end

removed(n) = shuffle(MersenneTwister(4), 1:n)[1:n÷2]

# Fills a pool with (j, payload) and frees a half; (indices by j are the results of take).
function halve(take, give, n, payload)
    at = [take((j, payload)) for j in 1:n]
    foreach(j -> give(at[j], j), removed(n))
    return nothing
end

expected(n) = sum_to(n) - sum(removed(n))

function iterations(p)
    payload = filled(Payload{p}, 0)
    T = Item{p}
    body(sum_of, c, n) = (right = expected(n); () -> sum_of(c) == right)
    all = [Contender("Vector{Union}", n -> (v = Vector{Union{Nothing,T}}(undef, n);
                halve(x -> (v[x[1]] = x; x[1]), (i, j) -> v[i] = nothing, n, payload); body(sum_first, v, n))),
           Contender("Dict", n -> (d = Dict{Int,T}();
                halve(x -> (d[x[1]] = x; x[1]), (i, j) -> delete!(d, i), n, payload); body(sum_first, values(d), n))),
           Contender("floor dense Vector", n ->
                (v = T[(j, payload) for j in setdiff(1:n, removed(n))]; body(sum_first, v, n)))]
    for columns in (false, true)
        name = columns ? "free columns" : "free list"
        make() = (kind = toft_kind(columns, true); kind{T})
        push!(all, Contender("toft " * name, n -> (pool = make()(n);
            halve(x -> Toft.allocateend!(pool, x), (i, j) -> Toft.deallocate!(pool, i), n, payload);
            body(sum_first, pool, n))))
        push!(all, Contender("toft by index " * name, n -> (pool = make()(n);
            halve(x -> Toft.allocateend!(pool, x), (i, j) -> Toft.deallocate!(pool, i), n, payload);
            body(sum_slots, pool, n))))
        ORIGINAL && push!(all, Contender("original " * name, n -> (pool = original_pool(T, columns, true, n);
            live = fill(true, n);
            give(i, j) = (Original.deallocate!(pool, i); live[i] = false);
            halve(x -> Original.allocateend!(pool, x), give, n, payload);
            body(sum_slots, Marked(pool, live), n))))
    end
    return all
end
