/* Digests of a region's live content, which do not depend on its address, and the first difference of two contents.
 * Content is divided into parts of at most 4 KiB; the digest of the region is the sum of the parts' digests.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_DIGEST_C
#define TOFT_REGION_REGION_DIGEST_C

#include "region_checkpoint.c"
#include "region_walk.c"

#define TOFT_DIGEST_PART ((size_t)4096)
#define TOFT_DIGEST_ODD ((uint64_t)0x9e3779b97f4a7c15)

/* ---- words ---- */

/* A word as it enters: an address in the region as its offset. */
static uint64_t toft_digest_word(uintptr_t word, uintptr_t base, size_t size) {
  return word - base < size ? word - base + (UINT64_MAX / 2 + 1) : word;
}

/* A change of one word changes the result: each step is a bijection of the state and of the word, and so is the end.
 * The word is mixed by itself first: else a change of its highest bits would be undone by one bit of the next word. */
static uint64_t toft_digest_step(uint64_t state, uint64_t word) {
  word *= 0xd6e8feb86659fd93u;
  state = (state ^ word ^ word >> 32) * TOFT_DIGEST_ODD;
  return state << 29 | state >> 35;
}

static uint64_t toft_digest_end(uint64_t state) {
  state = (state ^ state >> 32) * 0xd6e8feb86659fd93u;
  return state ^ state >> 32;
}

/* Under a memory tool what was never written counts as written. */
static uintptr_t toft_digest_load(const unsigned char *p) {
  uintptr_t word;
  memcpy(&word, p, sizeof word);
  toft_unpoison(&word, sizeof word);
  return word;
}

/* Parts are whole words. */
static uint64_t toft_digest_of(const unsigned char *p, size_t length, uint64_t offset, uintptr_t base, size_t size) {
  uint64_t state = toft_digest_step(offset, length);
  TOFT_ASSERT(length % sizeof(uintptr_t) == 0);
  for (size_t at = 0; at < length; at += sizeof(uintptr_t))
    state = toft_digest_step(state, toft_digest_word(toft_digest_load(p + at), base, size));
  return toft_digest_end(state);
}

/* ---- parts ---- */

typedef struct toft_digesting {
  uintptr_t base;
  size_t size; /* of the range */
  uint64_t sum;
  toft_digest_part *parts; /* NULL: only the sum is wanted */
  size_t count, room;
  int lists, refused; /* parts are wanted; there was no memory for them */
} toft_digesting;

static void toft_digest_range(void *arg, toft_arena *arena, const unsigned char *p, size_t size) {
  toft_digesting *g = (toft_digesting *)arg;
  toft_digest_part part;
  (void)arena;
  part.object = (uintptr_t)p - g->base;
  part.size = size;
  part.offset = part.object;
  for (size_t left = size; left != 0; left -= (size_t)part.length, part.offset += part.length) {
    part.length = toft_min(left, TOFT_DIGEST_PART - part.offset % TOFT_DIGEST_PART);
    part.digest = toft_digest_of((const unsigned char *)g->base + part.offset, (size_t)part.length, part.offset,
                                 g->base, g->size);
    g->sum += part.digest;
    if (!g->lists || g->refused) continue;
    g->refused = !toft_region_grow((void **)&g->parts, &g->room, g->count, g->count + 1, sizeof part);
    if (!g->refused) g->parts[g->count++] = part;
  }
}

/* Sorts by offset: sinks part i of a heap. */
static void toft_digest_sink(toft_digest_part *parts, size_t i, size_t count) {
  for (size_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && parts[child].offset < parts[child + 1].offset) child++;
    if (parts[i].offset >= parts[child].offset) return;
    toft_digest_part swapped = parts[i];
    parts[i] = parts[child];
    parts[child] = swapped;
  }
}

static void toft_digest_sort(toft_digest_part *parts, size_t count) {
  for (size_t i = count / 2; i-- != 0;) toft_digest_sink(parts, i, count);
  for (size_t end = count; end > 1;) {
    toft_digest_part last = parts[--end];
    parts[end] = parts[0];
    parts[0] = last;
    toft_digest_sink(parts, 0, end);
  }
}

/* ---- contents ---- */

/* Brings the content of a node into the range, and saves the present one. NULL: there is no memory. */
static toft_node *toft_region_visit(toft_region *r, toft_node *n) {
  toft_node *present = toft_region_save(r);
  if (present != NULL) toft_region_go(r, n, 1);
  return present;
}

static void toft_region_end_visit(toft_region *r, toft_node *present) {
  toft_region_go(r, present, 1);
  present->dropped = 1;
  toft_tree_reduce(r->control, present);
}

/* Reads the present content, with the parts if they are wanted, in order, or a part into `copy`. */
static int toft_digest_present(const toft_region *r, toft_digesting *g, const toft_digest_part *copied,
                               unsigned char *copy) {
  const toft_content_walk walk = {toft_digest_range, g};
  unsigned char *access;
  size_t size = (size_t)(r->top - r->base);
  if (!toft_region_open(r->base, size, &access)) {
    toft_region_free_access(access, size);
    return TOFT_ENOMEM;
  }
  if (copied != NULL) {
    memcpy(copy, r->base + copied->offset, (size_t)copied->length);
  } else {
    g->base = (uintptr_t)r->base;
    g->size = r->control->max;
    g->sum = toft_digest_end(toft_digest_step(0, toft_digest_word((uintptr_t)r->root, g->base, g->size)));
    toft_region_walk(r, &walk);
    toft_digest_sort(g->parts, g->count);
  }
  toft_region_close(r->base, size, access);
  toft_region_free_access(access, size);
  return g->refused ? TOFT_ENOMEM : TOFT_OK;
}

