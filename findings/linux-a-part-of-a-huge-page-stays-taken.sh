#!/usr/bin/env bash
# Question: 512 MiB are in huge pages. MADV_DONTNEED returns all but the first 4 KiB of each. By how much does Rss fall, and by how
#   much does MemFree rise?
# Guess: both by 510 MiB, as with small pages.
# What happens: Rss falls by 510 MiB, and MemFree does not change: a huge page is free only when its last part is given back, or when
#   the system runs short and splits it. So what /proc says of a process is not what others can have at once, and an
#   allocator that returns single pages of huge ones returns them later than it seems.
#   Of use to: measurements of memory that is returned, and the choice between small and huge pages.
# Versions: Linux 6.18, x86-64; huge pages must be permitted (always or madvise).
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
seen=$(python3 - <<'END'
import ctypes
import re

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
HUGE, COUNT, HUGEPAGE, DONTNEED = 2 << 20, 256, 14, 4


def mib(file, name):
    return int(re.search(r"^%s:\s+(\d+)" % name, open(file).read(), re.M)[1]) // 1024


def sizes():
    return mib("/proc/self/smaps_rollup", "Rss"), mib("/proc/meminfo", "MemFree")


def give_back(what, start, end):
    rss, vacant = sizes()
    for page in range(p, p + COUNT * HUGE, HUGE):
        libc.madvise(ctypes.c_void_p(page + start), ctypes.c_size_t(end - start), DONTNEED)
    less, more = rss - sizes()[0], sizes()[1] - vacant  # other processes allocate too
    print("%s: Rss %s, MemFree %s" % (what, "falls" if less > 500 else "as before", "rises" if more > 256 else "as before"))


p = -(-libc.mmap(None, (COUNT + 1) * HUGE, 3, 0x22, -1, 0) // HUGE) * HUGE
libc.madvise(ctypes.c_void_p(p), ctypes.c_size_t(COUNT * HUGE), HUGEPAGE)
ctypes.memset(p, 1, COUNT * HUGE)
assert mib("/proc/self/smaps_rollup", "AnonHugePages") == 512
give_back("all but 4 KiB", 4096, HUGE)
give_back("the rest", 0, 4096)
END
)

expected='all but 4 KiB: Rss falls, MemFree as before
the rest: Rss as before, MemFree rises'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
