/* sqlite_toft.c: the same answers as on malloc, SQLite's rules for an allocator, and memory that runs out anywhere.
 * TOFT_STEP in the environment: the number of requests between refusals; 1 if it is not set.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "../counted.h"
#include "../measure.h"
#include "sqlite_toft.h"

static sqlite3_mem_methods inner;
static unsigned long requests,
    refuse;      /* the number of the first request that gets nothing, and all after it; 0: none */
static int once; /* only that one */

static unsigned long odd; /* requests of sizes that are no multiple of 8 */

static int refused(int n) {
  requests++;
  odd += n % 8 != 0;
  return refuse != 0 && (once ? requests == refuse : requests >= refuse);
}
static void *take(int n) { return refused(n) ? NULL : inner.xMalloc(n); }
static void *resize(void *p, int n) { return refused(n) ? NULL : inner.xRealloc(p, n); }

/* SQLite begins on Toft, or on malloc, with what counts in front. */
static void begin(int toft) {
  static sqlite3_mem_methods malloc_methods;
  sqlite3_mem_methods methods;
  assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
  if (malloc_methods.xMalloc == NULL) {
    assert_int_equal(sqlite3_initialize(), SQLITE_OK); /* only then there are methods */
    assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &malloc_methods), SQLITE_OK);
  }
  memset(&counts, 0, sizeof counts);
  requests = refuse = 0;
  if (toft)
    assert_int_equal(sqlite_toft_install(counted_source()), SQLITE_OK);
  else
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &malloc_methods), SQLITE_OK);
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &inner), SQLITE_OK);
  methods = inner;
  methods.xMalloc = take;
  methods.xRealloc = resize;
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
}

static void end(void) {
  assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
  assert_int_equal(counts.held, 0);
  assert_int_equal(sqlite_toft_held(), 0);
}

static const char *const script =
    "PRAGMA temp_store = MEMORY;"
    "CREATE TABLE t(id INTEGER PRIMARY KEY, word TEXT, n REAL);"
    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300)"
    " INSERT INTO t SELECT i, printf('word %d of %d', i * 7919 % 300, i), i / 3.0 FROM c;"
    "CREATE INDEX by_word ON t(word);"
    "SELECT word, upper(word), n FROM t ORDER BY n * (id % 7), word LIMIT 20;"
    "SELECT id % 5 AS g, count(*), sum(n), group_concat(word, '; ') FROM t GROUP BY g ORDER BY g;"
    "SELECT a.word, b.word FROM t a JOIN t b ON b.id = a.id + 150 WHERE a.word < b.word ORDER BY 1;"
    "UPDATE t SET word = word || ' ' || replace(word, 'o', 'oo') WHERE id % 3 = 0;"
    "DELETE FROM t WHERE id % 4 = 1;"
    "CREATE TABLE big(b BLOB);"
    "INSERT INTO big VALUES(zeroblob(300000));"
    "UPDATE big SET b = CAST(b AS TEXT) || 'x';"
    "SELECT length(b), count(*) FROM big, t;"
    "DROP TABLE t;"
    "PRAGMA integrity_check;";

/* SQLITE_OK, and the hash of all answers; or the code of what failed. */
static int play(uint64_t *hash) {
  sqlite3 *db = NULL;
  const char *sql = script;
  int code = sqlite3_initialize();
  if (code == SQLITE_OK) code = sqlite3_open(":memory:", &db);
  *hash = HASH_START;
  while (code == SQLITE_OK && *sql != 0) {
    sqlite3_stmt *s = NULL;
    code = sqlite3_prepare_v2(db, sql, -1, &s, &sql);
    while (code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
      for (int i = 0; i < sqlite3_column_count(s); i++) {
        const char *text = (const char *)sqlite3_column_text(s, i);
        if (text != NULL) *hash = hash_bytes(*hash, text, (size_t)sqlite3_column_bytes(s, i) + 1);
      }
      code = sqlite3_errcode(db) == SQLITE_NOMEM ? SQLITE_NOMEM : SQLITE_OK; /* of a column's text */
    }
    if (s != NULL) {
      int ended = sqlite3_finalize(s);
      if (code == SQLITE_OK) code = ended;
    }
  }
  sqlite3_close(db);
  return code;
}

static uint64_t answers(int toft, unsigned long *count) {
  uint64_t hash;
  begin(toft);
  assert_int_equal(play(&hash), SQLITE_OK);
  *count = requests;
  end();
  return hash;
}

