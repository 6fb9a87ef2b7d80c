/* Recyclers of a checked process. No class has a slab and object_mask is 0, so every call takes the slow path. Each
 * object has red zones and lies in a second recycler on the same source; its record lies outside it. A freed object
 * stays in quarantine, filled, until TOFT_QUARANTINE_MAX bytes were freed after it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECYCLER_RECYCLER_CHECKED_C
#define TOFT_RECYCLER_RECYCLER_CHECKED_C

#include "../debug/debug_ops.c"
#include "../debug/debug_records.c"
#include "../debug/live_registry.c"
#include "../debug/quarantine.c"
#include "../debug/reports.c"
#include "../platform/lifecycle.h"
#include "recycler.c"
#include "recycler_stats.c"

typedef struct toft_object {
  struct toft_object *next;       /* of the bucket */
  struct toft_object *freed_next; /* the object freed after it */
  toft_record record;
} toft_object;

struct toft_recycler_checks {
  toft_live_entry registered;
  size_t busy_thread; /* the thread in a call; 0: none. Atomic */
  toft_call_info call;
  toft_recycler memory;
  toft_object **buckets; /* bucket_count is a power of two */
  size_t bucket_count, count;
  toft_object *oldest, **youngest; /* objects in quarantine */
  size_t quarantined_bytes;        /* bytes of these */
  uint64_t live;                   /* bytes of live objects, rounded up to 8 */
};
typedef struct toft_recycler_checks toft_recycler_checks;

/* ---- records by address ---- */

static toft_object **toft_object_bucket(const toft_recycler_checks *c, const void *p) {
  return &c->buckets[((uintptr_t)p >> 3) * 0x9E3779B1u >> 7 & (c->bucket_count - 1)];
}

static toft_object *toft_object_find(const toft_recycler_checks *c, const void *p) {
  toft_object *o = c->bucket_count != 0 ? *toft_object_bucket(c, p) : NULL;
  while (o != NULL && o->record.p != p) o = o->next;
  return o;
}

static void toft_object_link(toft_recycler_checks *c, toft_object *o) {
  toft_object **bucket = toft_object_bucket(c, o->record.p);
  o->next = *bucket;
  *bucket = o;
}

/* Keeps at most one object per bucket on average. 0: no memory. */
static int toft_object_reserve(toft_recycler_checks *c) {
  size_t old_count = c->bucket_count, new_count = old_count != 0 ? 2 * old_count : 64;
  toft_object **old = c->buckets, **more;
  if (c->count < old_count) return 1;
  more = (toft_object **)calloc(new_count, sizeof(void *));
  if (more == NULL) return old_count != 0; /* longer chains also work */
  c->buckets = more;
  c->bucket_count = new_count;
  for (size_t i = 0; i < old_count; i++) {
    for (toft_object *o = old[i], *next; o != NULL; o = next) {
      next = o->next;
      toft_object_link(c, o);
    }
  }
  free(old);
  return 1;
}

static void toft_object_unlink(toft_recycler_checks *c, const toft_object *o) {
  toft_object **at = toft_object_bucket(c, o->record.p);
  while (*at != o) at = &(*at)->next;
  *at = o->next;
  c->count--;
}

/* ---- findings ---- */

static void toft_object_report_misuse(const toft_recycler_checks *c, int kind, const void *p, size_t claimed_size,
                                      const toft_object *o) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  f.p = (const unsigned char *)p;
  f.claimed_size = claimed_size;
  f.detected = c->call;
  if (o != NULL) toft_report_set_allocation(&f, &o->record);
  toft_publish_report(&f);
}

static void toft_object_report_written(const toft_recycler_checks *c, int kind, const toft_object *o,
                                       const unsigned char *from, const unsigned char *to, int open_ended) {
  toft_report f;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  toft_report_set_allocation(&f, &o->record);
  toft_report_set_written(&f, f.p, from, to, open_ended);
  f.detected = c->call;
  toft_publish_report(&f);
}

/* Checks the red zones of a live object, or all bytes of a freed one. Each damage is reported once. */
static void toft_object_verify(const toft_recycler_checks *c, toft_object *o) {
  toft_record *r = &o->record;
  const unsigned char *from = r->start, *to = r->end;
  if (r->freed.op == NULL) {
    int open_ended, kind = toft_redzone_damage(r, &from, &to, &open_ended);
    if (kind != 0 && !r->reported) toft_object_report_written(c, kind, o, from, to, open_ended);
    r->reported |= kind != 0;
    toft_poison_redzones(r);
    return;
  }
  toft_unpoison(r->start, (size_t)(r->end - r->start));
  if (toft_written_part(&from, &to, TOFT_POISON_FREED)) {
    toft_object_report_written(c, TOFT_FOUND_LATE_WRITE, o, from, to, to == r->end);
    toft_unpoison(r->start, (size_t)(r->end - r->start));
    memset(r->start, TOFT_POISON_FREED, (size_t)(r->end - r->start));
  }
  toft_poison(r->start, (size_t)(r->end - r->start));
}

/* ---- calls: one thread at a time ---- */

