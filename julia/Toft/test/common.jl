# Shared by the tests: the length of random streams, element types, and the reports of streams.
# SPDX-License-Identifier: MIT OR Apache-2.0

const LONG = get(ENV, "TOFT_LONG", "0") != "0"
const ALL_TYPES = get(ENV, "TOFT_LONG", "0") == "1"
stream_length(n) = LONG ? 10n : n

# The k-th of some types goes with this one of the kinds of pools, or with all of them. Most of the time goes into
# compiling anew for each.
goes_with_one(k, kind) = kind == mod1(k, length(KINDS))
goes_with(k, kind) = ALL_TYPES || goes_with_one(k, kind)

# With --check-bounds=yes, @inbounds leaves nothing out.
const ALWAYS_CHECKED = Base.JLOptions().check_bounds == 1

# A stream has too many checks to record each: the first that does not hold ends it, with its operations.
must(ok::Bool, @nospecialize(what...)) = ok ? nothing : error(string(what...))

# What f throws, or nothing.
function thrown(@nospecialize(f), @nospecialize(arguments...))
    try
        f(arguments...)
    catch e
        return e
    end
    return nothing
end

throws(@nospecialize(E), @nospecialize(f), @nospecialize(arguments...)) = thrown(f, arguments...) isa E

# Has v refuse to grow: it shares its memory from now on. Where a Vector that shares its memory can grow (Julia 1.11 and
# later), the tests of growth that fails do not run, and say so.
share!(v::Vector) = reshape(v, 1, :)
const CAN_SHARE = let v = [1, 2], shared = share!(v)
    try
        resize!(v, 100)
        false
    catch
        length(shared) == 2
    end
end
CAN_SHARE || @info "not run: tests of growth that fails; a Vector of this Julia grows while it shares its memory"

# NaN is itself, and -0.0 is not 0.0.
same(@nospecialize(a), @nospecialize(b)) = isequal(a, b) && typeof(a) === typeof(b)

struct Point # bits
    x::Int
    y::Float64
end

struct Positive # an inner constructor that refuses some values
    value::Int
    twice::Int
    Positive(value::Int) = value > 0 ? new(value, 2value) : throw(DomainError(value))
end

struct Mixed # bits and references, stored inline
    number::Int
    name::String
    small::Union{Int8,Nothing}
end

struct Nested
    at::Point
    tag::Char
end

struct Empty end

mutable struct Box
    value::Int
end

struct Unfinished # one of its fields may be left undefined
    number::Int
    name::Any
    Unfinished(number) = new(number)
end

word(rng) = randstring(rng, 3)
