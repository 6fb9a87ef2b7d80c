/* Trees of checkpoints: random walks equal to a model, with refusals, by the system's record and by comparing; cleanups
 * between branches; digests of equal runs, and differences.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__linux__)
#include "system_calls.h"

#include <sys/wait.h>

#include "cleanup_order.h"

enum { HEADER = 4096, NODES = 100, OBJECTS = 24, ROUND = 150 };

static toft_region *region_of(uint32_t flags) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags;
  o.max = (size_t)4 << 20;
  toft_region *r = toft_region_create(&o);
  assert_non_null(r);
  return r;
}

/* ---- content, which lies in the region whole ---- */

typedef struct content {
  toft_arena *arena;
  toft_malloc *heap;
  uint32_t step;
  unsigned char *objects[OBJECTS];
} content;

static content *content_of(toft_region *r) { return (content *)toft_region_root(r); }

static void make_content(toft_region *r) {
  toft_malloc *heap = toft_region_malloc(r);
  content *c = (content *)toft_malloc_calloc(heap, 1, sizeof *c);
  assert_non_null(c);
  c->heap = heap;
  c->arena = toft_region_arena(r);
  toft_region_set_root(r, c);
}

static void change(toft_region *r, uint32_t *random) {
  content *c = content_of(r);
  uint32_t i = next_random(random) % OBJECTS;
  size_t size = 1 + next_random(random) % (next_random(random) % 8 == 0 ? 40000 : 500);
  c->step++;
  switch (next_random(random) % 8) {
    case 0: toft_reset(c->arena); break;
    case 1:
      toft_release(c->arena);
      c->arena = toft_region_arena(r);
      assert_non_null(c->arena);
      break;
    case 2: toft_malloc_trim(c->heap, 0); break;
    case 3:
    case 4: {
      unsigned char *p = (unsigned char *)toft_alloc_zeroed(c->arena, size, 8);
      if (p != NULL) p[size / 2] = (unsigned char)i;
      break;
    }
    default:
      toft_malloc_free(c->heap, c->objects[i]);
      c->objects[i] = (unsigned char *)toft_malloc_calloc(c->heap, 1, size);
      if (c->objects[i] != NULL) memset(c->objects[i], (int)i, size / 2);
  }
}

/* ---- the model: each node's bytes behind the header, and the tree ---- */

typedef struct model_node {
  toft_checkpoint number, parent;
  unsigned char *bytes;
  size_t size;
  uint64_t digest;
} model_node;

static struct {
  model_node nodes[NODES];
  size_t count;
  toft_checkpoint current;
} model;

static model_node *model_of(toft_checkpoint number) {
  for (size_t i = 0; i < model.count; i++)
    if (model.nodes[i].number == number) return &model.nodes[i];
  return NULL;
}

static void model_add(toft_region *r, toft_checkpoint number) {
  toft_checkpoint_info info;
  model_node *n = &model.nodes[model.count++];
  assert_int_equal(toft_region_next_checkpoint(r, number - 1, &info), TOFT_OK);
  assert_true(info.checkpoint == number && info.parent == model.current);
  n->number = number;
  n->parent = model.current;
  n->size = (size_t)info.size - HEADER;
  n->bytes = (unsigned char *)malloc(n->size + 1);
  assert_non_null(n->bytes);
  memcpy(n->bytes, (unsigned char *)r + HEADER, n->size);
  assert_int_equal(toft_region_digest(r, 0, &n->digest), TOFT_OK);
  model.current = number;
}

static void model_drop(size_t i) {
  model_node dropped = model.nodes[i];
  free(dropped.bytes);
  memmove(&model.nodes[i], &model.nodes[i + 1], (--model.count - i) * sizeof dropped);
  for (size_t k = 0; k < model.count; k++)
    if (model.nodes[k].parent == dropped.number) model.nodes[k].parent = dropped.parent;
  if (model.current == dropped.number) model.current = dropped.parent;
}

