# SPDX-License-Identifier: MIT OR Apache-2.0
"""cleanups: order, number, cancelled ones; a node has four words, so only where these are 32 bytes"""
from .theme import USABLE, Theme

theme = Theme(__doc__, word=64)


@theme.case("cleanup: newest first, at release")
def newest_first_at_release(v):
    for id in "abc":
        v.cleanup(id)
        v.alloc(10)


@theme.case("cleanup: newest first, at reset, once")
def newest_first_at_reset_once(v):
    v.cleanup("a")
    v.cleanup("b")
    v.reset()
    v.reset()
    v.cleanup("c")


@theme.case("cleanup: by rewind, those since the mark")
def by_rewind_those_since_the_mark(v):
    v.cleanup("a")
    v.mark("m")
    v.cleanup("b")
    v.alloc(8)
    v.cleanup("c")
    v.mark("n")
    v.rewind("n")
    v.rewind("m")
    v.rewind("m")
    v.cleanup("d")
    v.rewind("m")
    v.alloc(8)


@theme.case("cleanup: by rewind over blocks")
def by_rewind_over_blocks(v):
    v.alloc(USABLE - 32)
    v.cleanup("a")
    v.mark("m")
    v.cleanup("b")
    v.alloc(300000)
    v.cleanup("c")
    v.alloc(30000)
    v.mark("n")
    v.cleanup("d")
    v.rewind("n")
    v.rewind("m")
    v.alloc(8)


@theme.case("cleanup: cancelled")
def cancelled(v):
    for id in "abcd":
        v.cleanup(id)
    v.cancel("b")
    v.cancel("d")
    v.mark("m")
    v.cleanup("e")
    v.cancel("e")
    v.rewind("m")


@theme.case("cleanup: in an idle initial block", reserve=9000)
def in_an_idle_initial_block(v):
    v.mark("m")
    v.cleanup("a")
    v.cleanup("b")
    v.rewind("m")
    v.cleanup("c")


@theme.case("cleanup: no budget for the node", budget=63)
def no_budget_for_the_node(v):
    v.cleanup("a")
    v.cleanup("b")
    v.budget(64)
    v.cleanup("c")
    v.alloc(1)


@theme.case("cleanup: the source fails for the node", fail_at=[2])
def source_fails_for_the_node(v):
    v.alloc(USABLE - 24)
    v.mark("m")
    v.cleanup("a")
    v.cleanup("b")
    v.rewind("m")


@theme.case("cleanup: not while a range is claimed")
def not_while_a_range_is_claimed(v):
    v.claim("r")
    v.cleanup("a")
    v.give("r")
    v.cleanup("b")


@theme.case("cleanup: a mark at the same place, before and after")
def mark_at_the_same_place(v):
    v.mark("m")
    v.cleanup("a")
    v.mark("n")
    v.rewind("n")
    v.cleanup("b")
    v.rewind("n")
    v.rewind("m")
    v.mark("o")
    v.cleanup("c")
    v.rewind("o")


@theme.case("cleanup: a node in a new block is newer than the block")
def node_in_a_new_block(v):
    v.alloc(USABLE - 8)
    v.mark("a")
    v.cleanup("a")
    v.mark("m")
    v.rewind_raw("m", epoch_plus=-2)
    v.alloc(8)


@theme.case("cleanup: a mark above the cursor: cleanups run, the cursor stays")
def mark_above_the_cursor(v):
    v.alloc(100, id="x")
    v.mark("m")
    v.free("x")
    v.cleanup("a")
    v.alloc(8)
    v.rewind("m")
    v.alloc(8)
    v.rewind("m")
    v.alloc(64)
    v.rewind("m")
    v.alloc(8)


@theme.case("cleanup: over resets, steady")
def over_resets_steady(v):
    def cycle():
        v.cleanup("a")
        v.alloc(20000)
        v.mark("m")
        v.cleanup("b")
        v.rewind("m")
        v.cleanup("c")
        v.reset()
    cycle()
    cycle()
    v.repeat(70, cycle)
