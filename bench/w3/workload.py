"""W3: leases in Go. Builds one test binary of all contenders, runs it in rounds, prints the results.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import re
import shutil
import subprocess
import sys
import time

from figures import Standing, number, ratio, verdict

HERE = os.path.dirname(os.path.abspath(__file__))

# benchmark: what its rows are called; in the order of the tables
CASES = {"Small": "small", "SmallDefer": "small defer", "SmallZeroed": "small zeroed",
         "SmallZeroedDefer": "small zeroed defer", "SmallWritten": "small written",
         "Multi": "multi", "MultiDefer": "multi defer", "MultiZeroed": "multi zeroed",
         "MultiZeroedDefer": "multi zeroed defer", "MultiWritten": "multi written",
         "Steady": "steady", "Owned": "owned", "Call": "whole call", "Eight": "8 goroutines",
         "Nothing": "empty cgo call"}
HELD = [1, 4, 8, 64, 100, 1000, 3000, 10000, 30000]  # arenas held at once, as in held_test.go
CASES.update({"Held%d" % k: "held %d" % k for k in HELD})
DOCUMENTS = [10, 100, 10000]  # rows of a document, as in document_test.go
CASES.update({"Document%d" % n: "document %d" % n for n in DOCUMENTS})
BATCHES = list(CASES.values())[:10]
ALONE = ["steady", "owned", "whole call"]  # measured on one processor only
HOLDING = ["held %d" % k for k in HELD]  # likewise
READING = ["document %d" % n for n in DOCUMENTS]  # likewise

# sub-benchmark: the contender; the order of the tables
CONTENDERS = {"toft-typed": "toft typed", "toft-untyped": "toft untyped", "toft-owned": "toft owned",
              "toft-cgoparam": "toft cgoparam",
              "floor_cursor": "floor_cursor", "floor_mem": "floor_mem", "floor_pool": "floor sync.Pool",
              "floor_call": "floor cgo call", "raw": "raw cgo", "cgoparam": "cgoparam",
              "pool-bump": "sync.Pool + bump", "ristretto": "ristretto z",
              "pinner": "runtime.Pinner", "heap": "Go heap", "slabs": "sync.Pool of slabs",
              "go-arena": "Go's arena"}
# contender: its module. Each can be left out, by the build tag without_NAME.
MODULES = {"cgoparam": "github.com/CannibalVox/cgoparam", "ristretto": "github.com/dgraph-io/ristretto/v2"}

GRAIN = 64  # as in drive_test.go
COUNT_EIGHT = 5  # values a round for 8 goroutines: it is their spread that is looked at


def program(bench):
    return os.path.join(bench.build, "w3", "w3.test")


def go(bench, *arguments):
    return subprocess.run(("go",) + arguments, cwd=HERE, capture_output=True, text=True,
                          env=dict(os.environ, CC=bench.cc, CGO_ENABLED="1"))


def last_line(text):
    return (text.strip().split("\n") or [""])[-1]


def compilers(bench):
    cc = subprocess.run(bench.cc.split() + ["--version"], capture_output=True, text=True)
    return {"go": go(bench, "version").stdout.strip(), bench.cc: cc.stdout.split("\n")[0]}


def build(bench):
    if not shutil.which("go"):
        bench.stop("W3 needs Go 1.24 or later; scripts/bootstrap bench installs it")
    tags = []
    for name in MODULES:  # each on its own: are its sources there, or can they be fetched?
        others = ",".join("without_" + other for other in MODULES if other != name)
        done = go(bench, "list", "-deps", "-test", "-tags", others, ".")
        if done.returncode != 0:
            bench.leave_out(name, "%s: %s" % (MODULES[name], last_line(done.stderr)))
            tags.append("without_" + name)
    if "arenas" not in os.environ.get("GOEXPERIMENT", "").split(","):
        # the rows need an experiment of the toolchain that is off: not a missing rival
        bench.left_out["go-arena"] = "Go's own arenas need GOEXPERIMENT=arenas in the environment"
    os.makedirs(os.path.dirname(program(bench)), exist_ok=True)
    done = go(bench, "test", "-c", "-tags", ",".join(tags), "-o", program(bench), ".")
    if done.returncode != 0:
        bench.stop("w3 cannot be built:\n" + done.stderr)


# ---- measuring ----

LINE = re.compile(r"Benchmark(\w+)/(\S+?)(?:-(\d+))?\s+(\d+)\s+(.*)")
FAIL = re.compile(r"--- FAIL: Benchmark(\w+)/(\S+?)(?:-(\d+))?$")


def case_of(benchmark, procs):
    case = CASES[benchmark]
    return case if procs == 1 or case == "8 goroutines" else "%s x%d" % (case, procs)


def run_once(bench, turn, pattern, cpus, benchtime, count=1):
    """Yields (case, contender, processors, n, {unit: value}); no value: its results were wrong."""
    command = [program(bench), "-test.run=^$", "-test.bench=" + pattern, "-test.cpu=" + cpus,
               "-test.benchtime=" + benchtime, "-test.count=%d" % count, "-turn=%d" % (5 * turn)]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    found = failed = 0
    for line in done.stdout.splitlines():
        good, bad = LINE.match(line), FAIL.search(line)
        if good:
            benchmark, name, procs, n, rest = good.groups()
            fields = rest.split()
            values = {unit: float(value) for value, unit in zip(fields[::2], fields[1::2])}
            procs, n = int(procs or 1), int(n)
            found += 1
            if n == 1:  # the machine was elsewhere while the first try ran, and there was no second
                continue
            yield case_of(benchmark, procs), CONTENDERS[name], procs, n * (GRAIN if procs > 1 else 1), values
        elif bad:
            benchmark, name, procs = bad.groups()
            procs = int(procs or 1)
            failed += 1
            yield case_of(benchmark, procs), CONTENDERS[name], procs, 0, {}
    if not found or (done.returncode != 0 and not failed):
        bench.stop("%s failed with %d:\n%s" % (" ".join(command), done.returncode,
                                               (done.stdout + done.stderr)[-2000:]))


def middle(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def percentile(values, share):
    return sorted(values)[round((len(values) - 1) * share)]


def rows(bench):
    rounds, benchtime, start = 4 if bench.quick else 9, "5ms" if bench.quick else "60ms", time.time()
    eight = max(n for n in (1, 2, 4, 8) if n <= (os.cpu_count() or 1))
    runs = [("^Benchmark(Small|Multi)", "1,2,16", 1), ("^Benchmark(Steady|Owned|Call|Nothing)$", "1", 1),
            ("^BenchmarkHeld", "1", 1), ("^BenchmarkDocument", "1", 1),
            ("^BenchmarkEight$", str(eight), COUNT_EIGHT)]
    samples = {}
    for turn in range(rounds):
        if bench.quick and turn > 0 and (time.time() - start) * (turn + 1) / turn > 33:
            break  # a busy machine: one round fewer
        print("bench: W3, round %d of %d" % (turn + 1, rounds), file=sys.stderr)
        for k in range(len(runs)):
            pattern, cpus, count = runs[(k + turn) % len(runs)]
            for case, contender, procs, n, values in run_once(bench, turn, pattern, cpus, benchtime, count):
                samples.setdefault((case, contender, procs), []).append((n, values))
    done = go(bench, "list", "-m", *MODULES.values())
    versions = dict(line.split() for line in done.stdout.splitlines() if " " in line)

    order = list(CASES.values())
    places = {name: i for i, name in enumerate(CONTENDERS.values())}
    found = []
    for case, contender, procs in sorted(samples, key=lambda k: (order.index(k[0].split(" x")[0]), k[2], places[k[1]])):
        runs_ = samples[case, contender, procs]
        times = [v["ns/op"] for _, v in runs_ if v] or [0.0]
        row = {"workload": "W3", "case": case, "contender": contender, "language": "Go", "unit": "ns",
               "median": round(middle(times), 4), "min": min(times), "max": max(times),
               "rounds": len(runs_), "n": runs_[-1][0], "verified": all(v for _, v in runs_), "procs": procs}
        if "allocs/op" in runs_[-1][1]:  # of Go's heap; C's is not counted
            row["allocs"], row["bytes"] = (middle([v[u] for _, v in runs_ if v]) for u in ("allocs/op", "B/op"))
        if case == "8 goroutines":
            row["p10"], row["p90"] = percentile(times, 0.1), percentile(times, 0.9)
        name = next(n for n, shown in CONTENDERS.items() if shown == contender)
        if name in MODULES:
            row["version"] = versions.get(MODULES[name], "unknown")
        found.append(row)
    return found


# ---- tables ----

def ours(contender):
    return contender.startswith(("toft", "floor"))


class Table:
    def __init__(self, rows_):
        self.row = {(r["case"], r["contender"]): r for r in rows_}
        self.cases = list(dict.fromkeys(c for c, _ in self.row))
        self.contenders = [c for c in CONTENDERS.values() if any(c == who for _, who in self.row)]

    def median(self, case, contender):
        row = self.row.get((case, contender))
        return row and row["median"]

    def unit(self, case):
        """sync.Pool's Get and Put, measured beside the contenders of that case."""
        return self.median(case, "floor sync.Pool")

    def best_rival(self, case):
        return min(((self.row[case, c]["median"], c) for c in self.contenders
                    if not ours(c) and (case, c) in self.row), default=(None, None))

    def rows_of_toft(self):
        for case in self.cases:
            for c in self.contenders:
                if c.startswith("toft") and (case, c) in self.row:
                    yield case, c, self.median(case, c)


