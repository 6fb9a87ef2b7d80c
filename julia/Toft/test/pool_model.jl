# A model of pools, against which random streams of operations are played, and the element types that they use.
# SPDX-License-Identifier: MIT OR Apache-2.0

# The kinds of pools. Most of the time goes into compiling for each, so the short tier has a kind without a free list,
# in columns, and one with a free list, in rows.
const END_KINDS = ALL_TYPES ? (Allocator, SOAllocator) : (SOAllocator,)
const FREE_KINDS = ALL_TYPES ? (FreeListAllocator, FreeListSOAllocator) : (FreeListAllocator,)
const KINDS = (END_KINDS..., FREE_KINDS...)
const COLUMN_KINDS = ALL_TYPES ? (SOAllocator, FreeListSOAllocator) : (SOAllocator,)
has_free_list(@nospecialize(Kind)) = Kind <: Union{FreeListAllocator,FreeListSOAllocator}
is_columns(@nospecialize(Kind)) = Kind <: Union{SOAllocator,FreeListSOAllocator}

# Calls are dynamic where many types of pools go through, lest this file be compiled anew for each.
function listed(@nospecialize(iterator))
    found = []
    for x in iterator
        push!(found, x)
    end
    return found
end

# ---- Invariants of pools ----

# `live` is pairs of index and value, in order where the pool has one.
function agree(@nospecialize(pool), live::Vector{Pair{Int,Any}}, @nospecialize(I), ordered::Bool)
    must(length(pool) == length(live), "length ", length(pool), ", not ", length(live))
    must(isempty(pool) == isempty(live), "isempty")
    must(length(pool) <= capacity(pool), "capacity")
    indices = listed(eachindex(pool))
    must(all(i -> i isa I, indices), "indices of types ", map(typeof, indices))
    if ordered
        must(indices == first.(live), "the order of indices: ", indices, ", not ", first.(live))
        if isempty(live)
            must(pool.first == pool.last + 1, "the ends of an empty pool")
        else
            must((pool.first, pool.last) == (first(live[1]), first(live[end])), "the ends")
        end
        must(!pool.contiguous || pool.first - 1 <= pool.low_bound == pool.high_bound - 1 <= pool.last,
             "where the ends may go")
    end
    found = Dict{Int,Any}(live)
    must(length(indices) == length(found) && all(i -> haskey(found, i), indices), "indices: ", indices)
    values = listed(pool)
    must(length(values) == length(indices), "iteration gives ", length(values))
    for (i, value) in zip(indices, values)
        must(same(value, found[i]), "iteration at ", i, ": ", value, ", not ", found[i])
        must(same(pool[i], found[i]), "slot ", i, ": ", pool[i], ", not ", found[i])
    end
    for i in 0:top(pool)+1
        must(isvalid(pool, i) == haskey(found, i), "isvalid of ", i)
    end
    lengths = column_lengths(pool)
    must(all(==(lengths[1]), lengths), "columns of lengths ", lengths)
    return nothing
end

store(@nospecialize(pool::Toft.FreeListPool)) = pool.used.store
store(@nospecialize(pool::Toft.DequePool)) = pool.store
top(@nospecialize(pool)) = length(store(pool)) # the highest index there can be
column_lengths(@nospecialize(pool)) = store(pool) isa Columns ? map(length, store(pool).vectors) : (top(pool),)

# Each use of a dead index is this exception, and has no effect.
function refused(@nospecialize(pool), @nospecialize(i), value, @nospecialize(E))
    must(throws(E, getindex, pool, i), "reading ", i, " is no ", E)
    must(throws(E, setindex!, pool, value, i), "writing ", i, " is no ", E)
    must(throws(E, deallocate!, pool, i), "deallocating ", i, " is no ", E)
    if fieldcount_or_0(eltype(pool)) > 0
        must(throws(E, getindex, pool, i, 1), "reading a field of ", i, " is no ", E)
        must(throws(E, setindex!, pool, getfield(value, 1), i, 1), "writing a field of ", i, " is no ", E)
    end
    return nothing
end

function fieldcount_or_0(@nospecialize(T))
    fixed = T isa DataType && (T <: Tuple ? !Toft.is_open(T) : isconcretetype(T) && !Toft.is_mutable(T))
    return fixed && isstructtype(T) ? fieldcount(T) : 0
end

# ---- Pools with two ends, against a plain Vector ----

mutable struct EndShadow
    pool::Any
    live::Vector{Pair{Int,Any}}
    index_type::Any
    most::Int # more slots than this there cannot be
    fixed::Bool
    peak::Int
end

function take!(rng, s::EndShadow, value, at_end::Bool, with_value::Bool)
    pool, before = s.pool, length(s.live)
    allocate = at_end ? allocateend! : allocatebegin!
    arguments = with_value ? (pool, value) : (pool,)
    if before == s.most
        e = thrown(allocate, arguments...)
        must(e isa PoolFullError, "a full pool gave ", e)
        return
    end
    had = capacity(pool)
    i = allocate(arguments...)
    must(i isa s.index_type, "an index of type ", typeof(i))
    must(1 <= i <= top(pool), "index ", i, " of ", top(pool))
    must(!any(pair -> first(pair) == i, s.live), "index ", i, " is taken already")
    must(capacity(pool) == had || before == had && !s.fixed, "grew with ", before, " of ", had, " slots live")
    with_value || (pool[i] = value)
    at_end ? push!(s.live, Int(i) => value) : pushfirst!(s.live, Int(i) => value)
    s.peak = max(s.peak, before + 1)
    return
