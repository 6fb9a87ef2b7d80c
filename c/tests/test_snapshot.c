/* The snapshot: the exact text of an arena with known numbers; a callback that stops it; and truncation as by snprintf.
 * abi/check-snapshot validates it against the schema.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <stdio.h>

static toft_arena *a;

static int set_up(void **state) {
  (void)state;
  a = toft_create();
  return a == NULL;
}

static int tear_down(void **state) {
  (void)state;
  toft_release(a);
  return 0;
}

static const char *all_of_it(char *text, size_t size, uint32_t flags) {
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  o.flags = flags;
  size_t n = toft_snapshot_text(a, &o, text, size);
  assert_true(n != 0 && n < size && strlen(text) == n);
  return text;
}

static void the_text_is_known(void **state) {
  static char text[4000];
  (void)state;
  const char *nothing =
      "{\"version\":1,\"stats\":{\"live\":0,\"allocated\":0,\"peak\":0,\"budget\":null,\"reserved\":4096,\"wasted\":"
      "512,"
      "\"blocks\":1,\"source_calls\":1},\"tags\":[],\"phases\":[],\"sites\":[]}";
  assert_string_equal(all_of_it(text, sizeof text, 0), nothing);
  assert_int_equal(toft_set_budget(a, 3000), TOFT_OK);
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_int_equal(toft_set_tag_budget(a, "level", 1000), TOFT_OK);
  toft_phase p = toft_phase_begin(a, "load");
  toft_mark m = toft_mark_here(a);
  assert_int_equal(toft_tag_push(a, "level"), TOFT_OK);
  assert_non_null(toft_alloc(a, 100));
  assert_int_equal(toft_tag_push(a, "sound"), TOFT_OK);
  assert_non_null(toft_alloc(a, 16));
  toft_phase_end(a, &p);
  p = toft_phase_begin(a, "end");
  assert_int_equal(toft_set_tag(a, 18446744073709551615u, "\"\\\n\x1f/"), TOFT_OK);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
  toft_phase_end(a, &p);
  const char *full =
      "{\"version\":1,\"stats\":{\"live\":0,\"allocated\":120,\"peak\":120,\"budget\":3000,\"reserved\":4096,"
      "\"wasted\":512,"
      "\"blocks\":1,\"source_calls\":1},\"tags\":["
      "{\"name\":\"\",\"number\":0,\"live\":0,\"allocated\":0,\"budget\":null},"
      "{\"name\":\"level\",\"number\":null,\"live\":0,\"allocated\":104,\"budget\":1000},"
      "{\"name\":\"level/sound\",\"number\":null,\"live\":0,\"allocated\":16,\"budget\":null},"
      "{\"name\":\"\\\"\\\\\\u000a\\u001f/"
      "\",\"number\":18446744073709551615,\"live\":0,\"allocated\":0,\"budget\":null}],"
      "\"phases\":[{\"name\":\"load\",\"entries\":1,\"allocated\":120,\"kept\":120},"
      "{\"name\":\"end\",\"entries\":1,\"allocated\":0,\"kept\":-120}],\"sites\":[]}";
  assert_string_equal(all_of_it(text, sizeof text, TOFT_SNAPSHOT_CLEAR), full);
  assert_null(strstr(all_of_it(text, sizeof text, 0), "\"load\"")); /* cleared */
}

/* Names from a symbolizer may be anything; a snapshot is UTF-8 all the same. */
static int strange(void *arg, const void *address, toft_symbol *symbol) {
  (void)address;
  memset(symbol, 0, sizeof *symbol);
  symbol->function = "f\xFF\xE2\x82";
  symbol->offset = 5;
  symbol->file = "dir\\file.c";
  symbol->line = 12;
  return ++*(int *)arg;
}

/* The snapshot with a sample, whose names are the symbolizer's. */
static const char *sampled(toft_symbolize_fn *symbolizer, int *calls) {
  static char text[100000];
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  assert_int_equal(toft_set_sampling(a, 1), TOFT_OK);
  assert_non_null(toft_alloc(a, 1000));
  o.symbolizer = symbolizer;
  o.symbolizer_arg = calls;
  memset(text, 0xA5, sizeof text);
  assert_true(toft_snapshot_text(a, &o, text, sizeof text) < sizeof text);
  return text;
}

