# Frozen files: finished data structures with their pointers, opened without parsing. C, C++ and Rust write them, and
# for collections freeze.jl does. Plain Julia; libtoft is not needed. The format is section 15 of abi/SPEC.md, whose
# rules have the names F1 to F7.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    FrozenError(path, reason)

A frozen file was not opened, or its root is no value of a type. The reason is `:corrupt` (no frozen file, or a
damaged one), `:layout` (another layout, hash or root than the program needs), `:system` (another version, byte
order or width of pointers) or `:memory`. Errors of the system are a `SystemError`.
"""
struct FrozenError <: Exception
    path::String
    reason::Symbol
end

const FROZEN_REASONS = (corrupt = "is no frozen file, or a damaged one", layout = "has another layout",
                        system = "is of another version, byte order or width of pointers",
                        memory = "was not opened: out of memory")

Base.showerror(io::IO, e::FrozenError) = print(io, "FrozenError: ", e.path, " ", FROZEN_REASONS[e.reason])

"""
    Frozen

An open frozen file, from [`open_frozen`](@ref). `Toft.root(f, T)` is its root, `sizeof(f)` the bytes of its
content, `Toft.moved(f)` whether it is at another address than its own, and `isopen(f)` whether it was not closed.
Any number of threads may read the content, which is read-only.

