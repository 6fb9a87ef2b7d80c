#!/usr/bin/env bash
# Question: an arena's block of 64 KiB is from malloc, and a global holds it. Three objects in it are announced by
#   VALGRIND_MEMPOOL_ALLOC; nothing else points to them. What does memcheck report at the end, without and with the flag for
#   pools whose objects lie in blocks of malloc (VALGRIND_MEMPOOL_METAPOOL)?
# Guess: one block that is still reachable, with the objects in it, at least with the flag.
# What happens: in both ways the three objects are "definitely lost", and the block is in no category: 64 KiB are in use, and the sum of
#   lost and reachable bytes is 300. An arena whose objects are reached by their place alone looks like a leak of each object.
#   Of use to: arenas that are announced to Valgrind. Toft announces bytes (MAKE_MEM_NOACCESS), so that its blocks are reachable.
# Versions: Debian's valgrind 1:3.19.0-1, libc6-dbg 2.36-9+deb12u14, x86-64.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cd "$dir"
apt-get download -qq valgrind=1:3.19.0-1 libc6-dbg=2.36-9+deb12u14 2>/dev/null || { echo "apt has no such packages" >&2 && exit 1; }
for package in *.deb; do dpkg-deb -x "$package" root; done

cat >run.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static char *volatile held, pool;

int main(int argc, char **argv) {
  (void)argv;
  held = malloc(65536);
  VALGRIND_MAKE_MEM_NOACCESS(held, 65536);
  VALGRIND_CREATE_MEMPOOL_EXT(&pool, 0, 0, argc > 1 ? VALGRIND_MEMPOOL_METAPOOL : 0);
  for (int i = 1; i <= 3; i++) {
    VALGRIND_MEMPOOL_ALLOC(&pool, held + i * 1024, 100);
    memset(held + i * 1024, 1, 100);
  }
}
END
gcc -O0 -Iroot/usr/include -o run run.c
report() {
  VALGRIND_LIB=root/usr/libexec/valgrind root/usr/bin/valgrind --extra-debuginfo-path=root/usr/lib/debug --leak-check=full ./run "$@" 2>&1 |
    grep -E 'in use|definitely lost:|still reachable:' | sed -E 's/.*== *//'
}
seen=$(report && report flag)

expected='in use at exit: 65,536 bytes in 1 blocks
definitely lost: 300 bytes in 3 blocks
still reachable: 0 bytes in 0 blocks
in use at exit: 65,536 bytes in 1 blocks
definitely lost: 300 bytes in 3 blocks
still reachable: 0 bytes in 0 blocks'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
