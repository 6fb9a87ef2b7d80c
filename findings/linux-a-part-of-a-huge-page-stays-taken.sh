#!/usr/bin/env bash
# Question: 512 MiB are in huge pages. MADV_DONTNEED gives back all but the first 4 KiB of each. By how much does Rss fall, and by how
#   much does MemFree rise?
# Guess: both by 510 MiB, as with small pages.
# What happens: Rss falls by 510 MiB, and MemFree does not change: a huge page is free only when its last part is given back, or when
#   the system runs short and splits it. So what /proc says of a process is not what others can have at once, and an
#   allocator that returns single pages of huge ones returns them later than it seems.
#   Of use to: measurements of memory that is returned, and the choice between small and huge pages.
# Versions: Linux 6.18, x86-64; huge pages must be permitted (always or madvise).
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/run.c" <<'END'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE ((size_t)2 << 20)
#define COUNT 256

static long mib(const char *file, const char *name) {
  char line[256];
  long kib = 0;
  FILE *f = fopen(file, "r");
  while (fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), ": %ld", &kib) == 1) break;
  fclose(f);
  return kib / 1024;
}
static long resident(void) { return mib("/proc/self/smaps_rollup", "Rss"); }
static long vacant(void) { return mib("/proc/meminfo", "MemFree"); }

/* Gives back a part of each huge page. */
static void give_back(const char *what, unsigned char *p, size_t from, size_t to) {
  long rss = resident(), free_before = vacant();
  for (size_t i = 0; i < COUNT; i++) madvise(p + i * HUGE + from, to - from, MADV_DONTNEED);
  long freed = vacant() - free_before; /* other processes allocate too */
  printf("%s: Rss %s, MemFree %s\n", what, resident() - rss < -500 ? "falls" : "as before", freed > 256 ? "rises" : "as before");
}

int main(void) {
  unsigned char *p = mmap(NULL, (COUNT + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p += -(uintptr_t)p & (HUGE - 1);
  madvise(p, COUNT * HUGE, MADV_HUGEPAGE);
  memset(p, 1, COUNT * HUGE);
  if (mib("/proc/self/smaps_rollup", "AnonHugePages") != 512) return 1;
  give_back("all but 4 KiB", p, 4096, HUGE);
  give_back("the rest", p, 0, 4096);
}
END
gcc -O1 -o "$dir/run" "$dir/run.c"
seen=$("$dir/run")

expected='all but 4 KiB: Rss falls, MemFree as before
the rest: Rss as before, MemFree rises'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
