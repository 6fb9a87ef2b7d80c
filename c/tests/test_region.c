/* Regions: content before and after a restore, cleanups, blocks, refusals, forked processes.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "cleanup_order.h"

#if defined(__linux__)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#define HEADER 4096

static toft_region *region_of(uint32_t flags, size_t max) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  o.max = max;
  toft_region *r = toft_region_create(&o);
  assert_non_null(r);
  return r;
}

/* The bytes of the current checkpoint, from the start of the range. */
static size_t saved_size(toft_region *r) {
  toft_checkpoint_info info;
  assert_int_equal(toft_region_next_checkpoint(r, toft_region_current(r) - 1, &info), TOFT_OK);
  return (size_t)info.size;
}

/* ---- restores ---- */

enum { ARENAS = 4, OBJECTS = 400 };

/* The program's own view of a region, in the region. */
typedef struct content {
  toft_arena *arenas[ARENAS];
  toft_mark marks[ARENAS];
  toft_malloc *heap;
  toft_recycler *recycler;
  unsigned char *objects[OBJECTS];
  size_t sizes[OBJECTS];
} content;

static content *content_of(toft_region *r) { return (content *)toft_region_root(r); }

static void make_content(toft_region *r) {
  toft_malloc *heap = toft_region_malloc(r);
  content *c = (content *)toft_malloc_calloc(heap, 1, sizeof *c);
  assert_non_null(c);
  c->heap = heap;
  c->recycler = toft_region_recycler(r);
  assert_non_null(c->recycler);
  for (int i = 0; i < ARENAS; i++) {
    c->arenas[i] = toft_region_arena(r);
    assert_non_null(c->arenas[i]);
    c->marks[i] = toft_mark_here(c->arenas[i]);
  }
  toft_region_set_root(r, c);
}

/* What one step may do to anything in the region. */
static void step(toft_region *r, uint32_t *random) {
  content *c = content_of(r);
  uint32_t k = next_random(random) % ARENAS, i = next_random(random) % OBJECTS;
  size_t size = next_random(random) % (next_random(random) % 16 == 0 ? 60000 : 300);
  toft_arena *a = c->arenas[k];
  switch (next_random(random) % 12) {
    case 0: c->marks[k] = toft_mark_here(a); break;
    case 1: (void)toft_rewind(a, c->marks[k]); break;
    case 2: toft_reset(a); break;
    case 3: toft_trim(a, size); break;
    case 4:
      toft_release(a);
      c->arenas[k] = toft_region_arena(r);
      assert_non_null(c->arenas[k]);
      break;
    case 5:
      if (c->objects[i] != NULL) toft_malloc_free(c->heap, c->objects[i]);
      c->objects[i] = (unsigned char *)toft_malloc_alloc(c->heap, size);
      c->sizes[i] = size;
      if (c->objects[i] != NULL) memset(c->objects[i], (int)i, size);
      break;
    case 6: {
      void *p = toft_recycler_alloc(c->recycler, size, 8);
      if (p != NULL) memset(p, 7, size);
      if (next_random(random) % 2) toft_recycler_free(c->recycler, p, size);
      break;
    }
    case 7: (void)toft_set_budget(a, next_random(random) % 2 ? UINT64_MAX : toft_get_stats(a).live + size); break;
    default: {
      unsigned char *p = (unsigned char *)toft_alloc(a, size);
      if (p != NULL) memset(p, (int)k, size);
    }
  }
}

/* The bytes of the region behind its header, and the statistics of its arenas and recyclers. */
typedef struct image {
  unsigned char *bytes;
  size_t size;
  toft_stats arenas[ARENAS];
  toft_recycler_stats heap, recycler;
  uint64_t used;
} image;

static image image_of(toft_region *r, size_t size) {
  image m;
  memset(&m, 0, sizeof m);
  m.size = size;
  m.bytes = (unsigned char *)malloc(size);
  assert_non_null(m.bytes);
  memcpy(m.bytes, (unsigned char *)r + HEADER, size);
  content *c = content_of(r);
  for (int i = 0; i < ARENAS; i++) m.arenas[i] = toft_get_stats(c->arenas[i]);
  m.heap = toft_malloc_get_stats(c->heap);
  m.recycler = toft_recycler_get_stats(c->recycler);
  m.used = toft_region_get_stats(r).used;
  return m;
}

