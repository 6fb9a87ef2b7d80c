# Cleanups: Julia functions that the provider runs when their point is freed. C gets one static function, and
# as its argument a Cleanup, which the arena keeps; so a cleanup that refers to its arena does not keep that for ever.
# SPDX-License-Identifier: MIT OR Apache-2.0

# Cleanups of arenas that are not ours: their provider may run them when nothing here refers to them any more.
const KEPT = IdDict{Cleanup,Nothing}()
const KEEPING = ReentrantLock()

# What C calls. An exception must not pass through C: it waits until the call that ran the cleanup returns; where
# no caller of ours waits, it is printed.
function run_cleanup(at::Ptr{Cvoid})
    c = unsafe_pointer_to_objref(at)::Cleanup
    c.done = true
    a = c.arena::Arena
    try
        a.owned || lock(() -> delete!(KEPT, c), KEEPING)
        Base.invokelatest(c.f)
    catch e
        if a.calling
            c.error = e
        else
            Core.println(Core.stderr, "Toft: error in a cleanup: ", sprint(showerror, e))
        end
    end
    nothing
end

"""
    cleanup!(f, a::Arena)

Has `f()` called once, when this point of the arena is rewound, reset or released; the newest first, before the memory
is freed.

    cleanup!(() -> ccall(:close, Cint, (Cint,), fd), a)

`f` may use other arenas, but not allocate from `a` nor rewind, reset or release it (`Toft.ArenaError`, `TOFT_EBUSY`).
What `f` throws is thrown by the `rewind!`, `reset!` or `release!` that ran it, after all cleanups have run and the
memory is freed; several as a `CompositeException`. When the finalizer releases the arena, `f` runs in the
finalizer: it must not wait, and what it uses may have been finalized before; exceptions are printed. The same
holds when C frees the memory, which must be on a thread of Julia's. A cleanup takes about 40 bytes of the arena, and
[`BudgetError`](@ref) or [`ArenaMemoryError`](@ref) if they are not available; `Toft.ArenaError` (`TOFT_EBUSY`) in a
cleanup of `a`.
"""
function cleanup!(f, a::Arena)
    head = opened(a)
    c = Cleanup(f, a, false, nothing)
    by_one_task(() -> register!(a, head, c), a)
end

function register!(a::Arena, head, c::Cleanup)
    a.cleanups === NO_CLEANUPS && (a.cleanups = Cleanup[])
    while !a.calling && !isempty(a.cleanups) && last(a.cleanups).done # another side gave back
        pop!(a.cleanups)
    end
    push!(a.cleanups, c)
    a.owned || lock(() -> KEPT[c] = nothing, KEEPING)
    node = op_cleanup(head, @cfunction(run_cleanup, Cvoid, (Ptr{Cvoid},)), pointer_from_objref(c))
    node != 0 && return nothing
    pop!(a.cleanups)
    a.owned || lock(() -> delete!(KEPT, c), KEEPING)
    throw_refused(a, UInt(5 * WORD), UInt(8), "cleanup!")
end

# After a call that may have run cleanups: throws their exceptions, and the error of the call's own code.
@inline check_cleanups(a::Arena, code, what) =
    isempty(a.cleanups) ? check(code, what) : check_cleanups_slow(a, code, what)

@noinline function check_cleanups_slow(a::Arena, code, what)
    errors = nothing
    while !isempty(a.cleanups) && last(a.cleanups).done
        c = pop!(a.cleanups)
        c.error === nothing && continue
        errors === nothing && (errors = Any[])
        push!(errors, c.error)
    end
    errors === nothing && return check(code, what)
    code < TOFT_OK && push!(errors, failure(code, what))
    throw(length(errors) == 1 ? errors[1] : CompositeException(errors))
end
