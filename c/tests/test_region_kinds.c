/* Every constructor that takes a source, with a region's: its object is restored whole, or it fails.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "cleanup_order.h"

#if defined(__linux__)
#include <pthread.h>
#endif

enum { HEADER = 4096, OBJECTS = 200, SLOT = 200 };

static toft_region *region_of(uint32_t flags) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  o.max = (size_t)32 << 20;
  toft_region *r = toft_region_create(&o);
  assert_non_null(r);
  return r;
}

/* A limit around the source, in memory of the arena. */
static toft_source *limited(toft_arena *place, toft_source *inner) {
  toft_limited_source *l = toft_new(place, toft_limited_source);
  toft_source *source = toft_limited_source_init(l, inner, (size_t)24 << 20);
  assert_non_null(source);
  return source;
}

/* ---- what is made whole ---- */

typedef struct kind {
  const char *name;
  void *(*make)(toft_arena *place, toft_source *source);
  void *(*alloc)(void *made, size_t size);
  void (*free)(void *made, void *p, size_t size); /* NULL: there is none */
  void (*end)(void *made);
} kind;

static void *make_arena(toft_arena *place, toft_source *source) {
  (void)place;
  return arena_on(source);
}
static void *alloc_in_arena(void *made, size_t size) { return toft_alloc((toft_arena *)made, size); }
static void end_arena(void *made) { toft_release((toft_arena *)made); }

static void *make_pool(toft_arena *place, toft_source *source) {
  toft_pool *p = toft_new(place, toft_pool);
  toft_pool_options o = TOFT_POOL_OPTIONS;
  o.slot_size = SLOT;
  o.slots = OBJECTS;
  o.flags = TOFT_POOL_FIXED;
  o.source = source;
  assert_int_equal(toft_pool_init(p, &o), TOFT_OK);
  return p;
}
static void *alloc_slot(void *made, size_t size) {
  return size <= SLOT ? toft_pool_insert((toft_pool *)made, NULL) : NULL;
}
static void free_slot(void *made, void *p, size_t size) {
  (void)size;
  toft_pool *pool = (toft_pool *)made;
  assert_int_equal(toft_pool_remove(pool, toft_pool_handle_of(pool, p)), TOFT_OK);
}
static void end_pool(void *made) { toft_pool_release((toft_pool *)made); }

static void *make_recycler(toft_arena *place, toft_source *source) {
  toft_recycler *r = toft_new(place, toft_recycler);
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  o.count = 100;
  o.block_size = 64;
  assert_int_equal(toft_recycler_init(r, &o), TOFT_OK);
  return r;
}
static void *alloc_object(void *made, size_t size) { return toft_recycler_alloc((toft_recycler *)made, size, 8); }
static void free_object(void *made, void *p, size_t size) { toft_recycler_free((toft_recycler *)made, p, size); }
static void end_recycler(void *made) { toft_recycler_release((toft_recycler *)made); }

static void *make_malloc(toft_arena *place, toft_source *source) {
  toft_malloc *m = toft_new(place, toft_malloc);
  assert_int_equal(toft_malloc_init(m, source), TOFT_OK);
  return m;
}
static void free_sized(void *made, void *p, size_t size) {
  (void)size;
  toft_malloc_free(made, p);
}
static void end_malloc(void *made) { toft_malloc_release((toft_malloc *)made); }

static void *make_synchronized(toft_arena *place, toft_source *source) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)place;
  o.source = source;
  return toft_sync_recycler_create(&o);
}
static void *alloc_synchronized(void *made, size_t size) {
  return toft_sync_recycler_alloc((toft_sync_recycler *)made, size, 8);
}
static void free_synchronized(void *made, void *p, size_t size) {
  toft_sync_recycler_free((toft_sync_recycler *)made, p, size);
}
static void end_synchronized(void *made) { toft_sync_recycler_release((toft_sync_recycler *)made); }

/* A shared arena with local ones. */
typedef struct shared_parts {
  toft_shared *whole;
  toft_arena *locals[4];
  size_t next;
} shared_parts;

