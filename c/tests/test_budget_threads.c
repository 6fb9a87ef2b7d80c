/* Budgets that many threads use: limits that none exceeds, refusals under a lock, a fork.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef _WIN32
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "budgets.h"

enum { THREADS = 64, LIMIT = 16 << 20, MAX_BLOCKS = 8 };

typedef struct worker {
  toft_budget *budget;
  uint32_t random;
  size_t share, refused; /* share: bytes that it holds at most; 0: any */
} worker;

static size_t held, highest; /* atomic: bytes that the source below the budgets has given, counted by itself */
static size_t ready;         /* atomic: workers that have reached the start, and the end */

static void wait_for_all(size_t count) {
  __atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&ready, __ATOMIC_RELAXED) < count) sched_yield();
}

static void count_held(size_t more) {
  size_t now = __atomic_add_fetch(&held, more, __ATOMIC_RELAXED), high = __atomic_load_n(&highest, __ATOMIC_RELAXED);
  while ((intptr_t)more > 0 && now > high &&
         !__atomic_compare_exchange_n(&highest, &high, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
}

static void *innermost_take(toft_source *self, size_t size) {
  (void)self;
  void *block = toft_heap()->take(toft_heap(), size);
  if (block != NULL) count_held(size);
  return block;
}

static void innermost_put(toft_source *self, void *block, size_t size) {
  (void)self;
  count_held(0 - size);
  toft_heap()->put(toft_heap(), block, size);
}

static void *work(void *arg) {
  worker *w = (worker *)arg;
  toft_source *s = toft_budget_source(w->budget);
  void *blocks[MAX_BLOCKS] = {NULL};
  size_t sizes[MAX_BLOCKS] = {0}, mine = 0;
  wait_for_all(THREADS);
  for (size_t i = 0; i < rounds_of(40000); i++) {
    size_t k = next_random(&w->random) % MAX_BLOCKS, size = 4096 * (1 + next_random(&w->random) % 32);
    if (blocks[k] != NULL) {
      mine -= sizes[k];
      s->put(s, blocks[k], sizes[k]);
      blocks[k] = NULL;
    }
    if (w->share != 0 && mine + size > w->share) continue;
    blocks[k] = s->take(s, size);
    if (blocks[k] == NULL) {
      w->refused++;
      continue;
    }
    sizes[k] = size;
    mine += size;
  }
  wait_for_all((size_t)2 * THREADS); /* until then each holds its blocks */
  for (size_t k = 0; k < MAX_BLOCKS; k++)
    if (blocks[k] != NULL) s->put(s, blocks[k], sizes[k]);
  return NULL;
}

static void run_workers(size_t share, worker *workers) {
  toft_source innermost = {innermost_take, innermost_put, NULL};
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.limit = LIMIT;
  o.source = &innermost;
  toft_budget *process = toft_budget_create(&o), *tenants[4];
  pthread_t threads[THREADS];
  held = highest = ready = 0;
  for (int i = 0; i < 4; i++) tenants[i] = budget_of(process, share != 0 ? SIZE_MAX : LIMIT / 2);
  for (int i = 0; i < THREADS; i++) {
    worker w = {tenants[i % 4], (uint32_t)i + 1, share, 0};
    workers[i] = w;
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  toft_budget_stats s = toft_budget_get_stats(process);
  assert_int_equal(s.reserved, 0);
  assert_int_equal(held, 0);
  assert_true(s.peak <= LIMIT && highest <= LIMIT);
  for (int i = 0; i < 4; i++) assert_int_equal(toft_budget_release(tenants[i]), TOFT_OK);
  assert_int_equal(toft_budget_release(process), TOFT_OK);
}

static void no_thread_exceeds_a_limit(void **state) {
  (void)state;
  worker workers[THREADS];
  run_workers(0, workers);
  size_t refused = 0;
  for (int i = 0; i < THREADS; i++) refused += workers[i].refused;
  assert_true(refused > 0 && highest > LIMIT / 2);
}

static size_t stop; /* atomic */

/* Holds the lock of the list of budgets about all the time. */
static void *create_and_release(void *arg) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) (void)toft_budget_release(budget_of((toft_budget *)arg, 1));
  return NULL;
}

static int goes_on(toft_budget *b, toft_arena *a, char *text, size_t size) {
  uint64_t before = reserved(b);
  toft_budget *child = toft_budget_create(NULL);
  if (child == NULL || toft_alloc(a, 500000) == NULL || reserved(b) <= before) return 0;
  size_t n = toft_snapshot_text(a, NULL, text, size);
  return n != 0 && n < size && toft_alloc(a, 500000) == NULL && toft_budget_release(child) == TOFT_OK;
}

static void a_child_counts_for_itself(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  static char text[20000];
  toft_budget *b = budget_of(NULL, 1000000), *other = budget_of(NULL, SIZE_MAX);
  toft_arena *a = arena_of(b);
  uint64_t before = reserved(b);
  pthread_t thread;
  stop = 0;
  assert_int_equal(pthread_create(&thread, NULL, create_and_release, other), 0);
  for (size_t i = 0; i < rounds_of(64); i++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      int good = goes_on(b, a, text, sizeof text);
      _exit(!good);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(reserved(b), before);
  assert_true(goes_on(b, a, text, sizeof text)); /* the parent, too */
  toft_release(a);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(other), TOFT_OK);
}

/* ---- refusals of objects that many threads use ---- */

enum { TIGHT = 2 << 20, LARGE = 600000 };

typedef struct locking {
  const char *name;
  void *(*create)(toft_source *source);
  void *(*alloc)(void *of, size_t size);
  void (*look)(void *of); /* takes the locks of all of it */
  void (*release)(void *of);
} locking;

static void *create_shared(toft_source *source) { return toft_shared_create(source); }
static void *alloc_shared(void *of, size_t size) { return toft_shared_alloc((toft_shared *)of, size, 8); }
static void look_at_shared(void *of) { (void)toft_shared_get_stats((toft_shared *)of); }
static void release_shared(void *of) { toft_shared_release((toft_shared *)of); }
static void *alloc_local(void *of, size_t size) {
  toft_arena *local = toft_shared_local((toft_shared *)of);
  return local != NULL ? toft_alloc(local, size) : NULL;
}
#ifndef TOFT_OMIT_RECYCLER
static void *create_sync(toft_source *source) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  return toft_sync_recycler_create(&o);
}
static void *create_sync_of_one(toft_source *source) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  o.shards = 1;
  return toft_sync_recycler_create(&o);
}
static void *alloc_sync(void *of, size_t size) { return toft_sync_recycler_alloc((toft_sync_recycler *)of, size, 8); }
static void *resize_sync(void *of, size_t size) {
  void *p = alloc_sync(of, 8);
  return p != NULL ? toft_sync_recycler_resize((toft_sync_recycler *)of, p, 8, size, 8) : NULL;
}
static void look_at_sync(void *of) { (void)toft_sync_recycler_get_stats((toft_sync_recycler *)of); }
static void release_sync(void *of) { toft_sync_recycler_release((toft_sync_recycler *)of); }
#endif

