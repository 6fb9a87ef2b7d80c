#!/usr/bin/env python3
"""The disk use of a folder: tree.py LIBTOFT LIBTREE [FOLDER].

Python builds an entry for every file and directory in an arena of libtoft, C sums the sizes and sorts, and Python
prints C's result from the arena. One address is passed in each direction, and one release frees everything.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import ctypes
import os
import sys
from ctypes import POINTER, Structure, c_size_t, c_uint64, c_void_p

import arena as abi
import providers


class Entry(Structure):
    """As entry in tree.c."""

    _fields_ = [("older", c_void_p), ("parent", c_void_p), ("name", c_void_p), ("name_size", c_uint64), ("size", c_uint64),
                ("directory", c_uint64)]


def load(library):
    """Loads the C part."""
    c = ctypes.CDLL(library)
    c.tree_total.restype = POINTER(POINTER(Entry))
    c.tree_total.argtypes = [c_void_p, c_void_p, POINTER(c_size_t)]
    return c


def lay_out(arena, folder):
    """The newest entry's address, and unreadable paths. Every directory is made before its contents."""
    newest, unread, waiting = None, [], [(os.fsencode(folder), None)]

    def entry(name, name_size, parent, size, directory):
        nonlocal newest
        made = arena.new(Entry)
        made.older, made.parent, made.name, made.name_size, made.size, made.directory = (
            newest, parent, name, name_size, size, directory)
        newest = ctypes.addressof(made)
        return newest

    while waiting:
        path, parent = waiting.pop()
        if parent is None:
            parent = entry(arena.copy(path), len(path), None, 0, 1)
        try:
            with os.scandir(path) as found:
                found = [(f.name, f.path, f.is_dir(follow_symlinks=False), f.stat(follow_symlinks=False).st_size)
                         for f in found]
        except OSError as wrong:
            unread.append(wrong)
            continue
        with arena.claim() as text:  # the names of a directory are contiguous
            names = [text.append(name) for name, _, _, _ in found]
        for address, (name, path, directory, size) in zip(names, found):
            made = entry(address, len(name), parent, 0 if directory else size, directory)
            if directory:
                waiting.append((path, made))
    return newest, unread


def path_of(entry):
    parts = []
    while True:
        parts.append(ctypes.string_at(entry.name, entry.name_size))
        if not entry.parent:
            return os.fsdecode(b"/".join(reversed(parts)))
        entry = Entry.from_address(entry.parent)


def totals(arena, c, folder):
    """[(size, path)] of all directories, largest first; and unreadable paths."""
    newest, unread = lay_out(arena, folder)
    count = c_size_t()
    found = c.tree_total(arena.address, newest, count)
    if not found:
        raise MemoryError("the arena has no room for the directories")
    return [(found[i].contents.size, path_of(found[i].contents)) for i in range(count.value)], unread


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: tree.py LIBTOFT LIBTREE [FOLDER]")
    arena = abi.Arena(providers.C(sys.argv[1]).create())
    try:
        largest, unread = totals(arena, load(sys.argv[2]), sys.argv[3] if len(sys.argv) == 4 else ".")
        for size, path in largest[:10]:
            print("%12d  %s" % (size, path))
        stats = arena.stats()
        print("In short: %d folders laid out by Python and added up by C in one arena: %d bytes in %d blocks, given back at once" %
              (len(largest), stats.live, stats.blocks))
        for wrong in unread:
            print("not read: %s" % wrong, file=sys.stderr)
    finally:
        arena.release()


if __name__ == "__main__":
    main()
