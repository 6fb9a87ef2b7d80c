# Writing collections to a frozen file, and finding them in one. The format is section 15 of abi/SPEC.md.
#
# The elements of collections are in columns: arrays of isbits elements without addresses. So the only pointers of a
# file are in its root, the *record* of its value: for each column a Slice, for numbers and structs their value. A
# record is a tuple, which Julia lays out as C does a struct. `content` checks the record, and no element leads outside,
# also in a damaged file.
#
#     sequence, set       Slice{T}                        elements in their order
#     array               Slice{T}, NTuple{N,UInt64}      elements, the first dimension contiguous; the dimensions
#     dictionary          Slice{K}, Slice{V}              in the order of the keys
#     pool                its store, Slice{UInt64}        the slots up to the last live one, and a bit for each
#     store, columns      Slice{T}, or one for each field
#     tuple, named tuple  the records of its fields
#
# SPDX-License-Identifier: MIT OR Apache-2.0

struct Slice{T} # struct { const T *at; uint64_t count; }
    at::Ptr{T}  # while it is written, an offset
    count::UInt64
end

const Sequences = Union{GenericList,GenericStack,GenericQueue}

# ---- the types that a file can have ----

const Address = Union{Ptr,Cstring,Cwstring}

function need_data(@nospecialize(T))
    isbitstype(T) || throw(ArgumentError("freeze: $T is no isbits type: files contain numbers and structs of these"))
    T <: Address && throw(ArgumentError("freeze: $T is an address, which is another one in the next process"))
    isprimitivetype(T) || foreach(need_data, fieldtypes(T))
    return T
end

# The record of a type, and a text of its layout: numbers by name, structs by fields.
record(::Type{C}) where {C} = isbitstype(C) ? need_data(C) : record_of(C)
described(::Type{C}) where {C} = isbitstype(C) ? data_text(C) : text_of(C)

function data_text(@nospecialize(T))
    isprimitivetype(T) && return string(nameof(T), 8 * sizeof(T))
    fields = ["$(fieldname(T, k))@$(fieldoffset(T, k)):$(data_text(fieldtype(T, k)))" for k in 1:fieldcount(T)]
    return string("{", join(fields, ","), "}", sizeof(T))
end

record_of(@nospecialize(C)) =
    throw(ArgumentError("freeze: $C is no collection that a file can have, and no isbits type; see Toft.freeze"))

slice_of(@nospecialize(T)) = Slice{need_data(T)}
store_record(::Type{<:AbstractVector{T}}) where {T} = slice_of(T)
store_record(::Type{<:Columns{T}}) where {T} = Tuple{map(slice_of, fieldtypes(with_fields(T)))...}
store_text(::Type{<:AbstractVector{T}}) where {T} = "rows " * data_text(T)
store_text(::Type{<:Columns{T}}) where {T} = "columns " * data_text(T)

record_of(::Type{C}) where {C<:AbstractVector} = store_record(C)
text_of(::Type{C}) where {C<:AbstractVector} = store_text(C)
record_of(::Type{<:AbstractArray{T,N}}) where {T,N} = Tuple{slice_of(T),NTuple{N,UInt64}}
text_of(::Type{<:AbstractArray{T,N}}) where {T,N} = string("array ", N, " ", data_text(T))
record_of(::Type{C}) where {C<:Sequences} = slice_of(eltype(C))
text_of(::Type{<:GenericList{T}}) where {T} = "list " * data_text(T)
text_of(::Type{<:GenericStack{T}}) where {T} = "stack " * data_text(T)
text_of(::Type{<:GenericQueue{T}}) where {T} = "queue " * data_text(T)
record_of(::Type{<:AbstractSet{K}}) where {K} = slice_of(K)
text_of(::Type{<:AbstractSet{K}}) where {K} = "set " * data_text(K)
record_of(::Type{<:AbstractDict{K,V}}) where {K,V} = Tuple{slice_of(K),slice_of(V)}
text_of(::Type{<:AbstractDict{K,V}}) where {K,V} = string("dict ", data_text(K), " ", data_text(V))

store_type(::Type{<:DequePool{T,I,S}}) where {T,I,S} = S
store_type(::Type{<:FreeListPool{T,I,S}}) where {T,I,S} = S
store_type(::Type{<:FrozenPool{T,I,S}}) where {T,I,S} = S
record_of(::Type{C}) where {C<:AbstractPool} = Tuple{store_record(store_type(C)),Slice{UInt64}}
text_of(::Type{C}) where {T,I,C<:AbstractPool{T,I}} = string("pool ", data_text(I), " ", store_text(store_type(C)))

