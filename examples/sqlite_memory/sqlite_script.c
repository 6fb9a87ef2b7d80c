/* Imports a table and runs a script of SQL on it, round after round, each time in a new database:
 *     sqlite_script [--toft | --toft-heap] [--count] DATABASE SCRIPT TABLE ROUNDS
 * Prints what ../programs.py reads. --count: instead of times, how many requests SQLite made, and how often Toft called
 * its source. A DATABASE in a file is removed before and after each round.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <sqlite3.h>
#include <unistd.h>

#include "../counted.h"
#include "../measure.h"
#include "sqlite_toft.h"

static sqlite3 *db;

static void fail(const char *what) {
  fprintf(stderr, "sqlite_script: %s: %s\n", what, db != NULL ? sqlite3_errmsg(db) : "failed");
  exit(1);
}

/* ---- answers, hashed ---- */

static uint64_t hash_row(uint64_t h, sqlite3_stmt *s) {
  for (int i = 0; i < sqlite3_column_count(s); i++) {
    int type = sqlite3_column_type(s, i);
    const void *text = sqlite3_column_text(s, i); /* before the number of its bytes */
    h = hash_bytes(h, &type, sizeof type);
    if (text != NULL) h = hash_bytes(h, text, (size_t)sqlite3_column_bytes(s, i) + 1);
  }
  return hash_bytes(h, "", 1);
}

static uint64_t run(uint64_t h, const char *sql) {
  while (*sql != 0) {
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(db, sql, -1, &s, &sql) != SQLITE_OK) fail(sql);
    if (s == NULL) continue; /* a comment */
    while ((code = sqlite3_step(s)) == SQLITE_ROW) h = hash_row(h, s);
    if (code != SQLITE_DONE) fail(sqlite3_sql(s));
    sqlite3_finalize(s);
  }
  return h;
}

/* ---- the parts of a round ---- */

enum { COLUMNS = 9, SINGLE_STATEMENTS = 3000, PARTS = 4 };

static void import(const char *table) {
  sqlite3_stmt *s;
  run(0,
      "PRAGMA synchronous = OFF;"
      "CREATE TABLE characters(code INTEGER PRIMARY KEY, name TEXT, category TEXT, bidi TEXT, combining INTEGER,"
      " decomposition TEXT, number REAL, upper INTEGER, lower INTEGER);"
      "BEGIN");
  if (sqlite3_prepare_v2(db, "INSERT INTO characters VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", -1, &s, NULL) != SQLITE_OK)
    fail("INSERT");
  while (*table != 0) {
    for (int i = 1; i <= COLUMNS; i++) {
      size_t n = strcspn(table, "\t\n");
      if (sqlite3_bind_text(s, i, table, (int)n, SQLITE_TRANSIENT) != SQLITE_OK) fail("bind");
      table += n + (table[n] != 0);
    }
    if (sqlite3_step(s) != SQLITE_DONE || sqlite3_reset(s) != SQLITE_OK) fail("INSERT");
  }
  sqlite3_finalize(s);
  run(0, "COMMIT");
}

/* As programs do that compile each statement anew. */
static uint64_t single_statements(uint64_t h) {
  for (int i = 0; i < SINGLE_STATEMENTS; i++) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT a.name, coalesce(b.name, '-'), length(a.name) AS long FROM characters a LEFT JOIN characters b"
             " ON b.code = a.lower WHERE a.code BETWEEN %d AND %d ORDER BY long, 1",
             i * 7, i * 7 + 9);
    h = run(h, sql);
  }
  return h;
}

static uint64_t play(const char *path, const char *script, const char *table, uint64_t *took) {
  uint64_t h = HASH_START, at[PARTS + 1];
  at[0] = now();
  if (sqlite3_open(path, &db) != SQLITE_OK) fail(path);
  if (strcmp(path, ":memory:") == 0) run(0, "PRAGMA temp_store = MEMORY"); /* nothing on a disk */
  import(table);
  at[1] = now();
  h = run(h, script);
  at[2] = now();
  h = single_statements(h);
  at[3] = now();
  if (sqlite3_close(db) != SQLITE_OK) fail("close");
  db = NULL;
  at[4] = now();
  for (int i = 0; i < PARTS; i++) took[i] = at[i + 1] - at[i];
  return h;
}

/* ---- counting: in front of the methods that are installed ---- */

static sqlite3_mem_methods counted;
static unsigned long long requests;

static void *counted_take(int n) { return requests++, counted.xMalloc(n); }
static void *counted_resize(void *p, int n) { return requests++, counted.xRealloc(p, n); }

static void count(void) {
  sqlite3_mem_methods methods;
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &counted) != SQLITE_OK) fail("SQLITE_CONFIG_GETMALLOC");
  methods = counted;
  methods.xMalloc = counted_take;
  methods.xRealloc = counted_resize;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK) fail("SQLITE_CONFIG_MALLOC");
}

int main(int argc, char **argv) {
  int heap = argc > 1 && strcmp(argv[1], "--toft-heap") == 0;
  int toft = heap || (argc > 1 && strcmp(argv[1], "--toft") == 0);
  int counting = argc > 1 + toft && strcmp(argv[1 + toft], "--count") == 0;
  char **a = argv + 1 + toft + counting, *script, *table;
  int rounds = argc - toft - counting == 5 ? atoi(a[3]) : 0;
  uint64_t first = 0;
  if (rounds < 1) {
    fprintf(stderr, "usage: sqlite_script [--toft | --toft-heap] [--count] DATABASE SCRIPT TABLE ROUNDS\n");
    return 2;
  }
  if ((script = load(a[1], NULL)) == NULL) fail(a[1]);
  if ((table = load(a[2], NULL)) == NULL) fail(a[2]);
  /* No locks and no counts: the rest of an allocation is the allocator. The same for all. */
  if (sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK ||
      sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK)
    fail("sqlite3_config");
  if (toft && sqlite_toft_install(counting ? counted_source() : heap ? toft_heap() : NULL) != SQLITE_OK)
    fail("sqlite_toft_install");
  if (counting) count();
  if (!counting) print_parts("import script statements close");
  for (int i = 0; i < rounds; i++) {
    uint64_t took[PARTS], hash;
    struct meter m = meter_begin();
    unlink(a[0]);
    hash = play(a[0], script, table, took);
    if (!counting) meter_end(&m, took, PARTS);
    if (i == 0) first = hash;
    if (hash != first) fail("two rounds answered differently");
  }
  unlink(a[0]);
  sqlite3_shutdown();
  if (counting)
    print_counts(requests);
  else
    print_total(first);
  free(script);
  free(table);
  return 0;
}
