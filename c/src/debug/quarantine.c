/* After the end. Blocks of the heap that checked arenas gave back wait here, filled and closed, before they are used
 * again; the head of a released arena answers that it is one. The oldest go when there are more bytes than the bound,
 * and all when the process or the library ends: each is looked at before it goes.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_QUARANTINE_C
#define TOFT_DEBUG_QUARANTINE_C

#include "../core/block_cache.c"
#include "../platform/atomic.c"
#include "../platform/sanitizers.c"
#include "debug_ops.c"
#include "debug_records.c"
#include "reports.c"

#define TOFT_QUARANTINE TOFT_MIB /* bytes in all */

typedef struct toft_detained {
  struct toft_detained *next;
  unsigned char *block;
  size_t size, open; /* open: bytes at its start that may be read: the head of an arena, or 0 */
  toft_record *gone; /* what was in it last */
  size_t count;
  toft_call released;
} toft_detained;

static toft_lock toft_quarantine_lock;
static toft_detained *toft_oldest, **toft_youngest = &toft_oldest;
static size_t toft_detained_bytes;

/* ---- the head of a released arena ---- */

static void toft_tell_dead(toft_arena *head, const char *by, uintptr_t site) {
  toft_fact f;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_RELEASED;
  f.arena = head;
  f.p = (const unsigned char *)head;
  f.seen.by = by;
  f.seen.site = toft_said != 0 ? toft_said : site;
  f.seen.thread = toft_thread();
  toft_said = 0;
  toft_lock_take(&toft_quarantine_lock);
  for (const toft_detained *d = toft_oldest; d != NULL; d = d->next)
    if (d->block == (const unsigned char *)head) f.gone = d->released;
  TOFT_UNLOCK(&toft_quarantine_lock);
  toft_publish(&f);
}

static void *toft_dead_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  (void)size, (void)align, (void)flags;
  toft_tell_dead(a, "alloc", site != 0 ? site : TOFT_CALLER());
  return NULL;
}
static void *toft_dead_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                              uintptr_t site) {
  (void)p, (void)old_size, (void)new_size, (void)align, (void)flags;
  toft_tell_dead(a, "resize", site != 0 ? site : TOFT_CALLER());
  return NULL;
}
static void toft_dead_free(toft_arena *a, void *p, size_t size) {
  (void)p, (void)size;
  toft_tell_dead(a, "free", TOFT_CALLER());
}
static int toft_dead_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  (void)cursor, (void)epoch;
  toft_tell_dead(a, "rewind", TOFT_CALLER());
  return TOFT_EMARK;
}
static int toft_dead_reset(toft_arena *a, uint32_t policy, size_t keep) {
  (void)policy, (void)keep;
  toft_tell_dead(a, "reset", TOFT_CALLER());
  return TOFT_EBUSY;
}
static void toft_dead_trim(toft_arena *a, size_t keep) {
  (void)keep;
  toft_tell_dead(a, "trim", TOFT_CALLER());
}
static toft_cleanup *toft_dead_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  (void)fn, (void)arg;
  toft_tell_dead(a, "cleanup", TOFT_CALLER());
  return NULL;
}
static void *toft_dead_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  (void)r, (void)size, (void)align;
  toft_tell_dead(a, "claim", TOFT_CALLER());
  return NULL;
}
static int toft_dead_give(toft_arena *a, toft_range *r) {
  (void)r;
  toft_tell_dead(a, "give", TOFT_CALLER());
  return TOFT_EARG;
}
static int toft_dead_contains(const toft_arena *a, const void *p) {
  (void)a, (void)p;
  return 0;
}
static size_t toft_dead_stats(toft_arena *a, toft_stats *out, size_t out_size) {
  (void)out, (void)out_size;
  toft_tell_dead(a, "stats", TOFT_CALLER());
  return 0;
}
static int toft_dead_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  (void)what, (void)value, (void)name, (void)name_len;
  toft_tell_dead(a, "set", TOFT_CALLER());
  return TOFT_EBUSY;
}
static void toft_dead_release(toft_arena *a) { toft_tell_dead(a, "release", TOFT_CALLER()); }