It has no finalizer, since pointers into the content do not keep it alive: one that is not closed remains open.
"""
mutable struct Frozen
    path::String
    content::Ptr{UInt8} # C_NULL: closed
    size::UInt          # bytes of header and content
    root::UInt          # offset
    layout_hash::UInt64
    moved::Bool
    mapping::Ptr{Cvoid} # what a close unmaps
    mapped::UInt
    memory::Vector{UInt8} # where a system has no mmap
end

# ---- the format ----

const FROZEN_MAGIC = UInt8[0x89, 0x54, 0x4f, 0x46, 0x54, 0x0d, 0x0a, 0x1a]
const FROZEN_ORDER = 0x01020304
const FROZEN_VERSION = UInt16(1)
const FROZEN_START = UInt(4096) # of objects
const FROZEN_HEADER = 104

struct FrozenHeader
    magic::NTuple{8,UInt8}
    order::UInt32
    version::UInt16
    width::UInt16
    base::UInt64
    size::UInt64
    root::UInt64
    pointers::UInt64
    layout_hash::UInt64
    layout::NTuple{32,UInt8}
    checksum::UInt64
    header_checksum::UInt64
end

frozen_bits(size) = cld(size ÷ WORD, 64) * 8

# Of every address that a file of this length may have.
frozen_alignment(length) = max(UInt(65536), UInt(1) << (8WORD - leading_zeros(UInt(length - 1))))

function frozen_checksum(sum::UInt64, words, from, to)
    for i in from:to
        @inbounds sum = xor(sum, words[i])
        sum = (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15
    end
    return sum
end

frozen_layout(h) = String(collect(Iterators.takewhile(!=(0x00), h.layout)))

# Rules F1 and F4, but for the layout. `bytes` is the beginning of a file of this length.
function check_header(path, bytes, length)
    refuse(reason) = throw(FrozenError(path, reason))
    Base.length(bytes) == FROZEN_HEADER && length >= FROZEN_START || refuse(:corrupt)
    words = reinterpret(UInt64, bytes)
    h = GC.@preserve bytes unsafe_load(Ptr{FrozenHeader}(pointer(bytes)))
    view(bytes, 1:8) == FROZEN_MAGIC || refuse(:corrupt)
    h.order == bswap(FROZEN_ORDER) && refuse(:system)
    h.order == FROZEN_ORDER && h.header_checksum == frozen_checksum(zero(UInt64), words, 1, 12) || refuse(:corrupt)
    h.version == FROZEN_VERSION && h.width == WORD || refuse(:system)
    length <= typemax(Int) && FROZEN_START <= h.size <= length && h.size % 8 == 0 || refuse(:corrupt)
    length == h.size + frozen_bits(h.size) || refuse(:corrupt)
    h.base != 0 && h.base % 64 == 0 && h.base <= typemax(UInt) - length || refuse(:corrupt)
    FROZEN_START <= h.root < h.size && h.layout[end] == 0 || refuse(:corrupt)
    return h
end

# Calls visit with the index of each word whose bit is set, until it returns false.
function each_pointer(visit, content, size)
    sets = Ptr{UInt64}(content + size)
    for i in 1:frozen_bits(size) ÷ 8
        set = unsafe_load(sets, i)
        while set != 0
            visit(64 * (i - 1) + trailing_zeros(set) + 1) || return false
            set &= set - 1
        end
    end
    return true
end

# Rule F2: each pointer leads to the content or its end, and there are as many as the header says.
function check_pointers(content, size, base, expected)
    words, count = Ptr{UInt}(content), Ref(zero(UInt64))
    inside = each_pointer(content, size) do i
        count[] += 1
        FROZEN_START ÷ WORD < i <= size ÷ WORD && unsafe_load(words, i) - base <= size
    end
    return inside && count[] == expected
end

# Precondition: check_pointers.
function move_pointers(content, size, distance)
    words = Ptr{UInt}(content)
    each_pointer(content, size) do i
        unsafe_store!(words, unsafe_load(words, i) + distance, i)
        true
    end
end

# ---- memory ----

const PROT_READ, PROT_WRITE, MAP_PRIVATE = Cint(1), Cint(2), Cint(2)
const MAP_ANONYMOUS = Sys.islinux() ? Cint(0x20) : Cint(0x1000)
const MAP_WITHOUT_FORCE = Sys.islinux() ? Cint(0x100000) : Cint(0) # MAP_FIXED_NOREPLACE; else the address is a hint
const FileOffset = Sys.islinux() ? Clong : Int64
const MAP_FAILED = Ptr{Cvoid}(typemax(UInt))

map_memory(at, length, protection, flags, file) =
    ccall(:mmap, Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t, Cint, Cint, Cint, FileOffset),
          at, length, protection, flags, file, 0)

unmap_memory(p, length) = ccall(:munmap, Cint, (Ptr{Cvoid}, Csize_t), p, length)

# Maps the file at an address where nothing is. false: not possible.
function map_at!(f::Frozen, io, base, length)
    Sys.isunix() || return false
    p = map_memory(Ptr{Cvoid}(base), length, PROT_READ, MAP_PRIVATE | MAP_WITHOUT_FORCE, fd(io))
    p == MAP_FAILED && return false
    f.mapping, f.mapped = p, length
    UInt(p) == base && (f.content = p; return true)
    unmap!(f)
    return false
end

# Reads the file into aligned memory.
function load!(f::Frozen, io, length)
    align = frozen_alignment(length)
    reserved = length + align
    if Sys.isunix()
        p = map_memory(C_NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1)
        p == MAP_FAILED && throw(FrozenError(f.path, :memory))
        f.mapping, f.mapped = p, reserved
    else
        f.memory = try
            Vector{UInt8}(undef, reserved)
        catch e
            e isa OutOfMemoryError ? throw(FrozenError(f.path, :memory)) : rethrow()
        end
        p = pointer(f.memory)
    end
    f.content = Ptr{UInt8}(UInt(p) + (-UInt(p)) & (align - 1))
    seekstart(io)
    unsafe_read(io, f.content, length)
end

protect!(f::Frozen, length) =
    Sys.isunix() && ccall(:mprotect, Cint, (Ptr{Cvoid}, Csize_t, Cint), f.content, length, PROT_READ)

function unmap!(f::Frozen)
    f.mapped == 0 || unmap_memory(f.mapping, f.mapped)
    f.mapping, f.mapped, f.content, f.memory = C_NULL, 0, C_NULL, UInt8[]
    return nothing
end

# ---- the interface ----

"""
    open_frozen(path; layout = nothing, layout_hash = 0, verify = false, elsewhere = false) -> Frozen
    open_frozen(f, path; options...)

Open a file of finished data structures with their pointers, which `toft_freeze` of libtoft, the crate toft-frozen or
[`Toft.freeze`](@ref) has written. It is mapped at the address that the pointers are for, and no page is read before it
is used; processes that open the same file share its pages. Where that address is not free, and on Windows, the file is
read and its pointers are moved. The second form calls `f` with the file and closes it.

* `layout`, `layout_hash`: those that the file must have; `nothing` and 0: any.
* `verify`: compare the checksum, and each pointer with the bounds of the content, which reads the whole file.
* `elsewhere`: read the file to another address than its own, for tests.

