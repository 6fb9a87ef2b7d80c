/* A metered arena for each test, and its reports.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_METERED_ARENA_H
#define TOFT_TEST_METERED_ARENA_H

#include "support.h"

#define NODE (4 * sizeof(void *)) /* of a cleanup */

static counted source;
static toft_arena *a;
static int failures;

static inline void note_failure(void *arg, toft_arena *arena, size_t size, size_t align, int code) {
  (void)arg, (void)arena, (void)size, (void)align, (void)code;
  failures++;
}

static inline int set_up(void **state) {
  toft_options o = TOFT_OPTIONS;
  (void)state;
  o.source = counted_init(&source);
  o.failure = note_failure;
  failures = 0;
  a = toft_create_with(&o);
  return a == NULL || toft_set_metered(a, 1) != TOFT_OK;
}

static inline int tear_down(void **state) {
  (void)state;
  toft_release(a);
  counted_all_back(&source);
  return 0;
}

/* ---- reports ---- */

typedef struct reported {
  const char *name;
  toft_tag_report report;
  size_t count;
} reported;

static inline int find_tag(void *arg, const toft_tag_report *r) {
  reported *t = (reported *)arg;
  t->count++;
  if (strcmp(r->name, t->name) == 0) t->report = *r;
  return 0;
}

static inline toft_tag_report tag_of(const char *name) {
  reported t;
  memset(&t, 0, sizeof t);
  t.name = name;
  assert_int_equal(toft_tags(a, find_tag, &t), 0);
  return t.report;
}

static inline uint64_t live_of(const char *name) { return tag_of(name).live; }

static inline size_t tag_count(void) {
  reported t = {"no such tag", {NULL, NULL, 0, 0, 0}, 0};
  assert_int_equal(toft_tags(a, find_tag, &t), 0);
  return t.count;
}

static inline int find_phase(void *arg, const toft_phase_report *r) {
  toft_phase_report *wanted = (toft_phase_report *)arg;
  if (strcmp(r->name, wanted->name) == 0) *wanted = *r;
  return 0;
}

static inline toft_phase_report phase_of(const char *name) {
  toft_phase_report r = {name, 0, 0, 0};
  assert_int_equal(toft_phases(a, find_phase, &r), 0);
  return r;
}

static inline void *take(size_t size) {
  void *p = toft_alloc(a, size);
  assert_non_null(p);
  return p;
}

#endif