const Several = Union{Tuple,NamedTuple}
record_of(::Type{C}) where {C<:Several} = Tuple{map(record, fieldtypes(C))...}
text_of(::Type{C}) where {C<:Several} =
    string("(", join((string(fieldname(C, k), ":", described(fieldtype(C, k))) for k in 1:fieldcount(C)), ","), ")")

function layout_hash_of(@nospecialize(C)) # FNV-1a; 0 means none
    hash = 0xcbf29ce484222325
    for byte in codeunits(described(C))
        hash = xor(hash, byte) * 0x00000100000001b3
    end
    return max(hash, one(hash))
end

# ---- the image of a file: header and content, whose pointers are offsets ----

const COLUMN_ALIGNMENT = 64

# Bytes of padding between elements of this type, which are zeros in the file.
function padding_of(@nospecialize(T))
    unused = trues(stride_of(T))
    mark_used!(unused, T, 0)
    return findall(unused)
end
function mark_used!(unused, @nospecialize(T), at)
    isprimitivetype(T) && return unused[at+1:at+sizeof(T)] .= false
    foreach(k -> mark_used!(unused, fieldtype(T, k), at + Int(fieldoffset(T, k))), 1:fieldcount(T))
end

# Stores elements, each with its place from 1 to n, from this offset on.
function store_elements!(image::Vector{UInt8}, at::Int, ::Type{T}, numbered, n::Int) where {T}
    padding, stride = padding_of(T), stride_of(T)
    for (k, x) in numbered
        1 <= k <= n || throw_changing()
        GC.@preserve image unsafe_store!(Ptr{T}(pointer(image, at + 1)), x::T, k)
        for byte in padding
            image[at+(k-1)*stride+byte] = 0x00
        end
    end
    return nothing
end
@noinline throw_changing() = throw(ArgumentError("freeze: a collection changed while it was written"))

function enlarge!(image::Vector{UInt8}, bytes::Int)
    had = length(image)
    resize!(image, had + bytes)
    fill!(view(image, had+1:had+bytes), 0x00)
    return had
end

# Places to which nothing is stored are zeros.
function column!(image::Vector{UInt8}, ::Type{T}, numbered, n::Int) where {T}
    at = enlarge!(image, cld(n * stride_of(T), COLUMN_ALIGNMENT) * COLUMN_ALIGNMENT)
    store_elements!(image, at, T, numbered, n)
    return Slice{T}(Ptr{T}(UInt(at)), n)
end
column!(image::Vector{UInt8}, ::Type{T}, elements) where {T} = column!(image, T, enumerate(elements), length(elements))

put!(image, x::C) where {C} = isbitstype(C) ? x : put_of!(image, x)
put_of!(image, v::AbstractVector{T}) where {T} = column!(image, T, v)
put_of!(image, a::AbstractArray{T}) where {T} = column!(image, T, a), map(UInt64, size(a))
put_of!(image, c::Columns) = map(v -> column!(image, eltype(v), v), c.vectors)
put_of!(image, c::Sequences) = column!(image, eltype(c), c)
put_of!(image, s::AbstractSet{K}) where {K} = column!(image, K, in_order(s, collect(s), identity))
function put_of!(image, d::AbstractDict{K,V}) where {K,V}
    pairs = in_order(d, collect(d), first)
    return column!(image, K, map(first, pairs)), column!(image, V, map(last, pairs))
end
put_of!(image, all::Several) = map(x -> put!(image, x), Tuple(all))

in_order(::Union{Sorted,FrozenSorted}, elements, by) = elements
in_order(c, elements, by) = sort!(elements; by=by)

function put_of!(image, p::AbstractPool)
    n = mapreduce(Int, max, eachindex(p); init=0)
    live = zeros(UInt64, cld(n, 64))
    for i in eachindex(p)
        live[(Int(i)-1)>>>6+1] |= one(UInt64) << ((Int(i) - 1) & 63)
    end
    return put_slots!(image, store_type(typeof(p)), p, n), column!(image, UInt64, live)
end

put_slots!(image, ::Type{<:AbstractVector{T}}, p, n) where {T} =
    column!(image, T, ((Int(i), p[i]) for i in eachindex(p)), n)
