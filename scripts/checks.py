"""What the checks in Python share: commands whose output is shown, and a count of tests as the last line.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FULL = os.environ.get("FULL") == "1"
CI = os.environ.get("CI") == "true"

ctest = r"^(?:\d+: )?"  # ctest -V numbers the lines of the programs that it runs side by side

PASSED = [ctest + r"\[       OK \] ", r"^\s*--- PASS: "]
FAILED = [ctest + r"\[  FAILED  \] \S+ \(\d+ ms\)", ctest + r"\[  FAILED  \] \d+ test\(s\)", r"^\s*--- FAIL: ",
          r"^\s*\d+/\d+ Test\s+#\d+: \S+ \.*\*\*\*(?!Skipped)", r"^FAILED\b", r"^(?:FAIL|ERROR): "]


def count(text):
    """(passed, failed) of all tests named in an output; a last line with counts takes precedence."""
    last = re.search(r"(?:^|\n)(\d+) passed, (\d+) failed\n*\Z", text)
    if last:
        return int(last[1]), int(last[2])
    passed = sum(len(re.findall(p, text, re.M)) for p in PASSED)
    failed = sum(len(re.findall(p, text, re.M)) for p in FAILED)
    for good, bad in re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", text, re.M):
        passed, failed = passed + int(good), failed + int(bad)
    for names, values in re.findall(r"^Test Summary: *\|(.*)\n(?:.*\n)*?Toft *\|(.*)$", text, re.M):
        row = dict(zip(names.split(), values.split()))
        passed += int(row.get("Pass", 0))
        failed += int(row.get("Fail", 0)) + int(row.get("Error", 0))
    for ran, said in re.findall(r"^Ran (\d+) tests? in .*\n\n(.*)$", text, re.M):
        bad = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", said)))
        passed += int(ran) - bad
    return passed, failed


class Failed(Exception):
    """The check cannot go on: something did not build."""


class Check:
    """One check: its folder in build/, and how many tests passed and failed."""

    def __init__(self, name):
        self.folder = ROOT / "build" / name
        self.passed = self.failed = 0

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def command(self, argv, env=None, cwd=ROOT):
        """(exit code, output); the output is shown too."""
        print("+ %s" % " ".join(map(str, argv)), flush=True)
        done = subprocess.run([str(a) for a in argv], cwd=cwd, env=dict(os.environ, **(env or {})), text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        print(done.stdout, flush=True)
        return done.returncode, done.stdout

    def must(self, argv, **how):
        if self.command(argv, **how)[0] != 0:
            raise Failed(" ".join(map(str, argv)))

    def test(self, what, holds, seen=""):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print("not ok: %s: %r" % (what, seen), flush=True)
        return holds

    def tests(self, argv, **how):
        """A command whose output names its tests."""
        code, text = self.command(argv, **how)
        self.counted(argv[0], code, text)
        return text

    def counted(self, what, code, text):
        """Adds the tests of an output. No test, or an exit code without a failed test, is a failure."""
        passed, failed = count(text)
        self.passed, self.failed = self.passed + passed, self.failed + failed
        if passed + failed == 0 or (code != 0 and failed == 0):
            self.test("%s: its tests" % what, False, code)

    def runs(self, argv, **how):
        """A command that is one test. Returns its output."""
        code, text = self.command(argv, **how)
        self.test(" ".join(map(str, argv)), code == 0, code)
        return text


def unavailable(reason):
    """Exits with the code and last line by which scripts/check knows that a check is unavailable."""
    print(reason)
    sys.exit(77)


def main(kinds):
    """kinds: {name: function of a Check}; the command line names one, or there is one only."""
    name = sys.argv[1] if len(sys.argv) > 1 else next(iter(kinds))
    if name not in kinds or (len(kinds) > 1 and len(sys.argv) < 2):
        sys.exit("usage: %s %s" % (sys.argv[0], "|".join(kinds)))
    check = Check(name)
    try:
        kinds[name](check)
    except Failed as why:
        check.test("it can go on", False, str(why))
    if check.passed + check.failed == 0:
        check.test("a test ran", False)
    print("%d passed, %d failed" % (check.passed, check.failed))
    sys.exit(1 if check.failed else 0)
