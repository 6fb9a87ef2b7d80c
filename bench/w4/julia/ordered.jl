# Sets and dictionaries, ordered and hashed: n keys j and n keys -j are inserted, looked up, and removed one after the
# other.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

# The functions that the bodies call, for packages with other names.
@inline has(c, k) = haskey(c, k)
@inline has(c::AbstractSet, k) = k in c
@inline add!(c::AbstractSet, k) = push!(c, k)
@inline put!(c, k, d) = (c[k] = d; nothing)
@inline look(c, k) = c[k]
@inline remove!(c, k) = delete!(c, k)
@inline ended(c) = (whole = isempty(c); empty!(c); whole)

"In which order keys go in, and in which they are looked up and taken out."
struct Keys
    in::Vector{Int}
    out::Vector{Int}
end

ascending(n) = Keys(1:n, 1:n)
shuffled(n) = Keys(shuffle(MersenneTwister(1), 1:n), shuffle(MersenneTwister(2), 1:n))

"Removes all keys, and looks them up."
@inline function emptied(c, keys::Keys)
    n = length(keys.in)
    right = !has(c, n + 1) & !has(c, -n - 1)
    for j in keys.out
        right &= has(c, j)
        right &= has(c, -j)
        remove!(c, j)
        remove!(c, -j)
        right &= !has(c, j)
        right &= !has(c, -j)
    end
    return right & ended(c)
end

function set(c, keys::Keys)
    for j in keys.in
        add!(c, j)
        add!(c, -j)
    end
    right = !has(c, 0)
    for j in keys.out
        right &= has(c, j)
        right &= has(c, -j)
    end
    return right & emptied(c, keys)
end

# Each key with the same payload, or with its own.
struct Same{P}
    payload::P
end
struct Own{P} end
@inline (same::Same)(j) = same.payload
@inline (::Own{P})(j) where {P} = filled(P, j)

function dict(c, keys::Keys, payload::F) where {F}
    for j in keys.in
        put!(c, j, payload(j))
        put!(c, -j, payload(-j))
    end
    right = !has(c, 0)
    for j in keys.out
        right &= look(c, j) === payload(j)
        right &= look(c, -j) === payload(-j)
    end
    return right & emptied(c, keys)
end

# Half of the keys are removed first, so that nodes move: the remaining keys must have kept their own data.
function dict_half(c, keys::Keys, payload::F) where {F}
    n = length(keys.in)
    for j in keys.in
        put!(c, j, payload(j))
    end
    for k in 1:n÷2
        remove!(c, keys.out[k])
    end
    right = true
    for k in n÷2+1:n
        j = keys.out[k]
        right &= look(c, j) === payload(j)
    end
    for k in n÷2+1:n
        remove!(c, keys.out[k])
    end
    return right & ended(c)
end

# ---- range scans ----

const SCANS, WIDTH = 1000, 100

starts(n) = rand(MersenneTwister(3), 1:max(1, n - WIDTH + 1), SCANS)
sum_of(lo, hi) = sum_to(hi) - sum_to(lo - 1)

function sum_between(c::Vector, lo, hi)
    sum = 0
    for k in searchsortedfirst(c, lo):searchsortedlast(c, hi)
        sum += c[k]
    end
    return sum
end
function sum_between(c::Toft.GenericSortedSet, lo, hi)
    sum = 0
    for k in Toft.between(c, lo, hi)
        sum += k
    end
    return sum
end
function sum_between(c::Toft.GenericSortedDict, lo, hi)
    sum = 0
    for (k, _) in Toft.between(c, lo, hi)
        sum += k
    end
    return sum
end

function scans(c, from, n)
    right = true
    for lo in from
        hi = min(n, lo + WIDTH - 1)
        right &= sum_between(c, lo, hi) == sum_of(lo, hi)
    end
    return right
end

# ---- contenders ----

function fresh_dict(body, ::Type{P}, keys, payload) where {P}
    return () -> body(Dict{Int,P}(), keys, payload)
end

function sets(order)
    make(c, n) = (keys = order(n); () -> set(c, keys))
    all = [Contender("Set", n -> (keys = order(n); () -> set(Set{Int}(), keys))),
           Contender("Set reused", n -> make(sizehint!(Set{Int}(), 2n), n))]
    for (name, columns, free, fixed) in KINDS
        push!(all, Contender("toft " * name, n ->
            make(Toft.SortedSet{Int}(toft_kind(columns, free), size_of(fixed, 2n)), n)))
    end
    push!(all, Contender("toft hash", n -> make(Toft.ArenaSet{Int}(Toft.Arena()), n)))
    push!(all, Contender("toft hash fresh", n ->
        (keys = order(n); in_new(a -> Toft.ArenaSet{Int}(a), c -> set(c, keys)))))
    return all
end

# Each time a new collection in an arena that was emptied.
function in_new(create, body)
    a = Toft.Arena()
    return () -> (right = body(create(a)); Toft.reset!(a); right)
end

function dicts(p, order, payload, body=dict)
    P = Payload{p}
    make(c, n) = (keys = order(n); () -> body(c, keys, payload))
    all = [Contender("Dict", n -> fresh_dict(body, P, order(n), payload)),
           Contender("Dict reused", n -> make(sizehint!(Dict{Int,P}(), 2n), n))]
    for (name, columns, free, fixed) in KINDS
        push!(all, Contender("toft " * name, n ->
            make(Toft.SortedDict{Int,P}(toft_kind(columns, free), size_of(fixed, 2n)), n)))
    end
    push!(all, Contender("toft hash", n -> make(Toft.ArenaDict{Int,P}(Toft.Arena()), n)))
    push!(all, Contender("toft hash fresh", n ->
        (keys = order(n); in_new(a -> Toft.ArenaDict{Int,P}(a), c -> body(c, keys, payload)))))
    return all
end

# Filled once, in random order, and then only read.
function scanned()
    function filled_with(add, c, n)
        foreach(j -> add(c, j), shuffled(n).in)
        from = starts(n)
        return () -> scans(c, from, n)
    end
    one = filled(Payload{1}, 0)
    all = [Contender("floor sorted Vector", n -> (c = collect(1:n); from = starts(n); () -> scans(c, from, n)))]
    for (name, columns, free, fixed) in KINDS
        fixed || continue
        push!(all, Contender("toft " * name, n ->
            filled_with(add!, Toft.SortedSet{Int}(toft_kind(columns, free), n), n)))
        push!(all, Contender("toft dict " * name, n -> filled_with((c, j) -> put!(c, j, one),
            Toft.SortedDict{Int,Payload{1}}(toft_kind(columns, free), n), n)))
    end
    return all
end
