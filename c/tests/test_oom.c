/* Limits of memory, for every kind of object: of a source that refuses once, from a call on, above a size, or above a
 * sum of bytes; of address space; of a control group. When the object is empty again, the requests that it served
 * before the refusal are served again, and no part of a limit stays unused. test_refusal.c has single calls.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "refusing.h"

#include <stdio.h>
#ifdef __linux__
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

enum { KIB = 1024, MIB = 1024 * KIB, REQUESTS_MAX = 5000, ROUNDS = 3 };

static void *at[REQUESTS_MAX];
static size_t sizes[REQUESTS_MAX];

/* Fills `sizes` with a sequence of about `bytes` bytes; returns its length. */
static size_t sequence(int which, size_t bytes) {
  static const size_t mixed[] = {10, 3000, 24, 70000, 9000, 200000, 100, 5000, 300000, 40000, 1 * MIB, 2000, 16};
  size_t n = 0;
  for (size_t sum = 0; sum < bytes && n < REQUESTS_MAX; n++) {
    sizes[n] = which == 0 ? 1000 : which == 1 ? 20000 : mixed[n % (sizeof mixed / sizeof *mixed)];
    sum += sizes[n];
  }
  return n;
}

/* Serves the sequence until a request is refused. Returns how many requests were served. */
static size_t serve(const kind *it, void *of, size_t n) {
  size_t i;
  for (i = 0; i < n && (at[i] = it->alloc(of, sizes[i])) != NULL; i++) *(unsigned char *)at[i] = (unsigned char)i;
  for (size_t j = 0; j < i; j++) assert_int_equal(*(unsigned char *)at[j], (unsigned char)j);
  return i;
}

static int is(const kind *it, const char *name) { return strcmp(it->name, name) == 0; }

static int is_recycler(const kind *it) { return is(it, "recycler") || is(it, "malloc") || is(it, "sync"); }

/* Recyclers place objects in free memory of any age; a lease cache keeps a part of an arena's blocks. */
static int places_by_history(const kind *it) { return is_recycler(it) || is(it, "leases"); }

/* Serves the sequence ROUNDS times: no fewer requests than in the round before, unless the only refusal was in between,
 * or blocks that were returned before the source began to refuse for good are missing. */
static size_t rounds(const kind *it, void *of, const counted *c, size_t n) {
  size_t served = 0;
  for (int round = 0; round < ROUNDS; round++) {
    size_t first = c->fail_at != 0 ? c->fail_at : c->fail_from, attempts = c->attempts;
    size_t now = serve(it, of, n);
    int compares = attempts >= first || c->attempts < first;
    size_t least = places_by_history(it) ? served - served / 8 : served;
    if (is_recycler(it) && sizes[0] == 1000)
      least -= least < 32 ? least : 32; /* a block may end within a unit of 32 KiB */
    if (compares && now < least) fail_msg("%s: round %d served %zu requests, not %zu", it->name, round, now, served);
    served = now;
    it->empty(of, at, sizes, now);
    assert_int_equal(it->live(of), 0);
  }
  return served;
}

/* The first object of a kind takes up to 64 KiB; recyclers take memory by 64 KiB at least. */
static size_t least_limit(const kind *it) { return is_recycler(it) ? 1 * MIB : 64 * KIB; }

static int is_brief(void) { return getenv("TOFT_SHORT") != NULL || getenv("TOFT_EMULATED") != NULL; }

/* Rounds on a source that refuses. Returns how many requests the last one served; 0: not even the object. Stores how
 * much less than `n` bytes was taken at most. */
static size_t rounds_on(const kind *it, size_t requests_of_a_round, int way, size_t n, size_t *unused) {
  counted c;
  toft_source *source = counted_init(&c);
  *(way == ONCE ? &c.fail_at : way == FROM_THEN_ON ? &c.fail_from : way == ABOVE_A_SIZE ? &c.size_max : &c.limit) = n;
  void *of = it->create(source);
  if (of == NULL) return 0;
  size_t served = rounds(it, of, &c, requests_of_a_round);
  *unused = n - c.peak;
  it->release(of);
  counted_all_back(&c);
  return served;
}

