# Rivals from other packages: they are in the tables when they can be loaded, and named as not installed otherwise.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

const PACKAGES = (:DataStructures, :AVLTrees)
const INSTALLED = Dict{Symbol,Bool}()

for name in PACKAGES
    INSTALLED[name] = Base.find_package(string(name)) !== nothing
    if INSTALLED[name]
        try
            @eval import $name
        catch wrong
            @error "$name is there and cannot be loaded" wrong
            INSTALLED[name] = false
        end
    end
    INSTALLED[name] || left_out(string(name), "not installed")
end

# What they add to a case; each is given what the function of that case is given.
const MORE = Dict{Function,Vector{Function}}(c => [] for c in (lists, stacks, queues, sets, dicts, scanned))

with_packages(case, given...) = vcat(case(given...), (more(given...) for more in MORE[case])...)

INSTALLED[:DataStructures] && include("datastructures.jl")
INSTALLED[:AVLTrees] && include("avltrees.jl")
