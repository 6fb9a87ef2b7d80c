/* Regions: a range with arenas, recyclers and their state in it. region_checkpoint.c saves and restores its content.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_C
#define TOFT_REGION_REGION_C

#include "../core/create_release.c"
#include "../core/idle_account.c"
#include "../core/policy.c"
#include "../core/region_source.c"
#include "../debug/debug_ops.c"
#include "../platform/assert.h"
#include "../platform/atomic.c"
#include "../platform/held.c"
#include "../platform/os.c"
#include "../platform/sanitizers.c"
#include "../recycler/recycler.c"
#include "region_map.c"
#include "toft/region.h"

#define TOFT_REGION_MIN (64 * TOFT_KIB)
#define TOFT_REGION_MAP_WORDS ((size_t)64) /* of the map in the header: 16 MiB */
#define TOFT_REGION_DEFAULT_MIN ((size_t)16 << 20)
#define TOFT_REGION_STEP ((size_t)1 << 20) /* bytes committed at a time */

/* A recycler or toft_malloc, in a block of its own, and the region's entry for it. */
typedef struct toft_region_recycler_block {
  union {
    toft_recycler recycler;
    toft_malloc heap;
  } u;
  struct toft_region_recycler_block *older;
} toft_region_recycler_block;

TOFT_STATIC_ASSERT(region_recycler, sizeof(toft_region_recycler_block) <= TOFT_BLOCK_MIN);

/* Regions of toft_freeze: one that clears freed memory; one whose arenas and recyclers are checked. */
enum { TOFT_REGION_FREEZES = 1, TOFT_REGION_FREEZES_CHECKED };

typedef struct toft_tree toft_tree; /* region_checkpoint.c */

/* Outside of the range, so that a restore does not change it. */
typedef struct toft_region_control {
  toft_region *region;
  toft_tree *tree; /* of checkpoints; NULL: none has been made */
  size_t checkpoints, saved_bytes;
  size_t max, committed;
  size_t dirty;            /* what the region returned above this is zero */
  size_t used, resident;   /* in the process's account of idle memory: bytes up to top, and those that may have pages */
  unsigned char *reserved; /* the reservation that contains the range; NULL: the range is the caller's memory */
  size_t reserved_size;
  uint32_t flags;
  int freezes; /* TOFT_REGION_FREEZES...: made by toft_freeze */
} toft_region_control;

/* At the start of the range, so that a restore brings it back too. */
struct toft_region {
  toft_source source; /* first: the source of its blocks */
  unsigned char unused[TOFT_REGION_ROOT_OFFSET - sizeof(toft_source)];
  void *root; /* atomic. Readers load it: what changes with each block lies in other cache lines */
  toft_region_control *control;
  unsigned char *base;
  unsigned char *omitted, *omitted_end; /* by toft_freeze_omit */
  toft_region_recycler_block *recyclers;
  toft_region_arena_link *arenas;
  uint64_t arena_count;
  unsigned char *top;  /* blocks lie below it */
  unsigned char *high; /* the highest top so far */
  size_t used;         /* bytes of blocks, and of this header */
  toft_map map;        /* of free memory */
  /* While that suffices, else it is unused. */
  uint64_t first_map[TOFT_MAP_BYTES(TOFT_REGION_MAP_WORDS) / 8];
};

#define TOFT_REGION_HEADER ((size_t)TOFT_BLOCK_MIN)
TOFT_STATIC_ASSERT(region_header, sizeof(struct toft_region) <= TOFT_REGION_HEADER);
TOFT_STATIC_ASSERT(region_root, offsetof(struct toft_region, root) == TOFT_REGION_ROOT_OFFSET);

static toft_state *toft_region_arena_of(toft_region_arena_link *link) {
  return (toft_state *)(void *)((unsigned char *)link - TOFT_REGION_LINK);
}

/* Whether another arena holds this one, which releases it. */
static int toft_region_is_adopted(const toft_state *a) {
  return !(a->state & TOFT_PRISTINE) && a->adopted.user.fn == toft_release_adopted;
}