static const locking lockings[] = {
    {"shared", create_shared, alloc_shared, look_at_shared, release_shared},
    {"local", create_shared, alloc_local, look_at_shared, release_shared},
#ifndef TOFT_OMIT_RECYCLER
    {"sync", create_sync, alloc_sync, look_at_sync, release_sync},
    {"sync of one shard", create_sync_of_one, alloc_sync, look_at_sync, release_sync},
    {"sync, resized", create_sync, resize_sync, look_at_sync, release_sync},
#endif
};
enum { LOCKINGS = sizeof lockings / sizeof *lockings };

/* The budget's memory is in `filler`, all but `rest` bytes. The callback releases it. */
typedef struct scene {
  toft_budget *budget;
  const locking *kind;
  void *of;
  toft_arena *filler;
  size_t calls;               /* atomic */
  size_t requested, together; /* together: calls that wait for each other */
  int answer, frees, waits;   /* waits: for another thread, which uses the object */
} scene;

static void *use_and_free(void *arg) {
  scene *c = (scene *)arg;
  c->kind->look(c->of);
  assert_non_null(c->kind->alloc(c->of, 8));
  toft_release(c->filler);
  c->filler = NULL;
  return NULL;
}

static int on_scene(void *arg, toft_budget *b, size_t size) {
  scene *c = (scene *)arg;
  size_t call = __atomic_add_fetch(&c->calls, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&c->calls, __ATOMIC_SEQ_CST) < c->together) sched_yield();
  if (call != 1) {
    while (__atomic_load_n(&c->filler, __ATOMIC_SEQ_CST) != NULL) sched_yield();
    return c->answer;
  }
  c->requested = size;
  c->kind->look(c->of);
  toft_arena *a = arena_of(b); /* it may use the budget */
  assert_non_null(a);
  toft_release(a);
  pthread_t thread;
  if (c->waits) {
    assert_int_equal(pthread_create(&thread, NULL, use_and_free, c), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
  } else if (c->frees) {
    toft_release(c->filler);
    __atomic_store_n(&c->filler, NULL, __ATOMIC_SEQ_CST);
  }
  return c->answer;
}