static void the_same_as_on_malloc(void **state) {
  uint64_t hash, expected;
  unsigned long asked;
  (void)state;
  expected = answers(0, &asked);
  for (int round = 0; round < 3; round++) {
    begin(1);
    assert_int_equal(play(&hash), SQLITE_OK);
    assert_true(hash == expected);
    assert_true(requests <= asked); /* larger objects than requested are resized less often */
    assert_true(sqlite_toft_held() == counts.held && counts.held > 0);
    assert_int_equal(sqlite3_memory_used(), 0);
    assert_true(counts.calls * 100 < requests); /* 99 of 100 are served from blocks that are there */
    end();
  }
}

/* As docs/library-hooks.md states it. */
static void odd_sizes_without_statistics(void **state) {
  uint64_t hash, expected = 0;
  (void)state;
  for (int counts_memory = 1; counts_memory >= 0; counts_memory--) {
    begin(1);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, counts_memory), SQLITE_OK);
    odd = 0;
    assert_int_equal(play(&hash), SQLITE_OK);
    assert_true(counts_memory ? odd == 0 : odd > requests / 2 && hash == expected);
    expected = hash;
    end();
  }
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1), SQLITE_OK);
}

/* The requirements of SQLite's documentation on the methods. */
static void rules_of_the_methods(void **state) {
  static const int sizes[] = {1,    7,          8,     9,     100,   511,         512,    4096,
                              4360, 4096 + 264, 32000, 32768, 40000, 65536 + 264, 1 << 20};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  unsigned char *p[COUNT];
  (void)state;
  begin(1);
  assert_int_equal(sqlite3_initialize(), SQLITE_OK);
  assert_int_equal(sqlite_toft_install(NULL), SQLITE_MISUSE); /* too late */
  for (int i = 0; i < COUNT; i++) {
    int rounded = inner.xRoundup(sizes[i]);
    assert_true(rounded >= sizes[i] && rounded % 8 == 0);
    p[i] = (unsigned char *)inner.xMalloc(rounded);
    assert_non_null(p[i]);
    assert_int_equal((uintptr_t)p[i] % 8, 0);
    assert_true(inner.xSize(p[i]) >= rounded);
    memset(p[i], i + 1, (size_t)rounded);
  }
  assert_int_equal(inner.xSize(NULL), 0);
  for (int i = 0; i < COUNT; i++) { /* each becomes each: larger and smaller */
    int was = inner.xRoundup(sizes[i]);
    for (int k = 0; k < COUNT; k++) {
      int now = inner.xRoundup(sizes[k]), kept = was < now ? was : now;
      unsigned char *q = (unsigned char *)inner.xRealloc(p[i], now);
      assert_non_null(q);
      assert_true(inner.xSize(q) >= now);
      for (int b = 0; b < kept; b++) assert_int_equal(q[b], i + 1);
      memset(q, i + 1, (size_t)now);
      p[i] = q;
      was = now;
    }
  }
  for (int i = 0; i < COUNT; i++) {
    for (int b = 0; b < inner.xRoundup(sizes[COUNT - 1]); b++) assert_int_equal(p[i][b], i + 1);
    inner.xFree(p[i]);
  }
  end();
}

static unsigned long step(void) {
  const char *text = getenv("TOFT_STEP");
  return text != NULL && atol(text) > 0 ? (unsigned long)atol(text) : 1;
}

/* Answers are whole, or there was no memory. 1: it was whole. */
static int whole_or_no_memory(uint64_t expected) {
  uint64_t hash;
  int code = play(&hash);
  assert_true(code == SQLITE_OK || code == SQLITE_NOMEM);
  if (code == SQLITE_OK) assert_true(hash == expected);
  end();
  return code == SQLITE_OK;
}

static void out_of_memory(int one) {
  unsigned long asked, failed = 0;
  uint64_t expected = answers(1, &asked);
  for (unsigned long k = 1; k <= asked; k += step()) {
    begin(1);
    refuse = k;
    once = one;
    failed += !whole_or_no_memory(expected);
  }
  assert_true(failed > 0);
  assert_true(one || failed == (asked + step() - 1) / step());
}

static void out_of_memory_at_each_request(void **state) { (void)state, out_of_memory(1); }
static void out_of_memory_from_each_request_on(void **state) { (void)state, out_of_memory(0); }

/* Toft itself gets nothing more. */
static void no_block_to_be_had(void **state) {
  unsigned long asked;
  uint64_t expected = answers(1, &asked);
  unsigned long long k = 1;
  (void)state;
  for (;; k++) {
    begin(1);
    counts.refuse = k;
    if (whole_or_no_memory(expected)) break;
  }
  assert_true(k > 3); /* so it failed in several places */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_as_on_malloc),
      cmocka_unit_test(odd_sizes_without_statistics),
      cmocka_unit_test(rules_of_the_methods),
      cmocka_unit_test(out_of_memory_at_each_request),
      cmocka_unit_test(out_of_memory_from_each_request_on),
      cmocka_unit_test(no_block_to_be_had),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