put_slots!(image, ::Type{<:Columns{T}}, p, n) where {T} =
    ntuple(fieldcount(with_fields(T))) do k
        column!(image, fieldtype(with_fields(T), k), ((Int(i), p[i, k]) for i in eachindex(p)), n)
    end

# Offsets of the pointers in a record. Data has none.
function pointer_offsets(@nospecialize(R), at::Int=0)
    R <: Ptr && return [at]
    offsets = Int[]
    isprimitivetype(R) && return offsets
    for k in 1:fieldcount(R)
        append!(offsets, pointer_offsets(fieldtype(R, k), at + Int(fieldoffset(R, k))))
    end
    return offsets
end

# Rule F3.
function frozen_base(sum::UInt64, align::UInt)
    start = max(align, UInt(2)^(WORD == 4 ? 29 : 45))
    return start + (UInt(sum >> 32) * align) % start
end

function finish!(image::Vector{UInt8}, @nospecialize(R), layout, layout_hash)
    start, size = Int(FROZEN_START), length(image)
    enlarge!(image, frozen_bits(size))
    GC.@preserve image begin
        content = pointer(image)
        words = unsafe_wrap(Array, Ptr{UInt64}(content), length(image) ÷ 8)
        at = [start + offset for offset in pointer_offsets(R)]
        for offset in at
            k = offset ÷ WORD
            words[size÷8+k÷64+1] |= one(UInt64) << (k % 64)
        end
        body() = max(1, frozen_checksum(one(UInt64), words, FROZEN_HEADER ÷ 8 + 1, length(words)))
        base = frozen_base(body(), frozen_alignment(length(image)))
        foreach(offset -> (p = Ptr{UInt}(content + offset); unsafe_store!(p, unsafe_load(p) + base)), at)
        name = ntuple(k -> k <= ncodeunits(layout) ? codeunit(layout, k) : 0x00, 32)
        header = FrozenHeader(Tuple(FROZEN_MAGIC), FROZEN_ORDER, FROZEN_VERSION, WORD, base, size, start, length(at),
                              layout_hash, name, body(), 0)
        unsafe_store!(Ptr{FrozenHeader}(content), header)
        words[13] = frozen_checksum(zero(UInt64), words, 1, 12)
    end
    return image
end

# ---- the file ----

function write_all(file, bytes::Vector{UInt8})
    done = 0
    while done < length(bytes)
        part = min(length(bytes) - done, 1 << 30)
        n = GC.@preserve bytes ccall(:jl_fs_write, Int32, (Base.OS_HANDLE, Ptr{UInt8}, Csize_t, Int64), file.handle,
                                     pointer(bytes, done + 1), part, -1)
        Base.uv_error("freeze: write", n)
        done += n
    end
end

# Waits until the file is on the disk.
sync_file(file) =
    Sys.iswindows() ? ccall((:FlushFileBuffers, "kernel32"), stdcall, Cint, (Base.OS_HANDLE,), file.handle) != 0 :
    ccall(:fsync, Cint, (Cint,), fd(file)) == 0

# Not every system has that for folders: its failure is ignored.
function sync_folder(path)
    Sys.isunix() || return nothing
    folder = try
        Base.Filesystem.open(isempty(dirname(path)) ? "." : dirname(path), Base.Filesystem.JL_O_RDONLY)
    catch
        return nothing
    end
    sync_file(folder)
    close(folder)
    return nothing
end

const LINKS_MAX = 40 # as for Linux

# Whether there is a regular file.
function is_regular(status, path)
    ispath(status) || return false
    isfile(status) || throw(SystemError("freeze: $path", isdir(status) ? Libc.EISDIR : Libc.EINVAL))
    return true
end

# Where a path leads to through symbolic links, as for open, and the status of the regular file that may be there.
function replaced_file(path)
    exists = is_regular(stat(path), path) # the system may not allow to follow the link
    for _ in 1:LINKS_MAX
        islink(path) || break
        path = joinpath(dirname(path), readlink(path))
    end
    old = lstat(path)
    if !is_regular(old, path) && exists # a name such as /dev/fd/3 leads to a file that has none
        throw(SystemError("freeze: $path", Libc.ENOENT))
    end
    return path, old
end

