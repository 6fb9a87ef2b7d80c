"""Answers the same queries as read.c, in Python without any package: read.py FILE NAME...

The file is mapped at any address and nothing is moved: a pointer less the file's base is an offset in the file. The header is
that of section 15 of abi/SPEC.md.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import mmap
import struct
import sys
import time

HEADER = struct.Struct("=8sIHHQQQQQ32sQQ")
MAGIC, ORDER, VERSION, WIDTH, START = b"\x89TOFT\r\n\x1a", 0x01020304, 1, struct.calcsize("P"), 4096
TEXT = struct.Struct("=QQ")  # the structs of packages.h
PACKAGE = struct.Struct("=QQ QQ QQ QQQ")
PACKAGES = struct.Struct("=QQQQ")


def header_checksum(data):
    total = 0
    for word, in struct.iter_unpack("=Q", data):
        total ^= word
        total = (total << 29 | total >> 35) * 0x9e3779b97f4a7c15 & 0xffffffffffffffff
    return total


class Frozen:
    """An open file. ValueError: it is not a frozen file of this system with this layout."""

    def __init__(self, path, layout):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self.data) < START:
            raise ValueError("%s is no frozen file" % path)
        (magic, order, version, width, self.base, size, self.root, _, _, name, _,
         checksum) = HEADER.unpack_from(self.data)
        if magic != MAGIC or order != ORDER or checksum != header_checksum(self.data[:96]):
            raise ValueError("%s is no frozen file, or of another byte order" % path)
        if version != VERSION or width != WIDTH:
            raise ValueError("%s is of another version or width of pointers" % path)
        if size % 8 or len(self.data) != size + (size // width + 63) // 64 * 8 or not START <= self.root < size:
            raise ValueError("%s is damaged" % path)
        if name.rstrip(b"\0") != layout.encode():
            raise ValueError("%s has another layout: %s" % (path, name.rstrip(b"\0").decode()))

    def bytes(self, pointer, size):
        return self.data[pointer - self.base:pointer - self.base + size]

    def read(self, form, pointer, number=0):
        """An element of an array of structs. struct.error: it is not in the file."""
        return form.unpack_from(self.data, pointer - self.base + number * form.size)


class Packages:
    def __init__(self, path):
        self.file = Frozen(path, "packages 1")
        self.list, self.count, self.index, self.index_size = PACKAGES.unpack_from(self.file.data, self.file.root)

    def find(self, name):
        number = 0xcbf29ce484222325
        for byte in name:
            number = (number ^ byte) * 0x100000001b3 & 0xffffffffffffffff
        while True:
            found, = self.file.read(struct.Struct("=Q"), self.index, number % self.index_size)
            if found == 0:
                return None
            package = self.file.read(PACKAGE, self.list, found - 1)
            if self.file.bytes(*package[:2]) == name:
                return package
            number += 1

    def print(self, name):
        p = self.find(name)
        if p is None:
            print(name.decode(), "-")
            return
        texts = [self.file.bytes(*p[i:i + 2]).decode() for i in (0, 2, 4)]
        print(texts[0], texts[1], p[8], p[7], texts[2])

    def needed_by(self, name):
        data, base, size = self.file.data, self.file.base, len(name)
        count, at = 0, self.list - base
        for p in PACKAGE.iter_unpack(data[at:at + self.count * PACKAGE.size]):
            depends = p[6] - base
            for text, length in TEXT.iter_unpack(data[depends:depends + p[7] * TEXT.size]):
                if length == size and data[text - base:text - base + size] == name:
                    count += 1
                    break
        return count


def main(path, names):
    start = time.monotonic_ns()
    packages = Packages(path)
    opened = time.monotonic_ns()
    packages.print(names[0])
    print("times", opened - start, time.monotonic_ns() - start)
    for name in names:
        packages.print(name)
        print(name.decode(), "is needed by", packages.needed_by(name))
    print("done", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], [name.encode() for name in sys.argv[2:]])
