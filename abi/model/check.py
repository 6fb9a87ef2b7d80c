# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the model against a plain list of live allocations, and its memory over many rounds.

python3 check.py [streams]
"""
import random
import sys

import arena as m
from arena import Arena, Range, Source, KIB, MIB


class Oracle:
    """A client's view of the arena: allocations in order, each with the live bytes that it added."""

    def __init__(self):
        self.all = []       # [block, offset, size, charge]

    def add(self, p, size, charge):
        b, o = p
        assert b.start <= o and o + size <= b.end, "outside its block"
        for q in self.all:
            if q[0] is b and size and q[2]:
                assert o + size <= q[1] or q[1] + q[2] <= o, "two live allocations overlap"
        self.all.append([b, o, size, charge])

    def live(self):
        return sum(q[3] for q in self.all)


def size_of(r):
    return r.choice([0, 1, 7, 8, 9, 24, 100, 4000, 8128, 65472, r.randrange(300), r.randrange(9000),
                     r.randrange(300000) if r.random() < .1 else 40,
                     r.randrange(3 * MIB) if r.random() < .02 else 16])


def align_of(r):
    return r.choice([8] * 6 + [1, 2, 4, 16, 64, 1 << r.randrange(13)])


def unchanged(a, before, refused):
    """A refusal by the source may have returned kept blocks that were not in use."""
    return a.live == before[0] and (refused or (a.live, a.cursor, a.epoch, a.blocks, a.spares) == before)


def stream(seed, steps=600):
    r = random.Random(seed)
    source = Source([r.randrange(2, 60) for _ in range(r.choice([0, 0, 6]))])
    a = Arena(source, r.choice([m.NONE, m.NONE, 20000, 100003, 3 * MIB]), r.choice([0, 0, 5000, 200000]))
    o, marks, ran, due, rng, serial = Oracle(), [], [], [], None, 0
    for _ in range(steps):
        before = a.live, a.cursor, a.epoch, list(a.blocks), list(a.spares)
        k, refusals = r.random(), source.refusals
        if k < .6:
            n, align = size_of(r), align_of(r)
            p = a.alloc(n, align)
            if p:
                assert p[1] % align == 0 and p[1] % 8 == 0
                o.add(p, n, a.live - before[0])
                assert a.live <= a.budget or n == 0
            else:
                affordable = max(0, a.budget - a.live) - (a.claimed[1] - a.cursor if a.holder else 0)
                assert source.refusals > refusals or n + 8 + max(align, 8) > affordable, "refused although there was budget"
                assert unchanged(a, before, source.refusals > refusals)
        elif k < .66:
            marks.append((a.mark(), len(o.all), len(due)))
        elif k < .74 and marks:
            j = r.randrange(len(marks))
            mark, count, nodes = marks[j]
            code = a.rewind(mark)
            assert code == (m.EBUSY if rng else m.OK), code
            if code == m.OK:
                assert ran == due[nodes:][::-1]
                marks, due = marks[:j + 1], due[:nodes]
                ran.clear()
                # allocations outside a claim in a block older than the mark stay
                old = [q for q in o.all[count:] if not q[0].regular and q[0].created <= mark[2]]
                o.all = o.all[:count] + old
        elif k < .80 and o.all and (not marks or marks[-1][1] < len(o.all)):
            q = r.choice(o.all[-2:]) if not marks or marks[-1][1] < len(o.all) - 1 else o.all[-1]
            b, at, old, charge = q
            new, flags, align = size_of(r), r.choice([0, m.STAY]), align_of(r)
            if b is not None and old is not None:
                p = a.resize((b, at), old, new, align, flags)
                if p is None:
                    assert unchanged(a, before, source.refusals > refusals)
                elif p == (b, at) and p[1] % align == 0:
                    q[2] = max(new, 0)
                    q[3] += a.live - before[0]
                else:
                    assert not flags & m.STAY and p[1] % align == 0
                    dropped = b not in a.blocks
                    if dropped:
                        o.all.remove(q)
                    else:
                        q[2] = 0    # the old bytes stay used, but no check reads them
                    o.add(p, new, a.live - before[0] + (charge if dropped else 0))
        elif k < .84 and o.all and not marks:
            b, at, n, charge = q = o.all[-1]
            a.free((b, at), n)
            q[3] += a.live - before[0]
            if a.live < before[0]:
                q[2] = 0
                if b not in a.blocks:
                    o.all.pop()
        elif k < .87:
            serial += 1
            node = a.cleanup(ran.append, serial)
            if node:
                due.append(serial)
                b, at = a.current, a.cursor - m.NODE
                o.add((b, at), m.NODE, a.live - before[0])
        elif k < .93:
            if rng is None:
                rng = Range()
                n = r.choice([0, 10, 5000])
                p = a.claim(rng, n)
                if p is None:
                    rng = None
                elif n:
                    o.add(p, n, a.live - before[0])
            else:
                at = a.cursor
                b, base = rng.block, a.live
                rng.cursor += r.randrange(rng.limit - rng.cursor + 1)
                n = rng.cursor - at
                assert a.give(rng) == m.OK
                o.add((b, at), n, a.live - base)
                rng = None
                assert a.live <= a.budget or a.live == before[0]
        elif k < .945:
            code = a.reset(r.choice([m.RECENT, m.ALL, m.BYTES]), r.choice([0, 4096, 50000, 10 * MIB]))
            assert code == (m.EBUSY if rng else m.OK)
            if code == m.OK:
                assert ran == due[::-1]
                due, o.all = [], []
                ran.clear()
                for mark, _, _ in marks:
                    assert a.rewind(mark) == m.EMARK
                marks = []
        elif k < .96:
            a.trim(r.choice([0, 100000]))
        elif not rng:
            was = a.budget
            if was != m.NONE:
                a.set(m.BUDGET, max(0, was + r.randrange(-5000, 5001)))
        assert a.live == o.live(), (seed, round(k, 4), a.live, o.live(), o.all[-2:])
        assert source.out == sum(b.size for b in a.blocks) + sum(a.spares)
        assert sum(a.spares) <= max(m.SPARE, a.keep, a.first, 2 * a.round_peak) and a.cursor % 8 == 0
    if rng:
        a.give(rng)
    a.release()
    assert source.out == 0 and ran == due[::-1]


