/* What the tests of a system that refuses do with each kind of object: scenarios, which make their calls while an order
 * of system_calls.h is active, and verify contents.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TEST_SYSTEM_SCENARIOS_H
#define TOFT_TEST_SYSTEM_SCENARIOS_H

#include "system_calls.h"

#include <dirent.h>
#include <sys/auxv.h>

#include "support.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static const char *running; /* the scenario */
static uint32_t variant;
static int is_child; /* with a system that goes on refusing */
static char folder[64], path[96];

static void check(int holds, const char *text, int line) {
  if (holds) return;
  print_error("line %d: %s: %s %u: %s fails from %zu to %zu: %s\n", line, text, running, variant,
              system_calls[order.kind].name, order.from, order.until, strerror(order.error));
  if (is_child) _exit(3);
  fail();
}
#define CHECK(holds) check(holds, #holds, __LINE__)

/* From here on nothing is refused. 0: the system goes on refusing. */
static int system_works(void) {
  order.active = 0;
  order.room = 0;
  return !is_child;
}

static int zeros; /* the file of zeros */

/* By a system call, not by a function, which a sanitizer observes. */
static int can_be_written(void *p) { return syscall(SYS_read, zeros, p, 1) == 1; }

/* ---- scenarios: each returns whether all that it requests was granted ---- */

static size_t found, found_last,
    expected; /* findings of a checkpoint, of the scenario's last one, and without refusals */
static void count_finding(void *arg, const toft_finding *f) {
  (void)arg;
  found += f->kind == TOFT_FOUND_OUTSIDE;
}

typedef struct content {
  int level, *outside;
  unsigned char *more, *object;
} content;

static int holds_level(const content *c, int level) {
  int byte = level; /* of a larger level, memory that was refused is NULL */
  return c->level == level && (c->more == NULL || (c->more[0] == byte && c->more[99999] == byte)) &&
         (c->object == NULL || (c->object[0] == byte && c->object[29999] == byte));
}

/* Fills new memory; returns whether there was enough. */
static int grow(content *c, toft_arena *a, toft_malloc *m, int level) {
  c->level = level;
  c->more = (unsigned char *)toft_alloc(a, (size_t)100000);
  c->object = (unsigned char *)toft_malloc_alloc(m, 30000);
  if (c->more != NULL) memset(c->more, level, 100000);
  if (c->object != NULL) memset(c->object, level, 30000);
  return c->more != NULL && c->object != NULL;
}

/* Restores each of the checkpoints, and drops it. */
static int restore_and_drop(toft_region *r, content *c, const int *saved) {
  for (int level = 2; level >= 1; level--) {
    if (!saved[level]) continue;
    for (int again = 0; again < 2; again++) {
      c->level = 100;
      if (c->more != NULL) memset(c->more, 100, 100000);
      CHECK(toft_region_restore(r, 0) == TOFT_OK); /* needs no memory */
      CHECK(holds_level(c, level));
      toft_region_trim(r);
      CHECK(holds_level(c, level));
    }
    int code = toft_region_drop_checkpoint(r, 0);
    CHECK(code == TOFT_OK || code == TOFT_ENOMEM);
    CHECK(holds_level(c, level));
    if (code != TOFT_OK) return 0;
  }
  return 1;
}

static int regions(uint32_t flags) {
  static int outside = 1; /* in a mapping with a name */
  int granted = 1, saved[3] = {0, 0, 0};
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  o.max = 8 * MIB;
  toft_region *r = toft_region_create(&o);
  if (r == NULL) return 0;
  toft_arena *a = toft_region_arena(r);
  toft_malloc *m = toft_region_malloc(r);
  content *c = a != NULL && m != NULL ? toft_new(a, content) : NULL;
  if (c == NULL) {
    toft_region_release(r);
    return 0;
  }
  memset(c, 0, sizeof *c);
  c->outside = &outside;
  for (int level = 1; level <= 2; level++) {
    granted &= grow(c, a, m, level);
    found = 0;
    int code = toft_region_checkpoint(r, NULL);
    /* With pointers of 4 bytes the content may look like one. */
    CHECK(found == 0 || ((found == 1 || sizeof(void *) == 4) && (flags & TOFT_REGION_CHECKED) != 0));
    CHECK(code == TOFT_OK || code == TOFT_ENOMEM);
    granted &= code == TOFT_OK && (found == expected || sizeof(void *) == 4);
    saved[level] = code == TOFT_OK;
    CHECK(holds_level(c, level));
  }
  found_last = found;
  granted &= restore_and_drop(r, c, saved);
  if (system_works()) {
    CHECK(grow(c, a, m, 3));
    CHECK(toft_region_checkpoint(r, NULL) == TOFT_OK);
    memset(c->more, 4, 100000);
    CHECK(toft_region_restore(r, 0) == TOFT_OK);
    CHECK(holds_level(c, 3));
  }
  toft_region_release(r);
  return granted;
}