static const toft_arena_ops toft_dead_ops = {
    sizeof(toft_arena_ops), 1,
    toft_dead_alloc,        toft_dead_resize,
    toft_dead_free,         toft_dead_rewind,
    toft_dead_reset,        toft_dead_trim,
    toft_dead_cleanup,      toft_dead_claim,
    toft_dead_give,         toft_dead_contains,
    toft_dead_stats,        toft_dead_set,
    toft_dead_release,
};

/* No room, and watched: every inline path ends in the table above. */
static void toft_bury(toft_arena *head) {
  head->cursor = head->limit = (unsigned char *)head;
  head->ops = &toft_dead_ops;
  head->epoch = 1;
  toft_written(head, sizeof *head);
}

/* ---- blocks ---- */

static void toft_look_at_detained(const toft_detained *d) {
  unsigned char *from = d->block + d->open, *end = d->block + d->size;
  toft_open(from, d->size - d->open);
  const unsigned char *at = from, *to = end;
  if (!toft_written_part(&at, &to, TOFT_BYTE_GONE)) return;
  toft_fact f;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_LATE_WRITE;
  f.p = d->block;
  f.size = d->size;
  f.gone = d->released;
  for (size_t i = 0; i < d->count; i++) {
    const toft_record *r = &d->gone[i];
    if (at < r->start || at >= r->end) continue;
    toft_fact_of(&f, r);
  }
  toft_fact_written(&f, f.p, at, to, to == end);
  f.seen.by = "a look at released memory";
  f.seen.thread = toft_thread();
  toft_publish(&f);
}

static void toft_discharge(size_t bytes) {
  for (;;) {
    toft_lock_take(&toft_quarantine_lock);
    toft_detained *d = toft_detained_bytes > bytes ? toft_oldest : NULL;
    if (d != NULL) {
      toft_oldest = d->next;
      if (toft_oldest == NULL) toft_youngest = &toft_oldest;
      toft_detained_bytes -= d->size;
    }
    TOFT_UNLOCK(&toft_quarantine_lock);
    if (d == NULL) return;
    toft_look_at_detained(d);
    toft_open(d->block, d->size);
    toft_heap_put(NULL, d->block, d->size);
    free(d->gone);
    free(d);
  }
}

void toft_quarantine_trim(void) { toft_discharge(0); }

/* The block, of the heap, waits. 0: it is too large, or there is no memory to note it. */
static int toft_detain(toft_checks *c, const toft_blk *shadowed, void *block, size_t size, size_t open) {
  if (size > TOFT_QUARANTINE / 2) return 0;
  toft_detained *d = (toft_detained *)calloc(1, sizeof *d);
  if (d == NULL) return 0;
  d->block = (unsigned char *)block;
  d->size = size;
  d->open = open;
  d->released = c->call;
  toft_shadow *s = *toft_shadow_of(c, shadowed);
  if (s != NULL) {
    d->gone = s->gone;
    d->count = s->count;
    s->gone = NULL;
    s->count = s->room = 0;
  }
  toft_fill_gone(d->block + open, d->block + size);
  toft_lock_take(&toft_quarantine_lock);
  *toft_youngest = d;
  toft_youngest = &d->next;
  toft_detained_bytes += size;
  TOFT_UNLOCK(&toft_quarantine_lock);
  toft_discharge(TOFT_QUARANTINE);
  return 1;
}

/* A block leaves its arena, home not meant. 1: it waits here, and does not go to its source. */
static int toft_part_with(toft_state *a, toft_blk *b) {
  toft_checks *c = a->checks;
  size_t size = b->size;
  (void)toft_look_at_shadow(a, *toft_shadow_of(c, b));
  int stays = (a->state & TOFT_IS_CHECKED) && b->source == &toft_heap_source && toft_detain(c, b, b, size, 0);
  if (!stays) toft_open(b, size);
  toft_forget_shadow(c, b);
  return stays;
}

/* The arena has ended: its home is `size` bytes at a. 1: it waits here. */
static int toft_part_with_home(toft_state *a, size_t size) {
  int stays = (a->state & TOFT_IS_CHECKED) && (a->state & TOFT_CACHEABLE);
  toft_checks *c = a->checks;
  toft_open(a, size);
  toft_bury(&a->head);
  stays = stays && toft_detain(c, &a->home, a, size, sizeof a->head);
  toft_drop_checks(c);
  return stays;
}

#endif
