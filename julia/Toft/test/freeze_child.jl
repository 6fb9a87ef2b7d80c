# Another process of freeze.jl: reads its file, and then cannot write a larger one. Arguments: the file, one to write.
# SPDX-License-Identifier: MIT OR Apache-2.0
using Toft
using Toft: content, freeze

const NUMBERS = NamedTuple{(:squares, :names),Tuple{Toft.SortedDict{Int,Int},Toft.List{NTuple{4,UInt8}}}}

open_frozen(ARGS[1]; layout="numbers 1") do f
    c = content(f, NUMBERS)
    println(length(c.squares), " ", c.squares[77], " ", sum(values(c.squares)), " ", String(collect(last(c.names))))
end
try
    freeze(ARGS[2], ones(10^6))
    println("written")
catch e
    println(e isa Union{Base.IOError,SystemError} ? "refused" : sprint(showerror, e))
end