end

function drop!(s::EndShadow, at_end::Bool)
    deallocate = at_end ? deallocateend! : deallocatebegin!
    if isempty(s.live)
        must(throws(ArgumentError, deallocate, s.pool), "an empty pool gave something back")
    else
        deallocate(s.pool)
        at_end ? pop!(s.live) : popfirst!(s.live)
    end
    return
end

function end_step!(rng, s::EndShadow, make, filling::Bool)
    pool, dice = s.pool, rand(rng, 1:100)
    if dice <= 70
        at_end = rand(rng, Bool)
        if rand(rng) < (filling ? 0.8 : 0.2)
            take!(rng, s, make(rng), at_end, rand(rng, Bool))
        else
            drop!(s, at_end)
        end
    elseif dice <= 84
        isempty(s.live) && return
        k = rand(rng, 1:length(s.live))
        i, value = first(s.live[k]), make(rng)
        fields = fieldcount_or_0(eltype(pool))
        if rand(rng, Bool) || fields == 0
            must((pool[i] = value) === value, "assignment")
        else # field by field, by number or name
            for j in shuffle(rng, 1:fields)
                field = rand(rng, Bool) ? j : fieldname(eltype(pool), j)
                pool[i, field] = getfield(value, j)
                must(same(pool[i, field], getfield(value, j)), "field ", j)
            end
        end
        s.live[k] = i => value
        must(deallocate!(pool, i) === nothing, "deallocate!") # frees nothing in these kinds
    elseif dice <= 96
        dead = Any[0, -1, top(pool) + 1, typemax(Int)]
        eltype(pool) === Int && append!(dead, (UInt(1) << 63 + 1, Int128(1) << 64 + 1, big(2)^64 + 1))
        pool.contiguous && append!(dead, setdiff(1:top(pool), first.(s.live)))
        refused(pool, rand(rng, dead), make(rng), BoundsError)
    elseif dice <= 98
        had = capacity(pool)
        must(trim!(pool) === pool, "trim! gives the pool")
        must(capacity(pool) <= had && (!s.fixed || capacity(pool) == had), "trim! to ", capacity(pool))
    else
        had = capacity(pool)
        rand(rng, Bool) ? emptyend!(pool) : emptybegin!(pool)
        empty!(s.live)
        must(capacity(pool) >= had, "emptying gave memory back")
    end
    return
end

function end_stream(seed, @nospecialize(pool), @nospecialize(I), most, fixed, make, steps)
    rng = MersenneTwister(seed)
    s = EndShadow(pool, [], I, most, fixed, 0)
    filling = true
    for step in 1:steps
        rand(rng) < 0.03 && (filling = !filling)
        try
            end_step!(rng, s, make, filling)
            agree(pool, s.live, I, true)
        catch
            @error "a stream of operations" typeof(pool) seed step
            rethrow()
        end
        fixed || must(capacity(pool) <= max(16, 2s.peak), "a capacity of ", capacity(pool), " for ", s.peak)
    end
    return true
end

# ---- Pools whose slots are freed one by one, against a Dict, a stack of free slots, and handles ----

mutable struct FreeShadow
    pool::Any
    live::Dict{Int,Any}
    freed::Union{Vector{Int},Nothing} # the last one freed last; unknown after trim!
    handles::Dict{Int,Any} # of the live slots
    stale::Vector{Any} # some of the others
    index_type::Any
    most::Int
    fixed::Bool
end

function keep_stale!(rng, s::FreeShadow, h)
    length(s.stale) < 50 ? push!(s.stale, h) : (s.stale[rand(rng, 1:50)] = h)
    return
end

function take!(rng, s::FreeShadow, value, at_end::Bool, with_value::Bool)
    pool = s.pool
    allocate = at_end ? allocateend! : allocatebegin!
    arguments = with_value ? (pool, value) : (pool,)
    if length(s.live) == s.most
        e = thrown(allocate, arguments...)
        must(e isa PoolFullError, "a full pool gave ", e)
        return
    end
    had = capacity(pool)
    i = allocate(arguments...)
    must(i isa s.index_type, "an index of type ", typeof(i))
    must(1 <= i <= top(pool) && !haskey(s.live, i), "index ", i)
    must(capacity(pool) == had || length(s.live) == had && !s.fixed, "grew with ", length(s.live), " of ", had)
    if s.freed !== nothing && !isempty(s.freed)
        must(i == pop!(s.freed), "not the slot freed last")
    end
    with_value || (pool[i] = value)
    s.live[i] = value
    h = handle(pool, i)
    must(h isa Handle{s.index_type} && isvalid(pool, h) && !(h in s.stale), "the handle of ", i)
    s.handles[i] = h
    return
end

