"""Builds the providers, the clients and the driver, each as a shared object.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import pathlib
import platform
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "build" / "conformance"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
INCLUDE = ["-I", ROOT / "abi", "-I", HERE]
DRIVER = ["driver.c", "stage.c", "report.c", "placed_memory.c", "records.c", "paths.c", "rules.c", "scenarios.c", "handed.c",
          "vectors.c"]
HOST = platform.machine() + "-unknown-linux-gnu"
TSAN = ["-fsanitize=thread", "-fno-omit-frame-pointer", "-Wno-sign-conversion"]
ASAN = ["-fsanitize=address", "-fno-omit-frame-pointer"]


class Failed(Exception):
    """A command failed; its output is the message."""


def command(argv, cwd=HERE, env=None):
    done = subprocess.run([str(a) for a in argv], cwd=cwd, env=dict(os.environ, **(env or {})), text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failed("%s\n%s" % (" ".join(map(str, argv)), done.stdout))


class Build:
    """tsan: C and C++ by clang with ThreadSanitizer, and nothing else. asan: C and C++ by gcc with AddressSanitizer, Go with -asan, Rust with -Zsanitizer=address if there is a nightly
    compiler, else as it is, over the same malloc."""

    def __init__(self, asan=False, tsan=False):
        self.asan, self.tsan = asan, tsan
        self.cc, self.cxx = "gcc", "g++"
        if tsan:
            self.cc, self.cxx = os.environ.get("CLANG", "clang"), os.environ.get("CLANGXX", "clang++")
        self.folder = OUT / ("asan" if asan else "tsan" if tsan else "plain")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rust_asan = asan and self.nightly_sanitizes()
        self.flags = ["-O1" if asan or tsan else "-O2", "-g", "-fPIC"] + (ASAN if asan else TSAN if tsan else [])
        self.c_library = ["-I", ROOT / "c/include", "-I", ROOT / "c/src"]

    def nightly_sanitizes(self):
        """Is there a whole nightly toolchain? Half of one is there while it is fetched."""
        nothing, made = self.folder / "nothing.rs", self.folder / "nothing.rmeta"
        nothing.write_text("")
        compile_it = ["rustc", "+nightly", "-Zsanitizer=address", "--target", HOST, "--crate-type", "lib",
                      "--emit", "metadata=%s" % made, nothing]
        return all(subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
                   for argv in (compile_it, ["cargo", "+nightly", "--version"]))

    def path(self, name):
        at = self.folder / name
        return at.with_name("lib%s.so" % at.name)

    def c(self, name, sources, *more, compiler=None):
        command([*(compiler or (self.cc, "-std=gnu11")), *self.flags, *WARNINGS, "-fvisibility=hidden", "-shared", *more, *sources,
                 "-o", self.path(name), "-pthread", "-ldl"])
        return self.path(name)

    def provider_c(self):
        """Whole, and reduced to the full profile."""
        self.c("provider_least", ["provider_c.c"], "-DLEAST", *INCLUDE, *self.c_library)
        return self.c("provider_c", ["provider_c.c"], *INCLUDE, *self.c_library)

    def provider_fixed(self):
        """The example of the specification, twice: whole, and reduced to the core profile."""
        for name, more in (("provider_fixed", ()), ("provider_core", ("-DCORE",))):
            self.c(name, ["provider_fixed.c"], *INCLUDE, "-Wno-unused-function", *more)

    def provider_mini(self):
        """Without the bytes that it keeps between allocations under AddressSanitizer, which count as live."""
        self.c("provider_mini", ["provider_mini.c"], *INCLUDE, "-U__SANITIZE_ADDRESS__")

    def provider_instrumented(self):
        self.c("provider_instrumented", ["provider_instrumented.c"], *INCLUDE, *self.c_library)

    def client_c(self, name="client_c", before=()):
        """before: folders whose toft_abi.h goes first."""
        library = self.folder / "libtoft.o"
        if not library.exists() or not before:
            command([self.cc, "-std=gnu11", *self.flags, "-fvisibility=hidden", "-DTOFT_PREFIX=conformance_c_",
                     *self.c_library, "-c", ROOT / "c/src/toft.c", "-o", library])
        return self.c(name, ["client_c.c", library], *before, *INCLUDE, *self.c_library, "-DTOFT_PREFIX=conformance_c_")

    def library_julia(self):
        self.c("toft", [ROOT / "c/src/toft.c"], *self.c_library)

    def client_cpp(self):
        return self.c("client_cpp", ["client_cpp.cpp"], *INCLUDE, "-I", ROOT / "cpp/include", "-I", ROOT / "c/include",
                      compiler=(self.cxx, "-std=c++17"))

    def driver(self):
        command(["python3", "-B", ROOT / "abi/model/to_c.py", self.folder / "vectors.h"])
        self.c("driver", DRIVER, *INCLUDE, "-I", ROOT / "c/tests", "-I", self.folder)
        # AddressSanitizer looks for C++'s throw when a program starts, not when a part of it is loaded.
        early = ["-Wl,--no-as-needed", "-lstdc++"] if self.asan else []
        command([self.cc, "-std=gnu11", *self.flags, *WARNINGS, *INCLUDE, "main.c", self.path("driver"), *early,
                 "-Wl,-rpath,$ORIGIN", "-o", self.folder / "driver"])

    def rust(self):
        """Both of Rust's, with the checks of a debug build. Only nightly compilers know -Zsanitizer; what they
        instrument calls the runtime that the driver brings along."""
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "build/cargo"))
        argv, env = ["cargo", "build"], {"CARGO_TERM_COLOR": "never"}
        if self.rust_asan:
            argv, env["RUSTFLAGS"] = ["cargo", "+nightly", "build", "--target", HOST], "-Zsanitizer=address"
        command(argv + ["--locked", "--quiet", "-p", "conformance-provider", "-p", "conformance-client"], cwd=ROOT, env=env)
        for name in ("provider", "client"):
            built = target / (HOST if self.rust_asan else "") / "debug" / ("libconformance_%s.so" % name)
            shutil.copy(built, self.path(name + "_rust"))

    def client_go(self):
        """In a folder with copies of the headers: go build does not notice changes of files outside of a package."""
        package = self.folder / "go"
        shutil.rmtree(package, ignore_errors=True)
        shutil.copytree(HERE / "go", package)
        for header in (HERE / "conformance.h", ROOT / "abi/toft_abi.h"):
            shutil.copy(header, package)
        module = (package / "go.mod").read_text()
        (package / "go.mod").write_text(module.replace("../../go", os.path.relpath(ROOT / "go", package)))
        asan = ["-asan"] if self.asan else []
        command(["go", "build", "-buildmode=c-shared", *asan, "-o", self.path("client_go"), "."], cwd=package)

    def all(self):
        self.provider_c()
        self.provider_fixed()
        self.provider_mini()
        self.provider_instrumented()
        self.client_c()
        self.client_cpp()
        self.driver()
        if self.tsan:
            return
        self.rust()
        self.client_go()
        self.library_julia()
