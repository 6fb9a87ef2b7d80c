/* Hardened arenas: inaccessible pages, random offsets, the canary, filled memory, TOFT_HARDENED. Each case is a child,
 * since the environment is read once and the expected result of many is a fault.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* declared here, defined in the library */
#include "core/arena_state.h"

#ifdef _WIN32 /* has no fork */
int main(void) { return 77; }
#else
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAULTED 251
#define ABORTED 252
#define CHECK(condition) \
  if (!(condition)) return __LINE__ % 250 + 1

enum { FREED = 0xDD };

static int pipe_ends[2];
static int found, found_kind;
static unsigned char buffer[65536];

static void on_fault(int number) { _exit(number == SIGABRT ? ABORTED : FAULTED); }
static void on_finding(void *arg, const toft_finding *f) {
  (void)arg;
  found++;
  found_kind = f->kind;
}

/* Returns the exit code of work(arg); `value` is that of TOFT_HARDENED, NULL: not set. */
static int in_child(int (*work)(size_t), size_t arg, const char *value) {
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)signal(SIGSEGV, on_fault);
    (void)signal(SIGBUS, on_fault);
    (void)signal(SIGABRT, on_fault);
    (void)setenv("TOFT_FINDINGS", "/dev/null", 1);
    if (value != NULL) (void)setenv("TOFT_HARDENED", value, 1);
    toft_on_finding(on_finding, NULL);
    _exit(work(arg));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static toft_arena *hardened(toft_source *source, void *in, size_t size) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  o.buffer = in;
  o.buffer_size = size;
  o.flags = TOFT_HARDENED;
  return toft_create_with(&o);
}

/* ---- inaccessible pages ---- */

enum { HARDENED = 1, DOWN = 2, LARGE = 4, SECOND_BLOCK = 8 };

/* Writes from an object to 3 pages past its block's objects. */
static int overflow(size_t how) {
  size_t reach = 3 * (size_t)sysconf(_SC_PAGESIZE), size = how & LARGE ? 400000 : 24;
  if (how & SECOND_BLOCK) reach += 131072;
  unsigned char *middle = (unsigned char *)malloc((size_t)4 << 20); /* the plain arena has memory on both sides */
  CHECK(middle != NULL);
  toft_arena *a = how & HARDENED ? hardened(NULL, NULL, 0) : toft_create_in(middle + (1 << 20), 1 << 20, NULL);
  CHECK(a != NULL);
  toft_arena before = *a;
  if (how & SECOND_BLOCK) CHECK(toft_alloc(a, 20000) != NULL);
  unsigned char *p = (unsigned char *)toft_alloc(a, size);
  CHECK(p != NULL);
  if (how & LARGE) reach = 8; /* the object ends with its page */
  for (size_t i = 0; i < reach; i++) write_wrongly(p, how & DOWN ? -1 - (ptrdiff_t)i : (ptrdiff_t)(size + i));
  CHECK(a->ops == before.ops); /* of the plain arena, fails if the writes went down */
  return 0;
}

/* A block that the heap source would have given to an arena in a buffer. */
static int overflow_beside_buffer(size_t by_option) {
  toft_arena *a =
      by_option ? hardened(toft_heap(), buffer, sizeof buffer) : toft_create_in(buffer, sizeof buffer, toft_heap());
  CHECK(a != NULL);
  unsigned char *p = (unsigned char *)toft_alloc(a, 400000);
  CHECK(p != NULL);
  write_wrongly(p, 400000);
  return 0;
}

static void linear_overflows_fault(void **state) {
  (void)state;
  for (size_t how = 0; how < 16; how++) {
    if ((how & LARGE) && (how & (DOWN | SECOND_BLOCK))) continue;
    int result = in_child(overflow, how, NULL);
    if (how & HARDENED)
      assert_int_equal(result, FAULTED);
    else if (how & DOWN)
      assert_true(result != 0); /* the writes reached the head */
    else
      assert_int_equal(result, 0);
  }
  assert_int_equal(in_child(overflow_beside_buffer, 0, "1"), FAULTED);
  assert_int_equal(in_child(overflow_beside_buffer, 1, NULL), FAULTED);
}

enum { AFTER_RELEASE, AFTER_TRIM, AFTER_MOVE };

