"""The modes of scripts/test for the Go package.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import pathlib
import re
import shutil

import modes

GO = pathlib.Path(__file__).resolve().parent.parent / "go"


def count(mode, text):
    """Counts tests in the output of go test -v; a program that died without a word is one that failed."""
    said = re.findall(r"^\s*--- (PASS|FAIL)", text, re.M)
    mode.passed += said.count("PASS")
    mode.failed += said.count("FAIL")


def play(mode, *flags, env=None, folder=GO, short=True, packages="./..."):
    modes.need("go", "gcc")
    run = ["go", "test", "-v", "-count=1", "-timeout=%ds" % (3000 if modes.FULL else 600), *flags]
    run += ["-short"] if short and not modes.FULL else []
    code, text = mode.command(run + [packages], cwd=folder, env=env)
    count(mode, text)
    if code != 0 and mode.failed == 0:
        raise modes.Broken("go test")
    if mode.passed == 0:
        raise modes.Broken("no test ran")


def tests(*flags, env=None, short=True):
    return lambda mode: play(mode, *flags, env=env, short=short)


def go(mode):
    """The tests as they are, and what else a user's build meets."""
    modes.need("go", "gcc")
    mode.check(["go", "vet", "./..."], cwd=GO)
    mode.check(["go", "build", "./..."], cwd=GO, env={"CGO_CFLAGS": "-O2 -Wall -Wextra -Wno-unused-parameter -Werror"})
    play(mode, short=False)


def without_cgo(mode):
    """Pools and tables without cgo, which is how cross builds are by default; arenas are a message of the compiler's."""
    modes.need("go")
    play(mode, env={"CGO_ENABLED": "0"}, packages=".")
    for system, processor in [("darwin", "arm64"), ("windows", "amd64"), ("freebsd", "amd64"), ("linux", "386")]:
        mode.check(["go", "vet", "."], cwd=GO, env={"CGO_ENABLED": "0", "GOOS": system, "GOARCH": processor})
    user = module(mode.folder)
    code, text = mode.command(["go", "build", "."], cwd=user, env={"CGO_ENABLED": "0"})
    named = code != 0 and "arenas_need_cgo" in text
    mode.passed += named
    mode.failed += not named


def windows(mode):
    """Compiles with cgo for Windows; nothing runs."""
    modes.need("go", "x86_64-w64-mingw32-gcc-posix")
    for what in ("build", "vet"):
        mode.check(["go", what, "./..."], cwd=GO,
                   env={"CGO_ENABLED": "1", "GOOS": "windows", "GOARCH": "amd64", "CC": "x86_64-w64-mingw32-gcc-posix"})


def m32(mode):
    modes.need("go", "gcc")
    cc = "gcc -m32 -idirafter /usr/include/x86_64-linux-gnu"  # <asm/errno.h>, where only the compiler is multilib
    source = mode.folder / "m32.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("#include <errno.h>\nint main(void) { return 0; }\n")
    if mode.command(cc.split() + [source, "-o", mode.folder / "m32"])[0] != 0:
        raise modes.Unavailable("gcc -m32 does not link: scripts/bootstrap installs what it lacks")
    play(mode, env={"GOARCH": "386", "CGO_ENABLED": "1", "CC": cc})


def module(user):
    """A module elsewhere that uses the package through a replace directive."""
    shutil.rmtree(user, ignore_errors=True)
    user.mkdir(parents=True)
    (user / "go.mod").write_text("module user\n\ngo 1.24\n\nrequire toft.dev/toft v0.0.0\n\n"
                                 "replace toft.dev/toft => %s\n" % os.path.relpath(GO, user))
    (user / "main.go").write_text(
        'package main\n\nimport "toft.dev/toft"\n\nfunc main() {\n\ta := toft.Get()\n\tdefer a.Return()\n'
        '\tif *toft.New[int](a) != 0 {\n\t\tpanic("not zeroed")\n\t}\n}\n')
    return user


def vendored(mode):
    """The same, and once more vendored."""
    modes.need("go", "gcc")
    user = module(mode.folder)
    mode.check(["go", "run", "."], cwd=user)
    mode.check(["go", "mod", "vendor"], cwd=user)
    mode.check(["go", "run", "-mod=vendor", "."], cwd=user)


def fuzz(mode):
    modes.need("go", "gcc")
    names = sorted(set(re.findall(r"^func (Fuzz\w+)", "".join(p.read_text() for p in GO.glob("*_test.go")), re.M)))
    for name in names:  # by count: up to Go 1.26 the end of a time may be told as a failure, golang/go#75804
        mode.check(["go", "test", "-run=^$", "-fuzz=^%s$" % name, "-fuzztime=%s" % ("150000x" if modes.FULL else "6000x"),
                    "-fuzzminimizetime=20x", "."], cwd=GO)


def examples(mode):
    """Programs in Go: with the race detector, with debugging under cgocheck2, and with the search for leaks."""
    for folder in sorted(p.parent for p in (GO.parent / "examples").glob("*/go.mod")):
        if (folder / "build").exists():  # what is not Go's or C's in it
            modes.need("cargo")
            mode.must([folder / "build"], "the build of %s" % folder.name)
        play(mode, "-race", folder=folder)
        play(mode, folder=folder, env={"GOEXPERIMENT": "cgocheck2", "TOFT_DEBUG": "1"})
        play(mode, "-asan", folder=folder)


def arm64(mode):
    modes.need("go", "qemu-aarch64", "aarch64-linux-gnu-gcc")
    play(mode, "-exec=qemu-aarch64 -L /usr/aarch64-linux-gnu",
         env={"GOARCH": "arm64", "CGO_ENABLED": "1", "CC": "aarch64-linux-gnu-gcc"})


def all():
    asan = {"ASAN_OPTIONS": "detect_leaks=1"}
    made = [
        modes.Mode("go", go),
        modes.Mode("go-nocgo", without_cgo),
        modes.Mode("go-windows", windows),
        modes.Mode("go-m32", m32),
        modes.Mode("go-race", tests("-race")),
        modes.Mode("go-checkptr", tests("-gcflags=all=-d=checkptr=1")),
        modes.Mode("go-cgocheck2", tests(env={"GOEXPERIMENT": "cgocheck2"})),
        modes.Mode("go-asan", tests("-asan", env=asan)),
        modes.Mode("go-portable", tests("-tags=toft_portable")),
        modes.Mode("go-vendored", vendored),
        modes.Mode("go-fuzz", fuzz),
        modes.Mode("go-examples", examples),
    ]
    if modes.FULL:
        made.append(modes.Mode("go-arm64", arm64))
    return made
