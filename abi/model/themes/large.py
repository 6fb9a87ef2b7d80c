# SPDX-License-Identifier: MIT OR Apache-2.0
"""rounds of more than 64 MiB: nothing is merged any more"""
from .theme import MIB, Theme

theme = Theme(__doc__)


@theme.case("large: blocks are kept as they are")
def blocks_are_kept_as_they_are(v):
    def cycle():
        for _ in range(5):
            v.alloc(15 * MIB)
        v.allocs(250000, 4)
        v.reset()
    cycle()
    cycle()
    v.repeat(3, cycle)
    v.mark("a")
    v.alloc(8)
    v.rewind("a")                   # the spares are many, but a large round keeps them
    v.trim(20 * MIB)
    v.trim()
    for n in (5000000, 5100000, 5200000):
        v.alloc(n)
        v.rewind("a")


@theme.case("large: blocks that are three quarters full")
def blocks_that_are_three_quarters_full(v):
    def loose():
        v.allocs(262144, 264)
        v.reset()
    loose()
    v.repeat(3, loose)


@theme.case("large: to the byte")
def to_the_byte(v):
    v.alloc(64 * MIB - 512)
    v.reset()
    v.alloc(8)
    v.reset()
    v.alloc(64 * MIB - 512)
    v.reset("bytes", 0)
    v.alloc(64 * MIB - 504)
    v.reset()
    v.alloc(8)
    v.reset()
    v.alloc(8)
    v.reset("bytes", 64 * MIB)
    v.alloc(8)
    v.reset("bytes", 64 * MIB + 1)
    v.alloc(8)
    v.reset("bytes", 0)


@theme.case("large: the first block is not as large as a spare", reserve=3 * MIB)
def first_block_is_not_as_large_as_a_spare(v):
    v.mark("a")
    v.alloc(8)
    v.rewind("a")
    v.alloc(40 * MIB)
    v.alloc(40 * MIB)
    v.reset()
    v.alloc(8)


@theme.case("large: keep all, of blocks that are three quarters full")
def keep_all_of_loose_blocks(v):
    v.alloc(44 * MIB)
    v.allocs(262144, 66)            # 66 MiB of blocks for 60.5 MiB
    v.reset("all")
    v.alloc(8)


@theme.case("large: keep all")
def keep_all(v):
    for _ in range(3):
        v.alloc(24 * MIB)
    v.reset("all")
    v.alloc(24 * MIB)
    v.mark("a")
    v.alloc(24 * MIB)
    v.rewind("a")
    v.reset("all")
    v.alloc(24 * MIB)
    v.reset("bytes", 30 * MIB)
    v.alloc(8)
    v.reset("bytes", 70 * MIB)
    v.alloc(8)