def here(rows_):
    """Our numbers beside those the original published, measured as it did: untyped, with defer."""
    t = Table(rows_)
    return ["%s / %s ns (cgoparam %s)" % tuple(number(t.median(case, c)) for case, c in (
        (batch + " defer", "toft untyped"), (batch, "raw cgo"), (batch + " defer", "cgoparam")))
            for batch in ("small", "multi")]


def print_original(t):
    print("As the original measures it: untyped, not zeroed, returned by defer; ns, medians")
    print("  %-18s%12s%16s%10s  %s" % ("", "toft", "cgoparam", "raw cgo", "times as fast as raw: toft, cgoparam"))
    for batch, what in (("small", "small batch"), ("multi", "multi-page")):
        toft, cgoparam = t.median(batch + " defer", "toft untyped"), t.median(batch + " defer", "cgoparam")
        raw = t.median(batch, "raw cgo")
        print("  %-18s%12s%16s%10s  %s, %s" % (what, number(toft), number(cgoparam), number(raw),
                                               ratio(raw, toft), ratio(raw, cgoparam)))
    print()


def print_ratios(t):
    print("Against the best rival and the floor; ns, medians. units: of sync.Pool's get + put in the same case;")
    print("x2, x16: on so many of Go's processors, an operation's share of the time")
    print("  %-23s%-14s%8s%8s  %-17s%8s%8s %-6s%13s%8s" % (
        "case", "ours", "ns", "units", "best rival", "ns", "ours/", "", "floor", "ours/"))
    for case, c, value in t.rows_of_toft():
        best, rival = t.best_rival(case)
        floor = t.median(case, "floor cgo call" if case == "whole call" else "floor_cursor")
        print("  %-23s%-14s%8s%8s  %-17s%8s%8s %-6s%13s%8s" % (
            case, c, number(value), ratio(value, t.unit(case)), rival, number(best), ratio(value, best),
            verdict(value, best), number(floor), ratio(value, floor)))
    print("  empty cgo call: %s\n" % number(t.median("empty cgo call", "floor cgo call")))


