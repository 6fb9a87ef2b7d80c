"""W2: frames in Rust. One program of all contenders, built by cargo.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import re

from cargo import Program
from native import version
from table import against, ahead, is_rival

HERE = os.path.dirname(os.path.abspath(__file__))

# feature: the crate behind it. Each is optional.
RIVALS = {"bumpalo": "bumpalo", "bump-scope": "bump-scope", "blink-alloc": "blink-alloc", "stumpalo": "stumpalo",
          "multitude": "multitude", "typed-arena": "typed-arena", "mimalloc": "mimalloc",
          "jemalloc": "tikv-jemallocator", "snmalloc": "snmalloc-rs"}
HEAPS = ["malloc", "mimalloc", "jemalloc", "snmalloc"]
PROGRAM = Program("W2", "w2", HERE, RIVALS)

TITLE = "frames, Rust"
GROUP = None
EXTRAS = {"bytes": "B", "waste": "", "faults": "", "slowest": "ns"}


def compilers(bench):
    return {c: version(c.split()) for c in ("rustc", bench.cc, bench.cxx)}


def build(bench):
    PROGRAM.build(bench)
    bench.left_out["framealloc"] = "it is not in the registry"


def rows(bench):
    found, have = PROGRAM.run(bench), PROGRAM.versions()
    for row in found:
        name = re.split(r"[<,\s]", row["contender"])[0]
        if name in have:
            row["version"] = have[name]
    return found


def all_marks(tables):
    t, = tables
    for who in ("toft", "toft cursor", "toft frames"):
        yield ahead("%s: ahead of every rival in every row (3 %%)" % who, (s for s in t.standings() if s.ours == who))
    for case in ("64 B", "hot by four"):
        yield against("hot typed, %s <= 1.03 x floor_mem" % case, t.median(case, "toft"), t.median(case, "floor_mem"), 1.03)
    yield against("cursor, hot by four <= 0.7 x floor_mem", t.median("hot by four", "toft cursor"),
                  t.median("hot by four", "floor_mem"), 0.7)
    case = "life of 10,000"
    yield against("new + fill + drop at least 5 x as fast as the best rival", t.median(case, "toft"), t.best(case)[0], 0.2)
    yield against("new + fill + drop at least 5 x as fast as the best arena", t.median(case, "toft"),
                  t.best(case, lambda c: is_rival(c) and c not in HEAPS)[0], 0.2)
