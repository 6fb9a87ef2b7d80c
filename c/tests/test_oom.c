/* The source fails at the 1st, 2nd, ... k-th block, until a run passes untouched; or the system has no memory, by a
 * limit of address space or of a control group. After every failure the arena is as it was and goes on; whatever
 * happens, every block comes back.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"

#ifdef __linux__
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static int cleaned, registered;
static void clean(void *arg) {
  (void)arg;
  cleaned++;
}

/* What a failing call must leave alone. */
typedef struct seen {
  unsigned char *cursor;
  uintptr_t epoch;
  toft_stats stats;
} seen;

static seen look(toft_arena *a) {
  seen s = {a->cursor, a->epoch, toft_get_stats(a)};
  return s;
}

static void same(toft_arena *a, seen s) {
  toft_stats now = toft_get_stats(a);
  assert_ptr_equal(a->cursor, s.cursor);
  assert_true(a->epoch == s.epoch);
  assert_int_equal(now.live, s.stats.live);
  assert_int_equal(now.blocks, s.stats.blocks);
  assert_int_equal(now.reserved, s.stats.reserved);
}

/* Calls everything that can take a block, and counts failures. */
static size_t scenario(toft_arena *a) {
  size_t failures = 0;
  unsigned char *kept = (unsigned char *)toft_alloc(a, 100);
  fill(kept, 100, 1);
  toft_mark m = toft_mark_here(a);
  seen s;
#define attempt(what)     \
  do {                    \
    s = look(a);          \
    if ((what) == NULL) { \
      failures++;         \
      same(a, s);         \
    }                     \
  } while (0)
  for (size_t i = 0; i < 12; i++) {
    void *p;
    attempt(p = toft_alloc(a, 3000));
    if (p != NULL) attempt(toft_resize(a, p, 3000, 9000, 8));
    attempt(toft_alloc_aligned(a, 5000, 4096));
    attempt(toft_alloc_zeroed(a, 60000, 64));
    attempt(p = toft_alloc(a, 400000));
    if (p != NULL) attempt(toft_resize(a, p, 400000, 900000, 8));
    attempt(toft_strdup(a, "string"));
    attempt(toft_printf(a, "%04000d", 7));
    toft_cleanup *node;
    attempt(node = toft_cleanup_add(a, clean, NULL));
    registered += node != NULL;
    toft_pack k = toft_pack_begin(a);
    attempt(toft_pack_alloc(&k, 200));
    toft_range r;
    if (toft_claim(a, &r) == TOFT_OK) {
      unsigned char *before = r.cursor;
      if (toft_range_alloc(a, &r, 70000) == NULL) {
        failures++;
        assert_true(r.cursor == before && r.claim != 0);
      }
      failures += toft_alloc(a, 50) == NULL; /* in a side block */
      assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
    }
    if (i % 4 == 1) assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_true(filled(kept, 100, 1));
    if (i % 4 == 3) {
      assert_int_equal(toft_reset(a), TOFT_OK);
      toft_trim(a, i * 10000);
      kept = (unsigned char *)toft_alloc(a, 100);
      if (kept == NULL) return failures + 1;
      fill(kept, 100, 1);
      m = toft_mark_here(a);
    }
  }
#undef attempt
  return failures;
}

static void run(int from_then_on) {
  size_t k = 1, failures;
  do {
    counted c;
    toft_options o = TOFT_OPTIONS;
    o.source = counted_init(&c);
    c.fail_at = from_then_on ? 0 : k;
    c.fail_from = from_then_on ? k : 0;
    cleaned = registered = 0;
    toft_arena *a = toft_create_with(&o);
    failures = 1;
    if (k == 1) {
      assert_null(a);
    } else {
      failures = scenario(a);
      toft_release(a);
    }
    assert_int_equal(cleaned, registered);
    counted_all_back(&c);
    assert_true(failures != 0 || c.attempts < k);
    k++;
  } while (failures != 0);
  assert_true(k > 12); /* it failed at many points before */
}

static void each_block_once(void **state) {
  (void)state;
  run(0);
}

static void each_block_and_all_after_it(void **state) {
  (void)state;
  run(1);
}

/* ---- every kind of allocator, on the same stream ---- */

