"""W4 in Rust: one program holds all contenders (rust/).

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os

from cargo import Program
from figures import ratio
from native import version
from table import is_ours, is_rival

LANGUAGE = "Rust"
# feature: the crate behind it. Each is optional.
RIVALS = {"slab": "slab", "slotmap": "slotmap", "thunderdome": "thunderdome",
          "generational-arena": "generational-arena", "hashbrown": "hashbrown", "indexset": "indexset"}
PROGRAM = Program("W4", "w4", os.path.join(os.path.dirname(os.path.abspath(__file__)), "rust"), RIVALS)

KEYED = ["set", "dict", "omap", "oset"]
KEEP_ORDER = ["toft", "BTreeSet", "BTreeMap", "indexset"]
HASHED = ["set", "dict"]  # here Toft's is a hash table, beside its ordered ones


def compilers(bench):
    return {"rustc": version(["rustc"])}


def build(bench):
    PROGRAM.build(bench)


def rows(bench):
    found, have = PROGRAM.run(bench), PROGRAM.versions()
    for row in found:
        name = row["contender"].split()[0]
        if name in have:
            row["version"] = have[name]
    return found + among_ordered(found)


def among_ordered(rows_):
    """The rows of Toft's maps and sets beside those that keep an order too, since the fastest rival is a hash table."""
    return [dict(row, case="ordered " + row["case"]) for row in rows_
            if row["case"].split()[0] in KEYED and row["contender"].split()[0] in KEEP_ORDER
            and not (row["case"].split()[0] in HASHED and is_hashed(row["contender"]))]


def is_hashed(contender):
    return contender in ("toft", "toft fresh")


# ---- marks ----

POOLS = ["fresh", "insert", "get", "iterate", "remove half", "refill", "remove"]
DENSE = "slotmap DenseSlotMap"  # moves values so that they stay contiguous
TREES = ["BTreeMap", "BTreeSet"]


def default(case):
    """What new() returns."""
    return "toft ordered" if case.split()[0] == "ordered" and case.split()[1] in HASHED else "toft"


def marks(t):
    def against_those(mark, cases, rivals=is_rival, factor=1.0, tolerance=1.03):
        """Both kinds of Toft, `factor` times as fast as the fastest of these."""
        for which, chosen in (("the fastest kind", lambda case: t.best(case, is_ours)[1]), ("by default", default)):
            lost = []
            for case in cases:
                value, (best, rival) = t.median(case, chosen(case)), t.best(case, rivals)
                if not value or not best or value * factor > tolerance * best:
                    lost.append("%s (%s, %s)" % (case, rival, ratio(value, best)))
            few = ": " + "; ".join(lost) if 0 < len(lost) <= 8 else ""
            yield "%s, %s" % (mark, which), "lost %d of %d%s" % (len(lost), len(cases), few), bool(cases) and not lost

    def of_pools(*parts):
        return [case for case in t.cases if case.startswith("pool") and " ".join(case.split()[1:-1]) in parts]

    def of_kind(*kinds):
        return [case for case in t.cases if case.split()[0] in kinds]

    ordered = [case for case in of_kind("omap", "oset") if case.split()[2] in ("insert", "hit", "delete")]
    yield from against_those("pools at most every rival's time on insert, remove, get, iterate (3 %)", of_pools(*POOLS))
    yield from against_those("pools half empty iterate at least 2 x as fast as those that do not move values",
                             of_pools("iterate half"), lambda c: is_rival(c) and c != DENSE, 2, 1)
    yield from against_those("ordered sets and maps at least 2 x as fast as BTreeSet and BTreeMap on insert, hit, delete",
                             ordered, TREES.__contains__, 2, 1)
    for kind, rival in (("set", "HashSet"), ("list", "LinkedList"), ("stack", "Vec"), ("queue", "VecDeque")):
        yield from against_those("%s: ahead of %s (3 %%)" % (kind, rival), of_kind(kind), (rival, rival + " fresh").__contains__)
    yield from against_those("hash maps in an arena: lookups level with hashbrown on the heap (3 %)",
                             [case for case in t.cases if case.startswith("hash hit")], ("hashbrown",).__contains__)
    yield from against_those("hash maps in an arena: rounds at most 0.9 of hashbrown on the heap",
                             [case for case in t.cases if case.startswith("hash round")], ("hashbrown",).__contains__, 1 / 0.9, 1)
