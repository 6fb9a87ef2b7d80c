/* Findings of checked arenas, their messages and delivery: late writes, stale calls, wrong threads, sites.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"
#ifndef _WIN32
#include <pthread.h>
#endif

static toft_arena *a;
static toft_mark start;
static int kinds[64];
static char messages[64][1024];
static size_t heard;
static toft_finding last;
static char last_place[256];

static void hear(void *arg, const toft_finding *f) {
  assert_ptr_equal(arg, &heard);
  kinds[heard % 64] = f->kind;
  strncpy(messages[heard % 64], f->message, sizeof messages[0] - 1);
  last = *f;
  strncpy(last_place, f->allocated.place, sizeof last_place - 1);
  heard++;
}

static void hear_nothing(void *arg, const toft_finding *f) {
  (void)arg;
  fail_msg("%s", f->message);
}

static int set_up(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.flags = TOFT_CHECKED;
  heard = 0;
  toft_on_finding(hear, &heard);
  a = toft_create_with(&o);
  if (a != NULL) start = toft_mark_here(a);
  return a == NULL;
}

static int tear_down(void **state) {
  (void)state;
  if (a != NULL) toft_release(a);
  toft_on_finding(NULL, NULL);
  return 0;
}

/* Requires exactly one finding since the last call. */
static void one(int kind, const char *const *parts) {
  assert_int_equal(heard, 1);
  assert_int_equal(kinds[0], kind);
  for (; *parts != NULL; parts++)
    if (strstr(messages[0], *parts) == NULL) fail_msg("\"%s\" does not say \"%s\"", messages[0], *parts);
  assert_null(strchr(messages[0], '\n'));
  heard = 0;
}
#define ONE(kind, ...)                                \
  do {                                                \
    const char *const parts_[] = {__VA_ARGS__, NULL}; \
    one(kind, parts_);                                \
  } while (0)

static void zones_name_the_byte(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(toft_at(a, "here.c:7"), 13);
  write_wrongly(p, 13);
  assert_int_equal(toft_rewind(toft_at(a, "there.c:9"), start), TOFT_ECORRUPT);
  assert_true(last.address == p && last.size == 13 && last.offset == 13 && last.arena == a && last.length == 1);
  assert_string_equal(last_place, "here.c:7");
  ONE(TOFT_FOUND_OVERRUN, "overrun: byte 13 of 13 bytes at 0x", "allocated at here.c:7 by thread ",
      "noticed by rewind at there.c:9");
  p = (unsigned char *)toft_alloc_aligned(a, 8, 256);
  write_wrongly(p, -200);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  ONE(TOFT_FOUND_UNDERRUN, "underrun: byte -200 of 8 bytes", "noticed by reset");
}

/* The finding has the number of written bytes and the bytes. */
static void findings_show_what_was_written(void **state) {
  (void)state;
  char *p = (char *)toft_alloc(a, 16);
  write_text(p + 16, "ab\"\\\n\x80", 6);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  assert_int_equal(last.length, 6);
  ONE(TOFT_FOUND_OVERRUN, "byte 16 of 16 bytes", " was written: 6 bytes \"ab\\\"\\\\\\x0a\\x80\"; allocated");
  p = (char *)toft_alloc(a, 13);
  write_text(p + 13, "0123456789abcdefghi", 19); /* to the end of the zone: there may be more */
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  ONE(TOFT_FOUND_OVERRUN, "byte 13 of 13 bytes", " was written: 19 bytes or more \"0123456789abcdefghi\"; ");
  p = (char *)toft_alloc(a, 8);
  write_text(p - 4, "back", 4);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  ONE(TOFT_FOUND_UNDERRUN, "underrun: byte -4 of 8 bytes", " was written: 4 bytes \"back\"; ");
  p = (char *)toft_alloc(a, 100);
  assert_int_equal(toft_reset(a), TOFT_OK);
  write_text(p + 50, "0123456789abcdef0123456789abcdef0123456789", 42);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  assert_int_equal(last.length, 42);
  ONE(TOFT_FOUND_LATE_WRITE, "byte 50 of 100 bytes",
      " was written: 42 bytes \"0123456789abcdef0123456789abcdef\"... after");
}

