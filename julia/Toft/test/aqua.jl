# Aqua.jl's tests of a package: ambiguities, unbound parameters, exports, compat entries, piracy. They run where Aqua is
# installed, which is no dependency: it has no release for the oldest Julia that the package supports.
# SPDX-License-Identifier: MIT OR Apache-2.0

if Base.find_package("Aqua") === nothing
    @info "not run: Aqua's tests; Aqua is not installed"
    @test isempty(detect_ambiguities(Toft)) && isempty(detect_unbound_args(Toft))
else
    @eval import Aqua
    Base.invokelatest(Aqua.test_all, Toft)
end