function free_step!(rng, s::FreeShadow, make, filling::Bool, ends)
    pool, dice = s.pool, rand(rng, 1:100)
    if dice <= 60
        if rand(rng) < (filling ? 0.75 : 0.25)
            take!(rng, s, make(rng), rand(rng, ends), rand(rng, Bool))
        elseif !isempty(s.live)
            i = rand(rng, collect(keys(s.live)))
            deallocate!(pool, rand(rng, Bool) ? s.handles[i] : rand(rng, Bool) ? i : s.index_type(i))
            keep_stale!(rng, s, s.handles[i])
            delete!(s.live, i)
            delete!(s.handles, i)
            s.freed === nothing || push!(s.freed, i)
        end
    elseif dice <= 75
        isempty(s.live) && return
        i, value = rand(rng, collect(keys(s.live))), make(rng)
        at = rand(rng, Bool) ? i : s.handles[i]
        fields = fieldcount_or_0(eltype(pool))
        if rand(rng, Bool) || fields == 0
            pool[at] = value
        else
            for j in shuffle(rng, 1:fields)
                pool[at, j] = getfield(value, j)
                must(same(pool[at, j], getfield(value, j)), "field ", j)
            end
        end
        must(same(pool[at], value), "what was put at ", at)
        s.live[i] = value
    elseif dice <= 85
        dead = Any[0, -1, top(pool) + 1, typemax(Int)]
        eltype(pool) === Int && append!(dead, (UInt(1) << 63 + 1, Int128(1) << 64 + 1, big(2)^64 + 1))
        append!(dead, setdiff(1:top(pool), keys(s.live)))
        i = rand(rng, dead)
        E = s.freed === nothing ? Union{BoundsError,StaleIndexError} : i in s.freed ? StaleIndexError : BoundsError
        refused(pool, i, make(rng), E)
        must(throws(E, handle, pool, i), "a handle of ", i)
    elseif dice <= 94
        isempty(s.stale) || refused(pool, rand(rng, s.stale), make(rng), StaleIndexError)
    elseif dice <= 97
        had = capacity(pool)
        must(trim!(pool) === pool, "trim! gives the pool")
        must(capacity(pool) <= had && (!s.fixed || capacity(pool) == had), "trim! to ", capacity(pool))
        s.fixed || (s.freed = nothing)
    else
        rand(rng, Bool) ? emptyend!(pool) : emptybegin!(pool)
        foreach(h -> keep_stale!(rng, s, h), values(s.handles))
        empty!(s.live)
        empty!(s.handles)
        s.freed = Int[]
    end
    return
end

function free_stream(seed, @nospecialize(pool), @nospecialize(I), most, fixed, make, steps)
    rng = MersenneTwister(seed)
    s = FreeShadow(pool, Dict(), Int[], Dict(), [], I, most, fixed)
    filling = true
    ends = rand(rng, ([true], [true, false]))
    for step in 1:steps
        rand(rng) < 0.03 && (filling = !filling)
        try
            free_step!(rng, s, make, filling, ends)
            agree(pool, collect(Pair{Int,Any}, s.live), I, false)
            must(all(h -> isvalid(pool, h), values(s.handles)), "a live handle is not valid")
            must(!any(h -> isvalid(pool, h), s.stale), "a stale handle is valid")
        catch
            @error "a stream of operations" typeof(pool) seed step
            rethrow()
        end
    end
    return true
end

stream(seed, @nospecialize(pool), args...) =
    pool isa Toft.FreeListPool ? free_stream(seed, pool, args...) : end_stream(seed, pool, args...)

# Element types, and how to make one of them.
const ELEMENTS = Any[
    Int => rng -> rand(rng, Int),
    Tuple{Int,NTuple{3,Float64}} => rng -> (rand(rng, Int), (rand(rng), -0.0, NaN)),
    NamedTuple{(:key, :name),Tuple{Int32,String}} => rng -> (key = rand(rng, Int32), name = word(rng)),
    Point => rng -> Point(rand(rng, Int), rand(rng)),
    Positive => rng -> Positive(rand(rng, 1:1000)),
    Mixed => rng -> Mixed(rand(rng, Int), word(rng), rand(rng, Bool) ? nothing : rand(rng, Int8)),
    Nested => rng -> Nested(Point(rand(rng, Int), rand(rng)), rand(rng, 'a':'z')),
    Tuple{Any,Union{Int,Nothing},Box} =>
        rng -> (rand(rng, (1, 'x', "y")), rand(rng, (nothing, 7)), Box(rand(rng, Int))),
    Tuple{UInt8} => rng -> (rand(rng, UInt8),),
    String => word,
    Any => rng -> rand(rng, Any[1, 2.5, "three", :four, nothing, missing, [6]]),
    Union{Int,Nothing} => rng -> rand(rng, Bool) ? nothing : rand(rng, Int),
    Union{Missing,String} => rng -> rand(rng, Bool) ? missing : word(rng),
    Empty => rng -> Empty(),
    Box => rng -> Box(rand(rng, Int)),
    BigInt => rng -> big(rand(rng, Int128)),
    Bool => rng -> rand(rng, Bool),
]
