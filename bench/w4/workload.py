"""W4: indexed pools, and lists, stacks, queues, ordered sets and dictionaries on them. Prints what it found.

A language is a module with LANGUAGE, DEFAULTS, BASE, compilers, build and rows, as in_julia.py; its rows all have
contenders of ours (toft), models of the original (model), what the language itself has (BASE), floors, and others.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import in_julia  # noqa: E402

LANGUAGES = [in_julia]


def compilers(bench):
    return {name: version for language in LANGUAGES for name, version in language.compilers(bench).items()}


def build(bench):
    for language in LANGUAGES:
        language.build(bench)


def rows(bench):
    return [row for language in LANGUAGES for row in language.rows(bench)]


# ---- tables ----

def time(ns):
    if ns is None:
        return "-"
    for unit, size in (("ms", 1e6), ("us", 1e3), ("ns", 1)):
        if ns >= size or size == 1:
            value = ns / size
            return "%s %s" % ("%.2f" % value if value < 10 else "%.1f" % value if value < 100 else "%.0f" % value, unit)
    return "-"


def ratio(a, b):
    return "%.2f" % (a / b) if a and b else "-"


class Table:
    def __init__(self, language, rows_):
        self.language = language
        self.row = {(r["case"], r["contender"]): r for r in rows_ if r["language"] == language.LANGUAGE}
        self.cases = list(dict.fromkeys(case for case, _ in self.row))
        self.contenders = list(dict.fromkeys(who for _, who in self.row))

    def family(self, who):
        first = who.split()[0]
        return first if first in ("toft", "model", "floor") else "base" if who in self.language.BASE else "other"

    def median(self, case, who):
        row = self.row.get((case, who))
        return row and row["median"]

    def best(self, case, *families):
        """(median, contender) of the fastest of these."""
        return min(((self.row[case, who]["median"], who) for who in self.contenders
                    if self.family(who) in families and (case, who) in self.row), default=(None, None))

    def best_rival(self, case):
        return self.best(case, "model", "base", "other")

    def default(self, case):
        return "toft " + self.language.DEFAULTS[case.split()[0]]

    def lost(self, case, who):
        value, best = self.median(case, who), self.best_rival(case)[0]
        return best is not None and value > 1.03 * best


def print_best(t):
    """Of each case the fastest of ours and, where that is another, what the package takes by default."""
    print("%s: the best of each side, medians; a case is what is done, the payload's numbers, and n"
          % t.language.LANGUAGE)
    print("  %-26s%-31s%10s  %-20s%10s%6s  %-26s%10s%6s  %-26s%10s%6s" % (
        "case", "ours", "", "of the language", "", "ours/", "model", "", "ours/", "others", "", "ours/"))
    for case in t.cases:
        for who in dict.fromkeys((t.best(case, "toft")[1], t.default(case))):
            value = t.median(case, who)
            sides = [t.best(case, family) for family in ("base", "model", "other")]
            widths = (20, 26, 26)
            text = "".join("  %-*s%10s%6s" % (width, name or "-", time(ns), ratio(value, ns))
                           for width, (ns, name) in zip(widths, sides))
            print(("  %-26s%-31s%10s%s%s" % (case, who[len("toft "):], time(value), text,
                                             "  LOST" if t.lost(case, who) else "")).rstrip())
    print()


def print_all(t):
    print("Every contender, medians; L: slower than the fastest rival; in brackets: allocations, the collector's share")
    groups = {}
    for case in t.cases:
        groups.setdefault(case.split()[0], []).append(case)
    for cases in groups.values():
        for k in range(0, len(cases), 5):
            some = cases[k:k + 5]
            print("  %-34s%s" % ("", "".join("%26s" % case for case in some)))
            for who in t.contenders:
                if any((case, who) in t.row for case in some):
                    print(("  %-34s%s" % (who, "".join("%26s" % cell(t, case, who) for case in some))).rstrip())
            print()


def cell(t, case, who):
    row = t.row.get((case, who))
    if not row:
        return "-"
    text = time(row["median"])
    if row.get("allocs", 0) >= 0.5:
        text += " (%.0f, %.0f%%)" % (row["allocs"], 100 * row["gc_ns"] / row["median"])
    return text + (" L" if t.family(who) == "toft" and t.lost(case, who) else "")


def marks(t):
    """(mark, what was measured, met)"""
    kinds = {"list": ("model",), "stack": ("model",), "queue": ("model",), "set": ("model", "base"),
             "dict": ("model", "base")}
    for kind, families in kinds.items():
        for which in ("best", "default"):
            told, met, cases = [], True, [case for case in t.cases if case.split()[0] == kind]
            for case in cases:
                who = t.best(case, "toft")[1] if which == "best" else t.default(case)
                value, (best, rival) = t.median(case, who), t.best(case, *families)
                if value > 1.03 * best:
                    told.append("%s (%s, %s)" % (case, rival, ratio(value, best)))
            if cases:
                what = "the model%s" % (" and the language's own" if "base" in families else "")
                yield ("%s, %s: ahead of %s in every row (3 %%)" % (
                    kind, "our best" if which == "best" else "by default", what),
                       "lost %d of %d%s" % (len(told), len(cases), ": " + ", ".join(told) if told else ""), not told)


def here(rows_):
    """Our numbers beside those the original published: minima too."""
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


def table(head, rows_):
    for language in LANGUAGES:
        t = Table(language, rows_)
        if not t.row:
            continue
        print_best(t)
        print_all(t)
        print("Marks")
        for mark, measured, met in marks(t):
            print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    compilers_ = ", ".join(head["compilers"].values())
    print("\n%s; %s; %s; commit %s" % (head["machine"], head["os"], compilers_, head["commit"]))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """What one line of history keeps: medians, of ours the best and the default, and the best of each other side."""
    kept = {}
    for language in LANGUAGES:
        t = Table(language, rows_)
        for case in t.cases:
            those = {t.default(case): t.median(case, t.default(case))}
            for family in ("toft", "base", "model", "other", "floor"):
                value, who = t.best(case, family)
                if who:
                    those[who] = value
            kept["%s: %s" % (language.LANGUAGE, case)] = those
    return {"unit": "ns", "medians": kept}
