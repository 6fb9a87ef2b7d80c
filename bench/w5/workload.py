"""W5: the recycler in C++. Builds a program of all contenders for each compiler and library, runs them, prints
the results; and the same for the pools.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

from figures import Standing, number, ratio, verdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import traces  # noqa: E402

# As in W1: every loop starts at a cache line.
FLAGS = ("-std=c++17 -O2 -DNDEBUG -falign-functions=64 -falign-loops=64 "
         "-Wall -Wextra -Wconversion -Wshadow").split()

OURS = ["toft", "floors", "standard", "mallocs"]
# Rivals that are left out if they cannot be built: (flags, libraries, origin).
RIVALS = {
    "boost": ([], ["-lboost_container"], "Debian package libboost-container-dev"),
    "arenamr": (["-isystem" + os.path.join(os.environ.get("ARENAMR", "ArenaMR"), "include")], [],
                "a checkout of enverunal/ArenaMR, which ARENAMR names; it needs <memory_resource>"),
}
CONTENDERS = ["toft", "toft_direct", "toft_tuned", "toft_sync", "toft_arena", "toft_arena_ref", "floor", "floor_mem",
              "floor_virtual", "ArenaMR", "new_delete", "std pool", "std pool default", "std sync pool",
              "std monotonic", "boost pool", "boost monotonic", "mimalloc", "jemalloc"]
THREADS = {"toft_sync", "std sync pool", "new_delete", "mimalloc", "jemalloc"}  # that may be shared
# Space for jemalloc's thread-local variables, which need static TLS although it is opened at run time.
TUNABLES = "glibc.rtld.optional_static_tls=16384"


# ---- building ----

def output_of(command, text=""):
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def kind(cxx):
    return "clang" if "clang" in (output_of(cxx + ["--version"]) or "") else "gcc"


def find_compilers(bench):
    """{kind: command}: CXX, and a compiler of the other kind."""
    found = {kind(bench.cxx.split()): bench.cxx.split()}
    for other, names in (("gcc", ["g++"]), ("clang", ["clang++"] + ["clang++-%d" % v for v in range(22, 13, -1)])):
        name = next((n for n in names if shutil.which(n)), None)
        if name:
            found.setdefault(other, [name])
    return found


def libcxx_folder(clang):
    """The folder of libc++'s headers, according to clang."""
    said = output_of(clang + ["-stdlib=libc++", "-E", "-v", "-xc++", "-"]) or ""
    return next((d.strip() for d in said.splitlines() if os.path.exists(os.path.join(d.strip(), "__config"))), None)


class Build:
    """One compiler with one library."""

    def __init__(self, bench, name, cxx, flags=(), libraries=()):
        self.name, self.cxx = name, cxx + list(flags)
        self.libraries = list(libraries)
        self.folder = os.path.join(bench.build, "w5", name.replace(" ", "-"))
        self.program = os.path.join(self.folder, "w5")
        self.bench = bench

    def works(self):
        said = output_of(self.cxx + ["-std=c++17", "-xc++", "-", "-o", os.devnull] + self.libraries,
                         "#include <map>\nint main() { std::map<int, int> m; return m[1]; }\n")
        return said is not None

    def compile(self, source, *flags):
        """(object, None), or (None, the compiler's message)."""
        made = os.path.join(self.folder, os.path.basename(source) + ".o")
        include = ["-I" + os.path.join(self.bench.root, package, "include") for package in ("cpp", "c")]
        command = self.cxx + FLAGS + list(flags) + include + ["-c", source, "-o", made]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            sys.stderr.write(done.stderr)
            return made, None
        return None, next((line for line in done.stderr.splitlines() if "error" in line), "the compiler failed")

    def link(self, program, objects, libraries):
        done = subprocess.run(self.cxx + ["-o", program] + objects + libraries + self.libraries + ["-ldl", "-pthread"],
                              capture_output=True, text=True)
        return None if done.returncode == 0 else (done.stderr.strip().split("\n") or [""])[-1]

    def make(self, pool):
        """Builds w5 and, in the first build, the pools; rivals of the latter may be missing."""
        os.makedirs(self.folder, exist_ok=True)
        jobs = {name: pool.submit(self.compile, os.path.join(HERE, name + ".cc"), *RIVALS.get(name, ([],))[0])
                for name in [*OURS, *RIVALS, "opaque", "toft_implementation"]}
        made = {name: job.result() for name, job in jobs.items()}
        present, libraries = list(OURS), []
        for name, (_, needed, origin) in RIVALS.items():
            links = output_of(self.cxx + ["-xc++", "-", "-o", os.devnull] + needed + self.libraries, "int main() {}") is not None
            error = made[name][1] or (None if links else "%s cannot be linked" % " ".join(needed))
            if error:
                self.bench.leave_out("%s, %s" % (name, self.name), "%s (%s)" % (re.sub(r"^/\S*/(\S+)", r"\1", error), origin))
                del made[name]
            else:
                present.append(name)
                libraries += needed
        groups = "-DGROUPS=" + " ".join("X(%s)" % name for name in present)
        made["w5"] = self.compile(os.path.join(HERE, "w5.cc"), groups)
        for _, error in made.values():
            if error:
                self.bench.stop(error)
        error = self.link(self.program, [o for o, _ in made.values()], libraries)
        if error:
            self.bench.stop("w5 cannot be linked: " + error)
        return len(present) == len(OURS) + len(RIVALS)


