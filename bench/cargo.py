"""Programs of contenders in Rust: a package of cargo's, with a feature for ours and for each rival that can be left
out; and C sources in crates.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import filecmp
import json
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Program:
    """`rivals`: the crate of each rival's feature."""

    def __init__(self, workload, name, folder, rivals):
        self.workload, self.name, self.folder, self.rivals = workload, name, folder, rivals

    def target(self, bench):
        return os.path.join(bench.build, os.path.relpath(self.folder, bench.here).replace(os.sep, "-"))

    def path(self, bench):
        return os.path.join(self.target(bench), "release", self.name)

    def cargo(self, bench, command, features):
        """None, or cargo's first error."""
        done = subprocess.run(["cargo", command, "--release", "--quiet", "--no-default-features", "--bin", self.name,
                               "--features", ",".join(features), "--target-dir", self.target(bench)],
                              cwd=self.folder, capture_output=True, text=True,
                              env=dict(os.environ, CC=bench.cc, CXX=bench.cxx))
        if done.returncode == 0:
            return None
        errors = [line.strip() for line in done.stderr.splitlines() if re.match(r"\s*error", line)]
        return (errors or [done.stderr.strip() or "cargo failed"])[0]

    def build(self, bench):
        if not shutil.which("cargo"):
            bench.stop("%s needs cargo; scripts/bootstrap bench installs it" % self.workload)
        present = list(self.rivals)
        error = self.cargo(bench, "build", ["toft"] + present)
        if error:  # determines which feature fails
            wrong = self.cargo(bench, "check", ["toft"])
            if wrong:
                bench.stop("%s cannot be built: %s" % (self.name, wrong))
            for name in self.rivals:
                wrong = self.cargo(bench, "check", ["toft", name])
                if wrong:
                    bench.leave_out(name, "%s (it is the crate %s)" % (wrong, self.rivals[name]))
                    present.remove(name)
            if len(present) < len(self.rivals):
                error = self.cargo(bench, "build", ["toft"] + present)
        if error:
            bench.stop("%s cannot be built: %s" % (self.name, error))

    def run(self, bench):
        """The rows; a row itself records wrong results."""
        command = [self.path(bench)] + ["--quick"] * bench.quick
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode > 1 or not done.stdout.endswith("}\n"):
            bench.stop("%s failed with %d" % (" ".join(command), done.returncode))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def versions(self):
        """{contender: locked version}"""
        with open(os.path.join(ROOT, "Cargo.lock")) as f:
            locked = dict(re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', f.read()))
        return {name: locked.get(crate, "unknown") for name, crate in self.rivals.items()}


def vendor(bench, name):
    """The folder of the crates that bench/rivals/NAME/Cargo.toml names, fetched once; None and a reason on failure."""
    place = os.path.join(bench.build, name)
    sources, wanted = os.path.join(place, "vendor"), os.path.join(bench.here, "rivals", name, "Cargo.toml")
    fetched = os.path.join(place, "Cargo.toml")
    if not os.path.exists(sources) or not filecmp.cmp(wanted, fetched, shallow=False):
        if not shutil.which("cargo"):
            return None, "cargo is not installed"
        shutil.rmtree(place, ignore_errors=True)  # also builds of other versions
        os.makedirs(place)
        shutil.copy(wanted, fetched)
        done = subprocess.run(["cargo", "vendor", "--quiet", "vendor"], cwd=place, capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(sources, ignore_errors=True)
            return None, "cargo vendor failed: " + (done.stderr.strip().split("\n") or [""])[-1]
    return sources, None