def r8(n):
    return (n + 7) & ~7


# ---- rounds: a workload is a function of (arena, random, round number)

def allocs(f):
    def run(a, r, k):
        for n, align in f(r, k):
            assert a.alloc(n, align)
    return run


def hidden(size):
    """All but 16 bytes is allocated between marks, rewound inline, and so unseen by the provider."""
    def run(a, r, k):
        a.alloc(16)
        for _ in range(3):
            mark = a.mark()
            for _ in range(size // 1000):
                a.alloc(1000)
            a.rewind(mark)
    return run


def framed(size):
    """All is rewound before the reset, so the reset sees an empty arena."""
    def run(a, r, k):
        mark = a.mark()
        for _ in range(size // 1000):
            a.alloc(1000)
        a.rewind(mark)
    return run


def edge(a, r, k):
    """Spares full of one size must not shut out the sizes that are in use."""
    if k == 0:
        mark = a.mark()
        for _ in range(4):
            a.alloc(MIB - 64)
        a.rewind(mark)
        a.alloc(3500)
    mark = a.mark()
    a.alloc(200)
    a.rewind(mark)


ROUNDS = [
    # name, workload, rounds, whether a round ends with a reset
    ("small 200", allocs(lambda r, k: [(r.choice([8, 16, 24, 40, 100]), 8) for _ in range(200)]), 5000, True),
    ("200 x 4000 B", allocs(lambda r, k: [(4000, 8)] * 200), 500, True),
    ("60 x 2-6 KB", allocs(lambda r, k: [(r.randrange(2000, 6000), 8) for _ in range(60)]), 1000, True),
    ("mixed sizes and alignments", allocs(lambda r, k: [(r.choice(
        [8, 24, 64, 200, r.randrange(3000), r.randrange(200000) if r.random() < .05 else 32,
         MIB if r.random() < .002 else 16]), 1 << r.randrange(8)) for _ in range(12)]), 100000, True),
    ("3 x 1 MiB", allocs(lambda r, k: [(MIB, 8)] * 3), 2000, True),
    ("a spike each 500 rounds", allocs(lambda r, k: [(1000, 8)] * (100000 if k % 500 == 250 else 50)),
     2000, True),
    ("96 MiB of 64 KB", allocs(lambda r, k: [(65000, 8)] * 1500), 60, True),
    ("96 MiB of 256 KB", allocs(lambda r, k: [(262144, 8)] * 384), 60, True),
    ("framed 60 KB", framed(60000), 800, True),
    ("framed 3 MB", framed(3000000), 200, True),
    ("framed 30 MB", framed(30000000), 60, True),
    ("framed 30 MB, no reset", framed(30000000), 60, False),
    ("0.1 to 30 MB, any of it", allocs(lambda r, k: [(100000, 8)] * r.randrange(1, 300)), 600, True),
    ("the same, with larger objects", allocs(lambda r, k: [
        (r.randrange(200000) if r.random() < .98 else 500000, 8) for _ in range(r.randrange(1, 300))]),
     600, True),
    ("hidden 60 KB", hidden(60000), 800, True),
    ("hidden 700 KB", hidden(700000), 200, True),
    ("full spares at an edge", edge, 1000, False),
]


def rounds(only=None):
    bad = 0
    for name, work, count, resets in ROUNDS:
        r, source = random.Random(5), Source()
        a, late, largest, peak = Arena(source), 0, 0, 0
        for k in range(count):
            calls = source.calls
            work(a, r, k)
            late += source.calls - calls if k >= count // 2 else 0
            largest, peak = max(largest, a.live, a.round_peak), max(peak, source.out)
            if resets:
                a.reset()
        late /= count / 2
        ok = late < .25 and peak <= 4 * largest + 8 * MIB
        bad += not ok
        print("%-28s %8.3f source calls a round in the second half; at most %d KiB for %d KiB live%s"
              % (name, late, peak // KIB, largest // KIB, "" if ok else "   <-- BAD"))
    return bad


def stuck(seeds=3000):
    """A steady workload (each round the same) must come to rest, for all sizes and alignments."""
    worst = 0
    for seed in range(seeds):
        r = random.Random(seed)
        top = r.choice([200, 3000, 30000, 400000])
        work = [(r.randrange(1, top), 1 << r.randrange(13)) for _ in range(r.randrange(1, 60))]
        source = Source()
        a = Arena(source)
        for k in range(60):
            calls = source.calls
            for n, align in work:
                a.alloc(n, align)
            a.reset()
        if source.calls - calls:
            worst += 1
            print("seed %d: %d source calls a round, for ever" % (seed, source.calls - calls))
    return worst


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for seed in range(count):
        stream(seed)
    print("%d random streams agree with the oracle" % count)
    sys.exit(1 if rounds() + stuck() else 0)
