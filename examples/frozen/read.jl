# Answers the same queries as read.c, in Julia: read.jl FILE NAME... LOAD_PATH must have the folder julia.
# SPDX-License-Identifier: MIT OR Apache-2.0
using Toft

# The structs of packages.h.

struct Text
    at::Ptr{UInt8}
    size::UInt64
end

struct Package
    name::Text
    version::Text
    description::Text
    depends::Ptr{Text}
    depends_count::UInt64
    kib::UInt64
end

struct Packages
    list::Ptr{Package}
    count::UInt64
    index::Ptr{UInt64}
    index_size::UInt64
end

string_of(t::Text) = unsafe_string(t.at, t.size)

same(t::Text, s::String) =
    t.size == sizeof(s) && GC.@preserve s ccall(:memcmp, Cint, (Ptr{UInt8}, Ptr{UInt8}, Csize_t), t.at, s, t.size) == 0

function find(all::Packages, name)
    hash = 0xcbf29ce484222325
    for byte in codeunits(name)
        hash = xor(hash, byte) * 0x00000100000001b3
    end
    while true
        number = unsafe_load(all.index, hash % all.index_size + 1)
        number == 0 && return nothing
        p = unsafe_load(all.list, number)
        same(p.name, name) && return p
        hash += 1
    end
end

function print_package(all, name)
    p = find(all, name)
    p === nothing && return println(name, " -")
    join(stdout, (string_of(p.name), string_of(p.version), p.kib, p.depends_count, string_of(p.description)), " ")
    println()
end

depends_on(p::Package, name) = any(d -> same(unsafe_load(p.depends, d), name), 1:p.depends_count)

needed_by(all, name) = count(i -> depends_on(unsafe_load(all.list, i), name), 1:all.count)

function main(path, names)
    start = time_ns()
    open_frozen(path; layout = "packages 1") do f
        all = unsafe_load(Toft.root(f, Packages))
        opened = time_ns() - start
        print_package(all, names[1])
        println("times ", opened, " ", time_ns() - start)
        for name in names
            print_package(all, name)
            println(name, " is needed by ", needed_by(all, name))
        end
        println("done")
        flush(stdout)
        read(stdin)
    end
end

main(ARGS[1], ARGS[2:end])
