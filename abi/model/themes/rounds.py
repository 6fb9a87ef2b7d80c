# SPDX-License-Identifier: MIT OR Apache-2.0
"""reset and trim under every policy"""
from .theme import Theme

theme = Theme(__doc__)


@theme.case("round: every policy gives back everything")
def every_policy_gives_back_everything(v):
    for policy, keep in (("recent", 0), ("all", 0), ("bytes", 0), ("bytes", 100000), ("bytes", "max")):
        v.alloc(100)
        v.alloc(5000, 64)
        v.alloc(100000)
        v.reset(policy, keep)
        v.alloc(0)
        v.reset(policy, keep)
    v.alloc(8)
    v.reset("nonsense")
    v.alloc(8)


@theme.case("round: no mark from before a reset")
def no_mark_from_before_a_reset(v):
    v.mark("a")
    v.alloc(100)
    v.mark("b")
    v.reset()
    v.rewind("a")
    v.rewind("b")
    v.alloc(200)
    v.rewind("a")
    v.rewind("b")
    v.mark("c")
    v.alloc(8)
    v.rewind("c")


@theme.case("round: trim leaves what is allocated, and marks")
def trim_leaves_what_is_allocated_and_marks(v):
    v.alloc(1000)
    v.mark("a")
    v.alloc(70000)
    v.mark("b")
    v.alloc(400000)
    v.rewind("b")
    v.trim()
    v.alloc(8)
    v.rewind("b")
    v.rewind("a")
    v.trim("max")
    v.trim(5000)
    v.alloc(70000)
    v.rewind("a")
    v.reset()
    v.trim()
    v.alloc(70000)


@theme.case("round: cleanups run once, newest first", word=64)
def cleanups_run_once_newest_first(v):
    def cycle():
        v.cleanup("a")
        v.alloc(5000)
        v.cleanup("b")
        v.mark("m")
        v.cleanup("c")
        v.rewind("m")
        v.cleanup("c")
        v.reset()
    for _ in range(3):
        cycle()
    v.cleanup("d")
    v.reset()
    v.reset()
    v.cleanup("e")
