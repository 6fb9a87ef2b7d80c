# The arena of a task, and blocks of code that free their allocations.
# SPDX-License-Identifier: MIT OR Apache-2.0

"""
    Toft.default_arena() -> Arena

Within a [`Toft.@no_escape`](@ref) block without an argument, the block's arena. Elsewhere the arena of the current
task, made at the first call; its finalizer releases it after the task. Only the task may use it. While a package is
precompiled there is none outside of blocks: an `ErrorException`, as from [`Arena`](@ref).
"""
function default_arena()
    inner = block_arena(current_task())
    inner === nothing || return inner
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

Runs the block, then frees its allocations in the arena, and returns the block's value. Without an argument the arena
is one that the thread keeps for its tasks: a task has it from the beginning of its outermost block to the end. Within
the block `@alloc(T, dims...)` is an [`ArenaArray`](@ref) of this arena, and `@alloc_ptr(bytes)` a `Ptr{Nothing}`; an
inner `@no_escape` has its own.

The block is the body of a `let`: a variable that is new in it ends with it, so what it computes is its value, or is
assigned to a variable from before. `break`, `continue`, `return` and `@goto` leave it as its end does. The value, of a
`return` too, must not be memory of the block: an `ArenaArray` of it is an `ArgumentError`, and where the type shows it,
so is one in a tuple, immutable struct, `Ref` or `Array`, under a view or another wrapper, and in what a generator or a
function refers to. One in a mutable struct or a `Vector{Any}` is not seen: using it throws. When an exception passes, a
block without an argument is freed at the latest when the same function, or one that called it, begins the next; one of
a given arena by the next end of a block around it, or by `reset!` of the arena. [`scope`](@ref) frees at once, and
costs a `try`. A `try` with `finally` within a block must not be left by these words, an `ArgumentError` of the macro:
`finally` would run after the memory was freed.

`@alloc` belongs to the task that runs the block. In another one (`@spawn`, `@async` within the block) it throws an
`ErrorException`; a block in that task has an arena of that task. The body of a `Threads.@threads` loop in a block
without an argument is a block of the task that runs it.

A function with a block is not inlined.

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
    return block_code(__module__, nothing, block)
end
macro no_escape(arena, block)
    return block_code(__module__, arena, block)
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

# A block is expanded in three steps: @alloc calls are replaced, and inner @no_escape calls get a head of their own; all
# other macros are expanded; then the ways out of the block are found. An inner block without an argument that lies in
# the same function has the arena of the outer one.

function block_code(mod, arena, block)
    names = (arena=gensym(:arena), task=gensym(:task), mark=gensym(:mark))
    body, compares = replace_allocs(block, names, arena === nothing, false, false)
    has_escapes(body) || (body = macroexpand(mod, body))
    return esc(complete(mod, arena, body, names, compares))
end

const INNER = Symbol("toft inner block")
has_escapes(x) = x isa Expr && (x.head === :escape || any(has_escapes, x.args))

# The code of a block whose macros are expanded; outer is the arena of a block around it in the same function.
function complete(mod, arena, body, names, compares, outer=nothing)
    a, m = names.arena, names.mark
    if arena === nothing && outer === nothing
        open, depth = gensym(:open), gensym(:depth)
        start = quote
            $(Expr(:meta, :noinline))
            $(open), $m, $depth = $begin_block($stack_place())
            $a = $open.arena
        end
        leave = :($end_block($open, $m, $depth))
    else
        start = :($a = $(arena === nothing ? outer : arena)::$Arena; $m = $mark($a))
        leave = :($rewind!($a, $m))
    end
    own = arena === nothing ? a : outer
    body = ways_out(mod, body, leave, own, (loop=false, guarded=false, labels=labels(body)))
    value = gensym(:value)
    return quote
        $start
        $(compares ? :($(names.task) = $current_task()) : nothing)
        $value = $(Expr(:let, Expr(:block), body))
        $leave
        $is_freed($value) && $escaped()
        $value
    end
end

# The labels of a block, without those of functions in it.
function labels(x, found=Symbol[])
    x isa Expr && !is_function(x) || return found
    x.head === :symboliclabel && push!(found, x.args[1])
    foreach(y -> labels(y, found), x.args)
    return found
end

is_function(x::Expr) = x.head in (:->, :function, :do, :macro, :generator) ||
                       x.head === :(=) && Meta.isexpr(x.args[1], (:call, :where, :(::))) && is_call(x.args[1])
is_call(x) = Meta.isexpr(x, :call) || Meta.isexpr(x, (:where, :(::))) && is_call(x.args[1])