/* The region lists the nodes of the model. */
static void assert_listed(const toft_region *r) {
  toft_checkpoint_info info = {0, 0, NULL, 0, 0};
  for (size_t i = 0; i < model.count; i++) {
    assert_int_equal(toft_region_next_checkpoint(r, info.checkpoint, &info), TOFT_OK);
    assert_true(info.checkpoint == model.nodes[i].number && info.parent == model.nodes[i].parent);
  }
  assert_int_equal(toft_region_next_checkpoint(r, info.checkpoint, &info), TOFT_EMARK);
  assert_int_equal(toft_region_get_stats(r).checkpoints, model.count);
  assert_true(toft_region_current(r) == model.current);
}

static void assert_content(toft_region *r, const model_node *n) {
  assert_memory_equal(n->bytes, (unsigned char *)r + HEADER, n->size);
}

/* ---- walks ---- */

/* From the k-th on memory is refused for a while; k is small. */
static void refuse_soon(uint32_t *random) {
  memset(&order, 0, sizeof order);
  order.kind = CALL_posix_memalign;
  order.error = ENOMEM;
  calls_made[order.kind] = 0;
  order.from = 1 + next_random(random) % 6;
  order.until = next_random(random) % 2 ? order.from : SIZE_MAX;
  order.active = next_random(random) % 3 == 0;
}

static void walk_step(toft_region *r, uint32_t *random) {
  size_t i = model.count != 0 ? next_random(random) % model.count : 0;
  toft_checkpoint number = model.count != 0 ? model.nodes[i].number : 77, made = 0;
  uint64_t before, digest = 0;
  int code;
  for (uint32_t k = next_random(random) % 5; k != 0; k--) change(r, random);
  switch (next_random(random) % (model.count < NODES ? 9 : 6)) {
    case 0:
      assert_int_equal(toft_region_drop_checkpoint(r, model.count < NODES ? number : 0),
                       i < model.count ? TOFT_OK : TOFT_EMARK);
      if (i < model.count) model_drop(model.count < NODES ? i : (size_t)(model_of(model.current) - model.nodes));
      break;
    case 1:
    case 2:
      code = toft_region_restore(r, number);
      assert_int_equal(code, i < model.count ? TOFT_OK : TOFT_EMARK);
      if (code == TOFT_OK) assert_content(r, &model.nodes[i]), model.current = number;
      break;
    case 3:
      code = toft_region_restore(r, 0);
      assert_int_equal(code, model.current != 0 ? TOFT_OK : TOFT_EMARK);
      if (code == TOFT_OK) assert_content(r, model_of(model.current));
      break;
    case 4:
      assert_int_equal(toft_region_digest(r, 0, &before), TOFT_OK);
      refuse_soon(random);
      code = toft_region_digest(r, number, &digest);
      order.active = 0;
      if (code == TOFT_OK) assert_true(digest == model.nodes[i].digest);
      if (i == model.count) assert_int_equal(code, TOFT_EMARK);
      assert_int_equal(toft_region_digest(r, 0, &digest), TOFT_OK);
      assert_true(digest == before);
      break;
    case 5: toft_region_trim(r); break;
    default:
      assert_int_equal(toft_region_digest(r, 0, &before), TOFT_OK);
      refuse_soon(random);
      code = toft_region_checkpoint(r, &made);
      order.active = 0;
      if (code == TOFT_OK) model_add(r, made);
      assert_true(code == TOFT_OK || (code == TOFT_ENOMEM && made == 0));
      assert_int_equal(toft_region_digest(r, 0, &digest), TOFT_OK);
      assert_true(digest == before);
  }
  assert_listed(r);
}

static void walk(uint32_t flags, uint32_t random) {
  toft_region *r = region_of(flags);
  make_content(r);
  memset(&model, 0, sizeof model);
  for (int i = 0; i < ROUND; i++) walk_step(r, &random);
  for (size_t i = 0; i < model.count; i++) {
    assert_int_equal(toft_region_restore(r, model.nodes[i].number), TOFT_OK);
    assert_content(r, &model.nodes[i]);
  }
  if (model.count != 0) model.current = toft_region_current(r);
  while (model.count != 0) {
    assert_int_equal(toft_region_drop_checkpoint(r, model.nodes[random % model.count].number), TOFT_OK);
    model_drop(random % model.count);
    assert_listed(r);
  }
  assert_int_equal(toft_region_get_stats(r).saved, 0);
  toft_region_release(r);
}

