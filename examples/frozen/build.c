/* Builds the files of the example from a list of packages: build LIST FOLDER.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <toft.h>
#include "packages.h"

typedef struct source {
  char *list;
  size_t size;
  char path[4096];
} source;

/* ---- frozen: C's structs ---- */

static void *take_of_region(void *m, size_t size) { return toft_malloc_alloc((toft_malloc *)m, size); }

static void *build_packages(toft_region *r, void *argument) {
  source *s = (source *)argument;
  return packages_parse(s->list, s->size, take_of_region, toft_region_malloc(r));
}

/* Whether a word that is an address of this process is text: six characters, and the zeros behind them. */
static int is_text(uint64_t word) {
  for (int i = 0; i < 6; i++, word >>= 8)
    if ((word & 255) < 32 || (word & 255) > 126) return 0;
  return word == 0;
}

/* AddressSanitizer maps so much that some text looks like an address of it; such words are the same in both builds. */
static int report(void *argument, const toft_freeze_fault *f) {
  (void)argument;
  if (f->kind == TOFT_FREEZE_POINTS_OUT && f->words[0] == f->words[1] && is_text(f->words[0])) return 1;
  fprintf(stderr, "the word at %llu points to %s\n", (unsigned long long)f->offset, f->points_to ? f->points_to : "?");
  return 0;
}

static int freeze(toft_build_fn *build, source *s, const char *path, const char *layout) {
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.layout = layout;
  o.report = report;
  o.max = (size_t)4 << 30;
  return toft_freeze(build, s, path, &o) == TOFT_OK;
}

/* ---- JSON: as a text, and jansson's structures frozen ---- */

static json_t *json_of(text t) { return json_stringn_nocheck(t.at, t.size); }

static int write_json(const packages *all, const char *path) {
  json_t *root = json_object();
  for (uint64_t i = 0; i < all->count; i++) {
    const package *p = &all->list[i];
    json_t *one = json_object(), *depends = json_array();
    for (uint64_t d = 0; d < p->depends_count; d++) json_array_append_new(depends, json_of(p->depends[d]));
    json_object_set_new(one, "version", json_of(p->version));
    json_object_set_new(one, "description", json_of(p->description));
    json_object_set_new(one, "kib", json_integer((json_int_t)p->kib));
    json_object_set_new(one, "depends", depends);
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)p->name.size, p->name.at);
    json_object_set_new_nocheck(root, name, one);
  }
  int done = json_dump_file(root, path, JSON_COMPACT) == 0;
  json_decref(root);
  return done;
}

static void *build_json(toft_region *r, void *argument) {
  toft_malloc *before = toft_malloc_current_swap(toft_region_malloc(r));
  json_t *root = json_load_file(((source *)argument)->path, 0, NULL);
  (void)toft_malloc_current_swap(before);
  return root;
}

/* ---- SQLite ---- */

static int write_database(const packages *all, const char *path) {
  sqlite3 *db;
  sqlite3_stmt *package_of, *need;
  (void)remove(path);
  if (sqlite3_open(path, &db) != SQLITE_OK) return 0;
  int done = sqlite3_exec(db,
                          "create table package(name text primary key, version text, kib integer, depends integer,"
                          " description text) without rowid; create table needs(need text, name text); begin",
                          NULL, NULL, NULL) == SQLITE_OK;
  sqlite3_prepare_v2(db, "insert into package values(?, ?, ?, ?, ?)", -1, &package_of, NULL);
  sqlite3_prepare_v2(db, "insert into needs values(?, ?)", -1, &need, NULL);
  for (uint64_t i = 0; i < all->count && done; i++) {
    const package *p = &all->list[i];
    sqlite3_bind_text(package_of, 1, p->name.at, (int)p->name.size, SQLITE_STATIC);
    sqlite3_bind_text(package_of, 2, p->version.at, (int)p->version.size, SQLITE_STATIC);
    sqlite3_bind_int64(package_of, 3, (sqlite3_int64)p->kib);
    sqlite3_bind_int64(package_of, 4, (sqlite3_int64)p->depends_count);
    sqlite3_bind_text(package_of, 5, p->description.at, (int)p->description.size, SQLITE_STATIC);
    done = sqlite3_step(package_of) == SQLITE_DONE && sqlite3_reset(package_of) == SQLITE_OK;
    for (uint64_t d = 0; d < p->depends_count && done; d++) {
      sqlite3_bind_text(need, 1, p->depends[d].at, (int)p->depends[d].size, SQLITE_STATIC);
      sqlite3_bind_text(need, 2, p->name.at, (int)p->name.size, SQLITE_STATIC);
      done = sqlite3_step(need) == SQLITE_DONE && sqlite3_reset(need) == SQLITE_OK;
    }
  }
  sqlite3_finalize(package_of);
  sqlite3_finalize(need);
  done = done && sqlite3_exec(db, "commit; create index by_need on needs(need, name)", NULL, NULL, NULL) == SQLITE_OK;
  return sqlite3_close(db) == SQLITE_OK && done;
}

/* ---- a table, for programs that write other formats ---- */

static int write_table(const packages *all, const char *path) {
  FILE *f = fopen(path, "wb");
  if (f == NULL) return 0;
  for (uint64_t i = 0; i < all->count; i++) {
    const package *p = &all->list[i];
    fprintf(f, "%.*s\t%.*s\t%llu\t", (int)p->name.size, p->name.at, (int)p->version.size, p->version.at,
            (unsigned long long)p->kib);
    for (uint64_t d = 0; d < p->depends_count; d++) fprintf(f, "%.*s ", (int)p->depends[d].size, p->depends[d].at);
    fprintf(f, "\t%.*s\n", (int)p->description.size, p->description.at);
  }
  return fclose(f) == 0;
}

static void *take_of_heap(void *argument, size_t size) {
  (void)argument;
  return malloc(size);
}

static const char *in(const char *folder, const char *name, char *path) {
  snprintf(path, 4096, "%s/%s", folder, name);
  return path;
}

int main(int argc, char **argv) {
  static source s;
  static packages *all; /* both until the process ends */
  char path[4096];
  json_object_seed(1); /* the hash of a name must be the same in every process, and so before the first object */
  if (argc != 3 || (s.list = read_whole(argv[1], &s.size)) == NULL) return 2;
  if ((all = packages_parse(s.list, s.size, take_of_heap, NULL)) == NULL) return 1;
  if (!freeze(build_packages, &s, in(argv[2], "packages.frozen", path), PACKAGES_LAYOUT)) return 1;
  if (!write_table(all, in(argv[2], "packages.tsv", path))) return 1;
  if (!write_database(all, in(argv[2], "packages.db", path))) return 1;
  in(argv[2], "packages.json", s.path);
  if (!write_json(all, s.path)) return 1;
  json_set_alloc_funcs(toft_malloc_current_alloc, toft_malloc_current_free);
  if (!freeze(build_json, &s, in(argv[2], "json.frozen", path), "jansson " JANSSON_VERSION)) return 1;
  printf("%llu packages\n", (unsigned long long)all->count);
  return 0;
}
