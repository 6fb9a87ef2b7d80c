#!/usr/bin/env bash
# Question: an allocator reserves 1 GiB without access, makes it writable, writes one page, and gives all back by MADV_DONTNEED and
#   mprotect(PROT_NONE). How much of it does the system still count as committed? And without the written page?
# Guess: nothing, in both cases: no page is left and none can be written, as before the memory was made writable.
# What happens: without a write nothing; after one written page the whole gibibyte, until it is mapped anew or unmapped. Where the
#   system does not overcommit (vm.overcommit_memory = 2, where MAP_NORESERVE has no effect), such a process reaches the
#   limit by memory that it does not have. A mapping over the range, mmap(MAP_FIXED, PROT_NONE), gives it back in one call.
#   Of use to: sources that reserve addresses and commit parts, and pools that trim.
# Versions: Linux 6.18, x86-64.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
seen=$(python3 - <<'END'
import ctypes
import re

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
SIZE, NONE, WRITE, PRIVATE, FIXED, ANONYMOUS, DONTNEED = 1 << 30, 0, 3, 2, 0x10, 0x20, 4


def state(p):
    flags = re.search("^%x-.*?VmFlags:(.*?)$" % p, open("/proc/self/smaps").read(), re.M | re.S)[1]
    return "committed" if " ac" in flags else "not committed"


for written in 0, 1:
    p = libc.mmap(None, SIZE, NONE, PRIVATE | ANONYMOUS, -1, 0)
    at = ctypes.c_void_p(p), ctypes.c_size_t(SIZE)
    print("written pages: %d\n  reserved: %s" % (written, state(p)))
    libc.mprotect(*at, WRITE)
    print("  writable: " + state(p))
    ctypes.memset(p, 1, written)
    libc.madvise(*at, DONTNEED)
    libc.mprotect(*at, NONE)
    print("  given back: " + state(p))
    libc.mmap(p, SIZE, NONE, PRIVATE | ANONYMOUS | FIXED, -1, 0)
    print("  mapped anew: " + state(p))
    libc.munmap(*at)
END
)

expected='written pages: 0
  reserved: not committed
  writable: committed
  given back: not committed
  mapped anew: not committed
written pages: 1
  reserved: not committed
  writable: committed
  given back: committed
  mapped anew: not committed'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
