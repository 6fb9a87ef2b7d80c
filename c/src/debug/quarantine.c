/* The quarantine: freed heap blocks of checked arenas, filled and poisoned, whose reuse is delayed. The head of a
 * released arena stays readable, with ops that report a use after release. Blocks are checked and freed, the oldest
 * first, while there are more bytes than the limit, and all of them when the process or the library ends.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_QUARANTINE_C
#define TOFT_DEBUG_QUARANTINE_C

#include "../core/block_cache.c"
#include "../platform/atomic.c"
#include "../platform/sanitizers.c"
#include "debug_ops.c"
#include "debug_records.c"
#include "reports.c"

#define TOFT_QUARANTINE_MAX TOFT_MIB /* total bytes */

typedef struct toft_quarantined {
  struct toft_quarantined *next;
  unsigned char *block;
  size_t size, readable; /* readable: unpoisoned bytes at the start, the head of an arena, or 0 */
  toft_record *freed;    /* its last records */
  size_t count;
  toft_call_info released;
} toft_quarantined;

static toft_lock toft_quarantine_lock;
static toft_quarantined *toft_quarantine_oldest, **toft_quarantine_end = &toft_quarantine_oldest;
static size_t toft_quarantine_bytes;

/* ---- the head of a released arena ---- */

static void toft_report_use_after_release(toft_arena *head, const char *op, uintptr_t site) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_RELEASED;
  f.arena = head;
  f.p = (const unsigned char *)head;
  f.detected = toft_call_begun(op, site);
  toft_lock_take(&toft_quarantine_lock);
  for (const toft_quarantined *d = toft_quarantine_oldest; d != NULL; d = d->next)
    if (d->block == (const unsigned char *)head) f.freed = d->released;
  TOFT_UNLOCK(&toft_quarantine_lock);
  toft_publish_report(&f);
}

static void *toft_released_alloc(toft_arena *a, size_t size, size_t align, uint32_t flags, uintptr_t site) {
  (void)size, (void)align, (void)flags;
  toft_report_use_after_release(a, "alloc", site != 0 ? site : TOFT_CALLER());
  return NULL;
}
static void *toft_released_resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align,
                                  uint32_t flags, uintptr_t site) {
  (void)p, (void)old_size, (void)new_size, (void)align, (void)flags;
  toft_report_use_after_release(a, "resize", site != 0 ? site : TOFT_CALLER());
  return NULL;
}
static void toft_released_free(toft_arena *a, void *p, size_t size) {
  (void)p, (void)size;
  toft_report_use_after_release(a, "free", TOFT_CALLER());
}
static int toft_released_rewind(toft_arena *a, unsigned char *cursor, uintptr_t epoch) {
  (void)cursor, (void)epoch;
  toft_report_use_after_release(a, "rewind", TOFT_CALLER());
  return TOFT_EMARK;
}
static int toft_released_reset(toft_arena *a, uint32_t policy, size_t keep) {
  (void)policy, (void)keep;
  toft_report_use_after_release(a, "reset", TOFT_CALLER());
  return TOFT_EBUSY;
}
static void toft_released_trim(toft_arena *a, size_t keep) {
  (void)keep;
  toft_report_use_after_release(a, "trim", TOFT_CALLER());
}
static toft_cleanup *toft_released_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  (void)fn, (void)arg;
  toft_report_use_after_release(a, "cleanup", TOFT_CALLER());
  return NULL;
}
static void *toft_released_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  (void)r, (void)size, (void)align;
  toft_report_use_after_release(a, "claim", TOFT_CALLER());
  return NULL;
}
static int toft_released_give(toft_arena *a, toft_range *r) {
  (void)r;
  toft_report_use_after_release(a, "give", TOFT_CALLER());
  return TOFT_EARG;
}
static int toft_released_contains(const toft_arena *a, const void *p) {
  (void)a, (void)p;
  return 0;
}
static size_t toft_released_stats(toft_arena *a, toft_stats *out, size_t out_size) {
  (void)out, (void)out_size;
  toft_report_use_after_release(a, "stats", TOFT_CALLER());
  return 0;
}
static int toft_released_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  (void)what, (void)value, (void)name, (void)name_len;
  toft_report_use_after_release(a, "set", TOFT_CALLER());
  return TOFT_EBUSY;
}
static void toft_released_release(toft_arena *a) { toft_report_use_after_release(a, "release", TOFT_CALLER()); }

static const toft_arena_ops toft_released_ops = {
    sizeof(toft_arena_ops), 1,
    toft_released_alloc,    toft_released_resize,
    toft_released_free,     toft_released_rewind,
    toft_released_reset,    toft_released_trim,
    toft_released_cleanup,  toft_released_claim,
    toft_released_give,     toft_released_contains,
    toft_released_stats,    toft_released_set,
    toft_released_release,
};

