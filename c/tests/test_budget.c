/* Budgets: bytes of each level, limits that no thread exceeds, callbacks of refusals.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#if !defined(_WIN32) && !defined(TOFT_OMIT_THREADS)
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#define HAS_THREADS 1
#else
#define HAS_THREADS 0
#endif

static toft_budget *budget_of(toft_budget *parent, size_t limit) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.parent = parent;
  o.limit = limit;
  toft_budget *b = toft_budget_create(&o);
  assert_non_null(b);
  return b;
}

static toft_arena *arena_of(toft_budget *b) {
  toft_options o = TOFT_OPTIONS;
  o.source = toft_budget_source(b);
  return toft_create_with(&o);
}

static uint64_t reserved(const toft_budget *b) { return toft_budget_get_stats(b).reserved; }

/* ---- counts ---- */

static void every_object_counts_for_each_level(void **state) {
  (void)state;
  toft_budget *process = budget_of(NULL, SIZE_MAX), *tenant = budget_of(process, SIZE_MAX);
  toft_budget *request = budget_of(tenant, SIZE_MAX), *other = budget_of(process, SIZE_MAX);
  toft_arena *a = arena_of(request), *b = arena_of(tenant), *c = arena_of(other);
  assert_non_null(toft_alloc(a, 100000));
  assert_non_null(toft_alloc(b, 10));
  assert_non_null(toft_alloc(c, 3000000));
  uint64_t of_a = toft_get_stats(a).reserved, of_b = toft_get_stats(b).reserved, of_c = toft_get_stats(c).reserved;
  assert_int_equal(reserved(request), of_a);
  assert_int_equal(reserved(tenant), of_a + of_b);
  assert_int_equal(reserved(other), of_c);
  assert_int_equal(reserved(process), of_a + of_b + of_c);
  assert_int_equal(toft_budget_get_stats(process).children, 2);
  assert_ptr_equal(toft_budget_parent(request), tenant);
  toft_release(c);
  assert_int_equal(reserved(process), of_a + of_b);
  assert_int_equal(toft_budget_get_stats(process).peak, of_a + of_b + of_c);
  assert_int_equal(toft_budget_release(tenant), TOFT_EBUSY);
  toft_release(a);
  toft_release(b);
#ifndef TOFT_OMIT_RECYCLER
  toft_malloc m;
  toft_malloc_init(&m, toft_budget_source(request));
  void *p = toft_malloc_alloc(&m, 500000);
  assert_non_null(p);
  assert_true(reserved(tenant) >= 500000);
  toft_malloc_free(&m, p);
  toft_malloc_release(&m);
#endif
#if HAS_THREADS
  toft_shared *s = toft_shared_create(toft_budget_source(request));
  assert_non_null(s);
  assert_non_null(toft_shared_alloc(s, 200000, 8));
  assert_true(reserved(tenant) >= 200000);
  toft_shared_release(s);
#endif
  assert_int_equal(toft_budget_release(process), TOFT_EBUSY); /* children */
  assert_int_equal(reserved(process), 0);
  assert_int_equal(toft_budget_release(request), TOFT_OK);
  assert_int_equal(toft_budget_release(tenant), TOFT_OK);
  assert_int_equal(toft_budget_release(other), TOFT_OK);
  assert_int_equal(toft_budget_release(process), TOFT_OK);
}

static int charge_less(void *arg, toft_budget *b, size_t size) {
  assert_int_equal(size, 401);
  return toft_budget_uncharge(b, *(const size_t *)arg) == TOFT_OK;
}