static void assert_same(const image *was, const image *is) {
  assert_memory_equal(was->bytes, is->bytes, was->size);
  assert_memory_equal(was->arenas, is->arenas, sizeof was->arenas);
  assert_memory_equal(&was->heap, &is->heap, sizeof was->heap);
  assert_memory_equal(&was->recycler, &is->recycler, sizeof was->recycler);
  assert_int_equal(was->used, is->used);
}

static void restores(uint32_t flags, uint32_t random, int rounds, int compared) {
  toft_region *r = region_of(flags, (size_t)64 << 20);
  make_content(r);
  for (int i = 0; i < 3000; i++) step(r, &random);
  size_t size = (size_t)toft_region_get_stats(r).high_water - HEADER;
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  size_t saved = saved_size(r) - HEADER;
  image was = image_of(r, saved < size ? saved : size);
  assert_int_equal(toft_region_restore(r, 0), TOFT_OK); /* the statistics above have updated counts */
  for (int round = 0; round < rounds; round++) {
    for (uint32_t i = 0; i < next_random(&random) % 40; i++) step(r, &random);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    if (round % compared == 0) {
      image is = image_of(r, was.size);
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
      assert_same(&was, &is);
      free(is.bytes);
    }
  }
  free(was.bytes);
  toft_region_release(r);
}

static void everything_is_brought_back(void **state) {
  (void)state;
  int rounds = long_run() ? 100000 : 2000;
  for (uint32_t seed = 1; seed <= 3; seed++) {
    restores(0, seed, rounds, rounds / 100);
    restores(TOFT_REGION_COMPARES, seed, rounds, rounds / 100);
  }
}

/* ---- cleanups ---- */

static void cleanups_run_as_for_a_rewind(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region *r = region_of(flags, 0);
    toft_arena *a = toft_region_arena(r), *b = toft_region_arena(r);
    add(a, "1");
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    for (int round = 0; round < 3; round++) {
      add(a, "2");
      add(a, "3");
      add(b, "4");
      toft_arena *c = toft_region_arena(r);
      add(c, "5");
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
      ran("5432");
    }
    add(a, "2");
    toft_reset(a); /* runs those before the checkpoint too */
    ran("21");
    add(a, "3");
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    ran("3");
    toft_release(a);
    ran("1");
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    ran("");
    toft_arena *donor = toft_region_arena(r);
    add(donor, "6");
    assert_int_equal(toft_adopt(a, donor), TOFT_OK);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    ran("6");
    assert_int_equal(toft_adopt(b, a), TOFT_OK);
    toft_region_release(r);
    ran("1");
  }
}

static void a_claimed_arena_refuses(void **state) {
  (void)state;
  toft_region *r = region_of(0, 0);
  toft_arena *a = toft_region_arena(r);
  toft_range range;
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  assert_int_equal(toft_claim(a, &range), TOFT_OK);
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_EBUSY);
  assert_int_equal(toft_region_restore(r, 0), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &range), TOFT_OK);
  assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
  toft_region_release(r);
}

static void an_empty_region(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region *r = region_of(flags, 65536);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
      assert_non_null(toft_region_arena(r));
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
      assert_int_equal(toft_region_get_stats(r).used, HEADER);
      assert_int_equal(toft_region_drop_checkpoint(r, 0), TOFT_OK);
    }
    toft_region_release(r);
  }
}

/* ---- blocks ---- */

/* A model of placement: the lowest address that is free, for multiples of 32 KiB aligned to these. */
enum { UNITS = 2048 };
static unsigned char in_use[UNITS];

static void *lowest_free(toft_region *r, size_t size) {
  size_t n = size / HEADER, align = size % 32768 == 0 ? 32768 : HEADER, length = 0;
  for (size_t i = 0; i < UNITS; i++) {
    unsigned char *p = (unsigned char *)r + i * HEADER;
    if (length == 0 && !is_aligned(p, align)) continue;
    length = in_use[i] ? 0 : length + 1;
    if (length == n) return p - (n - 1) * HEADER;
  }
  return NULL;
}

static void set_in_use(toft_region *r, const void *p, size_t size, int value) {
  memset(in_use + ((const unsigned char *)p - (const unsigned char *)r) / HEADER, value, size / HEADER);
}