/* An object that has allocated a little, and a budget whose rest of 256 KiB suffices for that. */
static void scene_init(scene *c, const locking *kind, int answer, int frees, int waits) {
  memset(c, 0, sizeof *c);
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.limit = 16 << 20;
  o.refused = on_scene;
  o.refused_arg = c;
  c->budget = toft_budget_create(&o);
  c->kind = kind;
  c->answer = answer;
  c->frees = frees;
  c->waits = waits;
  c->of = kind->create(toft_budget_source(c->budget));
  assert_non_null(c->of);
  assert_non_null(kind->alloc(c->of, 8));
  c->filler = arena_of(c->budget);
  assert_non_null(toft_alloc(c->filler, TIGHT));
  toft_budget_set_limit(c->budget, (size_t)reserved(c->budget) + (256 << 10));
}

static void scene_end(scene *c) {
  c->kind->release(c->of);
  toft_release(c->filler);
  assert_int_equal(toft_budget_release(c->budget), TOFT_OK);
}

static void a_refusal_under_a_lock_calls_back_once(void **state) {
  (void)state;
  for (int i = 0; i < LOCKINGS; i++) {
    scene c;
    for (int frees = 0; frees < 2; frees++) {
      for (int answer = 0; answer < 2; answer++) {
        scene_init(&c, &lockings[i], answer, frees, 0);
        void *p = c.kind->alloc(c.of, LARGE);
        assert_int_equal(p != NULL, frees && answer);
        assert_int_equal(c.calls, 1);
        assert_true(c.requested >= LARGE && c.requested < LARGE + (128 << 10)); /* the least that suffices */
        if (p != NULL) memset(p, 1, LARGE);
        assert_non_null(c.kind->alloc(c.of, 8));
        scene_end(&c);
      }
    }
    scene_init(&c, &lockings[i], 1, 0, 1);
    assert_non_null(c.kind->alloc(c.of, LARGE)); /* the other thread took the locks, and freed */
    assert_int_equal(c.calls, 1);
    scene_end(&c);
  }
}

static void *alloc_large(void *arg) {
  const scene *c = (const scene *)arg;
  return c->kind->alloc(c->of, LARGE);
}

