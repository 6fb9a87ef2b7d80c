# The order of SortedSet and SortedDict: a B+ tree of keys, each with the index of its element in the pool.
#
#     leaves    FANOUT places each: LEAF_KEYS for keys, two before and two behind that are always unused. The keys fill
#               a window of the places, so that both ends have room, and a key goes in or out by moving the shorter
#               side.
#     inner     up to FANOUT children, and the bounds between them
#
# Keys that are small numbers, or can be mapped to such in the same order, are kept as integers ("codes"). In a leaf the
# unused places then hold its fences: those below the window the greatest integer that is too small for this leaf, those
# above it the greatest that belongs to it. So all places are in order, and are searched without knowing the window. And
# a place can be proved without knowing more of its leaf: x belongs there if the place before is less and the place
# itself is not. A tree has two fingers, where the last searches ended: a key beside one of them, either way, is found
# with four loads. Other keys are searched by bisection with isless.
#
# A leaf of few keys is merged with a neighbour; an inner node goes when its last child does.
#
# A place is meant within its leaf, from 0; `at` is a place among those of all leaves, from 0, so that keys[at+1] is its
# key.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

const FANOUT = 64
const LEAF_KEYS = FANOUT - 4
const LOWEST = 2 # the first place that a key can have
const HIGHEST = FANOUT - 3
const MIDDLE = FANOUT ÷ 2
const Code = Union{Int8,Int16,Int32,Int64,UInt8,UInt16,UInt32,UInt64}

# Codes: isless(a, b) is code(a) < code(b), and isequal(a, b) is ==. A Vector{K} holds a code as the K of the same bits:
# so the type of a tree is known from that of its keys. Float16 has no codes: where the processor converts it in
# registers, a code that looks like a signalling NaN would change.

code_type(::Type{K}) where {K} = K
code_type(::Type{Float64}) = Int64
code_type(::Type{Float32}) = Int32
code_type(::Type{Char}) = UInt32

is_coded(::Type) = false
const CODED = (Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float32, Float64, Char)
for K in CODED
    @eval is_coded(::Type{$K}) = true
end

@inline as_code(::Type{K}, x) where {K} = is_coded(K) ? reinterpret(code_type(K), x) : x
Base.@propagate_inbounds load(v::Vector{K}, i::Int) where {K} = as_code(K, v[i])
Base.@propagate_inbounds store!(v::Vector{K}, i::Int, x) where {K} =
    (v[i] = is_coded(K) ? reinterpret(K, x) : x; nothing)

@inline encode(::Type{K}, x) where {K} = x
@inline encode(::Type{Char}, x::Char) = reinterpret(UInt32, x)
# A float's bits order as integers do; those of negative ones the other way around. All NaN are one key, behind Inf.
@inline function encode(::Type{K}, x::K) where {K<:Union{Float32,Float64}}
    S = code_type(K)
    bits = reinterpret(S, isnan(x) ? K(NaN) : x)
    return bits ⊻ ((bits >> (8sizeof(S) - 1)) & typemax(S))
end

@inline decode(::Type{K}, c) where {K} = c
@inline decode(::Type{Char}, c::UInt32) = reinterpret(Char, c)
@inline decode(::Type{F}, c::Signed) where {F<:Union{Float32,Float64}} =
    reinterpret(F, c ⊻ ((c >> (8sizeof(c) - 1)) & typemax(c)))

@inline less(a::C, b::C) where {C<:Code} = a < b
@inline less(a, b) = isless(a, b)

# The keys of a leaf are at the places from:upto-1. Without keys, from is upto.
struct Window
    from::Int32
    upto::Int32
end

# The neighbours of a leaf; 0: none. Of a free leaf, next is the next free one.
struct Links
    prev::UInt32
    next::UInt32
end

