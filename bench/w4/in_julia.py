"""W4 in Julia: one program holds all contenders (julia/main.jl).

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import json
import os
import subprocess
import sys

from native import version
from table import ahead, is_ours

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGE = "Julia"

# The kinds that the package chooses by default.
DEFAULTS = {"list": "free list growing", "stack": "growing", "queue": "growing", "set": "free list growing",
            "dict": "free list growing", "scan": "free list fixed", "iterate": "free list", "head": "mark"}


def default(case):
    return ("toft " + DEFAULTS.get(case.split()[0], "")).strip()


def script(bench):
    return os.path.join(bench.root, "scripts", "julia")


def folder(bench):
    return os.path.join(bench.build, "w4")


def julia(bench, *arguments, **how):
    """Compiles into a depot of its own; further depots contain the user's packages."""
    depots = "%s:%s" % (os.path.join(folder(bench), "depot"), os.environ.get("JULIA_DEPOT_PATH", ""))
    library = os.path.join(folder(bench), "libtoft.so")
    return subprocess.Popen((script(bench), "--startup-file=no", "--project=" + os.path.join(bench.root, "julia/Toft"))
                            + arguments, text=True, stdout=subprocess.PIPE,
                            env=dict(os.environ, JULIA_DEPOT_PATH=depots, TOFT_LIBRARY=library), **how)


def compilers(bench):
    return {"julia": julia(bench, "--version").communicate()[0].strip(), bench.cc: version(bench.cc.split())}


def build(bench):
    if subprocess.run([script(bench), "--which"], capture_output=True).returncode != 0:
        bench.stop("W4 needs Julia 1.5 or later; scripts/bootstrap bench installs it")
    os.makedirs(folder(bench), exist_ok=True)
    source = os.path.join(bench.root, "c/src/toft.c")
    made = subprocess.run(bench.cc.split() + ["-O2", "-fPIC", "-shared", "-pthread", "-o",
                                              os.path.join(folder(bench), "libtoft.so"), source,
                                              "-I", os.path.join(bench.root, "c/include")])
    if made.returncode != 0 or julia(bench, "-e", "import Toft; Toft.library()").wait() != 0:
        bench.stop("W4: the Julia package cannot be built")


def rows(bench):
    main = os.path.join(HERE, "julia", "main.jl")
    # A quick run mostly compiles: it uses two processors, and its times are less accurate.
    parts = 2 if bench.quick and (os.cpu_count() or 1) > 1 else 1
    flags = ["--quick"] if bench.quick else []
    running = [julia(bench, main, "--part=%d/%d" % (k, parts), *flags) for k in range(parts)]
    found = []
    for k, process in enumerate(running):
        for line in process.stdout:
            said = json.loads(line)
            if "left_out" not in said:
                found.append(said)
            elif k == 0:
                # A checkout that is not there is no error in CI.
                bench.left_out[said["left_out"]] = said["why"]
                print("bench: left out: %(left_out)s: %(why)s" % said, file=sys.stderr)
    if any(process.wait() != 0 for process in running):
        bench.stop("W4: julia/main.jl failed")
    return sorted(found, key=lambda r: r["order"])


def marks(t):
    kinds = {kind: [s for s in t.standings() if s.case.split()[0] == kind] for kind in ("list", "stack", "queue", "set", "dict")}
    for kind, all_ in kinds.items():
        for which, chosen in (("the fastest kind", [s for s in all_ if s.ours == t.best(s.case, is_ours)[1]]),
                              ("by default", [s for s in all_ if s.ours == default(s.case)])):
            if chosen:
                yield ahead("%s, %s: ahead of Allocators.jl and the language's own in every row (3 %%)" % (kind, which), chosen)