# The code of a block with `leave` before each way out of it, and with inner blocks completed.
ways_out(mod, x, leave, own, at) = x
function ways_out(mod, x::Expr, leave, own, at)
    if x.head === INNER
        arena, body, names, compares = x.args
        inner = complete(mod, arena, body, names, compares, own)
        return ways_out(mod, inner, leave, own, at)
    end
    x.head in (:quote, :inert, :toplevel, :module, :meta, :line) && return restored(x)
    is_function(x) && return in_function(mod, x)
    if x.head === :return || x.head in (:break, :continue) && !at.loop ||
       x.head === :symbolicgoto && !(x.args[1] in at.labels)
        at.guarded && throw(ArgumentError("$(x.head) in a try with finally, in a @no_escape block"))
        x.head === :return || return Expr(:block, leave, x)
        value = gensym(:value)
        result = ways_out(mod, get(x.args, 1, nothing), leave, own, at)
        return Expr(:block, :($value = $result), leave, :($is_freed($value) && $escaped()), Expr(:return, value))
    end
    if x.head in (:for, :while)
        inside = merge(at, (loop=true,))
        return Expr(x.head, ways_out(mod, x.args[1], leave, own, at), ways_out(mod, x.args[2], leave, own, inside))
    elseif x.head === :try && length(x.args) >= 4 && x.args[4] !== false
        at = merge(at, (guarded=true,))
    end
    return Expr(x.head, (ways_out(mod, y, leave, own, at) for y in x.args)...)
end

# A function is left by `return` without an effect on the block around it, and so are its loops.
in_function(mod, x) = x
function in_function(mod, x::Expr)
    x.head === INNER && return complete(mod, x.args...)
    x.head in (:quote, :inert) && return restored(x)
    return Expr(x.head, (in_function(mod, y) for y in x.args)...)
end

# Quoted code is expanded when it is evaluated.
restored(x) = x
function restored(x::Expr)
    x.head === INNER || return Expr(x.head, map(restored, x.args)...)
    arguments = x.args[1] === nothing ? Any[] : Any[x.args[1]]
    return Expr(:macrocall, GlobalRef(Toft, Symbol("@no_escape")), LineNumberNode(0), arguments..., x.args[2])
end

macro_name(x) = x isa GlobalRef ? x.name : x isa Expr && x.head == :. ? macro_name(x.args[end]) :
                x isa QuoteNode ? macro_name(x.value) : x

# The block with its @alloc calls replaced, and whether one of them compares its task with the block's. Another task
# runs functions only, which a macro may make of its arguments: elsewhere is whether the code is within either.
# `shared`: the block has no argument.
replace_allocs(x, names, shared, in_function, elsewhere) = x, false
function replace_allocs(x::Expr, names, shared, in_function, elsewhere)
    x.head in (:quote, :inert) && return x, false
    if x.head == :macrocall
        name = macro_name(x.args[1])
        if name === Symbol("@no_escape")
            arguments = x.args[3:end]
            length(arguments) in (1, 2) || return x, false # an error of the macro
            return inner_block(length(arguments) == 1 ? nothing : arguments[1], arguments[end]), false
        elseif name in (Symbol("@alloc"), Symbol("@alloc_ptr"))
            arguments = x.args[3:end] # after the name and its line
            inner = map(y -> replace_allocs(y, names, shared, in_function, elsewhere), arguments)
            call = allocation(name, names.arena, map(first, inner))
            elsewhere && (call = :($current_task() === $(names.task) || $other_task(); $call))
            return call, elsewhere || any(last, inner)
        elseif name === Symbol("@threads") && shared && Meta.isexpr(x.args[end], :for)
            iterators, body = x.args[end].args
            inner = inner_block(nothing, Expr(:block, body, nothing)) # a loop's body has no value
            return Expr(:macrocall, x.args[1:end-1]..., Expr(:for, iterators, inner)), false
        end
        elsewhere = true
    end
    in_function |= is_function(x)
    elsewhere |= in_function
    inner = map(y -> replace_allocs(y, names, shared, in_function, elsewhere), x.args)
    return Expr(x.head, map(first, inner)...), any(last, inner)
end

function inner_block(arena, block)
    names = (arena=gensym(:arena), task=gensym(:task), mark=gensym(:mark))
    body, compares = replace_allocs(block, names, arena === nothing, false, false)
    return Expr(INNER, arena, body, names, compares)
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

# Whether the type of a value shows that it may have an array of an arena in it.
function shows_array(@nospecialize(T), above=())
    T <: ArenaArray && return true
    T isa Union && return shows_array(T.a, above) || shows_array(T.b, above)
    T isa DataType && isconcretetype(T) && !(T in above) || return false
    return any(F -> shows_array(F, (above..., T)), parts_of(T))
end
parts_of(@nospecialize(T)) = T <: Array ? (eltype(T),) : changeable(T) && !(T <: Base.RefValue) ? () : fieldtypes(T)

# Whether a value is memory that was freed, or has such in it. An array may be in itself, so there is a last level.
@inline is_freed(x, level=6) = has_freed(x, level)
@inline has_freed(x::ArenaArray, level) = !isvalid(x)
@generated function has_freed(x::T, level) where {T}
    shows_array(T) || return false
    T <: Array && return :(element_freed(x, level))
    fields = filter(k -> shows_array(fieldtype(T, k)), 1:fieldcount(T))
    freed(k) = :(isdefined(x, $k) && has_freed(getfield(x, $k), level - 1))
    return :(level > 0 && $(foldr((k, rest) -> :($(freed(k)) || $rest), fields; init=false)))
end
element_freed(v, level) = level > 0 && any(i -> isassigned(v, i) && has_freed(v[i], level - 1), eachindex(v))

@noinline escaped() =
    throw(ArgumentError("the value of a @no_escape block is an array that the block allocated"))