def builds(bench):
    compilers_ = find_compilers(bench)
    clang, gcc = compilers_.get("clang"), compilers_.get("gcc")
    found = []
    folder = libcxx_folder(clang) if clang else None
    for name, cxx, flags, libraries, missing in (
            ("gcc libstdc++", gcc, [], [], "no g++"),
            ("clang libstdc++", clang, [], [], "no clang++"),
            ("clang libc++", folder and clang, ["-stdlib=libc++"], [], "no clang++ with libc++-dev"),
            ("gcc libc++", folder and gcc, ["-nostdinc++", "-isystem%s" % folder, "-Wno-maybe-uninitialized"],
             ["-nodefaultlibs", "-lc++", "-lc++abi", "-lm", "-lc", "-lgcc_s", "-lgcc"], "no g++ or no libc++-dev")):
        build_ = Build(bench, name, cxx, flags, libraries) if cxx else None
        if build_ and build_.works():
            found.append(build_)
        else:
            bench.leave_out(name, missing if not cxx else "it cannot build a program")
    if not found:
        bench.stop("W5 needs a C++ compiler")
    return found


def traces_folder(bench):
    return os.path.join(bench.build, "w5", "traces")


def pools_program(bench):
    return os.path.join(bench.build, "w5", "pools")


def newest(*folders):
    return max(os.path.getmtime(os.path.join(place, f))
               for folder in folders for place, _, files in os.walk(folder) for f in files)


def build(bench):
    out = os.path.join(bench.build, "w5")
    os.makedirs(out, exist_ok=True)
    bench.w5 = builds(bench)
    traces.build(bench, traces_folder(bench))
    stamp = os.path.join(out, "built-with")
    state = "\n".join(" ".join(b.cxx) for b in bench.w5)
    source_time = newest(HERE, os.path.join(bench.root, "cpp", "include"))
    if (os.path.exists(stamp) and open(stamp).read() == state and os.path.getmtime(stamp) > source_time
            and not bench.ci):
        return
    complete = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for b in bench.w5:
            complete &= b.make(pool)
    first = bench.w5[0]
    made, error = first.compile(os.path.join(HERE, "pools.cc"))
    error = error or first.link(pools_program(bench), [made], [])
    if error:
        bench.stop("pools: " + error)
    if complete:  # otherwise it tries again next time
        with open(stamp, "w") as f:
            f.write(state)


def compilers(bench):
    return {b.name: (output_of(b.cxx + ["--version"]) or "").split("\n")[0] for b in bench.w5}


# ---- measuring ----

def run(bench, command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, GLIBC_TUNABLES=TUNABLES))
    if done.returncode > 1 or not done.stdout.endswith("}\n"):  # 1: a result was wrong, which its row records
        bench.stop("%s failed with %d" % (" ".join(command), done.returncode))
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(bench):
    found, libraries = [], set()
    for b in bench.w5:
        print("bench: W5, " + b.name, file=sys.stderr)
        library = b.name.split()[1]
        once = ["--once"] * (library not in libraries)
        libraries.add(library)
        found += run(bench, [b.program] + ["--quick"] * bench.quick + once + [b.name])
    for name in ("mimalloc", "jemalloc"):
        if name not in bench.left_out and not any(r["contender"] == name for r in found):
            bench.leave_out(name, "it cannot be opened at run time")
    print("bench: W5, pools", file=sys.stderr)
    pools = run(bench, [pools_program(bench)] + ["--quick"] * bench.quick)
    for row in pools:
        row["build"] = "pools"
    return found + pools + traces.rows(bench, traces_folder(bench))


# ---- tables ----

def ours(contender):
    return contender.startswith(("toft", "floor"))


