# Compiles the C library into deps/libtoft.so, .dylib or .dll. Its source is deps/toft.c, which a released package
# carries, or c/src/toft.c where the package is part of the repository. Nothing else is written.
# Without a C compiler this prints a warning and succeeds, because pools and collections do not need the library.
# ENV["CC"] names the compiler, with arguments if need be; else cc, gcc and clang are tried.
# SPDX-License-Identifier: MIT OR Apache-2.0
using Libdl

const HERE = @__DIR__
const RELEASED = joinpath(HERE, "toft.c")
const TREE = normpath(joinpath(HERE, "..", "..", "..", "c"))
const SOURCE = isfile(RELEASED) ? `$RELEASED` : `-I $(joinpath(TREE, "include")) $(joinpath(TREE, "src", "toft.c"))`
const LIBRARY = joinpath(HERE, "libtoft." * Libdl.dlext)

# No TOFT_BUILD where it is not needed for exports: it asks for thread-local storage that is scarce for libraries
# which, like this one, are loaded late.
const FLAGS = Sys.iswindows() ? `-std=c11 -O2 -shared -DTOFT_SHARED -DTOFT_BUILD` :
              `-std=c11 -O2 -fPIC -shared -fvisibility=hidden -pthread`

function build()
    named = split(get(ENV, "CC", ""))
    compilers = isempty(named) ? [`cc`, `gcc`, `clang`] : [Cmd(String.(named))]
    found = filter(c -> Sys.which(c.exec[1]) !== nothing, compilers)
    if isempty(found)
        @warn "Toft: no C compiler (ENV[\"CC\"], cc, gcc, clang), so there are no arenas; pools and collections " *
              "work. With one on PATH: import Pkg; Pkg.build(\"Toft\")"
        return
    end
    unfinished = LIBRARY * ".part" # moved into place whole: a running Julia may have the old one loaded
    try
        run(`$(first(found)) $FLAGS -o $unfinished $SOURCE`)
        mv(unfinished, LIBRARY; force = true)
    finally
        rm(unfinished; force = true)
    end
end

build()
