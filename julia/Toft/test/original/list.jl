# A list of cells, as in a program for Allocators.jl: a cell is a tuple of an element and the index of the next.
# SPDX-License-Identifier: MIT OR Apache-2.0

const Cell{T,I} = Tuple{T,I}
const CellPool{T,I} = AbstractFreeListAllocator{Cell{T,I},I}

none(::CellPool{T,I}) where {T,I} = zero(I)
cons(car, cdr, pool::CellPool{T,I}) where {T,I} = allocateend!(pool, (car, cdr))

function prepend_all(elements, pool)
    list = none(pool)
    for x in elements
        list = cons(x, list, pool)
    end
    return list
end

function list_elements(list, pool::CellPool{T,I}) where {T,I}
    found = T[]
    while list != 0
        car, cdr = pool[list]
        push!(found, car)
        list = cdr
    end
    return found
end

# The cells stay where they are and point the other way.
function reverse_list!(list, pool)
    before = none(pool)
    while list != 0
        next = pool[list][2]
        pool[list] = (pool[list][1], before)
        before, list = list, next
    end
    return before
end

function free_list!(list, pool)
    while list != 0
        next = pool[list][2]
        deallocate!(pool, list)
        list = next
    end
    return none(pool)
end