static void names_are_escaped(void **state) {
  (void)state;
  write_wrongly(toft_alloc(toft_at(a, "\nroot::0:0:\x1b[2J\x7f"), 8), 8);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  ONE(TOFT_FOUND_OVERRUN, "allocated at \\x0aroot::0:0:\\x1b[2J\\x7f by thread");
}

/* Frees by the hooks with a damaged header. */
static void misuse_of_hooks_is_found(void **state) {
  char other[64] = {0};
  (void)state;
  char *p = (char *)toft_hook_malloc(a, 10), *q = (char *)toft_hook_malloc(a, 30);
  strcpy(p, "nine char");
  p = (char *)toft_hook_realloc(a, p, 5); /* in place */
  toft_hook_free(a, p);
  assert_int_equal(heard, 0);
  toft_hook_free(a, p);
  assert_true(last.address == p && last.size == 5);
  ONE(TOFT_FOUND_DOUBLE_FREE, "double free: 5 bytes", "noticed by free");
  assert_null(toft_hook_realloc(a, p, 50));
  ONE(TOFT_FOUND_DOUBLE_FREE, "double free: 5 bytes", "noticed by resize");
  toft_hook_free(a, other + 16);
  assert_ptr_equal(last.address, other + 16);
  ONE(TOFT_FOUND_FOREIGN, "foreign pointer", "noticed by free");
  assert_null(toft_hook_realloc(a, other + 16, 50));
  ONE(TOFT_FOUND_FOREIGN, "noticed by resize");
  toft_hook_free(a, toft_alloc(a, 64)); /* not the hooks' */
  ONE(TOFT_FOUND_FOREIGN, "foreign pointer");
  fill(q, 30, 7);
  char *r = (char *)toft_hook_realloc(a, q, 3000);
  assert_true(filled(r, 30, 7));
  write_wrongly(r, 3000);
  toft_hook_free(a, r);
  ONE(TOFT_FOUND_OVERRUN, "overrun: byte 3000 of 3000 bytes");
  for (int at = -16; at < 0; at++) { /* the header, all of it, and the zone in front */
    r = (char *)toft_hook_malloc(a, 24);
    write_wrongly(r, at);
    toft_hook_free(a, r);
    char words[64];
    (void)snprintf(words, sizeof words, "underrun: byte %d of 24 bytes", at);
    ONE(TOFT_FOUND_UNDERRUN, words);
  }
  assert_int_equal(toft_reset(a), TOFT_OK);
  toft_arena *unchecked = toft_create();
  p = (char *)toft_hook_malloc(unchecked, 100);
  assert_int_equal(toft_set_checked(unchecked, 1), TOFT_OK);
  p = (char *)toft_hook_realloc(unchecked, p, 200); /* from before the checks */
  toft_hook_free(unchecked, p);
  toft_release(unchecked);
  assert_int_equal(heard, 0);
}

/* A hook that uses the arena of its finding is refused and loses nothing; it does not get findings that it causes. */
static int refused_in_hook;
static void use_the_arena(void *arg, const toft_finding *f) {
  toft_range r = {NULL, NULL, 0};
  hear(&heard, f);
  (void)arg;
  refused_in_hook = toft_alloc(f->arena, 8) == NULL && toft_rewind(f->arena, start) == TOFT_EBUSY &&
                    toft_reset(f->arena) == TOFT_EBUSY && toft_claim(f->arena, &r) == TOFT_EBUSY &&
                    toft_cleanup_add(f->arena, NULL, NULL) == NULL && toft_set_checked(f->arena, 0) == TOFT_EBUSY &&
                    toft_findings(f->arena, hear, &heard) == TOFT_EBUSY;
  toft_trim(f->arena, 0);
  toft_free(f->arena, &r, 8);
  toft_arena *other = toft_create();
  refused_in_hook = refused_in_hook && toft_alloc(other, 100) != NULL && toft_set_checked(other, 1) == TOFT_OK;
  toft_free(other, &r, 8); /* a finding in a hook */
  toft_release(other);
  toft_release(f->arena);
}

