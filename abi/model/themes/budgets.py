# SPDX-License-Identifier: MIT OR Apache-2.0
"""budgets: exact to the byte"""
from .theme import USABLE, Theme

theme = Theme(__doc__)


@theme.case("budget: to the byte, in the initial block", budget=100)
def to_the_byte_in_the_initial_block(v):
    v.alloc(96)
    v.alloc(1)
    v.alloc(0)
    v.budget(103)
    v.alloc(1)
    v.budget(104)
    v.alloc(1)
    v.alloc(1)
    v.budget("none")
    v.alloc(5000)


@theme.case("budget: pads count", budget=200)
def pads_count(v):
    v.alloc(8)
    v.alloc(128, 64)
    v.alloc(1, 64)
    v.alloc(8)
    v.alloc(1)
    v.alloc(0, 64)


@theme.case("budget: a further block is not requested", budget=USABLE + 100)
def further_block_is_not_requested(v):
    v.alloc(USABLE)
    v.alloc(101)
    v.alloc(104)
    v.alloc(64, 128)
    v.alloc(32, 128)
    v.alloc(8)


@theme.case("budget: above a page's alignment, before the source is called", budget=4039)
def above_the_alignment_of_a_page(v):
    v.alloc(8, 8192)                # the page may need more, but not less than 4032 and 8
    v.alloc(300000, 8192)


@theme.case("budget: a further block, with the pad from its own start", budget=23967)
def further_block_with_its_pad(v):
    v.alloc(20000, 4096)
    v.budget(23968)
    v.alloc(20000, 4096)            # from 128 on: 3968 and 20000, though 4032 and 20000 might be needed
    v.alloc(1)


@theme.case("budget: a dedicated block, with its pad", budget=300000 + 192)
def dedicated_block_with_its_pad(v):
    v.alloc(300000 + 193)
    v.alloc(300001, 256)
    v.alloc(300000, 256)
    v.alloc(1)


@theme.case("budget: lowered under what is live")
def lowered_under_what_is_live(v):
    v.mark("a")
    v.alloc(1000, id="x")
    v.budget(500)
    v.alloc(1)
    v.alloc(0)
    v.resize("x", 1001)
    v.resize("x", 992)
    v.resize("x", 600)
    v.resize("x", 608)
    v.resize("x", 500)
    v.resize("x", 496)
    v.alloc(1)
    v.rewind("a")
    v.alloc(496)
    v.alloc(8)
    v.budget(0)
    v.alloc(8)
    v.alloc(0)
    v.reset()
    v.alloc(1)
    v.budget(8)
    v.alloc(1)


@theme.case("budget: below what is live, until a rewind")
def below_what_is_live_until_a_rewind(v):
    v.mark("a")
    v.alloc(1000)
    v.budget(500)
    v.alloc(1)
    v.alloc(0)
    v.rewind("a")
    v.alloc(496)
    v.alloc(8)
    v.budget(0)
    v.reset()
    v.alloc(1)
    v.budget(8)
    v.alloc(1)


@theme.case("budget: what adds nothing is served above it")
def what_adds_nothing_is_served_above_it(v):
    v.alloc(8)
    v.alloc(8, id="x")
    v.alloc(48)
    v.budget(10)
    v.resize("x", 0, 64)            # moves, to 576
    v.resize("x", 0, 256)           # would need a pad
    v.alloc(0, 64)


@theme.case("budget: gives back bytes by rewind, free and reset", budget=10000)
def gives_back_bytes_by_rewind_free_and_reset(v):
    v.alloc(3000)
    v.mark("a")
    v.alloc(7000)
    v.alloc(1)
    v.rewind("a")
    v.alloc(7001)
    v.alloc(6992, id="x")
    v.alloc(8, id="y")
    v.alloc(8)
    v.free("y")
    v.free("x")
    v.alloc(7000)
    v.reset()
    v.alloc(9000)
    v.alloc(1001)
    v.alloc(1000)