typedef struct item {
  struct item *next;
  int value;
} item;

/* `*value` items, or no root if there is no memory. */
static void *build(toft_region *r, void *value) {
  toft_malloc *m = toft_region_malloc(r);
  item *list = NULL;
  if (m == NULL) return NULL;
  for (int i = 0; i < *(int *)value; i++) {
    item *n = (item *)toft_malloc_alloc(m, sizeof *n);
    if (n == NULL) return NULL;
    n->next = list;
    n->value = *(int *)value;
    list = n;
  }
  return list;
}

/* The value of a list with as many items; 0: it is none. */
static int value_of(const toft_frozen *f) {
  int count = 0, value = ((item *)f->root)->value;
  for (const item *n = (const item *)f->root; n != NULL; n = n->next) count++;
  return count == value ? value : 0;
}

/* The value of a whole file; 0: there is none, or a part. */
static int value_of_file(void) {
  toft_frozen f;
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.flags = TOFT_FROZEN_VERIFY;
  if (toft_frozen_open(&f, path, &o) != TOFT_OK) return 0;
  int value = value_of(&f);
  toft_frozen_close(&f);
  return value;
}

static int freeze_value(int value) {
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.max = MIB;
  return toft_freeze(build, &value, path, &o);
}

/* Counts the files in the folder, and removes them on request. */
static int files_in_folder(int removes) {
  int n = 0;
  DIR *in = opendir(folder);
  for (struct dirent *e; in != NULL && (e = readdir(in)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    n++;
    if (removes) unlinkat(dirfd(in), e->d_name, 0);
  }
  if (in != NULL) closedir(in);
  return n;
}

static int freezing(uint32_t flags) {
  (void)flags;
  order.active = 0;
  int before = value_of_file(), value = before == 5 ? 6 : 5, is_unlinked = order.kind != CALL_unlink;
  order.active = 1;
  errno = 0;
  int code = freeze_value(value), error = errno;
  int works = system_works();
  CHECK(code == TOFT_OK || code == TOFT_ENOMEM || code == TOFT_EIO || code == TOFT_ECONTENT);
  CHECK(code != TOFT_EIO || error != 0);
  if (works && code == TOFT_EIO && order.kind != CALL_toft_getentropy) CHECK(error == first_error);
  if (!works) return code == TOFT_OK;
  CHECK(value_of_file() == (code == TOFT_OK ? value : before));
  if (code != TOFT_OK && order.kind == CALL_KINDS && order.until != order.from) is_unlinked = 0;
  if (is_unlinked && code != TOFT_OK) CHECK(files_in_folder(0) == 1);
  if (!is_unlinked) (void)files_in_folder(1);
  if (!is_unlinked || code != TOFT_OK) CHECK(freeze_value(value) == TOFT_OK);
  return code == TOFT_OK;
}

static int opening(uint32_t flags) {
  toft_frozen f;
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.flags = flags;
  int code = toft_frozen_open(&f, path, &o), error = errno;
  int works = system_works(), value = 5;
  CHECK(code == TOFT_OK || code == TOFT_EIO);
  if (code == TOFT_OK) {
    value = value_of(&f);
    CHECK(can_be_written(f.memory) == ((flags & TOFT_FROZEN_WRITABLE) != 0));
    toft_frozen_close(&f);
  } else {
    if (works) CHECK(error == first_error);
    CHECK(f.root == NULL && f.mapping == NULL);
  }
  CHECK(value == 5 || value == 6);
  return code == TOFT_OK;
}

/* The list of mappings is complete: the stack is near its end. */
static int lists_of_mappings(uint32_t flags) {
  toft_mappings m;
  int granted = toft_mappings_read(&m, (int)flags);
  if (granted) CHECK(toft_mappings_contain(&m, (uintptr_t)getauxval(AT_RANDOM)));
  toft_mappings_free(&m);
  return granted;
}

/* Bytes at both ends and in between: writing all pages would take most of the time. */
static void put_marks(unsigned char *p, size_t size, size_t seed) {
  p[0] = p[size / 2] = p[size - 1] = (unsigned char)(seed + 1);
}
static int has_marks(const unsigned char *p, size_t size, size_t seed) {
  return p[0] == (unsigned char)(seed + 1) && p[size / 2] == p[0] && p[size - 1] == p[0];
}

/* An arena that grows, empties and grows again on a source. Returns whether all was granted. */
static int serve(toft_source *source, uint32_t flags) {
  toft_options o = TOFT_OPTIONS;
  o.source = source;
  o.flags = flags;
  int granted = 1;
  toft_arena *a = toft_create_with(&o);
  if (a == NULL) return 0;
  toft_mark start = toft_mark_here(a);
  for (int round = 0; round < 3; round++) {
    unsigned char *p[20];
    size_t n = 0;
    for (size_t size = 1000; size < 4 * MIB; size *= 2, n++) {
      p[n] = (unsigned char *)toft_alloc(a, size);
      granted &= p[n] != NULL;
      if (p[n] == NULL) break;
      put_marks(p[n], size, n);
    }
    for (size_t size = 1000, i = 0; i < n; size *= 2, i++) CHECK(has_marks(p[i], size, i));
    if (round == 0) CHECK(toft_rewind(a, start) == TOFT_OK);
    if (round == 1) toft_reset(a);
    if (round == 1) toft_trim(a, 0);
  }
  if (system_works()) {
    toft_reset(a);
    CHECK(toft_alloc(a, 100000) != NULL);
  }
  toft_release(a);
  return granted;
}

static int page_caches(uint32_t flags) {
  (void)flags;
  int granted = serve(NULL, 0);
  toft_page_cache_age();
  toft_cache_trim();
  return granted;
}

static int page_sources(uint32_t flags) {
  toft_page_source pages;
  int granted = serve(toft_page_source_init(&pages, flags), 0);
  toft_page_source_trim(&pages);
  return granted;
}

/* All that a source counts as committed can be written. */
static void check_committed(const toft_reserve_source *r) {
  if (r->committed != 0) CHECK(can_be_written(r->base + r->committed - 1));
  if (r->committed != r->max) CHECK(!can_be_written(r->base + r->committed));
}

static int reserve_sources(uint32_t flags) {
  toft_reserve_source r;
  (void)flags;
  toft_source *source = toft_reserve_source_init(&r, 64 * MIB);
  if (source == NULL) return 0;
  void *block = source->take(source, MIB);
  int granted = block != NULL;
  if (granted) CHECK(source->extend(source, block, MIB, 64 * KIB));
  check_committed(&r);
  if (granted) source->put(source, block, 64 * KIB);
  check_committed(&r);
  granted &= serve(source, 0);
  CHECK(!r.taken);
  check_committed(&r);
  toft_reserve_source_release(&r);
  return granted;
}

static int budgets(uint32_t flags) {
  (void)flags;
  toft_page_source pages;
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.source = toft_page_source_init(&pages, 0);
  o.limit = 64 * MIB;
  toft_budget *b = toft_budget_create(&o);
  if (b == NULL) return 0;
  int granted = serve(toft_budget_source(b), 0);
  CHECK(toft_budget_get_stats(b).reserved == 0);
  CHECK(toft_budget_release(b) == TOFT_OK);
  toft_page_source_trim(&pages);
  return granted;
}

static int recyclers(uint32_t flags) {
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  toft_page_source pages;
  unsigned char *p[40];
  size_t sizes[40], n = sizeof p / sizeof *p;
  int granted = 1;
  if (flags != 0) o.source = toft_page_source_init(&pages, TOFT_PAGES_LAZY);
  CHECK(toft_recycler_init(&r, &o) == TOFT_OK);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < n; i++) {
      sizes[i] = i % 8 == 3 ? i * 70001 : i * 100 + 1;
      p[i] = (unsigned char *)toft_recycler_alloc(&r, sizes[i], 8);
      granted &= p[i] != NULL;
      if (p[i] != NULL) put_marks(p[i], sizes[i], i);
    }
    for (size_t i = 0; i < n; i++) { /* a resize that fails leaves the object */
      unsigned char *q =
          p[i] == NULL ? NULL : (unsigned char *)toft_recycler_resize(&r, p[i], sizes[i], sizes[i] * 2, 8);
      granted &= q != NULL;
      if (q != NULL) p[i] = q;
      if (p[i] != NULL) CHECK(has_marks(p[i], sizes[i], i));
      if (q != NULL) put_marks(q, sizes[i] *= 2, i);
    }
    for (size_t i = 0; i < n; i += 2)
      if (p[i] != NULL) toft_recycler_free(&r, p[i], sizes[i]);
    toft_recycler_trim(&r, 0);
    for (size_t i = 1; i < n; i += 2) {
      if (p[i] == NULL) continue;
      CHECK(has_marks(p[i], sizes[i], i));
      toft_recycler_free(&r, p[i], sizes[i]);
    }
    CHECK(toft_recycler_get_stats(&r).used == 0);
  }
  if (system_works()) {
    void *q = toft_recycler_alloc(&r, MIB, 8);
    CHECK(q != NULL);
    toft_recycler_free(&r, q, MIB);
  }
  toft_recycler_release(&r);
  if (flags != 0) toft_page_source_trim(&pages);
  return granted;
}

