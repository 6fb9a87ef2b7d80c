"""Writes the table of all assigned characters of Unicode, from Python's tables: a line for each, columns with tabs.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import sys
import unicodedata


def line(code):
    c = chr(code)
    upper, lower = c.upper(), c.lower()
    return "\t".join(map(str, (
        code, unicodedata.name(c, "<%s-%04X>" % (unicodedata.category(c), code)), unicodedata.category(c),
        unicodedata.bidirectional(c), unicodedata.combining(c), unicodedata.decomposition(c),
        unicodedata.numeric(c, ""), ord(upper) if len(upper) == 1 else "", ord(lower) if len(lower) == 1 else "")))


def write(path):
    with open(path, "w", encoding="ascii") as f:
        for code in range(sys.maxunicode + 1):
            if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs"):  # not assigned, private, surrogates
                f.write(line(code) + "\n")


if __name__ == "__main__":
    write(sys.argv[1])