static void walks_are_equal_to_a_model(void **state) {
  (void)state;
  size_t walks = long_run() ? 10000 : rounds_of(100);
  for (uint32_t i = 0; i < walks; i++) walk(i & (TOFT_REGION_COMPARES | TOFT_REGION_REPEATABLE), i * 7919 + 1);
}

/* The descriptors of the record that the process has; those of its parent would be more. */
static int record_files(void) {
  char path[32], name[64];
  int count = 0;
  for (int file = 3; file < 100; file++) {
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ssize_t n = readlink(path, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    count += strstr(name, "[userfaultfd]") != NULL || strstr(name, "/pagemap") != NULL;
  }
  return count;
}

/* In a forked child, which has no record, and in its own child; the parent's record stays right. */
static void walks_go_on_in_a_child(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  for (uint32_t seed = 1; seed <= 6; seed++) {
    toft_region *r = region_of(0);
    uint32_t random = seed;
    int status = 0, depth = 0;
    make_content(r);
    memset(&model, 0, sizeof model);
    for (int i = 0; i < 60; i++) walk_step(r, &random);
    fflush(NULL);
    pid_t child = fork();
    while (child == 0 && depth++ < 2) {
      assert_int_equal(record_files(), 0);
      for (int i = 0; i < 60; i++) walk_step(r, &random);
      assert_true(record_files() <= 2);
      child = fork();
    }
    for (int i = 0; i < 60; i++) walk_step(r, &random);
    if (child != 0) assert_int_equal(waitpid(child, &status, 0), child);
    if (depth != 0) _exit(status != 0);
    assert_int_equal(status, 0);
    for (int i = 0; i < 60; i++) walk_step(r, &random);
    while (model.count != 0) model_drop(0);
    toft_region_release(r);
  }
}

static void restores_do_not_grow(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region *r = region_of(flags);
    uint32_t random = 5;
    toft_checkpoint nodes[8];
    make_content(r);
    for (int i = 0; i < 8; i++) {
      for (int k = 0; k < 30; k++) change(r, &random);
      assert_int_equal(toft_region_checkpoint(r, &nodes[i]), TOFT_OK);
      if (i % 3 == 2) assert_int_equal(toft_region_restore(r, nodes[i / 2]), TOFT_OK);
    }
    toft_region_stats before = toft_region_get_stats(r);
    for (size_t i = 0; i < (long_run() ? 100000 : rounds_of(20000)); i++) {
      change(r, &random);
      assert_int_equal(toft_region_restore(r, nodes[next_random(&random) % 8]), TOFT_OK);
    }
    toft_region_stats after = toft_region_get_stats(r);
    assert_true(after.saved == before.saved && after.checkpoints == before.checkpoints);
    order.active = 1; /* counts calls */
    memset(calls_made, 0, sizeof calls_made);
    for (int i = 0; i < 8; i++) assert_int_equal(toft_region_restore(r, nodes[i]), TOFT_OK);
    order.active = 0;
    assert_int_equal(calls_made[CALL_posix_memalign] + calls_made[CALL_mmap], 0);
    toft_region_release(r);
  }
}