static int pools(uint32_t flags) {
  toft_pool p;
  toft_pool_options o = TOFT_POOL_OPTIONS;
  int granted = 1;
  (void)flags;
  o.slot_size = 1000;
  o.slots = 10;
  o.max_slots = 20000;
  if (toft_pool_init(&p, &o) != TOFT_OK) return 0;
  for (int round = 0; round < 2; round++) {
    uint32_t n = 0, i = 0;
    for (uint32_t *slot; n < 9000 && (slot = (uint32_t *)toft_pool_insert(&p, NULL)) != NULL;) *slot = n++;
    TOFT_POOL_EACH(w, &p) CHECK(*(uint32_t *)toft_pool_walk_slot(&w) == i++);
    CHECK(i == n);
    granted &= n == 9000;
    toft_pool_clear(&p);
    toft_pool_trim(&p);
    size_t all = p.block_size - (size_t)(p.slots - (unsigned char *)p.block);
    if (p.slots_size != 0) CHECK(can_be_written(p.slots + p.slots_size - 1));
    if (p.slots_size < all) CHECK(!can_be_written(p.slots + p.slots_size));
  }
  if (system_works()) CHECK(toft_pool_insert(&p, NULL) != NULL);
  toft_pool_release(&p);
  toft_cache_trim();
  return granted;
}

