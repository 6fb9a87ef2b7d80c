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
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/run.c" <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 8
#endif
#define SIZE (64 << 10)

static long locked(void) {
  char line[256];
  long kib = -1;
  FILE *f = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "VmLck: %ld kB", &kib) == 1) break;
  fclose(f);
  return kib;
}

static char *map(int flags) {
  char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
  if (p != MAP_FAILED) memset(p, 1, SIZE);
  return p;
}

static void report(const char *what, int code, long before) {
  printf("%s: %d, %ld KiB locked\n", what, code, locked() - before);
}

int main(void) {
  char *p = map(MAP_DROPPABLE), *private = map(MAP_PRIVATE);
  long before = locked();
  if (p == MAP_FAILED || private == MAP_FAILED) return 1;
  report("private, mlock", mlock(private, SIZE), before);
  munlock(private, SIZE);
  report("droppable, mlock", mlock(p, SIZE), before);
  report("droppable, mlock2", mlock2(p, SIZE, MLOCK_ONFAULT), before);
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 1;
  before = locked();
  char *later = map(MAP_DROPPABLE);
  report("droppable after mlockall", later != MAP_FAILED ? 0 : -1, before);
  before = locked();
  report("private after mlockall", map(MAP_PRIVATE) != MAP_FAILED ? 0 : -1, before);
}
END
gcc -O1 -o "$dir/run" "$dir/run.c"
seen=$("$dir/run")

expected='private, mlock: 0, 64 KiB locked
droppable, mlock: 0, 0 KiB locked
droppable, mlock2: 0, 0 KiB locked
droppable after mlockall: 0, 0 KiB locked
private after mlockall: 0, 64 KiB locked'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