static void hooks_are_kept_out_of_their_arena(void **state) {
  (void)state;
  toft_on_finding(use_the_arena, NULL);
  for (int i = 0; i < 20; i++) {
    unsigned char *p = (unsigned char *)toft_alloc(a, 40);
    unsigned char *q = (unsigned char *)toft_alloc(a, 3000);
    write_wrongly(p, 40);
    refused_in_hook = 0;
    if (i % 4 == 0) toft_free(a, p, 40);
    if (i % 4 == 1) toft_free(a, &i, 4);
    if (i % 4 == 2) assert_int_equal(toft_rewind(a, start), TOFT_ECORRUPT);
    if (i % 4 == 3) p = (unsigned char *)toft_resize(a, p, 40, 80, 8);
    assert_int_equal(refused_in_hook, 1);
    heard = 0;
    if (i % 4 != 2) fill(q, 3000, 1);
    (void)toft_reset(a);
    heard = 0;
    start = toft_mark_here(a);
  }
}

static int failed_with;
static void fail_with(void *arg, toft_arena *which, size_t size, size_t align, int code) {
  (void)arg, (void)which, (void)size, (void)align;
  failed_with = code;
}

static void a_release_without_effect_is_found(void **state) {
  toft_options o = TOFT_OPTIONS;
  toft_range r;
  (void)state;
  assert_int_equal(toft_claim(a, &r), TOFT_OK);
  toft_release(a);
  ONE(TOFT_FOUND_NOT_RELEASED, "refused release: the arena at 0x", "has a claimed range; noticed by release");
  assert_int_equal(toft_unclaim(a, &r), TOFT_OK);
  o.failure = fail_with;
  toft_arena *unchecked = toft_create_with(&o);
  assert_int_equal(toft_claim(unchecked, &r), TOFT_OK);
  toft_release(unchecked);
  assert_int_equal(failed_with, TOFT_EBUSY);
  assert_int_equal(toft_unclaim(unchecked, &r), TOFT_OK);
  toft_release(unchecked);
}

static void late_writes_are_found_when_handed_out(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(toft_at(a, "first"), 64);
  unsigned char *q = (unsigned char *)toft_alloc(toft_at(a, "second"), 64);
  assert_int_equal(toft_rewind(toft_at(a, "the rewind"), start), TOFT_OK);
  write_wrongly(q, 5);
  assert_non_null(toft_alloc(a, 64)); /* at first's address */
  assert_int_equal(heard, 0);
  assert_ptr_equal(toft_alloc(toft_at(a, "the next"), 64), q);
  ONE(TOFT_FOUND_LATE_WRITE, "late write: byte 5 of 64 bytes", "after rewind at the rewind by thread",
      "allocated at second", "noticed by alloc at the next");
  assert_int_equal(toft_rewind(a, start), TOFT_OK);
  write_wrongly(p, 0);
  assert_non_null(toft_alloc(a, 200)); /* over both */
  ONE(TOFT_FOUND_LATE_WRITE, "byte 0 of 64 bytes");
}

