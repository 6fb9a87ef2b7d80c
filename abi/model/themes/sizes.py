# SPDX-License-Identifier: MIT OR Apache-2.0
"""sizes 0, 1, around 8, around the bytes that are left, and absurd ones"""
from .theme import KIB, USABLE, Theme

theme = Theme(__doc__)


@theme.case("size: small ones round up to 8")
def small_ones_round_up_to_8(v):
    for n in (0, 1, 7, 8, 9, 15, 16, 17, 0, 63, 64, 65):
        v.alloc(n)


def what_the_initial_block_has(v, d):
    v.alloc(USABLE + d, id="big")
    v.alloc(0)
    v.alloc(8)
    v.alloc(0)


for d in (-9, -8, -7, -1, 0, 1, 7, 8, 9):
    theme.add("size: what the initial block has, %+d" % d, what_the_initial_block_has, d)


def what_an_8_kib_block_has(v, d):
    v.alloc(USABLE)
    v.alloc(8)
    v.alloc(8192 - 64 - 8 + d)
    v.alloc(8)


for d in (-8, -1, 0, 1, 8):
    theme.add("size: what an 8 KiB block has, %+d" % d, what_an_8_kib_block_has, d)


def what_a_128_kib_block_has(v, d):
    v.alloc(30000)
    v.alloc(128 * KIB - 512 - 30000 + d)
    v.alloc(8)


for d in (-8, 0, 1, 8):
    theme.add("size: what a 128 KiB block has, %+d" % d, what_a_128_kib_block_has, d)


@theme.case("size 0: in a fresh arena, full and idle initial block")
def zero_in_a_fresh_arena(v):
    v.alloc(0)
    v.alloc(USABLE)
    v.alloc(0)
    v.alloc(0, 1)
    v.alloc(0, 64)
    v.alloc(8)
    v.alloc(10000)
    v.reset()
    v.alloc(0)
    v.alloc(0, 4096)
    v.alloc(8)


@theme.case("size 0: does not grow a full block, with a pad it does")
def zero_in_a_full_block(v):
    v.alloc(USABLE - 8)
    v.alloc(0)
    v.alloc(0, 16)
    v.alloc(8)
    v.alloc(8192 - 64 - 8 - 8)
    v.alloc(0, 16)
    v.alloc(0, 128)


@theme.case("size: absurd ones change nothing")
def absurd_ones_change_nothing(v):
    v.alloc(8)
    for n in ("max", "max-1", "max-6", "max-7", "max-8", "max-63", "max-4095", "half", "half+1", "half-8"):
        v.alloc(n)
        v.alloc(n, 64)
        v.alloc(n, 4096)
    v.alloc(8)
    v.resize("nothing", "max")
    v.claim("r", "max-7")


@theme.case("size 0: while claimed, and without a budget")
def zero_while_claimed(v):
    v.alloc(8)
    v.claim("r")
    v.alloc(0)
    v.give("r")
    v.budget(0)
    v.alloc(0)
    v.alloc(1)


@theme.case("size: zeroed, in used memory")
def zeroed_in_used_memory(v):
    v.mark("m")
    v.alloc(300)
    v.alloc(20000)
    v.rewind("m")
    v.alloc(100, zero=True)
    v.alloc(0, zero=True)
    v.alloc(20000, 64, zero=True)
    v.alloc(300000, zero=True)
    v.alloc("max", zero=True)
