"""Programs that run once and free nothing, each run a process of its own, with huge pages always, on request and off: expressions.c,
and chibicc (github.com/rui314/chibicc), if CHIBICC names a checkout and C_TEXT the file that it compiles, such as sqlite3.c.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import contextlib
import ctypes
import os
import statistics
import subprocess
import sys

import mallocs
from program_rows import programs, within
from table import against

HERE = os.path.dirname(os.path.abspath(__file__))
ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"
SETTINGS = {"always": "always", "on request": "madvise", "off": None}  # of the system; off: of the process
LIMITS, PEAK = {"always": 0.95, "on request": 0.93, "off": 0.94}, 1.05  # the marks: of the best malloc's time, of glibc's peak
PASSES = {False: 15, True: 1}
DISABLE = 41  # PR_SET_THP_DISABLE
GROWN = [("realloc(arr->data, ", "GROW(arr->data, sizeof(char *) * arr->capacity, "),
         ("realloc(input_files, ", "GROW(input_files, sizeof(char *) * (file_no + 1), ")]


def compiled(bench, name, on_toft, sources, *flags):
    """The path of a program, on malloc or on Toft."""
    to = os.path.join(bench.build, "w6", name + ("-toft" if on_toft else "-malloc"))
    library = ["-I" + os.path.join(bench.root, "c/include"), os.path.join(bench.root, "c/src/toft.c")] if on_toft else []
    done = subprocess.run([*bench.cc.split(), "-std=gnu11", "-O2", "-DNDEBUG", "-w", "-fcommon", *flags, *sources, *library, "-pthread",
                           "-o", to], capture_output=True, text=True)
    return to if done.returncode == 0 else bench.stop("W6: %s" % done.stderr.strip())


def chibicc(bench, on_toft, checkout, text):
    """The command, and what it writes."""
    folder, include = os.path.join(bench.build, "w6", "chibicc"), "-I" + os.path.join(checkout, "include")
    os.makedirs(folder, exist_ok=True)
    names = [f for f in os.listdir(checkout) if f.endswith(".c")]
    for name in names:
        with open(os.path.join(checkout, name)) as source, open(os.path.join(folder, name), "w") as copy:
            content = source.read()
            for before, after in GROWN if on_toft else []:
                content = content.replace(before, after)
            copy.write(content)
    program = compiled(bench, "chibicc", on_toft, [os.path.join(folder, name) for name in names], "-I" + checkout,
                       *["-include", os.path.join(HERE, "chibicc.h")] * on_toft)
    command = [program, "-cc1", "-cc1-input", text, include, text, "-cc1-output"]
    return [*command, os.devnull], programs.output_of([*command, "/dev/stdout"])


def build(bench):
    """{name: (the command on malloc, that on Toft)}"""
    os.makedirs(os.path.join(bench.build, "w6"), exist_ok=True)
    own = os.path.join(HERE, "expressions.c")
    found = {"expressions": [[compiled(bench, "expressions", on, [own], *["-DON_TOFT"] * on)] for on in (False, True)]}
    if "CHIBICC" in os.environ:
        commands, outputs = zip(*(chibicc(bench, on, os.environ["CHIBICC"], os.environ["C_TEXT"]) for on in (False, True)))
        if outputs[0] != outputs[1]:
            bench.stop("W6: chibicc writes another program on Toft")
        found["chibicc"] = commands
    return found


def run(command, preload, off):
    """(user ns, system ns, KiB, faults, output)"""
    def in_child():
        if off and ctypes.CDLL(None).prctl(DISABLE, 1, 0, 0, 0) != 0:
            os._exit(126)

    with subprocess.Popen(command, stdout=subprocess.PIPE, env=mallocs.environment(preload), preexec_fn=in_child) as child:
        output = child.stdout.read()
        _, child.returncode, used = os.wait4(child.pid, 0)
    if child.returncode != 0:
        raise programs.Failure("%s failed" % command[0])
    return used.ru_utime * 1e9, used.ru_stime * 1e9, used.ru_maxrss, used.ru_minflt, output


def rows_of(name, setting, commands, bench):
    contenders = {**{c: (commands[0], path) for c, (path, _) in bench.mallocs.items()}, "toft": (commands[1], None)}
    runs, order = {c: [] for c in contenders}, list(contenders)
    for n in range(bench.passes or PASSES[bench.quick]):
        for c in order[n % len(order):] + order[:n % len(order)]:
            runs[c].append(run(*contenders[c], off=setting == "off"))
    same = len({r[4] for found in runs.values() for r in found}) == 1
    for c, found in runs.items():
        user, system, peak, faults, _ = zip(*found)
        figures = {"user": statistics.median(user), "system": statistics.median(system), "least system": min(system),
                   "most system": max(system)}
        for what, unit, values, more in (("once", "ns", [u + s for u, s in zip(user, system)], figures),
                                         ("once peak", "MiB", [k / 1024 for k in peak], {}), ("once faults", "faults", faults, {})):
            yield {"workload": "W6", "case": "%s %s, %s" % (name, setting, what), "contender": c, "language": "C", "unit": unit,
                   "median": statistics.median(values), "min": min(values), "max": max(values), "rounds": len(values), "n": 1,
                   "verified": same, "values": values, **more}


@contextlib.contextmanager
def enabled(word):
    """Within it the system has this setting, unless it is None."""
    with open(ENABLED, "r" if word is None else "r+") as f:
        before = f.read().split("[")[1].split("]")[0]
        if word is not None:
            f.write(word)
    try:
        yield
    finally:
        if word is not None:
            with open(ENABLED, "w") as f:
                f.write(before)


def rows(bench):
    found = []
    for setting, word in SETTINGS.items():
        try:
            with enabled(word):
                for name, commands in bench.once.items():
                    print("bench: W6, %s once, huge pages %s" % (name, setting), file=sys.stderr)
                    found += rows_of(name, setting, commands, bench)
        except OSError as error:
            print("bench: W6: huge pages %s: not tried: %s" % (setting, error), file=sys.stderr)
    return found


def marks(t):
    for name in (case[:-len(", once")] for case in t.cases if case.endswith(", once")):
        yield within(t, name + ", once", LIMITS[name.partition(" ")[2]])
        yield against("%s: peak at most %.3g of glibc's" % (name, PEAK), *(t.median(name + ", once peak", c) for c in ("toft", "glibc")),
                      PEAK, "MiB")
