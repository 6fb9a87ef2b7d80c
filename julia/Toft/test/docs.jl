# The examples in docstrings run, and print the results shown: lines that begin with a prompt, and the lines under them.
# Their output is printed by this package, or alike by every release of Julia.
# SPDX-License-Identifier: MIT OR Apache-2.0
module DocTests

using Test, Toft

# [(code, its output)] of a docstring.
function examples(text)
    found = Tuple{String,String}[]
    for line in split(text, '\n')
        if startswith(line, "    julia> ")
            push!(found, (line[12:end], ""))
        elseif startswith(line, "    ") && !isempty(found)
            code, printed = found[end]
            found[end] = printed == "" && startswith(line, "           ") ? (code * "\n" * line[12:end], "") :
                         (code, printed * line[5:end] * "\n")
        end
    end
    return found
end

shown(value) = value === nothing ? "" : repr("text/plain", value; context=:limit => true) * "\n"

# How Base prints its own containers differs between releases: Array{Int64,1}, Vector{Int64}.
of_a_release(printed) = occursin(r"\b(Array|Vector|Matrix|Dict|Set|Tuple|NamedTuple|Union)\{|-element |×", printed)

@testset "examples of docstrings" begin
    @test of_a_release("2-element Vector{Int64}:") && of_a_release("Dict{Int64,Int64}()")
    @test !of_a_release("List{Int64}([1])")
    ran = 0
    for M in (Toft, Toft.Allocators), documented in values(Base.Docs.meta(M)), doc in values(documented.docs)
        text = join(filter(part -> part isa AbstractString, collect(doc.text)))
        page = Module(:Page)
        Core.eval(page, :(using Toft))
        for (code, printed) in examples(text)
            ran += 1
            value = include_string(page, code)
            printed = replace(printed, "Int64" => string(Int))
            right = endswith(rstrip(code), ';') || printed == "" || shown(value) == printed
            of_a_release(printed) && println(code, "\nprints what releases of Julia print in different ways")
            @test !of_a_release(printed)
            right || println(code, "\nprints\n", shown(value))
            @test right
        end
    end
    @test ran > 10
end

# docs/make.jl makes the pages, and fails for a public name that is on none of them; it needs Documenter.
@testset "pages" begin
    folder, sources = joinpath(@__DIR__, "..", "docs", "src"), joinpath(@__DIR__, "..", "src")
    pages = join(read(joinpath(folder, page), String) for page in readdir(folder))
    for file in readdir(sources)
        listed = occursin("\"$file\"", pages) || file == "Toft.jl"
        @test listed || !occursin("\n\"\"\"\n", read(joinpath(sources, file), String))
    end
    for m in eachmatch(r"\"(\w+\.jl)\"", pages)
        @test isfile(joinpath(sources, m.captures[1]))
    end
end

end
