# SPDX-License-Identifier: MIT OR Apache-2.0
"""resize and free: the newest, older ones, dedicated blocks"""
from .theme import MIB, USABLE, Theme

theme = Theme(__doc__)


@theme.case("resize: the newest grows and shrinks where it is")
def newest_grows_and_shrinks_where_it_is(v):
    v.alloc(10, id="x")
    for n in (16, 17, 100, 3, 0, 5, USABLE, USABLE - 1, 8):
        v.resize("x", n)
    v.alloc(8)


@theme.case("resize: an older one shrinks where it is and moves to grow")
def older_one_moves_to_grow(v):
    v.alloc(100, id="x")
    v.alloc(8, id="y")
    v.resize("x", 50)
    v.resize("x", 51)
    v.resize("x", 60)
    v.resize("y", 8)
    v.resize("y", 0)
    v.resize("y", 1)


@theme.case("resize: into the next block")
def into_the_next_block(v):
    v.alloc(3000, id="x")
    v.resize("x", USABLE)
    v.resize("x", USABLE + 1)
    v.resize("x", 20000)
    v.resize("x", 100000)
    v.resize("x", 300000)
    v.resize("x", 8)


@theme.case("resize: a dedicated block")
def dedicated_block(v):
    v.alloc(300000, id="x")         # 303104: up to 303040
    v.resize("x", 300001)
    v.resize("x", 303040)
    v.resize("x", 303041)           # moves, and the old block becomes a spare
    v.resize("x", 100)
    v.alloc(300000, id="y")
    v.resize("x", 400000)           # x is not in the newest block any more
    v.resize("y", 300000)
    v.resize("y", 500000)           # nor is y
    v.free("x")
    v.free("y")
    v.alloc(8)


@theme.case("resize: a dedicated block, too large for the spares")
def dedicated_block_too_large_for_the_spares(v):
    v.alloc(5 * MIB, id="x")
    v.resize("x", 6 * MIB)
    v.resize("x", 13 * MIB)
    v.free("x")
    v.trim()


@theme.case("resize: a dedicated block that shrank")
def dedicated_block_that_shrank(v):
    v.alloc(300000, id="x")
    v.resize("x", 100)
    v.resize("x", 301000)
    v.resize("x", 7)
    v.free("x")
    v.alloc(300000, 4096, id="y")   # at 4096: up to 303104 of 307200 is not all of it
    v.resize("y", 303104)
    v.resize("y", 303105)


@theme.case("resize: STAY")
def stay(v):
    v.alloc(100, id="x")
    v.resize("x", 200, stay=True)
    v.resize("x", USABLE, stay=True)
    v.resize("x", USABLE + 1, stay=True)
    v.resize("x", 8, stay=True)
    v.alloc(8)
    v.resize("x", 9, stay=True)
    v.resize("x", 4, stay=True)
    v.alloc(300000, id="y")
    v.resize("y", 303000, stay=True)
    v.resize("y", 304000, stay=True)
    v.resize("nothing", 8, stay=True)


@theme.case("resize: STAY refuses to move an older allocation")
def stay_of_an_older_allocation(v):
    v.alloc(100, id="x")
    v.alloc(8, id="y")
    v.resize("x", 105, stay=True)
    v.resize("x", 50, stay=True)
    v.resize("x", "max", stay=True)
    v.resize("x", 60)


@theme.case("resize: ZERO")
def zero(v):
    v.mark("m")
    v.alloc(3000)
    v.rewind("m")
    v.alloc(10, id="x")
    v.resize("x", 100, zero=True)
    v.resize("x", 20, zero=True)
    v.resize("x", 21, zero=True)
    v.alloc(8)
    v.resize("x", 500, zero=True)
    v.resize("x", 9000, zero=True)
    v.resize("x", 300000, zero=True)
    v.resize("x", 301000, zero=True)
    v.resize("nothing", 64, zero=True)


@theme.case("resize: alignment")
def alignment(v):
    v.alloc(8)
    v.alloc(8, id="x")              # at 520
    v.resize("x", 16, 8)
    v.resize("x", 16, 64)           # moves though nothing grows
    v.resize("x", 8, 64)
    v.resize("x", 300, 32)
    v.resize("x", 8, 4096, stay=True)
    v.resize("x", 8, 4096)
    v.resize("x", 8, 0)
    v.resize("x", 8, 24)
    v.resize("x", "max")
    v.resize("x", "half+1", 64)
    v.resize("x", 9)
    v.alloc(300000, 64, id="y")
    v.resize("y", 300000, 128)      # and the old block goes


@theme.case("resize: nothing is an allocation")
def nothing_is_an_allocation(v):
    v.resize("x", 8)
    v.resize("y", 0)
    v.resize("z", 10, 64)
    v.resize("x", 24)


@theme.case("resize: size 0")
def size_0(v):
    v.alloc(0, id="x")
    v.resize("x", 8)
    v.resize("x", 0)
    v.resize("x", 0)
    v.alloc(0, id="y")
    v.alloc(8)
    v.resize("y", 0)
    v.resize("y", 8)
    v.alloc(USABLE - 24, id="z")
    v.alloc(0, id="w")
    v.resize("w", 1)


@theme.case("free: the newest, and nothing else")
def free_the_newest(v):
    v.alloc(10, id="x")
    v.alloc(20, id="y")
    v.free("x")
    v.free("y")
    v.alloc(20, id="z")
    v.free("z")
    v.alloc(USABLE, id="w")
    v.alloc(0, id="v")
    v.free("v")
    v.free("w")


@theme.case("free: dedicated blocks, while newest")
def free_dedicated_blocks(v):
    v.alloc(300000, id="x")
    v.alloc(300000, id="y")
    v.alloc(8, id="s")
    v.free("x")
    v.free("y")
    v.alloc(400000, id="z")
    v.free("z")
    v.alloc(300000, id="w")         # the spare
    v.free("s")
    v.free("w")
    v.trim()


@theme.case("free: with a pad, the pad stays used")
def free_with_a_pad(v):
    v.alloc(8)
    v.alloc(64, 64, id="x")
    v.free("x")
    v.alloc(8)


@theme.case("free: the last of an older block stays")
def free_the_last_of_an_older_block(v):
    v.alloc(USABLE, id="x")
    v.alloc(100)
    v.free("x")
    v.alloc(8)
