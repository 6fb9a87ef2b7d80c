# SPDX-License-Identifier: MIT OR Apache-2.0
"""a source that fails at the k-th acquisition"""
from .theme import MIB, USABLE, Theme

theme = Theme(__doc__)


def fails_at_acquisition(v, k):
    if k > 1:
        v.alloc(100)
        v.mark("a")
        for n in (USABLE, 10000, 300000, 70000, 8):
            v.alloc(n, 16)
            v.alloc(n, 16)
            v.alloc(8)
        v.rewind("a")
        v.alloc(USABLE)


for k in (1, 2, 3, 4, 6):
    theme.add("source: fails at acquisition %d" % k, fails_at_acquisition, k, fail_at=[k])


@theme.case("source: fails for good", fail_at=range(2, 200))
def fails_for_good(v):
    v.alloc(USABLE - 64, id="x")
    v.alloc(65)
    v.alloc(300000)
    v.alloc(64)
    v.alloc(1)
    v.alloc(0)
    v.resize("x", USABLE)
    v.resize("x", 8)
    v.mark("a")
    v.alloc(USABLE)
    v.rewind("a")
    v.reset()
    v.alloc(8)


@theme.case("source: fails while the initial block idles", reserve=50000, fail_at=[2, 4])
def fails_while_the_initial_block_idles(v):
    v.alloc(8)
    v.alloc(0)
    v.mark("a")
    v.alloc(8)
    v.alloc(65536)
    v.alloc(65536)
    v.rewind("a")
    v.reset()
    v.alloc(8)


@theme.case("source: fails a resize", fail_at=[2, 4])
def fails_a_resize(v):
    v.alloc(3000, id="x")
    v.alloc(8)
    v.resize("x", 20000)
    v.resize("x", 20000)
    v.alloc(300000, id="y")
    v.resize("y", 400000)
    v.alloc(300000, id="y")
    v.resize("y", 400000)


@theme.case("source: fails a claim", fail_at=[2, 4])
def fails_a_claim(v):
    v.claim("r", 5000)
    v.claim("r", 3000)
    v.fill("r", 3)
    v.claim("r", 5000)
    v.fill("r", 5)
    v.claim("r", 20000)             # fails: the range stays as it is
    v.alloc(8)
    v.give("r")
    v.alloc(8)


@theme.case("source: a failed growth is not remembered", fail_at=[3])
def failed_growth_is_not_remembered(v):
    v.alloc(USABLE)
    v.alloc(8000)
    v.alloc(20000)
    v.alloc(20000)


@theme.case("refusal: the same requests find the same blocks after a reset", fail_at=range(5, 200))
def same_blocks_after_a_reset(v):
    for policy in ("recent", "recent", "all"):
        for n in (3000, 6000, 15000, 40000, 90000, 300000, 500000, 100000):
            v.alloc(n)
        v.reset(policy)


@theme.case("refusal: an idle initial block is used again", reserve=50000, fail_at=range(3, 200))
def idle_initial_block_is_used_again(v):
    v.alloc(3000)
    v.mark("a")
    v.alloc(70000)
    v.alloc(500)
    v.alloc(100)
    v.rewind("a")
    v.alloc(500)
    v.reset()
    v.alloc(3000)


@theme.case("refusal: an idle initial block begins at its first byte", reserve=50000, fail_at=[2, 5])
def idle_initial_block_from_its_first_byte(v):
    v.mark("a")
    v.alloc(300000)
    v.alloc(64)
    v.mark("b")
    v.alloc(70000)
    v.rewind("b")
    v.rewind("a")
    v.alloc(64)


@theme.case("refusal: smaller blocks down to the need", fail_at=[2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 14])
def smaller_blocks_down_to_the_need(v):
    v.alloc(3584)
    v.alloc(20000)                  # 131072, 65536 and 32768 are refused, 20480 is granted
    v.alloc(3000)
    v.alloc(30000)
    v.alloc(70000)
    v.alloc(200)


@theme.case("refusal: the least block above 64 KiB", fail_at=[2, 3, 4, 6])
def least_block_above_64_kib(v):
    v.alloc(102300)
    v.alloc(65000)
    v.alloc(65472)


@theme.case("refusal: the largest spare serves", fail_at=range(4, 200))
def largest_spare_serves(v):
    v.mark("a")
    v.alloc(3584)
    v.alloc(8000)
    v.alloc(60000)
    v.rewind("a")
    v.alloc(3584)
    v.alloc(300)
    v.alloc(250000)
    v.alloc(20000)


