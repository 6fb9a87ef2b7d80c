/* Regions: a range with arenas, recyclers and their state in it. region_checkpoint.c saves and restores its content.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_C
#define TOFT_REGION_REGION_C

#include "../core/create_release.c"
#include "../core/policy.c"
#include "../platform/held.c"
#include "../platform/memory_file.c"
#include "../platform/os.c"
#include "../recycler/recycler.c"
#include "toft/region.h"

#define TOFT_REGION_MIN (64 * TOFT_KIB)
#define TOFT_REGION_DEFAULT_MIN ((size_t)16 << 20)
#define TOFT_REGION_STEP ((size_t)1 << 20) /* bytes committed at a time */

/* A free block, in its first bytes. */
typedef struct toft_free_block {
  struct toft_free_block *next; /* at a higher address, not adjacent */
  size_t size;
} toft_free_block;

/* A region's entry for an arena, in the bytes of the arena's initial block that its state leaves free. */
typedef struct toft_region_arena_link {
  struct toft_region_arena_link *older;
  uint64_t number; /* of the arenas of the region, from 1 on */
} toft_region_arena_link;

#define TOFT_REGION_LINK (TOFT_INITIAL_START - sizeof(toft_region_arena_link))
TOFT_STATIC_ASSERT(region_link, sizeof(toft_state) <= TOFT_REGION_LINK);

/* A recycler or toft_malloc, in a block of its own, and the region's entry for it. */
typedef struct toft_region_recycler_block {
  union {
    toft_recycler recycler;
    toft_malloc heap;
  } u;
  struct toft_region_recycler_block *older;
} toft_region_recycler_block;

TOFT_STATIC_ASSERT(region_recycler, sizeof(toft_region_recycler_block) <= TOFT_BLOCK_MIN);

/* Regions of toft_freeze: one whose recyclers clear freed memory; one whose arenas and recyclers are checked. */
enum { TOFT_REGION_FREEZES = 1, TOFT_REGION_FREEZES_CHECKED };

/* Outside of the range, so that a restore does not change it. */
typedef struct toft_region_control {
  toft_region *region;
  struct toft_saved *saved; /* the newest checkpoint */
  size_t checkpoints, saved_bytes;
  size_t max, committed;
  unsigned char *reserved; /* the reservation that contains the range; NULL: the range is the caller's memory */
  size_t reserved_size;
  uint32_t flags;
  int freezes; /* TOFT_REGION_FREEZES...: made by toft_freeze */
} toft_region_control;

/* At the start of the range, so that a restore brings it back too. */
struct toft_region {
  toft_source source; /* first: the source of its blocks */
  toft_region_control *control;
  unsigned char *base, *top; /* blocks lie below top */
  unsigned char *high;       /* the highest top so far */
  toft_free_block *free;     /* by address */
  size_t used;               /* bytes of blocks, and of this header */
  toft_region_arena_link *arenas;
  toft_region_recycler_block *recyclers;
  uint64_t arena_count;
  unsigned char *omitted, *omitted_end; /* by toft_freeze_omit */
  void *root;
};

#define TOFT_REGION_HEADER ((size_t)TOFT_BLOCK_MIN)
TOFT_STATIC_ASSERT(region_header, sizeof(struct toft_region) <= TOFT_REGION_HEADER);

static toft_state *toft_region_arena_of(toft_region_arena_link *link) {
  return (toft_state *)(void *)((unsigned char *)link - TOFT_REGION_LINK);
}

/* Whether another arena holds this one, which releases it. */
static int toft_region_is_adopted(const toft_state *a) {
  return !(a->state & TOFT_PRISTINE) && a->adopted.user.fn == toft_release_adopted;
}

/* ---- the source ---- */

