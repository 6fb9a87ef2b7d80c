# What the sets and the dictionaries of the package share: the functions of AbstractSet and AbstractDict, in terms of
# those that each of them has.
# SPDX-License-Identifier: MIT OR Apache-2.0

# Has slot_of, value_of, stored_key, put_pair! and delete!.
const Dictionary{K,V} = Union{GenericSortedDict{K,V},ArenaDict{K,V}}
# Has in and push! for elements of type K, and delete!.
const Collection{K} = Union{GenericSortedSet{K},ArenaSet{K}}

const Associative = Union{Dictionary,Collection}

# Base's replace and replace! of other sets and dictionaries go by a function of its own that wants both of one type.
function Base.replace!(new::Union{Function,Type}, c::Associative; count::Integer=typemax(Int))
    count < 0 && throw(DomainError(count, "`count` must not be negative (got $count)"))
    changed = Pair{eltype(c),eltype(c)}[] # c is not changed while it is iterated
    for x in c
        length(changed) < count || break
        y = new(x)
        x === y || push!(changed, x => y)
    end
    foreach(p -> delete!(c, key_of(c, p.first)), changed)
    foreach(p -> push!(c, p.second), changed)
    return c
end

function Base.replace!(c::Associative, old_new::Pair...; count::Integer=typemax(Int))
    function new(x)
        for (old, y) in old_new
            isequal(old, x) && return y
        end
        return x
    end
    return replace!(new, c; count=count)
end

Base.replace(new::Union{Function,Type}, c::Associative; count::Integer=typemax(Int)) =
    replace!(new, copy(c); count=count)
Base.replace(c::Associative, old_new::Pair...; count::Integer=typemax(Int)) =
    replace!(copy(c), old_new...; count=count)

# Base's functions empty the collection before they copy it.
Base.copy!(d::Dictionary, other::AbstractDict) = d === other ? d : merge!(empty!(d), other)
Base.copy!(s::Collection, other::AbstractSet) = s === other ? s : union!(empty!(s), other)

key_of(::AbstractSet, element) = element
key_of(::AbstractDict, pair) = pair.first

# Dictionaries

function put_pairs!(d::Dictionary, pairs)
    for (k, v) in pairs
        d[k] = v
    end
    return d
end

@inline Base.haskey(d::Dictionary, k) = slot_of(d, k) != 0

@inline function Base.getindex(d::Dictionary, k)
    slot = slot_of(d, k)
    slot == 0 && throw_key(k)
    return value_of(d, slot)
end

@noinline throw_key(k) = throw(KeyError(k))

@inline function Base.get(d::Dictionary, k, default)
    slot = slot_of(d, k)
    return slot == 0 ? default : value_of(d, slot)
end

@inline function Base.get(f::Union{Function,Type}, d::Dictionary, k)
    slot = slot_of(d, k)
    return slot == 0 ? f() : value_of(d, slot)
end

function Base.getkey(d::Dictionary, k, default)
    slot = slot_of(d, k)
    return slot == 0 ? default : stored_key(d, slot)
end

# k, as Base's Dict takes it: a key that conversion changes is an error.
@inline strict_key(::Type{K}, k::K) where {K} = k
function strict_key(::Type{K}, k) where {K}
    key = convert(K, k)::K
    isequal(key, k) || throw_key_type(K, k)
    return key
end

@noinline throw_key_type(K, k) = throw(
    isdefined(Base, :KeyTypeError) ? Base.KeyTypeError(K, k) : # since 1.11
    ArgumentError("$(repr(k; context=:limit => true)) is not a valid key for type $K"))

@inline Base.setindex!(d::Dictionary{K,V}, v, k) where {K,V} = put_pair!(d, strict_key(K, k), convert(V, v)::V)

Base.get!(d::Dictionary, k, default) = get!(() -> default, d, k)
function Base.get!(f::Union{Function,Type}, d::Dictionary{K,V}, k) where {K,V}
    key = strict_key(K, k)
    slot = slot_of(d, key)
    slot == 0 || return value_of(d, slot)
    v = convert(V, f())::V # f may have changed d
    put_pair!(d, key, v)
    return v
end

function Base.pop!(d::Dictionary, k)
    v = d[k]
    delete!(d, k)
    return v
end

function Base.pop!(d::Dictionary, k, default)
    slot = slot_of(d, k)
    slot == 0 && return default
    v = value_of(d, slot)
    delete!(d, k)
    return v
end

function Base.filter!(f, d::Dictionary)
    foreach(k -> delete!(d, k), [p.first for p in d if !f(p)])
    return d
end

@noinline throw_nothing_to_pop(::AbstractDict) = throw(ArgumentError("dict must be non-empty"))

# Sets

Base.push!(s::Collection{K}, x) where {K} = push!(s, convert(K, x)::K)

function Base.pop!(s::Collection, x)
    x in s || throw_key(x)
    delete!(s, x)
    return x
end
function Base.pop!(s::Collection, x, default)
    x in s || return default
    delete!(s, x)
    return x
end

function Base.setdiff!(s::Collection, other::Collection)
    s === other && return empty!(s)
    foreach(x -> delete!(s, x), other)
    return s
end

function Base.filter!(f, s::Collection)
    foreach(x -> delete!(s, x), [x for x in s if !f(x)])
    return s
end

@noinline throw_nothing_to_pop(::AbstractSet) = throw(ArgumentError("set must be non-empty"))
