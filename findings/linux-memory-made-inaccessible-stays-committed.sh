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
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/run.c" <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (1ul << 30)

/* Whether the system accounts the mapping at p. */
static const char *accounts(const void *p) {
  unsigned long from, to;
  char line[512];
  int inside = 0, found = 0;
  FILE *f = fopen("/proc/self/smaps", "r");
  while (fgets(line, sizeof line, f) != NULL) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = from <= (unsigned long)p && (unsigned long)p < to;
    if (inside && strncmp(line, "VmFlags:", 8) == 0) found = strstr(line, " ac") != NULL;
  }
  fclose(f);
  return found ? "committed" : "not committed";
}

int main(void) {
  for (int written = 0; written < 2; written++) {
    char *p = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 1;
    printf("written pages: %d\n  reserved: %s\n", written, accounts(p));
    if (mprotect(p, SIZE, PROT_READ | PROT_WRITE) != 0) return 1;
    printf("  writable: %s\n", accounts(p));
    if (written) *p = 1;
    if (madvise(p, SIZE, MADV_DONTNEED) != 0 || mprotect(p, SIZE, PROT_NONE) != 0) return 1;
    printf("  given back: %s\n", accounts(p));
    if (mmap(p, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return 1;
    printf("  mapped anew: %s\n", accounts(p));
    munmap(p, SIZE);
  }
}
END
gcc -O1 -o "$dir/run" "$dir/run.c"
seen=$("$dir/run")

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
