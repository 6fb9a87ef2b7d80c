# SPDX-License-Identifier: MIT OR Apache-2.0
"""claim and give: the holder, and all other calls"""
from .theme import USABLE, Theme

theme = Theme(__doc__)


@theme.case("claim: fill and give")
def fill_and_give(v):
    v.alloc(100)
    v.claim("r")
    v.fill("r", 10)
    v.fill("r", 5)
    v.give("r")
    v.alloc(8)
    v.claim("r", 24)
    v.give("r")
    v.alloc(8)
    v.give("r")                     # nothing is claimed


@theme.case("claim: every other operation is refused")
def other_operations_are_refused(v):
    v.alloc(100, id="x")
    v.mark("a")
    v.claim("r")
    v.mark("b")
    v.fill("r", 100)
    v.claim("s")
    v.claim("s", 8)
    v.rewind("a")
    v.rewind("b")
    v.reset()
    v.reset("all")
    v.trim()
    v.free("x")
    v.budget(1000)
    v.give("s")
    v.give_past("r", 4000)
    v.give_past("r", -108)
    v.give("r")
    v.rewind("b")
    v.alloc(8)
    v.rewind("a")


@theme.case("claim: a resize goes outside the range")
def resize_goes_outside_the_range(v):
    v.alloc(20, id="w")
    v.alloc(300000, id="y")
    v.alloc(100, id="x")
    v.claim("r")
    v.resize("x", 50)               # the newest, but the cursor is not moved
    v.resize("x", 51, stay=True)
    v.resize("x", 60, zero=True)
    v.resize("w", 8)
    v.resize("w", 9)
    v.resize("y", 301000)
    v.resize("y", 301001, 128)
    v.fill("r", 8)
    v.give("r")
    v.alloc(300000, id="z")
    v.claim("r")
    v.resize("z", 303000)           # newest, alone in its block, which has space
    v.resize("z", 304000)           # moves: and the old block goes
    v.fill("r", 8)
    v.give("r")
    v.alloc(8)


@theme.case("claim: other allocations go outside the range")
def other_allocations_go_outside_the_range(v):
    v.alloc(100)
    v.claim("r")
    v.fill("r", 1)
    v.alloc(8)
    v.alloc(3000, 64)
    v.alloc(0)
    v.alloc(0, 64)
    v.alloc(1000)                   # a further block outside
    v.alloc(4032)
    v.alloc(300000)
    v.alloc(8, 4096)
    v.resize("nothing", 8)
    v.fill("r", 1)
    v.give("r")
    v.alloc(8)
    v.alloc(USABLE)


@theme.case("claim: a block outside is filled to its end")
def block_outside_is_filled_to_its_end(v):
    v.claim("r")
    v.alloc(8)
    v.alloc(4024)                   # all of the 4096
    v.alloc(0, 8)
    v.alloc(8)
    v.give("r")


@theme.case("claim: a block outside ends with its claim")
def block_outside_ends_with_its_claim(v):
    v.claim("r")
    v.alloc(8, id="x")
    v.give("r")
    v.claim("r")
    v.alloc(8, id="y")
    v.give("r")
    v.alloc(8)


@theme.case("claim: a block outside goes on while the claim grows")
def block_outside_while_the_claim_grows(v):
    v.claim("r")
    v.alloc(8)
    v.claim("r", 16)
    v.alloc(8)
    v.claim("r", 5000)
    v.alloc(8)
    v.claim("r", 300000)
    v.alloc(8)
    v.claim("r", "max")
    v.alloc(8)
    v.give("r")


@theme.case("claim: of nothing, the alignment is not looked at")
def alignment_of_nothing(v):
    v.claim("r", 0, 24)
    v.fill("r", 3)
    v.claim("r", 0, 0)
    v.claim("r", 0, "max")
    v.claim("r", 0, 64)
    v.give("r")
    v.alloc(8)


@theme.case("claim: a range that was given in another place")
def range_that_was_given_in_another_place(v):
    v.alloc(8)
    v.claim("r")
    v.copy("s", "r")
    v.fill("r", 16)
    v.give("r")
    v.claim("s")
    v.claim("s", 8)
    v.give("s")
    v.alloc(8)
    v.claim("r")
    v.give("r")


@theme.case("claim: not with a cursor that is elsewhere")
def not_with_a_cursor_that_is_elsewhere(v):
    v.alloc(100)
    v.claim("r", 10)
    v.claim_past("r", -24)
    v.claim_past("r", 8000)
    v.fill("r", -16)
    v.claim_past("r", -1)
    v.fill("r", 100)
    v.claim("r")
    v.claim_past("r", -1)
    v.give("r")
    v.alloc(8)


@theme.case("claim: meaningless arguments are refused before a closed arena")
def meaningless_arguments(v):
    v.claim("r")
    v.reset("nonsense")
    v.set_unknown()
    v.budget(1000)
    v.reset()
    v.give("r")
    v.reset("nonsense")
    v.set_unknown()
    v.alloc(8)