static void *make_shared(toft_arena *place, toft_source *source) {
  shared_parts *s = toft_new_zeroed(place, shared_parts);
  s->whole = toft_shared_create(source);
  assert_non_null(s->whole);
  return s;
}
static void *alloc_shared(void *made, size_t size) {
  shared_parts *s = (shared_parts *)made;
  size_t i = s->next++ % 8;
  if (i >= 4) return toft_shared_alloc(s->whole, size, 8);
  if (s->locals[i] == NULL) s->locals[i] = toft_shared_local(s->whole);
  assert_non_null(s->locals[i]);
  return toft_alloc(s->locals[i], size);
}
static void end_shared(void *made) { assert_int_equal(toft_shared_release(((shared_parts *)made)->whole), TOFT_OK); }

static const kind kinds[] = {
    {"arena", make_arena, alloc_in_arena, NULL, end_arena},
    {"pool", make_pool, alloc_slot, free_slot, end_pool},
    {"recycler", make_recycler, alloc_object, free_object, end_recycler},
    {"malloc", make_malloc, toft_malloc_alloc, free_sized, end_malloc},
    {"synchronized recycler", make_synchronized, alloc_synchronized, free_synchronized, end_synchronized},
    {"shared arena", make_shared, alloc_shared, NULL, end_shared},
};

/* The test's own view, in the region. */
typedef struct content {
  void *made;
  struct {
    unsigned char *p;
    size_t size;
    unsigned seed;
  } objects[OBJECTS];
} content;

static void step(const kind *k, content *c, uint32_t *random) {
  uint32_t i = next_random(random) % OBJECTS, large = next_random(random) % 32 == 0;
  unsigned char *p = c->objects[i].p;
  size_t size = 1 + next_random(random) % (large ? 50000 : SLOT);
  if (p != NULL) {
    assert_true(filled(p, c->objects[i].size, c->objects[i].seed));
    if (k->free == NULL) return;
    k->free(c->made, p, c->objects[i].size);
    c->objects[i].p = NULL;
    return;
  }
  p = (unsigned char *)k->alloc(c->made, size);
  if (p == NULL) return;
  c->objects[i].p = p;
  c->objects[i].size = size;
  c->objects[i].seed = next_random(random) % 200;
  fill(p, size, c->objects[i].seed);
}

static void steps(const kind *k, content *c, uint32_t *random, size_t n) {
  while (n-- != 0) step(k, c, random);
  for (size_t i = 0; i < OBJECTS; i++)
    assert_true(c->objects[i].p == NULL || filled(c->objects[i].p, c->objects[i].size, c->objects[i].seed));
}

/* Memory that is free for the region, but is in use if the kind's count of it is wrong after a restore. */
static void use_elsewhere(toft_region *r, uint32_t *random) {
  toft_arena *a = toft_region_arena(r);
  size_t size = 1 + next_random(random) % 100000;
  assert_non_null(a);
  void *p = toft_alloc(a, size);
  assert_non_null(p);
  memset(p, 0xee, size);
}

static void restored_whole(const kind *k, uint32_t flags, int limits, uint32_t random) {
  toft_region *r = region_of(flags);
  toft_arena *place = toft_region_arena(r);
  toft_source *source = toft_region_source(r);
  assert_int_equal(toft_reserve(place, 65536, 0), TOFT_OK);
  content *c = toft_new_zeroed(place, content);
  while (limits-- != 0) source = limited(place, source);
  uint64_t before = toft_region_get_stats(r).used;
  c->made = k->make(place, source);
  assert_true((unsigned char *)c->made > (unsigned char *)r);
  assert_true((unsigned char *)c->made < (unsigned char *)r + toft_region_get_stats(r).limit);
  steps(k, c, &random, 150);
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  uint64_t used = toft_region_get_stats(r).used;
  toft_checkpoint_info info;
  assert_int_equal(toft_region_next_checkpoint(r, 0, &info), TOFT_OK);
  size_t size = (size_t)info.size - HEADER;
  unsigned char *image = (unsigned char *)malloc(size);
  assert_non_null(image);
  memcpy(image, (unsigned char *)r + HEADER, size);
  for (int round = 0; round < 12; round++) {
    steps(k, c, &random, next_random(&random) % 300);
    use_elsewhere(r, &random);
    if (round % 4 == 3) k->end(c->made);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    assert_memory_equal(image, (unsigned char *)r + HEADER, size);
    assert_int_equal(toft_region_get_stats(r).used, used);
  }
  use_elsewhere(r, &random);
  steps(k, c, &random, 300);
  assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
  k->end(c->made);
  assert_int_equal(toft_region_get_stats(r).used, before);
  free(image);
  toft_region_release(r);
}