/* Blocks of recyclers are divided into units, which are aligned. */
static size_t toft_region_align(size_t size) {
  return size % TOFT_RECYCLER_UNIT == 0 ? TOFT_RECYCLER_UNIT : TOFT_BLOCK_MIN;
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

static void toft_region_put(toft_source *self, void *block, size_t size);

static void *toft_region_take(toft_source *self, size_t size) {
  toft_region *r = (toft_region *)(void *)self;
  size_t align = toft_region_align(size), front;
  for (toft_free_block **at = &r->free; *at != NULL; at = &(*at)->next) {
    toft_free_block *b = *at;
    front = (size_t)(0 - (uintptr_t)b) & (align - 1);
    if (b->size < size || b->size - size < front) continue;
    unsigned char *p = (unsigned char *)b + front, *end = (unsigned char *)b + b->size;
    toft_free_block *next = b->next;
    if (p + size < end) { /* the rest behind the block */
      toft_free_block *rest = (toft_free_block *)(void *)(p + size);
      rest->next = next;
      rest->size = (size_t)(end - (p + size));
      next = rest;
    }
    if (front != 0) {
      b->size = front;
      b->next = next;
    } else {
      *at = next;
    }
    r->used += size;
    return p;
  }
  front = (size_t)(0 - (uintptr_t)r->top) & (align - 1);
  size_t room = (size_t)(r->base + r->control->max - r->top);
  if (room < front || room - front < size) return NULL;
  if (!toft_region_commit(r->control, (size_t)(r->top - r->base) + front + size)) return NULL;
  unsigned char *p = r->top + front, *before = r->top;
  r->top = p + size;
  r->high = r->top > r->high ? r->top : r->high;
  r->used += front + size;
  if (front != 0) toft_region_put(self, before, front);
  return p;
}

static void toft_region_unlink_arena(toft_region *r, void *block) {
  for (toft_region_arena_link **at = &r->arenas; *at != NULL; at = &(*at)->older)
    if ((unsigned char *)*at == (unsigned char *)block + TOFT_REGION_LINK) {
      *at = (*at)->older;
      return;
    }
}

static void toft_region_put(toft_source *self, void *block, size_t size) {
  toft_region *r = (toft_region *)(void *)self;
  if (size == TOFT_BLOCK_MIN) toft_region_unlink_arena(r, block);
  toft_free_block *b = (toft_free_block *)block, **at = &r->free, *before = NULL;
  r->used -= size;
  b->size = size;
  while (*at != NULL && (unsigned char *)*at < (unsigned char *)b) {
    before = *at;
    at = &before->next;
  }
  b->next = *at;
  *at = b;
  if (b->next != NULL && (unsigned char *)b + b->size == (unsigned char *)b->next) {
    b->size += b->next->size;
    b->next = b->next->next;
  }
  if (before != NULL && (unsigned char *)before + before->size == (unsigned char *)b) {
    before->size += b->size;
    before->next = b->next;
    b = before;
  }
  if ((unsigned char *)b + b->size == r->top) { /* the last one */
    r->top = (unsigned char *)b;
    at = &r->free;
    while (*at != b) at = &(*at)->next;
    *at = NULL;
  }
}

/* ---- create and release ---- */

static void toft_region_forget_checkpoints(toft_region_control *c);
static int toft_region_has_checks(void); /* region_outside.c */

static void toft_region_free_control(toft_region_control *c) {
  if (c->reserved == NULL || toft_os_unmap(c->reserved, c->reserved_size)) TOFT_HELD_LESS(c->committed);
  toft_os_heap_put(c);
}

/* Returns the range; its content may be zero. */
static void toft_region_discard(toft_region_control *c) {
  toft_region_forget_checkpoints(c);
  toft_region_free_control(c);
}

static toft_region *toft_region_begin(toft_region_control *c) {
  toft_region *r = c->region;
  if (!toft_region_commit(c, TOFT_REGION_HEADER)) return NULL;
  memset(r, 0, sizeof *r);
  r->source.take = toft_region_take;
  r->source.put = toft_region_put;
  r->control = c;
  r->base = (unsigned char *)r;
  r->top = r->high = r->base + TOFT_REGION_HEADER;
  r->omitted = r->omitted_end = r->base;
  r->used = TOFT_REGION_HEADER;
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
  if (o->memory == NULL) {
    c->reserved_size = reserved;
    c->reserved = (unsigned char *)toft_os_reserve(reserved);
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
  o->max = toft_region_max(o->max);
  if (!toft_region_is_valid_max(o->max)) return 0;
  if ((o->flags & ~(uint32_t)(TOFT_REGION_PRIVATE_PAGES | TOFT_REGION_CHECKED)) != 0) return 0;
  if ((o->flags & TOFT_REGION_CHECKED) != 0 && !toft_region_has_checks()) return 0;
  if ((o->flags & TOFT_REGION_PRIVATE_PAGES) != 0 && (o->memory != NULL || !toft_os_has_memory_files())) return 0;
  return ((uintptr_t)o->memory & (TOFT_BLOCK_MIN - 1)) == 0;
}

int toft_region_check(const toft_region_options *options) {
  toft_region_options o;
  return toft_region_read_options(options, &o) ? TOFT_OK : TOFT_EARG;
}

toft_region *toft_region_create(const toft_region_options *options) {
  toft_region_options o;
  if (!toft_region_read_options(options, &o)) return NULL;
  size_t given = options == NULL ? 0 : options->memory != NULL ? o.max : options->max;
  toft_region *r = toft_region_create_in(&o, o.max, 1, 0);
  while (r == NULL && toft_region_halve_max(given, &o.max, 0)) r = toft_region_create_in(&o, o.max, 1, 0);
  return r;
}

void toft_region_release(toft_region *r) {
  if (r == NULL) return;
  toft_region_control *c = r->control;
  while (r->arenas != NULL) {
    toft_region_arena_link *newest = r->arenas;
    toft_state *a = toft_region_arena_of(newest);
    if (!toft_region_is_adopted(a)) toft_release(&a->head);
    if (r->arenas == newest) r->arenas = newest->older; /* adopted, or its release is refused */
  }
  for (toft_region_recycler_block *block = r->recyclers; block != NULL; block = block->older)
    if (block->u.recycler.checked) toft_recycler_release(&block->u.recycler); /* whose records lie elsewhere */
  toft_region_discard(c);
}

/* ---- what lies in a region ---- */

toft_source *toft_region_source(toft_region *r) { return &r->source; }

/* Without the switches of the environment: the records of checked and metered arenas are outside of the range. */
toft_arena *toft_region_arena(toft_region *r) {
  toft_state *a = toft_create_from(&r->source, 0);
  if (a == NULL) return NULL;
  toft_region_arena_link *link = (toft_region_arena_link *)(void *)((unsigned char *)a + TOFT_REGION_LINK);
  link->older = r->arenas;
  link->number = ++r->arena_count;
  r->arenas = link;
  if (r->control->freezes == TOFT_REGION_FREEZES_CHECKED) {
    toft_sync_in(a);
    (void)toft_begin_checks(a); /* without memory for records, the sites stay unknown */
    toft_set_limit(a);
  }
  return &a->head;
}

static toft_recycler *toft_region_recycler_in(toft_region *r) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_region_recycler_block *block = (toft_region_recycler_block *)toft_region_take(&r->source, TOFT_BLOCK_MIN);
  if (block == NULL) return NULL;
  memset(block, 0, sizeof *block);
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

void toft_region_set_root(toft_region *r, void *root) { r->root = root; }
void *toft_region_root(const toft_region *r) { return r->root; }

void toft_region_trim(toft_region *r) {
  toft_region_control *c = r->control;
  size_t used = toft_os_page((size_t)(r->top - r->base));
  if (used < c->committed) toft_os_forget(r->base + used, c->committed - used);
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