mutable struct Tree{K}
    keys::Vector{K} # FANOUT a leaf
    slots::Vector{UInt32} # the index of the element in the pool, beside its key
    windows::Vector{Window}
    links::Vector{Links}
    leaf_count::Int # leaves that were taken so far, free ones included
    free_leaf::UInt32
    bounds::Vector{K} # FANOUT an inner node, one less is used: keys from the i-th on belong behind child i
    children::Vector{UInt32} # FANOUT an inner node
    child_counts::Vector{Int32}
    inner_count::Int
    free_inner::UInt32 # chained by the first of the children
    root::UInt32
    height::Int # 0: the root is a leaf
    first_leaf::UInt32
    last_leaf::UInt32
    count::Int
    changes::Int # so far, where keys are compared by functions of the user's
    finger::Int # at: any place from LOWEST to HIGHEST + 1 of any leaf
    older_finger::Int
    path::Vector{UInt32} # of the last way down for a change: inner nodes from the root, and which child was taken
    path_child::Vector{Int}

    function Tree{K}(n::Integer) where {K} # places for n keys at least, in leaves that are half full
        leaves = cld(n, LEAF_KEYS ÷ 2) + 1
        t = new{K}(
            Vector{K}(undef, leaves * FANOUT), Vector{UInt32}(undef, leaves * FANOUT), Vector{Window}(undef, leaves),
            Vector{Links}(undef, leaves), 0, 0, K[], UInt32[], Int32[], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, zeros(UInt32, 24),
            zeros(Int, 24),
        )
        start!(t)
        return t
    end
end

const CodeTree = Union{map(K -> Tree{K}, CODED)...}

@inline base(node::UInt32) = (node % Int - 1) * FANOUT
@inline leaf_at(at::Int) = ((at >>> 6) + 1) % UInt32 # FANOUT is 2^6
@inline place_at(at::Int) = at & (FANOUT - 1)
@inline width(w::Window) = (w.upto - w.from) % Int

# What stands at unused places: the fences; and of references, nothing.

fill_places!(t::Tree{K}, a::Int, b::Int, x) where {K} = # at a to b - 1
    for i in a+1:b
        is_coded(K) ? (@inbounds store!(t.keys, i, x)) : unset!(t.keys, i)
    end

function fill_bounds!(t::Tree{K}, node::UInt32, a::Int, b::Int) where {K}
    for i in base(node)+a+1:base(node)+b
        is_coded(K) ? (@inbounds store!(t.bounds, i, typemax(code_type(K)))) : unset!(t.bounds, i)
    end
end

# Those of all keys. The least integer belongs to the first leaf though it is not above the fence: see search_far.
low_fence(::Tree{K}) where {K} = is_coded(K) ? typemin(code_type(K)) : nothing
high_fence(::Tree{K}) where {K} = is_coded(K) ? typemax(code_type(K)) : nothing
# The greatest key that is too small for what begins with `bound`
before(::Tree{K}, bound) where {K} = is_coded(K) ? bound - one(bound) : nothing

# Of a leaf
low_fence(t::Tree{K}, leaf::UInt32) where {K} = is_coded(K) ? load(t.keys, base(leaf) + 1) : nothing
high_fence(t::Tree{K}, leaf::UInt32) where {K} = is_coded(K) ? load(t.keys, base(leaf) + FANOUT) : nothing

function set_fences!(t::Tree, leaf::UInt32, low, high)
    k, w = base(leaf), t.windows[leaf]
    fill_places!(t, k, k + w.from, low)
    fill_places!(t, k + w.upto, k + FANOUT, high)
    return nothing
end

# n elements of v from one 0-based index to another; they may overlap.
@inline function move!(v::Vector{E}, to::Int, from::Int, n::Int) where {E}
    n <= 0 && return nothing
    if isbitstype(E) || !is_inline(E)
        unsafe_copyto!(v, to + 1, v, from + 1, n)
    else # of these, Julia 1.5 copies overlapping ranges wrongly
        for i in (to < from ? (1:n) : (n:-1:1))
            @inbounds v[to+i] = v[from+i]
        end
    end
    return nothing
end

if isdefined(Base, :allocatedinline)
    is_inline(::Type{E}) where {E} = Base.allocatedinline(E)
else
    is_inline(::Type{E}) where {E} = true
end

# Taking and freeing nodes

