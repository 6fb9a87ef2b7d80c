/* The allocation functions of clang's allocation tokens, called as clang does: types keep their addresses, objects of
 * the C library, threads, fork, refusals.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef __has_feature
#define __has_feature(name) 0
#endif
/* Sanitizers define free themselves. */
#if defined(__ELF__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
#include "toft/tokens.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { TYPES = 40, LIVE = 2000, LARGE_ADDRESSES = sizeof(void *) == 8 };
#define PART (LARGE_ADDRESSES ? (size_t)5 << 20 : (size_t)1 << 20)

static uint64_t state = 1;
static size_t random_below(size_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (size_t)(state >> 20) % n;
}

/* A number as a hash would be. */
static size_t token_of(size_t type) { return (size_t)((type + 1) * 0xD1B54A32D192ED03u); }

/* ---- addresses ---- */

enum { UNITS = 1 << 20 };
static uint16_t *used_by; /* of each 32 KiB of the range: 1 + the type that had an object there */

static void note_type(const unsigned char *p, size_t size, size_t type) {
  size_t first = toft_token_offset(p) / TOFT_TOKEN_UNIT, last = toft_token_offset(p + size - 1) / TOFT_TOKEN_UNIT;
  assert_true(toft_token_owns(p) && last < UNITS);
  for (size_t i = first; i <= last; i++) {
    if (used_by[i] != 0) assert_int_equal(used_by[i], type + 1);
    used_by[i] = (uint16_t)(type + 1);
  }
}

static size_t any_size(void) {
  switch (random_below(20)) {
    case 0: return 1 + random_below(300000);
    case 1: return 1 + random_below(20000);
    default: return 1 + random_below(200);
  }
}

static void test_addresses_of_a_type_are_never_used_for_another(void **unused) {
  static struct {
    unsigned char *p;
    size_t size, type;
    unsigned char byte;
  } live[LIVE];
  (void)unused;
  used_by = (uint16_t *)calloc(UNITS, sizeof *used_by);
  for (size_t round = 0; round < rounds_of(400000); round++) {
    size_t i = random_below(round / 50000 % 2 ? 50 : LIVE); /* also few live objects: gaps come into being */
    if (live[i].p == NULL) {
      size_t type = random_below(TYPES), size = any_size(), align = (size_t)16 << random_below(9);
      int aligned = random_below(8) == 0;
      unsigned char *p = (unsigned char *)(aligned ? __alloc_token_aligned_alloc(align, size, token_of(type))
                                                   : __alloc_token_malloc(size, token_of(type)));
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % (aligned ? align : 16), 0);
      live[i].p = p, live[i].size = size, live[i].type = type;
      live[i].byte = (unsigned char)random_below(256);
      note_type(p, size, type);
      memset(p, live[i].byte, size);
      continue;
    }
    for (size_t k = 0; k < live[i].size; k += 1 + live[i].size / 16) assert_int_equal(live[i].p[k], live[i].byte);
    if (random_below(3) == 0) { /* a realloc whose type clang does not know */
      size_t size = any_size(), kept = size < live[i].size ? size : live[i].size;
      live[i].p = (unsigned char *)__alloc_token_realloc(live[i].p, size, 0);
      assert_non_null(live[i].p);
      assert_true(malloc_usable_size(live[i].p) >= size);
      for (size_t k = 0; k < kept; k += 1 + kept / 16) assert_int_equal(live[i].p[k], live[i].byte);
      live[i].size = size;
      note_type(live[i].p, size, live[i].type);
      memset(live[i].p, live[i].byte, size);
    } else {
      free(live[i].p);
      live[i].p = NULL;
    }
  }
  for (size_t i = 0; i < LIVE; i++) free(live[i].p);
  free(used_by);
}

static void test_gaps_of_a_type_are_used_again(void **unused) {
  (void)unused;
  const unsigned char *next = toft_tokens.next;
  for (int round = 0; round < 300; round++) {
    size_t size = ((size_t)1 + (size_t)round % 7) << 20;
    unsigned char *p = (unsigned char *)__alloc_token_malloc(size, token_of(1000));
    assert_non_null(p);
    memset(p, 1, size);
    free(p);
    toft_token_heap *h = toft_token_heap_for(token_of(1000));
    toft_malloc_trim(&h->memory, 0);
  }
  assert_true(toft_tokens.next - next < (ptrdiff_t)1 << 26);
}

