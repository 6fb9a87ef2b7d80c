"""Runs real programs on glibc's malloc, mimalloc, jemalloc, tcmalloc and Toft, in turn, and prints their times and memory.

A program is a folder here whose `run` has program(build, cc), or a line in bench/w7/workload.py; bench/w6 and bench/w7 run
them. Their output is described in measure.h and counted.h.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import glob
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "bench"))
sys.dont_write_bytecode = True
import mallocs  # noqa: E402


class Failure(Exception):
    """A program failed, or cannot be built."""


class Missing(Failure):
    """The machine lacks something that a program needs."""


class Case:
    """A way to run a program: the command on malloc, those on Toft by name, the recommended one first, and the one that counts
    requests, or None."""

    def __init__(self, name, malloc, ours, count=None):
        self.name, self.malloc, self.ours, self.count = name, malloc, ours, count


class Program:
    """rounds(quick): how many a process runs, put at the commands' "ROUNDS". warm: the first one is a round as any.
    adapter: the files that mark parts of the adapter."""

    def __init__(self, name, says, cases, rounds, passes, warm=False, language="C", adapter=()):
        self.name, self.says, self.cases, self.rounds, self.passes, self.warm = name, says, cases, rounds, passes, warm
        self.language, self.adapter = language, adapter


class Contender:
    """One command on one malloc, run as often as you like."""

    def __init__(self, name, command, preload=None, warm=False):
        self.name, self.command, self.preload, self.warm = name, command, preload, warm
        self.first, self.again, self.faults_first, self.faults_again, self.wall = [], [], [], [], []
        self.parts, self.names, self.hashes, self.peaks, self.other = [], [], set(), [], {}

    def run(self):
        for line in output_of(self.command, self.preload, self.name).splitlines():
            kind, *words = line.split()
            if kind == "parts":
                self.names, cold = words, not self.warm
            elif kind == "round":
                processor, wall, faults, *parts = map(int, words)
                (self.first if cold else self.again).append(processor)
                (self.faults_first if cold else self.faults_again).append(faults)
                if not cold:
                    self.wall.append(wall)
                    self.parts.append(parts)
                cold = False
            elif kind == "total":
                self.hashes.add(words[0])
                self.peaks.append(int(words[1]))
            else:
                self.other[kind] = words

    def part(self, name):
        """The median of a part, but for first rounds."""
        return statistics.median(parts[self.names.index(name)] for parts in self.parts)

    @property
    def peak(self):
        """KiB"""
        return statistics.median(self.peaks)


def output_of(command, preload=None, name=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=mallocs.environment(preload))
    if done.returncode != 0:
        raise Failure("%s failed: %s" % (name or command[0], done.stderr.strip() or "exit code %d" % done.returncode))
    return done.stdout


def measure(contenders, passes, what):
    """Runs them in turn, another one first in each pass."""
    show = sys.stderr.isatty()
    for n in range(passes):
        for contender in contenders[n % len(contenders):] + contenders[:n % len(contenders)]:
            if show:
                print("\r\033[K%s, pass %d of %d: %s" % (what, n + 1, passes, contender.name), end="", file=sys.stderr,
                      flush=True)
            contender.run()
    if show:
        print("\r\033[K", end="", file=sys.stderr)
    return contenders


def same(contenders, what):
    """All must have computed the same: its hash."""
    for contender in contenders:
        if contender.hashes != contenders[0].hashes or len(contender.hashes) != 1:
            raise Failure("%s: %s and %s did not compute the same" % (what, contender.name, contenders[0].name))
    return min(contenders[0].hashes)


def contenders_of(program, case, found, quick):
    """The malloc's, and then ours."""
    rounds = str(program.rounds[quick])
    def with_rounds(command):
        return [rounds if word == "ROUNDS" else word for word in command]
    return ([Contender(name, with_rounds(case.malloc), path, program.warm) for name, (path, _) in found.items()] +
            [Contender(name, with_rounds(command), None, program.warm) for name, command in case.ours.items()])