typedef struct kind {
  void *(*create)(toft_source *source);
  void *(*alloc)(void *of, size_t size);
  uint64_t (*live)(void *of);
  void (*release)(void *of);
} kind;

static void *arena_create(toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  return toft_create_with(&o);
}
static void *arena_alloc(void *a, size_t size) { return toft_alloc((toft_arena *)a, size); }
static uint64_t arena_live(void *a) { return toft_get_stats((toft_arena *)a).live; }
static void arena_release(void *a) { toft_release((toft_arena *)a); }

#ifndef TOFT_OMIT_CHECKS
static void *checked_create(toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  o.flags = TOFT_CHECKED;
  return toft_create_with(&o);
}
#endif

#ifndef TOFT_OMIT_RECYCLER
static void *recycler_create(toft_source *source) {
  static toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  return toft_recycler_init(&r, &o) == TOFT_OK ? &r : NULL;
}
static void *recycler_alloc(void *r, size_t size) { return toft_recycler_alloc((toft_recycler *)r, size, 8); }
static uint64_t recycler_live(void *r) { return toft_recycler_get_stats((toft_recycler *)r).used; }
static void recycler_release(void *r) { toft_recycler_release((toft_recycler *)r); }

static void *malloc_create(toft_source *source) {
  static toft_malloc m;
  toft_malloc_init(&m, source);
  return &m;
}
static uint64_t malloc_live(void *m) { return toft_malloc_get_stats((toft_malloc *)m).used; }
static void malloc_release(void *m) { toft_malloc_release((toft_malloc *)m); }
#endif

#if !defined(TOFT_OMIT_RECYCLER) && !defined(TOFT_OMIT_THREADS)
static void *sync_create(toft_source *source) {
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = source;
  return toft_sync_recycler_create(&o);
}
static void *sync_alloc(void *r, size_t size) { return toft_sync_recycler_alloc((toft_sync_recycler *)r, size, 8); }
static uint64_t sync_live(void *r) { return toft_sync_recycler_get_stats((toft_sync_recycler *)r).used; }
static void sync_release(void *r) { toft_sync_recycler_release((toft_sync_recycler *)r); }
#endif

#ifndef TOFT_OMIT_THREADS
static void *shared_create(toft_source *source) { return toft_shared_create(source); }
static void *shared_alloc(void *s, size_t size) { return toft_shared_alloc((toft_shared *)s, size, 8); }
static uint64_t shared_live(void *s) { return toft_shared_get_stats((toft_shared *)s).live; }
static void shared_release(void *s) { assert_int_equal(toft_shared_release((toft_shared *)s), TOFT_OK); }

static toft_shared *around; /* of the local arena */
static void *local_create(toft_source *source) {
  around = toft_shared_create(source);
  toft_arena *a = around != NULL ? toft_shared_local(around) : NULL;
  if (a == NULL && around != NULL) shared_release(around);
  return a;
}
static void local_release(void *a) {
  (void)a;
  shared_release(around);
}

static toft_lease lease;
static void *leases_create(toft_source *source) {
  toft_options arenas = TOFT_OPTIONS;
  toft_lease_options o = TOFT_LEASE_OPTIONS;
  arenas.source = source;
  o.arenas = &arenas;
  lease.arena = NULL;
  return toft_leases_create(&o);
}
static void *leases_alloc(void *l, size_t size) {
  if (lease.arena == NULL) lease = toft_lease_get((toft_leases *)l);
  return lease.arena != NULL ? toft_alloc(lease.arena, size) : NULL;
}
static uint64_t leases_live(void *l) {
  (void)l;
  return lease.arena != NULL ? toft_get_stats(lease.arena).live : 0;
}
static void leases_release(void *l) {
  assert_int_equal(toft_lease_return((toft_leases *)l, lease), TOFT_OK);
  assert_int_equal(toft_leases_release((toft_leases *)l), TOFT_OK);
}

static void *frames_create(toft_source *source) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  return toft_frames_create(1, &o);
}
static void *frames_alloc(void *f, size_t size) {
  toft_arena *a = toft_frame_arena((toft_frames *)f);
  return a != NULL ? toft_alloc(a, size) : NULL;
}
static uint64_t frames_live(void *f) {
  toft_frame_stats s;
  assert_int_equal(toft_frames_get_stats((toft_frames *)f, &s), TOFT_OK);
  return s.live;
}
static void frames_release(void *f) { assert_int_equal(toft_frames_release((toft_frames *)f), TOFT_OK); }
#endif