static void test_gaps_that_follow_each_other_are_joined(void **unused) {
  unsigned char *parts[40];
  size_t token = token_of(1001);
  (void)unused;
  for (int i = 0; i < 40; i++) assert_non_null(parts[i] = (unsigned char *)__alloc_token_malloc(PART, token));
  const unsigned char *next = toft_tokens.next;
  for (int i = 0; i < 40; i++) {
    free(parts[i * 13 % 40]); /* in another order */
    toft_malloc_trim(&toft_token_heap_for(token)->memory, 0);
  }
  void *whole = __alloc_token_malloc(38 * PART, token);
  assert_non_null(whole);
  assert_ptr_equal(toft_tokens.next, next);
  free(whole);
}

static void test_more_types_than_slots_are_served(void **unused) {
  (void)unused;
  if (!LARGE_ADDRESSES || getenv("TOFT_EMULATED") != NULL) skip(); /* a range for 4,000 types; 33,000 system calls */
  pid_t child = fork();
  if (child == 0) { /* the table of this process stays as it is */
    void *first = NULL;
    for (size_t type = 0; type < 2 * TOFT_TOKEN_TYPES; type++) {
      unsigned char *p = (unsigned char *)__alloc_token_malloc(24, token_of(type + 5000));
      if (p == NULL) _exit(2);
      memset(p, 1, 24);
      if (type == 0) first = p;
      if (type % 2) free(p);
    }
    free(first);
    _exit(toft_tokens.counts[0] <= TOFT_TOKEN_TYPES ? 0 : 3);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

#if defined(__linux__) && defined(__x86_64__)
static long resident_kib(void) {
  long size, resident;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) _exit(5);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void test_a_type_of_few_objects_takes_less_than_10_kib(void **unused) {
  (void)unused;
  if (getenv("TOFT_CHECKED") != NULL) skip(); /* records need memory */
  pid_t child = fork();
  if (child == 0) {
    long before = resident_kib();
    for (size_t type = 0; type < 1000; type++) memset(__alloc_token_malloc(48, token_of(type + 100000)), 1, 48);
    _exit(resident_kib() - before < 10000 ? 0 : 2);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}
#endif

/* ---- the C library's objects ---- */

static void test_objects_of_the_c_library_stay_its_own(void **unused) {
  (void)unused;
  char *text = strdup("a text of the C library");
  assert_false(toft_token_owns(text));
  text = (char *)realloc(text, 1000);
  assert_false(toft_token_owns(text));
  assert_true(malloc_usable_size(text) >= 1000);
  text = (char *)__alloc_token_realloc(text, 2000, token_of(1));
  assert_string_equal(text, "a text of the C library");
  free(text);
  free(NULL);
  char *line = (char *)__alloc_token_malloc(1, token_of(1)); /* getline grows a buffer of the program */
  size_t size = 1;
  FILE *file = tmpfile();
  assert_non_null(file);
  for (int i = 0; i < 5000; i++) fputc('x', file);
  rewind(file);
  assert_int_equal(getline(&line, &size, file), 5000);
  assert_true(toft_token_owns(line));
  free(line);
  fclose(file);
}

/* ---- sizes, alignments, refusals ---- */

static void test_functions_follow_the_standard(void **unused) {
  void *p = NULL;
  (void)unused;
  size_t token = token_of(2), huge = SIZE_MAX - 10;
  void *none = __alloc_token_malloc(0, token), *other = __alloc_token_malloc(0, token);
  assert_true(none != NULL && other != NULL && none != other);
  assert_null(realloc(none, 0));
  free(other);
  unsigned char *zero = (unsigned char *)__alloc_token_calloc(1000, 3, token);
  for (int i = 0; i < 3000; i++) assert_int_equal(zero[i], 0);
  memset(zero, 1, 3000);
  free(zero);
  zero = (unsigned char *)__alloc_token_calloc(3000, 1, token);
  for (int i = 0; i < 3000; i++) assert_int_equal(zero[i], 0);
  errno = 0;
  assert_null(__alloc_token_calloc(SIZE_MAX / 2, 3, token));
  assert_int_equal(errno, ENOMEM);
  assert_null(__alloc_token_malloc(huge, token));
  assert_null(__alloc_token_realloc(zero, huge, token));
  assert_null(__alloc_token_reallocarray(zero, SIZE_MAX / 2, 3, token));
  assert_null(__alloc_token_pvalloc(huge, token));
  errno = 0;
  assert_null(__alloc_token_aligned_alloc(24, 24, token));
  assert_int_equal(errno, EINVAL);
  assert_null(__alloc_token_aligned_alloc(0, 24, token));
  assert_int_equal(__alloc_token_posix_memalign(&p, 24, 100, token), EINVAL);
  assert_int_equal(__alloc_token_posix_memalign(&p, sizeof p / 2, 100, token), EINVAL);
  assert_int_equal(__alloc_token_posix_memalign(&p, 4096, huge, token), ENOMEM);
  assert_null(p);
  assert_int_equal(__alloc_token_posix_memalign(&p, 4096, 100, token), 0);
  assert_int_equal((uintptr_t)p % 4096, 0);
  free(p);
  p = __alloc_token_valloc(1, token);
  assert_int_equal((uintptr_t)p % (size_t)sysconf(_SC_PAGESIZE), 0);
  free(p);
  zero = (unsigned char *)__alloc_token_reallocarray(zero, 1000, 10, token);
  assert_non_null(zero);
  errno = 5;
  free(zero);
  assert_int_equal(errno, 5);
}

static void test_a_process_without_memory_gets_null(void **unused) {
  (void)unused;
  if (getenv("TOFT_EMULATED") != NULL) skip(); /* an emulator ignores the limit */
  if (getenv("TOFT_CHECKED") != NULL) skip();  /* records need memory */
  pid_t child = fork();
  if (child == 0) {
    static void *kept[100000];
    struct rlimit limit = {(rlim_t)64 << 20, (rlim_t)64 << 20};
    size_t n = 0;
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(2);
    while (n < 100000 && (kept[n] = __alloc_token_malloc(2000, token_of(n % 5))) != NULL) memset(kept[n++], 1, 2000);
    if (n < 100 || n == 100000 || errno != ENOMEM) _exit(3);
    for (size_t i = 0; i < n; i++) free(kept[i]);
    for (size_t i = 0; i < 1000; i++)
      if ((kept[i] = __alloc_token_malloc(2000, token_of(i % 5))) == NULL) _exit(4);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* ---- threads ---- */

enum { THREADS = 6, MAILBOXES = 64 };
static size_t mailboxes[MAILBOXES]; /* atomic: objects that another thread frees */
static size_t stop;                 /* atomic */

static void *exchange(void *arg) {
  size_t own = (size_t)(uintptr_t)arg, bad = 0;
  for (size_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
    size_t type = (i * 7 + own) % TYPES, size = 8 + (i * 13) % 500;
    size_t *p = (size_t *)__alloc_token_malloc(size, token_of(type));
    if (p == NULL) return (void *)1;
    *p = (size_t)(uintptr_t)p;
    p = (size_t *)(uintptr_t)__atomic_exchange_n(&mailboxes[(i + own) % MAILBOXES], (size_t)(uintptr_t)p,
                                                 __ATOMIC_ACQ_REL);
    if (p == NULL) continue;
    bad += *p != (size_t)(uintptr_t)p;
    if (i % 5 == 0) p = (size_t *)realloc(p, 600);
    free(p);
  }
  return (void *)bad;
}

/* Uses all heaps, also those of other threads. */
static void use_in_child(void) {
  alarm(20);
  toft_token_before_fork();
  toft_token_after_fork();
  for (size_t i = 0; i < 1000; i++) {
    void *p = __alloc_token_malloc(8 + i % 700, token_of(i % TYPES));
    if (p == NULL) _exit(2);
    if (i % 3) free(p);
  }
  for (size_t i = 0; i < MAILBOXES; i++) {
    size_t *p = (size_t *)(uintptr_t)mailboxes[i];
    if (p != NULL && *p != (size_t)(uintptr_t)p) _exit(3);
    free(p);
  }
  _exit(0);
}

static void fork_while_threads_free_objects_of_others(void) {
  pthread_t threads[THREADS];
  __atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
  for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, exchange, (void *)i), 0);
  for (size_t i = 0; i < rounds_of(40); i++) {
    pid_t child = fork();
    if (child == 0) use_in_child();
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < THREADS; i++) {
    void *bad;
    assert_int_equal(pthread_join(threads[i], &bad), 0);
    assert_null(bad);
  }
  for (size_t i = 0; i < MAILBOXES; i++) {
    free((void *)(uintptr_t)mailboxes[i]);
    mailboxes[i] = 0;
  }
}

static void test_threads_free_objects_of_others_while_the_process_forks(void **unused) {
  (void)unused;
  if (getenv("TOFT_EMULATED") != NULL) skip(); /* a fork takes a second there */
  fork_while_threads_free_objects_of_others();
}

static void test_threads_that_share_heaps_use_them_while_the_process_forks(void **unused) {
  int shares = toft_tokens.shares;
  (void)unused;
  if (getenv("TOFT_EMULATED") != NULL) skip();
  toft_tokens.shares = 1; /* for threads that begin now */
  fork_while_threads_free_objects_of_others();
  toft_tokens.shares = shares;
}

static pthread_barrier_t all_began;

/* Allocates while all others live; `arg`: where the objects are stored, which another thread frees. */
static void *allocate_for_others(void *arg) {
  void **kept = (void **)arg;
  for (size_t i = 0; i < 100; i++) {
    kept[i] = __alloc_token_malloc(64, token_of(i % 10));
    if (kept[i] == NULL) return (void *)1;
    memset(kept[i], (int)i, 64);
  }
  (void)pthread_barrier_wait(&all_began);
  return NULL;
}

/* More threads than owners, several times: the last ones share heaps, and ended threads leave theirs to later ones. */
static void test_more_threads_than_owners_allocate_at_once(void **unused) {
  enum { MANY = TOFT_TOKEN_OWNERS + 20 };
  static void *kept[MANY][100];
  pthread_t threads[MANY];
  const unsigned char *next = NULL;
  (void)unused;
  for (int round = 0; round < 5; round++) {
    assert_int_equal(pthread_barrier_init(&all_began, NULL, MANY), 0);
    for (size_t i = 0; i < MANY; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, allocate_for_others, kept[i]), 0);
    for (size_t i = 0; i < MANY; i++) {
      void *bad;
      assert_int_equal(pthread_join(threads[i], &bad), 0);
      assert_null(bad);
    }
    (void)pthread_barrier_destroy(&all_began);
    for (size_t i = 0; i < MANY; i++)
      for (size_t k = 0; k < 100; k++) {
        assert_int_equal(((unsigned char *)kept[i][k])[63], k);
        if (k % 3 == 0) kept[i][k] = realloc(kept[i][k], 200); /* another thread's object moves */
        assert_int_equal(((unsigned char *)kept[i][k])[63], k);
        free(kept[i][k]);
      }
    uint64_t others = toft_tokens.owners & ~((uint64_t)1 << TOFT_TOKEN_SHARED);
    assert_true(toft_tokens.shares || (others & (others - 1)) == 0); /* this thread alone has one */
    if (round == 1) next = toft_tokens.next;
  }
  assert_ptr_equal(toft_tokens.next, next);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_addresses_of_a_type_are_never_used_for_another),
    cmocka_unit_test(test_gaps_of_a_type_are_used_again),
    cmocka_unit_test(test_gaps_that_follow_each_other_are_joined),
    cmocka_unit_test(test_more_types_than_slots_are_served),
#if defined(__linux__) && defined(__x86_64__)
    cmocka_unit_test(test_a_type_of_few_objects_takes_less_than_10_kib),
#endif
    cmocka_unit_test(test_objects_of_the_c_library_stay_its_own),
    cmocka_unit_test(test_functions_follow_the_standard),
    cmocka_unit_test(test_a_process_without_memory_gets_null),
    cmocka_unit_test(test_more_threads_than_owners_allocate_at_once),
    cmocka_unit_test(test_threads_free_objects_of_others_while_the_process_forks),
    cmocka_unit_test(test_threads_that_share_heaps_use_them_while_the_process_forks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
