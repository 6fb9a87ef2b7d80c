"""Published results of the originals, their machines, and the names of their workloads here.

The numbers are the originals' own; where their method differs, the note describes it.

SPDX-License-Identifier: MIT OR Apache-2.0
"""

# workload: (title, original and machine, [(what, published)], note)
PUBLISHED = {
    "W1": (
        "region, C", "sensible-arena, AMD Ryzen 5 5625U",
        [
            ("alloc, times malloc: glibc / tcmalloc / mimalloc / jemalloc", "7.20 / 3.13 / 1.68 / 2.87"),
            ("alloc reused, the same", "12.47 / 3.34 / 3.44 / 7.05"),
            ("free, the same", "1.61 / 111.8 / 62.0 / 16.5"),
            ("arena fresh / reused, allocations per us", "355 / 609-667"),
            ("malloc, allocations per us: glibc / mimalloc", "48 / 192"),
        ],
        "from each side's slowest round; from the fastest, the first line is 2.1 on glibc, the second 5.0"),
    "W2": (
        "frames, Rust", "framealloc, AMD Ryzen 9 5950X",
        [
            ("one 64 B: framealloc / bumpalo / malloc / Box", "4.1 / 15.2 / 12.4 / 28.3 ns"),
            ("one 64 KB: framealloc / bumpalo", "4.5 ns / 15.2 us"),
            ("1000 x 64 B: one by one / batch / 125 arrays of 8 / malloc", "8920 / 64 / 341 / 12450 ns"),
            ("physics: framealloc / bumpalo / malloc", "3245 / 3892 / 12380 ns"),
            ("particles, 50,000 x 48 B: the same", "40.1 / 38.9 / 162.5 us"),
            ("UI: the same", "1820 / 1945 / 5120 ns"),
            ("1 ... 16 threads, an allocation: framealloc / malloc", "4.1 ... 4.8 / 12.4 ... 195.3 ns"),
            ("alignments, time: framealloc / bumpalo / malloc", "4567 / 5234 / 13892 ns"),
            ("alignments, waste: the same", "2.1 / 3.8 / 12.4 %"),
        ],
        "single rows time the null path once the frame is full; a batch is one block against many; here nothing is "
        "written, and alignments are layouts of 7, 31 and 63 B at 1, 8, 16 and 64"),
    "W3": (
        "lease, Go", "cgoparam, machine not named",
        [
            ("small batch: cgoparam / C.malloc", "19.74 / 374.9 ns"),
            ("multi-page: cgoparam / C.malloc", "293.5 / 1150 ns"),
        ],
        "the multi-page side of C.malloc includes the growth of a Go slice"),
    "W4": (
        "indexed pools, Julia", "Allocators.jl, Julia 1.6.3, machine not named",
        [
            ("list of 100,000, payload 1: heap nodes / fixed / columns / free list",
             "0.600 / 0.289 / 0.263 / 0.306 ms"),
            ("list of 100,000, payload 100: heap nodes / fixed / columns / free list",
             "24.4 / 7.3 / 5.5 / 8.6 ms"),
            ("stack of 100,000, payload 10: DataStructures / fixed", "5.12 / 0.462 ms"),
            ("queue of 100,000, payload 10: DataStructures / fixed / growable", "5.01 / 0.478 / 0.919 ms"),
            ("set of 100,000: Set / AVLSet / heap nodes / fixed / free list / columns",
             "14.5 / 24.5 / 30.2 / 50.2 / 39.6 / 48.2 ms"),
            ("dict of 100,000, payload 1: Dict / heap nodes / free list / columns",
             "16.2 / 31.3 / 53.0 / 59.1 ms"),
            ("dict of 100,000, payload 100: Dict / heap nodes / columns / rows",
             "268.8 / 117.7 / 101.9 / 127.3 ms"),
        ],
        "minimum times; keys ascend; the store is made beforehand and stays grown"),
    "W5": (
        "recycler, C++", "ArenaMR: MSVC / WSL gcc 12 / Rocky gcc 11, machines not named",
        [
            ("10 x {emplace 100,000; clear}: ArenaMR", "49.6 / 56.9 / 159 ms"),
            ("the same: new_delete", "64.7 / 91.0 / 245 ms"),
            ("the same: unsynchronized_pool", "85.3 / 86.3 / 247 ms"),
            ("the same: monotonic, never released", "70.6 / 73.7 / 191 ms"),
            ("100 x {emplace 1,000; clear}: ArenaMR", "4.00 / 2.67 / 7.35 ms"),
            ("the same: new_delete", "5.05 / 3.48 / 10.3 ms"),
            ("the same: unsynchronized_pool", "3.14 / 3.67 / 12.3 ms"),
            ("the same: monotonic, never released", "3.78 / 2.80 / 7.37 ms"),
        ],
        "resource and map are made and destroyed outside the timing"),
    "W6": (
        "documents", "the trees of two parsers",
        [],
        "nothing of the kind was published by a forerunner: the mallocs are the rivals"),
    "W7": (
        "programs through their allocator hooks", "cmark, libxml2, tree-sitter, Duktape, QuickJS, protobuf, prism, SQLite, Lua, php-rs-parser",
        [],
        "the mallocs are the rivals"),
}


def print_published(name, here=None):
    """The table of one workload: the original's numbers next to ours, or "not yet"."""
    title, machine, lines, note = PUBLISHED[name]
    print("%s %s: %s" % (name, title, machine))
    if lines:
        print("  %-72s  %-46s%s" % ("", "published", "here"))
    for i, (what, value) in enumerate(lines):
        print("  %-72s  %-46s%s" % (what, value, here[i] if here else "not yet"))
    print("  (%s)\n" % note)