/* 0: another thread is in a call, which is reported, or this thread calls from a hook. */
static int toft_recycler_begin_call(toft_recycler_checks *c, const char *op, uintptr_t site) {
  toft_call_info call = toft_call_begun(op, site);
  size_t me = call.thread, other = 0;
  if (TOFT_CAS_ACQUIRE(&c->busy_thread, &other, me)) {
    c->call = call;
    return 1;
  }
  if (other != me) {
    toft_report f;
    memset(&f, 0, sizeof f);
    f.kind = TOFT_FOUND_TWO_THREADS;
    f.allocated = c->call;
    f.detected = call;
    toft_publish_report(&f);
  }
  return 0;
}

static void toft_recycler_end_call(toft_recycler_checks *c) { TOFT_CLEAR_RELEASE(&c->busy_thread); }

/* ---- at exit ---- */

static toft_recycler_checks *toft_recycler_checks_of(toft_live_entry *r) {
  return (toft_recycler_checks *)(void *)((unsigned char *)r - offsetof(toft_recycler_checks, registered));
}

static int toft_recycler_begin_call_at_exit(toft_live_entry *r) {
  size_t none = 0;
  return TOFT_CAS_ACQUIRE(&toft_recycler_checks_of(r)->busy_thread, &none, toft_thread_id());
}

/* Only recyclers on the heap source are registered: a caller's source may have ended before its recycler. */
static void toft_recycler_verify_at_exit(toft_live_entry *r) {
  toft_recycler_checks *c = toft_recycler_checks_of(r);
  memset(&c->call, 0, sizeof c->call);
  c->call.op = "exit";
  c->call.thread = toft_thread_id();
  for (size_t i = 0; i < c->bucket_count; i++)
    for (toft_object *o = c->buckets[i]; o != NULL; o = o->next) toft_object_verify(c, o);
  toft_recycler_end_call(c);
}

/* ---- begin and end ---- */

/* Returns the checks of r, creating them if needed. NULL: no memory for them, or for the blocks of options.count. */
static toft_recycler_checks *toft_recycler_checks_for(toft_recycler *r) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_recycler_checks *c = r->checks;
  if (c != NULL) return c;
  c = (toft_recycler_checks *)calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  toft_arm_fork();
  o.source = r->source;
  o.count = r->count;
  o.block_size = r->block_size;
  if (toft_recycler_init_as(&c->memory, &o, 0) != TOFT_OK) {
    free(c);
    return NULL;
  }
  c->youngest = &c->oldest;
  if (r->source == &toft_heap_source)
    toft_registry_add(&c->registered, toft_recycler_begin_call_at_exit, toft_recycler_verify_at_exit);
  return r->checks = c;
}

/* Frees the oldest objects in quarantine until at most `keep` bytes remain. */
static void toft_recycler_quarantine_flush(toft_recycler_checks *c, size_t keep) {
  while (c->quarantined_bytes > keep) {
    toft_object *o = c->oldest;
    size_t total = (size_t)(o->record.end - o->record.start);
    toft_object_verify(c, o);
    c->oldest = o->freed_next;
    if (c->oldest == NULL) c->youngest = &c->oldest;
    c->quarantined_bytes -= total;
    toft_object_unlink(c, o);
    toft_unpoison(o->record.start, total);
    toft_recycler_free(&c->memory, o->record.start, total);
    free(o);
  }
}

static void toft_recycler_release_checked(toft_recycler *r, uintptr_t site) {
  toft_recycler_checks *c = r->checks;
  if (c == NULL || !toft_recycler_begin_call(c, "release", site)) return;
  toft_registry_remove(&c->registered);
  for (size_t i = 0; i < c->bucket_count; i++) {
    for (toft_object *o = c->buckets[i], *next; o != NULL; o = next) {
      next = o->next;
      toft_object_verify(c, o);
      toft_unpoison(o->record.start, (size_t)(o->record.end - o->record.start));
      free(o);
    }
  }
  toft_recycler_release(&c->memory);
  r->peak = toft_max(r->peak, c->memory.peak);
  r->source_calls += c->memory.source_calls;
  r->checks = NULL;
  free(c->buckets);
  free(c);
}

/* ---- objects ---- */

static void *toft_recycler_alloc_object(toft_recycler_checks *c, size_t size, size_t align) {
  size_t front = toft_max(align, TOFT_REDZONE), total = toft_size_with_redzones(size, align);
  toft_object *o = toft_object_reserve(c) ? (toft_object *)calloc(1, sizeof *o) : NULL;
  if (o == NULL) return NULL;
  unsigned char *base = (unsigned char *)toft_recycler_alloc(&c->memory, total, front);
  if (base == NULL && c->quarantined_bytes != 0) {
    toft_recycler_quarantine_flush(c, 0);
    base = (unsigned char *)toft_recycler_alloc(&c->memory, total, front);
  }
  if (base == NULL) {
    free(o);
    return NULL;
  }
  toft_record *r = &o->record;
  r->start = base;
  r->p = base + front;
  r->end = base + total;
  r->size = size;
  r->allocated = c->call;
  toft_unpoison(base, total);
  memset(base, TOFT_POISON_REDZONE, total);
  memset(r->p, TOFT_POISON_UNINIT, size);
  toft_mark_undefined(r->p, size);
  toft_poison_redzones(r);
  toft_object_link(c, o);
  c->count++;
  c->live += TOFT_ROUND8(size);
  return r->p;
}

