# Insertion into a tree and removal from it: leaves are split and merged, inner nodes follow.
# SPDX-License-Identifier: MIT OR Apache-2.0

# Insertion

@inline has_room(t::Tree, at::Int) = width(@inbounds(t.windows[leaf_at(at)])) < LEAF_KEYS

# x, which is not there, with the pool's index of its element; at is search's, or split_leaf!'s where its leaf was full.
@inline function put_key!(t::Tree, at::Int, x, slot::UInt32)
    leaf, place = leaf_at(at), place_at(at)
    w = @inbounds t.windows[leaf]
    k, from, upto = base(leaf), w.from % Int, w.upto % Int
    if upto - place < place - from + (upto <= HIGHEST) # the upper side is the shorter one
        if upto > HIGHEST
            by = slide!(t, leaf, from, upto, -((from - LOWEST + 1) >> 1))
            from, upto, at = from + by, upto + by, at + by
        end
        move_upper!(t.keys, at, k + upto, 1)
        move_upper!(t.slots, at, k + upto, 1)
        upto += 1
    else
        if from == LOWEST
            by = slide!(t, leaf, from, upto, (HIGHEST - upto + 2) >> 1)
            from, upto, at = from + by, upto + by, at + by
        end
        move_lower!(t.keys, k + from, at, -1)
        move_lower!(t.slots, k + from, at, -1)
        from -= 1
        at -= 1
    end
    @inbounds store!(t.keys, at + 1, x)
    @inbounds t.slots[at+1] = slot
    @inbounds t.windows[leaf] = Window(from % Int32, upto % Int32)
    t.count += 1
    count_change!(t)
    return nothing
end

# The keys at a to b - 1, the upper or the lower part of a window, move by one. Few are moved as a block of 8, if their
# leaf has that many: entries beyond the window move with them; they are unused and equal everywhere.

@inline function move_upper!(v::Vector{E}, a::Int, b::Int, by::Int) where {E}
    a == b && return nothing
    if is_coded(E) && b - a <= 8 && place_at(a) <= FANOUT - 9
        move_block!(v, a + by, a)
    else
        move!(v, a + by, a, b - a)
    end
    return nothing
end

@inline function move_lower!(v::Vector{E}, a::Int, b::Int, by::Int) where {E}
    a == b && return nothing
    if is_coded(E) && b - a <= 8 && place_at(b) >= 9
        move_block!(v, b - 8 + by, b - 8)
    else
        move!(v, a + by, a, b - a)
    end
    return nothing
end

@inline function move_block!(v::Vector{E}, to::Int, from::Int) where {E}
    Block = NTuple{8,E}
    GC.@preserve v begin
        p = pointer(v)
        unsafe_store!(Ptr{Block}(p + to * sizeof(E)), unsafe_load(Ptr{Block}(p + from * sizeof(E))))
    end
    return nothing
end

# Moves the keys of a window, so that the side that grows has room for some time. The caller sets the window.
@noinline function slide!(t::Tree, leaf::UInt32, from::Int, upto::Int, by::Int)
    k = base(leaf)
    low, high = low_fence(t, leaf), high_fence(t, leaf)
    move!(t.keys, k + from + by, k + from, upto - from)
    move!(t.slots, k + from + by, k + from, upto - from)
    by < 0 ? fill_places!(t, k + upto + by, k + upto, high) : fill_places!(t, k + from, k + from + by, low)
    return by
end