/* Makes every inline path call the table above: the head has no bytes remaining, and is instrumented. */
static void toft_head_set_released(toft_arena *head) {
  head->cursor = head->limit = (unsigned char *)head;
  head->ops = &toft_released_ops;
  head->epoch = 1;
  toft_mark_defined(head, sizeof *head);
}

/* ---- blocks ---- */

static void toft_verify_quarantined(const toft_quarantined *d) {
  unsigned char *from = d->block + d->readable, *end = d->block + d->size;
  toft_unpoison(from, d->size - d->readable);
  const unsigned char *at = from, *to = end;
  if (!toft_written_part(&at, &to, TOFT_POISON_FREED)) return;
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_LATE_WRITE;
  f.p = d->block;
  f.size = d->size;
  f.freed = d->released;
  for (size_t i = 0; i < d->count; i++) {
    const toft_record *r = &d->freed[i];
    if (at >= r->start && at < r->end) toft_report_set_allocation(&f, r);
  }
  toft_report_set_written(&f, f.p, at, to, to == end);
  f.detected.op = "a check of released memory";
  f.detected.thread = toft_thread_id();
  toft_publish_report(&f);
}

static void toft_quarantine_flush(size_t bytes) {
  for (;;) {
    toft_lock_take(&toft_quarantine_lock);
    toft_quarantined *d = toft_quarantine_bytes > bytes ? toft_quarantine_oldest : NULL;
    if (d != NULL) {
      toft_quarantine_oldest = d->next;
      if (toft_quarantine_oldest == NULL) toft_quarantine_end = &toft_quarantine_oldest;
      TOFT_ASSERT(d->size <= toft_quarantine_bytes);
      toft_quarantine_bytes -= d->size;
    }
    TOFT_UNLOCK(&toft_quarantine_lock);
    if (d == NULL) return;
    toft_verify_quarantined(d);
    toft_unpoison(d->block, d->size);
    toft_heap_put(NULL, d->block, d->size);
    free(d->freed);
    free(d);
  }
}

void toft_quarantine_trim(void) { toft_quarantine_flush(0); }

/* Puts a heap block into quarantine. 0: it is too large, or there is no memory for the entry. */
static int toft_quarantine_push(toft_checks *c, const toft_block_header *header, void *block, size_t size,
                                size_t readable) {
  if (size > TOFT_QUARANTINE_MAX / 2) return 0;
  toft_quarantined *d = (toft_quarantined *)calloc(1, sizeof *d);
  if (d == NULL) return 0;
  d->block = (unsigned char *)block;
  d->size = size;
  d->readable = readable;
  d->released = c->call;
  toft_block_log *s = *toft_block_log_of(c, header);
  if (s != NULL) {
    d->freed = s->freed;
    d->count = s->count;
    s->freed = NULL;
    s->count = s->capacity = 0;
  }
  toft_fill_freed(d->block + readable, d->block + size);
  toft_lock_take(&toft_quarantine_lock);
  TOFT_ASSERT(*toft_quarantine_end == NULL && readable <= size);
  *toft_quarantine_end = d;
  toft_quarantine_end = &d->next;
  toft_quarantine_bytes += size;
  TOFT_UNLOCK(&toft_quarantine_lock);
  toft_quarantine_flush(TOFT_QUARANTINE_MAX);
  return 1;
}

/* Called for each block except the initial one that leaves the arena. 1: it is in quarantine, and must not be returned
 * to its source. */
static int toft_quarantine_block(toft_state *a, toft_block_header *b) {
  toft_checks *c = a->checks;
  size_t size = b->size;
  (void)toft_verify_block_log(a, *toft_block_log_of(c, b));
  int kept = (a->state & TOFT_IS_CHECKED) && b->source == &toft_heap_source && toft_quarantine_push(c, b, b, size, 0);
  if (!kept) toft_unpoison(b, size);
  toft_block_log_release(c, b);
  return kept;
}

/* Called when the arena was released; its initial block has `size` bytes. 1: it is in quarantine. */
static int toft_quarantine_initial(toft_state *a, size_t size) {
  int kept = (a->state & TOFT_IS_CHECKED) && (a->state & TOFT_CACHEABLE);
  toft_checks *c = a->checks;
  toft_unpoison(a, size);
  toft_head_set_released(&a->head);
  kept = kept && toft_quarantine_push(c, &a->initial, a, size, sizeof a->head);
  toft_checks_release(c);
  return kept;
}

#endif
