"""Reads a published list in Python, without a package: read.py PATH. The file may lie at any address here: a pointer
less that of the header is an offset in the file.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import mmap
import os
import struct
import sys

HEADER = struct.Struct("=8sQQQ32s")
ROOT = 4096 + 64
ENTRY = struct.Struct("=QQq")  # the structs of format.h
BOOK = struct.Struct("=QQqqQ")


class Published:
    def __init__(self, path, layout):
        with open(path, "rb") as file:
            magic, self.address, size, _, name = HEADER.unpack(file.read(HEADER.size).ljust(HEADER.size))
            if (magic != b"\x89TOFTP1\n" or name.rstrip(b"\0") != layout.encode()
                    or os.fstat(file.fileno()).st_size != size or size <= ROOT):
                raise ValueError(path + ": no whole file of this version and layout")
            self.data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def root(self):
        """Loads the word at once. Later reads depend on its value, so that every processor makes them after it."""
        return memoryview(self.data).cast("Q")[ROOT // 8]

    def read(self, form, pointer):
        return form.unpack_from(self.data, pointer - self.address)

    def text(self, pointer):
        return self.data[pointer - self.address:self.data.find(b"\0", pointer - self.address)]


def main(path):
    file, count, value = Published(path, "book 1"), 0, 0
    generation, root, *expected, entry = file.read(BOOK, file.root())
    while entry != 0:
        entry, name, key = file.read(ENTRY, entry)
        count, value = count + 1, value + key + sum(file.text(name))
    assert [count, value] == expected
    print("generation %d, root %d, sum %d" % (generation, root, value))


if __name__ == "__main__":
    main(sys.argv[1])