# Gives a new file the owner, group and mode of the one that it replaces. Where the process may not set the owner, the
# group at least; where it may not set the group, that gets the rights of all others only.
function keep_rights(file, old)
    Sys.isunix() || return nothing
    set_owner(owner, group) = ccall(:fchown, Cint, (Cint, UInt32, UInt32), fd(file), owner, group) == 0
    mode = UInt32(old.mode & 0o7777)
    if !set_owner(old.uid, old.gid)
        mode &= 0o777
        set_owner(typemax(UInt32), old.gid) || (mode = mode & 0o707 | (mode & 0o7) << 3)
    end
    systemerror("freeze: fchmod", ccall(:fchmod, Cint, (Cint, UInt32), fd(file), mode) != 0)
    return nothing
end

function replace_file(path, bytes)
    path, old = replaced_file(path)
    temporary = joinpath(dirname(path), string(".toft-", getpid(), "-", time_ns()))
    flags = Base.Filesystem.JL_O_WRONLY | Base.Filesystem.JL_O_CREAT | Base.Filesystem.JL_O_EXCL
    file = Base.Filesystem.open(temporary, flags, isfile(old) ? 0o600 : 0o666)
    try
        try
            isfile(old) && keep_rights(file, old)
            write_all(file, bytes)
            systemerror("freeze: fsync", !sync_file(file))
        finally
            close(file)
        end
        Base.uv_error("freeze: rename", ccall(:jl_fs_rename, Int32, (Cstring, Cstring), temporary, path))
    catch
        rm(temporary; force=true)
        rethrow()
    end
    sync_folder(path)
    return nothing
end

# ---- a record that is read ----

# Names such as SOAllocator{T} leave out parameters.
written_type(::Type{T}) where {T} = concretetype(T)
written_type(::Type{T}) where {T<:Tuple} = Tuple{map(written_type, fieldtypes(T))...}
written_type(::Type{T}) where {T<:NamedTuple} = NamedTuple{fieldnames(T),Tuple{map(written_type, fieldtypes(T))...}}

must_fit(f::Frozen, fits::Bool) = fits || throw(FrozenError(f.path, :corrupt))

function view_of(f::Frozen, s::Slice{T}) where {T}
    at, stride = UInt(s.at) - UInt(f.content), stride_of(T)
    must_fit(f, FROZEN_START <= at <= f.size && at % Base.datatype_alignment(T) == 0)
    must_fit(f, s.count <= (stride == 0 ? typemax(Int) >> 1 : (f.size - at) ÷ stride))
    return FrozenVector{T}(s.at, (s.count % Int,), f)
end

view_of(f::Frozen, ::Type{C}, r) where {C} = isbitstype(C) ? r : view_of_collection(f, C, r)
view_of_collection(f, ::Type{<:AbstractVector}, r) = view_of(f, r)
function view_of_collection(f, ::Type{<:AbstractArray{T,N}}, (slice, dims)) where {T,N}
    elements, n = view_of(f, slice), 1
    for d in dims
        must_fit(f, d <= typemax(Int) >> 1 && (n == 0 || d <= (typemax(Int) >> 1) ÷ n))
        n *= d % Int
    end
    must_fit(f, n == length(elements))
    return FrozenArray{T,N}(elements.at, map(d -> d % Int, dims), f)
end
view_of_collection(f, ::Type{<:GenericList}, r) = frozen_list(view_of(f, r))
view_of_collection(f, ::Type{<:GenericStack{T}}, r) where {T} = stack_on(T, frozen_list(view_of(f, r)))
view_of_collection(f, ::Type{<:GenericQueue{T}}, r) where {T} = queue_on(T, frozen_list(view_of(f, r)))
view_of_collection(f, ::Type{<:AbstractSet{K}}, r) where {K} = FrozenSortedSet{K}(view_of(f, r))

function view_of_collection(f, ::Type{<:Columns{T}}, r) where {T}
    vectors = map(s -> view_of(f, s), r)
    must_fit(f, all(v -> length(v) == length(vectors[1]), vectors))
    return Columns{T,typeof(vectors)}(vectors)
end

function view_of_collection(f, ::Type{<:AbstractDict{K,V}}, r) where {K,V}
    keys, vals = view_of(f, r[1]), view_of(f, r[2])
    must_fit(f, length(keys) == length(vals))
    return FrozenSortedDict{K,V}(keys, vals)
end

function view_of_collection(f, ::Type{C}, r) where {T,I,C<:AbstractPool{T,I}}
    store, live = view_of_collection(f, store_type(C), r[1]), view_of(f, r[2])
    n = length(store)
    must_fit(f, length(live) == cld(n, 64) && (n % 64 == 0 || live[end] >> (n % 64) == 0))
    return FrozenPool{T,I,typeof(store)}(store, live, mapreduce(count_ones, +, live; init=0))