# A full leaf in two. Keys that come in order leave full leaves behind them. Returns where x goes now. t.path is that
# of down_for_change!. Without memory for it, it throws before anything has changed.
@noinline function split_leaf!(t::Tree, at::Int, x)
    leaf, place = leaf_at(at), place_at(at)
    reserve_inner!(t)
    new = new_leaf!(t)
    k, links = base(leaf), t.links[leaf]
    low, high = low_fence(t, leaf), high_fence(t, leaf)
    if place > HIGHEST && links.next == 0
        open_leaf!(t, new, LOWEST, before(t, x), high, leaf, 0)
        set_fences!(t, leaf, low, before(t, x))
        link!(t, leaf, new)
        insert_child!(t, x, new, true, true)
        return base(new) + LOWEST
    elseif place == LOWEST && links.prev == 0
        least = load(t.keys, at + 1)
        open_leaf!(t, new, HIGHEST + 1, low, before(t, least), 0, leaf)
        set_fences!(t, leaf, before(t, least), high)
        link!(t, new, leaf)
        insert_child!(t, least, new, false, true)
        return base(new) + HIGHEST + 1
    end
    half, count, from = MIDDLE, HIGHEST + 1 - MIDDLE, FANOUT ÷ 4 # from place `half` on, they go
    least = load(t.keys, k + half + 1)
    t.windows[new] = Window(from, from + count)
    t.links[new] = Links(leaf, links.next)
    unsafe_copyto!(t.keys, base(new) + from + 1, t.keys, k + half + 1, count)
    unsafe_copyto!(t.slots, base(new) + from + 1, t.slots, k + half + 1, count)
    t.windows[leaf] = Window(LOWEST, half)
    set_fences!(t, new, before(t, least), high)
    set_fences!(t, leaf, low, before(t, least))
    links.next == 0 || link!(t, new, links.next)
    link!(t, leaf, new)
    insert_child!(t, least, new, true, false)
    return place <= half ? at : base(new) + place - half + from
end

function link!(t::Tree, a::UInt32, b::UInt32) # b follows a; 0: nothing does
    a == 0 ? (t.first_leaf = b) : (t.links[a] = Links(t.links[a].prev, b))
    b == 0 ? (t.last_leaf = a) : (t.links[b] = Links(a, t.links[b].next))
    a != 0 && t.links[a].prev == 0 && (t.first_leaf = a)
    b != 0 && t.links[b].next == 0 && (t.last_leaf = b)
    return nothing
end

# Beside the child at the end of t.path: after it (`right`) or before it. `bound` parts the two. `edge`: it is the first
# or the last node of all, and those before it may stay full.
function insert_child!(t::Tree, bound, child::UInt32, right::Bool, edge::Bool)
    for depth in t.height:-1:1
        node, c = t.path[depth], t.path_child[depth]
        count = Int(t.child_counts[node])
        if count < FANOUT
            put_child!(t, node, count, c, bound, child, right)
            return nothing
        end
        new = new_inner!(t)
        if edge && c == (right ? count - 1 : 0)
            t.children[base(new)+1] = child
            t.child_counts[new] = 1
        else
            half = FANOUT ÷ 2
            up = load(t.bounds, base(node) + half)
            unsafe_copyto!(t.children, base(new) + 1, t.children, base(node) + half + 1, half)
            unsafe_copyto!(t.bounds, base(new) + 1, t.bounds, base(node) + half + 1, half - 1)
            fill_bounds!(t, node, half - 1, FANOUT)
            t.child_counts[node] = t.child_counts[new] = half
            if c < half
                put_child!(t, node, half, c, bound, child, right)
            else
                put_child!(t, new, half, c - half, bound, child, right)
            end
            bound, right, edge = up, true, false
        end
        child = new
    end
    root = new_inner!(t)
    k = base(root)
    t.children[k+1], t.children[k+2] = right ? (t.root, child) : (child, t.root)
    store!(t.bounds, k + 1, bound)
    t.child_counts[root] = 2
    t.root = root
    t.height += 1
    return nothing
end

function put_child!(t::Tree, node::UInt32, count::Int, c::Int, bound, child::UInt32, right::Bool)
    k, at = base(node), c + right
    move!(t.children, k + at + 1, k + at, count - at)
    move!(t.bounds, k + c + 1, k + c, count - 1 - c)
    t.children[k+at+1] = child
    store!(t.bounds, k + c + 1, bound)
    t.child_counts[node] = count + 1
    return nothing
end

# Removal