@theme.case("refusal: a spare that is too small goes back, and the source is called again", fail_at=[5, 8])
def spare_too_small(v):
    v.mark("a")
    v.alloc(3500)
    v.alloc(20000)
    v.alloc(300000)
    v.rewind("a")
    v.alloc(310000)
    v.alloc(400000)
    v.alloc(20000)


@theme.case("refusal: the largest spare is too small by its header", fail_at=[3])
def largest_spare_too_small_by_its_header(v):
    v.mark("a")
    v.alloc(3500)
    v.alloc(8000)
    v.rewind("a")
    v.alloc(32710)


@theme.case("refusal: the largest spare serves a large request", fail_at=range(4, 200))
def largest_spare_serves_a_large_request(v):
    v.mark("a")
    v.alloc(300000)
    v.alloc(600000)
    v.rewind("a")
    v.alloc(400000, 64)
    v.alloc(100)
    v.alloc(200000)
    v.rewind("a")
    v.alloc(700000)
    v.alloc(100000)


@theme.case("refusal: an unused current block goes back", fail_at=[3])
def unused_current_block_goes_back(v):
    v.alloc(5000)
    v.reset()
    v.mark("a")
    v.alloc(300000)
    v.alloc(5000)
    v.rewind("a")
    v.alloc(3000)


@theme.case("refusal: of two blocks without allocations none goes back", fail_at=[4])
def two_blocks_without_allocations(v):
    v.alloc(5000, id="x")
    v.free("x")
    v.alloc(40000, id="y")
    v.free("y")
    v.alloc(262000)                 # half a block is enough
    v.alloc(8)


@theme.case("refusal: a current block in use stays", fail_at=[3])
def current_block_in_use_stays(v):
    v.alloc(5000)
    v.reset()
    v.alloc(8)
    v.alloc(300000)
    v.alloc(5000)


@theme.case("refusal: a steady arena begins in its initial block again", fail_at=[3])
def steady_arena(v):
    v.alloc(5000)
    v.reset()
    v.alloc(5000)
    v.reset()
    v.alloc(5000)
    v.alloc(300000)                 # refused; the block stays
    v.reset()
    v.alloc(8)
    v.alloc(5000)
    v.reset()
    v.alloc(8)


@theme.case("refusal: the block of a claimed range stays", fail_at=[3, 4, 5, 6])
def block_of_a_claimed_range_stays(v):
    v.alloc(5000)
    v.reset()
    v.claim("r")
    v.claim("r", 400000)
    v.fill("r", 100)
    v.claim("r", 400000)
    v.fill("r", 100)
    v.give("r")
    v.alloc(8)


@theme.case("refusal: spares go back while a range is claimed", fail_at=[4, 6, 7])
def spares_go_back_while_a_range_is_claimed(v):
    v.mark("a")
    v.alloc(20000)
    v.alloc(300000)
    v.rewind("a")
    v.claim("r", 8)
    v.alloc(100000)
    v.alloc(200000)
    v.give("r")


@theme.case("refusal: no block is merged until the source grants one in a later round", fail_at=[4, 5, 6])
def no_merge_before_a_grant(v):
    for n in (3500, 8000, 16000, 60000):
        v.alloc(n)
    v.reset()
    for n in (3500, 8000, 16000):
        v.alloc(n)
    v.reset()
    for n in (3500, 8000, 16000, 60000):
        v.alloc(n)
    v.reset()
    v.alloc(8)
    v.reset("bytes", 0)


@theme.case("refusal: a budget refuses a smaller block", budget=30000, fail_at=[2])
def budget_refuses_a_smaller_block(v):
    v.alloc(29000, 4096)
    v.alloc(25000, 4096)
    v.alloc(25000, 64)


@theme.case("refusal: what is kept after it is bounded by the rounds", fail_at=[12])
def kept_bytes_are_bounded(v):
    for n in (300000, 300000, 300000, 300000, 300000, 2000000, 2000000, 2000000, 2000000, 2000000):
        v.alloc(n)
    v.alloc(2000000)
    v.mark("a")
    v.alloc(900000)
    v.rewind("a")
    v.reset()
    v.alloc(3500)
    v.mark("a")
    v.alloc(5000)
    v.rewind("a")                   # more than SPARE stays
    v.trim(3 * MIB)
    v.alloc(8)
    v.reset("bytes", 2 * MIB)
    v.alloc(8)


@theme.case("source: spares come first", fail_at=[4])
def spares_come_first(v):
    v.alloc(USABLE - 8)
    v.mark("a")
    v.alloc(64)
    v.alloc(300000)
    v.rewind("a")
    v.alloc(300000)
    v.alloc(400000)
    v.alloc(64)
