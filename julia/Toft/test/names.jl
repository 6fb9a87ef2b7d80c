# Every name that the package exports is documented and there, no two methods are ambiguous, and what the package uses
# of Base's own names is there: without one it works less well, and does not say so.
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

@testset "private names of Base" begin
    for name in (:isvatuple, :allocatedinline, :isbitsunion, :_unsetindex!, :format_bytes, :copymutable, :mergewith)
        isdefined(Base, name) || println("Base.", name, " is no more: Toft has a fallback")
        @test isdefined(Base, name)
    end
    @test isdefined(Base, :ismutabletype) == (VERSION >= v"1.7")
    @test isdefined(Base, :datatype_alignment)
    @test sizehint!(SortedSet{Int}(), 9; shrink=false) == Set()
    @test sizehint!(Stack{Int}(), 9; first=true) == Stack{Int}()
end
