"""W1: regions in C. Builds one program of all contenders, runs it under each malloc, prints the results.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import json
import os
import subprocess
import sys

import cargo
import litter
import mallocs
from figures import Standing, number, ratio, verdict

HERE = os.path.dirname(os.path.abspath(__file__))
# Loops of two cycles vary by a third with their alignment, so every loop starts at a cache line.
FLAGS = "-O2 -DNDEBUG -falign-functions=64 -falign-loops=64 -Wall -Wextra -Wconversion -Wshadow".split()
C, CXX = ["-std=gnu11"] + FLAGS, ["-std=gnu++17"] + FLAGS
FOONATHAN = ["-isystem/usr/include/foonathan_memory",
             "-isystem/usr/include/x86_64-linux-gnu/foonathan_memory"]

MALLOCS = ("glibc", "tcmalloc", "mimalloc", "jemalloc")  # that the program itself runs under
OURS = ["toft", "toft_claimed", "toft_pack", "toft_lease", "toft_hardened", "toft_senarena", "floor_mem", "floor_cursor",
        "malloc"]
LITTERED_OBJECTS = "1000000"  # of the row fresh: fewer than the free places of a littered heap
SENSIBLE = os.environ.get("LIBSENSIBLE", "libsensible")
SENSIBLE_ARENA = os.path.join(SENSIBLE, "sensible-allocators", "sensible-arena")
# file: (flags, libraries, origin). Each is first compiled and linked on its own.
RIVALS = {
    "upb.c": ([], [], "the C sources in the crate google-protobuf, fetched by cargo"),
    "sensible.c": (["-fgnu89-inline", "-isystem" + os.path.join(SENSIBLE_ARENA, "include"),
                    "-isystem" + os.path.join(SENSIBLE, "sensible-macros", "include")], [],
                   "a checkout of 414owen/libsensible, which LIBSENSIBLE names"),
    "foonathan.cc": (FOONATHAN, ["-lfoonathan_memory"], "Debian package libfoonathan-memory-dev"),
    "obstack.c": ([], [], "glibc"),
    "apr.c": (["-D_GNU_SOURCE", "-isystem/usr/include/apr-1.0"], ["-lapr-1"], "Debian package libapr1-dev"),
    "talloc.c": ([], ["-ltalloc"], "Debian package libtalloc-dev"),
    "mimalloc.c": ([], ["-ldl"], "Debian package libmimalloc-dev"),
    "pmr_direct.cc": ([], [], "libstdc++"),
    "pmr_pointer.cc": ([], [], "libstdc++"),
    "llvm.cc": (["-isystem/usr/lib/llvm-14/include"], ["-L/usr/lib/llvm-14/lib", "-lLLVM-14"],
                "Debian package llvm-14-dev"),
    "protobuf.cc": ([], ["-lprotobuf"], "Debian package libprotobuf-dev"),
}


def program(bench):
    return os.path.join(bench.build, "w1", "w1")


def compilers(bench):
    return {c: subprocess.run(c.split() + ["--version"], capture_output=True, text=True).stdout.split("\n")[0]
            for c in (bench.cc, bench.cxx)}


def fetch_upb(bench):
    """upb's folder, fetched once; None and a reason on failure."""
    fetched, error = cargo.vendor(bench, "upb")
    return (None, error) if error else (os.path.join(fetched, "google-protobuf", "libupb"), None)


def newest(*folders):
    return max(os.path.getmtime(os.path.join(place, f))
               for folder in folders for place, _, files in os.walk(folder) for f in files)


def compile_one(bench, source, output, flags):
    """None, or the compiler's message."""
    cxx = source.endswith(".cc")
    command = (bench.cxx if cxx else bench.cc).split() + (CXX if cxx else C) + flags
    command += ["-I" + HERE, "-I" + os.path.join(bench.root, "c", "include"), "-c", source, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.stderr and done.returncode == 0:
        sys.stderr.write(done.stderr)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line] or ["the compiler failed"]
    return errors[0]