The header and the sizes are always checked, and each pointer where it is moved. The meaning of the structures is
not: a program that follows the pointers of a file trusts its writer. While a file is open it may be replaced by a
rename, but not be changed or truncated: an access to a page that no longer exists ends the process.

Throws a [`FrozenError`](@ref), or a `SystemError` if the file cannot be read.

    struct Word                # struct word {
        next::Ptr{Word}        #   struct word *next;
        text::Ptr{UInt8}       #   const char *text;
        size::UInt64           #   uint64_t size;
        count::UInt32          #   uint32_t count; };
    end

    open_frozen("words.frozen"; layout = "words 1") do f
        word = unsafe_load(Toft.root(f, Word))
        println(unsafe_string(word.text, word.size), " ", word.count)
    end

`unsafe_string(pointer, length)` copies a text, and `unsafe_wrap(Array, pointer, length)` makes an array without a
copy, which must not be written to. After `close` no such pointer and array may be used.
"""
function open_frozen(path::AbstractString; layout::Union{AbstractString,Nothing}=nothing, layout_hash::Integer=0,
                     verify::Bool=false, elsewhere::Bool=false)
    ispath(path) && !isfile(path) && throw(ArgumentError("$path is no regular file"))
    open(path) do io
        length = filesize(io)
        h = check_header(path, read(io, FROZEN_HEADER), UInt64(length))
        (layout === nothing || layout == frozen_layout(h)) && (layout_hash == 0 || layout_hash == h.layout_hash) ||
            throw(FrozenError(path, :layout))
        f = Frozen(path, C_NULL, h.size, h.root, h.layout_hash, false, C_NULL, 0, UInt8[])
        try
            place!(f, io, h, UInt(length), verify, elsewhere)
        catch e
            unmap!(f)
            e isa EOFError ? throw(FrozenError(path, :corrupt)) : rethrow()
        end
        return f
    end
end

function open_frozen(user, path::AbstractString; options...)
    f = open_frozen(path; options...)
    try
        return user(f)
    finally
        close(f)
    end
end

function place!(f::Frozen, io, h::FrozenHeader, length::UInt, verify, elsewhere)
    base, size = UInt(h.base), UInt(h.size)
    f.moved = elsewhere || !map_at!(f, io, base, length)
    f.moved && load!(f, io, length)
    if verify && h.checksum != 0
        words = unsafe_wrap(Array, Ptr{UInt64}(f.content), length ÷ 8)
        max(1, frozen_checksum(one(UInt64), words, FROZEN_HEADER ÷ 8 + 1, length ÷ 8)) == h.checksum ||
            throw(FrozenError(f.path, :corrupt))
    end
    (verify || f.moved) && !check_pointers(f.content, size, base, h.pointers) && throw(FrozenError(f.path, :corrupt))
    if f.moved
        move_pointers(f.content, size, UInt(f.content) - base)
        protect!(f, length)
    end
end

@inline must_be_open(f::Frozen) = isopen(f) ? nothing : throw_closed(f)
@noinline throw_closed(f) = throw(ArgumentError("the frozen file $(f.path) was closed"))

"""
    Toft.root(f::Frozen, T = Cvoid) -> Ptr{T}

The root object of a frozen file. `T` is an `isbits` type with the fields of the writer's struct. A
[`FrozenError`](@ref) with the reason `:layout` is thrown if no `T` fits at the root. The pointer is valid until
`close(f)`.
"""
function root(f::Frozen, ::Type{T}=Cvoid) where {T}
    must_be_open(f)
    T === Cvoid && return Ptr{T}(f.content + f.root)
    isbitstype(T) || throw(ArgumentError("$T is no isbits type: files contain numbers, pointers and structs of these"))
    sizeof(T) <= f.size - f.root && f.root % Base.datatype_alignment(T) == 0 || throw(FrozenError(f.path, :layout))
    return Ptr{T}(f.content + f.root)
end

"""
    Toft.moved(f::Frozen)

Whether the content is at another address than its own, so that this process does not share its pages.
"""
moved(f::Frozen) = f.moved

Base.sizeof(f::Frozen) = Int(f.size)
Base.isopen(f::Frozen) = f.content != C_NULL
Base.close(f::Frozen) = unmap!(f)
Base.show(io::IO, f::Frozen) = print(io, "Frozen(", repr(f.path), isopen(f) ? ", $(f.size) bytes)" : ", closed)")