static int toft_region_commit(toft_region_control *c, size_t to) {
  size_t more;
  if (to <= c->committed) return 1;
  more = toft_min(c->max, toft_max(toft_os_page(to), c->committed + TOFT_REGION_STEP)) - c->committed;
  if (c->reserved != NULL && !toft_os_commit((unsigned char *)c->region + c->committed, more)) return 0;
  TOFT_HELD_MORE(more);
  c->committed += more;
  return 1;
}

/* ---- units of the map ---- The map begins below the region, at a multiple of what blocks are aligned to. */

static size_t toft_region_unit(const toft_region *r, const unsigned char *p) {
  return ((uintptr_t)p - ((uintptr_t)r->base & ~(uintptr_t)(TOFT_RECYCLER_UNIT - 1))) / TOFT_BLOCK_MIN;
}

static unsigned char *toft_region_at_unit(const toft_region *r, size_t unit) {
  return r->base + (unit - toft_region_unit(r, r->base)) * TOFT_BLOCK_MIN;
}

/* Where the last unit of the range ends. */
static size_t toft_region_units(const toft_region *r) { return toft_region_unit(r, r->base + r->control->max); }

static void toft_region_set_units(toft_region *r, size_t unit, size_t n, int free) {
  TOFT_ASSERT(toft_map_is_free(&r->map, unit) == !free && toft_map_is_free(&r->map, unit + n - 1) == !free);
  TOFT_ASSERT(!free || n * TOFT_BLOCK_MIN <= r->used);
  toft_map_set(&r->map, unit, n, free);
  r->used = free ? r->used - n * TOFT_BLOCK_MIN : r->used + n * TOFT_BLOCK_MIN;
  r->top = toft_region_at_unit(r, toft_map_end(&r->map));
  r->high = r->top > r->high ? r->top : r->high;
}

/* Units that a map in a block takes; 0: it is the one in the header. */
static size_t toft_region_map_units(size_t words) {
  return words > TOFT_REGION_MAP_WORDS ? toft_round(TOFT_MAP_BYTES(words), TOFT_BLOCK_MIN) / TOFT_BLOCK_MIN : 0;
}

/* Makes a larger map, in a block, so that it has n free units behind the last block. 0: they are not in the range. */
static int toft_region_grow_map(toft_region *r, size_t n) {
  toft_map before = r->map;
  size_t end = toft_map_end(&before), words = before.words, had = toft_region_map_units(words), units, at;
  if (n > toft_region_units(r)) return 0;
  do units = toft_region_map_units(words *= 2);
  while (words * 64 < end + units + 2 * TOFT_MAP_GROUP + n);
  at = toft_map_find(&before, units);
  if (at == TOFT_MAP_NONE) at = toft_round(end, toft_map_step(units));
  unsigned char *p = toft_region_at_unit(r, at);
  if (toft_round(toft_max(end, at + units), toft_map_step(n)) + n > toft_region_units(r)) return 0;
  if (!toft_region_commit(r->control, (size_t)(p - r->base) + units * TOFT_BLOCK_MIN)) return 0;
  r->map = toft_map_make(p, words, &before);
  toft_region_set_units(r, at, units, 0);
  r->control->dirty = toft_max(r->control->dirty, (size_t)(r->top - r->base)); /* also if the block is refused then */
  if (had != 0) toft_region_set_units(r, toft_region_unit(r, (unsigned char *)before.free), had, 1);
  return 1;
}

/* ---- the account of idle memory: pages behind the last block ---- */

/* Brings the account up to the region. Nothing is counted in the caller's memory. */
static void toft_region_count(toft_region_control *c, size_t used, size_t resident) {
  if (c->reserved == NULL) return;
  toft_account_move(used - c->used, (resident - used) - (c->resident - c->used));
  c->used = used;
  c->resident = resident;
}

static void toft_region_count_top(const toft_region *r) {
  toft_region_control *c = r->control;
  size_t used = (size_t)(r->top - r->base);
  c->dirty = toft_max(c->dirty, used);
  toft_region_count(c, used, toft_max(used, c->resident));
}

