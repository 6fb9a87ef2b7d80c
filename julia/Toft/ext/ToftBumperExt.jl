# Toft's arenas as buffers of Bumper.jl: its `@no_escape arena begin ... end` and `@alloc` work with an Arena. Julia 1.9
# and later load this file when both packages are loaded; before that, a program includes it.
# SPDX-License-Identifier: MIT OR Apache-2.0
module ToftBumperExt

import Bumper
using Toft: Toft, Arena, alloc, mark, reset!, rewind!

struct Checkpoint
    arena::Arena
    mark::Toft.Mark
end

@inline Bumper.alloc_ptr!(a::Arena, bytes::Int)::Ptr{Cvoid} = Ptr{Cvoid}(alloc(a, bytes))
@inline Bumper.checkpoint_save(a::Arena) = Checkpoint(a, mark(a))
@inline Bumper.checkpoint_restore!(c::Checkpoint) = rewind!(c.arena, c.mark)
Bumper.reset_buffer!(a::Arena) = (reset!(a); nothing)

end
