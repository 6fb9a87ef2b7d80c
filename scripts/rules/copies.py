"""Copies that are equal: of the library, the ABI's headers, the licence, the version; and what the library exports.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import hashlib
import os
import re
import subprocess
import tempfile

from rules.tree import ROOT

COPIES = [("LICENSE-MIT", package + "/LICENSE-MIT") for package in ("go", "go/cgoparam", "julia/Toft")] + [
    ("abi/toft_abi.h", "c/include/toft/abi.h"),
    ("abi/toft_abi_info.h", "c/include/toft/abi_info.h")]  # packages are fetched without the rest: one licence is enough
# Lines that each name the version.
VERSIONS = [("c/include/toft.h", '#define TOFT_VERSION "%s"'), ("julia/Toft/Project.toml", 'version = "%s"'),
            ("go/cgoparam/go.mod", "require toft.dev/toft v%s")] + [
    (manifest + "/Cargo.toml", 'version = "%s"')
    for manifest in ("cli", "rust", "rust/bevy", "rust/bumpalo", "rust/derive", "rust/pools")]
# Manifests that require exactly this version of a crate.
REQUIRED = [("rust/pools", "toft"), ("rust/pools", "toft-derive"), ("cli", "toft"), ("rust/bevy", "toft")]


def read(name):
    return (ROOT / name).read_text()


def amalgamated():
    """The library in two files is what scripts/amalgamate writes."""
    done = subprocess.run([ROOT / "scripts/amalgamate", "--check"], stderr=subprocess.PIPE, text=True)
    yield from done.stderr.splitlines()


def equal():
    """Files, the version and the declarations of the ABI are the same in each place."""
    for one, other in COPIES:
        if read(one) != read(other):
            yield "%s and %s differ" % (one, other)
    version = read("VERSION").strip()
    for name, line in VERSIONS:
        if line % version not in read(name).splitlines():
            yield "VERSION and %s differ" % name
    for folder, crate in REQUIRED:
        if not re.search(r'^%s = \{ version = "=%s", ' % (crate, re.escape(version)), read(folder + "/Cargo.toml"), re.M):
            yield "%s/Cargo.toml requires another %s" % (folder, crate)
    abi = re.search(r"^#define TOFT_ABI (.*)", read("abi/toft_abi.h"), re.M)[1]
    for header in "toft_abi.h", "toft_abi_info.h":  # names, types, order and constants, without comments and blanks
        tokens = re.findall(r"\w+|[^\w\s]", re.sub(r"/\*.*?\*/", " ", read("abi/" + header), flags=re.S))
        digest = hashlib.sha256(" ".join(tokens).encode()).hexdigest()
        if "%s %s %s" % (header, abi, digest) not in read("abi/digests").splitlines():
            yield "abi/%s declares something else than version %s did (abi/digests): %s" % (header, abi, digest)


def symbols(folder, *flags):
    made = os.path.join(folder, "toft.o")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", *flags, "-Ic/include", "-c", "c/src/toft.c", "-o", made],
                   cwd=ROOT, check=True)
    out = subprocess.run(["nm", "-g", "--defined-only", made], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[-1] for line in out.splitlines()]


def exported():
    """The library exports names with its prefix only, which TOFT_PREFIX renames, and none with TOFT_STATIC."""
    with tempfile.TemporaryDirectory() as folder:
        for flags, prefix in (((), "toft_"), (("-DTOFT_PREFIX=other_",), "other_"),
                              (("-DTOFT_RUNTIME", "-DTOFT_PREFIX=other_"), "other_")):
            names = symbols(folder, *flags)
            for name in [n for n in names if not n.startswith(prefix)] + ([] if names else ["nothing"]):
                yield "exported with '%s': %s" % (" ".join(flags), name)
        for name in symbols(folder, "-DTOFT_STATIC"):
            yield "exported with TOFT_STATIC: " + name