# The key x, which is there; the pool's index of its element.
@inline function take_key!(t::Tree{K}, at::Int, x) where {K}
    leaf = leaf_at(at)
    w = @inbounds t.windows[leaf]
    k, place, from, upto = base(leaf), place_at(at), w.from % Int, w.upto % Int
    slot = @inbounds t.slots[at+1]
    if !is_coded(K) && is_thin(upto - from - 1) && t.height > 0
        down_for_change!(t, x, leaf) # which may throw: before anything is changed
    end
    if upto - place <= place - from
        move_upper!(t.keys, at + 1, k + upto, -1)
        move_upper!(t.slots, at + 1, k + upto, -1)
        upto -= 1
        fill_places!(t, k + upto, k + upto + 1, high_fence(t, leaf))
    else
        move_lower!(t.keys, k + from, at, 1)
        move_lower!(t.slots, k + from, at, 1)
        fill_places!(t, k + from, k + from + 1, low_fence(t, leaf))
        from += 1
    end
    @inbounds t.windows[leaf] = Window(from % Int32, upto % Int32)
    t.count -= 1
    count_change!(t)
    left = upto - from
    if is_thin(left)
        t.height == 0 ? (left == 0 && empty_leaf!(t, leaf)) : thin_out!(t, leaf, left, x)
    end
    return slot
end

# A merge is tried at a quarter and at an eighth only: most of the tries would find a full neighbour.
@inline is_thin(left::Int) = (left == 0) | (left == FANOUT ÷ 4) | (left == FANOUT ÷ 8)

# Of keys that are not codes, t.path is known.
@noinline function thin_out!(t::Tree{K}, leaf::UInt32, left::Int, x) where {K}
    is_coded(K) && down_for_change!(t, x, leaf)
    left == 0 ? remove_leaf!(t, leaf) : merge_leaf!(t, leaf)
    return nothing
end

# An empty leaf that is not the last one, at the end of t.path. A neighbour gets its range.
function remove_leaf!(t::Tree, leaf::UInt32)
    links = t.links[leaf]
    depth = t.height
    while t.child_counts[t.path[depth]] == 1
        free_inner!(t, t.path[depth])
        depth -= 1
    end
    c = t.path_child[depth]
    take_child!(t, t.path[depth], c)
    if c > 0
        set_fences!(t, links.prev, low_fence(t, links.prev), high_fence(t, leaf))
    else
        set_fences!(t, links.next, low_fence(t, leaf), high_fence(t, links.next))
    end
    link!(t, links.prev, links.next)
    free_leaf!(t, leaf)
    lower_root!(t)
    return nothing
end

# Child c out, and the bound before it (behind it, of the first).
function take_child!(t::Tree, node::UInt32, c::Int)
    k, count = base(node), Int(t.child_counts[node])
    bound = max(c - 1, 0)
    move!(t.children, k + c, k + c + 1, count - 1 - c)
    move!(t.bounds, k + bound, k + bound + 1, count - 2 - bound)
    fill_bounds!(t, node, count - 2, count - 1)
    t.child_counts[node] = count - 1
    return nothing
end

function lower_root!(t::Tree)
    while t.height > 0 && t.child_counts[t.root] == 1
        old = t.root
        t.root = t.children[base(old)+1]
        t.height -= 1
        free_inner!(t, old)
    end
    return nothing
end

# With the next or the previous leaf of the same parent, if the two leave a quarter free.
function merge_leaf!(t::Tree, leaf::UInt32)
    node, c = t.path[t.height], t.path_child[t.height]
    k = base(node)
    for left in (c, c - 1)
        0 <= left < t.child_counts[node] - 1 || continue
        a, b = t.children[k+left+1], t.children[k+left+2]
        width(t.windows[a]) + width(t.windows[b]) <= 3LEAF_KEYS ÷ 4 || continue
        absorb!(t, a, b)
        take_child!(t, node, left + 1)
        lower_root!(t)
        return nothing
    end
    return nothing
end

function absorb!(t::Tree, a::UInt32, b::UInt32) # b follows a
    wa, wb = t.windows[a], t.windows[b]
    from = (FANOUT - width(wa) - width(wb)) >> 1
    upto = from + width(wa)
    low, high = low_fence(t, a), high_fence(t, b)
    from == wa.from || slide!(t, a, Int(wa.from), Int(wa.upto), from - wa.from)
    unsafe_copyto!(t.keys, base(a) + upto + 1, t.keys, base(b) + wb.from + 1, width(wb))
    unsafe_copyto!(t.slots, base(a) + upto + 1, t.slots, base(b) + wb.from + 1, width(wb))
    t.windows[a] = Window(from, upto + width(wb))
    set_fences!(t, a, low, high)
    link!(t, a, t.links[b].next)
    free_leaf!(t, b)
    return nothing
end