static void late_writes_are_found_at_reset_and_release(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(a, 5000), *q = (unsigned char *)toft_alloc(a, 400000);
  assert_int_equal(toft_rewind(a, start), TOFT_OK);
  write_wrongly(p, 4999);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  ONE(TOFT_FOUND_LATE_WRITE, "byte 4999 of 5000 bytes", "after rewind", "noticed by reset");
  p = (unsigned char *)toft_alloc(a, 100);
  toft_free(a, p, 100);
  write_wrongly(p, 1);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  ONE(TOFT_FOUND_LATE_WRITE, "byte 1 of 100 bytes", "after free");
  p = (unsigned char *)toft_alloc(a, 100);
  assert_int_equal(toft_reset(a), TOFT_OK);
  write_wrongly(p, 2);
  toft_release(a);
  ONE(TOFT_FOUND_LATE_WRITE, "byte 2 of 100 bytes", "after reset", "noticed by release");
  (void)q;
  a = NULL;
}

/* Reused bytes are not checked, for all sizes of the new allocations. */
static void what_is_handed_out_again_is_the_users(void **state) {
  uint32_t random = 7;
  (void)state;
  toft_on_finding(hear_nothing, NULL);
  for (int round = 0; round < 400; round++) {
    toft_mark marks[8];
    for (int depth = 0; depth < 8; depth++) {
      marks[depth] = toft_mark_here(a);
      for (uint32_t n = next_random(&random) % 12; n > 0; n--) {
        size_t size = next_random(&random) % (n == 5 ? 300000 : 300) + 1;
        unsigned char *p = (unsigned char *)toft_alloc_aligned(a, size, (size_t)1 << next_random(&random) % 9);
        fill(p, size, size & 255);
        if (n % 4 == 0) {
          p = (unsigned char *)toft_resize(a, p, size, size * 2, 8);
          fill(p, size * 2, 3);
          if (n % 8 == 0) toft_free(a, p, size * 2);
        }
      }
    }
    assert_int_equal(toft_rewind(a, marks[next_random(&random) % 8]), TOFT_OK);
    if (round % 16 == 0) assert_int_equal(toft_reset(a), TOFT_OK);
    if (round % 50 == 0) toft_trim(a, 0);
    if (round % 30 == 0) assert_int_equal(toft_set_checked(a, 0), TOFT_OK);
    if (round % 30 == 3) assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  }
  assert_int_equal(toft_findings(a, hear_nothing, NULL), 0);
}

static void misuse_of_free_is_detected(void **state) {
  char other[64];
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(a, 40);
  toft_free(a, other, 64);
  ONE(TOFT_FOUND_FOREIGN, "foreign pointer: 0x", "noticed by free");
  toft_free(a, p + 8, 32);
  ONE(TOFT_FOUND_FOREIGN, "foreign pointer: 0x");
  toft_free(a, p, 39);
  ONE(TOFT_FOUND_WRONG_SIZE, "wrong size: 39 bytes, of an allocation of 40 bytes");
  toft_free(a, p, SIZE_MAX); /* a size that no allocation can have */
  ONE(TOFT_FOUND_WRONG_SIZE, "of an allocation of 40 bytes", "noticed by free");
  assert_null(toft_resize(a, p, SIZE_MAX, 80, 8));
  ONE(TOFT_FOUND_WRONG_SIZE, "of an allocation of 40 bytes", "noticed by resize");
  toft_free(toft_at(a, "once"), p, 40);
  toft_free(toft_at(a, "twice"), p, 40);
  ONE(TOFT_FOUND_DOUBLE_FREE, "double free: 40 bytes", "before, by free at once", "noticed by free at twice");
  assert_null(toft_resize(a, p, 40, 80, 8));
  ONE(TOFT_FOUND_DOUBLE_FREE, "noticed by resize");
  toft_arena *b = toft_create();
  unsigned char *theirs = (unsigned char *)toft_alloc(b, 32);
  toft_free(a, theirs, 32);
  ONE(TOFT_FOUND_FOREIGN, "is no live allocation of this arena");
  assert_int_equal(toft_rewind(a, toft_mark_here(b)), TOFT_EMARK);
  ONE(TOFT_FOUND_STALE_MARK, "stale mark", "noticed by rewind");
  toft_release(b);
}

