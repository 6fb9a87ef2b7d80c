# The examples in docstrings run, and print what they say: lines that begin with a prompt, and what stands under them.
# SPDX-License-Identifier: MIT OR Apache-2.0
module DocTests

using Test, Toft

# [(code, what it prints)] of a docstring.
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

@testset "examples of docstrings" begin
    ran = 0
    for documented in values(Base.Docs.meta(Toft)), doc in values(documented.docs)
        text = join(filter(part -> part isa AbstractString, collect(doc.text)))
        page = Module(:Page)
        Core.eval(page, :(using Toft))
        for (code, printed) in examples(text)
            ran += 1
            value = include_string(page, code)
            right = endswith(rstrip(code), ';') || printed == "" || shown(value) == printed
            right || println(code, "\nprints\n", shown(value))
            @test right
        end
    end
    @test ran > 10
end

end