static const struct {
  const char *name;
  int (*run)(uint32_t variant);
  uint32_t variants;
} scenarios[] = {
    {"regions", regions, 8},
    {"freezing", freezing, 1},
    {"opening", opening, 8},
    {"lists of mappings", lists_of_mappings, 2},
    {"page caches", page_caches, 1},
    {"page sources", page_sources, 4},
    {"reserve sources", reserve_sources, 1},
    {"budgets", budgets, 1},
    {"recyclers", recyclers, 2},
    {"pools", pools, 1},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* The descriptors by which the process has records of written pages, which the next scenario opens again. */
static void close_record_files(void) {
  toft_written_files *files = (toft_written_files *)toft_written;
  if (files == NULL) return;
  if (files->faults != 0) (void)toft_sys_close((int)files->faults - 1);
  if (files->pages != 0) (void)toft_sys_close((int)files->pages - 1);
  (void)toft_os_unmap(files, 4096);
  toft_written = 0;
  memset(&toft_parents, 0, sizeof toft_parents);
}

/* Runs a scenario, and compares mappings, descriptors and held bytes before and after. */
static int run(size_t i, uint32_t of) {
  running = scenarios[i].name;
  variant = of;
  size_t before = mapped_bytes, held = held_bytes;
  long open_before = descriptors;
  memset(calls_made, 0, sizeof calls_made);
  first_error = 0;
  order.active = 1;
  int granted = scenarios[i].run(of);
  order.active = 0;
  toft_cache_trim();
  close_record_files();
  CHECK(descriptors == open_before);
  CHECK(mapped_bytes - before == lost_bytes); /* addresses, by a munmap that failed, and no more */
  CHECK(held_bytes - held <= lost_bytes);
  return_lost();
  return granted;
}

static void no_order(void) {
  memset(&order, 0, sizeof order);
  order.kind = CALL_KINDS;
}

static int make_folder(void **state) {
  (void)state;
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.40s/toft-system-XXXXXX", parent != NULL ? parent : P_tmpdir);
  zeros = open("/dev/zero", O_RDONLY);
  if (zeros < 0 || mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/file", folder);
  no_order();
  return freeze_value(5);
}

static int remove_folder(void **state) {
  char command[160];
  (void)state;
  close(zeros);
  snprintf(command, sizeof command, "rm -r %s", folder); /* also temporary files of processes that ended */
  return system(command);
}

#endif
