# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random vectors as a C header, in place of to_c.py's: random_vectors.py OUT.h [first seed [count]]

For a change of a provider: play some thousands of these, and add each failure to themes/, made small.
"""
import pathlib
import random
import sys

from arena import KIB, MIB
from script import Vector
from to_c import header


class Tracked(Vector):
    """Tracks which allocations a rewind has freed: these must not be resized or freed."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.serial, self.created, self.marked = 0, {}, {}

    def note(self, op, **more):
        self.serial += 1
        name, kind = op.get("id"), op["op"]
        if kind in ("alloc", "resize") and name and more["at"]:
            self.created[name] = self.serial
        elif kind == "free":
            del self.created[name]
        elif kind == "mark":
            self.marked[name] = self.serial
        super().note(op, **more)

    def forget(self, serial):
        self.created = {name: created for name, created in self.created.items() if created <= serial}


def size(r):
    near = r.choice([8 * KIB - 64, 16 * KIB - 64, 64 * KIB - 64, 128 * KIB - 512, 256 * KIB, 3584, MIB])
    return max(0, r.choice([
        r.choice([0, 1, 7, 8, 9, 16, 24, 100]), r.randrange(300), r.randrange(5000),
        r.randrange(60000) if r.random() < .4 else 8,
        near + r.choice([-8, -1, 0, 1, 8]) if r.random() < .4 else 40,
        r.randrange(400000) if r.random() < .2 else 1000, r.randrange(9 * MIB) if r.random() < .03 else 64]))


def align(r):
    return r.choice([8, 8, 8, 8, 1, 2, 16, 64, 1 << r.randrange(13)])


def vector(seed):
    r = random.Random(seed)
    v = Tracked("random %d" % seed, word=64, budget=r.choice(["none"] * 3 + [5000, 70001, 3 * MIB]),
               reserve=r.choice([0, 0, 0, 5000, 30000, 100000, 2 * MIB, 20 * MIB]),
               fail_at=sorted(r.sample(range(2, 40), r.choice([0, 0, 0, 3]))))
    a, calm = v.arena, r.random() < .5      # calm: no resets by surprise
    ids, marks, names = list("abcdefgh"), list("mnopq"), list("rs")
    good = []                               # marks that may be rewound to, oldest first
    nodes = []
    weights = {"alloc": 30, "resize": 10, "free": 5, "mark": 6, "rewind": 8, "cleanup": 4, "claim": 4,
               "fill": 5, "give": 4, "reset": 1 if calm else 6, "trim": 1, "budget": 1, "cancel": 1, "forge": 1}
    for _ in range(r.choice([20, 60, 150])):
        op = r.choices(list(weights), weights.values())[0]
        if op == "alloc":
            v.alloc(size(r), align(r), r.choice(ids + [None] * 4), r.random() < .1)
        elif op == "resize":
            known = sorted(v.created)
            if known:
                v.resize(r.choice(known), size(r), align(r), r.random() < .2, r.random() < .2)
        elif op == "free":
            known = sorted(v.created)
            if known:
                v.free(r.choice(known))
        elif op == "mark" and not a.holder:
            name = r.choice(marks)
            good[:] = [m for m in good if m != name] + [name]
            v.mark(name)
        elif op == "rewind" and good:
            name = r.choice(good)
            v.rewind(name)
            if v.ops[-1]["code"] == 0:
                del good[good.index(name) + 1:]
                v.forget(v.marked[name])
        elif op == "cleanup" and len(nodes) < 14:
            nodes.append("c%d" % len(nodes))
            v.cleanup(nodes[-1])
        elif op == "cancel":
            known = [n for n in nodes if n in v.nodes and v.nodes[n] in a.cleanups]
            if known:
                v.cancel(r.choice(known))
        elif op == "claim":
            v.claim(r.choice(names), r.choice([0, 8, 100, 5000, size(r)]), r.choice([1, 8, 64]))
        elif op == "fill" and a.holder:
            name = [n for n in names if v.ranges.get(n) is a.holder][0]
            remaining = a.holder.limit - a.holder.cursor
            if remaining:
                v.fill(name, r.randrange(min(remaining, 3000)) + 1)
        elif op == "give":
            v.give(r.choice(names))
        elif op == "reset":
            v.reset(r.choice(["recent", "recent", "all", "bytes"]), r.choice([0, 5000, 100000, 70 * MIB]))
            if v.ops[-1]["code"] == 0:
                del good[:]
                v.forget(0)
        elif op == "trim":
            v.trim(r.choice([0, 5000, 400000]))
        elif op == "budget":
            v.budget(r.choice(["none", max(0, a.live + r.randrange(-2000, 100000))]))
        elif op == "forge" and good:
            v.rewind_raw(r.choice(good), plus=4)
            v.rewind_raw(r.choice(good), epoch_plus=1)
            v.rewind_raw(r.choice(good), foreign=True)
    for name in names:
        if a.holder and v.ranges.get(name) is a.holder:
            v.give(name)
    return v.end()


if __name__ == "__main__":
    first, count = [int(n) for n in (sys.argv[2:] + ["0", "300"][len(sys.argv) - 2:])]
    pathlib.Path(sys.argv[1]).write_text(header([vector(seed) for seed in range(first, first + count)]))
