"""W2: frames in Rust. Builds one program of all contenders with cargo, runs it, prints the results.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import re
import subprocess

from cargo import Program
from figures import Standing, number, ratio, verdict

HERE = os.path.dirname(os.path.abspath(__file__))

# feature: the crate behind it. Each is optional.
RIVALS = {"bumpalo": "bumpalo", "bump-scope": "bump-scope", "blink-alloc": "blink-alloc", "stumpalo": "stumpalo",
          "multitude": "multitude", "typed-arena": "typed-arena", "mimalloc": "mimalloc",
          "jemalloc": "tikv-jemallocator", "snmalloc": "snmalloc-rs"}
# comes with another's feature
WITH = {"bumpalo-herd": "bumpalo-herd"}
# the original
ABSENT = {"framealloc": "it is not in the registry; its own numbers stand in the first table"}
HEAPS = ["Box", "malloc", "mimalloc", "jemalloc", "snmalloc"]

# the columns of the tables, in groups
GROUPS = [
    ["64 B", "256 B", "1 KB", "4 KB", "64 KB", "64 B written", "256 B written", "1 KB written", "4 KB written",
     "64 KB written", "hot by four"],
    ["batch", "batch written", "slice", "slice written", "arrays", "arrays written", "physics", "physics written",
     "UI", "UI written"],
    ["particles 64", "particles 64 written", "particles 48", "particles 48 written", "render", "render written",
     "16 B", "16 B written", "take", "take write", "take read"],
    ["prefetch", "prefetch write", "prefetch read", "aligned types", "aligned layouts", "strings", "Allocator",
     "vec push", "string push", "life of 1", "life of 100", "life of 10,000", "life of 1 MiB", "life of 9 MiB",
     "life of 60 MiB"],
    ["empty frame", "nested frame", "here", "lease", "lease x2", "lease x16"],
    ["1 thread", "2 threads", "4 threads", "8 threads", "16 threads", "1 shared", "2 shared", "4 shared", "8 shared",
     "16 shared"],
]
BYTES = {"aligned types": "996 values", "aligned layouts": "996 layouts", "strings": "the strings",
         "vec push": "10,000 u64 pushed"}


# ---- building and measuring ----

PROGRAM = Program("W2", "w2", HERE, RIVALS)


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip().split("\n")[0]
    except FileNotFoundError:
        return ""


def compilers(bench):
    return {c: output_of(*c.split(), "--version") for c in ("rustc", bench.cc, bench.cxx)}


def build(bench):
    PROGRAM.build(bench)


def rows(bench):
    found, have = PROGRAM.run(bench), PROGRAM.versions(WITH)
    for row in found:
        name = re.split(r"[<,\s]", row["contender"])[0]
        if name in have:
            row["version"] = have[name]
    return found


# ---- tables ----

def ours(contender):
    return contender.startswith(("toft", "floor"))


def is_watched(row):
    return row["case"].startswith("watched")


def is_held(row):
    return row["unit"] == "B"


class Table:
    """Times of comparable contenders."""

    def __init__(self, rows_):
        rows_ = [r for r in rows_ if not is_watched(r) and not is_held(r)]
        self.lacks = {}
        for r in rows_:
            if r["median"] is None:
                self.lacks.setdefault((r["contender"], r["lacks"]), []).append(r["case"])
        self.row = {(r["case"], r["contender"]): r for r in rows_ if r["median"] is not None}
        self.cases = list(dict.fromkeys(c for c, _ in self.row))
        self.contenders = list(dict.fromkeys(r["contender"] for r in rows_))

    def median(self, case, contender):
        row = self.row.get((case, contender))
        return row and row["median"]

    def best_rival(self, case, among=None):
        return min(((self.row[case, c]["median"], c) for c in among or self.contenders
                    if not ours(c) and (case, c) in self.row), default=(None, None))

    def rows_of(self, contender):
        return [(case, self.median(case, contender), *self.best_rival(case)) for case in self.cases
                if (case, contender) in self.row]


def here(rows_):
    """Our results next to those that the original published; writes nothing."""
    t = Table(rows_)

    def times(case, operations, *contenders, unit=1):
        return " / ".join(number(value and value * operations / unit)
                          for value in (t.median(case, c) for c in contenders))

    trio = ("toft", "bumpalo", "malloc")
    waste = [t.row.get(("aligned layouts", c), {}).get("waste") for c in trio]
    return [
        times("64 B", 1, *trio, "Box") + " ns",
        times("64 KB", 1, "toft", "bumpalo") + " ns",
        " / ".join([times("batch", 1000, "toft"), times("slice", 1, "toft"), times("arrays", 125, "toft"),
                    times("batch", 1000, "malloc")]) + " ns",
        times("physics", 800, *trio) + " ns",
        times("particles 48", 50_000, *trio, unit=1e3) + " us",
        times("UI", 200, *trio) + " ns",
        " / ".join(times("1 thread", 1, c) + " ... " + times("16 threads", 1, c) for c in ("toft", "malloc")) + " ns",
        times("aligned layouts", 996, *trio) + " ns",
        " / ".join("-" if w is None else "%.1f" % (100 * w) for w in waste) + " %",
    ]


def print_ratios(t):
    print("Against the best rival and the floors; ns, medians")
    print("  %-22s%-13s%9s  %-18s%9s%7s %-6s%10s%7s%13s%7s" % (
        "case", "ours", "ns", "best rival", "ns", "ours/", "", "floor_mem", "ours/", "floor_cursor", "ours/"))
    for case in t.cases:
        best, rival = t.best_rival(case)
        mem, cursor = t.median(case, "floor_mem"), t.median(case, "floor_cursor")
        if mem is None:
            mem = t.median(case, "floor_exact") or t.median(case, "floor_barriers")
        for c in t.contenders:
            value = t.median(case, c)
            if c.startswith("toft") and value is not None:
                print(("  %-22s%-13s%9s  %-18s%9s%7s %-6s%10s%7s%13s%7s" % (
                    case, c, number(value), rival, number(best), ratio(value, best), verdict(value, best),
                    number(mem), ratio(value, mem), number(cursor), ratio(value, cursor))).rstrip())
    print("  (the floor of a life is floor_exact, one block of the right size; of what is shared, floor_barriers)\n")


def print_all(t):
    print("Every contender; ns an operation, medians")
    for cases in GROUPS:
        words = [case.split() for case in cases]
        for line in range(max(map(len, words))):
            print(("  %-18s%s" % ("", "".join("%10s" % (w[line] if line < len(w) else "") for w in words))).rstrip())
        for c in t.contenders:
            if any((case, c) in t.row for case in cases):
                print("  %-18s%s" % (c, "".join("%10s" % number(t.median(case, c)) for case in cases)))
        print()


def print_bytes(t):
    print("Bytes occupied, and the excess over the requests; in an arena, from the first allocation to the last")
    print("  %-18s%s" % ("", "".join("%24s" % what for what in BYTES.values())))
    for c in t.contenders:
        cells = []
        for case in BYTES:
            r = t.row.get((case, c), {})
            cells.append("%d  +%.1f %%" % (r["bytes"], 100 * r["waste"]) if "bytes" in r else "-")
        if any(cell != "-" for cell in cells):
            print("  %-18s%s" % (c, "".join("%24s" % cell for cell in cells)))
    print()


def print_lives(t):
    cases = [case for case in t.cases if case.startswith("life")]
    print("New + fill + drop, each in a process of its own; ns a value of 64 B, min..max, and page faults a life")
    print("  %-18s%s" % ("", "".join("%36s" % case for case in cases)))
    for c in t.contenders:
        cells = ["-" if r is None else "%s  %s..%s  %.1f" % (*(number(r[k]) for k in ("median", "min", "max")),
                                                             r["faults"])
                 for r in (t.row.get((case, c)) for case in cases)]
        if any(cell != "-" for cell in cells):
            print("  %-18s%s" % (c, "".join("%36s" % cell for cell in cells)))
    print()


def print_threads(t):
    cases = [case for case in t.cases if case.endswith((" thread", " threads"))]
    print("The slowest thread: ns for each of its own allocations, by its clock, with the waits for a core")
    print("  %-18s%s" % ("", "".join("%12s" % case for case in cases)))
    for c in t.contenders:
        found = [t.row.get((case, c), {}).get("slowest") for case in cases]
        if any(found):
            print("  %-18s%s" % (c, "".join("%12s" % number(slowest) for slowest in found)))
    print()


def print_watched(rows_):
    rows_ = [r for r in rows_ if is_watched(r)]
    cases = list(dict.fromkeys(r["case"] for r in rows_))
    row = {(r["case"], r["contender"]): r["median"] for r in rows_}
    print("What watching costs: written and emptied; ns an allocation, and times as long as with nothing switched on")
    print("  %-22s%s" % ("", "".join("%24s" % case for case in cases)))
    for c in dict.fromkeys(r["contender"] for r in rows_):
        print("  %-22s%s" % (c, "".join("%16s%8s" % (number(row.get((case, c))), ratio(
            row.get((case, c)), row.get((case, "toft off")))) for case in cases)))
    print()


def print_held(rows_):
    rows_ = [r for r in rows_ if is_held(r)]
    print("Bytes held when frames have ended: what the allocator tells, in parts; what malloc counts as in use; pages")
    columns = ("home", "kept", "spares", "cache")
    print("  %-28s%-14s%10s%10s%10s%10s%10s%12s%12s" % (("", "", "reported") + columns + ("malloc", "resident")))
    for r in rows_:
        cells = ["-" if r.get(k) is None else "%d" % r[k] for k in ("median",) + columns + ("malloc", "resident")]
        print("  %-28s%-14s%10s%10s%10s%10s%10s%12s%12s" % (r["case"], r["contender"], *cells))
    print()


def print_lacking(t):
    print("What cannot be done")
    whose = {}
    for (contender, why), cases in t.lacks.items():
        whose.setdefault((why, tuple(cases)), []).append(contender)
    for (why, cases), contenders in whose.items():
        shown = ", ".join(cases) if len(cases) <= 6 else "%d rows" % len(cases)
        print("  %s: %s: %s" % (", ".join(contenders), why, shown))
    print()


def all_marks(rows_):
    """(target, measured value, whether it was met)"""
    t = Table(rows_)

    def against(what, value, limit, floor, name):
        return ("%s <= %s x %s" % (what, limit, name),
                "%s / %s = %s" % (number(value), number(floor), ratio(value, floor)),
                bool(value and floor) and value <= limit * floor)

    for who in ("toft", "toft cursor", "toft frames", "toft leases"):
        all_ = t.rows_of(who)
        lost = ["%s (%s, %s)" % (case, rival, ratio(value, best)) for case, value, best, rival in all_
                if verdict(value, best) == "LOST"]
        few = "; ".join(lost) if len(lost) <= 8 else "see above"
        yield ("%s: ahead of every rival in every row (3 %%)" % who,
               "lost %d of %d%s" % (len(lost), len(all_), ": " + few if lost else ""), bool(all_) and not lost)
    for case in ("64 B", "hot by four"):
        yield against("hot typed, " + case, t.median(case, "toft"), 1.03, t.median(case, "floor_mem"), "floor_mem")
    case = "hot by four"
    yield against("cursor, " + case, t.median(case, "toft cursor"), 0.7, t.median(case, "floor_mem"), "floor_mem")
    case = "life of 10,000"
    value, (best, rival) = t.median(case, "toft"), t.best_rival(case)
    arena, its_name = t.best_rival(case, [c for c in t.contenders if c not in HEAPS])
    yield ("new + fill + drop at least 5 x as fast as the best rival",
           "%s: %s / %s = %s; the best arena, %s: %s; one malloc: %s" % (
               rival, number(best), number(value), ratio(best, value), its_name, ratio(arena, value),
               number(t.median(case, "floor_exact"))),
           bool(value and best) and value * 5 <= best)
    times = {(r["case"], r["contender"]): r["median"] for r in rows_ if is_watched(r)}
    for case in dict.fromkeys(case for case, _ in times):
        again, off = times.get((case, "toft off again")), times.get((case, "toft off"))
        yield ("%s: switched on and off again = 1.00 (3 %%)" % case,
               "%s / %s = %s" % (number(again), number(off), ratio(again, off)),
               bool(again and off) and again <= 1.03 * off)


GROUP = None


def standings(rows_):
    t = Table(rows_)
    for c in t.contenders:
        if c.startswith("toft"):
            for case, value, best, rival in t.rows_of(c):
                if rival:
                    yield Standing("", case, c, value, rival, best)


def table(head, rows_):
    t = Table(rows_)
    print_ratios(t)
    print_all(t)
    print_bytes(t)
    print_lives(t)
    print_threads(t)
    print_watched(rows_)
    print_held(rows_)
    print_lacking(t)
    print("Marks")
    for mark, measured, met in all_marks(rows_):
        print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    compilers_ = ", ".join(head["compilers"].values())
    print("\n%s; %s; %s; commit %s" % (head["machine"], head["os"], compilers_, head["commit"]))
    have = {r["contender"]: r["version"] for r in rows_ if "version" in r}
    print("rivals: %s" % ", ".join("%s %s" % v for v in have.items()))
    for who, why in (ABSENT | head["left_out"]).items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """The fields of a line of history: medians of Toft, the floors and the best rival; bytes held."""
    t = Table(rows_)
    kept = {}
    for case in t.cases:
        best, rival = t.best_rival(case)
        kept[case] = {c: t.median(case, c) for c in t.contenders if ours(c) and t.median(case, c) is not None}
        if rival:
            kept[case][rival] = best
    for r in filter(is_watched, rows_):
        kept.setdefault(r["case"], {})[r["contender"]] = r["median"]
    held = {}
    for r in filter(is_held, rows_):
        held.setdefault(r["case"], {})[r["contender"]] = {k: r[k] for k in ("median", "malloc", "resident")}
    return {"unit": "ns", "medians": kept, "bytes": held}