/* The same for a checkpoint; 0: the present content. */
static int toft_digest_content(toft_region *r, toft_checkpoint of, toft_digesting *g, const toft_digest_part *copied,
                               unsigned char *copy) {
  toft_node *n = of != 0 ? toft_region_node(r, of) : NULL, *present = NULL;
  if (of != 0 && n == NULL) return TOFT_EMARK;
  if (toft_region_is_busy(r)) return TOFT_EBUSY;
  if (n != NULL && (present = toft_region_visit(r, n)) == NULL) return TOFT_ENOMEM;
  int code = toft_digest_present(r, g, copied, copy);
  if (present != NULL) toft_region_end_visit(r, present);
  return code;
}

int toft_region_digest(toft_region *r, toft_checkpoint of, uint64_t *digest) {
  toft_digesting g;
  memset(&g, 0, sizeof g);
  int code = toft_digest_content(r, of, &g, NULL, NULL);
  if (code == TOFT_OK) *digest = g.sum;
  return code;
}

int toft_region_digest_parts(toft_region *r, toft_checkpoint of, toft_digest_part_fn *fn, void *arg) {
  toft_digesting g;
  memset(&g, 0, sizeof g);
  g.lists = 1;
  int code = toft_digest_content(r, of, &g, NULL, NULL);
  for (size_t i = 0; code == TOFT_OK && i < g.count; i++) fn(arg, &g.parts[i]);
  if (g.parts != NULL) toft_os_heap_put(g.parts);
  return code;
}

/* ---- the first difference ---- */

static int toft_digest_parts_differ(const toft_digest_part *p, const toft_digest_part *q) {
  return p->offset != q->offset || p->length != q->length || p->digest != q->digest;
}

/* The first parts that differ; NULL: one of them is live in one content only. 0: the contents are equal. */
static int toft_digest_find(const toft_digesting g[2], const toft_digest_part *found[2]) {
  size_t i = 0;
  while (i < g[0].count && i < g[1].count && !toft_digest_parts_differ(&g[0].parts[i], &g[1].parts[i])) i++;
  for (int k = 0; k < 2; k++) found[k] = i < g[k].count ? &g[k].parts[i] : NULL;
  if (found[0] != NULL && found[1] != NULL && found[0]->offset != found[1]->offset)
    found[found[0]->offset < found[1]->offset] = NULL;
  return found[0] != NULL || found[1] != NULL;
}

/* Stores the first word at which the copies of two parts differ, or the first of the only one. */
static void toft_digest_find_word(const toft_digesting g[2], const toft_digest_part *found[2], unsigned char *copies[2],
                                  toft_region_difference *d) {
  for (size_t at = 0;; at += sizeof(uintptr_t)) {
    int goes_on = found[0] != NULL && found[1] != NULL;
    for (int i = 0; i < 2; i++) {
      if (found[i] == NULL) continue;
      d->offset = found[i]->offset + at;
      goes_on &= at < found[i]->length;
      d->words[i] =
          at < found[i]->length ? toft_digest_word(toft_digest_load(copies[i] + at), g[i].base, g[i].size) : 0;
    }
    if (!goes_on || d->words[0] != d->words[1]) return;
  }
}

int toft_region_diff(toft_region *a, toft_checkpoint in_a, toft_region *b, toft_checkpoint in_b,
                     toft_region_difference *d) {
  toft_region *regions[] = {a, b};
  toft_checkpoint of[] = {in_a, in_b};
  toft_digesting g[2];
  const toft_digest_part *found[2];
  unsigned char *copies[2];
  int code = TOFT_OK;
  copies[0] = (unsigned char *)toft_os_heap_take(2 * TOFT_DIGEST_PART, 64);
  if (copies[0] == NULL) return TOFT_ENOMEM;
  copies[1] = copies[0] + TOFT_DIGEST_PART;
  memset(g, 0, sizeof g);
  for (int i = 0; i < 2 && code == TOFT_OK; i++) {
    g[i].lists = 1;
    code = toft_digest_content(regions[i], of[i], &g[i], NULL, NULL);
  }
  int differs = code == TOFT_OK && toft_digest_find(g, found);
  for (int i = 0; i < 2 && differs && code == TOFT_OK; i++)
    if (found[i] != NULL) code = toft_digest_content(regions[i], of[i], &g[i], found[i], copies[i]);
  if (code == TOFT_OK) memset(d, 0, sizeof *d);
  if (code == TOFT_OK && differs) {
    toft_digest_find_word(g, found, copies, d);
    for (int i = 0; i < 2; i++) {
      d->objects[i] = found[i] != NULL ? found[i]->object : 0;
      d->sizes[i] = found[i] != NULL ? found[i]->size : 0;
    }
  }
  for (int i = 0; i < 2; i++)
    if (g[i].parts != NULL) toft_os_heap_put(g[i].parts);
  toft_os_heap_put(copies[0]);
  return code != TOFT_OK ? code : differs;
}

#endif