static void a_limit_of_bytes(void **state) {
  size_t step = is_brief() ? 31 * 4 * KIB : 4 * KIB, unused;
  (void)state;
  for (const kind *it = kinds; it < kinds + KINDS; it++)
    for (int which = 0; which < 3; which++)
      for (size_t n = 4 * KIB; n <= 4 * MIB; n += which == 0 && !is(it, "checked") ? step : 7 * step) {
        size_t served = rounds_on(it, sequence(which, 5 * MIB), NOTHING, n, &unused);
        assert_true(served != 0 || n < 128 * KIB);
        if (which == 0 && served != 0 && n >= least_limit(it) && unused > n / 8)
          fail_msg("%s: %zu of %zu bytes are not used, %zu requests are served", it->name, unused, n, served);
      }
}

static void other_limits(void **state) {
  size_t unused;
  (void)state;
  for (const kind *it = kinds; it < kinds + KINDS; it++)
    for (int which = 0; which < 3; which++) {
      for (size_t n = 4 * KIB; n <= 4 * MIB; n += n / (is_brief() ? 1 : 3) / 4096 * 4096 + 4096) {
        size_t all = sequence(which, 3 * MIB), served = rounds_on(it, all, ABOVE_A_SIZE, n, &unused);
        if (which == 0 && n >= least_limit(it)) assert_int_equal(served, all); /* all fits in small blocks */
      }
      for (size_t k = 2; k < (is_brief() ? 6 : 20); k++) {
        (void)rounds_on(it, sequence(which, 3 * MIB), ONCE, k, &unused);
        if (is(it, "leases")) continue; /* what the cache does not keep is returned to the source */
        (void)rounds_on(it, sequence(which, 3 * MIB), FROM_THEN_ON, k, &unused);
      }
    }
}

/* The refusal comes in a later round, in an object that keeps memory from the rounds before. */
static void after_rounds_of_other_sizes(void **state) {
  (void)state;
  for (size_t i = 0; i < KINDS; i++)
    for (size_t limit = 1 * MIB; limit <= 4 * MIB; limit += 300 * KIB)
      for (size_t part = 8; part <= 10; part++) {
        counted c;
        toft_source *source = counted_init(&c);
        c.limit = limit;
        void *of = kinds[i].create(source);
        assert_non_null(of);
        for (int round = 0; round < 12; round++) { /* below the limit, by small requests and by large ones in turn */
          size_t n = sequence(round % 2, limit * part / (is_recycler(&kinds[i]) ? 32 : 16));
          size_t served = serve(&kinds[i], of, n);
          if (served != n) fail_msg("%s: limit %zu, round %d: %zu of %zu", kinds[i].name, limit, round, served, n);
          kinds[i].empty(of, at, sizes, served);
        }
        if (is(&kinds[i], "local")) { /* its blocks are joined by a reset of the shared arena only */
          kinds[i].release(of);
          continue;
        }
        sizes[0] = limit / 2; /* one request of half the limit, when nothing is live */
        if (serve(&kinds[i], of, 1) != 1) fail_msg("%s: half of %zu bytes are not served", kinds[i].name, limit);
        kinds[i].empty(of, at, sizes, 1);
        kinds[i].release(of);
        counted_all_back(&c);
      }
}

/* ---- a request that no limit has room for ---- */

/* Returns how many requests are served up to the limit, after a refused one if `after` is set. */
static size_t room(void *of, const kind *it, int after) {
  size_t n = 0;
  assert_non_null(it->alloc(of, 20000));
  if (after) assert_null(it->alloc(of, 4 * MIB));
  while (it->alloc(of, 1000) != NULL) n++;
  it->release(of);
  return n;
}