static void toft_region_return_surplus(toft_region *r) {
  const toft_region_control *c = r->control;
  size_t surplus;
  if (c->resident - c->used > TOFT_REGION_MIN && toft_account_check(&surplus) != TOFT_SURPLUS_NONE) toft_region_trim(r);
}

/* ---- the source ---- */

static void *toft_region_take_any(toft_source *self, size_t size) {
  toft_region *r = (toft_region *)(void *)self;
  size_t n = size / TOFT_BLOCK_MIN, at = toft_map_find(&r->map, n);
  if (at == TOFT_MAP_NONE && toft_region_grow_map(r, n)) at = toft_map_find(&r->map, n);
  if (at == TOFT_MAP_NONE || at + n > toft_region_units(r)) return NULL;
  unsigned char *p = toft_region_at_unit(r, at);
  if (!toft_region_commit(r->control, (size_t)(p - r->base) + size)) return NULL;
  toft_region_set_units(r, at, n, 0);
  toft_region_count_top(r);
  TOFT_VERIFY(region, r);
  return p;
}

/* Whether a block that is taken again is zero: a leftover in bytes that are never written would be content of a file,
 * and differ between runs whose restores differ. */
static int toft_region_clears(const toft_region_control *c) {
  return c->freezes || (c->flags & TOFT_REGION_REPEATABLE) != 0;
}

