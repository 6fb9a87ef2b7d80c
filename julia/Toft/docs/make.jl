# Makes the pages of the package from its docstrings, into docs/build, and fails for a public name without an entry and
# for a reference that leads nowhere:
#
#     julia --project=docs -e 'using Pkg; Pkg.develop(PackageSpec(path=pwd())); Pkg.instantiate()'
#     julia --project=docs docs/make.jl
#
# in the package's folder. Documenter 1 needs Julia 1.6. The examples of the docstrings are tested by test/docs.jl.
# SPDX-License-Identifier: MIT OR Apache-2.0
using Documenter, Toft

makedocs(;
    sitename = "Toft",
    modules = [Toft, Toft.Allocators],
    pages = ["Home" => "index.md", "Pools and collections" => "pools.md", "Arenas" => "arenas.md",
             "Frozen files" => "frozen.md"],
    format = Documenter.HTML(; edit_link = nothing, repolink = nothing),
    remotes = nothing,
    checkdocs = :public,
)