class Table:
    """The rows of one build."""

    def __init__(self, rows_, build_):
        self.build = build_
        self.row = {(r["case"], r["contender"]): r for r in rows_ if r.get("build") == build_}
        self.cases = list(dict.fromkeys(c for c, _ in self.row if not c.endswith(" memory")))
        have = list(dict.fromkeys(c for _, c in self.row))
        self.contenders = [c for c in CONTENDERS if c in have] + [c for c in have if c not in CONTENDERS]

    def median(self, case, contender):
        row = self.row.get((case, contender))
        return row and row["median"]

    def best_rival(self, case, contender="toft"):
        """Contenders that threads may share are compared with each other."""
        return min(((self.row[case, c]["median"], c) for c in self.contenders if not ours(c) and (case, c) in self.row
                    and (contender not in THREADS or c in THREADS)), default=(None, None))

    def rows_of_toft(self):
        for case in self.cases:
            for c in self.contenders:
                if c.startswith("toft") and (case, c) in self.row:
                    yield case, c, self.median(case, c)


def tables_of(rows_):
    names = list(dict.fromkeys(r["build"] for r in rows_))
    return [Table(rows_, name) for name in names if name not in ("pools", "traces")], Table(rows_, "pools")


def here(rows_):
    """Our results next to those that the original published: the first build, ms."""
    t = tables_of(rows_)[0][0]

    def ms(case, c, elements):
        value = t.median(case, c)
        return "%.3g" % (value * elements / 1e6) if value else "-"

    answer = []
    for case, elements in (("B1", 1000000), ("B2", 100000)):
        toft, model, new, pool, mono = (ms(case, c, elements) for c in (
            "toft", "ArenaMR", "new_delete", "std pool", "std monotonic"))
        answer += ["toft %s ms (ArenaMR %s)" % (toft, model), new + " ms", pool + " ms", mono + " ms, released"]
    return answer


def print_original(tables):
    print("As the original prints it: resource and map made before, destroyed after; ms, medians, min..max")
    for case, what, elements in (("B1", "10 x {emplace 100,000; clear}", 1e6),
                                 ("B2", "100 x {emplace 1,000; clear}", 1e5)):
        print("  %-30s%s" % (what, "".join("%26s" % t.build for t in tables)))
        for c in ("toft_tuned", "toft", "ArenaMR", "new_delete", "std pool", "std monotonic"):
            cells = []
            for t in tables:
                r = t.row.get((case, c))
                cells.append("-" if r is None else "%.3g  %.3g..%.3g" % tuple(
                    r[k] * elements / 1e6 for k in ("median", "min", "max")))
            print("  %-30s%s" % (c, "".join("%26s" % cell for cell in cells)))
    print()


def print_ratios(tables):
    print("Against the best rival; ns an element, medians. toft_sync is compared with what threads may share, too.")
    print(("  %-16s%-15s%s" % ("", "", "".join("   %-36s" % t.build for t in tables))).rstrip())
    heads = ("   %7s%8s %-6s%-15s" % ("ns", "ours/", "", "best rival")) * len(tables)
    print(("  %-16s%-15s%s" % ("case", "ours", heads)).rstrip())
    lines = list(dict.fromkeys((case, c) for t in tables for case, c, _ in t.rows_of_toft()))
    for case, c in lines:
        line = "  %-16s%-15s" % (case, c)
        for t in tables:
            value, (best, rival) = t.median(case, c), t.best_rival(case, c)
            line += "   %7s%8s %-6s%-15s" % (number(value), ratio(value, best), verdict(value, best),
                                             rival if value and rival else "-")
        print(line.rstrip())
    print()


def print_all(t):
    print("Every contender, %s; ns an element, medians" % t.build)
    half = (len(t.cases) + 1) // 2
    for cases in (t.cases[:half], t.cases[half:]):
        words = [case.replace("_", " ").split() for case in cases]
        for line in range(max(map(len, words))):
            print(("  %-17s%s" % ("", "".join("%12s" % (w[line] if line < len(w) else "") for w in words))).rstrip())
        for c in t.contenders:
            if any((case, c) in t.row for case in cases):
                print("  %-17s%s" % (c, "".join("%12s" % number(t.median(case, c)) for case in cases)))
        print()


MEMORY = {"oversize memory": "4 x 64 KiB to 1 MiB taken and given back", "interleaved memory":
          "ten rounds of a brief map beside a lasting one, the lasting one there"}


def print_memory(tables):
    for t in tables:
        lines = [c for c in t.contenders if any((case, c) in t.row for case in MEMORY)]
        if not lines:
            continue
        rounds = t.row["oversize memory", lines[0]]["n"]
        print("Memory, %s; MiB taken from the upstream at most, and resident MiB gained" % t.build)
        print("  %-17s%24s%24s" % ("", "%s oversize" % format(rounds, ","), "interleaved"))
        for c in lines:
            cells = []
            for case in MEMORY:
                r = t.row.get((case, c))
                cells += ["%.1f" % (r[k] / 2**20) if r and k in r else "-" for k in ("peak_bytes", "rss_bytes")]
            print("  %-17s%14s%10s%14s%10s" % tuple([c] + cells))
        print()


