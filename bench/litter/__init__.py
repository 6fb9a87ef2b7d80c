"""Littered heaps, after "Reconsidering 'Reconsidering Custom Memory Allocation'" (arXiv 2605.17119): before a measurement the
process allocates up to 4 million objects of the sizes that the program requests from malloc, shuffles them, and frees 19 of 20.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import subprocess

import mallocs

HERE = os.path.dirname(os.path.abspath(__file__))


def library(bench, name):
    return os.path.join(bench.build, "litter", name + ".so")


def build(bench):
    os.makedirs(os.path.join(bench.build, "litter"), exist_ok=True)
    for name in ("record", "litter"):
        done = subprocess.run(bench.cc.split() + ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
                                                  "-fno-builtin", "-o", library(bench, name), os.path.join(HERE, name + ".c")])
        if done.returncode != 0:
            bench.stop("litter/%s.c cannot be compiled" % name)


def record(bench, command):
    """Runs the command, on glibc's malloc, and keeps the sizes that it requests for the processes that are run with `preload`."""
    os.environ["LITTER_SIZES"] = os.path.join(bench.build, "litter", "sizes")
    done = subprocess.run(command, stdout=subprocess.DEVNULL, env=mallocs.environment(library(bench, "record")))
    if done.returncode != 0:
        bench.stop("%s failed while its sizes were recorded" % command[0])


def preload(bench, malloc):
    """What to preload for a littered heap of that malloc; malloc: the file to preload, or None. The constructor of the last
    library runs first, so that of the malloc precedes the littering."""
    return ":".join(filter(None, [library(bench, "litter"), malloc]))


def fields(words):
    """The fields of a row, of the words that litter.c prints behind "littered"."""
    return {"littered": dict(zip(("objects", "live", "bytes", "resident"), map(int, words)))}