function new_leaf!(t::Tree)
    leaf = t.free_leaf
    if leaf != 0
        t.free_leaf = t.links[leaf].next
        return leaf
    end
    if t.leaf_count == length(t.windows)
        more = 2 * t.leaf_count
        more < typemax(UInt32) || throw(OutOfMemoryError())
        resize!(t.keys, more * FANOUT)
        resize!(t.slots, more * FANOUT)
        resize!(t.links, more)
        resize!(t.windows, more) # the last, whose length is the room
    end
    t.leaf_count += 1
    return t.leaf_count % UInt32
end

# An empty leaf, whose window will begin at `from`.
function open_leaf!(t::Tree, leaf::UInt32, from::Int, low, high, prev, next)
    t.windows[leaf] = Window(from, from)
    t.links[leaf] = Links(prev, next)
    set_fences!(t, leaf, low, high)
    return nothing
end

function free_leaf!(t::Tree, leaf::UInt32)
    t.windows[leaf] = Window(0, 0)
    t.links[leaf] = Links(0, t.free_leaf)
    set_fences!(t, leaf, low_fence(t), low_fence(t)) # all places alike: no key belongs between two of them
    t.free_leaf = leaf
    return nothing
end

# Memory for the inner nodes that a split may take: one on each level, and a new root.
function reserve_inner!(t::Tree)
    need = t.inner_count + t.height + 1
    need <= length(t.child_counts) && return nothing
    more = max(2 * t.inner_count, need, 4)
    resize!(t.bounds, more * FANOUT)
    resize!(t.children, more * FANOUT)
    resize!(t.child_counts, more) # the last, as above
    return nothing
end

function new_inner!(t::Tree)
    node = t.free_inner
    if node != 0
        t.free_inner = t.children[base(node)+1]
    else
        t.inner_count += 1
        node = t.inner_count % UInt32
    end
    fill_bounds!(t, node, 0, FANOUT)
    t.child_counts[node] = 0
    return node
end

function free_inner!(t::Tree, node::UInt32)
    fill_bounds!(t, node, 0, FANOUT)
    t.children[base(node)+1] = t.free_inner
    t.free_inner = node
    return nothing
end

# One empty leaf. Earlier contents are dropped, their memory is kept.
function start!(t::Tree{K}) where {K}
    if has_references(K)
        foreach(i -> unset!(t.keys, i), 1:t.leaf_count*FANOUT)
        foreach(i -> unset!(t.bounds, i), 1:t.inner_count*FANOUT)
    end
    if t.leaf_count > 0 && t.height == 0
        empty_leaf!(t, t.root)
    else
        t.leaf_count, t.free_leaf, t.inner_count, t.free_inner, t.height = 0, 0, 0, 0, 0
        leaf = new_leaf!(t)
        open_leaf!(t, leaf, MIDDLE, low_fence(t), high_fence(t), 0, 0)
        t.root = t.first_leaf = t.last_leaf = leaf
        t.finger = t.older_finger = base(leaf) + MIDDLE
    end
    t.count = 0
    count_change!(t)
    return nothing
end

# The window of the only leaf is closed in the middle, where both its ends have room.
function empty_leaf!(t::Tree, leaf::UInt32)
    k, w = base(leaf), t.windows[leaf]
    fill_places!(t, k + w.from, k + MIDDLE, low_fence(t))
    fill_places!(t, k + MIDDLE, k + w.upto, high_fence(t))
    t.windows[leaf] = Window(MIDDLE, MIDDLE)
    return nothing
end

# Search

# How many of v[k+1:k+63], in order, are less than x, or x itself, if `equal`. Six steps without a branch, so that the
# searches of independent keys overlap; counting all 64 by vector instructions takes twice as long.
@inline function count_less(v::Vector, k::Int, x, equal::Bool)
    at = k
    at += ifelse(is_less(v, at + 32, x, equal), 32, 0)
    at += ifelse(is_less(v, at + 16, x, equal), 16, 0)
    at += ifelse(is_less(v, at + 8, x, equal), 8, 0)
    at += ifelse(is_less(v, at + 4, x, equal), 4, 0)
    at += ifelse(is_less(v, at + 2, x, equal), 2, 0)
    at += ifelse(is_less(v, at + 1, x, equal), 1, 0)
    return at - k
end

@inline is_less(v::Vector, i::Int, x, equal::Bool) = equal ? @inbounds(load(v, i)) <= x : @inbounds(load(v, i)) < x

