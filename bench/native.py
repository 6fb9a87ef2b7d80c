"""Programs of contenders in C and C++: objects that are compiled one by one, so that a rival whose library is missing is left out.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import re
import subprocess
import sys

# Loops of two cycles vary by a third with their alignment, so every loop starts at a cache line.
FLAGS = "-O2 -DNDEBUG -falign-functions=64 -falign-loops=64 -Wall -Wextra -Wconversion -Wshadow".split()


def output_of(command, text=""):
    """The output of a command; None: it fails or is not installed."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def version(command):
    return (output_of(command + ["--version"]) or "").split("\n")[0]


def newest(*folders):
    """The time of the last change of a file below the folders."""
    return max(os.path.getmtime(os.path.join(place, f))
               for folder in folders for place, _, files in os.walk(folder) for f in files)


class Stamp:
    """The record of the compilers of a complete program, so that it is not built again for the same sources."""

    def __init__(self, bench, folder, state, *sources):
        self.path, self.state = os.path.join(folder, "built-with"), state
        self.valid = (os.path.exists(self.path) and open(self.path).read() == state
                      and os.path.getmtime(self.path) > newest(*sources) and not bench.ci)

    def write(self):
        with open(self.path, "w") as f:
            f.write(self.state)


class Builder:
    """Compiles with `flags` for all sources, into `folder`."""

    def __init__(self, folder, cc, cxx, flags=(), libraries=()):
        self.folder, self.cc, self.cxx = folder, cc + ["-std=gnu11"], cxx + ["-std=gnu++17"]
        self.flags, self.libraries = FLAGS + list(flags), list(libraries)
        os.makedirs(folder, exist_ok=True)

    def compile(self, source, flags=(), name=None):
        """(object, None), or (None, the compiler's message). Warnings are passed on."""
        made = os.path.join(self.folder, (name or os.path.basename(source)) + ".o")
        command = (self.cc if source.endswith(".c") else self.cxx) + self.flags + list(flags) + ["-c", source, "-o", made]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            sys.stderr.write(done.stderr)
            return made, None
        return None, next((line for line in done.stderr.splitlines() if "error" in line), "the compiler failed")

    def link(self, program, objects, libraries=()):
        """None, or the linker's message."""
        done = subprocess.run(self.cxx + ["-o", program] + objects + list(libraries) + self.libraries + ["-ldl", "-pthread"],
                              capture_output=True, text=True)
        return None if done.returncode == 0 else (done.stderr.strip().split("\n") or [""])[-1]

    def has(self, libraries):
        return output_of(self.cxx + ["-xc++", "-", "-o", os.devnull] + list(libraries) + self.libraries, "int main() {}") is not None

    def rivals(self, bench, sources, where=""):
        """The objects, the libraries and the names of the rivals that can be built. sources: {name: ([(file, flags)], libraries,
        origin)}."""
        objects, libraries, present = [], [], []
        for name, (files, needed, origin) in sources.items():
            made = [self.compile(file, flags, "%s-%s" % (name, os.path.basename(file))) for file, flags in files]
            error = next((e for _, e in made if e), None) or (None if self.has(needed) else "%s cannot be linked" % " ".join(needed))
            if error:
                bench.leave_out(name + where, "%s (it is in %s)" % (re.sub(r"^/\S*/(\S+)", r"\1", error), origin))
                continue
            objects += [o for o, _ in made]
            libraries += needed
            present.append(name)
        return objects, libraries, present
