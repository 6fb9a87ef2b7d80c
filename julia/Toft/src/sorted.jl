# What SortedSet and SortedDict share: elements in a pool, the order of their keys in a tree.
# SPDX-License-Identifier: MIT OR Apache-2.0

const Sorted{K} = Union{GenericSortedSet{K},GenericSortedDict{K}}

Base.length(c::Sorted) = c.tree.count
Base.isempty(c::Sorted) = c.tree.count == 0

# x as a key of type K; nothing is equal to what cannot be converted.
function as_key(::Type{K}, x) where {K}
    key = try
        convert(K, x)::K
    catch
        return nothing
    end
    return isequal(key, x) ? Some{K}(key) : nothing
end

# Adding and deleting

# An element whose key is not there; at is where search found that its code belongs.
@inline function add!(c::Sorted, at::Int, code, element)
    if has_room(c.tree, at)
        slot = allocateend!(c.pool, element)
    else
        slot, at = make_room!(c, at, code, element)
    end
    put_key!(c.tree, at, code, slot)
    return nothing
end

# Keys are compared before the slot is taken: that may throw, or change c. Where there is no memory for another leaf,
# the slot goes back.
@noinline function make_room!(c::Sorted, at::Int, code, element)
    down_for_change!(c.tree, code, leaf_at(at))
    slot = allocateend!(c.pool, element)
    try
        return slot, split_leaf!(c.tree, at, code)
    catch
        drop_cell!(c.pool, Int(slot))
        rethrow()
    end
end

# The pool's slot of an element that is no more; the collection has checked that it is live.
@inline give_back!(p::DequePool, i::Integer) = (refers(p.store) && forget!(p.store, i % Int); nothing)

@inline function Base.delete!(c::Sorted{K}, k::K) where {K}
    code = encode(K, k)
    at, there = search(c.tree, code)
    there && give_back!(c.pool, take_key!(c.tree, at, code))
    return c
end
function Base.delete!(c::Sorted{K}, k) where {K}
    key = as_key(K, k)
    return key === nothing ? c : delete!(c, something(key))
end

Base.pop!(c::Sorted) = isempty(c) ? throw_nothing_to_pop(c) : pop_element!(c, last(c))
Base.popfirst!(c::Sorted) = isempty(c) ? throw_nothing_to_pop(c) : pop_element!(c, first(c))
@inline function pop_element!(c, found)
    delete!(c, key_of(c, found))
    return found
end

function Base.empty!(c::Sorted)
    emptyend!(c.pool)
    start!(c.tree)
    return c
end

"""
    trim!(set) -> set
    trim!(dict) -> dict
    trim!(list) -> list

Return what memory lies behind the last element of a collection that grows; see [`trim!`](@ref) of its pool.
"""
function trim!(c::Sorted)
    if !is_fixed(c.pool)
        trim!(c.pool)
        trim_tree!(c.tree)
    end
    return c
end

# Order

function Base.iterate(c::Sorted, at::Int=first_at(c.tree))
    is_key(c.tree, at) || return nothing
    return element(c, at), at_after(c.tree, at)
end

function Base.iterate(r::Iterators.Reverse{<:Sorted}, at::Int=last_at(r.itr.tree))
    is_key(r.itr.tree, at) || return nothing
    return element(r.itr, at), at_before(r.itr.tree, at)
end

Base.first(c::Sorted) = isempty(c) ? throw_empty() : element(c, first_at(c.tree))
Base.last(c::Sorted) = isempty(c) ? throw_empty() : element(c, last_at(c.tree))

# What Base's functions return: a missing or a NaN if there is one, and both are behind all others.
function Base.minimum(c::Sorted; options...)
    isempty(c) || !isempty(options) ? invoke(minimum, Tuple{Any}, c; options...) :
    is_unordered(last(c)) ? last(c) : first(c)
end
Base.maximum(c::Sorted; options...) =
    isempty(c) || !isempty(options) ? invoke(maximum, Tuple{Any}, c; options...) : last(c)
Base.extrema(c::Sorted) = (minimum(c), maximum(c))
is_unordered(x) = ismissing(x) || x isa AbstractFloat && isnan(x)

# The number of keys before a place; -1: of all.
function count_before(t::Tree, at::Int)
    at < 0 && return t.count
    count, leaf = place_at(at) - t.windows[leaf_at(at)].from % Int, t.links[leaf_at(at)].prev
    while leaf != 0
        count += width(t.windows[leaf])
        leaf = t.links[leaf].prev
    end
    return count
end

"""
    searchsortedfirst(set, x) -> Int
    searchsortedlast(set, x) -> Int
    searchsorted(set, x) -> UnitRange{Int}

The places of `x`, as in a sorted vector of the elements; of a [`SortedDict`](@ref), among the keys. They take time in
proportion to a fortieth of the length, as [`Toft.nth`](@ref).
"""
Base.searchsortedfirst(c::Sorted{K}, x) where {K} =
    count_before(c.tree, first_from(c.tree, encode(K, convert(K, x)::K))) + 1
function Base.searchsortedlast(c::Sorted{K}, x) where {K}
    key = convert(K, x)::K
    return searchsortedfirst(c, key) - !search(c.tree, encode(K, key))[2]
end
Base.searchsorted(c::Sorted, x) = searchsortedfirst(c, x):searchsortedlast(c, x)

"""
    Toft.nth(set, n) -> element
    Toft.nth(dict, n) -> pair

The `n`-th element in the order, from 1; `BoundsError` if there is none. It passes over whole leaves of the tree, from
the nearer end: time in proportion to a fortieth of the length.
"""
function nth(c::Sorted, n::Integer)
    1 <= n <= length(c) || throw(BoundsError(c, n))
    t, left = c.tree, n % Int - 1
    if left < t.count >> 1
        leaf = t.first_leaf
        while left >= width(t.windows[leaf])
            left -= width(t.windows[leaf])
            leaf = t.links[leaf].next
        end
        return element(c, base(leaf) + t.windows[leaf].from + left)
    end
    leaf, left = t.last_leaf, t.count - 1 - left
    while left >= width(t.windows[leaf])
        left -= width(t.windows[leaf])
        leaf = t.links[leaf].prev
    end
    return element(c, base(leaf) + t.windows[leaf].upto - 1 - left)
end
@static if isdefined(Iterators, :nth)
    Iterators.nth(c::Sorted, n::Integer) = nth(c, n)
end

struct Between{C,K}
    collection::C
    low::K
    high::K
end

"""
    between(set, low, high)
    between(dict, low, high)

The elements of a [`SortedSet`](@ref) from `low` to `high`, both included, in order; of a [`SortedDict`](@ref), the
pairs whose keys are in that range. Nothing is copied: an iterator, which finds its beginning when it is run.
"""
between(c::Sorted{K}, low, high) where {K} = Between{typeof(c),K}(c, low, high)

Base.show(io::IO, b::Between) = print(io, "between(", b.collection, ", ", repr(b.low), ", ", repr(b.high), ")")

Base.IteratorSize(::Type{<:Between}) = Base.SizeUnknown()
Base.eltype(::Type{<:Between{C}}) where {C} = eltype(C)

function Base.iterate(b::Between{C,K}, at::Int=first_from(b.collection.tree, encode(K, b.low))) where {C,K}
    t = b.collection.tree
    is_key(t, at) || return nothing
    less(encode(K, b.high), key_at(t, at)) && return nothing
    is_coded(K) || is_key(t, at) || return nothing # isless took it out
    return element(b.collection, at), at_after(t, at)
end