def print_pools(t):
    print("Pools, in the first build; ns an element, medians")
    print("  %-34s%-20s%9s  %-22s%9s%8s %s" % ("case", "ours", "ns", "best rival", "ns", "ours/", ""))
    for case, c, value in t.rows_of_toft():
        best, rival = t.best_rival(case)
        print(("  %-34s%-20s%9s  %-22s%9s%8s %s" % (case, c, number(value), rival or "-", number(best),
                                                    ratio(value, best), verdict(value, best))).rstrip())
    print("  others: " + "; ".join("%s: %s %s" % (case, c, number(r["median"])) for (case, c), r in t.row.items()
                                   if not c.startswith("toft")))
    print()


def lost(tables, who):
    """(number of rows, the lost ones)"""
    all_ = [(t, case, value, *t.best_rival(case, c)) for t in tables for case, c, value in t.rows_of_toft() if c == who]
    return len(all_), ["%s, %s (%s, %s)" % (case, t.build, rival, ratio(value, best))
                       for t, case, value, best, rival in all_ if verdict(value, best) == "LOST"]


def all_marks(rows_):
    """(target, measured value, whether it was met)"""
    tables, pools = tables_of(rows_)
    count, rows_ = lost(tables, "toft")
    yield ("default-constructed, first in every row (3 %)",
           "lost %d of %d%s" % (len(rows_), count, ": " + "; ".join(rows_) if 0 < len(rows_) <= 8 else ""),
           bool(count) and not rows_)
    for case, who, floor in (("hot", "by memory_resource *", "floor_virtual"), ("hot direct", "direct", "floor_mem")):
        for t in tables:
            value, unit = t.median(case, "toft_arena"), t.median(case, floor)
            if unit:
                yield ("the arena, %s, <= 1.10 x %s; %s" % (who, floor, t.build),
                       "%s / %s = %s" % (number(value), number(unit), ratio(value, unit)),
                       bool(value) and value <= 1.10 * unit)
    for t in tables:
        r, live = (t.row.get(("oversize memory", c)) for c in ("toft", "boost pool"))
        if r and live:  # which frees at once where it can
            yield ("oversize rounds leave at most twice what was live; %s" % t.build,
                   "%.1f / %.1f MiB" % (r["peak_bytes"] / 2**20, live["peak_bytes"] / 2**20),
                   r["peak_bytes"] <= 2 * live["peak_bytes"])
    all_ = [(case, value, pools.best_rival(case)[0]) for case, _, value in pools.rows_of_toft()
            if re.search("insert|remove|iterate", case)]
    rows_ = sorted({case for case, value, best in all_ if best and verdict(value, best) == "LOST"})
    yield ("pool insert, remove and iterate ahead of a free list plus scan",
           "lost %d of %d%s" % (len(rows_), len(all_), ": " + ", ".join(rows_) if rows_ else ""),
           bool(all_) and not rows_)


GROUP = "build"


def standings(rows_):
    tables, pools = tables_of(rows_)
    for t in tables + [pools, Table(rows_, "traces")]:
        for case, c, value in t.rows_of_toft():
            best, rival = t.best_rival(case, c)
            if rival:
                yield Standing(t.build, case, c, value, rival, best)


def table(head, rows_):
    tables, pools = tables_of(rows_)
    print_original(tables)
    print_ratios(tables)
    for t in tables:
        print_all(t)
    print_memory(tables)
    print_pools(pools)
    traces.table([r for r in rows_ if r["build"] == "traces"])
    print("Marks")
    for mark, measured, met in all_marks(rows_):
        print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    print("\n%s; %s; commit %s" % (head["machine"], head["os"], head["commit"]))
    print("; ".join("%s: %s" % b for b in head["compilers"].items()))
    without = [t.build for t in tables if ("B1", "std pool") not in t.row]
    if without:
        print("no std::pmr in %s: everyone there is reached by a classic allocator, without a virtual call" %
              ", ".join(without))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """The fields of a line of history: medians of the first build of Toft, the floors and the best rival."""
    t = tables_of(rows_)[0][0]
    kept = {}
    for case in t.cases:
        best, rival = t.best_rival(case)
        kept[case] = {c: t.median(case, c) for c in t.contenders if ours(c) and t.median(case, c) is not None}
        if rival:
            kept[case][rival] = best
    return {"build": t.build, "unit": "ns", "medians": kept}