/* The system drops pages, and also their tables, of content that a restore brings back. */
static void trimmed_pages_come_back(void **state) {
  enum { SIZE = 24 << 20 };
  (void)state;
  for (uint32_t flags = 0; flags <= TOFT_REGION_COMPARES; flags++) {
    toft_region_options o = TOFT_REGION_OPTIONS;
    o.flags = flags;
    toft_region *r = toft_region_create(&o);
    toft_checkpoint empty, full;
    assert_int_equal(toft_region_checkpoint(r, &empty), TOFT_OK);
    toft_arena *a = toft_region_arena(r);
    unsigned char *p = (unsigned char *)toft_alloc(a, SIZE);
    assert_non_null(p);
    memset(p, 5, SIZE);
    assert_int_equal(toft_region_checkpoint(r, &full), TOFT_OK);
    for (int round = 0; round < 3; round++) {
      assert_int_equal(toft_region_restore(r, empty), TOFT_OK);
      toft_region_trim(r);
      assert_int_equal(toft_region_restore(r, full), TOFT_OK);
      assert_true(p[0] == 5 && memcmp(p, p + 1, SIZE - 1) == 0);
      toft_release(a);
      toft_region_trim(r);
      assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
      assert_true(p[0] == 5 && memcmp(p, p + 1, SIZE - 1) == 0);
    }
    toft_region_release(r);
  }
}

/* ---- cleanups between branches ---- */

static void cleanups_run_since_the_common_checkpoint(void **state) {
  (void)state;
  for (int drops = 0; drops < 2; drops++) {
    toft_region *r = region_of(0);
    toft_arena *a = toft_region_arena(r);
    toft_checkpoint first, fork_of_both, left, right;
    add(a, "1");
    assert_int_equal(toft_region_checkpoint(r, &first), TOFT_OK);
    add(a, "2");
    assert_int_equal(toft_region_checkpoint(r, &fork_of_both), TOFT_OK);
    add(a, "l");
    assert_int_equal(toft_region_checkpoint(r, &left), TOFT_OK);
    add(toft_region_arena(r), "m");
    assert_int_equal(toft_region_restore(r, fork_of_both), TOFT_OK);
    ran("ml");
    add(a, "r");
    if (drops) assert_int_equal(toft_region_drop_checkpoint(r, fork_of_both), TOFT_OK); /* also the current one */
    assert_int_equal(toft_region_checkpoint(r, &right), TOFT_OK);
    if (drops) assert_int_equal(toft_region_drop_checkpoint(r, first), TOFT_OK);
    assert_int_equal(toft_region_restore(r, left), TOFT_OK);
    ran("r");
    assert_int_equal(toft_region_restore(r, right), TOFT_OK);
    ran("l");
    if (drops) {
      assert_int_equal(toft_region_restore(r, first), TOFT_EMARK);
      assert_int_equal(toft_region_drop_checkpoint(r, left), TOFT_OK);
      assert_int_equal(toft_region_drop_checkpoint(r, right), TOFT_OK);
      assert_int_equal(toft_region_restore(r, 0), TOFT_EMARK);
      assert_int_equal(toft_region_get_stats(r).saved, 0);
      ran("");
    }
    toft_region_release(r);
    ran("r21");
  }
}

static void what_is_not_there_is_refused(void **state) {
  (void)state;
  toft_region *r = region_of(0), *other = region_of(0);
  toft_checkpoint n, of_other;
  toft_checkpoint_info info;
  uint64_t digest;
  toft_region_difference d;
  assert_int_equal(toft_region_next_checkpoint(r, 0, &info), TOFT_EMARK);
  assert_int_equal(toft_region_name_checkpoint(r, 0, "none"), TOFT_EMARK);
  assert_true(toft_region_current(r) == 0);
  assert_int_equal(toft_region_checkpoint(r, &n), TOFT_OK);
  assert_int_equal(toft_region_checkpoint(other, &of_other), TOFT_OK);
  const toft_checkpoint wrong[] = {of_other, n + 1, 1, UINT64_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(toft_region_restore(r, wrong[i]), TOFT_EMARK);
    assert_int_equal(toft_region_drop_checkpoint(r, wrong[i]), TOFT_EMARK);
    assert_int_equal(toft_region_name_checkpoint(r, wrong[i], "none"), TOFT_EMARK);
    assert_int_equal(toft_region_digest(r, wrong[i], &digest), TOFT_EMARK);
    assert_int_equal(toft_region_diff(r, 0, r, wrong[i], &d), TOFT_EMARK);
  }
  assert_int_equal(toft_region_next_checkpoint(r, UINT64_MAX, &info), TOFT_EMARK);
  assert_int_equal(toft_region_name_checkpoint(r, 0, "the first"), TOFT_OK);
  assert_int_equal(toft_region_next_checkpoint(r, 0, &info), TOFT_OK);
  assert_string_equal(info.name, "the first");
  char longest[TOFT_CHECKPOINT_NAME + 1] = {0};
  memset(longest, 'n', sizeof longest - 1);
  assert_int_equal(toft_region_name_checkpoint(r, 0, longest), TOFT_EARG);
  assert_int_equal(toft_region_name_checkpoint(r, 0, NULL), TOFT_EARG);
  assert_string_equal(info.name, "the first");
  longest[sizeof longest - 2] = 0;
  assert_int_equal(toft_region_name_checkpoint(r, 0, longest), TOFT_OK);
  assert_string_equal(info.name, longest);
  toft_arena *a = toft_region_arena(r);
  toft_range range;
  assert_int_equal(toft_claim(a, &range), TOFT_OK);
  assert_int_equal(toft_region_digest(r, 0, &digest), TOFT_EBUSY);
  assert_int_equal(toft_region_drop_checkpoint(r, n), TOFT_EBUSY);
  assert_int_equal(toft_unclaim(a, &range), TOFT_OK);
  toft_region_release(other);
  toft_region_release(r);
}