static void two_threads_are_refused_at_once(void **state) {
  (void)state;
  for (int i = 0; i < LOCKINGS; i++) {
    scene c;
    scene_init(&c, &lockings[i], 1, 1, 0);
    c.together = 2;
    pthread_t other;
    void *of_other = NULL;
    assert_int_equal(pthread_create(&other, NULL, alloc_large, &c), 0);
    void *mine = alloc_large(&c);
    assert_int_equal(pthread_join(other, &of_other), 0);
    assert_true(mine != NULL && of_other != NULL && mine != of_other);
    memset(mine, 1, LARGE);
    memset(of_other, 2, LARGE);
    assert_int_equal(((unsigned char *)mine)[LARGE - 1], 1);
    assert_int_equal(c.calls, 2);
    scene_end(&c);
  }
}

/* The recycler itself, and its memory of options.count. */
#ifndef TOFT_OMIT_RECYCLER
static void a_synchronized_recycler_keeps_no_empty_blocks(void **state) {
  (void)state;
  enum { COUNT = 10000, SIZE = 1000 };
  static void *all[COUNT];
  toft_budget *b = budget_of(NULL, SIZE_MAX);
  toft_sync_recycler *r = (toft_sync_recycler *)create_sync(toft_budget_source(b));
  assert_non_null(r);
  for (int i = 0; i < COUNT; i++) assert_non_null(all[i] = toft_sync_recycler_alloc(r, SIZE, 8));
  assert_true(reserved(b) >= (uint64_t)COUNT * SIZE);
  for (int i = 0; i < COUNT; i++) toft_sync_recycler_free(r, all[i], SIZE);
  assert_true(reserved(b) < (uint64_t)2 << 20);
  toft_sync_recycler_release(r);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}
#endif

static void creations_of_recyclers_call_back(void **state) {
  (void)state;
#ifndef TOFT_OMIT_RECYCLER
  for (size_t count = 0; count <= 1000; count += 1000) {
    caller c = {NULL, NULL, 0, 0, 1};
    toft_budget_options o = TOFT_BUDGET_OPTIONS;
    o.limit = 200000;
    o.refused = on_refused;
    o.refused_arg = &c;
    toft_budget *b = toft_budget_create(&o);
    c.frees = arena_of(b);
    size_t fill = count == 0 ? 190000 : 100000;
    assert_non_null(toft_alloc(c.frees, fill));
    toft_recycler_options with = TOFT_RECYCLER_OPTIONS;
    with.source = toft_budget_source(b);
    with.count = count;
    with.block_size = count != 0 ? 64 : 0;
    toft_sync_recycler *r = toft_sync_recycler_create(&with);
    assert_non_null(r);
    assert_int_equal(c.calls, 1);
    toft_sync_recycler_release(r);
    toft_recycler alone;
    c.frees = arena_of(b);
    assert_non_null(toft_alloc(c.frees, fill));
    assert_int_equal(toft_recycler_init(&alone, &with), TOFT_OK);
    assert_non_null(toft_recycler_alloc(&alone, 64, 8));
    assert_int_equal(c.calls, 2);
    toft_release(c.frees);
    toft_recycler_release(&alone);
    assert_int_equal(toft_budget_release(b), TOFT_OK);
  }
#endif
}

/* Together at most 98 % of the limit. */
static void threads_within_the_limit_are_never_refused(void **state) {
  (void)state;
  worker workers[THREADS];
  run_workers((size_t)LIMIT / 100 * 98 / THREADS, workers);
  for (int i = 0; i < THREADS; i++) assert_int_equal(workers[i].refused, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_thread_exceeds_a_limit),
      cmocka_unit_test(threads_within_the_limit_are_never_refused),
      cmocka_unit_test(a_refusal_under_a_lock_calls_back_once),
      cmocka_unit_test(two_threads_are_refused_at_once),
      cmocka_unit_test(a_child_counts_for_itself),
#ifndef TOFT_OMIT_RECYCLER
      cmocka_unit_test(a_synchronized_recycler_keeps_no_empty_blocks),
#endif
      cmocka_unit_test(creations_of_recyclers_call_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) { return 77; }
#endif
