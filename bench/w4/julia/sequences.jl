# Lists, stacks and queues of (number, payload).
#
# SPDX-License-Identifier: MIT OR Apache-2.0

"`P` numbers: what is stored beside a key."
struct Payload{P}
    numbers::NTuple{P,Float64}
end

"A payload of which every number is `x`."
@inline filled(::Type{Payload{P}}, x) where {P} = Payload{P}(ntuple(_ -> Float64(x), Val(P)))

const Item{P} = Tuple{Int,Payload{P}}

sum_to(n) = n * (n + 1) ÷ 2

# ---- lists ----

# Cells in a pool, linked by index: a manually linked list.
const Cell{P} = Tuple{Item{P},Int}

@inline take(pool, cell) = Original.allocateend!(pool, cell)
@inline car(pool, i) = Original.field(pool, i, Val(1))
@inline cdr(pool, i) = Original.field(pool, i, Val(2))
@inline give(pool, i) = Original.deallocate!(pool, i)
@inline give_all(pool) = Original.emptyend!(pool)
@inline take(pool::Toft.AbstractPool, cell) = Toft.allocateend!(pool, cell)
@inline car(pool::Toft.AbstractPool, i) = @inbounds pool[i, 1]
@inline cdr(pool::Toft.AbstractPool, i) = @inbounds pool[i, 2]
@inline give(pool::Toft.AbstractPool, i) = @inbounds Toft.deallocate!(pool, i)
@inline give_all(pool::Toft.AbstractPool) = Toft.emptyend!(pool)

# The same with bounds checks, as without @inbounds.
struct Checked{P}
    pool::P
end

@inline take(checked::Checked, cell) = Toft.allocateend!(checked.pool, cell)
@inline car(checked::Checked, i) = checked.pool[i, 1]
@inline cdr(checked::Checked, i) = checked.pool[i, 2]
@inline give(checked::Checked, i) = Toft.deallocate!(checked.pool, i)
@inline give_all(checked::Checked) = Toft.emptyend!(checked.pool)
@inline Base.isempty(checked::Checked) = isempty(checked.pool)

function cells(pool, n, payload)
    list = 0
    for j in 1:n
        list = take(pool, ((j, payload), list))
    end
    sum = 0
    while list != 0
        sum += car(pool, list)[1]
        list = cdr(pool, list)
    end
    give_all(pool)
    return sum == sum_to(n)
end

function cells_one_by_one(pool, n, payload)
    list = 0
    for j in 1:n
        list = take(pool, ((j, payload), list))
    end
    sum = 0
    while list != 0
        sum += car(pool, list)[1]
        next = cdr(pool, list)
        give(pool, list)
        list = next
    end
    return sum == sum_to(n) && isempty(pool)
end

cells_body(pool, n, payload, frees) =
    frees ? (() -> cells_one_by_one(pool, n, payload)) : (() -> cells(pool, n, payload))

function list(l, n, payload)
    for j in 1:n
        pushfirst!(l, (j, payload))
    end
    sum = 0
    for item in l
        sum += item[1]
    end
    empty!(l)
    return sum == sum_to(n)
end

function list_one_by_one(l, n, payload)
    for j in 1:n
        pushfirst!(l, (j, payload))
    end
    sum = 0
    while !isempty(l)
        sum += popfirst!(l)[1]
    end
    return sum == sum_to(n)
end

list_body(l, n, payload, frees) = frees ? (() -> list_one_by_one(l, n, payload)) : (() -> list(l, n, payload))

struct Cons{T}
    car::T
    cdr::Union{Nothing,Cons{T}}
end

function heap_list(n, payload::P) where {P}
    list = nothing
    for j in 1:n
        list = Cons{Tuple{Int,P}}((j, payload), list)
    end
    sum = 0
    while list !== nothing
        sum += list.car[1]
        list = list.cdr
    end
    return sum == sum_to(n)
end

