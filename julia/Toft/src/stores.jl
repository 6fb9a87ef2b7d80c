# Where the elements of a pool lie: a Vector, or Columns with a Vector for each field. Both offer: store[i], field i j,
# resizing, and clearing references in slots.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    Columns{T}(n)

A vector of `n` elements of the tuple, named tuple or struct type `T`, stored as one `Vector` a field: a *structure of
arrays*. A `T` is built of its fields, as by its default constructor; an inner constructor is not
called. The fields of a nested struct stay together in one column.
"""
struct Columns{T,V<:Tuple} <: AbstractVector{T}
    vectors::V
    Columns{T,V}(vectors::V) where {T,V<:Tuple} = new{T,V}(vectors)
end

function Columns{T}(n::Integer) where {T}
    has_fields(T) || throw(ArgumentError("structure of arrays needs a type with fields, and $T has none"))
    return make_columns(T, convert(Int, n))
end

if isdefined(Base, :ismutabletype)
    is_mutable(::Type{T}) where {T} = Base.ismutabletype(T)
else
    is_mutable(::Type{T}) where {T} = T.mutable
end

# Tuple{A,Union{B,C}} and Union{Tuple{A,B},Tuple{A,C}} are equal, and a type parameter may be either of them, whichever
# was there first. This is the one with fields; of other types, the type itself.
function with_fields(@nospecialize(T))
    T isa Union && T <: Tuple || return T
    members = union_members(T)
    all(M -> M isa DataType && !is_open(M) && fieldcount(M) == fieldcount(members[1]), members) || return T
    fields = [Union{(fieldtype(M, k) for M in members)...} for k in 1:fieldcount(members[1])]
    return Tuple{fields...} == T ? Tuple{fields...} : T
end

union_members(@nospecialize(T)) = T isa Union ? [union_members(T.a); union_members(T.b)] : Any[T]

has_fields(::Type{T}) where {T} = has_fields_in(with_fields(T))
if isdefined(Base, :isvatuple)
    is_open(@nospecialize(T)) = Base.isvatuple(T) # a tuple type of any length
else
    is_open(@nospecialize(T)) = try (fieldcount(T); false) catch; true end
end

function has_fields_in(@nospecialize(T))
    T isa DataType || return false
    T <: Tuple && return !is_open(T) && fieldcount(T) > 0 # also one whose fields are of abstract types
    return isconcretetype(T) && isstructtype(T) && !is_mutable(T) && fieldcount(T) > 0
end

# Below the functions that it calls when it is expanded: without precompilation it does not see later ones.
@generated function make_columns(::Type{T}, n::Int) where {T}
    vectors = [:(Vector{$F}(undef, n)) for F in fieldtypes(with_fields(T))]
    return quote
        vectors = ($(vectors...),)
        return Columns{T,typeof(vectors)}(vectors)
    end
end

Base.size(c::Columns) = (length(c.vectors[1]),)
Base.IndexStyle(::Type{<:Columns}) = IndexLinear()

@generated function read_row(c::Columns{T}, i::Int) where {T}
    fields = [:(@inbounds(c.vectors[$j][i])) for j in 1:fieldcount(with_fields(T))]
    row = T <: Tuple ? Expr(:tuple, fields...) : Expr(:new, T, fields...)
    return Expr(:block, Expr(:meta, :inline), row)
end

# The fields are read before one is stored: one that was never set throws.
@generated function write_row!(c::Columns{T}, t::T, i::Int) where {T}
    count = fieldcount(with_fields(T))
    fields = [Symbol(:field, j) for j in 1:count]
    reads = [:($(fields[j]) = getfield(t, $j)) for j in 1:count]
    stores = [:(@inbounds(c.vectors[$j][i] = $(fields[j]))) for j in 1:count]
    return Expr(:block, Expr(:meta, :inline), reads..., stores..., nothing)
end

# Throws what write_row! would, before a slot is taken.
@inline need_fields(::AbstractVector, t) = nothing
@generated function need_fields(::Columns{T}, t::T) where {T}
    R = with_fields(T)
    reads = [:(getfield(t, $j)) for j in 1:fieldcount(R) if !isbitstype(fieldtype(R, j))]
    return Expr(:block, Expr(:meta, :inline), reads..., nothing)
end

Base.@propagate_inbounds function Base.getindex(c::Columns, i::Int)
    @boundscheck checkbounds(c, i)
    return read_row(c, i)
end

Base.@propagate_inbounds function Base.setindex!(c::Columns{T}, t, i::Int) where {T}
    @boundscheck checkbounds(c, i)
    write_row!(c, convert(T, t)::T, i)
    return c
end

# A field of one element, without moving the others. The callers have checked i. A constant j is not known to Julia's
# type inference here, so this is a chain over all fields, and the compiler leaves one.

function field_chain(leaf::Function, T, j)
    T = with_fields(T)
    has_fields(T) || return :(throw(ArgumentError("the elements, of type $($T), have no fields of their own")))
    chain = :(throw_field($T, j))
    for k in fieldcount(T):-1:1
        is_it = j === Symbol ? :(j === $(QuoteNode(fieldname(T, k)))) : :(j == $k)
        chain = Expr(:if, is_it, leaf(k), chain)
    end
    return Expr(:block, Expr(:meta, :inline), chain)
end

@noinline throw_field(::Type{T}, j) where {T} =
    throw(ArgumentError("$T has no field $(repr(j)): it has $(fieldnames(T))"))

field_kind(j::Type) = j <: Symbol ? Symbol : Integer

# Of a small element the compiler leaves the load or store of the field. Of a large one it does not, so the field is
# accessed by its address; after GC.@preserve the compiler reloads the fields of the pool.
by_address(::Type{T}) where {T} = isbitstype(T) && sizeof(T) > 128

@generated function read_field(store::Vector{T}, i::Int, j) where {T}
    return field_chain(T, field_kind(j)) do k
        F = fieldtype(with_fields(T), k)
        by_address(T) || return :(@inbounds(getfield(store[i], $k)))
        :(GC.@preserve store unsafe_load(Ptr{$F}(pointer(store, i) + $(fieldoffset(T, k)))))
    end
end

@generated function write_field!(store::Vector{T}, x, i::Int, j) where {T}
    return field_chain(T, field_kind(j)) do k
        F = fieldtype(with_fields(T), k)
        if by_address(T)
            return quote
                y = convert($F, x)::$F
                GC.@preserve store unsafe_store!(Ptr{$F}(pointer(store, i) + $(fieldoffset(T, k))), y)
                nothing
            end
        end
        fields = [m == k ? :(convert($F, x)::$F) : :(getfield(t, $m)) for m in 1:fieldcount(with_fields(T))]
        t = T <: Tuple ? Expr(:tuple, fields...) : Expr(:new, T, fields...)
        return :(t = @inbounds(store[i]); @inbounds(store[i] = $t); nothing)
    end
end

@generated read_field(store::Columns{T}, i::Int, j) where {T} =
    field_chain(k -> :(@inbounds(store.vectors[$k][i])), T, field_kind(j))
@generated write_field!(store::Columns{T}, x, i::Int, j) where {T} =
    field_chain(k -> :(@inbounds(store.vectors[$k][i] = x); nothing), T, field_kind(j))

@generated whole_column(store::Columns{T}, j) where {T} = field_chain(k -> :(store.vectors[$k]), T, field_kind(j))

# What an empty slot still refers to, the collector must not keep.

if isdefined(Base, :isbitsunion)
    has_references(::Type{T}) where {T} = !(isbitstype(T) || Base.isbitsunion(T))
else
    has_references(::Type{T}) where {T} = !isbitstype(T)
end
refers(::Vector{T}) where {T} = has_references(T)
@generated refers(::Columns{T}) where {T} = any(F -> !isbitstype(F), fieldtypes(with_fields(T)))

if isdefined(Base, :_unsetindex!)
    @inline unset!(v::Vector{T}, i::Int) where {T} = has_references(T) && @inbounds(Base._unsetindex!(v, i))
else # the objects of empty slots live until the slots are taken again
    @inline unset!(v::Vector, i::Int) = nothing
end

@inline forget!(store::Vector, i::Int) = (unset!(store, i); nothing)
@inline function forget!(store::Columns, i::Int)
    refers(store) && foreach(v -> unset!(v, i), store.vectors)
    return nothing
end

# Sizes.

empty_store(::Type{Vector{T}}, n::Int) where {T} = Vector{T}(undef, n)
empty_store(::Type{<:Columns{T}}, n::Int) where {T} = Columns{T}(n)

grow_store!(store::Vector, n::Int) = (resize!(store, n); nothing)
function grow_store!(store::Columns, n::Int)
    had = length(store)
    try
        foreach(v -> resize!(v, n), store.vectors)
    catch # where there is no memory for one of them, none is longer
        foreach(v -> length(v) == had || resize!(v, had), store.vectors)
        rethrow()
    end
    return nothing
end

# A new store of n slots: shortening a Vector gives no memory back.
shrunk(store::Vector, n::Int) = copyto!(similar(store, n), 1, store, 1, n)
function shrunk(store::Columns{T,V}, n::Int) where {T,V}
    return Columns{T,V}(map(v -> shrunk(v, n), store.vectors))
end

store_bytes(store::Vector) = sizeof(store)
store_bytes(store::Columns) = sum(sizeof, store.vectors)
