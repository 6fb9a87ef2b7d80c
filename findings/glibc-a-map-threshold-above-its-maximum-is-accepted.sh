#!/usr/bin/env bash
# Question: mallopt's manual gives M_MMAP_THRESHOLD an upper limit of 32 MiB on 64 bits. What does a threshold of 64 MiB do, by
#   mallopt and by GLIBC_TUNABLES?
# Guess: mallopt returns 0, the tunable is ignored, and a block of 40 MiB is a mapping of its own.
# What happens: both are accepted: mallopt returns 1, and the block of 40 MiB lies in the heap, between small objects, where a
#   small object above it keeps its memory in the process after free. The limit holds only for the threshold that glibc raises
#   by itself.
#   Of use to: programs that decide by this threshold whether blocks of an arena are mapped.
# Versions: Debian's libc6 2.36-9+deb12u14, x86-64.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cd "$dir"
apt-get download -qq libc6=2.36-9+deb12u14 2>/dev/null || { echo "apt has no such package" >&2 && exit 1; }
dpkg-deb -x libc6_*.deb root

cat >run.c <<'END'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) printf("mallopt: %d\n", mallopt(M_MMAP_THRESHOLD, 64 << 20));
  char *large = malloc(40 << 20), *small = malloc(16);
  memset(large, 1, 40 << 20);
  printf("mappings: %zu\n", mallinfo2().hblks);
  free(large);
  printf("after free: %zu MiB\n", (mallinfo2().arena + mallinfo2().hblkhd) >> 20);
  free(small);
}
END
gcc -O0 -o run run.c
lib=root/lib/x86_64-linux-gnu
run() { "$lib/ld-linux-x86-64.so.2" --library-path "$lib" ./run "$@"; }
seen=$(
  echo "default" && run
  echo "mallopt, 64 MiB" && run mallopt
  export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=67108864
  echo "tunable, 64 MiB" && run
)

expected='default
mappings: 1
after free: 0 MiB
mallopt, 64 MiB
mallopt: 1
mappings: 0
after free: 40 MiB
tunable, 64 MiB
mappings: 0
after free: 40 MiB'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