def print_all(t):
    print("Every contender; ns an operation, medians")
    procs = sorted({int(case.split(" x")[1]) for case in t.cases if " x" in case})
    for cases in [BATCHES, ALONE, HOLDING, READING] + [["%s x%d" % (case, n) for case in BATCHES] for n in procs]:
        words = [case.split() for case in cases]
        for line in range(max(map(len, words))):
            print(("  %-17s%s" % ("", "".join("%9s" % (w[line] if line < len(w) else "") for w in words))).rstrip())
        for c in t.contenders:
            if any((case, c) in t.row for case in cases):
                print("  %-17s%s" % (c, "".join("%9s" % number(t.median(case, c)) for case in cases)))
        print()


def print_eight(t):
    some = next((r for (case, _), r in t.row.items() if case == "8 goroutines"), None)
    if some is None:
        return
    print("The small batch on 8 goroutines: %d values each; ns, an operation's share of the time" % some["rounds"])
    print("  %-17s%9s%9s%9s%9s%9s%9s" % ("", "min", "p10", "median", "p90", "max", "p90/p10"))
    for c in t.contenders:
        r = t.row.get(("8 goroutines", c))
        if r:
            print("  %-17s%s%9s" % (c, "".join("%9s" % number(r[k]) for k in ("min", "p10", "median", "p90", "max")),
                                    ratio(r["p90"], r["p10"])))
    print()


