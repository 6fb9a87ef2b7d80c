#!/usr/bin/env bash
# Question: libherb's own arena, with pages of 64 KiB, serves 1 MiB in objects of 64 bytes, and is reset, five times. How many pages of
#   memory are mapped anew in each round, and how much of its first page is in use after a round?
# Guess: 256 pages in the first round and none later, since a reset sets the position to 0; the first page is full.
# What happens: a reset unmaps all but the first page and maps one of the same size in their place, so that each round faults as many
#   pages as the first one; and the arena goes on with that one, so that its first page stays empty from the second round on. A new
#   arena for each round costs the same. An arena that is never reset beyond one page has neither cost.
#   Of use to: comparisons of arenas over many rounds, and authors of a reset that merges blocks.
# Versions: herb 0.11.1 (the crate's copy of libherb), gcc; x86-64 Linux with pages of 4 KiB.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

mkdir src
touch src/lib.rs
cat >Cargo.toml <<'END'
[package]
name = "run"
version = "0.0.0"
edition = "2021"
[dependencies]
herb = "=0.11.1"
END
cargo vendor -q >/dev/null

cat >run.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "lib/hb_arena.h"

static long faults(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_minflt;
}

int main(void) {
  hb_arena_T arena;
  setvbuf(stdout, NULL, _IOFBF, 4096);
  printf("rounds of 1 MiB:\n");
  hb_arena_init(&arena, 64 << 10);
  for (int round = 1; round <= 5; round++) {
    long before = faults();
    for (int i = 0; i < 1 << 14; i++) memset(hb_arena_alloc(&arena, 64), 1, 64);
    long more = faults() - before;
    printf("round %d: %s pages anew, %zu bytes of the first in use\n", round, more >= 200 ? "200 or more" : "fewer",
           arena.head->position);
    hb_arena_reset(&arena);
  }
  hb_arena_free(&arena);
}
END
lib=vendor/herb/vendor/libherb/src
gcc -O1 -w -D_GNU_SOURCE -I "$lib/include" run.c "$lib/lib/hb_arena.c" -o run
seen=$(./run)

expected='rounds of 1 MiB:
round 1: 200 or more pages anew, 65536 bytes of the first in use
round 2: 200 or more pages anew, 0 bytes of the first in use
round 3: 200 or more pages anew, 0 bytes of the first in use
round 4: 200 or more pages anew, 0 bytes of the first in use
round 5: 200 or more pages anew, 0 bytes of the first in use'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
