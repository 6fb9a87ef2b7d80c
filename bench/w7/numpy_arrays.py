#!/usr/bin/env python3
"""NumPy's arrays on malloc, or on Toft: expressions, a heat equation, and the clusters of points.

    numpy_arrays.py WAY ROUNDS FOLDER      FOLDER: of the extension numpy_toft. WAY: malloc or toft

Prints what ../../examples/measure.h describes.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import hashlib
import resource
import sys
import time

import numpy as np


def expressions(points, times):
    """A polynomial and a distance, on arrays of `points` points."""
    x = np.linspace(-1, 1, points)
    y = np.linspace(1, 3, points)
    for _ in range(times):
        z = ((2.5 * x + 1.5) * x - 0.5) * x + 1
        x = np.sqrt((z - y) * (z - y) + x * x) / 3
    return x


def heat(side, steps):
    """The heat equation on a square, by its five-point formula."""
    u = np.zeros((side, side))
    u[side // 4:side // 2, side // 4:side // 2] = 1
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        u = np.pad(inner + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner), 1)
    return u


def clusters(points, means, steps):
    """Lloyd's algorithm for k means in three dimensions."""
    x = np.sin(np.arange(3 * points, dtype=float) * 12.9898).reshape(points, 3)
    centres = x[:means]
    for _ in range(steps):
        nearest = ((x[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        counts = np.maximum(np.bincount(nearest, minlength=means), 1)
        centres = np.stack([np.bincount(nearest, x[:, d], means) / counts for d in range(3)], axis=1)
    return centres


def work():
    found = hashlib.blake2b(digest_size=8)
    for result in (expressions(4000, 2000), expressions(50000, 100), expressions(1000000, 4), heat(500, 40),
                   clusters(20000, 16, 8)):
        found.update(result.tobytes())
    return found.hexdigest()


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def peak():
    """KiB"""
    with open("/proc/self/status") as status:
        return next(line.split()[1] for line in status if line.startswith("VmHWM:"))


def main():
    way, rounds, folder = sys.argv[1:]
    if way == "toft":
        sys.path.insert(0, folder)
        import numpy_toft  # noqa: F401
    found = set()
    print("parts")
    for _ in range(int(rounds)):
        before = time.process_time_ns(), time.monotonic_ns(), faults()
        found.add(work())
        print("round", time.process_time_ns() - before[0], time.monotonic_ns() - before[1], faults() - before[2])
    if len(found) != 1:
        sys.exit("two rounds gave different results")
    print("total", found.pop(), peak())


if __name__ == "__main__":
    main()
