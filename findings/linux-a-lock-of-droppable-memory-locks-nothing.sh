#!/usr/bin/env bash
# Question: a cache lies in memory that the system may take back (mmap with MAP_DROPPABLE). The process locks its memory, by
#   mlock, by mlock2, and by mlockall before and after the mapping. Which call is refused, and which pages are locked?
# Guess: mlock fails with EINVAL, since the two contradict each other; mlockall leaves the mapping out. If mlock succeeds, VmLck
#   rises by the size and the pages stay.
# What happens: all succeed, and VmLck does not rise: the pages can be dropped as before. A program that checks
#   what mlock returns is not warned.
#   Of use to: caches of pages, and programs that lock their memory.
# Versions: Linux 6.18 (MAP_DROPPABLE exists from 6.11 on), x86-64.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
seen=$(python3 - <<'END'
import ctypes
import re

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
SIZE, PRIVATE, DROPPABLE, ANONYMOUS = 64 << 10, 2, 8, 0x20


def locked():
    return int(re.search(r"VmLck:\s+(\d+) kB", open("/proc/self/status").read())[1])


def report(what, call):
    before, code = locked(), call()
    print("%s: %d, %d KiB locked" % (what, code, locked() - before))


def mapped(kind):
    p = ctypes.c_void_p(libc.mmap(None, SIZE, 3, kind | ANONYMOUS, -1, 0))
    ctypes.memset(p, 1, SIZE)
    return p


private, droppable = mapped(PRIVATE), mapped(DROPPABLE)
report("private, mlock", lambda: libc.mlock(private, SIZE))
report("droppable, mlock", lambda: libc.mlock(droppable, SIZE))
report("droppable, mlock2", lambda: libc.mlock2(droppable, SIZE, 1))
libc.mlockall(3)
report("droppable after mlockall", lambda: mapped(DROPPABLE) is None)
report("private after mlockall", lambda: mapped(PRIVATE) is None)
END
)

expected='private, mlock: 0, 64 KiB locked
droppable, mlock: 0, 0 KiB locked
droppable, mlock2: 0, 0 KiB locked
droppable after mlockall: 0, 0 KiB locked
private after mlockall: 0, 64 KiB locked'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
