# The exceptions of pools and collections.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    PoolFullError(capacity)

A pool of fixed size has no free slot left, or one that grows has as many slots as its index type can number. The
pool is as it was.
"""
struct PoolFullError <: Exception
    capacity::Int
end

Base.showerror(io::IO, e::PoolFullError) = print(io, "PoolFullError: all ", e.capacity, " slots of the pool are taken")

"""
    StaleIndexError(index)

The slot with this index (or handle) was deallocated: it was used after that, or deallocated twice. The pool is as it
was.
"""
struct StaleIndexError <: Exception
    index::Any
end

Base.showerror(io::IO, e::StaleIndexError) =
    print(io, "StaleIndexError: slot ", e.index, " of the pool was deallocated")