static void a_refused_request_takes_no_room(void **state) {
  static unsigned char buffer[64 * KIB];
  size_t expected = room(toft_create_in(buffer, sizeof buffer, NULL), &kinds[0], 0);
  (void)state;
  assert_int_equal(room(toft_create_in(buffer, sizeof buffer, NULL), &kinds[0], 1), expected);
  for (size_t i = 0; i < KINDS; i++)
    for (size_t limit = 1 * MIB; limit < 3 * MIB; limit += 300 * KIB) {
      size_t served[2];
      for (int after = 0; after < 2; after++) {
        counted c;
        toft_source *source = counted_init(&c);
        c.limit = limit;
        served[after] = room(kinds[i].create(source), &kinds[i], after);
        counted_all_back(&c);
      }
      /* A recycler's block loses up to 32 KiB, by its address. */
      size_t least = is_recycler(&kinds[i]) ? served[0] - served[0] / 8 : served[0];
      if (served[1] < least) fail_msg("%s: limit %zu: %zu, not %zu", kinds[i].name, limit, served[1], served[0]);
    }
}

/* ---- arenas of one limit ---- */

#ifndef TOFT_OMIT_THREADS
static void tenants_do_not_starve_each_other(void **state) {
  (void)state;
  for (size_t i = 0; i < KINDS; i++) {
    if (is_recycler(&kinds[i]) || is(&kinds[i], "local") || is(&kinds[i], "leases")) continue;
    counted c;
    toft_limited_source limited;
    toft_source *source = toft_limited_source_init(&limited, counted_init(&c), 16 * MIB);
    void *a = kinds[i].create(source), *b = kinds[i].create(source);
    for (int round = 0; round < 10; round++) {
      void *of = round % 2 == 0 ? a : b;
      size_t n = sequence(round % 3, round % 3 == 0 ? 4 * MIB : 12 * MIB);
      size_t served = serve(&kinds[i], of, n);
      if (served != n) fail_msg("%s: round %d: %zu of %zu requests are served", kinds[i].name, round, served, n);
      kinds[i].empty(of, at, sizes, served);
    }
    kinds[i].release(a);
    kinds[i].release(b);
    counted_all_back(&c);
  }
}
#endif

#ifndef TOFT_OMIT_METERS
static uint64_t seen_live;
static size_t calls, seen_size;
static uint64_t lift(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size) {
  (void)a;
  calls++;
  seen_live = live;
  seen_size = size;
  assert_true(live + size <= budget); /* the budget is not the cause */
  ((counted *)arg)->limit += 2 * MIB;
  return budget;
}

static uint64_t keep_budget(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size) {
  (void)arg, (void)a, (void)live, (void)size;
  calls++;
  return budget;
}

