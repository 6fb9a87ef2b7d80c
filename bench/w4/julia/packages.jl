# Rivals from other packages: they are in the tables if they can be loaded, and reported as not installed otherwise.
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

# Their contenders for a case; each function has the arguments of that case's function.
const MORE = Dict{Function,Vector{Function}}(c => [] for c in (lists, stacks, queues, sets, dicts, scanned))

with_packages(case, given...) = vcat(case(given...), (more(given...) for more in MORE[case])...)

INSTALLED[:DataStructures] && include("datastructures.jl")
INSTALLED[:AVLTrees] && include("avltrees.jl")
