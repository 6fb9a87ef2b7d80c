"""W4: indexed pools, and lists, stacks, queues, ordered sets and dictionaries on them. Prints the results.

A language is a module with LANGUAGE, DEFAULTS, BASE, compilers, build, rows and marks, as in_julia.py; its rows have
contenders of ours (toft), Allocators.jl itself (original), what the language itself has (BASE), floors, and others.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import in_julia  # noqa: E402
import in_rust  # noqa: E402
from figures import TOLERANCE, Standing, ratio, time  # noqa: E402

LANGUAGES = [in_julia, in_rust]


def compilers(bench):
    return {name: version for language in LANGUAGES for name, version in language.compilers(bench).items()}


def build(bench):
    for language in LANGUAGES:
        language.build(bench)


def rows(bench):
    return [row for language in LANGUAGES for row in language.rows(bench)]


# ---- tables ----

# the kinds of rivals, and the widths of their columns
SIDES = [("base", "of the language", 20), ("original", "Allocators.jl", 26), ("other", "others", 26)]


class Table:
    def __init__(self, language, rows_):
        self.language = language
        self.row = {(r["case"], r["contender"]): r for r in rows_ if r["language"] == language.LANGUAGE}
        self.cases = list(dict.fromkeys(case for case, _ in self.row))
        self.contenders = list(dict.fromkeys(who for _, who in self.row))

    def family(self, who):
        first = who.split()[0]
        return first if first in ("toft", "original", "floor") else "base" if who in self.language.BASE else "other"

    def median(self, case, who):
        row = self.row.get((case, who))
        return row and row["median"]

    def best(self, case, *families):
        """(median, contender) of the fastest of these."""
        return min(((self.row[case, who]["median"], who) for who in self.contenders
                    if self.family(who) in families and (case, who) in self.row), default=(None, None))

    def best_rival(self, case):
        return self.best(case, "original", "base", "other")

    def default(self, case):
        return ("toft " + self.language.DEFAULTS.get(case.split()[0], "")).strip()

    def lost(self, case, who):
        value, best = self.median(case, who), self.best_rival(case)[0]
        return best is not None and value > (1 + TOLERANCE) * best


def print_best(t):
    """For each case Toft's fastest kind and, if different, the package's default."""
    print("%s: the best of each side, medians; a case is what is done, the payload's numbers, and n"
          % t.language.LANGUAGE)
    shown = [(family, title, width) for family, title, width in SIDES
             if any(t.family(who) == family for who in t.contenders)]
    long = max([26] + [2 + len(case) for case in t.cases])
    print("  %-*s%-31s%10s%s" % (long, "case", "ours", "", "".join("  %-*s%10s%6s" % (width, title, "", "ours/")
                                                              for _, title, width in shown)))
    for case in t.cases:
        for who in dict.fromkeys((t.best(case, "toft")[1], t.default(case))):
            if (case, who) not in t.row:
                continue
            value = t.median(case, who)
            sides = [(width, *t.best(case, family)) for family, _, width in shown]
            text = "".join("  %-*s%10s%6s" % (width, name or "-", time(ns), ratio(value, ns))
                           for width, ns, name in sides)
            print(("  %-*s%-31s%10s%s%s" % (long, case, who[len("toft "):] or "as it is made", time(value), text,
                                             "  LOST" if t.lost(case, who) else "")).rstrip())
    print()


def print_all(t):
    print("Every contender, medians; L: slower than the fastest rival; in brackets: allocations, a collector's share")
    groups = {}
    for case in t.cases:
        groups.setdefault(case.split()[0], []).append(case)
    for cases in groups.values():
        for k in range(0, len(cases), 5):
            some = cases[k:k + 5]
            width = max(26, 2 + max(map(len, some)))
            print("  %-34s%s" % ("", "".join("%*s" % (width, case) for case in some)))
            for who in t.contenders:
                if any((case, who) in t.row for case in some):
                    print(("  %-34s%s" % (who, "".join("%*s" % (width, cell(t, case, who)) for case in some))).rstrip())
            print()


def cell(t, case, who):
    row = t.row.get((case, who))
    if not row:
        return "-"
    text = time(row["median"])
    if row.get("allocs", 0) >= 0.5:
        collected = ", %.0f%%" % (100 * row["gc_ns"] / row["median"]) if "gc_ns" in row else ""
        text += " (%.0f%s)" % (row["allocs"], collected)
    return text + (" L" if t.family(who) == "toft" and t.lost(case, who) else "")


def print_held(t):
    """The bytes of a structure, where counted; once for a lifetime with several rows."""
    cases = [case for case in t.cases if any("held" in t.row.get((case, who), {}) for who in t.contenders)
             and (" insert " in case or not case.startswith(("pool", "omap", "oset")))]
    if not cases:
        return
    print("Bytes held for each element, when all are in")
    for k in range(0, len(cases), 8):
        some = cases[k:k + 8]
        width = max(26, 2 + max(map(len, some)))
        print("  %-28s%s" % ("", "".join("%*s" % (width, case) for case in some)))
        for who in t.contenders:
            held = [t.row.get((case, who), {}).get("held") for case in some]
            if any(held):
                print(("  %-28s%s" % (who, "".join("%*s" % (width, "%.1f" % h if h else "-") for h in held))).rstrip())
        print()


def here(rows_):
    """Our results next to those that the original published, including minima."""
    found = {(r["case"], r["contender"]): r["min"] for r in rows_ if r["language"] == "Julia"}
    large = next((n for n in (100000, 10000) if ("list p1 %d" % n, "toft fixed") in found), None)
    if large is None:
        return None
    note = "" if large == 100000 else " (of 10,000)"

    def line(case, *contenders):
        values = [found.get(("%s %d" % (case, large), who)) for who in contenders]
        return " / ".join("%.3g" % (v / 1e6) if v else "-" for v in values) + " ms" + note
    lists = ("heap nodes", "toft fixed", "toft columns fixed", "toft free list fixed")
    return [line("list p1", *lists), line("list p100", *lists),
            line("stack p10", "DataStructures", "toft fixed"),
            line("queue p10", "DataStructures", "toft fixed", "toft growing"),
            line("set", "Set", "AVLTrees AVLSet", "heap tree", "toft fixed", "toft free list fixed",
                 "toft columns fixed"),
            line("dict p1", "Dict", "heap tree", "toft free list fixed", "toft columns fixed"),
            line("dict p100", "Dict", "heap tree", "toft columns fixed", "toft fixed")]


def tables_of(rows_):
    return [t for t in (Table(language, rows_) for language in LANGUAGES) if t.row]


def all_marks(rows_):
    for t in tables_of(rows_):
        for mark, measured, met in t.language.marks(t):
            yield "%s: %s" % (t.language.LANGUAGE, mark), measured, met


GROUP = "language"


def standings(rows_):
    """For each case Toft's fastest kind, and the package's default."""
    for t in tables_of(rows_):
        for case in t.cases:
            best, rival = t.best_rival(case)
            for who in dict.fromkeys((t.best(case, "toft")[1], t.default(case))):
                if rival and (case, who) in t.row:
                    yield Standing(t.language.LANGUAGE, case, who, t.median(case, who), rival, best)


def table(head, rows_):
    for t in tables_of(rows_):
        print_best(t)
        print_all(t)
        print_held(t)
    print("Marks")
    for mark, measured, met in all_marks(rows_):
        print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    print()
    compilers_ = ", ".join(head["compilers"].values())
    print("%s; %s; %s; commit %s" % (head["machine"], head["os"], compilers_, head["commit"]))
    have = {r["contender"].split()[0]: r["version"] for r in rows_ if "version" in r}
    if have:
        print("rivals: %s" % ", ".join("%s %s" % v for v in have.items()))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """A line of history: medians of Toft's best and default kinds, and of the best of each other group."""
    kept = {}
    for t in tables_of(rows_):
        for case in t.cases:
            those = {t.default(case): t.median(case, t.default(case))} if (case, t.default(case)) in t.row else {}
            for family in ("toft", "base", "original", "other", "floor"):
                value, who = t.best(case, family)
                if who:
                    those[who] = value
            kept["%s: %s" % (t.language.LANGUAGE, case)] = those
    return {"unit": "ns", "medians": kept}