static const kind kinds[] = {
    {arena_create, arena_alloc, arena_live, arena_release},
#ifndef TOFT_OMIT_CHECKS
    {checked_create, arena_alloc, arena_live, arena_release},
#endif
#ifndef TOFT_OMIT_RECYCLER
    {recycler_create, recycler_alloc, recycler_live, recycler_release},
    {malloc_create, toft_malloc_alloc, malloc_live, malloc_release},
#endif
#if !defined(TOFT_OMIT_RECYCLER) && !defined(TOFT_OMIT_THREADS)
    {sync_create, sync_alloc, sync_live, sync_release},
#endif
#ifndef TOFT_OMIT_THREADS
    {shared_create, shared_alloc, shared_live, shared_release},
    {local_create, arena_alloc, arena_live, local_release},
    {leases_create, leases_alloc, leases_live, leases_release},
    {frames_create, frames_alloc, frames_live, frames_release},
#endif
};

/* The k-th take fails, and those after it unless `once`, until a call fails; then there is memory again. Returns
 * whether a call failed. */
static int play(const kind *it, size_t k, int once, counted *c) {
  static const size_t sizes[] = {10, 3000, 24, 70000, 9000, 400000, 100, 5000, 300000, 40000, 1 << 20, 2000, 16};
  unsigned char *at[sizeof sizes / sizeof *sizes];
  int failures = 0;
  toft_source *source = counted_init(c);
  *(once ? &c->fail_at : &c->fail_from) = k;
  void *of = it->create(source);
  if (of == NULL) {
    assert_int_equal(c->out, 0);
    failures++;
    c->fail_at = c->fail_from = 0;
    of = it->create(source);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint64_t live = it->live(of);
    at[i] = (unsigned char *)it->alloc(of, sizes[i]);
    if (at[i] == NULL) {
      failures++;
      assert_int_equal(it->live(of), live);
      for (size_t j = 0; j < i; j++) assert_true(filled(at[j], sizes[j], (unsigned)j));
      c->fail_at = c->fail_from = 0;
      at[i] = (unsigned char *)it->alloc(of, sizes[i]);
      assert_non_null(at[i]);
    }
    fill(at[i], sizes[i], (unsigned)i);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) assert_true(filled(at[i], sizes[i], (unsigned)i));
  it->release(of);
  counted_all_back(c);
  assert_true(failures <= 1);
  return failures;
}

static void each_kind_goes_on_after_each_refusal(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    counted c;
    size_t k = 0;
    do {
      k++;
      (void)play(&kinds[i], k, 1, &c); /* a recycler may get a smaller segment instead */
      int failures = play(&kinds[i], k, 0, &c);
      assert_int_equal(failures, c.attempts >= k);
    } while (c.attempts >= k);
    assert_true(k > 5);
  }
}

/* ---- limits of the system ---- */

#ifdef __linux__
enum { ROOM = 24 << 20 };

typedef struct place {
  unsigned char *p;
  size_t size;
} place;
static place places[1 << 16];

/* Allocates and writes until a call is refused, at most `most` bytes. Returns how many allocations there are; 0: none
 * was refused, or one that was changed something. */
static size_t fill_up(const kind *it, void *of, size_t most) {
  static const size_t sizes[] = {100, 3000, 40000, 5000, 2 << 20};
  size_t n = 0;
  for (size_t bytes = 0; bytes < most; bytes += places[n++].size) {
    uint64_t live = it->live(of);
    places[n].size = sizes[n % (sizeof sizes / sizeof *sizes)];
    places[n].p = (unsigned char *)it->alloc(of, places[n].size);
    if (places[n].p == NULL) {
      for (size_t i = 0; i < n; i++)
        if (!filled(places[i].p, places[i].size, (unsigned)i)) return 0;
      return it->live(of) == live ? n : 0;
    }
    fill(places[n].p, places[n].size, (unsigned)n);
  }
  return 0;
}