static int read_freed(size_t when) {
  toft_arena *a = hardened(NULL, NULL, 0);
  CHECK(a != NULL);
  unsigned char *p = (unsigned char *)toft_alloc(a, when == AFTER_RELEASE ? 24 : 3 << 20);
  CHECK(p != NULL);
  fill(p, 24, 1);
  if (when == AFTER_RELEASE) toft_release(a);
  if (when == AFTER_TRIM) CHECK(toft_reset(a) == TOFT_OK);
  if (when == AFTER_TRIM) toft_trim(a, 0);
  if (when == AFTER_MOVE) CHECK(toft_resize(a, p, 3 << 20, 70 << 20, 8) != NULL);
  if (when == AFTER_MOVE) toft_trim(a, 0);
  return holds_wrongly(p, 1, 0) ? 0 : 1;
}

static void returned_blocks_are_inaccessible(void **state) {
  (void)state;
  for (size_t when = AFTER_RELEASE; when <= AFTER_MOVE; when++)
    assert_int_equal(in_child(read_freed, when, NULL), FAULTED);
}

/* ---- freed memory ---- */

static int freed_is_filled(size_t which) {
  counted c;
  toft_source *source = which == 1 ? counted_init(&c) : NULL;
  toft_arena *a = hardened(source, which == 2 ? buffer : NULL, sizeof buffer);
  CHECK(a != NULL);
  unsigned char *keep = (unsigned char *)toft_alloc(a, 8), *p = NULL;
  CHECK(keep != NULL);
  fill(keep, 8, 1);
  for (int how = 0; how < 6; how++) {
    toft_mark m = toft_mark_here(a);
    p = (unsigned char *)toft_alloc(a, 100);
    CHECK(p != NULL);
    fill(p, 100, 2);
    if (how == 0) toft_free(a, p, 100);
    if (how == 1) CHECK(toft_rewind(a, m) == TOFT_OK);
    if (how == 2) CHECK(toft_resize(a, p, 100, 8, 8) == p);
    if (how == 3) CHECK(toft_alloc(a, 8) != NULL && toft_resize(a, p, 100, 200, 8) != p);
    if (how == 4) { /* a claimed range */
      toft_range r;
      CHECK(toft_claim(a, &r) == TOFT_OK);
      CHECK((p = (unsigned char *)toft_range_alloc(a, &r, 100)) != NULL);
      fill(p, 100, 2);
      CHECK(toft_unclaim(a, &r) == TOFT_OK && toft_rewind(a, m) == TOFT_OK);
    }
    if (how == 5) CHECK(toft_alloc(a, 30000) != NULL && toft_rewind(a, m) == TOFT_OK);
    CHECK(holds_wrongly(p + 8, 92, FREED));
    CHECK(filled(keep, 8, 1));
  }
  for (int i = 0; i < 3; i++) {
    CHECK((p = (unsigned char *)toft_alloc_zeroed(a, 3000, 8)) != NULL);
    CHECK(toft_reset(a) == TOFT_OK && holds_wrongly(p, 3000, FREED));
  }
  CHECK((p = (unsigned char *)toft_alloc_zeroed(a, 100, 8)) != NULL);
  toft_release(a);
  if (which == 2) CHECK(holds_wrongly(p, 100, FREED));
  if (which == 1) CHECK(c.out == 0);
  return found;
}

static void freed_memory_is_filled(void **state) {
  (void)state;
  for (size_t which = 0; which < 3; which++) assert_int_equal(in_child(freed_is_filled, which, NULL), 0);
}

/* ---- the canary ---- */

#define REFUSED 7

/* Changes one word behind the head, and makes a call. */
static int change_word(size_t word) {
  toft_arena *a = hardened(NULL, NULL, 0);
  CHECK(a != NULL && toft_alloc(a, 8) != NULL);
  write_wrongly(a, (ptrdiff_t)(sizeof *a + word * sizeof(void *)));
  int code = toft_rewind(a, toft_mark_here(a));
  return code != TOFT_OK && found == 1 && found_kind == TOFT_FOUND_OVERWRITTEN ? REFUSED : 0;
}

static void pointers_of_the_state_are_covered(void **state) {
  const uint16_t one = 1;
  size_t covered = 0, words = (sizeof(toft_state) - sizeof(toft_arena)) / sizeof(void *);
  (void)state;
  for (size_t word = 0; word < words; word++) covered += in_child(change_word, word, NULL) == REFUSED;
  /* 14 pointers, the canary, and on a little-endian processor a bit for a missing canary */
  assert_in_range(covered, 15u + *(const unsigned char *)&one, words);
}