static void bytes_of_other_allocators_count(void **state) {
  (void)state;
  size_t less = 0;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.limit = 1000;
  o.refused = charge_less;
  o.refused_arg = &less;
  toft_budget *root = toft_budget_create(&o);
  assert_int_equal(toft_budget_limit_live(root, 2000), TOFT_OK);
  toft_budget *b = budget_of(root, SIZE_MAX);
  assert_int_equal(toft_budget_charge(b, 0), TOFT_OK);
  assert_int_equal(toft_budget_charge(b, 500), TOFT_OK);
  assert_int_equal(toft_budget_charge(root, 100), TOFT_OK);
  assert_int_equal(reserved(b), 500);
  assert_int_equal(reserved(root), 600);
  assert_int_equal(toft_budget_get_live_stats(root).live, 600);
  assert_int_equal(toft_budget_charge(b, 401), TOFT_ENOMEM);
  assert_int_equal(toft_budget_get_stats(root).refusals, 2);
  less = 100;
  assert_int_equal(toft_budget_charge(b, 401), TOFT_OK);
  assert_int_equal(reserved(root), 901);
  assert_int_equal(toft_budget_uncharge(b, 902), TOFT_EARG);
  assert_int_equal(toft_budget_uncharge(root, 1), TOFT_EARG);
  assert_int_equal(reserved(root), 901);
  toft_budget_set_limit(root, SIZE_MAX);
  assert_int_equal(toft_budget_limit_live(root, 1301), TOFT_OK);
  less = 1;
  assert_int_equal(toft_budget_charge(b, 401), TOFT_ENOMEM);
  assert_int_equal(reserved(root), 901);
  assert_int_equal(toft_budget_get_live_stats(b).live, 901);
  assert_int_equal(toft_budget_charge(b, 400), TOFT_OK);
  assert_int_equal(toft_budget_release(b), TOFT_EBUSY);
  assert_int_equal(toft_budget_uncharge(b, 1301), TOFT_OK);
  assert_int_equal(toft_budget_uncharge(b, 1), TOFT_EARG);
  assert_int_equal(toft_budget_get_live_stats(root).live, 0);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(root), TOFT_OK);
}

static void a_block_that_grows_counts(void **state) {
  (void)state;
  toft_reserve_source range;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.source = toft_reserve_source_init(&range, (size_t)8 << 20);
  o.limit = 1000000;
  toft_budget *root = toft_budget_create(&o), *b = budget_of(root, SIZE_MAX);
  toft_arena *a = arena_of(b);
  assert_non_null(toft_alloc(a, 500000));
  assert_true(reserved(root) >= 500000 && reserved(root) == reserved(b));
  assert_null(toft_alloc(a, 600000));
  assert_true(reserved(root) <= 1000000 && reserved(root) == reserved(b));
  toft_reset(a);
  toft_trim(a, 0);
  assert_true(reserved(b) < 100000);
  toft_release(a);
  assert_int_equal(reserved(root), 0);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(root), TOFT_OK);
  toft_reserve_source_release(&range);
}

/* ---- refusals ---- */

typedef struct caller {
  toft_arena *frees; /* released by the callback */
  toft_budget *refusing;
  size_t calls, size;
  int answer;
} caller;

static int on_refused(void *arg, toft_budget *b, size_t size) {
  caller *c = (caller *)arg;
  c->calls++;
  c->refusing = b;
  c->size = size;
  toft_release(c->frees);
  c->frees = NULL;
  return c->answer;
}

static void a_refusal_calls_back_once(void **state) {
  (void)state;
  caller c = {NULL, NULL, 0, 0, 0};
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.limit = 256 << 10;
  o.refused = on_refused;
  o.refused_arg = &c;
  toft_budget *tenant = toft_budget_create(&o), *request = budget_of(tenant, SIZE_MAX);
  toft_arena *a = arena_of(request), *b = arena_of(request);
  assert_non_null(toft_alloc(b, 100000));
  size_t served = 0;
  while (toft_alloc(a, 64) != NULL) served++;
  assert_int_equal(c.calls, 1); /* not for the blocks that were larger than needed */
  assert_ptr_equal(c.refusing, tenant);
  assert_true(served > 300); /* a checked arena needs more for each */
  assert_null(toft_alloc(a, 64));
  assert_int_equal(c.calls, 2);
  c.frees = b; /* frees 100,000 bytes, and answers that memory may be free */
  c.answer = 1;
  assert_non_null(toft_alloc(a, 64));
  assert_int_equal(c.calls, 3);
  assert_null(toft_alloc(a, 300000)); /* above the limit at any time: tried again once */
  assert_int_equal(c.calls, 4);
  assert_true(c.size >= 300000);
  assert_true(reserved(tenant) <= 256 << 10);
  assert_true(toft_budget_get_stats(tenant).refusals > 0);
  assert_int_equal(toft_budget_get_stats(request).refusals, 0);
  toft_release(a);
#ifndef TOFT_OMIT_RECYCLER
  toft_malloc m;
  toft_malloc_init(&m, toft_budget_source(request));
  c.calls = 0;
  c.frees = arena_of(request);
  assert_non_null(toft_alloc(c.frees, 200000));
  void *p = toft_malloc_alloc(&m, 100000);
  assert_non_null(p);
  assert_int_equal(c.calls, 1);
  toft_malloc_release(&m);
#endif
  c.frees = arena_of(request); /* creations call back too */
  toft_budget_set_limit(tenant, 4096);
  a = arena_of(request);
  assert_non_null(a);
  toft_release(a);
  assert_int_equal(toft_budget_release(request), TOFT_OK);
  assert_int_equal(toft_budget_release(tenant), TOFT_OK);
}