/* An allocation from before the checks has no record, and is not reported as foreign. */
static void what_is_older_than_the_checks_may_be_freed(void **state) {
  (void)state;
  toft_on_finding(hear_nothing, NULL);
  toft_arena *b = toft_create();
  unsigned char *p = (unsigned char *)toft_alloc(b, 100);
  unsigned char *large = (unsigned char *)toft_alloc(b, 500000);
  fill(p, 100, 1);
  assert_int_equal(toft_set_checked(b, 1), TOFT_OK);
  p = (unsigned char *)toft_resize(b, p, 100, 200, 8);
  assert_true(filled(p, 100, 1));
  toft_free(b, p, 200);
  large = (unsigned char *)toft_resize(b, large, 500000, 400000, 8);
  toft_free(b, large, 400000);
  assert_int_equal(toft_reset(b), TOFT_OK);
  toft_release(b);
}

static void the_walk_tells_each_once(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(a, 16);
  write_wrongly(p, -1);
  toft_on_finding(NULL, NULL);
  assert_int_equal(toft_findings(a, hear, &heard), 1);
  ONE(TOFT_FOUND_UNDERRUN, "noticed by findings");
  assert_int_equal(toft_findings(a, hear, &heard), 0);
  assert_int_equal(toft_rewind(a, start), TOFT_OK); /* reported before */
  for (int i = 0; i < 1500; i++) toft_free(a, &i, 4);
  assert_int_equal(toft_findings(a, hear, &heard), 1500);
  assert_int_equal(heard, 1000);
  toft_arena *b = toft_create();
  assert_int_equal(toft_findings(b, hear, &heard), 0);
  toft_release(b);
}

static void a_released_head_says_so(void **state) {
  (void)state;
  toft_arena *dead = a;
  toft_range r = {NULL, NULL, 0};
  assert_non_null(toft_alloc(a, 8));
  toft_release(toft_at(a, "the end"));
  a = NULL;
  assert_null(toft_alloc(dead, 8));
  ONE(TOFT_FOUND_RELEASED, "use after release: the arena at 0x", "was released at the end", "noticed by alloc");
  assert_null(toft_alloc_aligned(dead, 8, 64));
  assert_null(toft_resize(dead, &r, 8, 16, 8));
  toft_free(dead, &r, 8);
  assert_int_equal(toft_rewind(dead, start), TOFT_EMARK);
  assert_int_equal(toft_reset(dead), TOFT_EBUSY);
  toft_trim(dead, 0);
  assert_null(toft_cleanup_add(dead, NULL, NULL));
  assert_int_equal(toft_claim(dead, &r), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(dead, &r), TOFT_EARG);
  assert_int_equal(toft_set_checked(dead, 1), TOFT_EBUSY);
  assert_int_equal(toft_get_stats(dead).blocks, 0);
  assert_int_equal(heard, 11);
  heard = 0;
  toft_release(toft_at(dead, "again"));
  ONE(TOFT_FOUND_RELEASED, "double release", "noticed by release at again");
}

static void initial_block_is_checked_too(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(a, 100);
  assert_int_equal(toft_rewind(a, start), TOFT_OK);
  write_wrongly(p, 99);
  toft_release(a);
  a = NULL;
  ONE(TOFT_FOUND_LATE_WRITE, "byte 99 of 100 bytes", "after rewind", "noticed by release");
}

/* Released memory stays in quarantine, up to a limit, and is checked when it leaves. */
static void writes_after_the_release_are_found(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.flags = TOFT_CHECKED;
  unsigned char *p = (unsigned char *)toft_alloc(toft_at(a, "here"), 100);
  toft_release(toft_at(a, "when"));
  a = NULL;
  write_wrongly(p, 7);
  assert_int_equal(heard, 0);
  for (int i = 0; i < 300; i++) toft_release(toft_create_with(&o)); /* more than a MiB */
  assert_ptr_equal(last.address, p);
  ONE(TOFT_FOUND_LATE_WRITE, "byte 7 of 100 bytes", "after release at when", "allocated at here");
}

