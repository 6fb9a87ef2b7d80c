"""The modes of scripts/test for conformance/: every maker with every user.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import re

import juliamodes
import modes

LINE = r"^\| \S+ \| \S+ \| \d+ \| (\d+) \| \d+ \| "


def count(mode, *options, tests):
    """Each line that `tests` matches is a test."""
    code, text = mode.command([modes.ROOT / "conformance/run", *options])
    mode.failed += len(re.findall(r"^FAILED", text, re.M))
    mode.passed += len(re.findall(tests, text, re.M))
    if code != 0 and mode.failed == 0:
        raise modes.Broken("conformance/run")
    if mode.passed == 0 and mode.failed == 0:
        raise modes.Broken("nothing ran")


def pairs(mode):
    modes.need("gcc", "g++", "cargo", "go")
    juliamodes.need()
    count(mode, tests=LINE)


def asan(mode):
    modes.need("gcc", "g++", "cargo", "go")
    count(mode, "--asan", tests=LINE)


def broken(mode):
    """Builds that are wrong: each that the pairs tell is a test."""
    modes.need("gcc", "g++", "cargo", "go")
    count(mode, "--broken", *(["--all"] if modes.FULL else []), tests=r"^(?!FAILED)[^|\n]+: ")


def all():
    return [modes.Mode("conformance", pairs), modes.Mode("conformance-asan", asan),
            modes.Mode("conformance-broken", broken)]