/* The source of the root refuses: no limit is the cause. */
static void a_refusal_of_the_source_calls_nothing(void **state) {
  (void)state;
  counted source;
  caller c = {NULL, NULL, 0, 0, 1};
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.source = counted_init(&source);
  o.refused = on_refused;
  o.refused_arg = &c;
  toft_budget *b = toft_budget_create(&o);
  for (size_t k = 1; k < 6; k++) {
    source.attempts = 0;
    source.fail_from = k;
    toft_arena *a = arena_of(b);
    if (a != NULL) {
      while (toft_alloc(a, 50000) != NULL) continue;
      assert_int_equal(reserved(b), source.bytes);
      toft_release(a);
    }
    assert_int_equal(reserved(b), 0);
  }
  source.attempts = source.fail_from = 0;
  source.fail_at = 1; /* no limit refuses: tried again, as if another thread had returned enough */
  toft_arena *a = arena_of(b);
  assert_non_null(a);
  toft_release(a);
  assert_int_equal(c.calls, 0);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  counted_all_back(&source);
}

/* Arenas by turns, after rounds of other sizes: at the refusal at most 1 % of the limit is held by no arena. */
static void nothing_is_stranded_at_a_refusal(void **state) {
  (void)state;
  for (int n = 1; n <= 64; n *= 4) {
    toft_budget *b = budget_of(NULL, (size_t)4 << 20);
    toft_arena *arenas[64];
    for (int i = 0; i < n; i++) arenas[i] = arena_of(b);
    for (int i = 0; i < 4 * n; i++) {
      const void *large = toft_alloc(arenas[i % n], (size_t)20000 << i % 5), *small = toft_alloc(arenas[i % n], 100);
      assert_true(large != NULL && small != NULL);
      toft_reset(arenas[i % n]);
    }
    int i = 0;
    while (toft_alloc(arenas[i % n], 64) != NULL) i++;
    assert_true(reserved(b) <= (size_t)4 << 20 && reserved(b) >= ((size_t)4 << 20) / 100 * 99);
    for (i = 0; i < n; i++) toft_release(arenas[i]);
    assert_int_equal(toft_budget_release(b), TOFT_OK);
  }
}

#ifndef TOFT_OMIT_RECYCLER
/* Objects of several sizes in random order, as many as the budget allows, all of which are freed. */
static size_t fill_and_free(toft_malloc *m, size_t scale) {
  enum { COUNT = 40000 };
  void **all = (void **)malloc(COUNT * sizeof *all);
  size_t count = 0, bytes = 0;
  uint32_t random = 1;
  assert_non_null(all);
  for (void *p; count < COUNT; all[count++] = p) {
    random = random * 1664525 + 1013904223;
    size_t size = 8 + (random >> 8) % scale;
    if ((p = toft_malloc_alloc(m, size)) == NULL) break;
    bytes += size;
  }
  for (size_t i = 0; i < count; i++) {
    size_t k = i + (random = random * 1664525 + 1013904223) % (count - i);
    toft_malloc_free(m, all[k]);
    all[k] = all[i];
  }
  free(all);
  return bytes;
}