static void names_are_the_symbolizers(void **state) {
  int calls = 0;
  const char *text = sampled(strange, &calls);
  (void)state;
  assert_true(calls >= 2);
  assert_non_null(strstr(text,
                         "\"function\":\"f\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\",\"offset\":5,"
                         "\"file\":\"dir\\\\file.c\",\"line\":12}"));
  assert_non_null(strstr(text, "{\"site\":{\"file\":\"dir\\\\file.c\",\"line\":12,\"column\":0,\"number\":0}"));
}

/* Sets some members; the others must be 0 on entry. */
static int knows_little(void *arg, const void *address, toft_symbol *symbol) {
  (void)address;
  *(int *)arg += symbol->module == NULL && symbol->file == NULL && symbol->line == 0 && symbol->offset == 0 ? 1 : 1000;
  symbol->function = "little";
  symbol->offset = 7; /* is there still at the next call, if nothing clears it */
  return 1;
}

static void a_symbolizer_finds_an_empty_symbol(void **state) {
  int calls = 0;
  const char *text = sampled(knows_little, &calls);
  (void)state;
  assert_true(calls >= 2 && calls < 1000);
  assert_non_null(strstr(text, "\"function\":\"little\",\"offset\":7}"));
}

static void text_is_truncated_to_the_buffer(void **state) {
  char text[1000], short_text[1000];
  (void)state;
  size_t n = strlen(all_of_it(text, sizeof text, 0));
  for (size_t size = 0; size <= n + 2; size++) {
    memset(short_text, '#', sizeof short_text);
    assert_int_equal(toft_snapshot_text(a, NULL, size != 0 ? short_text : NULL, size), n);
    size_t whole = size == 0 ? 0 : size <= n ? size - 1 : n;
    assert_memory_equal(short_text, text, whole);
    if (size != 0) assert_int_equal(short_text[whole], 0);
    assert_int_equal(short_text[size], '#');
  }
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_non_null(toft_alloc(a, 8));
  o.flags = TOFT_SNAPSHOT_CLEAR;
  assert_true(toft_snapshot_text(a, &o, text, 10) > 10); /* not whole, so nothing was cleared */
  assert_non_null(strstr(all_of_it(text, sizeof text, TOFT_SNAPSHOT_CLEAR), "\"live\":8,\"allocated\":8,\"budget\""));
  assert_non_null(strstr(all_of_it(text, sizeof text, 0), "\"live\":8,\"allocated\":0,\"budget\""));
  o.flags = 8;
  assert_int_equal(toft_snapshot_text(a, &o, text, sizeof text), 0);
  o.flags = 0;
  o.size = 4;
  assert_int_equal(toft_snapshot_text(a, &o, text, sizeof text), 0);
}

static toft_budget *budget_of(toft_budget *parent, const char *name) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.parent = parent;
  o.name = name;
  toft_budget *b = toft_budget_create(&o);
  assert_non_null(b);
  return b;
}

