# SPDX-License-Identifier: MIT OR Apache-2.0
"""every alignment, in the initial block, over block boundaries, in staggered blocks and in dedicated blocks"""
from .theme import USABLE, Theme

theme = Theme(__doc__)
ALIGNS = [1 << k for k in range(13)]


def every_place(v, a):
    v.alloc(1, a)
    v.alloc(8, a)
    v.alloc(24, a)
    v.alloc(0, a)
    v.alloc(3400, 8)
    v.alloc(100, a)             # over a block boundary
    v.alloc(100, a)
    v.alloc(9000, a)
    v.alloc(40000, a)
    v.alloc(5, a)
    v.alloc(300000, a)          # a dedicated block
    v.alloc(1, a)


for a in ALIGNS:
    theme.add("align %d" % a, every_place, a)


@theme.case("align: staggered starts 1 to 9")
def staggered_starts_1_to_9(v):
    v.alloc(200000)
    for a in (16, 128, 256, 512, 1024, 2048, 4096, 4096, 64, 4096):
        v.alloc(250000, a)
        v.alloc(250000, a)
        v.alloc(250000, a)
        v.alloc(250000, a)


@theme.case("align: the pad is what does not fit")
def pad_is_what_does_not_fit(v):
    v.alloc(USABLE - 72)
    v.alloc(8, 64, id="fits")       # cursor 4024, pad 8, 64 remain
    v.alloc(64 - 8)
    v.alloc(8)


@theme.case("align: pad and size fill a block exactly")
def pad_and_size_fill_a_block_exactly(v):
    v.alloc(8)
    v.alloc(USABLE - 64, 64)
    v.alloc(0)
    v.alloc(0, 4096)
    v.alloc(1)


@theme.case("align: size 0 that needs a pad")
def size_0_that_needs_a_pad(v):
    v.alloc(8)
    v.alloc(0, 64)
    v.alloc(0, 64)
    v.alloc(8)
    v.alloc(USABLE - 80 - 8)
    v.alloc(0, 4096)
    v.alloc(8)
    v.alloc(0, 4096)                # the pad does not fit: a further block


@theme.case("align: 0, no powers of two, and too large")
def invalid_alignments(v):
    for a in (0, 12, 24, 48, 4095, "half", "max", "half+1"):
        v.alloc(8, a)
        v.alloc(0, a)
    v.alloc(8)