/* ---- digests ---- */

static uint64_t digest_of(toft_region *r, toft_checkpoint of) {
  uint64_t digest = 0;
  assert_int_equal(toft_region_digest(r, of, &digest), TOFT_OK);
  return digest;
}

/* The same changes; `detours` restores contents that the other runs never have, elsewhere in memory. */
static uint64_t digest_of_run(uint32_t seed, int detours, uint32_t flags) {
  void *between = detours ? toft_os_map(HEADER * (seed % 16 + 1), 0) : NULL;
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = flags | TOFT_REGION_REPEATABLE;
  o.max = 31 << 16; /* less than the system itself aligns */
  toft_region *r = toft_region_create(&o), *beside = r;
  if (detours) r = toft_region_create(&o), toft_region_release(beside);
  uint32_t random = seed, other = seed + 99;
  make_content(r);
  for (int i = 0; i < 300; i++) {
    change(r, &random);
    if (i % 40 != 0 || !detours) continue;
    assert_int_equal(toft_region_checkpoint(r, NULL), TOFT_OK);
    for (int k = 0; k < 30; k++) change(r, &other);
    if (i % 80 == 0) toft_region_trim(r);
    assert_int_equal(toft_region_restore(r, 0), TOFT_OK);
    assert_int_equal(toft_region_drop_checkpoint(r, 0), TOFT_OK);
  }
  uint64_t digest = digest_of(r, 0);
  toft_region_release(r);
  if (between != NULL) (void)toft_os_unmap(between, HEADER * (seed % 16 + 1));
  return digest;
}

static void equal_runs_have_equal_digests(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  for (uint32_t seed = 1; seed <= rounds_of(40); seed++) {
    uint64_t expected = digest_of_run(seed, 0, 0), in_child = 0;
    int pipes[2], status;
    assert_true(digest_of_run(seed, 1, 0) == expected);
    assert_true(digest_of_run(seed, 1, TOFT_REGION_COMPARES) == expected);
    assert_true(digest_of_run(seed + 1000, 0, 0) != expected);
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
      free(malloc(77777));
      in_child = digest_of_run(seed, 1, 0);
      _exit(write(pipes[1], &in_child, sizeof in_child) != (ssize_t)sizeof in_child);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(pipes[0], &in_child, sizeof in_child) == (ssize_t)sizeof in_child && in_child == expected);
    (void)close(pipes[0]), (void)close(pipes[1]);
  }
}

