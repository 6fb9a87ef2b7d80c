"""Programs that run once and free nothing, each run a process of its own, with huge pages always, on request and off, and on request
after the page cache was emptied: expressions.c; chibicc (github.com/rui314/chibicc), if CHIBICC names a checkout and C_TEXT the
file that it compiles, such as sqlite3.c; programs of Debian with cli/recycler (`toft`) or one_arena.c (`toft_arena`) in place of
malloc; and the first megabytes of a process in Rust and Go.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import contextlib
import os
import random
import shutil
import statistics
import subprocess
import sys

import mallocs
from program_rows import programs, within
from table import against

HERE = os.path.dirname(os.path.abspath(__file__))
ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"
SETTINGS = {"always": "always", "on request": "madvise", "off": None, "cold": "madvise"}  # of the system; off: of the process
LIMITS, PEAK = {"always": 0.95, "on request": 0.93, "off": 0.94}, 1.05  # the marks: of the best malloc's time, of glibc's peak
MARKED = ("expressions", "chibicc", "ninja")
MEGABYTES = (1, 10, 100)
PASSES = {False: 15, True: 1}
# program of Debian: (its package, its arguments, files that it reads and their package)
DEBIAN = {"ninja": ("ninja-build", "-C FOLDER -t query all", "", ""),
          "jq": ("jq", "-c .", "/usr/share/iso-codes/json/iso_639-3.json", "iso-codes"),
          "gold": ("binutils", "-r -o FOLDER/out.o --whole-archive", "/usr/lib/%s/libc.a" % mallocs.TRIPLET, "libc6-dev"),
          "mandoc": ("mandoc", "-T utf8", "/usr/share/man/man1/git*.1.gz", "git-man")}
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
    """The command, and its output."""
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


def graph(folder):
    """A file for ninja with 20,000 edges."""
    draw = random.Random(1).randrange
    with open(os.path.join(folder, "build.ninja"), "w") as f:
        f.write("rule cc\n  command = cc -c $in -o $out\n")
        for i in range(20000):
            f.write("build obj/%d/%d.o: cc src/%d/%d.c | h%d.h h%d.h\n" % (i % 200, i, i % 200, i, draw(3000), draw(3000)))
        f.write("build all: phony %s\n" % " ".join("obj/%d/%d.o" % (i % 200, i) for i in range(20000)))


def of_debian(bench, name):
    """The command."""
    package, arguments, files, of_files = DEBIAN[name]
    if not shutil.which(name):
        raise programs.Missing("no program %s: install the Debian package %s" % (name, package))
    folder = os.path.join(bench.build, "w6", name)
    os.makedirs(folder, exist_ok=True)
    if name == "ninja":
        graph(folder)
    return [name, *arguments.replace("FOLDER", folder).split(), *(programs.inputs([(files, of_files)]) if files else [])]


def first(bench, language):
    """The program that allocates megabytes, or None."""
    to, here = os.path.join(bench.build, "w6"), os.path.join(HERE, "first")
    commands = {"Rust": ["cargo", "build", "--release", "--quiet", "--manifest-path", here + "/Cargo.toml", "--target-dir", to + "/first"],
                "Go": ["go", "build", "-C", os.path.join(bench.here, "w3/first"), "-o", to + "/first-go", "."]}
    done = shutil.which(commands[language][0]) and subprocess.run(commands[language], capture_output=True, text=True)
    if not done or done.returncode != 0:
        return bench.leave_out("first megabytes in " + language, done.stderr.strip() if done else "%s is not installed" % commands[language][0])
    return {"Rust": to + "/first/release/first", "Go": to + "/first-go"}[language]


def build(bench):
    """{name: {contender: (the command, the preloaded library or None)}}"""
    os.makedirs(os.path.join(bench.build, "w6"), exist_ok=True)
    bench.launch = compiled(bench, "launch", False, [os.path.join(HERE, "launch.c")])

    def beside(on_malloc, on_toft, preload=None):
        return {**{c: (on_malloc, path) for c, (path, _) in bench.mallocs.items()}, "toft": (on_toft, preload)}

    own = os.path.join(HERE, "expressions.c")
    found = {"expressions": beside(*([compiled(bench, "expressions", on, [own], *["-DON_TOFT"] * on)] for on in (False, True)))}
    if "CHIBICC" in os.environ:
        commands, outputs = zip(*(chibicc(bench, on, os.environ["CHIBICC"], os.environ["C_TEXT"]) for on in (False, True)))
        if outputs[0] != outputs[1]:
            bench.stop("W6: chibicc writes another program on Toft")
        found["chibicc"] = beside(*commands)
    folders = ["-I" + os.path.join(bench.root, "c", folder) for folder in ("include", "src")]
    malloc, arena = (compiled(bench, os.path.basename(name), False, [name + ".c"], "-shared", "-fPIC", "-fno-builtin-malloc", *folders)
                     for name in (os.path.join(bench.root, "cli/recycler/recycler"), os.path.join(HERE, "one_arena")))
    for name in DEBIAN:
        try:
            command = of_debian(bench, name)
            found[name] = {**beside(command, command, malloc), "toft_arena": (command, arena)}
        except programs.Missing as missing:
            bench.leave_out(name, str(missing))
    for language in ("Rust", "Go"):
        program = first(bench, language)
        for n in MEGABYTES if program else ():
            heap, toft = [program, "heap", str(n)], [program, "toft", str(n)]
            ways = beside(heap, toft) if language == "Rust" else {"Go heap": (heap, None), "toft": (toft, None)}
            found["first %d MB in %s" % (n, language)] = ways
    return {name: ways for name, ways in found.items() if bench.only in ("", "once", name)}


def run(launch, command, preload, setting):
    """(user ns, system ns, KiB, faults, output)"""
    if setting == "cold":
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3")
    done = subprocess.run([launch, preload or "", "small" if setting == "off" else "any", *command], capture_output=True,
                          env=mallocs.environment(None))
    if done.returncode != 0:
        raise programs.Failure("%s failed" % command[0])
    return *map(int, done.stderr.split(b"\n")[-2].split()), done.stdout


def rows_of(name, setting, contenders, bench):
    runs, order = {c: [] for c in contenders}, list(contenders)
    for n in range(bench.passes or PASSES[bench.quick]):
        for c in order[n % len(order):] + order[:n % len(order)]:
            runs[c].append(run(bench.launch, *contenders[c], setting))
    same = len({r[4] for found in runs.values() for r in found}) == 1
    for c, found in runs.items():
        user, system, peak, faults, _ = zip(*found)
        figures = {"user": statistics.median(user), "system": statistics.median(system), "least system": min(system),
                   "most system": max(system)}
        for what, unit, values, more in (("once", "ns", [u + s for u, s in zip(user, system)], figures),
                                         ("once peak", "MiB", [k / 1024 for k in peak], {}), ("once faults", "faults", faults, {})):
            yield {"workload": "W6", "case": "%s %s, %s" % (name, setting, what), "contender": c, "language": name.rpartition(" in ")[2] if " in " in name else "C", "unit": unit,
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
                for name, contenders in bench.once.items():
                    print("bench: W6, %s once, huge pages %s" % (name, setting), file=sys.stderr)
                    found += rows_of(name, setting, contenders, bench)
        except OSError as error:
            print("bench: W6: huge pages %s: not tried: %s" % (setting, error), file=sys.stderr)
    return found


def marks(t):
    for name in (case[:-len(", once")] for case in t.cases if case.endswith(", once")):
        program, _, setting = name.partition(" ")
        if program in MARKED and setting in LIMITS:
            yield within(t, name + ", once", 1.0 if program == "ninja" else LIMITS[setting])
            yield against("%s: peak at most %.3g of glibc's" % (name, PEAK), *(t.median(name + ", once peak", c) for c in ("toft", "glibc")),
                          PEAK, "MiB")
