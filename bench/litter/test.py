#!/usr/bin/env python3
"""Tests of littered heaps: a small program on each malloc that is installed.

    bench/litter/test.py FOLDER     where to build

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import array
import os
import subprocess
import sys
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import litter  # noqa: E402
import mallocs  # noqa: E402

# Requests 3000 objects of 40 B and 1000 of 200 B, a quarter of them in a forked process. Prints its resident bytes and, on
# glibc, those that are allocated.
PROGRAM = r"""
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile kept;
static void objects(int n) {
  for (int i = 0; i < n; i++) kept = i % 4 == 0 ? realloc(NULL, 200) : i % 2 ? malloc(40) : calloc(5, 8);
}
int main(void) {
  long pages = 0;
  int child = fork();
  objects(child == 0 ? 1000 : 3000);
  if (child == 0) _exit(0);
  wait(NULL);
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1) return 1;
  dprintf(1, "resident %ld\nallocated %zu\n", pages * sysconf(_SC_PAGESIZE), mallinfo2().uordblks);
}
"""


class Littered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = types.SimpleNamespace(build=FOLDER, cc=os.environ.get("CC", "cc"), stop=sys.exit)
        litter.build(cls.bench)
        cls.program = os.path.join(FOLDER, "litter", "program")
        subprocess.run([cls.bench.cc, "-O0", "-w", "-xc", "-", "-o", cls.program], input=PROGRAM, text=True, check=True)
        litter.record(cls.bench, [cls.program])

    def said(self, preload):
        done = subprocess.run([self.program], env=mallocs.environment(preload), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {line.split()[0]: list(map(int, line.split()[1:])) for line in done.stdout.splitlines()}

    def test_sizes_are_those_of_the_requests(self):
        with open(os.environ["LITTER_SIZES"], "rb") as f:
            requests, *sizes = array.array("Q", f.read())
        self.assertEqual((sizes.count(40), sizes.count(200)), (3000, 1000))
        self.assertLess(requests, 4020)  # those of the C library

    def test_every_malloc_is_littered(self):
        for name, (path, _) in mallocs.find()[0].items():
            with self.subTest(malloc=name):
                fresh, littered = self.said(path), self.said(litter.preload(self.bench, path))
                report = litter.fields(littered["littered"])["littered"]
                self.assertEqual(report["objects"], 4000000)
                self.assertEqual(report["live"], 200000)
                self.assertAlmostEqual(report["bytes"] / 4000000, 80, delta=10)  # the mean of the requests
                grown = littered["resident"][0] - fresh["resident"][0]
                self.assertGreater(grown, report["bytes"] / 2)  # most pages have an object that lives
                self.assertAlmostEqual(grown / report["resident"], 1, delta=0.2)
                if name == "glibc":
                    live = littered["allocated"][0] - fresh["allocated"][0]
                    self.assertAlmostEqual(live / report["bytes"], 1 / 20, delta=0.02)

    def test_a_program_without_sizes_is_not_measured(self):
        env = dict(mallocs.environment(litter.preload(self.bench, None)), LITTER_SIZES="/dev/null")
        done = subprocess.run([self.program], env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("LITTER_SIZES", done.stderr)


if __name__ == "__main__":
    FOLDER = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
