# An AVL tree with links to the parents, iterative, over any storage of nodes: pools of Allocators.jl, and
# objects of Julia's heap. Its deletion moves a neighbour's data with its key when a node has two children; the original
# leaves the old data there, so its dictionary returns wrong values.
#
# SPDX-License-Identifier: MIT OR Apache-2.0
module Trees

using ..Original

export Tree, PoolNodes, HeapNodes, lookup, insert, delete, finish, scan

# ---- nodes in a pool: (key, data, left, right, parent, height); 0 is none ----

const PoolNode{K,D} = Tuple{K,D,Int,Int,Int,Int8}

struct PoolNodes{P}
    pool::P
end

@inline none(::PoolNodes) = 0
@inline node(s::PoolNodes, key, data, parent) = allocateend!(s.pool, (key, data, 0, 0, parent, Int8(1)))
@inline drop(s::PoolNodes, i) = deallocate!(s.pool, i)
for (j, name) in enumerate((:key, :data, :left, :right, :parent, :height))
    @eval @inline $name(s::PoolNodes, i) = field(s.pool, i, Val($j))
    @eval @inline $(Symbol(name, "!"))(s::PoolNodes, i, x) = setfield(s.pool, x, i, Val($j))
end

# ---- nodes on the heap ----

mutable struct HeapNode{K,D}
    key::K
    data::D
    left::Union{Nothing,HeapNode{K,D}}
    right::Union{Nothing,HeapNode{K,D}}
    parent::Union{Nothing,HeapNode{K,D}}
    height::Int8
end

struct HeapNodes{K,D} end

@inline none(::HeapNodes) = nothing
@inline node(::HeapNodes{K,D}, key, data, parent) where {K,D} = HeapNode{K,D}(key, data, nothing, nothing, parent, 1)
@inline drop(::HeapNodes, i) = nothing
for name in (:key, :data, :left, :right, :parent, :height)
    @eval @inline $name(::HeapNodes, i) = i.$name
    @eval @inline $(Symbol(name, "!"))(::HeapNodes, i, x) = (i.$name = x; nothing)
end

link(::Type{<:PoolNodes}) = Int
link(::Type{HeapNodes{K,D}}) where {K,D} = Union{Nothing,HeapNode{K,D}}

# ---- the tree ----

mutable struct Tree{S,L}
    nodes::S
    root::L
end

Tree(nodes::S) where {S} = Tree{S,link(S)}(nodes, none(nodes))

@inline tall(s, i) = i === none(s) ? Int8(0) : height(s, i)

function find(t::Tree, k)
    s, i = t.nodes, t.root
    while i !== none(s)
        here = key(s, i)
        k == here && return i
        i = k < here ? left(s, i) : right(s, i)
    end
    return i
end

@inline Base.haskey(t::Tree, k) = find(t, k) !== none(t.nodes)
@inline lookup(t::Tree, k) = data(t.nodes, find(t, k)) # the key exists

# Replaces the child `old` by `i`, or by none.
@inline function hang!(t, old, i, above)
    s = t.nodes
    if above === none(s)
        t.root = i
    elseif left(s, above) === old
        left!(s, above, i)
    else
        right!(s, above, i)
    end
    i === none(s) || parent!(s, i, above)
    return nothing
end

@inline measure!(s, i) = height!(s, i, max(tall(s, left(s, i)), tall(s, right(s, i))) + Int8(1))

function turn_right!(t, i)
    s = t.nodes
    up, above = left(s, i), parent(s, i)
    over = right(s, up)
    hang!(t, i, up, above)
    left!(s, i, over)
    over === none(s) || parent!(s, over, i)
    right!(s, up, i)
    parent!(s, i, up)
    measure!(s, i)
    measure!(s, up)
    return up
end

function turn_left!(t, i)
    s = t.nodes
    up, above = right(s, i), parent(s, i)
    over = left(s, up)
    hang!(t, i, up, above)
    right!(s, i, over)
    over === none(s) || parent!(s, over, i)
    left!(s, up, i)
    parent!(s, i, up)
    measure!(s, i)
    measure!(s, up)
    return up
end

# From `i` upwards until a height is unchanged.
function balance!(t, i)
    s = t.nodes
    while i !== none(s)
        before = height(s, i)
        l, r = left(s, i), right(s, i)
        hl, hr = tall(s, l), tall(s, r)
        if hl > hr + 1
            tall(s, left(s, l)) < tall(s, right(s, l)) && turn_left!(t, l)
            i = turn_right!(t, i)
        elseif hr > hl + 1
            tall(s, right(s, r)) < tall(s, left(s, r)) && turn_right!(t, r)
            i = turn_left!(t, i)
        else
            now = max(hl, hr) + Int8(1)
            now == before && return nothing
            height!(s, i, now)
        end
        height(s, i) == before && return nothing
        i = parent(s, i)
    end
    return nothing
end

function insert(t::Tree, k, d)
    s, i, above = t.nodes, t.root, none(t.nodes)
    while i !== none(s)
        above, here = i, key(s, i)
        if k == here
            data!(s, i, d)
            return nothing
        end
        i = k < here ? left(s, i) : right(s, i)
    end
    i = node(s, k, d, above)
    if above === none(s)
        t.root = i
    elseif k < key(s, above)
        left!(s, above, i)
    else
        right!(s, above, i)
    end
    balance!(t, above)
    return nothing
end

function delete(t::Tree, k)
    s, i = t.nodes, find(t, k)
    i === none(s) && return nothing
    l, r = left(s, i), right(s, i)
    if l !== none(s) && r !== none(s) # a neighbour replaces it
        at = i
        if height(s, l) >= height(s, r)
            i = l
            while right(s, i) !== none(s)
                i = right(s, i)
            end
        else
            i = r
            while left(s, i) !== none(s)
                i = left(s, i)
            end
        end
        key!(s, at, key(s, i))
        data!(s, at, data(s, i))
        l, r = left(s, i), right(s, i)
    end
    child = l === none(s) ? r : l
    if child === none(s)
        above = parent(s, i)
        hang!(t, i, none(s), above)
        drop(s, i)
        balance!(t, above)
    else # a leaf: it moves into this slot
        key!(s, i, key(s, child))
        data!(s, i, data(s, child))
        left!(s, i, none(s))
        right!(s, i, none(s))
        height!(s, i, Int8(1))
        drop(s, child)
        balance!(t, parent(s, i))
    end
    return nothing
end

# Whether nothing is left; frees everything.
function finish(t::Tree{<:PoolNodes})
    t.root === 0 || return false
    whole = is_all_free(t.nodes.pool)
    emptyend!(t.nodes.pool)
    return whole
end
finish(t::Tree{<:HeapNodes}) = t.root === nothing

# The sum of the keys from lo to hi.
function scan(t::Tree, lo, hi)
    s, i, found, sum = t.nodes, t.root, none(t.nodes), 0
    while i !== none(s)
        if key(s, i) < lo
            i = right(s, i)
        else
            found, i = i, left(s, i)
        end
    end
    while found !== none(s) && key(s, found) <= hi
        sum += key(s, found)
        over = right(s, found)
        if over !== none(s)
            while left(s, over) !== none(s)
                over = left(s, over)
            end
            found = over
        else
            over = parent(s, found)
            while over !== none(s) && right(s, over) === found
                found, over = over, parent(s, over)
            end
            found = over
        end
    end
    return sum
end

end
