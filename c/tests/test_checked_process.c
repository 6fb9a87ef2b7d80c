/* TOFT_CHECKED, TOFT_FINDINGS and TOFT_FINDINGS_JSON: a process of its own, since they are read once.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "support.h"

static char file[64], objects[64];

static int is_checked(const toft_arena *a) { return a->limit == a->cursor && (a->epoch & 1); }

static void every_arena_is_checked(void **state) {
  static unsigned char buffer[4096];
  toft_options o = TOFT_OPTIONS;
  toft_reserve_source r;
  counted c;
  (void)state;
  for (int i = 0; i < 20; i++) { /* one after another: none comes unchecked from the thread's cache */
    toft_arena *a = toft_create();
    assert_true(is_checked(a));
    fill(toft_alloc(a, 100), 100, 1);
    if (i % 2) assert_int_equal(toft_set_checked(a, 0), TOFT_OK);
    if (i % 3 == 0) toft_cache_trim();
    toft_release(a);
  }
  toft_arena *b = toft_create_in(buffer, sizeof buffer, NULL);
  assert_true(is_checked(b) && toft_alloc(b, 100) != NULL);
  toft_release(b);
  for (size_t n = 1; n <= 300; n++) { /* the capacity is TOFT_BUFFER's, without the zones */
    for (size_t offset = 0; offset < 64; offset += 9) {
      b = toft_create_in(buffer + offset, TOFT_BUFFER(n), NULL);
      assert_true(b != NULL && toft_alloc(b, n) != NULL);
      assert_null(toft_alloc(b, 80)); /* 63 for the offset, and a rounding */
      assert_int_equal(toft_reset(b), TOFT_OK);
      for (int i = 0; i < 3; i++) {
        void *p = toft_alloc(b, n);
        assert_non_null(p);
        toft_free(b, p, n);
      }
      toft_release(b);
    }
  }
  toft_options sources[4];
  for (int i = 0; i < 4; i++) sources[i] = o;
  sources[0].source = toft_reserve_source_init(&r, 1 << 20);
  sources[1].source = counted_init(&c);
  sources[2].reserve = 100000;
  sources[3].flags = TOFT_CHECKED;
  for (int i = 0; i < 4; i++) {
    toft_arena *a = toft_create_with(&sources[i]);
    assert_true(is_checked(a));
    fill(toft_alloc(a, 9000), 9000, 1);
    assert_int_equal(toft_reset(a), TOFT_OK);
    toft_release(a);
  }
  toft_reserve_source_release(&r);
  counted_all_back(&c);
}

/* An arena that is not fresh when it is released must not be reused as a fresh one. */
static void nothing_is_found_in_a_good_program(void **state) {
  (void)state;
  FILE *in = fopen(file, "r");
  if (in == NULL) return;
  assert_int_equal(fgetc(in), EOF);
  fclose(in);
}

static void findings_are_appended(void **state) {
  char line[1024];
  int lines = 0;
  (void)state;
  toft_arena *a = toft_create();
  for (int i = 0; i < 3; i++) {
    write_wrongly(toft_alloc(toft_at(a, "bad.c:1"), 24), 24 + i);
    assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  }
  toft_release(a);
  FILE *in = fopen(file, "r");
  assert_non_null(in);
  while (fgets(line, sizeof line, in) != NULL) {
    char head[64];
    (void)snprintf(head, sizeof head, "toft: overrun: byte %d of 24 bytes at 0x", 24 + lines++);
    assert_memory_equal(line, head, strlen(head));
    assert_non_null(strstr(line, "; allocated at bad.c:1 by thread 1; noticed by reset at "));
    assert_int_equal(line[strlen(line) - 1], '\n');
  }
  fclose(in);
  assert_int_equal(lines, 3);
}

/* Calls make(a) two calls below. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static void *
two_calls_deep(toft_arena *a, void *(*make)(toft_arena *)) {
  void *p = make(a);
  write_wrongly((unsigned char *)p, 24);
  return p;
}
static void *make_here(toft_arena *a) { return toft_alloc(a, 24); }

static void findings_are_objects(void **state) {
  static char line[65536];
  int lines = 0;
  (void)state;
  toft_arena *a = toft_create();
  write_wrongly(toft_alloc(toft_at(a, "we at; home\n\"\\\xff.c:3"), 24), 24);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  (void)two_calls_deep(a, make_here);
  assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
  toft_release(a);
  FILE *in = fopen(objects, "r");
  assert_non_null(in);
  while (fgets(line, sizeof line, in) != NULL) {
    if (lines++ < 3) continue; /* of the test before */
    static const char head[] = "{\"kind\":\"overrun\",\"library\":\"toft-c\",\"text\":\"overrun: byte ";
    assert_memory_equal(line, head, sizeof head - 1);
    assert_non_null(strstr(line, "\"size\":24,\"offset\":24,\"length\":1,\"places\":[{\"role\":\"allocated\","));
    assert_non_null(strstr(line, "{\"role\":\"noticed\",\"call\":\"reset\",\"thread\":1,\"stack\":["));
    assert_string_equal(line + strlen(line) - 3, "]}\n");
    if (lines == 4) assert_non_null(strstr(line, "\"file\":\"we at; home\\\\x0a\\\"\\\\\\\\xff.c\",\"line\":3}"));
  }
  fclose(in);
  assert_int_equal(lines, 5);
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(TOFT_NO_UNWIND)
  const char *end = strstr(line, "{\"role\":\"noticed\"");
  int frames = 0;
  for (const char *at = line; (at = strstr(at, "{\"address\"")) != NULL && at < end; at++) frames++;
  assert_true(frames > 2);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_arena_is_checked),
      cmocka_unit_test(nothing_is_found_in_a_good_program),
      cmocka_unit_test(findings_are_appended),
      cmocka_unit_test(findings_are_objects),
  };
#ifdef _WIN32
  strcpy(file, "toft_findings.txt");
  remove(file);
  strcpy(objects, "toft_findings.jsonl");
  remove(objects);
  _putenv_s("TOFT_CHECKED", "1");
  _putenv_s("TOFT_FINDINGS_JSON", objects);
  _putenv_s("TOFT_FINDINGS", file);
#else
  strcpy(file, "toft_findings_XXXXXX");
  int made = mkstemp(file);
  strcat(strcpy(objects, file), ".jsonl");
  if (made < 0) return 1;
  setenv("TOFT_FINDINGS_JSON", objects, 1);
  setenv("TOFT_CHECKED", "1", 1);
  setenv("TOFT_FINDINGS", file, 1);
#endif
  int failed = cmocka_run_group_tests_name("switch", tests, NULL, NULL);
  remove(file);
  remove(objects);
  return failed;
}