# (name, case, contender, the largest number of units)
MARKS = [("small batch typed", "small", "toft typed", 0.64), ("small batch untyped", "small", "toft untyped", 1.0),
         ("small batch typed, zeroed", "small zeroed", "toft typed", 1.9),
         ("small batch untyped, zeroed", "small zeroed", "toft untyped", 1.9),
         ("multi-page", "multi", "toft typed", 1.7), ("owned", "owned", "toft typed", 0.25)]
SPREAD = 1.5
# (what, case, contender, rival, at most so much of its time)
SHARES = [("small batch, cgoparam's interface", "small defer", "toft cgoparam", "cgoparam", 0.7),
          ("10 x 1000 B, cgoparam's interface", "multi defer", "toft cgoparam", "cgoparam", 0.5),
          ("a document of 100,000 nodes in a lease", "document 10000", "toft typed", "toft owned", 1.0),
          ("a document of 100,000 nodes in a lease", "document 10000", "toft typed", "sync.Pool of slabs", 1.0)]


def all_marks(rows_):
    """(mark, measured value, met)"""
    t = Table(rows_)
    for what, case, c, limit in MARKS:
        value, unit = t.median(case, c), t.unit(case)
        yield ("%s <= %s of sync.Pool's get + put" % (what, limit),
               "%s / %s = %s" % (number(value), number(unit), ratio(value, unit)), value <= 1.03 * limit * unit)
    for what, case, c, rival, share in SHARES:
        value, other = t.median(case, c), t.median(case, rival)
        if value is not None and other is not None:
            yield ("%s <= %s of %s" % (what, share, rival), "%s / %s = %s" % (number(value), number(other), ratio(value, other)),
                   value <= 1.03 * share * other)
    all_ = [(case, c, value, *t.best_rival(case)) for case, c, value in t.rows_of_toft()]
    lost = ["%s, %s (%s, %s)" % (case, c[len("toft "):], rival, ratio(value, best))
            for case, c, value, best, rival in all_ if verdict(value, best) == "LOST"]
    few = "; ".join(lost) if len(lost) <= 6 else "see above"
    yield "ahead of every rival in every row (3 %)", "lost %d of %d: %s" % (len(lost), len(all_), few), not lost
    spreads = {c: r["p90"] / r["p10"] for (case, c), r in t.row.items() if case == "8 goroutines"}
    noise = max(s for c, s in spreads.items() if c.startswith("floor"))
    yield ("one mode at 8 goroutines: p90 / p10 <= %s, or as for the floors" % SPREAD,
           ", ".join("%s %.2f" % (c, s) for c, s in spreads.items() if ours(c)),
           all(s <= max(SPREAD, noise) for c, s in spreads.items() if c.startswith("toft")))


GROUP = None


def standings(rows_):
    t = Table(rows_)
    for case, c, value in t.rows_of_toft():
        best, rival = t.best_rival(case)
        if rival:
            yield Standing("", case, c, value, rival, best)


def table(head, rows_):
    t = Table(rows_)
    print_original(t)
    print_ratios(t)
    print_all(t)
    print_eight(t)
    print("Marks")
    for mark, measured, met in all_marks(rows_):
        print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    compilers_ = ", ".join(head["compilers"].values())
    print("\n%s; %s; %s; commit %s" % (head["machine"], head["os"], compilers_, head["commit"]))
    versions = {r["contender"]: r["version"] for r in rows_ if "version" in r}
    print("rivals: %s" % ", ".join("%s %s" % v for v in versions.items()))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """What one line of history keeps: medians, ours and the floor's, and the best rival."""
    t = Table(rows_)
    kept = {}
    for case in t.cases:
        best, rival = t.best_rival(case)
        kept[case] = {c: t.median(case, c) for c in t.contenders if ours(c) and t.median(case, c) is not None}
        if rival:
            kept[case][rival] = best
    return {"unit": "ns", "medians": kept}
