/* The free memory of a region: a bit for each unit of 4 KiB, and above the bits a binary tree of the runs of free
 * units, by which the first run of a length is found, and a change entered, in logarithmic time. Free memory itself is
 * not written.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_MAP_C
#define TOFT_REGION_REGION_MAP_C

#include "../core/policy.c"
#include "toft/compiler.h"
#include "toft/recycler.h"

#define TOFT_MAP_NONE SIZE_MAX

enum { TOFT_MAP_UNITS, TOFT_MAP_GROUPS }; /* of 8 units at a multiple of 8, all free */
#define TOFT_MAP_GROUP ((size_t)8)

/* The lengths of runs of free units, or groups: at the start, at the end, of the longest. */
typedef struct toft_map_runs {
  size_t first, last, longest;
} toft_map_runs;

typedef struct toft_map_node {
  toft_map_runs of[2]; /* units, groups */
} toft_map_node;

/* Node 1 is the root, 2i and 2i + 1 are below node i; node words + k is word k, and is not stored. */
typedef struct toft_map {
  uint64_t *free;
  toft_map_node *nodes;
  size_t words; /* a power of two */
} toft_map;

#define TOFT_MAP_BYTES(words) ((words) * (sizeof(uint64_t) + sizeof(toft_map_node)))

/* ---- a word ---- */

/* A bit for each byte of the word whose bits are all set. */
static uint64_t toft_map_groups(uint64_t word) {
  word &= word >> 4;
  word &= word >> 2;
  word &= word >> 1;
  return (word & 0x0101010101010101u) * 0x0102040810204080u >> 56;
}

/* Of the highest `width` bits; those below are 0. */
static toft_map_runs toft_map_runs_of(uint64_t bits, size_t width) {
  toft_map_runs all = {64, 64, 64}, r = {0, 0, 0};
  uint64_t used = ~bits;
  if (bits == 0) return r;
  if (used == 0) return all;
  r.first = toft_lowest_bit(~(bits >> (64 - width)));
  for (unsigned k = 1; k < 64; k *= 2) used |= used >> k;
  r.last = used == UINT64_MAX ? 0 : 64 - toft_lowest_bit(used + 1);
  r.longest = toft_max(r.first, r.last);
  if (width - r.first - r.last <= r.longest) return r;
  size_t length = 0;
  for (; bits != 0; length++) bits &= bits << 1;
  r.longest = length;
  return r;
}

/* ---- the tree ---- */

static toft_map_node toft_map_leaf(uint64_t word) {
  toft_map_node leaf;
  leaf.of[TOFT_MAP_UNITS] = toft_map_runs_of(word, 64);
  leaf.of[TOFT_MAP_GROUPS] = toft_map_runs_of(toft_map_groups(word) << (64 - TOFT_MAP_GROUP), 64 / TOFT_MAP_GROUP);
  return leaf;
}

/* Node i. If it is not stored, it is computed into *leaf. */
static const toft_map_node *toft_map_node_at(const toft_map *m, size_t i, toft_map_node *leaf) {
  if (i < m->words) return &m->nodes[i];
  *leaf = toft_map_leaf(m->free[i - m->words]);
  return leaf;
}

/* Sets the runs of two parts together; each has the length `each`. Returns whether that changes them. */
static int toft_map_join(toft_map_runs *to, const toft_map_runs *a, const toft_map_runs *b, size_t each) {
  toft_map_runs was = *to;
  to->first = a->first == each ? each + b->first : a->first;
  to->last = b->last == each ? each + a->last : b->last;
  to->longest = toft_max(toft_max(a->longest, b->longest), a->last + b->first);
  return to->first != was.first || to->last != was.last || to->longest != was.longest;
}

/* Sets the nodes above the words from `first` to `last`. */
static void toft_map_update(toft_map *m, size_t first, size_t last) {
  size_t i = (m->words + first) / 2, end = (m->words + last) / 2, each = 64;
  int changed = 1;
  for (; i != 0 && changed; i /= 2, end /= 2, each *= 2) {
    changed = 0;
    for (size_t k = i; k <= end; k++) {
      toft_map_node leaves[2];
      const toft_map_node *a = toft_map_node_at(m, 2 * k, &leaves[0]), *b = toft_map_node_at(m, 2 * k + 1, &leaves[1]);
      for (int what = TOFT_MAP_UNITS; what <= TOFT_MAP_GROUPS; what++)
        changed |= toft_map_join(&m->nodes[k].of[what], &a->of[what], &b->of[what],
                                 what == TOFT_MAP_UNITS ? each : each / TOFT_MAP_GROUP);
    }
  }
}

/* ---- the map ---- */

/* Makes a map at p, of TOFT_MAP_BYTES(words) bytes: free but for the units that are used in `from`, NULL: none. */
static toft_map toft_map_make(void *p, size_t words, const toft_map *from) {
  toft_map m = {(uint64_t *)p, (toft_map_node *)(void *)((uint64_t *)p + words), words};
  memset(m.free, 0xff, words * sizeof *m.free);
  memset(m.nodes, 0, words * sizeof *m.nodes); /* as above words without a free unit */
  if (from != NULL) memcpy(m.free, from->free, from->words * sizeof *m.free);
  toft_map_update(&m, 0, words - 1);
  return m;
}

/* n != 0. */
static void toft_map_set(toft_map *m, size_t unit, size_t n, int free) {
  size_t end = unit + n;
  for (size_t at = unit; at < end; at = (at / 64 + 1) * 64) {
    uint64_t mask = UINT64_MAX << at % 64;
    if (end - at / 64 * 64 < 64) mask &= ~(UINT64_MAX << end % 64);
    if (free)
      m->free[at / 64] |= mask;
    else
      m->free[at / 64] &= ~mask;
  }
  toft_map_update(m, unit / 64, (end - 1) / 64);
}

static int toft_map_is_free(const toft_map *m, size_t unit) { return (int)(m->free[unit / 64] >> unit % 64 & 1); }

/* What n units are aligned to. */
static size_t toft_map_step(size_t n) { return n % TOFT_MAP_GROUP == 0 ? TOFT_MAP_GROUP : 1; }

/* The end of the last unit that is used. */
static size_t toft_map_end(const toft_map *m) { return m->words * 64 - m->nodes[1].of[TOFT_MAP_UNITS].last; }

/* The first of n free units, aligned to toft_map_step(n). TOFT_MAP_NONE: there are none. */
static size_t toft_map_find(const toft_map *m, size_t n) {
  size_t step = toft_map_step(n), i = 1, at = 0, half = m->words * 32 / step;
  int what = step == 1 ? TOFT_MAP_UNITS : TOFT_MAP_GROUPS;
  toft_map_node leaves[2];
  n /= step;
  if (m->nodes[1].of[what].longest < n) return TOFT_MAP_NONE;
  for (; i < m->words; half /= 2) {
    const toft_map_node *a = toft_map_node_at(m, 2 * i, &leaves[0]), *b = toft_map_node_at(m, 2 * i + 1, &leaves[1]);
    int is_left = a->of[what].longest >= n;
    if (!is_left && a->of[what].last + b->of[what].first >= n) return (at + half - a->of[what].last) * step;
    i = 2 * i + !is_left;
    if (!is_left) at += half;
  }
  uint64_t bits = m->free[i - m->words];
  if (step != 1) bits = toft_map_groups(bits);
  for (size_t k = 1; k < n; k++) bits &= bits >> 1; /* leaves the first bit of each run of n */
  return (at + toft_lowest_bit(bits)) * step;
}

#endif
