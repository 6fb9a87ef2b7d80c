"""The mallocs under which everything is measured: their paths in Debian and installed versions.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import platform
import subprocess

# name: (file to preload, Debian package that owns it)
LIBRARIES = {
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
}


def directories():
    triplet = platform.machine() + "-linux-gnu"
    return ["/usr/lib/" + triplet, "/lib/" + triplet, "/usr/lib64", "/usr/local/lib", "/usr/lib"]


def package_version(package):
    try:
        command = ["dpkg-query", "-W", "-f", "${Version}", package]
        answer = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown"
    return answer.stdout.strip() or "unknown"


def find():
    """{name: (path to preload or None, version)}, glibc first, and the names of those missing."""
    found = {"glibc": (None, " ".join(platform.libc_ver()[1:]) or "unknown")}
    missing = []
    for name, (file, package) in LIBRARIES.items():
        paths = [os.path.join(d, file) for d in directories()]
        path = next((p for p in paths if os.path.exists(p)), None)
        if path:
            found[name] = (path, package_version(package))
        else:
            missing.append("%s (%s, Debian package %s)" % (name, file, package))
    return found, missing


def environment(path):
    """The environment for a program with that malloc."""
    env = dict(os.environ)
    env.pop("LD_PRELOAD", None)
    if path:
        env["LD_PRELOAD"] = path
    return env
