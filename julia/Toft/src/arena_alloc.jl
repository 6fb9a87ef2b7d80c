# Allocation in an arena: values, memory, strings, resize and free.
# SPDX-License-Identifier: MIT OR Apache-2.0

# The inline path. Room is a multiple of 8, so the raw size is compared, and nothing can wrap. Size 0 goes the slow way,
# by `size - 1`, because on a released arena it must not succeed.
# `a.head` is read for each allocation, since the compiler cannot exclude that the store was to it: about 1 ns each.
@inline function take(a::Arena, size::UInt, align::UInt)
    GC.@preserve a begin
        head = a.head
        p = word(head, HEAD_CURSOR)
        room = word(head, HEAD_LIMIT) - p
        pad = align <= 8 ? UInt(0) : (-p) & (align - 1)
        if pad <= room && size - 1 < room - pad
            unsafe_store!(head, p + pad + ((size + 7) & ~UInt(7)), HEAD_CURSOR)
            p + pad
        else
            take_slow(a, size, align)
        end
    end
end

@noinline function take_slow(a::Arena, size::UInt, align::UInt)
    head = opened(a)
    epoch = word(head, HEAD_EPOCH)
    p = by_one_task(a) do
        say_place(a, head)
        op_alloc(head, size, align, UInt32(0))
    end
    count_new!(a, epoch)
    p == 0 && throw_refused(a, size, align, "alloc")
    p
end

# Why the provider refused a request. Room for a block's header counts where a budget limits blocks.
@noinline function throw_refused(a::Arena, size::UInt, align::UInt, what)
    a.calling && throw(ArenaError(TOFT_EBUSY, what))
    s = op_stats(a.head)
    bytes, live, limit = size % Int, s.live % Int, min(s.budget, typemax(Int)) % Int
    needed = (bytes + 7) & ~7 + (align <= 8 ? 0 : align % Int)
    needed > limit - live && throw(BudgetError("arena", bytes, live, limit))
    need_budget(a.within, bytes, needed + 4096)
    isodd(word(a.head, HEAD_EPOCH)) && LIBRARY.tags != C_NULL && for tag in report(a).tags
        tag.budget === nothing || needed <= tag.budget - tag.live ||
            throw(BudgetError("tag $(tag.name)", bytes, tag.live, tag.budget))
    end
    a.range == C_NULL || (limit = min(limit, unsafe_load(a.range).max % Int))
    throw(ArenaMemoryError(bytes, live, limit == typemax(Int) ? nothing : limit))
end

@noinline too_large(what) =
    throw(ArgumentError("$what: more than an arena can have, which is at most $(Int(MAX_REQUEST)) bytes"))

# A count as an Int.
@inline whole(n::Int) = n
function whole(n::Integer)
    n < 0 && throw(ArgumentError("a negative count: $n"))
    n > typemax(Int) ? too_large("a count of $n") : Int(n)
end

@noinline function bad_count(::Type{T}, n) where {T}
    n < 0 && throw(ArgumentError("a negative count: $n"))
    too_large("$n elements of $(stride_of(T)) bytes")
end

# The bytes from one T to the next, by which pointers step: more than sizeof(T) for a primitive type whose size is no
# multiple of its alignment, such as one of 24 bits.
@generated stride_of(::Type{T}) where {T} = isbitstype(T) ? Int(Base.elsize(Vector{T})) : sizeof(Ptr{Cvoid})

# The bytes of n T. One compare for negative counts, for overflows, and for sizes beyond any arena.
@inline function bytes_of(::Type{T}, n::Int) where {T}
    n % UInt <= MAX_REQUEST ÷ max(stride_of(T), 1) || bad_count(T, n)
    n % UInt * (stride_of(T) % UInt)
end

@noinline bad_align(align) = throw(ArgumentError("an alignment that is not a power of two: $align"))
@inline function align_of(align::Integer)
    align > 0 && ispow2(align) || bad_align(align)
    align <= MAX_REQUEST || too_large("an alignment of $align")
    align % UInt
end

@generated function alignment(::Type{T}) where {T}
    isbitstype(T) || return UInt(1)
    isdefined(Base, :datatype_alignment) && return UInt(Base.datatype_alignment(T))
    UInt(clamp(nextpow(2, max(sizeof(T), 1)), 1, 64)) # more than enough
end

changeable(T::DataType) = isdefined(Base, :ismutabletype) ? Base.ismutabletype(T) : T.mutable

# The first thing in T that is not made of bits, as a path of fields.
function fault(@nospecialize(T), path)
    T isa DataType && isconcretetype(T) || return "$path is no concrete type"
    changeable(T) && return "$path is mutable, so it lives with the garbage collector"
    for (name, F) in zip(fieldnames(T), fieldtypes(T))
        isbitstype(F) || return fault(F, "$path.$name::$F")
    end
    "$path is no bits type"
end

@noinline not_bits(@nospecialize(T)) =
    throw(ArgumentError("arenas hold bits types only, since the garbage collector does not see into them: " *
                        fault(T, "$T")))

