# Every name that the package exports is documented and there, and no two methods are ambiguous.
# SPDX-License-Identifier: MIT OR Apache-2.0

@testset "names" begin
    documented = Set(binding.var for binding in keys(Base.Docs.meta(Toft)))
    for name in names(Toft)
        @test isdefined(Toft, name)
        name in documented || println(name, " has no docstring")
        @test name in documented
    end
    @test isempty(detect_ambiguities(Toft))
end