static void *toft_region_take(toft_source *self, size_t size) {
  const toft_region *r = (const toft_region *)(const void *)self;
  size_t dirty = r->control->dirty;
  unsigned char *p = (unsigned char *)toft_region_take_any(self, size);
  if (p == NULL || !toft_region_clears(r->control)) return p;
  if (p < r->base + dirty) memset(p, 0, toft_min(size, (size_t)(r->base + dirty - p)));
  TOFT_ASSERT(p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
  return p;
}

static void toft_region_put(toft_source *self, void *block, size_t size) {
  toft_region *r = (toft_region *)(void *)self;
  toft_unpoison(block, size); /* the program may have made a part inaccessible */
  toft_region_set_units(r, toft_region_unit(r, (unsigned char *)block), size / TOFT_BLOCK_MIN, 1);
  toft_region_count_top(r);
  toft_region_return_surplus(r);
  TOFT_VERIFY(region, r);
}

static void toft_region_enlist(toft_source *source, toft_state *a) {
  toft_region *r = (toft_region *)(void *)source;
  toft_region_arena_link *link = toft_region_link_of(a);
  link->older = r->arenas;
  link->at = &r->arenas;
  if (link->older != NULL) link->older->at = &link->older;
  link->region = source;
  TOFT_ASSERT(a->state & TOFT_IN_REGION);
  link->number = ++r->arena_count;
  r->arenas = link;
  if (r->control->freezes == 0) return;
  toft_sync_in(a);
  if (r->control->freezes == TOFT_REGION_FREEZES)
    a->state |= TOFT_CLEARS;
  else
    (void)toft_begin_checks(a); /* without memory for records, the sites stay unknown */
  toft_set_limit(a);
}

static int toft_region_admits(const toft_source *source, const void *p) {
  const toft_region *r = (const toft_region *)(const void *)source;
  return r->control->freezes == 0 && (uintptr_t)p - (uintptr_t)r->base < r->control->max;
}

static const toft_region_calls toft_calls_of_regions = {toft_region_take, toft_region_enlist, toft_region_admits};

/* ---- create and release ---- */

static void toft_region_forget_checkpoints(toft_region_control *c);
static void toft_region_lose_pages(const toft_region_control *c, size_t size);
static int toft_region_has_checks(void); /* region_outside.c */

static void toft_region_free_control(toft_region_control *c) {
  toft_scan_end(c->reserved, c->reserved_size);
  if (c->reserved == NULL || toft_os_unmap(c->reserved, c->reserved_size)) TOFT_HELD_LESS(c->committed);
  toft_os_heap_put(c);
}

/* Returns the range; its content may be zero. */
static void toft_region_discard(toft_region_control *c) {
  toft_region_forget_checkpoints(c);
  toft_region_count(c, 0, 0);
  toft_region_free_control(c);
}

static toft_region *toft_region_begin(toft_region_control *c) {
  toft_region *r = c->region;
  if (!toft_region_commit(c, TOFT_REGION_HEADER)) return NULL;
  memset(r, 0, sizeof *r);
  r->source.take = toft_region_take;
  r->source.put = toft_region_put;
  r->control = c;
  r->base = r->high = (unsigned char *)r;
  r->omitted = r->omitted_end = r->base;
  r->map = toft_map_make(r->first_map, TOFT_REGION_MAP_WORDS, NULL);
  toft_region_set_units(r, 0, toft_region_unit(r, r->base) + 1, 0);
  r->used = TOFT_REGION_HEADER;
  TOFT_STORE_POINTER(const toft_region_calls, &toft_regions, &toft_calls_of_regions);
  return r;
}

/* Creates a region of o->max bytes at o->memory; NULL: in a new reservation of `reserved` bytes, at its first address
 * that is `residue` behind a multiple of `align`. */
static toft_region *toft_region_create_in(const toft_region_options *o, size_t reserved, size_t align, size_t residue) {
  toft_region_control *c = (toft_region_control *)toft_os_heap_take(toft_round(sizeof *c, 64), 64);
  if (c == NULL) return NULL;
  memset(c, 0, sizeof *c);
  c->max = o->max;
  c->flags = o->flags;
  c->region = (toft_region *)o->memory;
  c->dirty = o->memory != NULL ? o->max : TOFT_REGION_HEADER;
  if (o->memory == NULL) {
    c->reserved_size = reserved;
    c->reserved = (unsigned char *)toft_scan_begin(toft_os_reserve(reserved), reserved);
    if (c->reserved != NULL)
      c->region =
          (toft_region *)(void *)(c->reserved + (((uintptr_t)0 - (uintptr_t)c->reserved + residue) & (align - 1)));
  }
  toft_region *r = c->region != NULL ? toft_region_begin(c) : NULL;
  if (r == NULL) toft_region_free_control(c);
  return r;
}

static size_t toft_region_max(size_t max) {
  return max != 0 ? max : sizeof(void *) == 4 ? (size_t)64 << 20 : (size_t)1 << 30;
}

/* Halves a default that the system refuses, down to `least`. 0: the options have a maximum, or there is no less. */
static int toft_region_halve_max(size_t given, size_t *max, size_t least) {
  if (given != 0 || *max / 2 < toft_max(least, TOFT_REGION_DEFAULT_MIN)) return 0;
  *max /= 2;
  return 1;
}

static int toft_region_is_valid_max(size_t max) {
  return max >= TOFT_REGION_MIN && max <= TOFT_MAX_REQUEST && max % TOFT_BLOCK_MIN == 0;
}

/* The options with their defaults. 0: they are invalid. */
static int toft_region_read_options(const toft_region_options *options, toft_region_options *o) {
  const toft_region_options defaults = TOFT_REGION_OPTIONS;
  if (options != NULL && options->size != sizeof *o) return 0;
  *o = options != NULL ? *options : defaults;
  if (o->memory != NULL && o->max == 0) return 0;
  o->max = toft_region_max(o->max);
  if (!toft_region_is_valid_max(o->max)) return 0;
  if ((o->flags & ~(uint32_t)(TOFT_REGION_COMPARES | TOFT_REGION_CHECKED | TOFT_REGION_REPEATABLE)) != 0) return 0;
  if ((o->flags & TOFT_REGION_CHECKED) != 0 && !toft_region_has_checks()) return 0;
  return ((uintptr_t)o->memory & (TOFT_BLOCK_MIN - 1)) == 0;
}

int toft_region_check(const toft_region_options *options) {
  toft_region_options o;
  return toft_region_read_options(options, &o) ? TOFT_OK : TOFT_EARG;
}

TOFT_RARE toft_region *toft_region_create(const toft_region_options *options) {
  toft_region_options o;
  if (!toft_region_read_options(options, &o)) return NULL;
  size_t given = options == NULL ? 0 : options->memory != NULL ? o.max : options->max;
  size_t align = o.flags & TOFT_REGION_REPEATABLE ? TOFT_HUGE_PAGE : TOFT_BLOCK_MIN; /* blocks are aligned in memory */
  toft_region *r = NULL;
  do r = toft_region_create_in(&o, o.max + align - TOFT_BLOCK_MIN, align, 0);
  while (r == NULL && toft_region_halve_max(given, &o.max, 0));
  return r;
}

void toft_region_release(toft_region *r) {
  if (r == NULL) return;
  toft_region_control *c = r->control;
  while (r->arenas != NULL) {
    toft_region_arena_link *newest = r->arenas;
    toft_state *a = toft_region_arena_of(newest);
    a->state &= ~(uint32_t)TOFT_CACHE_OWNED; /* by a shared arena, which ends with the region */
    if (!toft_region_is_adopted(a)) toft_release(&a->head);
    if (r->arenas == newest) toft_region_unlist(a); /* adopted, or its release is refused */
    TOFT_ASSERT(r->arenas != newest);
  }
  for (toft_region_recycler_block *block = r->recyclers; block != NULL; block = block->older)
    if (block->u.recycler.checked) toft_recycler_release(&block->u.recycler); /* whose records lie elsewhere */
  toft_region_discard(c);
}

/* ---- what lies in a region ---- */

toft_source *toft_region_source(toft_region *r) { return &r->source; }

toft_arena *toft_region_arena(toft_region *r) {
  toft_state *a = toft_create_on(&r->source);
  return a != NULL ? &a->head : NULL;
}

static toft_recycler *toft_region_recycler_in(toft_region *r) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_region_recycler_block *block = (toft_region_recycler_block *)toft_region_take(&r->source, TOFT_BLOCK_MIN);
  if (block == NULL) return NULL;
  memset(block, 0, sizeof *block);
  TOFT_ASSERT(r->recyclers == NULL || (unsigned char *)r->recyclers < r->top);
  block->older = r->recyclers;
  r->recyclers = block;
  toft_recycler *made = &block->u.recycler;
  o.source = &r->source;
  (void)toft_recycler_init_as(made, &o, r->control->freezes == TOFT_REGION_FREEZES_CHECKED); /* no count: no failure */
  if (r->control->freezes == TOFT_REGION_FREEZES) toft_recycler_set_clearing(made);
  return made;
}