/* Overwrites the whole state, but for the head if it is to be called through it. */
static int overwrite(size_t byte) {
  char text[512];
  const size_t from = sizeof(toft_arena);
  toft_arena *a = byte & 256 ? hardened(NULL, buffer, sizeof buffer) : hardened(NULL, NULL, 0);
  CHECK(a != NULL && toft_alloc(a, 8) != NULL);
  toft_cleanup *node = toft_cleanup_add(a, NULL, NULL);
  CHECK(node != NULL);
  toft_mark m = toft_mark_here(a);
  memset(text, (int)(byte & 255), sizeof text);
  write_text((char *)a + from, text, sizeof(toft_state) - from);
  if (byte & 512) {
    toft_release(a); /* 0xFF has the bit of an arena that a cache owns, whose release does nothing */
    CHECK(found == 1 || (byte & 255) == 0xFF);
  }
  CHECK(toft_reset(a) == TOFT_EBUSY);
  CHECK(found == 1 && found_kind == TOFT_FOUND_OVERWRITTEN);
  CHECK(toft_alloc(a, 8) == NULL && toft_alloc(a, 100000) == NULL && toft_rewind(a, m) == TOFT_EBUSY);
  CHECK(toft_cleanup_add(a, NULL, NULL) == NULL && toft_set_budget(a, 1) == TOFT_EBUSY);
  toft_range r;
  CHECK(toft_claim(a, &r) != TOFT_OK);
  CHECK(toft_get_stats(a).live == 0);
  toft_trim(a, 0);
  toft_free(a, a, 8);
  toft_release(a);
  CHECK(found == 1); /* delivered once */
  return REFUSED;
}

static void an_overwritten_arena_refuses_every_call(void **state) {
  const unsigned char bytes[] = {'A', 'B', 'a', 0xFF, 0x80, 0x81, 0x10};
  (void)state;
  for (size_t i = 0; i < sizeof bytes; i++)
    for (size_t more = 0; more < 1024; more += 256)
      if (in_child(overwrite, bytes[i] + more, NULL) != REFUSED) fail_msg("byte %x, case %zu", bytes[i], more);
  assert_int_equal(in_child(overwrite, 'A', "abort"), ABORTED);
}

static int move_cursor(size_t down) {
  toft_arena *a = hardened(NULL, NULL, 0);
  CHECK(a != NULL && toft_alloc(a, 8) != NULL);
  a->cursor = down ? (unsigned char *)a : a->limit + 8;
  CHECK(toft_reset(a) == TOFT_EBUSY && found == 1);
  return toft_alloc(a, 8) == NULL ? REFUSED : 1;
}

static void a_cursor_outside_its_block_is_found(void **state) {
  (void)state;
  for (size_t down = 0; down < 2; down++) assert_int_equal(in_child(move_cursor, down, NULL), REFUSED);
}

/* ---- offsets ---- */

#define OFFSETS 64

static int print_offsets(size_t unused) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), offsets[OFFSETS];
  (void)unused;
  for (int i = 0; i < OFFSETS; i++) {
    toft_arena *a = hardened(NULL, NULL, 0);
    CHECK(a != NULL);
    offsets[i] = (uintptr_t)toft_alloc(a, 8) % page;
    if (i % 2) toft_release(a);
  }
  return write(pipe_ends[1], offsets, sizeof offsets) == (ssize_t)sizeof offsets ? 0 : 1;
}

static void offsets_are_random(void **state) {
  size_t offsets[2][OFFSETS], different = 0;
  (void)state;
  assert_int_equal(pipe(pipe_ends), 0);
  for (int run = 0; run < 2; run++) {
    assert_int_equal(in_child(print_offsets, 0, NULL), 0);
    assert_int_equal(read(pipe_ends[0], offsets[run], sizeof *offsets), sizeof *offsets);
  }
  for (int i = 0; i < OFFSETS; i++) {
    int is_new = 1;
    assert_int_equal(offsets[0][i] % 16, 0);
    assert_in_range(offsets[0][i], 0, 1008);
    for (int k = 0; k < i; k++) is_new = is_new && offsets[0][k] != offsets[0][i];
    different += (size_t)is_new;
  }
  assert_in_range(different, 20, 64); /* 40 on average */
  assert_memory_not_equal(offsets[0], offsets[1], sizeof *offsets);
}

