"""Other processors, C libraries and systems: the C tests, cross-compiled and run under an emulator.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import shutil
import subprocess

import modes

class Target:
    """run: the command that runs its programs, or None where the machine does it itself."""

    def __init__(self, name, compiler, flags="", system="Linux", run=(), optional=False):
        self.name, self.compiler, self.flags, self.system = name, compiler, flags, system
        self.run, self.optional = list(run), optional

    def settings(self):
        return ["-DCMAKE_SYSTEM_NAME=" + self.system, "-DCMAKE_C_COMPILER=" + self.compiler]


def qemu(name, triple):
    return Target(name, triple + "-gcc", run=["qemu-" + name, "-L", "/usr/" + triple])


def find_wine():
    for path in ("/usr/lib/wine/wine64", shutil.which("wine64")):
        if path and os.path.exists(path):
            return path
    return None


def all():
    return [
        qemu("aarch64", "aarch64-linux-gnu"),
        Target("armhf", "arm-linux-gnueabihf-gcc", run=["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"]),
        qemu("s390x", "s390x-linux-gnu"),
        Target("m32", "gcc", "-m32"),
        Target("musl", "musl-gcc"),
        Target("mingw", "x86_64-w64-mingw32-gcc-posix", "-static", system="Windows", run=[find_wine() or "wine64"],
               optional=True),
    ]


def cmocka(mode, target):
    """Builds cmocka for the target from the distribution's source, once."""
    built = modes.ROOT / "build" / "cmocka" / target.name
    if (built / "done" / "lib" / "libcmocka-static.a").exists():
        return built / "done"
    source = subprocess.run([modes.ROOT / "scripts" / "cmocka-source"], text=True, stdout=subprocess.PIPE)
    if source.returncode != 0:
        raise modes.Unavailable("no source of cmocka: scripts/bootstrap cross fetches it")
    mode.must(["cmake", "-S", source.stdout.strip(), "-B", built, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
               "-DCMAKE_C_FLAGS=%s -w" % target.flags, "-DBUILD_SHARED_LIBS=OFF", "-DWITH_EXAMPLES=OFF",
               "-DWITH_STATIC_LIB=ON", "-DCMAKE_INSTALL_PREFIX=%s" % (built / "done"), "-DCMAKE_INSTALL_LIBDIR=lib"] +
              target.settings(), "cmake of cmocka")
    mode.must(["cmake", "--build", built], "the build of cmocka")
    mode.must(["cmake", "--install", built], "the build of cmocka")
    return built / "done"


def tests(target):
    def work(mode):
        modes.need("cmake", "ninja", target.compiler)
        options = target.settings() + ["-DTOFT_CMOCKA=%s" % cmocka(mode, target)]
        if target.run:
            options.append("-DTOFT_TEST_RUN=" + ";".join(target.run))
        modes.build(mode, target.compiler, flags="-O2 " + target.flags, options=options)
        if target.run and not shutil.which(target.run[0]):
            raise modes.Unavailable("built, but there is no %s to run it: scripts/bootstrap cross installs it%s" % (
                target.run[0], ", with FULL=1" if target.optional else ""))
        wine = {"WINEDEBUG": "-all", "DISPLAY": "", "WINEPREFIX": str(modes.ROOT / "build" / "wine")}
        if target.system == "Windows":  # two programs at once must not both find that there is no prefix yet
            mode.command([target.run[0], "wineboot", "--init"], env=wine)
        emulated = {"TOFT_EMULATED": "1"} if target.run else None
        modes.play(mode, env=wine if target.system == "Windows" else emulated,
                   leave=None if modes.FULL else "test_rounds")
    return work


def make():
    return [modes.Mode("cross-" + t.name, tests(t), optional=t.optional) for t in all()]