/* The tree of the arena's budget, parents first; not those of other trees. */
static void budgets_are_shown(void **state) {
  enum { MANY = 50 };
  static char text[20000];
  toft_budget *children[MANY];
  (void)state;
  toft_budget *process = budget_of(NULL, "process"), *other = budget_of(NULL, "other");
  toft_budget *tenant = budget_of(process, "a \"tenant\"");
  toft_budget_set_limit(tenant, 100000);
  assert_int_equal(toft_budget_limit_live(tenant, 8192), TOFT_OK);
  toft_release(a);
  a = arena_on(toft_budget_source(tenant));
  assert_non_null(toft_alloc(a, 8));
  assert_null(toft_alloc(a, 200000));
  toft_budget_live_stats live = toft_budget_get_live_stats(tenant);
  char expected[600];
  (void)snprintf(
      expected, sizeof expected,
      "{\"version\":1,\"budgets\":[{\"id\":1,\"parent\":null,\"name\":\"process\",\"limit\":null,\"reserved\":4096,"
      "\"peak\":4096,\"refusals\":0},{\"id\":3,\"parent\":1,\"name\":\"a \\\"tenant\\\"\",\"limit\":100000,"
      "\"reserved\":4096,\"peak\":4096,\"refusals\":0,\"live\":{\"limit\":8192,\"live\":%u,\"peak\":%u,"
      "\"parked\":%u,\"refusals\":1}}],\"stats\":",
      (unsigned)live.live, (unsigned)live.peak, (unsigned)live.parked);
  assert_memory_equal(all_of_it(text, sizeof text, 0), expected, strlen(expected));
  for (int i = 0; i < MANY; i++) children[i] = budget_of(tenant, "child");
  for (int i = 0; i < MANY; i += 3) assert_int_equal(toft_budget_release(children[i]), TOFT_OK);
  size_t count = 0, last = 0;
  for (const char *at = all_of_it(text, sizeof text, 0); (at = strstr(at, "{\"id\":")) != NULL; count++) {
    size_t id = strtoul(at += 6, NULL, 10);
    assert_true(id > last);
    last = id;
  }
  assert_int_equal(count, 2 + MANY - (MANY + 2) / 3);
  for (int i = 0; i < MANY; i++)
    if (i % 3 != 0) assert_int_equal(toft_budget_release(children[i]), TOFT_OK);
  toft_release(a);
  assert_int_equal(toft_budget_release(tenant), TOFT_OK);
  assert_int_equal(toft_budget_release(process), TOFT_OK);
  a = arena_on(toft_budget_source(other));
  assert_non_null(strstr(all_of_it(text, sizeof text, 0), "\"budgets\":[{\"id\":2,\"parent\":null,\"name\":\"other\""));
  toft_release(a);
  assert_int_equal(toft_budget_release(other), TOFT_OK);
  a = toft_create();
  assert_null(strstr(all_of_it(text, sizeof text, 0), "budgets"));
}

typedef struct writer {
  int pieces, stop_at;
} writer;

static int write_some(void *arg, const char *bytes, size_t size) {
  writer *w = (writer *)arg;
  assert_true(bytes != NULL && size != 0);
  assert_null(toft_alloc(a, 8)); /* a callback */
  assert_int_equal(toft_reset(a), TOFT_EBUSY);
  return ++w->pieces == w->stop_at ? 42 : 0;
}

static void the_writer_may_stop_it(void **state) {
  writer w = {0, 0};
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  (void)state;
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  for (char name[] = "a"; name[0] <= 'z'; name[0]++) {
    assert_int_equal(toft_tag_push(a, name), TOFT_OK);
    assert_non_null(toft_alloc(a, 8));
    toft_tag_pop(a);
  }
  assert_int_equal(toft_snapshot(a, NULL, write_some, &w), 0);
  int pieces = w.pieces;
  assert_true(pieces > 5);
  o.flags = TOFT_SNAPSHOT_CLEAR;
  for (int stop_at = 1; stop_at <= pieces; stop_at++) {
    w.pieces = 0;
    w.stop_at = stop_at;
    assert_int_equal(toft_snapshot(a, &o, write_some, &w), 42);
    assert_int_equal(w.pieces, stop_at); /* nothing more was written */
  }
  char text[10000];
  assert_non_null(strstr(all_of_it(text, sizeof text, 0), "\"name\":\"z\",\"number\":null,\"live\":8,\"allocated\":8"));
  assert_non_null(toft_alloc(a, 8)); /* open again */
  o.flags = 64;
  assert_int_equal(toft_snapshot(a, &o, write_some, &w), TOFT_EARG);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      test(the_text_is_known),
      test(names_are_the_symbolizers),
      test(a_symbolizer_finds_an_empty_symbol),
      test(text_is_truncated_to_the_buffer),
      test(budgets_are_shown),
      test(the_writer_may_stop_it),
  };
  return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