/* Memory that was freed in a recycler is there for other objects on the budget, without a call of the recycler. */
static void a_recycler_keeps_no_empty_blocks(void **state) {
  (void)state;
  toft_budget *process = budget_of(NULL, (size_t)32 << 20);
  for (size_t scale = 100; scale <= 40000; scale *= 20) {
    toft_budget *one = budget_of(process, SIZE_MAX), *two = budget_of(process, SIZE_MAX);
    toft_malloc m;
    toft_malloc_init(&m, toft_budget_source(one));
    for (int round = 0; round < 2; round++) {
      size_t used = fill_and_free(&m, scale);
      assert_true(used > (size_t)1 << 20);
      assert_true(toft_budget_get_stats(one).peak >= used);
      assert_true(reserved(one) < ((size_t)1 << 20) + used / 8);
    }
    toft_arena *a = arena_of(two);
    assert_non_null(toft_alloc(a, (size_t)24 << 20));
    void *p = toft_malloc_alloc(&m, 100);
    assert_non_null(p);
    toft_malloc_free(&m, p);
    toft_malloc_release(&m);
    toft_release(a);
    assert_int_equal(toft_budget_release(one), TOFT_OK);
    assert_int_equal(toft_budget_release(two), TOFT_OK);
  }
  assert_int_equal(toft_budget_release(process), TOFT_OK);
}
#endif

/* Two arenas that use most of a limit by turns: neither keeps what the other needs. */
static void a_steady_load_is_never_refused(void **state) {
  (void)state;
  toft_budget *b = budget_of(NULL, (size_t)1 << 20);
  toft_arena *arenas[] = {arena_of(b), arena_of(b)};
  for (int round = 0; round < 100; round++) {
    toft_arena *a = arenas[round % 2];
    size_t size = (size_t)(round % 3 == 0 ? 40 : 30000);
    for (size_t done = 0; done + size <= 490000; done += size) assert_non_null(toft_alloc(a, size));
    toft_reset(a);
  }
  assert_true(reserved(b) <= 2 * 4096 + ((size_t)1 << 20) / 100);
  for (int i = 0; i < 2; i++) toft_release(arenas[i]);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
}

/* ---- threads ---- */

#if HAS_THREADS
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
#endif

/* ---- input ---- */

static void bad_input(void **state) {
  (void)state;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.size--;
  assert_null(toft_budget_create(&o));
  o.size++;
  o.name = "a name of a budget of 32 bytes...";
  assert_null(toft_budget_create(&o));
  o.name = "a name of a budget of 31 bytes.";
  toft_budget *b = toft_budget_create(&o), *defaults = toft_budget_create(NULL);
  assert_string_equal(toft_budget_name(b), o.name);
  assert_string_equal(toft_budget_name(defaults), "");
  o.parent = b;
  o.source = toft_heap();
  assert_null(toft_budget_create(&o));
  assert_int_equal(toft_budget_get_stats(b).children, 0);
  assert_int_equal(toft_budget_get_stats(b).available, SIZE_MAX);
  toft_budget_set_limit(b, 0);
  assert_null(arena_of(b));
  toft_budget_set_limit(b, 10000);
  toft_arena *a = arena_of(b);
  assert_non_null(a);
  toft_budget_set_limit(b, 100); /* below the reserved bytes */
  assert_int_equal(toft_budget_get_stats(b).available, 0);
  assert_null(toft_alloc(a, 8000));
  assert_non_null(toft_alloc(a, 100)); /* in the block that it has */
  toft_release(a);
  assert_int_equal(toft_budget_release(NULL), TOFT_OK);
  assert_int_equal(toft_budget_release(b), TOFT_OK);
  assert_int_equal(toft_budget_release(defaults), TOFT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_object_counts_for_each_level),
    cmocka_unit_test(bytes_of_other_allocators_count),
    cmocka_unit_test(a_block_that_grows_counts),
    cmocka_unit_test(a_refusal_calls_back_once),
    cmocka_unit_test(a_refusal_of_the_source_calls_nothing),
    cmocka_unit_test(nothing_is_stranded_at_a_refusal),
#ifndef TOFT_OMIT_RECYCLER
    cmocka_unit_test(a_recycler_keeps_no_empty_blocks),
#endif
    cmocka_unit_test(a_steady_load_is_never_refused),
#if HAS_THREADS
    cmocka_unit_test(no_thread_exceeds_a_limit),
    cmocka_unit_test(threads_within_the_limit_are_never_refused),
    cmocka_unit_test(a_refusal_under_a_lock_calls_back_once),
    cmocka_unit_test(two_threads_are_refused_at_once),
    cmocka_unit_test(a_child_counts_for_itself),
#ifndef TOFT_OMIT_RECYCLER
    cmocka_unit_test(a_synchronized_recycler_keeps_no_empty_blocks),
#endif
    cmocka_unit_test(creations_of_recyclers_call_back),
#endif
    cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
