# SPDX-License-Identifier: MIT OR Apache-2.0
"""mark and rewind: nested, over blocks, forged, stale"""
from .theme import MIB, USABLE, Theme

theme = Theme(__doc__)


@theme.case("mark: nested in the initial block")
def nested_in_the_initial_block(v):
    v.mark("a")
    v.alloc(8)
    v.mark("b")
    v.alloc(100)
    v.mark("c")
    v.alloc(7)
    v.rewind("c")
    v.rewind("c")
    v.alloc(1000)
    v.rewind("b")
    v.alloc(8)
    v.rewind("a")
    v.alloc(8)


@theme.case("mark: over blocks")
def over_blocks(v):
    v.alloc(100, id="keep")
    v.mark("a")
    v.alloc(USABLE)
    v.mark("b")
    v.alloc(20000)
    v.mark("c")
    v.alloc(100000)
    v.alloc(500000)
    v.alloc(100)
    v.rewind("c")
    v.alloc(100000)
    v.rewind("b")
    v.alloc(8000)
    v.alloc(100000)                 # from the spares
    v.rewind("a")
    v.rewind("a")
    v.alloc(3000)
    v.alloc(4000)


@theme.case("mark: at the very end of a full block")
def at_the_very_end_of_a_full_block(v):
    v.alloc(USABLE)
    v.mark("a")
    v.alloc(8)
    v.alloc(8192 - 64 - 8)
    v.mark("b")
    v.alloc(8)
    v.rewind("b")
    v.alloc(0)
    v.alloc(16)
    v.rewind("a")
    v.alloc(0)
    v.alloc(8)


@theme.case("mark: dedicated blocks")
def dedicated_blocks(v):
    v.alloc(100)
    v.mark("a")
    v.alloc(300000)
    v.mark("b")
    v.alloc(100)
    v.alloc(400000)
    v.rewind("b")
    v.alloc(300)
    v.alloc(400000)                 # the spare of exactly that size
    v.alloc(400000)
    v.rewind("a")
    v.alloc(300000)
    v.alloc(100)


@theme.case("mark: on an idle initial block", reserve=20000)
def on_an_idle_initial_block(v):
    v.mark("a")
    v.alloc(0)
    v.rewind("a")
    v.alloc(100)
    v.alloc(40000)
    v.rewind("a")
    v.alloc(0)
    v.alloc(100)
    v.rewind("a")
    v.rewind("a")


@theme.case("mark: an idle initial block has no valid mark below its end", reserve=20000)
def below_the_end_of_an_idle_initial_block(v):
    v.mark("a")
    v.rewind_raw("a", plus=-8)
    v.rewind_raw("a", plus=8)
    v.rewind_raw("a", plus=-3584)
    v.alloc(100)
    v.rewind_raw("a", plus=-8)
    v.rewind("a")


@theme.case("mark: from before a reset")
def from_before_a_reset(v):
    v.mark("a")
    v.alloc(100)
    v.mark("b")
    v.reset()
    v.rewind("a")
    v.rewind("b")
    v.alloc(10000)
    v.mark("c")
    v.reset()
    v.rewind("c")
    v.alloc(10000)
    v.rewind("c")
    v.mark("d")
    v.reset()
    v.rewind("d")
    v.mark("e")
    v.alloc(50)
    v.rewind("e")


@theme.case("mark: in a block that was dropped")
def in_a_block_that_was_dropped(v):
    v.alloc(8)
    v.mark("a")
    v.alloc(USABLE)
    v.mark("b")
    v.alloc(8)
    v.rewind("a")
    v.rewind("b")
    v.alloc(USABLE)                   # the same block again, but not the same mark
    v.rewind("b")
    v.rewind("a")


@theme.case("mark: forged and foreign")
def forged_and_foreign(v):
    v.alloc(64)
    v.mark("a")
    v.alloc(64)
    v.rewind_raw("a", plus=4)
    v.rewind_raw("a", epoch_plus=1)
    v.rewind_raw("a", epoch_plus=2)
    v.rewind_raw("a", foreign=True)
    v.rewind_raw("a", plus=-72)     # below the first byte of the initial block
    v.alloc(USABLE)
    v.mark("b")
    v.rewind_raw("a", foreign=True)
    v.rewind_raw("a", epoch_plus=1)
    v.rewind_raw("b", foreign=True)
    v.rewind_raw("b", epoch_plus=-2)    # an address newer than its epoch
    v.rewind_raw("a", epoch_plus=2)     # an epoch newer than its address
    v.rewind_raw("a", epoch_plus=-4)
    v.rewind("a")


@theme.case("mark: an odd epoch, no multiple of 8, and a foreign address are refused")
def odd_epoch_and_foreign_address(v):
    v.alloc(8)
    v.mark("a")
    v.alloc(8)
    v.rewind_raw("a", plus=4)
    v.rewind_raw("a", epoch_plus=1)
    v.rewind_raw("a", foreign=True)
    v.budget("none")
    v.rewind_raw("a", epoch_plus=1)     # below the arena's epoch now, and odd
    v.rewind("a")
    v.alloc(8)