def build(bench):
    out = os.path.join(bench.build, "w1")
    os.makedirs(out, exist_ok=True)
    source_time = newest(HERE, os.path.join(bench.root, "c", "include"), os.path.join(bench.root, "c", "src"))
    stamp = os.path.join(out, "built-with")
    state = "%s %s" % (bench.cc, bench.cxx)
    fresh = (os.path.exists(stamp) and open(stamp).read() == state and os.path.getmtime(stamp) > source_time
             and not bench.ci)
    if fresh and os.path.exists(program(bench)):
        return

    objects, libraries, present = [], [], []
    c_files = [os.path.join(HERE, "opaque.c")] + [os.path.join(HERE, name + ".c") for name in OURS]
    library = os.environ.get("TOFT_C", os.path.join(bench.root, "c", "src", "toft.c"))
    for source in c_files + [library]:
        made = os.path.join(out, ("lib-" if source == library else "") + os.path.basename(source) + ".o")
        error = compile_one(bench, source, made, [])
        if error:
            bench.stop(error)
        objects.append(made)
    present += OURS

    upb, error = fetch_upb(bench)
    for file, (flags, libs, origin) in RIVALS.items():
        name = file.split(".")[0]
        made = [os.path.join(out, file + ".o")]
        if name == "upb":
            if error:
                bench.leave_out(name, error)
                continue
            flags = ["-isystem" + upb]
            for part in ("arena.c", "alloc.c"):
                made.append(os.path.join(out, "upb-" + part + ".o"))
                source = os.path.join(upb, "upb", "mem", part)
                error = error or compile_one(bench, source, made[-1], ["-w"] + flags)
        if name == "sensible":
            made.append(os.path.join(out, "sensible-arena.o"))
            error = compile_one(bench, os.path.join(SENSIBLE_ARENA, "src", "sensible-arena.c"), made[1], ["-w"] + flags)
        error = error or compile_one(bench, os.path.join(HERE, file), made[0], flags)
        if not error:
            linked = subprocess.run(bench.cxx.split() + ["-xc++", "-", "-o", os.devnull] + libs, text=True,
                                    input="int main() {}", capture_output=True)
            if linked.returncode != 0:
                error = linked.stderr.strip().split("\n")[0]
        if error:
            bench.leave_out(name, "%s (it is in %s)" % (error, origin))
            error = None
            continue
        objects += made
        libraries += libs
        present.append(name)

    main = os.path.join(out, "w1.c.o")
    contenders = "-DCONTENDERS=" + " ".join("X(%s)" % name for name in present)
    error = compile_one(bench, os.path.join(HERE, "w1.c"), main, [contenders])
    if error:
        bench.stop(error)
    command = bench.cxx.split() + ["-o", program(bench), main] + objects + libraries + ["-pthread"]
    if subprocess.run(command).returncode != 0:
        bench.stop("w1 cannot be linked")
    if len(present) == len(OURS) + len(RIVALS):  # otherwise it tries again next time
        with open(stamp, "w") as f:
            f.write(state)


def rows(bench):
    found, objects = [], ["--objects", LITTERED_OBJECTS] * bench.littered
    options = ["--quick"] * bench.quick + ["--heap"] * bench.littered
    if bench.littered:
        litter.record(bench, [program(bench), "--quick", "--heap", "--objects", "100000", "glibc"])
    for name in MALLOCS:
        if name not in bench.mallocs:
            continue
        path = bench.mallocs[name][0]
        print("bench: W1 under " + name, file=sys.stderr)
        if bench.littered:
            path = litter.preload(bench, path)
        command = [program(bench)] + options + objects + [name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=mallocs.environment(path))
        if done.returncode != 0:
            bench.stop("%s failed with %d" % (" ".join(command), done.returncode))
        lines = done.stdout.splitlines()
        here_ = [json.loads(line) for line in lines if line.startswith("{")]
        reports = [line.split()[1:] for line in lines if line.startswith("littered")]
        if bench.littered and len(reports) <= len({r["contender"] for r in here_ if r["case"] == "fresh"}):
            bench.stop("W1: not all processes littered their heaps")
        found += [dict(r, **litter.fields(reports[0])) for r in here_] if reports else here_
        n = next(r["n"] for r in found if r["case"] == "fresh")
        objects = ["--objects", str(n)]  # the same for all
    return found


