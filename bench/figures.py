"""Format of figures, and the verdict on two of them.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
# Differences up to this count as level: hot rows repeat within it.
TOLERANCE = 0.03


def number(value):
    if value is None:
        return "-"
    return "%.2f" % value if value < 100 else "%.0f" % value


def ratio(a, b):
    return number(a / b) if a and b else "-"


def time(ns):
    """With the unit that needs few digits."""
    if ns is None:
        return "-"
    for unit, size in (("ms", 1e6), ("us", 1e3), ("ns", 1)):
        if ns >= size or size == 1:
            value = ns / size
            return "%s %s" % ("%.2f" % value if value < 10 else "%.1f" % value if value < 100 else "%.0f" % value, unit)
    return "-"


def plain(value, unit):
    """With its unit."""
    return "-" if value is None else time(value) if unit == "ns" else ("%s %s" % (number(value), unit)).rstrip()


def verdict(value, rival):
    if not value or not rival:
        return ""
    return "LOST" if value > (1 + TOLERANCE) * rival else "level" if value > (1 - TOLERANCE) * rival else "ahead"
