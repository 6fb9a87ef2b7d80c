/* The client in C: libtoft's inline functions, on arenas of any provider. With HEADERS defined it needs no library, and
 * has no leases.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "conformance.h"
#include "toft.h"
#ifndef HEADERS
#include "toft/lease.h"
#endif

static int accept(toft_arena *a) {
  return a->ops->version == 1 && a->ops->size >= sizeof(toft_arena_ops) ? TOFT_OK : TOFT_ENOSYS;
}

static void *alloc(toft_arena *a, size_t size, size_t align) {
  return align == 8 ? toft_alloc(a, size) : toft_alloc_aligned(a, size, align);
}

static void *zeroed(toft_arena *a, size_t size, size_t align) { return toft_alloc_zeroed(a, size, align); }

static void *resize(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align) {
  return toft_resize(a, p, old_size, new_size, align);
}

static void free_newest(toft_arena *a, void *p, size_t size) { toft_free(a, p, size); }

static toft_mark mark(toft_arena *a) { return toft_mark_here(a); }

static int rewind_to(toft_arena *a, toft_mark m) { return toft_rewind(a, m); }

static int reset(toft_arena *a) { return toft_reset(a); }

static void trim(toft_arena *a, size_t keep) { toft_trim(a, keep); }

static int budget(toft_arena *a, uint64_t bytes) { return toft_set_budget(a, bytes); }

static int checked(toft_arena *a, int on) { return toft_set_checked(a, on); }

static void stats(toft_arena *a, toft_stats *out) {
  toft_stats s = toft_get_stats(a);
  uint64_t words[] = {s.live, s.allocated, s.peak, s.budget, s.reserved, s.wasted, s.blocks, s.source_calls};
  memcpy(out, words, sizeof words); /* member by member, by this file's own idea of them */
}

static int contains(toft_arena *a, const void *p) { return toft_contains(a, p); }

/* As for an object whose construction may fail: registered first, filled in then. */
static int cleanup(toft_arena *a, void (*notify)(void *), void *arg) {
  toft_cleanup *node = toft_cleanup_add(a, NULL, NULL);
  if (node == NULL) return 0;
  node->arg = arg;
  node->fn = notify;
  return 1;
}

static conformance_record *claimed(toft_arena *a, const conformance_record *older, uint64_t count, uint64_t seed,
                                   void (*during)(void *), void *arg) {
  toft_range r;
  if (toft_claim(a, &r) != TOFT_OK) return NULL;
  conformance_record *newest = NULL;
  for (uint64_t i = 0; i < count; i++) {
    if (i == count / 2) during(arg);
    newest = (conformance_record *)toft_range_alloc(a, &r, sizeof *newest);
    if (newest == NULL) break;
    newest->older = older;
    newest->size = 0;
    newest->seed = seed + i;
    older = newest;
  }
  return toft_unclaim(a, &r) == TOFT_OK ? newest : NULL;
}

static int release(toft_arena *a) {
  toft_release(a);
  return TOFT_OK;
}

static conformance_record *write_one(toft_arena *a, const conformance_record *older, uint64_t size, uint64_t seed,
                                     size_t align) {
  conformance_record *r = (conformance_record *)toft_alloc_aligned(a, sizeof *r + (size_t)size, align);
  if (r == NULL) return NULL;
  r->older = older;
  r->size = size;
  r->seed = seed;
  unsigned char *bytes = (unsigned char *)(r + 1);
  for (uint64_t i = 0; i < size; i++) bytes[i] = (unsigned char)(seed * 131 + i * 7 + i / 256);
  return r;
}

static uint64_t read_all(const conformance_record *r) {
  uint64_t whole = 0;
  for (; r != NULL; r = r->older, whole++) {
    const unsigned char *bytes = (const unsigned char *)(r + 1);
    for (uint64_t i = 0; i < r->size; i++)
      if (bytes[i] != (unsigned char)(r->seed * 131 + i * 7 + i / 256)) return whole;
  }
  return whole;
}

#ifndef HEADERS
static toft_arena *lease(uint64_t *key) {
  toft_lease l = toft_lease_get(NULL);
  *key = l.generation;
  return l.arena;
}

static int end_lease(toft_arena *a, uint64_t key) {
  toft_lease l = {a, key};
  return toft_lease_return(NULL, l);
}
#endif

const conformance_client *conformance_client_table(void);
__attribute__((visibility("default"))) const conformance_client *conformance_client_table(void) {
  static const conformance_client table = {.name = "C",
                                           .accept = accept,
                                           .alloc = alloc,
                                           .zeroed = zeroed,
                                           .resize = resize,
                                           .free = free_newest,
                                           .mark = mark,
                                           .rewind = rewind_to,
                                           .reset = reset,
                                           .trim = trim,
                                           .budget = budget,
                                           .checked = checked,
                                           .stats = stats,
                                           .contains = contains,
                                           .cleanup = cleanup,
                                           .node_alone = 1,
                                           .claimed = claimed,
                                           .release = release,
                                           .write = write_one,
#ifndef HEADERS
                                           .lease = lease,
                                           .end_lease = end_lease,
#endif
                                           .read = read_all};
  return &table;
}