/* A buffer is its owner's again, all of it. */
static void a_buffer_is_given_back_open(void **state) {
  static unsigned char buffer[8192];
  (void)state;
  toft_arena *b = toft_create_in(buffer, sizeof buffer, toft_heap());
  assert_int_equal(toft_set_checked(b, 1), TOFT_OK);
  for (int i = 0; i < 100; i++) assert_non_null(toft_alloc(b, 100));
  toft_release(b);
  assert_null(toft_alloc(b, 8));
  ONE(TOFT_FOUND_RELEASED, "use after release");
  memset(buffer, 1, sizeof buffer);
}

static void records_are_found_among_many(void **state) {
  enum { MANY = 100000 };
  static unsigned char *all[MANY];
  (void)state;
  for (int i = 0; i < MANY; i++) all[i] = (unsigned char *)toft_alloc(a, (size_t)i % 64 + 1);
  for (int i = 0; i < MANY; i += 2) toft_free(a, all[(i * 7) % MANY], (size_t)(i * 7 % MANY) % 64 + 1);
  assert_int_equal(heard, 0);
  toft_free(a, all[0], 1);
  ONE(TOFT_FOUND_DOUBLE_FREE, "double free");
  assert_int_equal(toft_reset(a), TOFT_OK);
}

static void sites_have_names_and_numbers(void **state) {
  char place[] = "place 1";
  (void)state;
  uintptr_t site = toft_site(place);
  assert_true(site != 0 && toft_site("place 1") == site && toft_site("place 2") != site);
  place[6] = '3';
  write_wrongly(a->ops->alloc(a, 8, 8, 0, site), 8);
  write_wrongly(a->ops->alloc(a, 8, 8, 0, 42), 8);
  assert_int_equal(toft_findings(a, hear, &heard), 2);
  assert_true(strstr(messages[0], "allocated at place 1 by") != NULL);
  assert_true(strstr(messages[1], "allocated at site 0x2a by") != NULL);
  assert_non_null(toft_alloc(a, 8)); /* the text depends on the symbols available */
}

#ifndef _WIN32
static void *allocate_there(void *arg) {
  (void)arg;
  if (a->ops->set(a, 99, 0, NULL, 0) != TOFT_ENOSYS) return a; /* without a finding */
  return toft_alloc(a, 8);
}

static void *in_a_thread(void *(*fn)(void *)) {
  pthread_t t;
  void *result;
  assert_int_equal(pthread_create(&t, NULL, fn, NULL), 0);
  assert_int_equal(pthread_join(t, &result), 0);
  return result;
}

static int calls_there; /* that are refused */

static void *misuse_there(void *arg) {
  toft_arena *donor = toft_create();
  (void)arg;
  calls_there = 16;
  assert_int_equal(toft_set_budget(a, 100), TOFT_EBUSY);
  assert_int_equal(toft_set_checked(a, 0), TOFT_EBUSY);
  assert_int_equal(toft_set_metered(a, 0), TOFT_EBUSY);
  assert_int_equal(toft_set_sampling(a, 100), TOFT_EBUSY);
  assert_int_equal(toft_set_tag(a, 1, "there"), TOFT_EBUSY);
  assert_int_equal(toft_set_tag_budget(a, "there", 1), TOFT_EBUSY);
  assert_int_equal(toft_set_soft_budget(a, 1, NULL, NULL), TOFT_EBUSY);
  assert_int_equal(toft_tag_push(a, "there"), TOFT_EBUSY);
  toft_tag_pop(a);
  assert_int_equal(toft_adopt(a, donor), TOFT_EBUSY);
  assert_int_equal(toft_clear_report(a), TOFT_EBUSY);
  toft_trim(a, 0);
  toft_release(donor);
  assert_int_equal(toft_rewind(a, start), TOFT_EBUSY);
  assert_int_equal(toft_reset(a), TOFT_EBUSY);
  assert_null(toft_cleanup_add(a, NULL, NULL));
  return toft_alloc(a, 8);
}