end

@generated view_of_collection(f, ::Type{C}, r) where {C<:Tuple} =
    Expr(:tuple, (:(view_of(f, $(fieldtype(C, k)), r[$k])) for k in 1:fieldcount(C))...)
view_of_collection(f, ::Type{C}, r) where {N,T,C<:NamedTuple{N,T}} = NamedTuple{N}(view_of_collection(f, T, r))

# ---- the interface ----

"""
    Toft.freeze(path, value; layout = "")

Write a value to a frozen file, which [`open_frozen`](@ref) opens without parsing and [`Toft.content`](@ref) reads. The
value is

* a number, tuple or struct of an `isbits` type without pointers;
* a vector or array of any dimensions, [`Toft.Columns`](@ref), `List`, `Stack` or `Queue` of such elements;
* a set or dictionary of such keys and values, which is written in the order of `isless`;
* an [`Allocator`](@ref), [`SOAllocator`](@ref), [`FreeListAllocator`](@ref) or [`FreeListSOAllocator`](@ref) of such
  elements, whose live slots keep their indices; or
* a tuple or named tuple of these.

Any other type is an `ArgumentError` that names it, and nothing is written. `layout` is a name of the content and its
version, at most 31 bytes. The header has a hash of the types too.

The file is made in memory, written to a temporary file beside `path`, and renamed when it is on the disk: `path`
is the old file or the new one at any time. Processes that have the old one open keep it. Symbolic links are followed.
On Unix the new file has the owner, group and mode of the old one, as far as the process may set them; a group that it
may not set gets the rights of all others only. Errors of the system are a `Base.IOError` or a `SystemError`, also if
`path` leads to no regular file, and `path` is as before.

    julia> using Toft: SortedDict, freeze, content

    julia> path = tempname();

    julia> freeze(path, (primes = [2, 3, 5], squares = SortedDict(2 => 4, 3 => 9)); layout = "numbers 1")

    julia> T = NamedTuple{(:primes, :squares),Tuple{Vector{Int},SortedDict{Int,Int}}};

    julia> open_frozen(path; layout = "numbers 1") do f
               c = content(f, T)
               sum(c.primes), c.squares[3]
           end
    (10, 9)

    julia> rm(path)
"""
function freeze(path::AbstractString, value::C; layout::AbstractString="") where {C}
    ncodeunits(layout) < 32 && !('\0' in layout) ||
        throw(ArgumentError("freeze: a layout has at most 31 bytes, and none is 0"))
    R = record(C)
    image = zeros(UInt8, Int(FROZEN_START) + max(1, cld(sizeof(R), COLUMN_ALIGNMENT)) * COLUMN_ALIGNMENT)
    found = put!(image, value)
    store_elements!(image, Int(FROZEN_START), R, ((1, found),), 1)
    replace_file(String(path), finish!(image, R, String(layout), layout_hash_of(C)))
    return nothing
end

"""
    Toft.content(f::Frozen, T)

What [`Toft.freeze`](@ref) wrote, of the type `T`: numbers and structs as they were, and of collections views of the
file with the same functions, but for those that change a collection, which are an `ArgumentError`. Nothing is copied.

| `T` | the result |
|---|---|
| `isbits` | `T` |
| `Array`, any `AbstractArray` | [`Toft.FrozenArray`](@ref) |
| `Toft.Columns` | `Toft.Columns` of such vectors |
| `List`, `Stack`, `Queue` | `GenericList`, `GenericStack`, `GenericQueue` |
| a set, a dictionary | [`Toft.FrozenSortedSet`](@ref), [`Toft.FrozenSortedDict`](@ref) |
| a pool | [`Toft.FrozenPool`](@ref) |
| a tuple, a named tuple | one of these |

A [`FrozenError`](@ref) has the reason `:layout` if the file has other types: fields of structs have the same names,
types and places, while the struct's own name may differ. Its reason is `:corrupt` if a column is not in the file. So
an element of a damaged file may have any value, but no access leads outside of the file.
"""
function content(f::Frozen, ::Type{T}) where {T}
    must_be_open(f)
    C = written_type(T)
    R = record(C)
    f.layout_hash == layout_hash_of(C) || throw(FrozenError(f.path, :layout))
    return view_of(f, C, unsafe_load(root(f, R)))
end
