# DataStructures: made inside the timing, as its users make them, except for collections that are only read.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

struct Blocks{Q} # a Queue, whose functions were enqueue! and dequeue! before 0.19
    queue::Q
end

@static if isdefined(DataStructures, :enqueue!)
    @inline Base.push!(q::Blocks, x) = (DataStructures.enqueue!(q.queue, x); q)
    @inline Base.popfirst!(q::Blocks) = DataStructures.dequeue!(q.queue)
else
    @inline Base.push!(q::Blocks, x) = (push!(q.queue, x); q)
    @inline Base.popfirst!(q::Blocks) = popfirst!(q.queue)
end
@inline Base.isempty(q::Blocks) = isempty(q.queue)
@inline Base.empty!(q::Blocks) = q # not used again

struct Deque{S} # a Stack
    stack::S
end
@inline Base.push!(s::Deque, x) = (push!(s.stack, x); s)
@inline Base.pop!(s::Deque) = pop!(s.stack)
@inline Base.isempty(s::Deque) = isempty(s.stack)
@inline Base.empty!(s::Deque) = s

push!(MORE[stacks], function (p)
    payload = filled(Payload{p}, 0)
    return [Contender("DataStructures", n -> (() -> stack(Deque(DataStructures.Stack{Item{p}}()), n, payload)))]
end)
push!(MORE[queues], function (p)
    payload = filled(Payload{p}, 0)
    return [Contender("DataStructures", n -> (() -> queue(Blocks(DataStructures.Queue{Item{p}}()), n, payload)))]
end)

@inline has(c::DataStructures.SortedSet, k) = k in c
@inline add!(c::DataStructures.SortedSet, k) = push!(c, k)

const Searched = Union{DataStructures.AVLTree,DataStructures.RBTree,DataStructures.SplayTree}
@inline has(c::Searched, k) = haskey(c, k)
@inline add!(c::Searched, k) = push!(c, k)
@inline ended(c::Searched) = length(c) == 0

# upto: a deletion from an AVLTree is linear; with 100,000 keys it would take seconds.
push!(MORE[sets], order -> [
    Contender("DataStructures SortedSet", n -> (keys = order(n); () -> set(DataStructures.SortedSet{Int}(), keys))),
    Contender("DataStructures AVLTree", n -> (keys = order(n); () -> set(DataStructures.AVLTree{Int}(), keys)), 1000),
    Contender("DataStructures RBTree", n -> (keys = order(n); () -> set(DataStructures.RBTree{Int}(), keys))),
    Contender("DataStructures SplayTree", n -> (keys = order(n); () -> set(DataStructures.SplayTree{Int}(), keys)))])

push!(MORE[dicts], (p, order, payload, body=dict) -> [
    Contender("DataStructures SortedDict",
        n -> (keys = order(n); () -> body(DataStructures.SortedDict{Int,Payload{p}}(), keys, payload)))])

function sum_between(c::DataStructures.SortedSet, lo, hi)
    sum = 0
    from, to = DataStructures.searchsortedfirst(c, lo), DataStructures.searchsortedlast(c, hi)
    for k in DataStructures.inclusive(c, from, to)
        sum += k
    end
    return sum
end

push!(MORE[scanned], () -> [Contender("DataStructures SortedSet", function (n)
    c = DataStructures.SortedSet{Int}()
    foreach(j -> push!(c, j), shuffled(n).in)
    from = starts(n)
    return () -> scans(c, from, n)
end)])