static void every_kind_is_restored_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++)
      for (int limits = 0; limits <= 2; limits++)
        for (uint32_t seed = 1; seed <= rounds_of(4); seed++) restored_whole(&kinds[i], flags, limits, seed);
}

#if defined(__linux__)
/* Threads make local arenas at once. */
static void *fill_a_part(void *arg) {
  toft_shared *s = (toft_shared *)arg;
  for (int i = 0; i < 50; i++) {
    toft_arena *a = toft_shared_local(s);
    void *p = a != NULL ? toft_alloc(a, 3000) : NULL, *q = toft_shared_alloc(s, 100, 8);
    if (p == NULL || q == NULL) return NULL;
    memset(p, i, 3000);
    memset(q, i, 100);
  }
  return arg;
}

static void threads_fill_a_shared_arena(void **state) {
  enum { THREADS = 4 };
  (void)state;
  toft_region *r = region_of(0);
  toft_shared *s = toft_shared_create(toft_region_source(r));
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  uint64_t used = toft_region_get_stats(r).used;
  for (int round = 0; round < 5; round++) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, fill_a_part, s), 0);
    for (int i = 0; i < THREADS; i++) {
      void *good;
      assert_int_equal(pthread_join(threads[i], &good), 0);
      assert_ptr_equal(good, s);
    }
    if (round == 2) assert_int_equal(toft_shared_reset(s, TOFT_KEEP_ALL, 0), TOFT_OK);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    assert_int_equal(toft_region_get_stats(r).used, used);
  }
  toft_region_release(r);
}
#endif

/* ---- cleanups ---- */

/* Of arenas on the source, or local ones of the shared arena. */
static void cleanups_of(toft_region *r, toft_source *source, toft_shared *s) {
  toft_arena *a = s != NULL ? toft_shared_local(s) : arena_on(source), *b;
  add(a, "1");
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  for (int round = 0; round < 3; round++) {
    add(a, "2");
    b = s != NULL ? toft_shared_local(s) : arena_on(source);
    add(b, "3");
    add(a, "4");
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    ran("342");
  }
  toft_range range;
  assert_int_equal(toft_claim(a, &range), TOFT_OK);
  assert_int_equal(toft_region_restore(r, 0), TOFT_EBUSY);
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &range), TOFT_OK);
  toft_region_release(r);
  ran("1");
}

static void cleanups_of_every_arena_run(void **state) {
  (void)state;
  for (int limits = 0; limits < 2; limits++)
    for (int shares = 0; shares < 2; shares++) {
      toft_region *r = region_of(0);
      toft_source *source = toft_region_source(r);
      if (limits != 0) source = limited(toft_region_arena(r), source);
      cleanups_of(r, source, shares ? toft_shared_create(source) : NULL);
    }
}

/* Those that are left are in order, whichever were released. */
static void arenas_end_in_any_order(void **state) {
  enum { MANY = 9 };
  static const char names[] = "123456789";
  uint32_t random = 7;
  (void)state;
  for (size_t round = 0; round < rounds_of(400); round++) {
    toft_region *r = region_of(0);
    toft_arena *all[MANY];
    char expected[MANY + 1] = "";
    size_t left = 0;
    for (size_t i = 0; i < MANY; i++) all[i] = arena_on(toft_region_source(r));
    for (size_t i = 0; i < MANY; i++) {
      size_t k = next_random(&random) % MANY;
      if (all[k] != NULL && next_random(&random) % 2 == 0) toft_release(all[k]), all[k] = NULL;
    }
    for (size_t i = MANY; i-- != 0;)
      if (all[i] != NULL) {
        add(all[i], &names[i]);
        expected[left++] = names[i];
      }
    expected[left] = '\0';
    toft_region_release(r);
    ran(expected);
  }
}

/* ---- what is refused ---- */