static void blocks_are_used_again(void **state) {
  enum { MANY = 200 };
  struct {
    unsigned char *p;
    size_t size;
  } all[MANY];
  (void)state;
  toft_region *r = region_of(0, (size_t)8 << 20);
  toft_source *source = toft_region_source(r);
  uint32_t random = 5;
  uint64_t held = HEADER;
  memset(all, 0, sizeof all);
  memset(in_use, 0, sizeof in_use);
  set_in_use(r, r, HEADER, 1);
  for (int i = 0; i < 20000; i++) {
    uint32_t k = next_random(&random) % MANY;
    if (all[k].p != NULL) {
      assert_true(filled(all[k].p, all[k].size, k));
      source->put(source, all[k].p, all[k].size);
      set_in_use(r, all[k].p, all[k].size, 0);
      held -= all[k].size;
      all[k].p = NULL;
    } else {
      all[k].size = 4096 * (1 + next_random(&random) % (next_random(&random) % 4 == 0 ? 64 : 4));
      all[k].p = (unsigned char *)source->take(source, all[k].size);
      assert_ptr_equal(all[k].p, lowest_free(r, all[k].size));
      if (all[k].p == NULL) continue; /* full */
      set_in_use(r, all[k].p, all[k].size, 1);
      fill(all[k].p, all[k].size, k);
      held += all[k].size;
    }
    assert_int_equal(toft_region_get_stats(r).used, held);
  }
  for (uint32_t k = 0; k < MANY; k++)
    if (all[k].p != NULL) source->put(source, all[k].p, all[k].size);
  assert_int_equal(toft_region_get_stats(r).used, HEADER);
  toft_region_trim(r);
  void *whole = source->take(source, ((size_t)8 << 20) - 32768); /* one block again */
  assert_non_null(whole);
  toft_region_release(r);
}

/* More blocks than the map in the header has room for. The same calls find the same addresses after a restore. */
static void a_large_region(void **state) {
  enum { MANY = 3000 };
  static unsigned char *all[MANY], *first_time[MANY];
  static size_t sizes[MANY];
  const size_t max = (size_t)256 << 20;
  (void)state;
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region *r = region_of(flags, max);
    toft_source *source = toft_region_source(r);
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    for (int time = 0; time < 3; time++) {
      uint32_t random = 77;
      memset(all, 0, sizeof all);
      for (uint32_t k = 0; k < MANY; k++) {
        uint32_t other = next_random(&random) % MANY;
        if (other < k && all[other] != NULL) {
          assert_true(filled(all[other], 64, other));
          source->put(source, all[other], sizes[other]);
          all[other] = NULL;
        }
        sizes[k] = 4096 * (1 + next_random(&random) % 20);
        all[k] = (unsigned char *)source->take(source, sizes[k]);
        assert_non_null(all[k]);
        fill(all[k], 64, k);
      }
      if (time != 0) assert_memory_equal(first_time, all, sizeof all);
      memcpy(first_time, all, sizeof all);
      assert_null(source->take(source, max));
      void *rest = source->take(source, (size_t)96 << 20);
      assert_non_null(rest);
      assert_null(source->take(source, (size_t)96 << 20));
      source->put(source, rest, (size_t)96 << 20);
      assert_int_equal(toft_region_get_stats(r).high_water > ((uint64_t)96 << 20), 1);
      for (uint32_t k = 0; k < MANY && time == 1; k++) {
        assert_true(all[k] == NULL || filled(all[k], 64, k));
        if (all[k] != NULL) source->put(source, all[k], sizes[k]);
      }
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
      assert_int_equal(toft_region_get_stats(r).used, HEADER);
    }
    toft_region_release(r);
  }
}

static void a_full_region_refuses(void **state) {
  (void)state;
  toft_region *r = region_of(0, 65536);
  toft_arena *a = toft_region_arena(r);
  size_t n = 0;
  while (toft_alloc(a, 1000) != NULL) n++;
  assert_true(n >= 40 && n < 65);
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  assert_null(toft_region_malloc(r) == NULL ? NULL : toft_region_recycler(r));
  while (toft_region_arena(r) != NULL) {
  }
  assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
  toft_reset_keep(a, TOFT_KEEP_BYTES, 0);
  assert_non_null(toft_region_arena(r));
  toft_region_release(r);
}

static void assert_refused(const toft_region_options *o) {
  assert_int_equal(toft_region_check(o), TOFT_EARG);
  assert_null(toft_region_create(o));
}

