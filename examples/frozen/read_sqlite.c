/* A database of SQLite with an index for each query.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <sqlite3.h>
#include "read.h"

static sqlite3 *db;
static sqlite3_stmt *package_of, *needs;

static int open_database(const char *path) {
  return sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
         sqlite3_prepare_v2(db, "select version, kib, depends, description from package where name = ?", -1,
                            &package_of, NULL) == SQLITE_OK &&
         sqlite3_prepare_v2(db, "select count(distinct name) from needs where need = ?", -1, &needs, NULL) == SQLITE_OK;
}

static text column(int n) {
  text t = {(const char *)sqlite3_column_text(package_of, n), (uint64_t)sqlite3_column_bytes(package_of, n)};
  return t;
}

static void print(const char *wanted) {
  text name = {wanted, strlen(wanted)};
  sqlite3_bind_text(package_of, 1, wanted, -1, SQLITE_STATIC);
  if (sqlite3_step(package_of) == SQLITE_ROW)
    print_package(name, column(0), (uint64_t)sqlite3_column_int64(package_of, 1),
                  (uint64_t)sqlite3_column_int64(package_of, 2), column(3));
  else
    printf("%s -\n", wanted);
  sqlite3_reset(package_of);
}

static uint64_t needed_by(const char *name) {
  sqlite3_bind_text(needs, 1, name, -1, SQLITE_STATIC);
  uint64_t count = sqlite3_step(needs) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(needs, 0) : 0;
  sqlite3_reset(needs);
  return count;
}

const way sqlite_way = {"sqlite", open_database, print, needed_by};