/* One changed bit of live memory changes the digest, and the difference is at its word. */
static void one_bit_is_found(void **state) {
  enum { SIZE = 100003 };
  (void)state;
  toft_region *r = region_of(0);
  uint32_t random = 8;
  toft_malloc *heap = toft_region_malloc(r);
  unsigned char *parts[] = {(unsigned char *)toft_alloc(toft_region_arena(r), SIZE),
                            (unsigned char *)toft_malloc_calloc(heap, 1, SIZE),
                            (unsigned char *)toft_malloc_calloc(heap, 1, 40)};
  const size_t sizes[] = {SIZE, SIZE, 40};
  toft_checkpoint n;
  memset(parts[0], 3, SIZE);
  assert_int_equal(toft_region_checkpoint(r, &n), TOFT_OK);
  uint64_t before = digest_of(r, 0);
  for (size_t i = 0; i < rounds_of(1500); i++) {
    size_t k = next_random(&random) % 3, at = i % 3 == 0 ? sizes[k] - 1 : next_random(&random) % sizes[k],
           bit = next_random(&random) % 8;
    toft_region_difference d;
    parts[k][at] ^= (unsigned char)(1u << bit);
    uint64_t offset = (uint64_t)(parts[k] + at - (unsigned char *)r);
    assert_true(digest_of(r, 0) != before);
    if (i % 100 == 0) {
      assert_int_equal(toft_region_diff(r, n, r, 0, &d), 1);
      assert_true(d.offset <= offset && offset < d.offset + sizeof(void *));
      assert_true(d.words[0] != d.words[1] && d.objects[0] == d.objects[1] && d.objects[0] <= d.offset);
      assert_true(d.sizes[0] == d.sizes[1] && d.sizes[0] >= sizes[k]);
      assert_true(digest_of(r, n) == before);
    }
    parts[k][at] ^= (unsigned char)(1u << bit);
  }
  toft_region_difference d;
  assert_int_equal(toft_region_diff(r, n, r, 0, &d), 0);
  uint64_t *words = (uint64_t *)(void *)parts[0]; /* the highest bits of two words do not cancel each other */
  for (int high = 60; high < 64; high++)
    for (int bit = 0; bit < 64; bit++) {
      words[8] ^= (uint64_t)1 << high, words[9] ^= (uint64_t)1 << bit;
      assert_true(digest_of(r, 0) != before);
      words[8] ^= (uint64_t)1 << high, words[9] ^= (uint64_t)1 << bit;
    }
  toft_malloc_free(heap, parts[2]);
  assert_int_equal(toft_region_diff(r, n, r, 0, &d), 1);
  assert_true(d.sizes[0] >= 40 && d.sizes[1] == 0 && d.offset == (uint64_t)(parts[2] - (unsigned char *)r));
  toft_region_release(r);
}

static void add_part(void *sum, const toft_digest_part *part) {
  static uint64_t last;
  uint64_t *all = (uint64_t *)sum;
  assert_true(all[1] == 0 || part->offset >= last);
  assert_true(part->object <= part->offset && part->offset + part->length <= part->object + part->size);
  last = part->offset + part->length;
  all[0] += part->digest;
  all[1]++;
}

static void parts_are_the_whole(void **state) {
  (void)state;
  toft_region *r = region_of(0);
  uint64_t all[2] = {0, 0}, root = digest_of(r, 0);
  uint32_t random = 4;
  make_content(r);
  for (int i = 0; i < 500; i++) change(r, &random);
  uint64_t whole = digest_of(r, 0);
  toft_region_set_root(r, NULL);
  assert_int_equal(toft_region_digest_parts(r, 0, add_part, all), TOFT_OK);
  assert_true(all[1] > 20 && digest_of(r, 0) == root + all[0] && digest_of(r, 0) != whole);
  toft_region_release(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(walks_are_equal_to_a_model),
      cmocka_unit_test(walks_go_on_in_a_child),
      cmocka_unit_test(restores_do_not_grow),
      cmocka_unit_test(trimmed_pages_come_back),
      cmocka_unit_test(cleanups_run_since_the_common_checkpoint),
      cmocka_unit_test(what_is_not_there_is_refused),
      cmocka_unit_test(equal_runs_have_equal_digests),
      cmocka_unit_test(one_bit_is_found),
      cmocka_unit_test(parts_are_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
