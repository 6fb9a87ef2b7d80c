"""W4 in Rust: one program holds all contenders (rust/).

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import subprocess

from cargo import Program

LANGUAGE = "Rust"
# feature: the crate behind it. Each is optional.
RIVALS = {"slab": "slab", "slotmap": "slotmap", "thunderdome": "thunderdome",
          "generational-arena": "generational-arena", "hashbrown": "hashbrown", "indexset": "indexset"}
PROGRAM = Program("W4", "w4", os.path.join(os.path.dirname(os.path.abspath(__file__)), "rust"), RIVALS)

# In every case the kind that `new()` returns is called just toft.
DEFAULTS = {}
KEYED = ["set", "dict", "omap", "oset"]
KEEP_ORDER = ["toft", "BTreeSet", "BTreeMap", "indexset"]
BASE = ["LinkedList", "Vec", "Vec fresh", "VecDeque", "VecDeque fresh", "BTreeSet",
        "BTreeMap", "HashSet", "HashSet fresh", "HashMap", "HashMap fresh"]


def compilers(bench):
    return {"rustc": subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()}


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
            if row["case"].split()[0] in KEYED and row["contender"].split()[0] in KEEP_ORDER]


# ---- marks ----

POOLS = ["fresh", "insert", "get", "iterate", "remove half", "refill", "remove"]
# It moves values so that they stay contiguous.
DENSE = "slotmap DenseSlotMap"
SETS = {"omap": "BTreeMap", "oset": "BTreeSet"}


def summary(lost, cases):
    return "lost %d of %d%s" % (len(lost), len(cases), ": " + ", ".join(lost) if lost else "")


def marks(t):
    """(target, measured value, whether it was met)"""
    def rivals(case, who=None):
        return {c: t.median(case, c) for c in t.contenders
                if (case, c) in t.row and t.family(c) in ("base", "other") and (who is None or c in who)}

    def ahead(cases, who=None, factor=1, tolerance=1.03):
        """The losses of Toft's best kind and of its default."""
        for which, of_ours in (("our best", lambda case: t.best(case, "toft")[1]), ("by default", t.default)):
            lost = []
            for case in cases:
                value, beaten = t.median(case, of_ours(case)), rivals(case, who)
                rival = min(beaten, key=beaten.get, default=None)
                if value is None or rival is None or value * factor > tolerance * beaten[rival]:
                    lost.append("%s (%s, %s)" % (case, rival, "%.2f" % (value / beaten[rival])
                                                 if value and rival else "-"))
            yield which, summary(lost, cases), bool(cases) and not lost

    def of_kind(*kinds):
        return [case for case in t.cases if case.split()[0] in kinds]

    def part(case):
        return " ".join(case.split()[1:-1])

    pools = [case for case in t.cases if case.startswith("pool")]
    wanted = [case for case in pools if part(case) in POOLS]
    half = [case for case in pools if part(case) == "iterate half"]
    ordered = [case for case in of_kind(*SETS) if case.split()[2] in ("insert", "hit", "delete")]
    sets = of_kind("set")
    claims = [
        ("pools at most every rival's time on insert, remove, get, iterate (3 %)", wanted, None, 1, 1.03),
        ("pools half empty iterate at least 2 x as fast as those that do not move values", half,
         [c for c in t.contenders if c != DENSE], 2, 1),
        ("ordered sets and maps at least 2 x as fast as BTreeSet and BTreeMap on insert, hit, delete", ordered,
         list(SETS.values()), 2, 1),
        ("set: ahead of HashSet (3 %)", [case for case in sets if "shuffled" not in case],
         ["HashSet", "HashSet fresh"], 1, 1.03),
        ("set, shuffled: ahead of HashSet (3 %)", [case for case in sets if "shuffled" in case],
         ["HashSet", "HashSet fresh"], 1, 1.03),
        ("list: ahead of LinkedList (3 %)", of_kind("list"), ["LinkedList"], 1, 1.03),
        ("stack: ahead of Vec (3 %)", of_kind("stack"), ["Vec", "Vec fresh"], 1, 1.03),
        ("queue: ahead of VecDeque (3 %)", of_kind("queue"), ["VecDeque", "VecDeque fresh"], 1, 1.03),
    ]
    for what, cases, who, factor, tolerance in claims:
        for which, measured, met in ahead(cases, who, factor, tolerance):
            yield "%s, %s" % (what, which), measured, met
