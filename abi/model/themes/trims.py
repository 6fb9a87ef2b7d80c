# SPDX-License-Identifier: MIT OR Apache-2.0
"""trim: spares, and the merged block"""
from .theme import MIB, USABLE, Theme

theme = Theme(__doc__)


@theme.case("trim: spares, newest first")
def spares_newest_first(v):
    v.mark("a")
    v.alloc(5000)
    v.alloc(20000)
    v.alloc(300000)
    v.alloc(100000)
    v.rewind("a")
    v.trim(10 * MIB)
    v.trim(860160)                  # just what there is
    v.trim(860159)
    v.trim(827392)
    v.trim(827391)
    v.trim(0)
    v.trim(0)
    v.alloc(5000)


@theme.case("trim: the merged block of an empty arena")
def merged_block_of_an_empty_arena(v):
    v.alloc(20000)
    v.reset()
    v.alloc(20000)
    v.reset()
    v.mark("a")
    v.trim(131072)
    v.trim(131071)
    v.rewind("a")
    v.alloc(100)
    v.alloc(20000)
    v.reset()
    v.trim()
    v.alloc(20000)
    v.trim()                        # not empty
    v.reset()
    v.alloc(8, id="x")
    v.trim()
    v.free("x")
    v.trim()
    v.alloc(8)


@theme.case("trim: the merged block and the spares, each at most so much", reserve=200000)
def merged_block_and_spares(v):
    v.alloc(8, id="x")
    v.mark("a")
    v.alloc(300000)
    v.rewind("a")
    v.free("x")
    v.trim(303104)                  # the spare has 303104, the block 262144
    v.trim(303103)
    v.trim(262143)
    v.alloc(8)


@theme.case("trim: a mark from before it is one of the initial block's first byte")
def marks_of_the_first_byte(v):
    v.alloc(20000)
    v.reset()
    v.mark("a")
    v.trim()
    v.mark("b")
    v.alloc(8)
    v.rewind_raw("a", foreign=True)
    v.alloc(16)
    v.rewind_raw("a", plus=4)
    v.rewind_raw("a", epoch_plus=1)
    v.rewind_raw("a", epoch_plus=-2)    # from before the reset
    v.rewind_raw("b", foreign=True)
    v.alloc(24)
    v.rewind_raw("a", plus=1 << 20)
    v.alloc(8)


@theme.case("trim: marks from before it stay valid")
def marks_from_before_it_stay_valid(v):
    v.alloc(20000)
    v.reset()
    v.mark("a")
    v.alloc(8, id="x")
    v.mark("b")
    v.free("x")
    v.trim()
    v.alloc(8)
    v.rewind("b")
    v.alloc(8)
    v.mark("c")
    v.alloc(4000)
    v.rewind("c")
    v.alloc(100)
    v.rewind("a")
    v.alloc(4000, id="y")           # a block again
    v.mark("d")
    v.free("y")
    v.trim()
    v.alloc(50)
    v.rewind("d")
    v.rewind("c")
    v.alloc(60)
    v.alloc(5000)
    v.rewind("a")
    v.reset()
    v.rewind("a")
    v.rewind("d")


@theme.case("trim: a mark on an idle initial block stays valid", reserve=100000)
def mark_on_an_idle_initial_block_stays_valid(v):
    v.mark("a")
    v.alloc(8, id="x")
    v.mark("b")
    v.free("x")
    v.trim()
    v.alloc(8)
    v.alloc(4000)
    v.rewind("a")
    v.alloc(8)
    v.rewind("b")
    v.alloc(8)


@theme.case("trim: forgets the size of the first block of an idle arena", reserve=30 * MIB)
def forgets_the_size_of_the_first_block(v):
    v.alloc(8, id="x")
    v.free("x")
    v.trim()
    v.mark("a")
    for n in (5000000, 5100000, 5200000):
        v.alloc(n)
        v.rewind("a")
    v.trim()


@theme.case("trim: an idle initial block stays idle", reserve=100000)
def idle_initial_block_stays_idle(v):
    v.trim()
    v.alloc(8, id="x")
    v.mark("a")
    v.free("x")
    v.trim()
    v.rewind("a")
    v.alloc(8)
    v.alloc(USABLE)


@theme.case("trim: the blocks in use stay")
def blocks_in_use_stay(v):
    v.alloc(USABLE)
    v.alloc(10000)
    v.mark("a")
    v.alloc(300000)
    v.rewind("a")
    v.trim()
    v.alloc(10)