toft_recycler *toft_region_recycler(toft_region *r) { return toft_region_recycler_in(r); }

toft_malloc *toft_region_malloc(toft_region *r) { return (toft_malloc *)(void *)toft_region_recycler_in(r); }

void toft_region_set_root(toft_region *r, void *root) { TOFT_STORE_POINTER_RELEASE(void, &r->root, root); }
void *toft_region_root(const toft_region *r) { return TOFT_LOAD_POINTER_ACQUIRE(void, &r->root); }

void toft_region_trim(toft_region *r) {
  toft_region_control *c = r->control;
  size_t used = toft_os_page((size_t)(r->top - r->base));
  toft_region_lose_pages(c, (size_t)(r->top - r->base));
  if (used < c->committed && toft_os_forget(r->base + used, c->committed - used) && c->reserved != NULL)
    c->dirty = used;
  toft_region_count(c, (size_t)(r->top - r->base), (size_t)(r->top - r->base));
}

toft_region_stats toft_region_get_stats(const toft_region *r) {
  const toft_region_control *c = r->control;
  toft_region_stats s;
  s.limit = c->max;
  s.used = r->used;
  s.high_water = (uint64_t)(r->high - r->base);
  s.saved = c->saved_bytes;
  s.checkpoints = c->checkpoints;
  return s;
}

#endif