static void a_pinned_arena_serves_one_thread(void **state) {
  (void)state;
  assert_non_null(in_a_thread(allocate_there)); /* arenas may move */
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_int_equal(toft_pin(a, 1), TOFT_OK);
  assert_null(in_a_thread(allocate_there));
  ONE(TOFT_FOUND_WRONG_THREAD, "wrong thread: the arena is pinned to thread ", "noticed by alloc");
  assert_null(in_a_thread(misuse_there));
  assert_int_equal(heard, calls_there);
  assert_non_null(toft_alloc(a, 8));
  assert_int_equal(toft_pin(a, 0), TOFT_OK);
  assert_non_null(in_a_thread(allocate_there));
  assert_int_equal(heard, calls_there);
  assert_true(toft_get_stats(a).budget == UINT64_MAX && (a->epoch & 1));
  heard = 0;
  toft_arena *b = toft_create();
  assert_int_equal(toft_pin(b, 1), TOFT_OK);
  toft_release(b);
}

/* A source that lets another thread in, in the middle of a call. */
static void *take_slowly(toft_source *self, size_t size) {
  (void)self;
  if (a != NULL) assert_null(in_a_thread(allocate_there));
  return toft_heap()->take(toft_heap(), size);
}
static void put_back(toft_source *self, void *block, size_t size) {
  (void)self;
  toft_heap()->put(toft_heap(), block, size);
}

static void two_threads_at_once_are_found(void **state) {
  static toft_source slow = {take_slowly, put_back, NULL}; /* outlives this: tear_down releases */
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.flags = TOFT_CHECKED;
  o.source = &slow;
  toft_release(a);
  a = NULL;
  a = toft_create_with(&o);
  assert_non_null(toft_alloc(toft_at(a, "in here"), 10000));
  ONE(TOFT_FOUND_TWO_THREADS, "two threads at once: alloc at in here by thread ", "has not returned; noticed by alloc");
  assert_non_null(in_a_thread(allocate_there));
}

static void call_again(void *arg) {
  (void)arg;
  assert_null(toft_alloc(a, 8));
  assert_int_equal(toft_reset(a), TOFT_EBUSY);
}

static void a_cleanup_is_no_other_thread(void **state) {
  (void)state;
  unsigned char *p = (unsigned char *)toft_alloc(a, 8);
  assert_non_null(toft_cleanup_add(a, call_again, NULL));
  assert_int_equal(toft_reset(toft_at(a, "outside")), TOFT_OK);
  write_wrongly(p, 0);
  assert_non_null(in_a_thread(allocate_there)); /* the reset has ended */
  ONE(TOFT_FOUND_LATE_WRITE, "after reset at outside by");
}
#endif

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(zones_name_the_byte),
      test(findings_show_what_was_written),
      test(names_are_escaped),
      test(misuse_of_hooks_is_found),
      test(a_release_without_effect_is_found),
      test(hooks_are_kept_out_of_their_arena),
      test(late_writes_are_found_when_handed_out),
      test(late_writes_are_found_at_reset_and_release),
      test(what_is_handed_out_again_is_the_users),
      test(misuse_of_free_is_detected),
      test(what_is_older_than_the_checks_may_be_freed),
      test(the_walk_tells_each_once),
      test(a_released_head_says_so),
      test(initial_block_is_checked_too),
      test(writes_after_the_release_are_found),
      test(a_buffer_is_given_back_open),
      test(records_are_found_among_many),
      test(sites_have_names_and_numbers),
#ifndef _WIN32
      test(a_pinned_arena_serves_one_thread),
      test(two_threads_at_once_are_found),
      test(a_cleanup_is_no_other_thread),
#endif
  };
  return cmocka_run_group_tests_name("findings", tests, NULL, NULL);
}