# By bisection: the first place of low:high-1 whose key is not less than x (not above x, if `after`).
@inline function bisect(v::Vector, k::Int, low::Int, high::Int, x, after::Bool)
    while low < high
        middle = (low + high) >>> 1
        key = @inbounds v[k+middle+1]
        if after ? !less(x, key) : less(key, x)
            low = middle + 1
        else
            high = middle
        end
    end
    return low
end

# Of a leaf, the first place whose key is not less than x; of an inner node, the child to which x belongs.

@inline function place_of(t::CodeTree, leaf::UInt32, w::Window, x)
    n = count_less(t.keys, base(leaf), x, false)
    return max(n, w.from % Int) # the least integer is not above the low fence of the first leaf
end

@inline function child_of(t::CodeTree, node::UInt32, x)
    last_child = @inbounds(t.child_counts[node]) % Int - 1
    n = count_less(t.bounds, base(node), x, true)
    return min(n, last_child) # the greatest integer is as great as unused places
end

place_of(t::Tree, leaf::UInt32, w::Window, x) = bisect(t.keys, base(leaf), Int(w.from), Int(w.upto), x, false)
child_of(t::Tree, node::UInt32, x) = bisect(t.bounds, base(node), 0, t.child_counts[node] - 1, x, true)

@inline function down(t::CodeTree, x)
    node = t.root
    for _ in 1:t.height
        node = @inbounds t.children[base(node)+child_of(t, node, x)+1]
    end
    return node
end

# The order is isless, which may be the user's: it may throw, and it may change this very tree. Then the result so
# far means nothing, so after each comparison the number of changes is compared, before the next node is read.

@inline must_be_unchanged(t::Tree, changes::Int) = t.changes == changes || throw_changed()
@noinline throw_changed() = throw(ArgumentError("isless or isequal of the keys changed the collection that called it"))
@inline count_change!(t::Tree{K}) where {K} = is_coded(K) || (t.changes += 1; nothing)

@inline function down(t::Tree, x)
    changes, node = t.changes, t.root
    for _ in 1:t.height
        child = child_of(t, node, x)
        must_be_unchanged(t, changes)
        node = @inbounds t.children[base(node)+child+1]
    end
    return node
end

# The same, and the way is kept for a change of the inner nodes. It must end at the leaf where a search ended: an order
# that is none may lead elsewhere. Nothing is changed before.
function down_for_change!(t::Tree, x, leaf::UInt32)
    changes, node = t.changes, t.root
    for depth in 1:t.height
        child = child_of(t, node, x)
        must_be_unchanged(t, changes)
        t.path[depth], t.path_child[depth] = node, child
        node = t.children[base(node)+child+1]
    end
    node == leaf || throw_no_order()
    return nothing
end

@noinline throw_no_order() = throw(ArgumentError("isless of the keys is not an order, or a key was changed"))

# (at, whether x is there): of the first key that is not less than x in its leaf, or the end of the window. Lookups on
# several threads may set the fingers at the same time: each is one word, and any value proves itself or is not used.
@inline function search(t::CodeTree, x)
    at = t.finger
    if is_near(t, at, x)
        at = t.finger = step_to(t, at, x)
    else
        at = t.older_finger
        if is_near(t, at, x)
            at = t.older_finger = step_to(t, at, x)
        else
            at = search_far(t, x)
        end
    end
    # A high fence may be x too.
    return at, @inbounds(load(t.keys, at + 1)) == x && place_at(at) < @inbounds(t.windows[leaf_at(at)]).upto
end

# Whether x belongs at the place of a finger, or at one beside it; and at which.
@inline is_near(t::Tree, at::Int, x) = @inbounds((load(t.keys, at - 1) < x) & (x <= load(t.keys, at + 2)))
@inline step_to(t::Tree, at::Int, x) = @inbounds(at - 1 + (load(t.keys, at) < x) + (load(t.keys, at + 1) < x))