# ---- tables ----

def ours(contender):
    return contender.startswith(("toft", "floor"))


class Table:
    """The rows of one malloc."""

    def __init__(self, rows_, malloc):
        self.row = {(r["case"], r["contender"]): r for r in rows_ if r["malloc"] == malloc}
        self.cases = list(dict.fromkeys(c for c, _ in self.row))
        self.contenders = list(dict.fromkeys(c for _, c in self.row))

    def median(self, case, contender):
        row = self.row.get((case, contender))
        return row and row["median"]

    def best_rival(self, case):
        return min(((self.row[case, c]["median"], c) for c in self.contenders
                    if not ours(c) and (case, c) in self.row), default=(None, None))


def here(rows_):
    """Our results next to those that the original published, in the order of published.py."""
    tables = {m: Table(rows_, m) for m in MALLOCS}

    def times(case, against):
        return " / ".join(ratio(t.median(against, "malloc"), t.median(case, "toft")) for t in tables.values())

    def per_us(malloc, case, contender):
        value = tables[malloc].median(case, contender)
        return "%.0f" % (1e3 / value) if value else "-"

    return [times("fresh", "fresh"), times("reused", "fresh"), times("free", "free"),
            per_us("glibc", "fresh", "toft") + " / " + per_us("glibc", "reused", "toft"),
            per_us("glibc", "fresh", "malloc") + " / " + per_us("mimalloc", "fresh", "malloc")]


def print_original(table, malloc, version):
    one = table.row["fresh", "toft"]
    n = one["n"]
    print("As the original prints it, under %s %s: %s objects of two ints, %d rounds" %
          (malloc, version, format(n, ","), one["rounds"]))
    print("  %-16s%18s%18s%18s  %14s  %s" % (
        "", "fresh", "reused", "free", "per us", "times as fast as malloc"))
    print("  %-16s%18s%18s%18s  %7s%7s  %7s%7s%8s" % (
        "", "ms, min..max", "ms, min..max", "ms, min..max", "fresh", "reused", "fresh", "reused", "free"))
    for c in table.contenders:
        if ("fresh", c) not in table.row:
            continue
        times = ["%.2f..%.2f" % (table.row[k, c]["min"] * n / 1e6, table.row[k, c]["max"] * n / 1e6)
                 for k in ("fresh", "reused", "free")]
        fresh, reused, free = (table.median(k, c) for k in ("fresh", "reused", "free"))
        speed = [ratio(table.median(case, "malloc"), value)
                 for case, value in (("fresh", fresh), ("fresh", reused), ("free", free))]
        if c == "malloc":
            speed[1] = "-"  # its reuse is a free and a malloc of each
        print("  %-16s%18s%18s%18s  %7.0f%7.0f  %7s%7s%8s" % (c, *times, 1e3 / fresh, 1e3 / reused, *speed))
    print()


def print_ratios(table, malloc, version):
    print("Against the best rival and the floor, under %s %s; ns, medians" % (malloc, version))
    print("  %-22s%-13s%8s  %-17s%8s%8s %-6s%9s%8s%13s%8s" % (
        "case", "ours", "ns", "best rival", "ns", "ours/", "", "floor_mem", "ours/", "floor_cursor", "ours/"))
    for case in table.cases:
        best, rival = table.best_rival(case)
        for c in table.contenders:
            value = table.median(case, c)
            if not c.startswith("toft") or value is None:
                continue
            mem, cursor = table.median(case, "floor_mem"), table.median(case, "floor_cursor")
            print("  %-22s%-13s%8s  %-17s%8s%8s %-6s%9s%8s%13s%8s" % (
                case, c, number(value), rival, number(best), ratio(value, best), verdict(value, best),
                number(mem), ratio(value, mem), number(cursor), ratio(value, cursor)))
    print()