static void refuses_arenas(toft_source *source) {
  static unsigned char buffer[8192];
  toft_options o = TOFT_OPTIONS;
  assert_null(toft_create_in(buffer, sizeof buffer, source));
  o.source = source;
  o.flags = TOFT_CHECKED;
  assert_null(toft_create_with(&o));
  o.flags = 0;
  toft_lease_options leases = TOFT_LEASE_OPTIONS;
  leases.arenas = &o;
  assert_null(toft_leases_create(&leases));
  assert_null(toft_frames_create(1, &o));
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  assert_null(toft_create_with(&o));
}

/* Structures that do not lie in the region. */
static void refuses_structures(toft_source *source, toft_arena *place) {
  toft_pool *pool = toft_new(place, toft_pool);
  toft_pool_options of_pool = TOFT_POOL_OPTIONS;
  of_pool.slot_size = of_pool.slots = 8;
  of_pool.flags = TOFT_POOL_FIXED;
  of_pool.source = source;
  assert_int_equal(toft_pool_init(pool, &of_pool), TOFT_EARG);
  assert_null(toft_pool_insert(pool, NULL));
  toft_recycler *recycler = toft_new(place, toft_recycler);
  toft_recycler_options of_recycler = TOFT_RECYCLER_OPTIONS;
  of_recycler.source = source;
  assert_int_equal(toft_recycler_init(recycler, &of_recycler), TOFT_EARG);
  assert_null(toft_recycler_alloc(recycler, 8, 8));
  assert_null(toft_recycler_alloc(recycler, 100000, 8));
  toft_recycler_release(recycler);
  toft_malloc *heap = toft_new(place, toft_malloc);
  assert_int_equal(toft_malloc_init(heap, source), TOFT_EARG);
  assert_null(toft_malloc_alloc(heap, 8));
  toft_malloc_release(heap);
  toft_limited_source *limit = toft_new_zeroed(place, toft_limited_source);
  assert_null(toft_limited_source_init(limit, source, 65536));
  assert_null(limit->inner);
  toft_budget_options of_budget = TOFT_BUDGET_OPTIONS;
  of_budget.source = source;
  assert_null(toft_budget_create(&of_budget));
}

static void what_lies_elsewhere_is_refused(void **state) {
  (void)state;
  toft_region *r = region_of(0), *other = region_of(0);
  toft_arena *outside = toft_create(), *place = toft_region_arena(r), *of_other = toft_region_arena(other);
  toft_source *sources[] = {toft_region_source(r), limited(place, toft_region_source(r))};
  uint64_t used = toft_region_get_stats(r).used;
  for (size_t i = 0; i < 2; i++) {
    refuses_arenas(sources[i]);
    refuses_structures(sources[i], outside);
    refuses_structures(sources[i], of_other);
  }
  assert_int_equal(toft_region_get_stats(r).used, used);
  /* Records of checks and meters, and arenas that would hold one another. */
  toft_arena *local = toft_shared_local(toft_shared_create(sources[1])), *all[] = {place, arena_on(sources[1]), local};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(toft_set_checked(all[i], 1), TOFT_ENOSYS);
    assert_int_equal(toft_set_metered(all[i], 1), TOFT_ENOSYS);
    assert_int_equal(toft_set_sampling(all[i], 100), TOFT_ENOSYS);
    assert_int_equal(toft_set_budget(all[i], 100000), TOFT_OK);
    assert_int_equal(toft_adopt(outside, all[i]), TOFT_EARG);
    assert_int_equal(toft_adopt(of_other, all[i]), TOFT_EARG);
    assert_int_equal(toft_adopt(all[i], outside), TOFT_EARG);
  }
  assert_int_equal(toft_adopt(local, all[1]), TOFT_OK);
  toft_release(outside);
  toft_region_release(other);
  toft_region_release(r);
}

/* ---- frozen regions ---- */

#if defined(__linux__)
typedef struct node {
  struct node *next;
  int value;
} node;

/* Arenas on the region's source are scrubbed as the region's own; the other kinds are refused. */
static void *build(toft_region *r, void *argument) {
  toft_arena *a = arena_on(toft_region_source(r)), *ended = arena_on(toft_region_source(r));
  toft_recycler *recycler = toft_new(a, toft_recycler);
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  (void)argument;
  o.source = toft_region_source(r);
  assert_int_equal(toft_recycler_init(recycler, &o), TOFT_EARG);
  toft_free(a, recycler, sizeof *recycler);
  assert_null(toft_sync_recycler_create(&o));
  assert_null(toft_shared_create(o.source));
  assert_non_null(toft_alloc(ended, 100));
  toft_release(ended);
  node *first = toft_new_zeroed(a, node);
  first->next = toft_new_zeroed(a, node);
  first->next->value = 7;
  return first;
}
#endif

