/* abi/examples/fixed.h, in a block of the driver's source: one block, so no placement policy. With CORE defined, it
 * answers every operation beyond the core profile as a provider does that has none of them.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "conformance.h"
#include "examples/fixed.h"

enum { BLOCK = 16 << 20 };

static conformance_source *owner; /* the driver has one source at a time */

/* Of the block too. The arena is at its beginning. */
static void release(toft_arena *a) {
  if (closed((fixed *)(void *)a)) return;
  fixed_release(a);
  owner->put(owner, a, BLOCK);
}

#ifdef CORE
static void *no_resize(toft_arena *a, void *p, size_t old_size, size_t size, size_t align, uint32_t flags,
                       uintptr_t site) {
  (void)a, (void)p, (void)old_size, (void)size, (void)align, (void)flags, (void)site;
  return NULL;
}
static void no_trim(toft_arena *a, size_t keep) { (void)a, (void)keep; }
static toft_cleanup *no_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  (void)a, (void)fn, (void)arg;
  return NULL;
}
static void *no_claim(toft_arena *a, toft_range *r, size_t size, size_t align) {
  (void)a, (void)r, (void)size, (void)align;
  return NULL;
}
static int no_give(toft_arena *a, toft_range *r) {
  (void)a, (void)r;
  return TOFT_EARG;
}
static int no_contains(const toft_arena *a, const void *p) {
  (void)a, (void)p;
  return TOFT_ENOSYS;
}
static int no_set(toft_arena *a, uint32_t what, uint64_t value, const char *name, size_t name_len) {
  (void)a, (void)what, (void)value, (void)name, (void)name_len;
  return TOFT_ENOSYS;
}
static const toft_arena_ops core_ops = {
    sizeof core_ops, 1,        fixed_alloc, no_resize,   NULL,        fixed_rewind, fixed_reset, no_trim,
    no_cleanup,      no_claim, no_give,     no_contains, fixed_stats, no_set,       release,
};
#else
static const toft_arena_ops whole_ops = {
    sizeof whole_ops, 1,           fixed_alloc, fixed_resize,   fixed_free,  fixed_rewind, fixed_reset, fixed_trim,
    fixed_cleanup,    fixed_claim, fixed_give,  fixed_contains, fixed_stats, fixed_set,    release,
};
#endif

static void release_by_table(toft_arena *a) { a->ops->release(a); }

static toft_arena *make(conformance_source *source, uint64_t budget, size_t reserve) {
  (void)reserve;
  owner = source;
  void *block = source->take(source, BLOCK);
  toft_arena *a = block != NULL ? fixed_init(block, BLOCK) : NULL;
  if (a == NULL) return NULL;
#ifdef CORE
  (void)budget;
  a->ops = &core_ops;
#else
  (void)a->ops->set(a, TOFT_SET_BUDGET, budget, NULL, 0);
  a->ops = &whole_ops;
#endif
  return a;
}

static size_t kept(void) { return 0; }

const conformance_provider *conformance_provider_table(void);
__attribute__((visibility("default"))) const conformance_provider *conformance_provider_table(void) {
#ifdef CORE
  static const conformance_provider table = {"core", make, release_by_table, kept, 0, 0, BLOCK - 4096};
#else
  static const conformance_provider table = {
      "fixed", make, release_by_table, kept, CONFORMANCE_FULL, 0, BLOCK - 4096,
  };
#endif
  return &table;
}