/* ---- cleanups, the environment ---- */

static int ran;
static void note(void *arg) { ran = ran * 10 + *(int *)arg; }

static int cleanups_lie_elsewhere(size_t unused) {
  int numbers[4] = {1, 2, 3, 4};
  (void)unused;
  toft_arena *a = hardened(NULL, NULL, 0), *donor = hardened(NULL, NULL, 0);
  CHECK(a != NULL && donor != NULL);
  toft_cleanup *first = toft_cleanup_add(a, note, &numbers[0]);
  CHECK(first != NULL && !toft_contains(a, first));
  toft_mark m = toft_mark_here(a);
  CHECK(toft_cleanup_add(donor, note, &numbers[1]) != NULL && toft_cleanup_add(a, note, &numbers[2]) != NULL);
  CHECK(toft_adopt(a, donor) == TOFT_OK && toft_cleanup_add(a, note, &numbers[3]) != NULL);
  CHECK(toft_rewind(a, m) == TOFT_OK && ran == 423);
  toft_release(a);
  CHECK(ran == 4231);
  return found;
}

static void cleanups_are_out_of_reach(void **state) {
  (void)state;
  assert_int_equal(in_child(cleanups_lie_elsewhere, 0, NULL), 0);
}

static int is_filled_by(toft_arena *a) {
  toft_mark m = toft_mark_here(a);
  void *p = toft_alloc_zeroed(a, 24, 8);
  return p != NULL && toft_rewind(a, m) == TOFT_OK && holds_wrongly(p, 24, FREED);
}

/* Whether all arenas of the process are hardened, or none. */
static int are_hardened(size_t expected) {
  toft_options o = TOFT_OPTIONS, invalid = TOFT_OPTIONS;
  toft_arena *arenas[6] = {toft_create(), toft_create_with(&o), toft_create_in(buffer, sizeof buffer, toft_heap())};
  invalid.flags = 4;
  CHECK(toft_create_with(&invalid) == NULL);
  toft_release(arenas[1]);
  arenas[1] = toft_create();
  toft_page_source pages;
  o.source = toft_page_source_init(&pages, 0);
  arenas[3] = toft_create_with(&o);
  o.flags = TOFT_CHECKED | TOFT_HARDENED;
  arenas[4] = toft_create_with(&o);
  o = invalid; /* an option that is stored after the environment hardened the arena */
  o.flags = TOFT_CHECKED;
  o.failure_arg = buffer;
  arenas[5] = toft_create_with(&o);
  for (int i = 0; i < 6; i++) {
    CHECK(arenas[i] != NULL);
    CHECK((size_t)is_filled_by(arenas[i]) == (i >= 4 ? 1 : expected));
    CHECK(toft_alloc(arenas[i], 100000) != NULL && toft_reset(arenas[i]) == TOFT_OK);
    toft_release(arenas[i]);
  }
#ifndef TOFT_OMIT_THREADS
  toft_lease l = toft_lease_get(NULL);
  CHECK((size_t)is_filled_by(l.arena) == expected);
  CHECK(toft_lease_return(NULL, l) == TOFT_OK);
#endif
  return found;
}

static void the_environment_hardens_every_arena(void **state) {
  const char *const off[] = {NULL, "", "0", "off", "No", "false"}, *const on[] = {"1", "yes", "abort"};
  (void)state;
  for (int i = 0; i < 6; i++) assert_int_equal(in_child(are_hardened, 0, off[i]), 0);
  for (int i = 0; i < 3; i++) assert_int_equal(in_child(are_hardened, 1, on[i]), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_overflows_fault),
      cmocka_unit_test(returned_blocks_are_inaccessible),
      cmocka_unit_test(freed_memory_is_filled),
      cmocka_unit_test(pointers_of_the_state_are_covered),
      cmocka_unit_test(an_overwritten_arena_refuses_every_call),
      cmocka_unit_test(a_cursor_outside_its_block_is_found),
      cmocka_unit_test(offsets_are_random),
      cmocka_unit_test(cleanups_are_out_of_reach),
      cmocka_unit_test(the_environment_hardens_every_arena),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