static void arenas_are_frozen(void **state) {
  (void)state;
#if defined(__linux__)
  const char *path = "test_region_kinds.frozen";
  toft_frozen file;
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.flags = TOFT_FROZEN_VERIFY;
  assert_int_equal(toft_freeze(build, NULL, path, NULL), TOFT_OK);
  assert_int_equal(toft_frozen_open(&file, path, &o), TOFT_OK); /* the arena that ended leaves nothing */
  const node *first = (const node *)file.root;
  assert_int_equal(first->next->value, 7);
  toft_frozen_close(&file);
  (void)remove(path);
#endif
}

/* ---- memory tools ---- */

#if defined(HAS_ASAN)
extern void __asan_poison_memory_region(const volatile void *p, size_t n);
extern void __asan_unpoison_memory_region(const volatile void *p, size_t n);
extern int __asan_address_is_poisoned(const volatile void *p);
static void close_memory(unsigned char *p, size_t n) { __asan_poison_memory_region(p, n); }
static void open_memory(unsigned char *p, size_t n) { __asan_unpoison_memory_region(p, n); }
static int is_closed(unsigned char *p) { return __asan_address_is_poisoned(p); }
static int watches(void) { return 1; }
#elif defined(RUNNING_ON_VALGRIND)
static void close_memory(unsigned char *p, size_t n) { (void)VALGRIND_MAKE_MEM_NOACCESS(p, n); }
static void open_memory(unsigned char *p, size_t n) { (void)VALGRIND_MAKE_MEM_DEFINED(p, n); }
static int is_closed(unsigned char *p) {
  unsigned char bits;
  return VALGRIND_GET_VBITS(p, &bits, 1) == 3;
}
static int watches(void) { return RUNNING_ON_VALGRIND != 0; }
#else
static void close_memory(unsigned char *p, size_t n) { (void)p, (void)n; }
static void open_memory(unsigned char *p, size_t n) { (void)p, (void)n; }
static int is_closed(unsigned char *p) { return p == NULL; }
static int watches(void) { return 0; }
#endif

/* Exactly the bytes from 100 to `end` are closed. */
static void closed_to(unsigned char *p, size_t end) {
  for (size_t i = 0; i < 20000; i++) assert_int_equal(is_closed(p + i), i >= 100 && i < end);
}

static void what_is_inaccessible_is_restored(void **state) {
  (void)state;
  if (!watches()) skip();
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region *r = region_of(flags);
    toft_arena *a = toft_region_arena(r);
    unsigned char *p = (unsigned char *)toft_alloc(a, 20000), *later;
    assert_non_null(p);
    memset(p, 1, 20000);
    close_memory(p + 100, 12000 - 100);
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    closed_to(p, 12000);
    for (int round = 0; round < 3; round++) {
      open_memory(p, 20000);
      memset(p, 2, 20000);
      close_memory(p, 4096);
      close_memory(p + 16001, 100);
      later = (unsigned char *)toft_alloc(a, 50000);
      assert_non_null(later);
      close_memory(later, 50000);
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
      closed_to(p, 12000);
      assert_true(p[99] == 1 && p[12000] == 1);
      open_memory(p + 100, 11900);
      assert_true(p[100] == 1 && p[11999] == 1);
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    }
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    assert_int_equal(toft_region_drop_checkpoint(r, 0), TOFT_OK);
    closed_to(p, 12000);
    toft_release(a); /* a block that it returned serves any use */
    for (int i = 0; i < 20; i++) use_elsewhere(r, &(uint32_t){(uint32_t)i + 1});
    toft_region_release(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_kind_is_restored_whole),
#if defined(__linux__)
    cmocka_unit_test(threads_fill_a_shared_arena),
#endif
    cmocka_unit_test(cleanups_of_every_arena_run),
    cmocka_unit_test(arenas_end_in_any_order),
    cmocka_unit_test(what_lies_elsewhere_is_refused),
    cmocka_unit_test(arenas_are_frozen),
    cmocka_unit_test(what_is_inaccessible_is_restored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