@theme.case("budget: a move needs both places", budget=1000)
def move_needs_both_places(v):
    v.alloc(400, id="x")
    v.alloc(8)
    v.resize("x", 600)
    v.resize("x", 592)


@theme.case("budget: a move to another block needs both places", budget=20000)
def move_to_another_block(v):
    v.alloc(400, id="x")
    v.alloc(8)
    v.resize("x", 19600)
    v.resize("x", 19592)


@theme.case("budget: a cleanup's node", word=64, budget=300000)
def node_of_a_cleanup(v):
    v.alloc(299998)                 # in a block of its own, before which the cursor stays
    v.cleanup("c")
    v.budget("none")
    v.cleanup("c")


@theme.case("budget: growing the newest in place", budget=1000)
def growing_the_newest_in_place(v):
    v.alloc(400, id="x")
    v.resize("x", 1001)
    v.resize("x", 1000)
    v.resize("x", 10)
    v.alloc(984)
    v.alloc(1)


@theme.case("budget: dedicated blocks and moves", budget=700000)
def dedicated_blocks_and_moves(v):
    v.alloc(300000, id="x")
    v.resize("x", 303000)
    v.resize("x", 400008)
    v.resize("x", 400000)
    v.alloc(300000, id="y")
    v.alloc(1)
    v.free("y")
    v.alloc(1)


@theme.case("budget: marks survive a change of budget")
def marks_survive_a_change_of_budget(v):
    v.alloc(8)
    v.mark("a")
    v.alloc(8)
    v.budget(1000)
    v.alloc(8)
    v.rewind("a")
    v.budget("none")
    v.rewind("a")
    v.alloc(8)


@theme.case("budget: a change makes a rewind note the peak", reserve=200000)
def change_makes_a_rewind_note_the_peak(v):
    v.alloc(8)
    v.mark("a")
    v.alloc(60000)
    v.budget("none")
    v.rewind("a")
    v.reset()                       # keeps the block for the 60008 bytes
    v.alloc(8)


@theme.case("budget: a rewind with the arena's epoch, bit 0 aside, does not note the peak")
def rewind_with_the_epoch_of_the_arena(v):
    v.alloc(4000)                   # a block of 16384
    v.alloc(12000, id="x")
    v.budget(100)                   # below live: bit 0 is set, and the rewind goes through ops
    v.mark("a")
    v.rewind("a")
    v.free("x")
    v.reset()                       # keeps the block for the 4000 bytes; for 16000 it would be too small
    v.budget("none")
    v.alloc(8)


@theme.case("budget: a refusal leaves marks and allocations as they were")
def refusal_changes_nothing(v):
    v.alloc(8)
    v.mark("a")
    v.alloc(100, id="x")
    v.alloc(8)
    v.budget(160)
    v.mark("b")
    v.alloc(48)
    v.alloc(10000)
    v.alloc(8, 24)
    v.resize("x", 200)
    v.rewind("b")
    v.alloc(40)
    v.rewind("b")
    v.rewind("a")
    v.alloc(8)


@theme.case("mark: an inline rewind is not noted", reserve=200000)
def inline_rewind_notes_no_peak(v):
    v.alloc(8)
    v.mark("a")
    v.alloc(60000)
    v.rewind("a")
    v.reset()
    v.alloc(8)


@theme.case("budget: limits a claimed range, and allocations outside it", budget=1000)
def claimed_range(v):
    v.alloc(100)
    v.claim("r")
    v.alloc(8)                      # the range has what remains of the budget
    v.alloc(0)
    v.fill("r", 401)
    v.budget(2000)
    v.give("r")
    v.alloc(488)
    v.claim("r", 16)
    v.claim("r", 8)
    v.claim("r")
    v.give("r")


@theme.case("budget: not a multiple of 8", budget=5007)
def not_a_multiple_of_8(v):
    v.claim("r")
    v.give("r")
    v.alloc(3000)
    v.claim("r")
    v.fill("r", 500)
    v.claim("r", 1500)
    v.claim("r", 1496)
    v.give("r")
    v.alloc(8)
