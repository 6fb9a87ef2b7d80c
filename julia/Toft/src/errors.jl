# The exceptions of pools and collections, and of memory that an arena does not get.
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

"""
    BudgetError(of, bytes, live, limit)

A budget refuses a request of `bytes` bytes, while `live` ones count for it: the arena's own (`of` is `"arena"`), that
of a tag (`"tag level/sound"`) or a [`Toft.Budget`](@ref) around the arena (`"budget tenant 7"`). The arena is as it
was.
"""
struct BudgetError <: Exception
    of::String
    bytes::Int
    live::Int
    limit::Int
end

Base.showerror(io::IO, e::BudgetError) =
    print(io, "BudgetError: ", e.bytes, " bytes, with ", e.live, " in use, exceed the limit of the ", e.of, ": ",
          e.limit, " bytes")

"""
    ArenaMemoryError(bytes, live, limit)

The system, or the source of the arena, has no memory for a request of `bytes` bytes, while `live` ones are in use.
`limit` is the budget of the arena, or the size of its range of addresses, or `nothing`. The arena is as it was.
"""
struct ArenaMemoryError <: Exception
    bytes::Int
    live::Int
    limit::Union{Nothing,Int}
end

Base.showerror(io::IO, e::ArenaMemoryError) =
    print(io, "ArenaMemoryError: no memory for ", e.bytes, " bytes, with ", e.live, " in use",
          e.limit === nothing ? "" : " and a limit of $(e.limit)")