"""
    alloc(a::Arena, T) -> Ptr{T}
    alloc(a::Arena, T, n; align) -> Ptr{T}
    alloc(a::Arena, bytes; align = 8) -> Ptr{UInt8}

Memory for one `T`, `n` of them, or a number of bytes, not initialised: an add and a compare, and no Julia allocation.
Aligned as `T` is and to 8 at least; `align` requests any other power of two. `n` or `bytes` 0 gives an address that
must not be read. `T` must be a bits type: else an `ArgumentError` names the field at fault.

The memory is valid until `a` is rewound to a mark from before, reset or released; no part of it is freed alone. The
pointer does not keep `a` alive: see [`Arena`](@ref). For arrays that do, and that notice: [`ArenaArray`](@ref).

Throws [`BudgetError`](@ref) where a budget ends and [`ArenaMemoryError`](@ref) where memory does; `ArgumentError` for
sizes that are negative or beyond any arena's, for alignments that are no power of two and for a released arena; and
`Toft.ArenaError` (`TOFT_EBUSY`) in a cleanup of `a`. The arena is then as it was.
"""
@inline function alloc(a::Arena, ::Type{T}) where {T}
    isbitstype(T) || not_bits(T)
    Ptr{T}(take(a, stride_of(T) % UInt, alignment(T)))
end

@inline function alloc(a::Arena, ::Type{T}, n::Integer; align::Integer = 1) where {T}
    isbitstype(T) || not_bits(T)
    Ptr{T}(take(a, bytes_of(T, whole(n)), max(align_of(align), alignment(T))))
end

@inline alloc(a::Arena, bytes::Integer; align::Integer = 8) = alloc(a, UInt8, bytes; align = align)

"""
    resize!(a::Arena, p::Ptr{T}, old, new; align) -> Ptr{T}

Grows or shrinks what `alloc(a, T, old)` gave to `new` elements: where it is if it is the newest and there is room, or
if it shrinks; else it is copied, and the old place stays used until a rewind or reset. `old`: the count last requested
for. `C_NULL` allocates, with any `old`. Errors as [`alloc`](@ref); then `p` is as it was. An [`ArenaArray`](@ref) over
`p` keeps its own size.
"""
function Base.resize!(a::Arena, p::Ptr{T}, old::Integer, new::Integer; align::Integer = 1) where {T}
    isbitstype(T) || not_bits(T)
    from, to = bytes_of(T, whole(old)), bytes_of(T, whole(new))
    align = max(align_of(align), alignment(T))
    GC.@preserve a begin
        head = opened(a)
        cursor, room_from = word(head, HEAD_CURSOR), word(head, HEAD_LIMIT) - UInt(p)
        if p != C_NULL && iseven(word(head, HEAD_EPOCH)) && cursor - UInt(p) == (from + 7) & ~UInt(7) &&
           room_from >= to && UInt(p) & (align - 1) == 0
            unsafe_store!(head, UInt(p) + ((to + 7) & ~UInt(7)), HEAD_CURSOR)
            return p
        end
        epoch = word(head, HEAD_EPOCH)
        q = by_one_task(a) do
            say_place(a, head)
            op_resize(head, UInt(p), p == C_NULL ? zero(from) : from, to, align, UInt32(0)) # else the table refuses it
        end
        count_new!(a, epoch)
        q == 0 && throw_refused(a, to, align, "resize!")
        return Ptr{T}(q)
    end
end

"""
    deallocate!(a::Arena, p::Ptr{T}, n = 1)

Frees the memory of `alloc(a, T, n)`, if it is the newest allocation, and does nothing else: older ones wait for a
rewind or reset. `n` is the count last requested. `C_NULL` is ignored.
"""
function deallocate!(a::Arena, p::Ptr{T}, n::Integer = 1) where {T}
    isbitstype(T) || not_bits(T)
    size = bytes_of(T, whole(n))
    GC.@preserve a begin
        head = opened(a)
        if p == C_NULL
        elseif iseven(word(head, HEAD_EPOCH)) && word(head, HEAD_CURSOR) - UInt(p) == (size + 7) & ~UInt(7)
            unsafe_store!(head, UInt(p), HEAD_CURSOR)
        else
            by_one_task(a) do
                say_place(a, head)
                op_free(head, UInt(p), size)
            end
        end
    end
    nothing
end

"""
    cstring(a::Arena, s::AbstractString) -> Ptr{UInt8}

A copy of `s` in the arena with a NUL at the end, as C requires: UTF-8, valid as long as what [`alloc`](@ref) gives, and
with its errors. `ArgumentError` if `s` holds a NUL itself.
"""
function cstring(a::Arena, s::Union{String,SubString{String}})
    n = sizeof(s)
    GC.@preserve a s begin
        from = pointer(s)
        ccall(:memchr, Ptr{Cvoid}, (Ptr{UInt8}, Cint, Csize_t), from, 0, n) == C_NULL ||
            throw(ArgumentError("cstring: the string holds a NUL"))
        p = alloc(a, n + 1)
        unsafe_copyto!(p, from, n)
        unsafe_store!(p, 0x00, n + 1)
    end
    p
end
cstring(a::Arena, s::AbstractString) = cstring(a, String(s))
