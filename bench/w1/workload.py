"""W1: regions in C. One program of all contenders, run under each malloc.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import json
import os
import subprocess
import sys

import cargo
import litter
import mallocs
from native import Builder, Stamp, version
from table import against, ahead

HERE = os.path.dirname(os.path.abspath(__file__))
MALLOCS = ("glibc", "gperftools", "mimalloc", "jemalloc")  # that the program itself runs under
OURS = ["toft", "toft_claimed", "toft_pack", "toft_lease", "toft_senarena", "floor_mem", "floor_cursor",
        "malloc"]
LITTERED_OBJECTS = "1000000"  # of the row fresh: fewer than the free places of a littered heap
SENSIBLE = os.environ.get("LIBSENSIBLE", "libsensible")
SENSIBLE_ARENA = os.path.join(SENSIBLE, "sensible-allocators", "sensible-arena")

TITLE = "region, C"
GROUP = "malloc"
EXTRAS = {"peak_bytes": "B"}
RECORDED = 1


def kinds(t, case):
    return [c for c in t.of(case) if c.startswith("toft")]


def program(bench):
    return os.path.join(bench.build, "w1", "w1")


def compilers(bench):
    return {c: version(c.split()) for c in (bench.cc, bench.cxx)}


def rivals_of(bench):
    """The sources, libraries and origin of each rival."""
    def one(file, *flags):
        return [(os.path.join(HERE, file), flags)]

    debian = "/usr/include/foonathan_memory", "/usr/include/x86_64-linux-gnu/foonathan_memory"
    sensible = ["-fgnu89-inline", "-isystem" + os.path.join(SENSIBLE_ARENA, "include"),
                "-isystem" + os.path.join(SENSIBLE, "sensible-macros", "include")]
    found = {
        "sensible": (one("sensible.c", *sensible) + [(os.path.join(SENSIBLE_ARENA, "src", "sensible-arena.c"), ["-w"] + sensible)],
                     [], "a checkout of 414owen/libsensible, which LIBSENSIBLE names"),
        "foonathan": (one("foonathan.cc", *("-isystem" + d for d in debian)), ["-lfoonathan_memory"],
                      "Debian package libfoonathan-memory-dev"),
        "obstack": (one("obstack.c"), [], "glibc"),
        "apr": (one("apr.c", "-D_GNU_SOURCE", "-isystem/usr/include/apr-1.0"), ["-lapr-1"], "Debian package libapr1-dev"),
        "mimalloc": (one("mimalloc.c"), ["-ldl"], "Debian package libmimalloc-dev"),
        "pmr_direct": (one("pmr_direct.cc"), [], "libstdc++"),
        "pmr_pointer": (one("pmr_pointer.cc"), [], "libstdc++"),
        "llvm": (one("llvm.cc", "-isystem/usr/lib/llvm-14/include"), ["-L/usr/lib/llvm-14/lib", "-lLLVM-14"],
                 "Debian package llvm-14-dev"),
    }
    fetched, error = cargo.vendor(bench, "upb")
    if error:
        bench.leave_out("upb", error)
        return found
    upb = os.path.join(fetched, "google-protobuf", "libupb")
    own = [(os.path.join(upb, "upb", "mem", part), ["-w", "-isystem" + upb]) for part in ("arena.c", "alloc.c")]
    return {"upb": (one("upb.c", "-isystem" + upb) + own, [], "the crate google-protobuf, fetched by cargo")} | found


def build(bench):
    include = os.path.join(bench.root, "c", "include")
    builder = Builder(os.path.join(bench.build, "w1"), bench.cc.split(), bench.cxx.split(), ["-I" + HERE, "-I" + include])
    stamp = Stamp(bench, builder.folder, "%s %s" % (bench.cc, bench.cxx), HERE, include, os.path.join(bench.root, "c", "src"))
    if stamp.valid and os.path.exists(program(bench)):
        return
    library = os.environ.get("TOFT_C", os.path.join(bench.root, "c", "src", "toft.c"))
    sources = rivals_of(bench)
    objects, libraries, present = builder.rivals(bench, sources)
    contenders = "-DCONTENDERS=" + " ".join("X(%s)" % name for name in OURS + present)
    made = [builder.compile(os.path.join(HERE, name + ".c")) for name in OURS + ["opaque"]]
    made += [builder.compile(library, name="lib-toft.c"), builder.compile(os.path.join(HERE, "w1.c"), [contenders], "w1.c")]
    error = next((e for _, e in made if e), None) or builder.link(program(bench), [o for o, _ in made] + objects, libraries)
    if error:
        bench.stop("W1 cannot be built: " + error)
    if len(present) == 9:  # otherwise it tries again next time
        stamp.write()


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


def all_marks(tables):
    for t in tables:
        under, llvm = "under %s: " % t.group, t.median("life", "LLVM bump")
        yield against(under + "hot <= 1.05 x floor_mem", t.median("hot", "toft"), t.median("hot", "floor_mem"), 1.05)
        for case, what in (("life in buffer", "on a caller's buffer"), ("life", "from the cache")):
            yield against(under + "create + 10 + destroy %s <= 0.35 x LLVM" % what, t.median(case, "toft"), llvm, 0.35)
        yield against(under + "lease + 4 allocations + return <= 0.2 x malloc", t.median("lease", "toft lease"),
                      t.median("lease", "malloc"), 0.2)
        yield ahead(under + "ahead of every rival in every row (3 %)",
                    (s for s in t.standings() if s.ours in ("toft", "toft lease")))
