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

from native import Builder, Stamp, output_of, version
from table import against, ahead

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import traces  # noqa: E402

OURS = ["toft", "floors", "standard", "mallocs"]
# Rivals that are left out if they cannot be built: (flags, libraries, origin).
RIVALS = {
    "boost": ([], ["-lboost_container"], "Debian package libboost-container-dev"),
    "arenamr": (["-isystem" + os.path.join(os.environ.get("ARENAMR", "ArenaMR"), "include")], [],
                "a checkout of enverunal/ArenaMR, which ARENAMR names; it needs <memory_resource>"),
}
THREADS = {"toft_sync", "std sync pool", "new_delete", "mimalloc", "jemalloc"}  # that may be shared
# Space for jemalloc's thread-local variables, which need static TLS although it is opened at run time.
TUNABLES = "glibc.rtld.optional_static_tls=16384"


# ---- building ----

def kind(cxx):
    return "clang" if "clang" in version(cxx) else "gcc"


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


class Build(Builder):
    """One compiler with one library."""

    def __init__(self, bench, name, cxx, flags=(), libraries=()):
        include = ["-I" + os.path.join(bench.root, package, "include") for package in ("cpp", "c")]
        super().__init__(os.path.join(bench.build, "w5", name.replace(" ", "-")), [], cxx + list(flags), include, libraries)
        self.name, self.program, self.bench = name, os.path.join(self.folder, "w5"), bench

    def works(self):
        return output_of(self.cxx + ["-xc++", "-", "-o", os.devnull] + self.libraries,
                         "#include <map>\nint main() { std::map<int, int> m; return m[1]; }\n") is not None

    def make(self, pool):
        """Whether all rivals could be built."""
        jobs = [pool.submit(self.compile, os.path.join(HERE, name + ".cc")) for name in [*OURS, "opaque", "toft_implementation"]]
        sources = {name: ([(os.path.join(HERE, name + ".cc"), flags)], libraries, origin)
                   for name, (flags, libraries, origin) in RIVALS.items()}
        objects, libraries, present = self.rivals(self.bench, sources, ", " + self.name)
        groups = "-DGROUPS=" + " ".join("X(%s)" % name for name in OURS + present)
        made = [job.result() for job in jobs] + [self.compile(os.path.join(HERE, "w5.cc"), [groups])]
        error = next((e for _, e in made if e), None) or self.link(self.program, [o for o, _ in made] + objects, libraries)
        if error:
            self.bench.stop("W5 cannot be built: " + error)
        return len(present) == len(RIVALS)


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


def build(bench):
    out = os.path.join(bench.build, "w5")
    os.makedirs(out, exist_ok=True)
    bench.w5 = builds(bench)
    traces.build(bench, traces_folder(bench))
    stamp = Stamp(bench, out, "\n".join(" ".join(b.cxx) for b in bench.w5), HERE, os.path.join(bench.root, "cpp", "include"))
    if stamp.valid:
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
        stamp.write()


def compilers(bench):
    return {b.name: version(b.cxx) for b in bench.w5}


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
    for row in found:
        if row["case"].endswith(" memory"):
            row["aside"] = True
    return found + pools + traces.rows(bench, traces_folder(bench))


# ---- tables ----

TITLE = "recycler, C++"
GROUP = "build"
EXTRAS = {"peak_bytes": "B", "rss_bytes": "B", "live_bytes": "B"}
RECORDED = 1


def may_rival(contender, rival):
    """Contenders that threads may share are compared with each other."""
    return contender not in THREADS or rival in THREADS


def all_marks(tables):
    pools = next((t for t in tables if t.group == "pools"), None)
    builds_ = [t for t in tables if t.group not in ("pools", "traces")]
    yield ahead("default-constructed, first in every row (3 %)", (s for t in builds_ for s in t.standings() if s.ours == "toft"))
    for t in builds_:
        for case, who, floor in (("hot", "by memory_resource *", "floor_virtual"), ("hot direct", "direct", "floor_mem")):
            if t.median(case, floor):
                yield against("the arena, %s, <= 1.10 x %s; %s" % (who, floor, t.group), t.median(case, "toft_arena"),
                              t.median(case, floor), 1.10)
        peak = {r["contender"]: r["peak_bytes"] for r in t.all if r["case"] == "oversize memory" and "peak_bytes" in r}
        if "toft" in peak and "boost pool" in peak:  # which frees at once where it can
            yield against("oversize rounds leave at most twice what was live; %s" % t.group, peak["toft"], peak["boost pool"], 2, "B")
    if pools:
        yield ahead("pool insert, remove and iterate ahead of a free list plus scan",
                    (s for s in pools.standings() if re.search("insert|remove|iterate", s.case)))
