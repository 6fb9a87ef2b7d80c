"""The mallocs under which everything is measured: glibc's, those of Debian's packages, and newer ones that are built.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import platform
import re
import subprocess

import cargo

# name: (file to preload, Debian package that owns it)
LIBRARIES = {
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "gperftools": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
}


TRIPLET = platform.machine() + "-linux-gnu"


def directories():
    return ["/usr/lib/" + TRIPLET, "/lib/" + TRIPLET, "/usr/lib64", "/usr/local/lib", "/usr/lib"]


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


def build_mimalloc(bench, sources, to):
    """The commands that make the library. The flags are those of its own CMake file for gcc."""
    return [bench.cc.split() + [
        "-O3", "-DNDEBUG", "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT", "-fPIC", "-shared", "-w",
        "-fvisibility=hidden", "-ftls-model=initial-exec", "-fno-builtin-malloc", "-I" + os.path.join(sources, "include"),
        os.path.join(sources, "src", "static.c"), "-o", to, "-pthread"]]


def build_jemalloc(bench, sources, to):
    """The script `configure` is among the sources or beside them; a checkout has none."""
    folder = os.path.join(os.path.dirname(to), "jemalloc-build")
    configure = 'cp -r "$0/." "$1"; cd "$1"; [ -f configure ] || cp "$0/../configure" . || autoconf; CC="$2" CXX="$3" sh configure --disable-static'
    return [["rm", "-rf", folder], ["mkdir", folder], ["sh", "-c", configure, sources, folder, bench.cc, bench.cxx],
            ["make", "-C", folder, "-j2", "build_lib_shared"], ["cp", os.path.join(folder, "lib", "libjemalloc.so.2"), to]]


def build_snmalloc(bench, sources, to):
    folder = os.path.join(os.path.dirname(to), "snmalloc")
    return [["cmake", "-S", os.path.join(sources, "upstream"), "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
             "-DSNMALLOC_BUILD_TESTING=OFF", "-DCMAKE_CXX_COMPILER=" + bench.cxx.split()[0]],
            ["cmake", "--build", folder, "--target", "snmallocshim"],
            ["cp", os.path.join(folder, "libsnmallocshim.so"), to]]


def version_in(path, pattern):
    with open(path) as f:
        found = re.search(pattern, f.read(), re.M).group(1)
    return found if "." in found else "%d.%d.%d" % (int(found) // 10000, int(found) // 100 % 100, int(found) % 100)


# name: (file, how, folder of the sources among the vendored crates, the file with the version, where)
MI_VERSION = ("include/mimalloc.h", r"#define MI_MALLOC_VERSION (\d+)")
BUILT = {
    "mimalloc": ("libmimalloc.so.2", build_mimalloc, "libmimalloc-sys/c_src/mimalloc/v2", *MI_VERSION),
    "mimalloc 3": ("libmimalloc.so.3", build_mimalloc, "libmimalloc-sys/c_src/mimalloc/v3", *MI_VERSION),
    "jemalloc": ("libjemalloc.so.2", build_jemalloc, "tikv-jemalloc-sys/jemalloc", "ChangeLog", r"^\* (\d+\.\d+\.\d+)"),
    "snmalloc": ("libsnmalloc.so", build_snmalloc, "snmalloc-sys", "Cargo.toml", r'^version = "(.+)"'),
}


def build(bench):
    """Adds the built ones to those found, in place of Debian's of that name. Programs that open libmimalloc.so.2 find it. MIMALLOC and
    JEMALLOC, in the environment: checkouts that are measured too."""
    vendored, why = cargo.vendor(bench, "mallocs")
    place = os.path.join(bench.build, "mallocs")
    checkouts = {}
    for name in "mimalloc", "jemalloc":
        checkout = os.environ.get(name.upper())
        if checkout:
            checkouts[name + " checkout"] = ("lib%s-checkout.so" % name, BUILT[name][1], os.path.abspath(checkout), *BUILT[name][3:])
    for name, (file, how, below, version_file, pattern) in {**BUILT, **checkouts}.items():
        if vendored is None:
            bench.leave_out(name, why)
            continue
        sources, path = os.path.join(vendored, below), os.path.join(place, file)
        for step in how(bench, sources, path) if not os.path.exists(path) else []:
            done = subprocess.run(step, capture_output=True, text=True)
            if done.returncode != 0:
                bench.leave_out(name, "it cannot be built: " + (done.stderr.strip().split("\n") or [""])[-1])
                break
        if os.path.exists(path):
            version = version_in(os.path.join(sources, version_file), pattern)
            if name in checkouts:
                git = subprocess.run(["git", "-C", sources, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
                version = " ".join([version, *git.stdout.split()])
            bench.mallocs[name] = path, version
    os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [place, os.environ.get("LD_LIBRARY_PATH")]))


def environment(path):
    """The environment for a program with that malloc."""
    env = dict(os.environ)
    env.pop("LD_PRELOAD", None)
    if path:
        env["LD_PRELOAD"] = path
    return env
