# The table of ArenaSet and ArenaDict, in the memory of an arena: open addressing with linear probing.
#
#     entries   2^k places for a key and its value; keys without a cheap hash (below) have theirs beside them
#     tags      a byte for each place: 0 for an empty one, else seven bits of the key's hash and the highest bit
#
# The hash of a key gives its home, a place. The key lies there, or at the first place behind it that was empty when the
# key was added; so a search ends at the first empty place. A deletion leaves no mark: it moves later keys down into the
# gap, as far as their homes. So a table of constant length needs no more memory however often its keys change.
#
# A table has no memory until its first key is added. When it grows, it allocates new memory in the arena, four times as
# many places, or twice as many from 4096 places on; the old memory stays allocated until the arena is rewound or reset.
#
# Keys are compared as in Base. Those that have codes (see tree.jl), and Bool, have a cheap hash that is computed again
# where it is needed; others have Base's. The hash and the comparison of these may be functions of the user's, which may
# throw, and may change this very table or its arena. They are called before anything is changed, and after each
# comparison the search compares the number of changes.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

mutable struct HashTable{K,V}
    entries::Ptr{UInt8}
    tags::Ptr{UInt8}
    mask::Int     # the number of places, less 1
    count::Int
    limit::Int    # how many keys there may be before it grows
    from::Int     # all places before this one are empty
    lifetime::Lifetime{Arena}
    generation::UInt
    changes::Int  # so far, where comparisons may be the user's

    function HashTable{K,V}(a::Arena) where {K,V}
        isbitstype(K) || not_bits(K)
        isbitstype(V) || not_bits(V)
        opened(a)
        l = lifetime(a)
        return new{K,V}(C_NULL, C_NULL, -1, 0, 0, 0, l, l.generation, 0)
    end
end

const LEAST_PLACES = 16 # a power of two, and a multiple of the tags in a word
const EMPTY_TAG = 0x00

@inline Base.isvalid(t::HashTable) = t.lifetime.generation == t.generation
@inline must_be_valid(t::HashTable) = isvalid(t) ? nothing : throw_freed_table()
@noinline throw_freed_table() =
    throw(ArgumentError("the memory of this collection was freed: its arena was rewound, reset or released"))

# Entries

has_cheap_hash(::Type{K}) where {K} = is_coded(K) || K === Bool
entry_type(::Type{K}, ::Type{V}) where {K,V} = has_cheap_hash(K) ? Tuple{K,V} : Tuple{K,V,UInt64}

@inline entry(t::HashTable{K,V}, i::Int) where {K,V} = t.entries + i * sizeof(entry_type(K, V))
@inline key_at(t::HashTable{K}, i::Int) where {K} = unsafe_load(Ptr{K}(entry(t, i)))
@inline value_pointer(t::HashTable{K,V}, i::Int) where {K,V} = Ptr{V}(entry(t, i) + fieldoffset(entry_type(K, V), 2))
@inline hash_pointer(t::HashTable{K,V}, i::Int) where {K,V} =
    Ptr{UInt64}(entry(t, i) + fieldoffset(entry_type(K, V), 3))
@inline tag_at(t::HashTable, i::Int) = unsafe_load(t.tags, i + 1)
@inline set_tag!(t::HashTable, i::Int, tag::UInt8) = unsafe_store!(t.tags, tag, i + 1)

# Hashes: the low bits name the home, the highest are in the tag.

@inline hash_of(::Type{K}, k::K) where {K} = has_cheap_hash(K) ? mix(encode(K, k) % UInt64) : hash(k) % UInt64

# Both halves of a product of 128 bits: each bit of x changes the low and the high bits.
@inline function mix(x::UInt64)
    product = widemul(x ⊻ 0x2d358dccaa6c78a5, 0x9e3779b97f4a7c15)
    return (product % UInt64) ⊻ ((product >> 64) % UInt64)
end

@inline home_of(t::HashTable, h::UInt64) = (h % Int) & t.mask
@inline tag_of(h::UInt64) = (h >>> 57) % UInt8 | 0x80
@inline stored_hash(t::HashTable{K}, i::Int) where {K} =
    has_cheap_hash(K) ? hash_of(K, key_at(t, i)) : unsafe_load(hash_pointer(t, i))

# Search

# (place, whether k is there): the place of k, or the one where it is to be added. Without memory: (-1, false).
@inline function search(t::HashTable{K}, k::K, h::UInt64) where {K}
    must_be_valid(t)
    t.limit == 0 && return -1, false
    changes, tag, mask = t.changes, tag_of(h), t.mask
    i = home_of(t, h)
    while true
        found = tag_at(t, i)
        if found == tag
            there = isequal(key_at(t, i), k)
            has_cheap_hash(K) || (must_be_valid(t); t.changes == changes || throw_changed())
            there && return i, true
        elseif found == EMPTY_TAG
            return i, false
        end
        i = (i + 1) & mask
    end
end

@inline function empty_place(t::HashTable, h::UInt64)
    i = home_of(t, h)
    while tag_at(t, i) != EMPTY_TAG
        i = (i + 1) & t.mask
    end
    return i
end

