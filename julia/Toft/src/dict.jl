# SortedDict: keys and values in a pool, the order of the keys in a tree.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    GenericSortedDict{K,V,P}

The sorted dictionaries of keys of type `K` and values of type `V` in a pool of any type `P`. [`SortedDict`](@ref)
constructs them, and is the one whose pool frees its slots one by one, in rows.
"""
struct GenericSortedDict{K,V,P<:AbstractPool{Pair{K,V},UInt32}} <: AbstractDict{K,V}
    pool::P
    tree::Tree{K}
    GenericSortedDict{K,V,P}(pool::P, tree::Tree{K}) where {K,V,P<:AbstractPool{Pair{K,V},UInt32}} =
        new{K,V,P}(pool, tree)
end

"""
    SortedDict{K,V}(kind=FreeListAllocator, n=nothing)
    SortedDict{K,V}(pairs...)
    SortedDict(pairs...)

A dictionary whose keys are in the order of `isless`: an `AbstractDict`. [`SortedSet`](@ref)'s rules for elements hold
for its keys. Values stay where they were put until they are deleted, however the order changes; with a
structure-of-arrays kind of pool the keys and the values are a column each. [`between`](@ref) gives the pairs of a range
of keys, `first` and `last` the pairs of the least and greatest, `pop!(dict)` removes the last, `popfirst!` the first.

    julia> using Toft: SortedDict

    julia> d = SortedDict("b" => 2, "a" => 1);

    julia> first(d)
    "a" => 1

`SortedDict{K,V}` is the concrete type of a dictionary of the kind `FreeListAllocator`; with another kind the
constructor makes another [`GenericSortedDict`](@ref).
"""
const SortedDict{K,V} = GenericSortedDict{K,V,CellPool{Pair{K,V},UInt32,Vector{Pair{K,V}}}}

function SortedDict{K,V}(kind::Type{<:AbstractPool}, n::Union{Integer,Nothing}=nothing) where {K,V}
    pool = own_pool(kind, Pair{K,V}, UInt32)(n)
    return GenericSortedDict{K,V,typeof(pool)}(pool, Tree{K}(something(n, 0)))
end

SortedDict{K,V}() where {K,V} = SortedDict{K,V}(FreeListAllocator)
SortedDict{K,V}(ps::Pair...) where {K,V} = SortedDict{K,V}(ps)
SortedDict{K,V}(pairs) where {K,V} = put_pairs!(SortedDict{K,V}(), pairs)
# Of a concrete type, as conversion to that of a field needs it.
GenericSortedDict{K,V,P}(pairs=()) where {K,V,P<:AbstractPool{Pair{K,V},UInt32}} =
    put_pairs!(GenericSortedDict{K,V,P}(P(nothing), Tree{K}(0)), pairs)
SortedDict() = SortedDict{Any,Any}()
SortedDict(ps::Pair{K,V}...) where {K,V} = SortedDict{K,V}(ps)
SortedDict(ps::Pair...) = SortedDict(ps)
function SortedDict(pairs)
    try
        return dict_of(with_eltype(pairs))
    catch
        applicable(iterate, pairs) && all(p -> p isa Union{Tuple,Pair}, pairs) && rethrow()
        throw(ArgumentError("SortedDict(pairs): pairs needs to be an iterator of tuples or pairs"))
    end
end

dict_of(pairs) = dict_of(pairs, eltype(pairs))
dict_of(pairs, ::Union{Type{Pair{K,V}},Type{Tuple{K,V}}}) where {K,V} = SortedDict{K,V}(pairs)
function dict_of(pairs, ::Type) # the types that the keys and values have in common, as collect finds them
    found = [(k, v) for (k, v) in pairs]
    isempty(found) && return SortedDict{Any,Any}()
    return SortedDict{eltype([k for (k, v) in found]),eltype([v for (k, v) in found])}(found)
end

# The slot of a key; 0: it is not there.
@inline function slot_of(d::GenericSortedDict{K}, k::K) where {K}
    at, there = search(d.tree, encode(K, k))
    return there ? slot_at(d.tree, at) : UInt32(0)
end
function slot_of(d::GenericSortedDict{K}, k) where {K}
    key = as_key(K, k)
    return key === nothing ? UInt32(0) : slot_of(d, something(key))
end

@inline value_of(d::GenericSortedDict{K,V}, slot) where {K,V} = @inbounds(d.pool[slot, 2])::V
@inline stored_key(d::GenericSortedDict{K}, slot) where {K} = @inbounds(d.pool[slot, 1])::K

@inline function put_pair!(d::GenericSortedDict{K,V}, k::K, v::V) where {K,V}
    code = encode(K, k)
    at, there = search(d.tree, code)
    if there
        @inbounds d.pool[slot_at(d.tree, at), 2] = v
    else
        add!(d, at, code, Pair{K,V}(k, v))
    end
    return d
end

@inline function element(d::GenericSortedDict{K,V}, at) where {K,V}
    k = decode(K, key_at(d.tree, at))::K
    return Pair{K,V}(k, value_of(d, slot_at(d.tree, at)))
end

# What Base's functions of dictionaries make

Base.empty(::GenericSortedDict, ::Type{K}, ::Type{V}) where {K,V} = SortedDict{K,V}()
Base.copy(d::GenericSortedDict{K,V}) where {K,V} = SortedDict{K,V}(d)
function Base.merge(d::GenericSortedDict, others::AbstractDict...)
    return merge!(promoted(d, others...), others...)
end
function Base.merge(f::Function, d::GenericSortedDict, others::AbstractDict...)
    return merge!(f, promoted(d, others...), others...)
end
if isdefined(Base, :mergewith)
    Base.mergewith(f, d::GenericSortedDict, others::AbstractDict...) = mergewith!(f, promoted(d, others...), others...)
end

# d, with the types that all of them have in common.
function promoted(ds::AbstractDict...)
    K, V = promote_type(map(keytype, ds)...), promote_type(map(valtype, ds)...)
    return SortedDict{K,V}(ds[1])
end

Base.filter(f, d::GenericSortedDict{K,V}) where {K,V} = SortedDict{K,V}(Iterators.filter(f, d))

function Base.show(io::IO, d::GenericSortedDict{K,V}) where {K,V}
    print(io, "SortedDict{", K, ", ", V, "}(")
    show_elements(io, d; open="", close="")
    print(io, ")")
end

# A heading names the type as programs write it.
Base.showarg(io::IO, ::GenericSortedDict{K,V}, toplevel) where {K,V} = print(io, "SortedDict{", K, ", ", V, "}")