static void options(void **state) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  unsigned char *memory = (unsigned char *)page_memory((size_t)1 << 20);
  (void)state;
  toft_region_release(NULL);
  o.size = 1;
  assert_refused(&o);
  o.size = sizeof o;
  for (size_t max = 1; max < 65536; max *= 3) {
    o.max = max;
    assert_refused(&o);
  }
  o.max = 65537;
  assert_refused(&o);
  o.max = (size_t)1 << 20;
  o.flags = 8;
  assert_refused(&o);
  o.flags = 0;
  o.memory = memory + 64;
  assert_refused(&o);
  o.memory = memory;
  assert_int_equal(toft_region_check(&o), TOFT_OK);
  assert_int_equal(toft_region_check(NULL), TOFT_OK);
  toft_region *r = toft_region_create(&o);
  assert_non_null(r);
  char *text = toft_strdup(toft_region_arena(r), "in the caller's memory");
  assert_true((unsigned char *)text > memory && (unsigned char *)text < memory + o.max);
  assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
  text[0] = 'I';
  assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
  assert_string_equal(text, "in the caller's memory");
  assert_int_equal(toft_region_get_stats(r).limit, o.max);
  toft_region_release(r);
  page_memory_free(memory, (size_t)1 << 20);
}

/* ---- forked processes ---- */

#if defined(__linux__)
/* A region whose content one thread has made is changed and restored by another, and released by the first. */
static void *steps_and_restores(void *arg) {
  toft_region *r = (toft_region *)arg;
  uint32_t random = 11;
  int code = TOFT_OK;
  for (int round = 0; round < 50 && code == TOFT_OK; round++) {
    for (int i = 0; i < 40; i++) step(r, &random);
    code = toft_region_restore(r, 0);
  }
  return code == TOFT_OK ? arg : NULL;
}

static void another_thread_restores(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region *r = region_of(flags, (size_t)64 << 20);
    uint32_t random = 9;
    pthread_t thread;
    void *good;
    make_content(r);
    for (int i = 0; i < 2000; i++) step(r, &random);
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    image was = image_of(r, saved_size(r) - HEADER);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    assert_int_equal(pthread_create(&thread, NULL, steps_and_restores, r), 0);
    assert_int_equal(pthread_join(thread, &good), 0);
    assert_ptr_equal(good, r);
    image is = image_of(r, was.size);
    assert_same(&was, &is);
    free(is.bytes);
    free(was.bytes);
    toft_region_release(r);
  }
}

static void forked_processes_restore_their_own(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region *r = region_of(flags, (size_t)64 << 20);
    uint32_t random = 3;
    make_content(r);
    for (int i = 0; i < 2000; i++) step(r, &random);
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    image was = image_of(r, saved_size(r) - HEADER);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    for (uint32_t worker = 0; worker < 3; worker++) {
      pid_t child = fork();
      assert_true(child >= 0);
      if (child != 0) continue;
      int good = 1;
      random = worker;
      for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 20; i++) step(r, &random);
        good &= toft_region_restore(r, 0) == TOFT_OK;
        good &= memcmp((unsigned char *)r + HEADER, was.bytes, 4096) == 0;
      }
      image is = image_of(r, was.size);
      good &= memcmp(was.bytes, is.bytes, was.size) == 0;
      _exit(good ? 0 : 1);
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    assert_int_equal(failed, 0);
    image is = image_of(r, was.size);
    assert_same(&was, &is);
    free(is.bytes);
    free(was.bytes);
    toft_region_release(r);
  }
}
#else
static void another_thread_restores(void **state) { (void)state; }
static void forked_processes_restore_their_own(void **state) { (void)state; }
#endif

/* Blocks whose end is at no multiple of the page size, which has 64 KiB on some systems. */
static void large_blocks_are_restored(void **state) {
  (void)state;
  toft_region *r = region_of(0, (size_t)20 << 20);
  toft_arena *a = toft_region_arena(r);
  for (size_t size = 1 << 20; size < (size_t)5 << 20; size += (1 << 20) + 4096) {
    unsigned char *p = (unsigned char *)toft_alloc(a, size);
    assert_non_null(p);
    memset(p, 5, size);
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    memset(p, 6, size);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    assert_true(p[0] == 5 && p[size - 1] == 5);
  }
  toft_region_release(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_blocks_are_restored),
      cmocka_unit_test(everything_is_brought_back),
      cmocka_unit_test(cleanups_run_as_for_a_rewind),
      cmocka_unit_test(a_claimed_arena_refuses),
      cmocka_unit_test(blocks_are_used_again),
      cmocka_unit_test(a_large_region),
      cmocka_unit_test(a_full_region_refuses),
      cmocka_unit_test(an_empty_region),
      cmocka_unit_test(another_thread_restores),
      cmocka_unit_test(options),
      cmocka_unit_test(forked_processes_restore_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
