# The arena of a task, and blocks of code that free their allocations.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    Toft.default_arena() -> Arena

The arena of the current task, made at the first call; its finalizer releases it after the task. Only the task may use
it. While a package is precompiled there is none: an `ErrorException`, as from [`Arena`](@ref).
"""
function default_arena()
    storage = task_local_storage()
    a = get(storage, DefaultArena(), nothing)
    a isa Arena && isopen(a) && return a
    a = Arena()
    storage[DefaultArena()] = a
    return a
end

struct DefaultArena end # the key in the task's storage

"""
    Toft.@no_escape begin ... end
    Toft.@no_escape arena begin ... end

Runs the block, then frees its allocations in the arena, and returns the block's value. Without an
argument the arena is the task's: [`Toft.default_arena`](@ref). Within the block `@alloc(T, dims...)` is an
[`ArenaArray`](@ref) of this arena, and `@alloc_ptr(bytes)` a `Ptr{Nothing}`; an inner `@no_escape` has its own.

The value must not be memory of the block: an `ArenaArray` of it is an `ArgumentError`, also as the parent of a view and
as an element of a tuple. `return` and `@goto` would leave the block without its end, and the macro refuses them. When
an exception passes, the memory is freed by the next end of a block around it, or by `reset!` of the arena;
[`scope`](@ref) gives it back at once, and costs a `try`.

`@alloc` belongs to the task that runs the block. In another one (`Threads.@threads`, `@spawn`, `@async` within the
block) it throws an `ErrorException`; a block in that task has the arena of that task.

    julia> using Toft: @no_escape

    julia> norm2(v) = @no_escape begin
               squares = @alloc(Float64, length(v))
               squares .= v .^ 2
               sum(squares)
           end;

    julia> norm2([3, 4])
    25.0
"""
macro no_escape(block)
    return no_escape(:($default_arena()), block)
end
macro no_escape(arena, block)
    return no_escape(esc(arena), block)
end

"""
    Toft.@alloc(T, dims...; align)

Within [`Toft.@no_escape`](@ref): an array of the block's arena. Elsewhere an error of the macro.
"""
macro alloc(_...)
    throw(ArgumentError("@alloc belongs into a @no_escape block"))
end

"""
    Toft.@alloc_ptr(bytes)

Within [`Toft.@no_escape`](@ref): memory of the block's arena, as a `Ptr{Nothing}`. Elsewhere an error of the macro.
"""
macro alloc_ptr(_...)
    throw(ArgumentError("@alloc_ptr belongs into a @no_escape block"))
end

function no_escape(arena, block)
    names = (arena=gensym(:arena), task=gensym(:task))
    a, m, value = names.arena, gensym(:mark), gensym(:value)
    body, compares = replace_allocs(block, names, false, false)
    begin_task = compares ? :($(names.task) = $current_task()) : nothing
    return quote
        $(esc(a)) = $arena::Arena
        $(esc(begin_task))
        $(esc(m)) = mark($(esc(a)))
        $(esc(value)) = $(esc(Expr(:let, Expr(:block), body)))
        rewind!($(esc(a)), $(esc(m)))
        is_freed($(esc(value))) && escaped()
        $(esc(value))
    end
end

macro_name(x) = x isa GlobalRef ? x.name : x isa Expr && x.head == :. ? macro_name(x.args[end]) :
                x isa QuoteNode ? macro_name(x.value) : x

# The block with its @alloc calls replaced, and whether one of them compares its task with the block's. In a function of
# its own `return` does not leave the block. Another task runs functions only, which a macro may make of its arguments:
# elsewhere is whether the code is within either.
replace_allocs(x, names, in_function, elsewhere) = x, false
function replace_allocs(x::Expr, names, in_function, elsewhere)
    x.head in (:quote, :inert) && return x, false
    if x.head == :macrocall
        name = macro_name(x.args[1])
        name === Symbol("@no_escape") && return x, false
        name === Symbol("@goto") && throw(ArgumentError("@goto in a @no_escape block"))
        if name in (Symbol("@alloc"), Symbol("@alloc_ptr"))
            arguments = x.args[3:end] # after the name and its line
            inner = map(y -> replace_allocs(y, names, in_function, elsewhere), arguments)
            call = allocation(name, names.arena, map(first, inner))
            elsewhere && (call = :($current_task() === $(names.task) || $other_task(); $call))
            return call, elsewhere || any(last, inner)
        end
        elsewhere = true
    end
    x.head == :return && !in_function && throw(ArgumentError("return in a @no_escape block"))
    in_function |= x.head in (:->, :function, :do) || x.head == :(=) && Meta.isexpr(x.args[1], (:call, :where))
    elsewhere |= in_function || x.head == :generator
    inner = map(y -> replace_allocs(y, names, in_function, elsewhere), x.args)
    return Expr(x.head, map(first, inner)...), any(last, inner)
end

function allocation(name, a, arguments)
    name === Symbol("@alloc_ptr") && return :($Ptr{$Nothing}($alloc($a, $(arguments...))))
    keywords = filter(x -> Meta.isexpr(x, :parameters), arguments) # of @alloc(T, n; align = 64)
    rest = filter(x -> !Meta.isexpr(x, :parameters), arguments)
    isempty(rest) && throw(ArgumentError("@alloc without a type"))
    dims = map(x -> Meta.isexpr(x, :(=)) ? Expr(:kw, x.args...) : x, rest[2:end]) # @alloc(T, n, align = 64)
    return Expr(:call, :($ArenaArray{$(rest[1])}), keywords..., a, undef, dims...)
end

@noinline other_task() =
    error("@alloc in another task than that of its @no_escape block: begin a @no_escape block in that task")

# Whether a value is memory that was freed.
@inline is_freed(x) = false
@inline is_freed(x::InArena) = !isvalid(x)
@inline is_freed(x::SubArray) = is_freed(parent(x))
@inline is_freed(x::Tuple) = any(is_freed, x)

@noinline escaped(block="a @no_escape") =
    throw(ArgumentError("the value of $block block is an array that the block allocated"))