function vector_list(v, n, payload)
    for j in 1:n
        push!(v, (j, payload))
    end
    sum = 0
    for k in length(v):-1:1
        sum += v[k][1]
    end
    empty!(v)
    return sum == sum_to(n)
end

# ---- stacks and queues: one body, which pushes at the end and pops at one of the ends ----

function stack(s, n, payload)
    for j in 1:n
        push!(s, (j, payload))
    end
    right = true
    for j in n:-1:1
        right &= pop!(s)[1] == j
    end
    right &= isempty(s)
    empty!(s)
    return right
end

function queue(q, n, payload)
    for j in 1:n
        push!(q, (j, payload))
    end
    right = true
    for j in 1:n
        right &= popfirst!(q)[1] == j
    end
    right &= isempty(q)
    empty!(q)
    return right
end

# A pool of Allocators.jl, as a stack and as a queue.
struct OriginalEnds{P}
    pool::P
end

@inline Base.push!(m::OriginalEnds, x) = (Original.allocateend!(m.pool, x); m)
@inline Base.pop!(m::OriginalEnds) = (x = m.pool[m.pool.last]; Original.deallocateend!(m.pool); x)
@inline Base.popfirst!(m::OriginalEnds) = (x = m.pool[m.pool.first]; Original.deallocatebegin!(m.pool); x)
@inline Base.isempty(m::OriginalEnds) = isempty(m.pool)
@inline Base.empty!(m::OriginalEnds) = (Original.emptyend!(m.pool); m)

# ---- contenders ----

# The kinds of pools, by their names in the tables: (name, with columns, with a free list, fixed)
const KINDS = [(string(free ? "free " : "", columns ? "columns " : free ? "list " : "", fixed ? "fixed" : "growing"),
                columns, free, fixed) for free in (false, true) for columns in (false, true) for fixed in (true, false)]

toft_kind(columns, free) = free ? (columns ? Toft.FreeListSOAllocator : Toft.FreeListAllocator) :
                                  (columns ? Toft.SOAllocator : Toft.Allocator)
size_of(fixed, n) = fixed ? n : nothing

function lists(p)
    payload = filled(Payload{p}, 0)
    all = [Contender("heap nodes", n -> (() -> heap_list(n, payload))),
           Contender("Vector", n -> (v = Item{p}[]; () -> vector_list(v, n, payload))),
           Contender("Vector fresh", n -> (() -> vector_list(Item{p}[], n, payload)))]
    for (name, columns, free, fixed) in KINDS
        push!(all, Contender("toft " * name, n ->
            list_body(Toft.List{Item{p}}(toft_kind(columns, free), size_of(fixed, n)), n, payload, free)))
        push!(all, Contender("toft by hand " * name, n ->
            cells_body(toft_kind(columns, free){Cell{p}}(size_of(fixed, n)), n, payload, free)))
        push!(all, Contender("toft checked " * name, n ->
            cells_body(Checked(toft_kind(columns, free){Cell{p}}(size_of(fixed, n))), n, payload, free)))
        ORIGINAL && push!(all, Contender("original " * name, n ->
            cells_body(original_pool(Cell{p}, columns, free, size_of(fixed, n)), n, payload, free)))
    end
    return all
end

function ends(p, body, collection)
    payload = filled(Payload{p}, 0)
    make(c, n) = () -> body(c, n, payload)
    all = [Contender("Vector", n -> make(Item{p}[], n)),
           Contender("Vector fresh", n -> (() -> body(Item{p}[], n, payload)))]
    for (name, columns, free, fixed) in KINDS
        free && continue
        push!(all, Contender("toft " * name, n ->
            make(collection{Item{p}}(toft_kind(columns, free), size_of(fixed, n)), n)))
        ORIGINAL && push!(all, Contender("original " * name, n ->
            make(OriginalEnds(original_pool(Item{p}, columns, false, size_of(fixed, n))), n)))
    end
    return all
end

stacks(p) = ends(p, stack, Toft.Stack)
queues(p) = ends(p, queue, Toft.Queue)
