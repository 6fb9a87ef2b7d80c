# A balanced tree (AVL) for ordered sets and dictionaries, as in a program for Allocators.jl: a node is a tuple, and
# its fields are read and written one by one where the pool has a column for each. Deletion moves no node: a node with
# two children gives its place to the one that follows it.
# SPDX-License-Identifier: MIT OR Apache-2.0

const Height = Int8
const TreeNode{K,I,V} = Tuple{K,V,I,I,I,Height} # key, value, left, right, parent, height
const TreePool{K,I,V} = AbstractFreeListAllocator{TreeNode{K,I,V},I}
const ColumnTreePool{K,I,V} = AbstractFreeListSOAllocator{TreeNode{K,I,V},I}

field(node, pool::TreePool, j) = pool[node][j]
field(node, pool::ColumnTreePool, j) = pool[node, j]

function set_field!(node, x, pool::TreePool, j)
    pool[node] = Base.setindex(pool[node], x, j)
    return x
end
function set_field!(node, x, pool::ColumnTreePool, j)
    pool[node, j] = x
    return x
end

const KEY, VALUE, LEFT, RIGHT, PARENT, HEIGHT = 1:6

tree_height(node, pool) = node == 0 ? Height(0) : field(node, pool, HEIGHT)

function find_node(root, key, pool)
    node = root
    while node != 0
        here = field(node, pool, KEY)
        isless(key, here) ? (node = field(node, pool, LEFT)) :
        isless(here, key) ? (node = field(node, pool, RIGHT)) : return node
    end
    return node
end

tree_has(root, key, pool) = find_node(root, key, pool) != 0
tree_get(root, key, pool) = field(find_node(root, key, pool), pool, VALUE)

# `new` takes the place of `old` below `parent`; the root is returned.
function replace_child!(root, parent, old, new, pool)
    new == 0 || set_field!(new, parent, pool, PARENT)
    parent == 0 && return new
    set_field!(parent, new, pool, field(parent, pool, LEFT) == old ? LEFT : RIGHT)
    return root
end

function update_height!(node, pool)
    left, right = tree_height(field(node, pool, LEFT), pool), tree_height(field(node, pool, RIGHT), pool)
    return set_field!(node, max(left, right) + Height(1), pool, HEIGHT)
end

lean(node, pool) = tree_height(field(node, pool, LEFT), pool) - tree_height(field(node, pool, RIGHT), pool)

# The child on this side goes up, the node down; the root is returned.
function rotate!(root, node, side, pool)
    other = side == LEFT ? RIGHT : LEFT
    up, parent = field(node, pool, side), field(node, pool, PARENT)
    inner = field(up, pool, other)
    set_field!(node, inner, pool, side)
    inner == 0 || set_field!(inner, node, pool, PARENT)
    root = replace_child!(root, parent, node, up, pool)
    set_field!(up, node, pool, other)
    set_field!(node, up, pool, PARENT)
    update_height!(node, pool)
    update_height!(up, pool)
    return root
end

# From a node whose subtree changed up to the root
function rebalance!(root, node, pool)
    while node != 0
        leaning = lean(node, pool)
        if abs(leaning) > 1
            side = leaning > 0 ? LEFT : RIGHT
            child = field(node, pool, side)
            if leaning * lean(child, pool) < 0
                root = rotate!(root, child, side == LEFT ? RIGHT : LEFT, pool)
            end
            root = rotate!(root, node, side, pool)
        else
            update_height!(node, pool)
        end
        node = field(node, pool, PARENT)
    end
    return root
end

function tree_insert!(root::I, key, value, pool::TreePool{K,I,V}) where {K,I,V}
    parent, node, side = zero(I), root, LEFT
    while node != 0
        here = field(node, pool, KEY)
        if isless(key, here)
            parent, node, side = node, field(node, pool, LEFT), LEFT
        elseif isless(here, key)
            parent, node, side = node, field(node, pool, RIGHT), RIGHT
        else
            set_field!(node, value, pool, VALUE)
            return root
        end
    end
    node = allocateend!(pool, (key, value, zero(I), zero(I), parent, Height(1)))
    parent == 0 && return node
    set_field!(parent, node, pool, side)
    return rebalance!(root, parent, pool)
end

function tree_delete!(root::I, key, pool::TreePool{K,I,V}) where {K,I,V}
    node = find_node(root, key, pool)
    node == 0 && return root
    left, right, parent = field(node, pool, LEFT), field(node, pool, RIGHT), field(node, pool, PARENT)
    if left == 0 || right == 0
        root = replace_child!(root, parent, node, left == 0 ? right : left, pool)
        changed = parent
    else
        next = right
        while field(next, pool, LEFT) != 0
            next = field(next, pool, LEFT)
        end
        changed = field(next, pool, PARENT)
        if changed == node
            changed = next
        else
            root = replace_child!(root, changed, next, field(next, pool, RIGHT), pool)
            set_field!(next, right, pool, RIGHT)
            set_field!(right, next, pool, PARENT)
        end
        set_field!(next, left, pool, LEFT)
        set_field!(left, next, pool, PARENT)
        root = replace_child!(root, parent, node, next, pool)
    end
    deallocate!(pool, node)
    return rebalance!(root, changed, pool)
end

function tree_pairs(root, pool::TreePool{K,I,V}, found=Pair{K,V}[]) where {K,I,V}
    root == 0 && return found
    tree_pairs(field(root, pool, LEFT), pool, found)
    push!(found, field(root, pool, KEY) => field(root, pool, VALUE))
    return tree_pairs(field(root, pool, RIGHT), pool, found)
end

# Order, balance, heights and parents
function tree_is_right(root, pool, parent=zero(root))
    root == 0 && return true
    left, right = field(root, pool, LEFT), field(root, pool, RIGHT)
    return field(root, pool, PARENT) == parent && abs(lean(root, pool)) <= 1 &&
           field(root, pool, HEIGHT) == 1 + max(tree_height(left, pool), tree_height(right, pool)) &&
           (left == 0 || isless(field(left, pool, KEY), field(root, pool, KEY))) &&
           (right == 0 || isless(field(root, pool, KEY), field(right, pool, KEY))) &&
           tree_is_right(left, pool, root) && tree_is_right(right, pool, root)
end
