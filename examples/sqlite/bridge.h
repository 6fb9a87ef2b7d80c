/* The C part of the wrapper, which combines many calls from Go into one.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <sqlite3.h>
#include <string.h>

#include "toft_abi.h" /* a copy of Toft's abi/toft_abi.h: all that C needs of Toft */

struct sq_value {  /* a parameter or a column */
  int kind;        /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB or SQLITE_NULL */
  sqlite3_int64 i; /* the integer; for text and blobs the number of bytes at p */
  double f;
  const void *p;
};

struct sq_row {
  struct sq_row *next;
  struct sq_value *values;
  int n;
};

/* Executes a list of SQL that NULL ends, up to the first error. */
static inline int sq_exec_all(sqlite3 *db, char **sql, char **error) {
  int code = SQLITE_OK;
  for (; code == SQLITE_OK && *sql != NULL; sql++) code = sqlite3_exec(db, *sql, NULL, NULL, error);
  return code;
}

/* Afterwards SQLite reads none of the bound memory. */
static inline void sq_reset(sqlite3_stmt *s) {
  sqlite3_reset(s);
  if (s != NULL) sqlite3_clear_bindings(s);
}

/* SQLITE_STATIC: SQLite keeps the addresses and copies nothing. */
static inline int sq_bind(sqlite3_stmt *s, int i, const struct sq_value *v) {
  switch (v->kind) {
    case SQLITE_INTEGER: return sqlite3_bind_int64(s, i, v->i);
    case SQLITE_FLOAT: return sqlite3_bind_double(s, i, v->f);
    case SQLITE_TEXT: return sqlite3_bind_text64(s, i, v->p, (sqlite3_uint64)v->i, SQLITE_STATIC, SQLITE_UTF8);
    case SQLITE_BLOB: return sqlite3_bind_blob64(s, i, v->p, (sqlite3_uint64)v->i, SQLITE_STATIC);
  }
  return sqlite3_bind_null(s, i);
}

static inline int sq_bind_all(sqlite3_stmt *s, const struct sq_value *params, int n) {
  int code = n == sqlite3_bind_parameter_count(s) ? SQLITE_OK : SQLITE_RANGE;
  for (int i = 0; i < n && code == SQLITE_OK; i++) code = sq_bind(s, i + 1, &params[i]);
  return code;
}

/* For each of `count` groups of n parameters: binds, steps to the end, resets. */
static inline int sq_exec(sqlite3_stmt *s, const struct sq_value *params, int n, size_t count) {
  int code = SQLITE_DONE;
  for (; code == SQLITE_DONE && count > 0; count--, params += n) {
    code = sq_bind_all(s, params, n);
    if (code == SQLITE_OK) code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(s);
    sq_reset(s);
  }
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* ---- rows, in an arena that Go leased ---- */

/* The whole inline path: one compare, one add; without room it calls the arena's provider. */
static inline void *sq_alloc(toft_arena *a, size_t size) {
  unsigned char *p = a->cursor;
  if ((size_t)(a->limit - p) < size) return a->ops->alloc(a, size, 8, 0, 0);
  a->cursor = p + ((size + 7) & ~(size_t)7);
  return p;
}

/* SQLite's own text lives until the next step, the copy until Go returns the arena. False: no memory. */
static inline int sq_column(sqlite3_stmt *s, int i, struct sq_value *v, toft_arena *a) {
  const void *p = NULL;
  *v = (struct sq_value){.kind = sqlite3_column_type(s, i)};
  switch (v->kind) {
    case SQLITE_INTEGER: v->i = sqlite3_column_int64(s, i); return 1;
    case SQLITE_FLOAT: v->f = sqlite3_column_double(s, i); return 1;
    case SQLITE_NULL: return 1;
    case SQLITE_TEXT: p = sqlite3_column_text(s, i); break;
    case SQLITE_BLOB: p = sqlite3_column_blob(s, i); break;
  }
  v->i = sqlite3_column_bytes(s, i); /* after the text was requested */
  v->p = sq_alloc(a, (size_t)v->i);
  if (v->p != NULL && p != NULL) memcpy((void *)v->p, p, (size_t)v->i);
  return v->p != NULL && (p != NULL || v->i == 0);
}

static inline struct sq_row *sq_row(sqlite3_stmt *s, toft_arena *a, size_t *bytes) {
  int n = sqlite3_column_count(s);
  struct sq_row *r = sq_alloc(a, sizeof *r);
  struct sq_value *v = sq_alloc(a, (size_t)n * sizeof *v);
  if (r == NULL || v == NULL) return NULL;
  *r = (struct sq_row){NULL, v, n};
  *bytes += sizeof *r + (size_t)n * sizeof *v;
  for (; v < r->values + n; v++) {
    if (!sq_column(s, (int)(v - r->values), v, a)) return NULL;
    if (v->p != NULL) *bytes += (size_t)v->i;
  }
  return r;
}

/* Binds n parameters (-1: they are bound) and puts rows into the arena, until it has about `enough` bytes: then it
 * returns SQLITE_ROW, and is called again for more. Any other result: there are no more rows, and the statement is
 * reset. */
static inline int sq_query(sqlite3_stmt *s, const struct sq_value *params, int n, toft_arena *a, size_t enough,
                           struct sq_row **rows) {
  size_t bytes = 0;
  int code = n < 0 ? SQLITE_OK : sq_bind_all(s, params, n);
  *rows = NULL;
  if (code == SQLITE_OK) code = a->ops->version == TOFT_ABI ? SQLITE_ROW : SQLITE_MISUSE;
  while (code == SQLITE_ROW && bytes < enough && (code = sqlite3_step(s)) == SQLITE_ROW) {
    *rows = sq_row(s, a, &bytes);
    if (*rows == NULL) code = SQLITE_NOMEM;
    if (*rows != NULL) rows = &(*rows)->next;
  }
  if (code != SQLITE_ROW) sq_reset(s);
  return code;
}