@noinline function search_far(t::CodeTree, x)
    # The only leaf is found without a finger, which the search before has just set: so these searches overlap too.
    leaf = t.height == 0 ? t.root : leaf_at(t.finger)
    if t.height > 0 && !belongs(t, leaf, x)
        leaf = leaf_at(t.older_finger)
        if !belongs(t, leaf, x)
            leaf = down(t, x)
        end
    end
    at = base(leaf) + place_of(t, leaf, @inbounds(t.windows[leaf]), x)
    t.older_finger = t.finger
    t.finger = at
    return at
end

@inline belongs(t::Tree, leaf::UInt32, x) =
    @inbounds((load(t.keys, base(leaf) + 1) < x) & (x <= load(t.keys, base(leaf) + FANOUT)))

@inline function search(t::Tree, x)
    changes = t.changes
    leaf = down(t, x)
    w = @inbounds t.windows[leaf]
    place = place_of(t, leaf, w, x)
    must_be_unchanged(t, changes)
    there = place < w.upto && isequal(@inbounds(t.keys[base(leaf)+place+1]), x)
    must_be_unchanged(t, changes)
    return base(leaf) + place, there
end

# Of the first key that is not less than x; -1: there is none.
function first_from(t::Tree, x)
    at, _ = search(t, x)
    leaf = leaf_at(at)
    place_at(at) < t.windows[leaf].upto && return at
    next = t.links[leaf].next
    return next == 0 ? -1 : base(next) + t.windows[next].from
end

# In order, by `at`; -1 at the end. Places are looked at anew, so that a change in between gives other keys and not
# memory that is no key.

first_at(t::Tree) = t.count == 0 ? -1 : base(t.first_leaf) + t.windows[t.first_leaf].from
last_at(t::Tree) = t.count == 0 ? -1 : base(t.last_leaf) + t.windows[t.last_leaf].upto - 1

@inline function is_key(t::Tree, at::Int)
    0 <= at < t.leaf_count * FANOUT || return false
    w = @inbounds t.windows[leaf_at(at)]
    return w.from <= place_at(at) < w.upto
end

@inline function at_after(t::Tree, at::Int)
    leaf = leaf_at(at)
    place_at(at) + 1 < @inbounds(t.windows[leaf]).upto && return at + 1
    next = @inbounds(t.links[leaf]).next
    return next == 0 ? -1 : base(next) + @inbounds(t.windows[next]).from
end

@inline function at_before(t::Tree, at::Int)
    leaf = leaf_at(at)
    place_at(at) > @inbounds(t.windows[leaf]).from && return at - 1
    prev = @inbounds(t.links[leaf]).prev
    return prev == 0 ? -1 : base(prev) + @inbounds(t.windows[prev]).upto - 1
end

@inline key_at(t::Tree, at::Int) = @inbounds load(t.keys, at + 1) # its code
@inline slot_at(t::Tree, at::Int) = @inbounds t.slots[at+1]

# Anew from its keys: nodes that deleting left free lie anywhere among the others.
function rebuilt(t::Tree{K}) where {K}
    new = Tree{K}(0)
    at = first_at(t)
    while at >= 0
        x = key_at(t, at)
        to = base(new.last_leaf) + new.windows[new.last_leaf].upto
        if !has_room(new, to)
            down_for_change!(new, x, leaf_at(to))
            to = split_leaf!(new, to, x)
        end
        put_key!(new, to, x, slot_at(t, at))
        at = at_after(t, at)
    end
    return new
end

function trim_tree!(t::Tree)
    if t.free_leaf != 0 || t.free_inner != 0
        changes = t.changes
        new = rebuilt(t)
        must_be_unchanged(t, changes)
        new.changes = changes
        foreach(f -> setfield!(t, f, getfield(new, f)), fieldnames(Tree))
    end
    n, m = t.leaf_count, t.inner_count
    t.keys, t.slots = shrunk(t.keys, n * FANOUT), shrunk(t.slots, n * FANOUT)
    t.windows, t.links = shrunk(t.windows, n), shrunk(t.links, n)
    t.bounds, t.children = shrunk(t.bounds, m * FANOUT), shrunk(t.children, m * FANOUT)
    t.child_counts = shrunk(t.child_counts, m)
    count_change!(t)
    return nothing
end

tree_bytes(t::Tree) = sum(sizeof, (t.keys, t.slots, t.windows, t.links, t.bounds, t.children, t.child_counts))
