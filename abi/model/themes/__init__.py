# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the vectors play: a file for each theme, a function for each case. The model gives the answers."""
from script import Vector

from . import (alignment, budgets, claims, cleanups, growth, large, marks, resets, resizes, rounds, sizes, sources,
               trims)

ALL = (alignment, sizes, growth, marks, resets, trims, resizes, budgets, sources, claims, cleanups, rounds, large)


def all(names=None, kind=Vector):
    """{theme: (about, vectors without their end)}, of class `kind`."""
    made = {}
    for module in ALL:
        name = module.__name__.rpartition(".")[2]
        if names is None or name in names:
            made[name] = module.theme.about, module.theme.vectors(kind)
    return made
