# AVLTrees: made inside the timing, as its users make it.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

@inline has(c::AVLTrees.AVLSet, k) = k in c
@inline add!(c::AVLTrees.AVLSet, k) = push!(c, k)
@inline ended(c::AVLTrees.AVLSet) = isempty(c)

push!(MORE[sets], order -> [
    Contender("AVLTrees AVLSet", n -> (keys = order(n); () -> set(AVLTrees.AVLSet{Int}(), keys)))])
