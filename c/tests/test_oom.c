/* The source fails at the 1st, 2nd, ... k-th block, until a run passes untouched; or the system has no memory, by a
 * limit of address space or of a control group. After every failure the arena is as it was and goes on; whatever
 * happens, every block comes back.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "kinds.h"
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

/* The state that a failing call must not change. */
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
  assert_true(now.reserved <= s.stats.reserved); /* spares may have been returned */
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
  size_t k = 1, failures, failed = 0;
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
    int refused = c.attempts >= k;
    assert_true(refused || failures == 0);
    failed += failures != 0;
    if (!refused) break;
    k++;
  } while (1);
  assert_true(k > 12 && failed > (from_then_on ? 12 : 0)); /* it was refused at many points before */
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
    size_t k = 0, failed = 0, refused = 0;
    do {
      k++;
      (void)play(&kinds[i], k, 1, &c); /* a recycler may get a smaller segment instead */
      int failures = play(&kinds[i], k, 0, &c);
      assert_true(failures == 0 || c.attempts >= k);
      failed += (size_t)failures;
      refused += c.attempts >= k;
    } while (c.attempts >= k);
    assert_true(k > 5 && failed >= refused - refused / 4); /* a recycler may have smaller runs of pages instead */
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
  /* Hardened arenas have pages of their own, and with pointers of 32 bits only 32 MiB are cached. */
  int plain = getenv("TOFT_HARDENED") == NULL && sizeof(void *) == 8;
  int status = plain && has_huge_pages() ? status_in_group(keep_pages_beside_others, (size_t)256 << 20) : -1;
  if (status < 0) skip();
  assert_int_equal(status, 0);
}
#endif
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_block_once),
      cmocka_unit_test(each_block_and_all_after_it),
      cmocka_unit_test(each_kind_goes_on_after_each_refusal),
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