@theme.case("mark: the epoch grows only when it must", budget=5000)
def epoch_grows_only_when_it_must(v):
    v.alloc(8)
    v.mark("a")
    v.rewind_raw("a", epoch_plus=2)     # refused each time: it did not grow
    v.rewind_raw("a")
    v.rewind_raw("a", epoch_plus=2)
    v.alloc(100, id="x")
    v.resize("x", 200)
    v.resize("x", 50)
    v.alloc(20, 64)
    v.resize("x", 300)
    v.rewind_raw("a", epoch_plus=2)
    v.alloc(5000)
    v.alloc(8, 24)
    v.reset("nonsense")
    v.set_unknown()
    v.rewind_raw("a", plus=4)
    v.rewind_raw("a", epoch_plus=2)
    v.claim("r", 40)
    v.fill("r", 40)
    v.claim("r", 50)
    v.give("r")
    v.trim()
    v.rewind_raw("a", epoch_plus=2)
    v.rewind("a")
    v.rewind_raw("a", epoch_plus=2)
    v.alloc(8)


@theme.case("mark: the epoch does not grow when a dedicated block is given back")
def epoch_after_a_free_dedicated_block(v):
    v.alloc(300000, id="x")
    v.mark("a")
    v.free("x")
    v.rewind_raw("a", epoch_plus=2)
    v.alloc(8)
    v.rewind("a")
    v.alloc(8)


@theme.case("mark: a rewind that is refused does not note the peak", reserve=30000)
def refused_rewind_notes_no_peak(v):
    v.alloc(8)
    v.mark("a")
    v.alloc(20000)
    v.rewind_raw("a", epoch_plus=2)
    v.rewind("a")
    v.reset()                       # by its recent peak the round is a small one: the block goes
    v.alloc(8)


@theme.case("mark: one older than the arena is refused")
def one_older_than_the_arena_is_refused(v):
    v.mark("a")
    v.rewind_raw("a", epoch_plus=-2)
    v.alloc(8)
    v.rewind_raw("a", epoch_plus=-2)
    v.rewind("a")
    v.alloc(8)


@theme.case("mark: above the cursor does not move it")
def above_the_cursor_does_not_move_it(v):
    v.alloc(64, id="x")
    v.mark("a")
    v.free("x")
    v.rewind("a")
    v.alloc(16)
    v.rewind("a")
    v.alloc(USABLE)
    v.mark("b")
    v.rewind("a")
    v.alloc(8)


@theme.case("mark: stays valid after a rewind over a block edge")
def valid_after_a_rewind_over_a_block_edge(v):
    v.alloc(USABLE - 8)
    v.mark("a")
    v.alloc(64)
    v.rewind("a")
    v.alloc(8)
    v.rewind("a")
    v.alloc(64)
    v.alloc(64)
    v.rewind("a")
    v.alloc(64)


@theme.case("mark: rewinds over a block edge call the source once")
def ping_pong_over_a_block_edge(v):
    v.alloc(USABLE - 8)

    def edge():
        v.mark("a")
        v.alloc(64)
        v.alloc(100)
        v.rewind("a")
    edge()
    v.repeat(1000, edge)


@theme.case("mark: index numbers are given back")
def index_numbers_are_given_back(v):
    v.mark("a")
    v.alloc(300000)
    v.alloc(300000)
    v.mark("b")
    v.alloc(300000)
    v.rewind("b")
    v.alloc(301000)
    v.rewind("a")
    v.alloc(100000)
    v.alloc(300000)


@theme.case("spares: twice the peak of the round")
def spares_up_to_twice_the_peak(v):
    v.mark("a")
    for _ in range(6):
        v.alloc(MIB)
    v.rewind("a")
    for n in (6 * MIB, 5 * MIB + 5000, 5 * MIB):    # 6 of 1 MiB and 1 of 6 MiB are too much for 12 MiB
        v.alloc(n)
        v.rewind("a")
    for _ in range(6):
        v.alloc(MIB)
    v.rewind("a")
    v.trim()


@theme.case("spares: at most 4 MiB, the newest stay")
def spares_up_to_4_mib(v):
    v.mark("a")
    for n in (1900000, 2000000, 2090000, 2080000):
        v.alloc(n)
        v.rewind("a")
    v.trim(4 * MIB)
    v.alloc(2090000)
    v.alloc(2000000)
    v.rewind("a")
    v.reset("bytes", 0)


@theme.case("spares: full of sizes that are not requested any more")
def spares_of_unused_sizes(v):
    v.mark("a")
    v.alloc(2 * MIB - 64)
    v.rewind("a")
    v.alloc(2 * MIB + 4096 - 64)
    v.rewind("a")
    v.alloc(2 * MIB - 4096 - 64)
    v.rewind("a")
    v.alloc(USABLE - 8)

    def small():
        v.mark("b")
        v.alloc(64)
        v.rewind("b")
    small()
    v.repeat(20, small)


@theme.case("spares: an idle initial block keeps its first block, whatever its size", reserve=30 * MIB)
def spares_and_the_first_block(v):
    def first():
        v.mark("b")
        v.alloc(64)
        v.rewind("b")
    first()
    v.repeat(3, first)
    v.alloc(MIB)
    v.mark("c")
    v.alloc(31 * MIB)
    v.rewind("c")
    v.rewind("b")