@theme.case("claim: release is ignored")
def release_is_ignored(v):
    v.alloc(100)
    v.claim("r")
    v.fill("r", 20)
    v.release_early()
    v.fill("r", 20)
    v.alloc(8)
    v.give("r")
    v.alloc(8)


@theme.case("claim: what is outside is not given back by free or resize")
def free_and_resize_outside(v):
    v.claim("r")
    v.alloc(1000, id="x")
    v.alloc(1000, id="y")
    v.give("r")
    v.resize("x", 1100)
    v.free("x")
    v.resize("y", 900)
    v.free("y")
    v.claim("r")
    v.alloc(1000, id="z")
    v.give("r")
    v.free("z")
    v.alloc(8)


@theme.case("claim: a mark from before gives back the blocks outside")
def mark_from_before(v):
    v.alloc(8)
    v.mark("a")
    v.claim("r")
    v.fill("r", 20)
    v.alloc(500)
    v.alloc(100)
    v.alloc(5000)
    v.give("r")
    v.alloc(8)
    v.rewind("a")
    v.alloc(8)
    v.claim("r")
    v.alloc(500)
    v.give("r")


@theme.case("claim: a mark made during the claim keeps older blocks outside")
def mark_during_the_claim(v):
    v.claim("r")
    v.alloc(500)
    v.mark("a")
    v.alloc(600)
    v.alloc(5000)
    v.fill("r", 64)
    v.give("r")
    v.rewind("a")
    v.alloc(8)


@theme.case("claim: growth by the holder")
def growth_by_the_holder(v):
    v.alloc(100)
    v.claim("r", 10)
    v.fill("r", 3000)
    v.claim("r", 100)               # in the same block
    v.claim("r", 400)               # does not fit
    v.fill("r", 7)
    v.claim("r", 20000, 64)
    v.alloc(8)
    v.claim("r", 300000)            # a dedicated block; the range stays where it is
    v.fill("r", 9)
    v.claim("r")
    v.give("r")
    v.alloc(8)


@theme.case("claim: text, byte by byte")
def text_byte_by_byte(v):
    v.claim("r", 10, 1)
    v.fill("r", -6)                 # the last of the 16 bytes are the holder's too
    v.fill("r", 5)
    v.fill("r", 20)
    v.claim("r", 3600, 1)
    v.fill("r", -3)
    v.give_past("r", -3600)
    v.give_past("r", -3598)
    v.fill("r", -3597)
    v.fill("r", 11)
    v.claim("r", 300001, 1)         # a dedicated block is not at the range's beginning
    v.give_past("r", -1)
    v.give("r")
    v.alloc(8)


@theme.case("claim: of nothing, on a full block")
def of_nothing_on_a_full_block(v):
    v.alloc(USABLE)
    v.claim("r")
    v.alloc(8)
    v.claim("r", 8)
    v.give("r")
    v.alloc(8)


@theme.case("claim: on an idle initial block", reserve=10000)
def on_an_idle_initial_block(v):
    v.claim("r")
    v.alloc(8)
    v.claim("r", 8)
    v.fill("r", 10)
    v.give("r")
    v.alloc(8)


@theme.case("claim: not a power of two, too large")
def not_a_power_of_two_too_large(v):
    v.claim("r", 8, 24)
    v.claim("r", 8, 0)
    v.claim("r", "max", 8)
    v.claim("r", 8, 32)
    v.fill("r", 8)
    v.claim("r", 8, 24)
    v.claim("r", "half+1")
    v.give("r")
    v.alloc(8)


@theme.case("claim: not given back with a cursor below it")
def not_given_back_with_a_cursor_below_it(v):
    v.alloc(100)
    v.claim("r", 16)
    v.give_past("r", -24)
    v.claim_past("r", -24)
    v.give("r")
    v.alloc(8)


@theme.case("claim: over resets")
def over_resets(v):
    def cycle():
        v.claim("r", 100)
        v.fill("r", 3000)
        v.claim("r", 5000)
        v.fill("r", 77)
        v.alloc(200)
        v.give("r")
        v.alloc(16)
        v.reset()
    cycle()
    cycle()
    v.repeat(20, cycle)


@theme.case("claim: counts from the range's start, not from what was allocated with it", budget=5000)
def budget_from_the_start_of_the_range(v):
    v.claim("r", 100)
    v.alloc(1416)  # 5000 less the 104 that are live and the 3480 of the range
    v.alloc(8)
    v.give("r")
    v.alloc(8)


@theme.case("claim: bytes that are not given back are live", budget=3000)
def bytes_not_given_back(v):
    v.alloc(1000)
    v.claim("r")
    v.fill("r", 1999)
    v.give("r")
    v.alloc(1)
    v.claim("r")
    v.give("r")
