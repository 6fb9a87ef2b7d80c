# Commits one misuse, on purpose, and ends: `julia misuse.jl ROW`, a row of the tables in docs/checked.md. scripts/test
# misuse runs it, and compares the findings with the table.
# SPDX-License-Identifier: MIT OR Apache-2.0
using Toft
using Toft: alloc, reset!

write_at(p::Ptr{UInt8}, at) = unsafe_store!(p + at, 0x01)
bytes(a) = alloc(a, UInt8, 16)

function commit(row, a)
    if row == "overrun"
        write_at(bytes(a), 16)
    elseif row == "underrun"
        write_at(bytes(a), -1)
    elseif row == "write after rewind"
        m = Toft.mark(a)
        p = bytes(a)
        rewind!(a, m)
        write_at(p, 3)
    elseif row == "write after reset"
        p = bytes(a)
        reset!(a)
        write_at(p, 3)
    elseif row == "write after release"
        p = bytes(a)
        release!(a)
        write_at(p, 3)
    elseif row == "read after reset"
        p = bytes(a)
        write_at(p, 3)
        reset!(a)
        unsafe_load(p + 3) == 1 && println("it was still there")
    elseif row == "read before write"
        unsafe_load(bytes(a) + 3) == 1 && println("it happened to be 1")
    elseif row == "call after release"
        release!(a)
        bytes(a)
    elseif row == "double release"
        release!(a)
        release!(a)
    elseif row == "double free"
        p = bytes(a)
        Toft.deallocate!(a, p, 16)
        Toft.deallocate!(a, p, 16)
    elseif row == "wrong size"
        Toft.deallocate!(a, bytes(a), 24)
    elseif row == "stale mark"
        outer = Toft.mark(a)
        bytes(a)
        inner = Toft.mark(a)
        rewind!(a, outer)
        bytes(a)
        rewind!(a, inner)
    elseif row == "foreign pointer"
        other = Arena()
        Toft.deallocate!(a, bytes(other), 16)
        release!(other)
    elseif row == "overrun, alive at exit"
        arena() do alive # without a finalizer, which would release it before
            write_at(bytes(alive), 16)
            exit(0)
        end
    else
        println(stderr, "misuse: what is to be done?")
        exit(2)
    end
end

a = Arena()
commit(ARGS[1], a)
release!(a)