def print_all(table, malloc, version):
    print("Every contender under %s %s; ns an operation, medians" % (malloc, version))
    for part in (table.cases[:10], table.cases[10:]):
        heads = [[" ".join(c.split()[:2])[:9] if len(c) > 9 else c for c in part],
                 [" ".join(c.split()[2:])[-9:] if len(c) > 9 else "" for c in part]]
        for head in heads:
            print("  %-16s%s" % ("", "".join("%10s" % h for h in head)))
        for c in table.contenders:
            print("  %-16s%s" % (c, "".join("%10s" % number(table.median(case, c)) for case in part)))
    print()
    peaks = ["%s %.0f" % (c, table.row["reset 1 MiB", c]["peak_bytes"] / 2**20) for c in table.contenders
             if ("reset 1 MiB", c) in table.row]
    print("  Resident MiB gained over 180 resets with 1 MiB written in each: %s\n" % ", ".join(peaks))


def marks(table):
    """(target, measured value, whether it was met)"""
    def mark(what, ours_, limit, theirs):
        measured = "%s / %s = %s" % (number(ours_), number(theirs), ratio(ours_, theirs))
        return "%s <= %s" % (what, limit), measured, bool(theirs) and ours_ <= limit_of[limit] * theirs

    limit_of = {"1.05 x floor_mem": 1.05, "0.35 x LLVM": 0.35, "0.2 x malloc": 0.2}
    yield mark("hot", table.median("hot", "toft"), "1.05 x floor_mem", table.median("hot", "floor_mem"))
    llvm = table.median("life", "LLVM bump")
    for case, what in (("life in buffer", "on a caller's buffer"), ("life", "from the cache")):
        yield mark("create + 10 + destroy " + what, table.median(case, "toft"), "0.35 x LLVM", llvm)
    yield mark("lease + 4 allocations + return", table.median("lease", "toft lease"), "0.2 x malloc",
               table.median("lease", "malloc"))
    lost = []
    for case in table.cases:
        best, rival = table.best_rival(case)
        value = min(row["median"] for (k, c), row in table.row.items() if k == case and c.startswith("toft"))
        if best is not None and value > 1.03 * best:
            lost.append("%s (%s, %s)" % (case, rival, ratio(value, best)))
    yield "ahead of every rival in every row (3 %)", "lost: " + (", ".join(lost) or "none"), not lost


def tables_of(rows_):
    return {m: Table(rows_, m) for m in dict.fromkeys(r["malloc"] for r in rows_)}


def all_marks(rows_):
    for m, t in tables_of(rows_).items():
        for mark, measured, met in marks(t):
            yield "under %s: %s%s" % (m, mark, "" if m == "glibc" else " (set for glibc)"), measured, met


GROUP = "malloc"


def standings(rows_):
    for m, t in tables_of(rows_).items():
        for case in t.cases:
            best, rival = t.best_rival(case)
            for c in t.contenders:
                if c.startswith("toft") and c != "toft hardened" and rival and (case, c) in t.row:
                    yield Standing(m, case, c, t.median(case, c), rival, best)


def table(head, rows_):
    tables = tables_of(rows_)
    for m, t in tables.items():
        print_original(t, m, head["mallocs"][m])
    for m, t in tables.items():
        print_ratios(t, m, head["mallocs"][m])
    first = next(iter(tables))
    print_all(tables[first], first, head["mallocs"][first])
    print("Marks")
    for mark, measured, met in all_marks(rows_):
        print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    compilers_ = ", ".join(head["compilers"].values())
    print("\n%s; %s; %s; commit %s" % (head["machine"], head["os"], compilers_, head["commit"]))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """The fields of a line of history: medians under glibc of Toft, the floor and the best rival."""
    t = Table(rows_, "glibc")
    kept = {}
    for case in t.cases:
        best, rival = t.best_rival(case)
        kept[case] = {c: t.median(case, c) for c in t.contenders if ours(c) and t.median(case, c) is not None}
        if rival:
            kept[case][rival] = best
    return {"malloc": "glibc", "unit": "ns", "medians": kept}