def share_of(case):
    """(requests, those that Toft served from blocks it had); that all went back is checked."""
    line = next(line for line in output_of(["1" if w == "ROUNDS" else w for w in case.count]).splitlines()
                if line.startswith("counted "))
    requests, calls, held = map(int, line.split()[1:])
    if held != 0:
        raise Failure("%s: %d bytes did not go back to the source" % (case.name, held))
    return requests, requests - calls


def make(folder, build, cc, needs, target="all", variables=()):
    """Builds a program. needs: (header, or its path if C alone does not find it; Debian package)."""
    if not shutil.which("make"):
        raise Missing("make is not installed")
    if not shutil.which(cc.split()[0]):
        raise Missing("no compiler %s: set CC" % cc)
    for header, package in needs:
        if os.path.exists(header):
            continue
        probe = subprocess.run(cc.split() + ["-E", "-xc", "-"], input="#include <%s>\n" % header, text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if probe.returncode != 0:
            raise Missing("no header %s: install the Debian package %s" % (header, package))
    made = subprocess.run(["make", "-s", "-f", os.path.join(folder, "Makefile"), "BUILD=" + build, "CC=" + cc, *variables, target])
    if made.returncode != 0:
        raise Failure("the build failed")


def inputs(patterns):
    """The files of these. patterns: (glob, Debian package)."""
    found = []
    for pattern, package in patterns:
        files = sorted(glob.glob(pattern))
        if not files:
            raise Missing("no file %s: install the Debian package %s" % (pattern, package))
        found += files
    return found


def settings(name):
    """(where to build, the compiler), by the environment."""
    return os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build", name))), os.environ.get("CC", "cc")


def found_mallocs(name):
    found, missing = mallocs.find()
    for what in missing:
        if os.environ.get("CI") == "true":
            raise Missing("missing: " + what)
        print("%s: left out: %s" % (name, what), file=sys.stderr)
    return found


def ms(values):
    return statistics.median(values) / 1e6


def show(program, found):
    """The table of a program's first case, and a line in short."""
    case = program.cases[0]
    rows = measure(contenders_of(program, case, found, True), 1, program.name)
    print("%s; all the same (hash %s)." % (program.says, same(rows, program.name)))
    print("Milliseconds of the processor; x: times as fast as glibc.\n")
    print("%-18s%10s%7s%10s%7s%13s%13s%11s" % ("", "first", "x", "again", "x", "peak MB", "page faults", "again"))
    glibc = rows[0]
    for c in rows:
        print("%-18s%10.0f%7.2f%10.0f%7.2f%13.1f%13.0f%11.0f" % (
            c.name, ms(c.first), ms(glibc.first) / ms(c.first), ms(c.again), ms(glibc.again) / ms(c.again), c.peak / 1024,
            statistics.median(c.faults_first), statistics.median(c.faults_again)))
    if glibc.names:
        print("\n%-18s%s" % ("ms of", "".join("%12s" % name for name in glibc.names)))
        for c in rows:
            print("%-18s%s" % (c.name, "".join("%12.1f" % (c.part(name) / 1e6) for name in c.names)))
    if case.count:
        requests, served = share_of(case)
        print("\nOf %d requests Toft served %.3f %% from blocks it had. A first round begins with no memory." % (
            requests, 100 * served / requests))
    print("Versions: %s." % ", ".join("%s %s" % (m, v) for m, (_, v) in found.items()))
    ours, others = rows[len(found)], sorted(rows[:len(found)], key=lambda c: ms(c.first))
    print("In short: %s: %.0f ms, %.0f MB at most, %.0f page faults on Toft; %s" % (
        program.name, ms(ours.first), ours.peak / 1024, ours.faults_first[0], "; ".join("%.0f, %.0f, %.0f on %s" % (
            ms(c.first), c.peak / 1024, c.faults_first[0], c.name) for c in others)))


def main(name, program):
    """The work of a `run`."""
    try:
        found = found_mallocs(name)
        show(program(*settings(name)), found)
    except Failure as failure:
        sys.exit("%s: %s" % (name, failure))
    except KeyboardInterrupt:
        sys.exit(130)