static void toft_recycler_quarantine_push(toft_recycler_checks *c, toft_object *o) {
  toft_record *r = &o->record;
  toft_object_verify(c, o);
  c->live -= TOFT_ROUND8(r->size);
  toft_fill_freed(r->start, r->end);
  r->freed = c->call;
  o->freed_next = NULL;
  *c->youngest = o;
  c->youngest = &o->freed_next;
  c->quarantined_bytes += (size_t)(r->end - r->start);
  toft_recycler_quarantine_flush(c, TOFT_QUARANTINE_MAX);
}

/* The live object at p; NULL: there is none, which is reported. A wrong size is only reported. */
static toft_object *toft_object_require(const toft_recycler_checks *c, const void *p, size_t size) {
  toft_object *o = toft_object_find(c, p);
  if (o == NULL || o->record.freed.op != NULL) {
    toft_object_report_misuse(c, o == NULL ? TOFT_FOUND_FOREIGN : TOFT_FOUND_DOUBLE_FREE, p, size, o);
    return NULL;
  }
  if (size != TOFT_SIZE_UNKNOWN && o->record.size != size)
    toft_object_report_misuse(c, TOFT_FOUND_WRONG_SIZE, p, size, o);
  return o;
}

/* `size` is the requested size, 1 for 0; `align` is a power of two. */
static void *toft_recycler_alloc_checked(toft_recycler *r, size_t size, size_t align, uintptr_t site) {
  toft_recycler_checks *c = toft_recycler_checks_for(r);
  if (c == NULL || !toft_recycler_begin_call(c, "alloc", site)) return NULL;
  void *p = toft_recycler_alloc_object(c, size, align);
  toft_recycler_end_call(c);
  return p;
}

static void toft_recycler_free_checked(toft_recycler *r, void *p, size_t size, uintptr_t site) {
  toft_recycler_checks *c = toft_recycler_checks_for(r);
  if (c == NULL || !toft_recycler_begin_call(c, "free", site)) return;
  toft_object *o = toft_object_require(c, p, size);
  if (o != NULL) toft_recycler_quarantine_push(c, o);
  toft_recycler_end_call(c);
}

/* The requested size of the object at p. 0: there is none, which the next call that frees it reports. */
static size_t toft_recycler_size_checked(const toft_recycler *r, const void *p) {
  const toft_object *o = r->checks != NULL ? toft_object_find(r->checks, p) : NULL;
  return o != NULL ? o->record.size : 0;
}

/* Resizes in place if the object shrinks; else copies, so that uses of the old address are detected. */
static void *toft_recycler_resize_checked(toft_recycler *r, void *p, size_t old_size, size_t new_size, size_t align,
                                          uintptr_t site) {
  toft_recycler_checks *c = toft_recycler_checks_for(r);
  void *q = NULL;
  if (c == NULL || !toft_recycler_begin_call(c, "resize", site)) return NULL;
  toft_object *o = toft_object_require(c, p, old_size);
  if (o != NULL && new_size <= o->record.size && toft_pad((unsigned char *)p, align) == 0) {
    toft_record *record = &o->record;
    unsigned char *end = record->p + new_size;
    toft_object_verify(c, o);
    c->live -= TOFT_ROUND8(record->size) - TOFT_ROUND8(new_size);
    toft_unpoison(end, (size_t)(record->end - end));
    memset(end, TOFT_POISON_REDZONE, (size_t)(record->end - end));
    toft_poison(end, (size_t)(record->end - end));
    record->size = new_size;
    q = p;
  } else if (o != NULL && (q = toft_recycler_alloc_object(c, new_size, align)) != NULL) {
    memcpy(q, p, toft_min(o->record.size, new_size));
    toft_recycler_quarantine_push(c, o);
  }
  toft_recycler_end_call(c);
  return q;
}

static size_t toft_recycler_trim_checked(toft_recycler *r, size_t keep, uintptr_t site) {
  toft_recycler_checks *c = r->checks;
  if (c == NULL || !toft_recycler_begin_call(c, "trim", site)) return 0;
  toft_recycler_quarantine_flush(c, 0);
  size_t idle = toft_recycler_trim_to(&c->memory, keep);
  toft_recycler_end_call(c);
  return idle;
}

/* Red zones and objects in quarantine count as wasted. */
static toft_recycler_stats toft_recycler_stats_checked(const toft_recycler *r) {
  const toft_recycler_checks *c = r->checks;
  toft_recycler_stats s;
  memset(&s, 0, sizeof s);
  if (c != NULL) {
    s = toft_recycler_get_stats(&c->memory);
    s.wasted += s.used - c->live;
    s.used = c->live;
  }
  s.peak = toft_max(r->peak, (size_t)s.peak);
  s.source_calls += r->source_calls;
  return s;
}

#endif
