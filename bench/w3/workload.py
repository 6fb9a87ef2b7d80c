"""W3: leases in Go. Builds one test binary of all contenders, runs it in rounds, prints the results.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from native import version
from table import against, ahead, is_ours

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import loops  # noqa: E402

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

# sub-benchmark: the contender; the order of the tables
CONTENDERS = {"toft-typed": "toft typed", "toft-untyped": "toft untyped", "toft-owned": "toft owned",
              "toft-cgoparam": "toft cgoparam",
              "floor_cursor": "floor_cursor", "floor_mem": "floor_mem", "floor_pool": "floor sync.Pool",
              "floor_call": "floor cgo call", "raw": "raw cgo", "cgoparam": "cgoparam",
              "pool-bump": "sync.Pool + bump", "ristretto": "ristretto z",
              "heap": "Go heap", "slabs": "sync.Pool of slabs"}
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
    return {"go": go(bench, "version").stdout.strip(), bench.cc: version(bench.cc.split())}


def build(bench):
    if not shutil.which("go"):
        bench.stop("W3 needs Go 1.24 or later; scripts/bootstrap bench installs it")
    overlay = loops.write(HERE, os.path.dirname(program(bench)))
    tags = []
    for name in MODULES:  # each on its own: are its sources there, or can they be fetched?
        others = ",".join("without_" + other for other in MODULES if other != name)
        done = go(bench, "list", "-deps", "-test", "-overlay", overlay, "-tags", others, ".")
        if done.returncode != 0:
            bench.leave_out(name, "%s: %s" % (MODULES[name], last_line(done.stderr)))
            tags.append("without_" + name)
    done = go(bench, "test", "-c", "-overlay", overlay, "-tags", ",".join(tags), "-o", program(bench), ".")
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
               "median": round(statistics.median(times), 4), "min": min(times), "max": max(times),
               "rounds": len(runs_), "n": runs_[-1][0], "verified": all(v for _, v in runs_), "procs": procs}
        if "allocs/op" in runs_[-1][1]:  # of Go's heap; C's is not counted
            row["allocs"], row["bytes"] = (statistics.median([v[u] for _, v in runs_ if v]) for u in ("allocs/op", "B/op"))
        if case == "8 goroutines":
            row["p10"], row["p90"] = percentile(times, 0.1), percentile(times, 0.9)
        name = next(n for n, shown in CONTENDERS.items() if shown == contender)
        if name in MODULES:
            row["version"] = versions.get(MODULES[name], "unknown")
        found.append(row)
    return found


# ---- tables ----

TITLE = "lease, Go"
GROUP = None
EXTRAS = {"allocs": "", "bytes": "B", "p10": "ns", "p90": "ns"}


# (what, case, contender, the limit in times of sync.Pool's Get and Put in the same case)
UNITS = [("small batch typed", "small", "toft typed", 0.64), ("small batch untyped", "small", "toft untyped", 1.0),
         ("small batch typed, zeroed", "small zeroed", "toft typed", 1.9),
         ("small batch untyped, zeroed", "small zeroed", "toft untyped", 1.9),
         ("multi-page", "multi", "toft typed", 1.7), ("owned", "owned", "toft typed", 0.25)]
# (what, case, contender, rival, at most so much of its time)
SHARES = [("small batch, cgoparam's interface", "small zeroed defer", "toft cgoparam", "cgoparam", 0.7),
          ("10 x 1000 B, cgoparam's interface", "multi zeroed defer", "toft cgoparam", "cgoparam", 0.5),
          ("a document of 100,000 nodes in a lease", "document 10000", "toft typed", "toft owned", 1.0),
          ("a document of 100,000 nodes in a lease", "document 10000", "toft typed", "sync.Pool of slabs", 1.0)]
SPREAD = 1.5


def all_marks(tables):
    t, = tables
    shares = [(what, case, c, "floor sync.Pool", limit) for what, case, c, limit in UNITS] + SHARES
    for what, case, c, other, limit in shares:
        if t.median(case, c) and t.median(case, other):
            yield against("%s <= %s of %s" % (what, limit, other), t.median(case, c), t.median(case, other), 1.03 * limit)
    yield ahead("ahead of every rival in every row (3 %)", t.standings())
    spreads = {c: r["p90"] / r["p10"] for c, r in t.of("8 goroutines").items()}
    noise = max([s for c, s in spreads.items() if c.startswith("floor")] + [SPREAD])
    yield ("one mode at 8 goroutines: p90 / p10 <= %s, or as for the floors" % SPREAD,
           ", ".join("%s %.2f" % pair for pair in spreads.items() if is_ours(pair[0])),
           all(s <= noise for c, s in spreads.items() if is_ours(c)))
