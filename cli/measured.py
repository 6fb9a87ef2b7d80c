"""What cli/predictions and cli/overhead share: the programs of bench/w7, and CPU times.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import resource
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Before `examples`, since both have modules of the same name.
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("bench", "bench/w7", "bench/w5", "examples")]
sys.dont_write_bytecode = True


def bench():
    """The settings of bench/run, which has no suffix."""
    loader = SourceFileLoader("run", os.path.join(ROOT, "bench", "run"))
    module = module_from_spec(spec_from_loader("run", loader))
    loader.exec_module(module)
    return module.Bench(littered=False)


def with_rounds(command, rounds):
    return [str(rounds) if word == "ROUNDS" else word for word in command]


def cpu(command, text=None, environment=None):
    """User and system time of a run, in seconds. `text` is its standard input."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, env=dict(os.environ, **environment or {}), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
