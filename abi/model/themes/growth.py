# SPDX-License-Identifier: MIT OR Apache-2.0
"""which block comes next: doubling, four times the need, and dedicated blocks"""
from .theme import KIB, MIB, USABLE, Theme

theme = Theme(__doc__)


@theme.case("growth: doubling up to 1 MiB")
def doubling_up_to_1_mib(v):
    v.allocs(64, 56)
    for size in (8, 16, 32, 64):
        v.allocs(64, (size * KIB - 64) // 64)
    for size in (128, 256, 512):
        v.allocs(64, (size * KIB - 512) // 64)
    for _ in range(3):
        v.alloc(200000)
        v.allocs(64, (MIB - 512 - 200000) // 64)
    v.alloc(8)


@theme.case("growth: four times the need")
def four_times_the_need(v):
    for n in (4000, 2100, 8193, 16000, 16384, 16385, 50000, 100000):
        v.alloc(n)
        v.alloc(USABLE)


def first_need(v, n, a):
    v.alloc(USABLE - 8)
    v.alloc(n, a)
    v.alloc(8)
    v.alloc(64)


for n, a in ((2041, 8), (2048, 8), (2056, 8), (2049, 4096), (262144, 8), (262145, 8), (262144 - 64, 128),
             (262144 - 64, 256), (262144 - 4032, 4096), (262144 - 4031, 4096)):
    theme.add("growth: first need of %d at %d" % (n, a), first_need, n, a)


@theme.case("growth: dedicated blocks leave the current block as it is")
def dedicated_blocks(v):
    v.alloc(100)
    v.alloc(300000)
    v.alloc(100)
    v.alloc(4 * MIB, 64)
    v.alloc(300000, 4096)
    v.alloc(100)
    v.alloc(MIB - 64)
    v.alloc(MIB - 63)
    v.alloc(MIB + 4096 - 64)
    v.alloc(USABLE)
    v.alloc(100)


@theme.case("growth: does not fit but a small one still does not go back")
def no_return_to_an_older_block(v):
    v.alloc(USABLE - 100)
    v.alloc(200)
    v.alloc(50)                     # it would fit the initial block, but it is not current any more


@theme.case("growth: mid sizes do not starve")
def mid_sizes_do_not_starve(v):
    v.allocs(4000, 200)