static void the_callback_hears_of_the_source(void **state) {
  (void)state;
  counted c;
  toft_arena *a = arena_on(counted_init(&c));
  c.limit = 64 * KIB;
  assert_int_equal(toft_on_refusal(a, lift, &c), TOFT_OK);
  void *p = toft_alloc(a, 200000);
  assert_non_null(p);
  assert_int_equal(calls, 1);
  assert_int_equal(seen_live, 0);
  assert_int_equal(seen_size, 200000);
  assert_non_null(toft_resize(a, p, 200000, 2000000, 8));
  assert_int_equal(calls, 2);
  calls = 0;
  assert_int_equal(toft_on_refusal(a, keep_budget, &c), TOFT_OK);
  assert_null(toft_alloc(a, 3 * MIB));
  assert_int_equal(calls, 1);
  assert_null(toft_alloc(a, SIZE_MAX / 2)); /* no source can have it */
  assert_null(a->ops->resize(a, p, 200000, 4 * MIB, 8, TOFT_STAY, 0));
  assert_int_equal(calls, 1);
  toft_release(a);
  counted_all_back(&c);
}
#endif

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
  static const size_t some[] = {100, 3000, 40000, 5000, 2 << 20};
  size_t n = 0;
  for (size_t bytes = 0; bytes < most; bytes += places[n++].size) {
    uint64_t live = it->live(of);
    places[n].size = some[n % (sizeof some / sizeof *some)];
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
  for (size_t i = 0; i < KINDS; i++) {
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
  for (size_t i = 0; i < 2 * KINDS; i++) {
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

#ifndef TOFT_OMIT_PAGE_CACHE
/* In a group of 256 MiB: the process keeps 200 MiB of pages, and other code uses 150. */
static int keep_pages_beside_others(void) {
  toft_arena *a = toft_create();
  (void)toft_page_cache_window(3600 * 1000);
  for (size_t n = 0; n < (size_t)200 << 20; n += 1000) *(char *)toft_alloc(a, 1000) = 1;
  toft_release(a);
  if (toft_page_cache_bytes() < (size_t)199 << 20) return 1;
  char *other = (char *)malloc((size_t)150 << 20);
  if (other == NULL) return 2;
  memset(other, 1, (size_t)150 << 20);
  return other[12345] == 1 ? 0 : 3;
}

static int has_huge_pages(void) {
  char text[64] = "";
  FILE *in = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
  if (in == NULL) return 0;
  int known = fgets(text, sizeof text, in) != NULL;
  fclose(in);
  return known && strstr(text, "[never]") == NULL;
}
#endif

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
#if defined(HAS_ASAN) || defined(HAS_TSAN) || defined(HAS_MSAN)
  return 1;
#endif
  return getenv("TOFT_EMULATED") != NULL;
}

static void address_space_runs_out(void **state) {
  (void)state;
  if (has_shadow_memory()) skip();
  assert_int_equal(status_of(use_address_space, NULL), 0);
}

static int put_limit(const char *folder, const char *file, size_t bytes) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *out = access(path, W_OK) == 0 ? fopen(path, "w") : NULL;
  int good = out != NULL && fprintf(out, "%zu", bytes) > 0;
  return out != NULL && fclose(out) == 0 && good;
}

/* The status of a child that does this in a control group with a limit of `bytes`; -1: no group can be made. */
static int status_in_group(int (*work)(void), size_t bytes) {
  const char *const roots[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}; /* versions 1 and 2 */
  char folder[128], procs[160];
  for (size_t i = 0; i < 2 && !has_shadow_memory(); i++) {
    (void)snprintf(procs, sizeof procs, "%s/cgroup.procs", roots[i]);
    (void)snprintf(folder, sizeof folder, "%s/toft_%d", roots[i], (int)getpid());
    if (access(procs, W_OK) != 0 || mkdir(folder, 0755) != 0) continue;
    int good = put_limit(folder, i == 0 ? "memory.limit_in_bytes" : "memory.max", bytes);
    (void)put_limit(folder, i == 0 ? "memory.memsw.limit_in_bytes" : "memory.swap.max", i == 0 ? bytes : 0);
    (void)snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    int status = good ? status_of(work, procs) : -1;
    assert_int_equal(rmdir(folder), 0);
    if (good) return status;
  }
  print_message("skipped: no control group with a limit of memory can be made here\n");
  return -1;
}

static void a_group_runs_out_of_memory(void **state) {
  (void)state;
  int limited = status_in_group(use_limited_sources, 2 * ROOM);
  if (limited < 0) skip();
  int heap = status_in_group(use_the_heap, 2 * ROOM);
  assert_int_equal(limited, 0);
  assert_true(WIFSIGNALED(heap) && WTERMSIG(heap) == SIGKILL); /* the limit was one */
}

#ifndef TOFT_OMIT_PAGE_CACHE
static void cached_pages_are_taken_before_a_process_is_killed(void **state) {
  (void)state;
  /* With pointers of 32 bits only 32 MiB are cached. */
  int plain = sizeof(void *) == 8;
  int status = plain && has_huge_pages() ? status_in_group(keep_pages_beside_others, (size_t)256 << 20) : -1;
  if (status < 0) skip();
  assert_int_equal(status, 0);
}
#endif
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_limit_of_bytes),
      cmocka_unit_test(other_limits),
      cmocka_unit_test(after_rounds_of_other_sizes),
      cmocka_unit_test(a_refused_request_takes_no_room),
#ifndef TOFT_OMIT_THREADS
      cmocka_unit_test(tenants_do_not_starve_each_other),
#endif
#ifndef TOFT_OMIT_METERS
      cmocka_unit_test(the_callback_hears_of_the_source),
#endif
#ifdef __linux__
      cmocka_unit_test(address_space_runs_out),
      cmocka_unit_test(a_group_runs_out_of_memory),
#ifndef TOFT_OMIT_PAGE_CACHE
      cmocka_unit_test(cached_pages_are_taken_before_a_process_is_killed),
#endif
#endif
  };
  return cmocka_run_group_tests_name("out of memory", tests, NULL, NULL);
}
