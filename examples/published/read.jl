# Reads a published list in Julia, without a package: read.jl PATH.
# SPDX-License-Identifier: MIT OR Apache-2.0
const ROOT = 4096 + 64
const SHARED_FIXED_NOREPLACE = 0x100001

struct Entry
    older::Ptr{Entry}
    name::Cstring
    key::Int64
end

struct Book
    generation::UInt64
    root::UInt64
    count::Int64
    sum::Int64
    newest::Ptr{Entry}
end

# Returns the address of the mapping, which stays.
open_published(path, layout) = open(path) do file
    header = read(file, 64)
    length(header) == 64 && header[1:8] == b"\x89TOFTP1\n" && rstrip(String(header[33:64]), '\0') == layout &&
        filesize(file) == reinterpret(UInt64, header[17:24])[1] > ROOT ||
        error("$path: no whole file of this version and layout")
    address, size = reinterpret(UInt64, header[9:24])
    at = ccall(:mmap, UInt64, (UInt64, Csize_t, Cint, Cint, RawFD, Int64), address, size, 1, SHARED_FIXED_NOREPLACE,
               RawFD(fd(file)), 0)
    at == address || error("$path: its $size bytes at 0x$(string(address; base=16)) are taken here")
    return address
end

function root(address, T)
    found = unsafe_load(Ptr{Ptr{T}}(address + ROOT)) # one load of an aligned word
    Threads.atomic_fence() # after it, so that it acquires
    return unsafe_load(found)
end

function total(next)
    count = sum = 0
    while next != C_NULL
        e = unsafe_load(next)
        count, sum, next = count + 1, sum + e.key + Base.sum(Int, codeunits(unsafe_string(e.name))), e.older
    end
    return count, sum
end

try
    b = root(open_published(ARGS[1], "book 1"), Book)
    total(b.newest) == (b.count, b.sum) || exit(3)
    println("generation $(b.generation), root $(b.root), sum $(b.sum)")
catch wrong
    println(stderr, sprint(showerror, wrong))
    exit(1)
end