/* Under a limit of address space: the next allocation succeeds when the limit is raised. */
static int use_address_space(void) {
  unsigned long pages = 0;
  struct rlimit before, limit;
  FILE *in = fopen("/proc/self/statm", "r");
  if (in == NULL || fscanf(in, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &before) != 0) return 1;
  fclose(in);
  limit = before;
  limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    void *of = kinds[i].create(NULL);
    if (of == NULL || setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    toft_reserve_source reserve;
    if (toft_reserve_source_init(&reserve, 2 * ROOM) != NULL || fill_up(&kinds[i], of, 2 * ROOM) == 0) return 3;
    if (setrlimit(RLIMIT_AS, &before) != 0 || kinds[i].alloc(of, 4 << 20) == NULL) return 4;
    kinds[i].release(of);
    toft_cache_trim();
  }
  return 0;
}

/* In a group of 2 * ROOM bytes: a limited source refuses before the system ends the process. */
static int use_limited_sources(void) {
  for (size_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
    const kind *it = &kinds[i / 2];
    toft_limited_source limited;
    void *of = it->create(toft_limited_source_init(&limited, NULL, ROOM));
    if (of == NULL || fill_up(it, of, 2 * ROOM) == 0) return 1;
    it->release(of);
    if (limited.used != 0) return 2;
  }
  return 0;
}

static int use_the_heap(void) { return fill_up(&kinds[0], kinds[0].create(NULL), 4 * ROOM) != 0; }

/* The status of a child that does this. In a group unless `procs` is NULL. */
static int status_of(int (*work)(void), const char *procs) {
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    FILE *out = procs != NULL ? fopen(procs, "w") : NULL;
    if (procs != NULL && (out == NULL || fprintf(out, "%d", (int)getpid()) < 0 || fclose(out) != 0)) _exit(99);
    _exit(work());
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static int has_shadow_memory(void) {
#ifdef RUNNING_ON_VALGRIND
  if (RUNNING_ON_VALGRIND) return 1;
#endif
#if defined(HAS_ASAN) || defined(HAS_TSAN)
  return 1;
#endif
  return getenv("TOFT_EMULATED") != NULL;
}

static void address_space_runs_out(void **state) {
  (void)state;
  if (has_shadow_memory() || getenv("TOFT_HARDENED") != NULL)
    skip(); /* hardened arenas keep addresses of released blocks */
  assert_int_equal(status_of(use_address_space, NULL), 0);
}

static int put_limit(const char *folder, const char *file, size_t bytes) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *out = access(path, W_OK) == 0 ? fopen(path, "w") : NULL;
  int good = out != NULL && fprintf(out, "%zu", bytes) > 0;
  return out != NULL && fclose(out) == 0 && good;
}

static void a_group_runs_out_of_memory(void **state) {
  const char *const roots[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}; /* versions 1 and 2 */
  char folder[128], procs[160];
  (void)state;
  for (size_t i = 0; i < 2 && !has_shadow_memory(); i++) {
    (void)snprintf(procs, sizeof procs, "%s/cgroup.procs", roots[i]);
    (void)snprintf(folder, sizeof folder, "%s/toft_%d", roots[i], (int)getpid());
    if (access(procs, W_OK) != 0 || mkdir(folder, 0755) != 0) continue;
    int good = put_limit(folder, i == 0 ? "memory.limit_in_bytes" : "memory.max", 2 * ROOM);
    (void)put_limit(folder, i == 0 ? "memory.memsw.limit_in_bytes" : "memory.swap.max", i == 0 ? 2 * ROOM : 0);
    (void)snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    int limited = good ? status_of(use_limited_sources, procs) : 0, heap = good ? status_of(use_the_heap, procs) : 0;
    assert_int_equal(rmdir(folder), 0);
    if (!good) continue;
    assert_int_equal(limited, 0);
    assert_true(WIFSIGNALED(heap) && WTERMSIG(heap) == SIGKILL); /* the limit was one */
    return;
  }
  print_message("skipped: no control group with a limit of memory can be made here\n");
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_block_once),
      cmocka_unit_test(each_block_and_all_after_it),
      cmocka_unit_test(each_kind_goes_on_after_each_refusal),
#ifdef __linux__
      cmocka_unit_test(address_space_runs_out),
      cmocka_unit_test(a_group_runs_out_of_memory),
#endif
  };
  return cmocka_run_group_tests_name("out of memory", tests, NULL, NULL);
}