@inline count_change!(t::HashTable{K}) where {K} = has_cheap_hash(K) || (t.changes += 1; nothing)

# Change

# Adds a key that is not there; i is the place that search returned.
@inline function add!(t::HashTable{K,V}, i::Int, h::UInt64, k::K, v::V) where {K,V}
    if t.count >= t.limit
        grow!(t, t.limit == 0 ? LEAST_PLACES : (t.mask + 1) * (t.mask < 4095 ? 4 : 2))
        i = empty_place(t, h)
    end
    unsafe_store!(Ptr{K}(entry(t, i)), k)
    unsafe_store!(value_pointer(t, i), v)
    has_cheap_hash(K) || unsafe_store!(hash_pointer(t, i), h)
    set_tag!(t, i, tag_of(h))
    t.count += 1
    i < t.from && (t.from = i)
    count_change!(t)
    return nothing
end

# Two thirds of the places: beyond that, searches for missing keys become long.
limit_of_places(places::Int) = places ÷ 3 * 2

function places_for(n::Int)
    n <= typemax(Int) >> 3 || too_large("a table of $n keys")
    places = LEAST_PLACES
    while limit_of_places(places) < n
        places *= 2
    end
    return places
end

# Moves all keys to new memory. If the allocation fails, the table is unchanged.
@noinline function grow!(t::HashTable{K,V}, places::Int) where {K,V}
    a, stride = t.lifetime.arena, sizeof(entry_type(K, V))
    places <= typemax(Int) ÷ (stride + 1) || too_large("a table of $places places of $(stride + 1) bytes")
    memory = alloc(a, places * (stride + 1); align=64)
    l = lifetime(a)
    GC.@preserve t begin
        old_entries, old_tags, old_places = t.entries, t.tags, t.mask + 1
        t.entries, t.tags, t.mask = memory, memory + places * stride, places - 1
        ccall(:memset, Ptr{Cvoid}, (Ptr{Cvoid}, Cint, Csize_t), t.tags, EMPTY_TAG, places)
        t.from = places
        for j in 0:old_places-1
            tag = unsafe_load(old_tags, j + 1)
            tag == EMPTY_TAG && continue
            from = old_entries + j * stride
            h = has_cheap_hash(K) ? hash_of(K, unsafe_load(Ptr{K}(from))) :
                unsafe_load(Ptr{UInt64}(from + fieldoffset(entry_type(K, V), 3)))
            i = empty_place(t, h)
            copy_entry!(t, i, from)
            set_tag!(t, i, tag)
            t.from = min(t.from, i)
        end
    end
    t.limit = limit_of_places(places)
    t.lifetime, t.generation = l, l.generation
    count_change!(t)
    return nothing
end

# Julia cannot compile the load of a tuple whose parts are farther apart for LLVM than for Julia, such as one of 24 bits
# and one of 8.
is_padded(::Type{T}) where {T} = stride_of(T) != sizeof(T)

@inline copy_entry!(t::HashTable{K,V}, to::Int, from::Ptr{UInt8}) where {K,V} =
    by_address(entry_type(K, V)) || is_padded(K) ? move_bytes(entry(t, to), from, sizeof(entry_type(K, V))) :
    unsafe_store!(Ptr{entry_type(K, V)}(entry(t, to)), unsafe_load(Ptr{entry_type(K, V)}(from)))
@inline move_bytes(to, from, n) = ccall(:memcpy, Ptr{Cvoid}, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t), to, from, n)

# Removes the key at place i.
@inline function remove!(t::HashTable, i::Int)
    j = i
    while true
        j = (j + 1) & t.mask
        tag = tag_at(t, j)
        tag == EMPTY_TAG && break
        home = home_of(t, stored_hash(t, j))
        if (j - home) & t.mask >= (j - i) & t.mask # the gap lies between its home and its place
            copy_entry!(t, i, entry(t, j))
            set_tag!(t, i, tag)
            i = j
        end
    end
    set_tag!(t, i, EMPTY_TAG)
    t.count -= 1
    count_change!(t)
    return nothing
end

function empty_table!(t::HashTable)
    must_be_valid(t)
    t.count > 0 && ccall(:memset, Ptr{Cvoid}, (Ptr{Cvoid}, Cint, Csize_t), t.tags, EMPTY_TAG, t.mask + 1)
    t.count, t.from = 0, t.mask + 1
    count_change!(t)
    return nothing
end

function reserve!(t::HashTable, n::Int)
    must_be_valid(t)
    n > t.limit && grow!(t, places_for(n))
    return nothing
end

# Walk

# The first place from i on that has a key; the number of places if there is none. Eight tags are read at a time.
@inline function taken_from(t::HashTable, i::Int)
    while i <= t.mask
        word = ltoh(unsafe_load(Ptr{UInt64}(t.tags + (i & ~7)))) & 0x8080808080808080
        word >>>= 8 * (i & 7)
        word == 0 || return i + trailing_zeros(word) >>> 3
        i = (i & ~7) + 8
    end
    return t.mask + 1
end

@inline function first_taken(t::HashTable)
    must_be_valid(t)
    t.count == 0 && return t.mask + 1
    return t.from = taken_from(t, t.from)
end
