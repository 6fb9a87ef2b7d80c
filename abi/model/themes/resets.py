# SPDX-License-Identifier: MIT OR Apache-2.0
"""the three policies, and the steady state"""
from .theme import KIB, MIB, USABLE, Theme

theme = Theme(__doc__)


@theme.case("reset: an empty arena")
def empty_arena(v):
    v.reset()
    v.alloc(8)
    v.reset("all")
    v.reset("bytes", 0)
    v.reset("bytes", 100000)
    v.alloc(8)
    v.reset("nonsense")
    v.alloc(8)


@theme.case("reset: the initial block is enough")
def initial_block_is_enough(v):
    v.alloc(USABLE)
    v.reset()
    v.alloc(USABLE)
    v.reset()


@theme.case("reset: a byte more than the initial block has")
def byte_more_than_the_initial_block_has(v):
    v.alloc(USABLE)
    v.alloc(1)
    v.reset()
    v.alloc(USABLE)
    v.alloc(1)
    v.reset()
    v.alloc(USABLE)
    v.alloc(1)
    v.reset()


def steady(v, n):
    def cycle():
        v.alloc(8)
        v.alloc(n // 16 * 8)
        v.alloc(n - n // 16 * 8 - 8)
        v.reset()
    cycle()
    cycle()
    v.repeat(200, cycle)


for n in (20000, 65536 - 512, 65536 - 511, 300000, MIB - 512, MIB - 511, 3 * MIB):
    theme.add("reset: steady with %d bytes" % n, steady, n)


@theme.case("reset: many sizes and alignments, steady")
def many_sizes_and_alignments_steady(v):
    def mixed():
        for k in range(40):
            v.alloc(k * k * 13 % 5000, 1 << k % 10)
        v.reset()
    for _ in range(3):
        mixed()
    v.repeat(100, mixed)


@theme.case("reset: what did not fit makes the next block larger")
def next_block_fits_what_did_not(v):
    # over two blocks this is charged less than it takes in the one that was made for it
    def pads():
        v.alloc(10272)
        v.alloc(120216, 256)
        v.reset()
    for _ in range(3):
        pads()
    v.repeat(20, pads)


@theme.case("reset: remembers a peak for 64 rounds")
def remembers_a_peak_for_64_rounds(v):
    v.alloc(200000)
    v.reset()

    def tiny():
        v.alloc(100)
        v.reset()
    tiny()
    v.repeat(62, tiny)
    tiny()
    tiny()
    tiny()
    v.repeat(64, tiny)


@theme.case("reset: windows of 8 rounds")
def windows_of_8_rounds(v):
    def small():
        v.alloc(5000)
        v.reset()
    small()
    small()
    v.repeat(7, small)
    v.alloc(50000)                  # the last but six of its window
    v.reset()
    small()
    v.repeat(60, small)
    small()
    small()


@theme.case("reset: shrinks only below a quarter")
def shrinks_only_below_a_quarter(v):
    v.alloc(60000)
    v.alloc(60000)
    v.reset()

    def quarter():
        v.alloc(40000)
        v.reset()
    quarter()
    v.repeat(70, quarter)

    def less():
        v.alloc(30000)
        v.reset()
    v.repeat(54, less)
    for _ in range(12):
        less()


@theme.case("reset: the peak counts, not the end")
def peak_counts_not_the_end(v):
    v.mark("a")
    v.alloc(100000)
    v.alloc(300000)
    v.rewind("a")
    v.alloc(100)
    v.reset()
    v.alloc(400000)
    v.reset()


@theme.case("reserve: more than a request may be", reserve="half")
def reserve_too_large(v):
    """Creation fails, so there is no operation."""


@theme.case("reset: a block outside a claim notes the peak", reserve=200000)
def block_outside_a_claim_notes_the_peak(v):
    v.alloc(8)
    v.alloc(60000, id="x")
    v.claim("r")
    v.alloc(8)
    v.give("r")
    v.free("x")
    v.reset()
    v.alloc(8)


@theme.case("reset: outside a claim, the padding that did not fit does not count")
def padding_outside_a_claim(v):
    v.alloc(8)
    v.claim("r")
    v.alloc(7672, 64)               # with the pad of 56 in the initial block it would be more than 8192
    v.give("r")
    v.reset()
    v.alloc(8)


@theme.case("reset: a dedicated block makes the next block larger by the pad in front")
def pad_in_front_of_a_dedicated_block(v):
    v.alloc(8)
    v.alloc(523720, 64, id="x")     # 524240 live, 524296 with the pad of 56 in the initial block
    v.free("x")
    v.reset()
    v.alloc(8)


@theme.case("reset: a dedicated block is noted with what is live then")
def live_bytes_at_a_dedicated_block(v):
    v.alloc(523768, 512, id="x")    # no pad in the initial block, but 448 more are live
    v.free("x")
    v.reset()
    v.alloc(8)


@theme.case("reset: a block is noted with what is live then", reserve=60000)
def live_bytes_at_a_block(v):
    v.alloc(4000, 4096, id="x")     # no pad in an idle initial block, but 4032 in the block
    v.free("x")
    v.reset()
    v.alloc(8)


def without_a_noted_peak(v, how):
    v.alloc(8)
    v.alloc(280000, id="x")
    v.alloc(250000, id="y")     # together more than 512 KiB, but no call noted it
    if how == "free":
        v.free("x")
        v.free("y")
    else:
        v.resize("x", 100, 4096)
        v.free("x")
    v.reset()
    v.alloc(8)


for how in ("free", "resize"):
    theme.add("reset: %s of a dedicated block does not note the peak" % how, without_a_noted_peak, how, reserve=200000)


@theme.case("reset: the only block left is block 1")
def only_block_left_is_block_1(v):
    v.alloc(USABLE)
    v.alloc(300000, id="x")
    v.resize("x", 200000, 4096)     # block 2, and block 1 goes
    v.reset()
    v.alloc(8)
    v.alloc(300000)


@theme.case("reset bytes: as much as there is")
def bytes_as_much_as_there_is(v):
    v.allocs(100000, 30)
    v.reset("bytes", "max")
    v.alloc(8)
    v.reset("bytes", "max-4095")
    v.alloc(8)
    v.trim("max")
    v.reset("bytes", "half+1")
    v.alloc(8)


@theme.case("reset: of what was rewound one block stays", reserve=30000)
def one_rewound_block_stays(v):
    v.mark("a")
    v.alloc(32000)
    v.alloc(8000)
    v.rewind("a")
    v.alloc(16000)
    v.alloc(17000)
    v.rewind("a")
    v.reset()                       # 65536 and 131072 would do
    v.alloc(8)


@theme.case("reset: of what was rewound no large block stays", reserve=400000)
def no_large_rewound_block_stays(v):
    v.mark("a")
    v.alloc(5000)
    v.rewind("a")
    v.reset()
    v.alloc(8)


@theme.case("reset: regular blocks of more than 1 MiB stay as they are")
def blocks_stay_above_1_mib(v):
    def alike():
        v.allocs(100000, 30)
        v.reset()
    alike()
    alike()
    v.repeat(3, alike)
    v.trim(MIB)
    v.alloc(8)
    v.alloc(300000)
    v.alloc(900000)                 # a dedicated block
    v.reset()                       # so all are merged
    v.alloc(8)


def small_pieces(v, n):
    v.allocs(1000, n)
    v.reset()
    v.alloc(8)


for n in (300, 1042, 1060):     # more than 1 MiB is needed from 1048 on
    theme.add("reset: %d KB in small pieces" % n, small_pieces, n)


@theme.case("reset: as they are, from the largest on", reserve=3 * MIB)
def as_they_are_from_the_largest_on(v):
    v.alloc(8)
    v.allocs(100000, 70)            # 4 MiB, and three of 1 MiB
    v.reset()
    v.alloc(8)
    v.allocs(100000, 52)
    v.reset("bytes", 5 * MIB)       # the newest stay, and the largest of them comes first
    v.alloc(8)
    v.allocs(100000, 52)
    v.reset("bytes", 4 * MIB)       # not the largest
    v.alloc(8)
    v.allocs(100000, 52)
    v.reset("bytes", MIB)           # no more than CAP: one block
    v.alloc(8)


def large_piece(v, keep):
    for _ in range(3):
        v.alloc(200000)
        v.reset("bytes", keep)


for keep in (256 * KIB, 512 * KIB, MIB):        # W is 256 KiB: a block of 1 MiB may stay, if that many bytes may
    theme.add("reset: a large piece, %d KiB may stay" % (keep // KIB), large_piece, keep)


@theme.case("reset all: as they are")
def all_as_they_are(v):
    v.allocs(1000, 4)
    v.allocs(20000, 30)
    v.allocs(100000, 5)
    v.reset("all")
    v.alloc(8)
    v.reset("all")
    v.alloc(8)
    v.reset()


@theme.case("reset: what was rewound before it stays")
def what_was_rewound_before_it_stays(v):
    v.alloc(30000)
    v.reset()

    def framed():
        v.mark("a")
        v.alloc(20000)
        v.alloc(10000)
        v.rewind("a")
        v.reset()
    framed()
    v.repeat(30, framed)
    v.alloc(8)
    v.rewind("a")


@theme.case("reset: a dedicated block alone is not reused")
def dedicated_block_alone_is_not_reused(v):
    v.alloc(300000)
    v.reset()
    v.alloc(300000)
    v.reset()
    v.alloc(300000)


@theme.case("reset: a first block that is too small for what comes first", reserve=8000)
def first_block_too_small(v):
    v.alloc(7700)
    v.reset()
    v.alloc(8192)
    v.alloc(100)
    v.reset()
    v.alloc(100)
    v.reset()


@theme.case("reset: need + 512 fits the next block of an idle arena", reserve=16384 - 512)
def need_and_512_bytes(v):
    v.mark("a")
    for n in (16384 - 512, 16384 - 511, 16384 - 64, 16384, 300000):
        v.alloc(n)
        v.rewind("a")


@theme.case("reset all: everything in one block")
def all_in_one_block(v):
    v.alloc(5000)
    v.alloc(100000)
    v.alloc(300000)
    v.reset("all")
    v.alloc(8)
    v.reset("all")

    def tiny():
        v.alloc(8)
        v.reset("all")
    v.repeat(80, tiny)
    v.alloc(600000)
    v.reset("all")
    v.alloc(8)
    v.reset()
    v.alloc(8)


@theme.case("reset bytes: at most `keep`, and the initial block")
def bytes_at_most_keep(v):
    v.alloc(100000)
    v.reset("bytes", 20000)
    v.alloc(100)
    v.alloc(100000)
    v.reset("bytes", 20000)
    v.alloc(100)
    v.reset("bytes", 20000)
    v.alloc(100)
    v.reset("bytes", 4097)
    v.alloc(100)
    v.reset("bytes", 0)
    v.alloc(100)
    v.alloc(100000)
    v.reset("bytes", MIB)
    v.alloc(100000)
    v.reset("bytes", MIB)
    v.alloc(8)


@theme.case("reset: spares go back")
def spares_go_back(v):
    v.mark("a")
    v.alloc(100000)
    v.alloc(400000)
    v.rewind("a")
    v.alloc(5000)
    v.reset("bytes", 5000)
    v.alloc(8)


def reserve(v, n):
    v.alloc(8)
    v.alloc(min(n, MIB - 1024))
    v.alloc(8)


for n in (0, 3584, 3585, 7680, 7681, 100000, MIB - 512, MIB - 511, 5 * MIB, 100 * MIB):
    theme.add("reserve %d" % n, reserve, n, reserve=n)
