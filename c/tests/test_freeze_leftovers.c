/* Freezing random content: memory that the builder released, and bytes that were never written, are zeros in the file.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "frozen_content.h"

#define ITEMS 200
#define STEPS 800
#define RELEASED 0xee /* in all bytes that are released */

enum { OF_ARENA, OF_RECYCLER, OF_MALLOC, KINDS, OWNERS = 3 };

/* An object of the content: its bytes up to `size` are written, those from there to `capacity` are not. */
typedef struct item {
  unsigned char *self;
  size_t size, capacity;
  uint32_t seed;
} item;

typedef struct root {
  item *items[ITEMS];
  size_t count;
} root;

/* The builder's own record of items[i]. */
typedef struct owner {
  int kind, number;
  size_t align;
} owner;

typedef struct builder {
  toft_region *r;
  toft_arena *arenas[OWNERS];
  toft_recycler *recyclers[OWNERS];
  toft_malloc *mallocs[OWNERS];
  root *root;
  owner owners[ITEMS];
  uint32_t random;
} builder;

static uint32_t draw(builder *b, uint32_t below) { return next_random(&b->random) % below; }

static size_t draw_size(builder *b) { return draw(b, draw(b, 24) == 0 ? 40000 : draw(b, 3) == 0 ? 5000 : 200); }

static size_t draw_align(builder *b) { return (size_t)8 << draw(b, draw(b, 8) == 0 ? 11 : 4); }

static unsigned char byte_of(uint32_t seed, size_t i) { return (unsigned char)((seed + i) % 100 + 1); }

static void write_item(item *t, size_t size, size_t capacity, uint32_t seed) {
  t->self = (unsigned char *)t;
  t->size = size;
  t->capacity = capacity;
  t->seed = seed;
  for (size_t i = sizeof *t; i < size; i++) t->self[i] = byte_of(seed, i);
}

/* Writes an object that is released then. */
static void *spoil(void *p, size_t size) {
  assert_non_null(p);
  memset(p, RELEASED, size);
  return p;
}

/* ---- items ---- */

static void *allocate(builder *b, const owner *o, size_t size) {
  if (o->kind == OF_ARENA) return toft_alloc_aligned(b->arenas[o->number], size, o->align);
  if (o->kind == OF_RECYCLER) return toft_recycler_alloc(b->recyclers[o->number], size, o->align);
  return o->align <= 16 ? toft_malloc_alloc(b->mallocs[o->number], size)
                        : toft_malloc_aligned(b->mallocs[o->number], o->align, size);
}

static void add_item(builder *b) {
  root *all = b->root;
  if (all->count == ITEMS) return;
  owner o = {(int)draw(b, KINDS), (int)draw(b, OWNERS), draw_align(b)};
  size_t size = sizeof(item) + draw_size(b), capacity = size + draw(b, draw(b, 4) == 0 ? 4000 : 40);
  item *t = (item *)allocate(b, &o, capacity);
  assert_non_null(t);
  write_item(t, size, capacity, next_random(&b->random));
  all->items[all->count] = t;
  b->owners[all->count++] = o;
}

static void remove_item(builder *b, size_t i) {
  root *all = b->root;
  all->items[i] = all->items[--all->count];
  all->items[all->count] = NULL;
  b->owners[i] = b->owners[all->count];
}

static void free_item(builder *b, size_t i) {
  owner o = b->owners[i];
  size_t size = b->root->items[i]->capacity;
  void *p = spoil(b->root->items[i], size);
  remove_item(b, i);
  if (o.kind == OF_ARENA) toft_free(b->arenas[o.number], p, size);
  if (o.kind == OF_RECYCLER) toft_recycler_free(b->recyclers[o.number], p, size);
  if (o.kind == OF_MALLOC) toft_malloc_free(b->mallocs[o.number], p);
}

static void resize_item(builder *b, size_t i) {
  owner *o = &b->owners[i];
  item *t = b->root->items[i];
  size_t size = sizeof *t + draw_size(b), had = t->capacity, capacity = size + draw(b, 100);
  uint32_t seed = t->seed;
  if (capacity < had) spoil(t->self + capacity, had - capacity);
  void *p = o->kind == OF_ARENA      ? toft_resize(b->arenas[o->number], t, had, capacity, o->align)
            : o->kind == OF_RECYCLER ? toft_recycler_resize(b->recyclers[o->number], t, had, capacity, o->align)
                                     : toft_malloc_realloc(b->mallocs[o->number], t, capacity);
  assert_non_null(p);
  if (o->kind == OF_MALLOC) o->align = 8;
  t = b->root->items[i] = (item *)p;
  if (size < t->size && t->size < capacity) memset((unsigned char *)p + size, 0, t->size - size);
  if (size < t->size && t->size >= capacity) memset((unsigned char *)p + size, 0, capacity - size);
  write_item(t, size, capacity, seed);
}

/* ---- memory that is released ---- */

static void reset_arena(builder *b, int number) {
  for (size_t i = b->root->count; i-- > 0;) {
    if (b->owners[i].kind != OF_ARENA || b->owners[i].number != number) continue;
    spoil(b->root->items[i], b->root->items[i]->capacity);
    remove_item(b, i);
  }
  assert_int_equal(toft_reset_keep(b->arenas[number], draw(b, 3), draw(b, 100000)), TOFT_OK);
}

static void fill_and_rewind(builder *b, toft_arena *a) {
  toft_mark start = toft_mark_here(a);
  for (uint32_t n = draw(b, 40); n > 0; n--) {
    size_t size = draw_size(b);
    spoil(toft_alloc(a, size), size);
  }
  if (draw(b, 4) == 0) {
    toft_arena *donor = toft_region_arena(b->r);
    spoil(toft_alloc(donor, 10000), 10000);
    assert_int_equal(toft_adopt(a, donor), TOFT_OK);
  }
  assert_int_equal(toft_rewind(a, start), TOFT_OK);
}

/* The holder of a range writes all of it, and keeps nothing, or a text. */
static void claim_and_return(builder *b, toft_arena *a) {
  toft_range range;
  assert_int_equal(toft_claim(a, &range), TOFT_OK);
  for (uint32_t n = draw(b, 30); n > 0; n--) {
    char *text = (char *)toft_range_bytes(a, &range, 1 + draw(b, 300));
    assert_non_null(text);
    memset(text, 0, (size_t)((char *)range.cursor - text));
    spoil(range.cursor, (size_t)(range.limit - range.cursor));
  }
  size_t size = draw_size(b);
  toft_free(a, spoil(toft_alloc(a, size), size), size); /* from another block */
  assert_int_equal(toft_unclaim(a, &range), TOFT_OK);
}

static void use_and_release(builder *b) {
  toft_malloc *m = toft_region_malloc(b->r);
  toft_arena *a = toft_region_arena(b->r);
  toft_source *source = toft_region_source(b->r);
  size_t block = (size_t)4096 << draw(b, 6);
  for (uint32_t n = draw(b, 100); n > 0; n--) {
    size_t size = draw_size(b);
    void *p = spoil(toft_malloc_alloc(m, size), size);
    if (draw(b, 2) == 0) toft_malloc_free(m, p);
    spoil(toft_alloc(a, size / 4), size / 4);
  }
  source->put(source, spoil(source->take(source, block), block), block);
  if (draw(b, 2) == 0) toft_malloc_trim(m, 0);
  toft_malloc_release(m);
  toft_release(a);
}

/* Objects that a restore takes back. */
static void use_and_restore(builder *b) {
  assert_int_equal(toft_region_checkpoint(b->r, NULL), TOFT_OK);
  for (uint32_t n = draw(b, 20); n > 0; n--) {
    size_t size = draw_size(b);
    int number = (int)draw(b, OWNERS);
    spoil(toft_malloc_alloc(b->mallocs[number], size), size);
    spoil(toft_alloc(b->arenas[number], size), size);
  }
  assert_int_equal(toft_region_restore(b->r, 0), TOFT_OK);
  assert_int_equal(toft_region_drop_checkpoint(b->r, 0), TOFT_OK);
}

static void trim(builder *b) {
  int number = (int)draw(b, OWNERS);
  toft_trim(b->arenas[number], 0);
  toft_recycler_trim(b->recyclers[number], 0);
  toft_malloc_trim(b->mallocs[number], 0);
  toft_region_trim(b->r);
}

/* ---- the content ---- */

static void step(builder *b) {
  uint32_t op = draw(b, 1000);
  int number = (int)draw(b, OWNERS);
  size_t i = b->root->count != 0 ? draw(b, (uint32_t)b->root->count) : ITEMS;
  if (op < 400)
    add_item(b);
  else if (op < 650 && i != ITEMS)
    free_item(b, i);
  else if (op < 850 && i != ITEMS)
    resize_item(b, i);
  else if (op < 900)
    fill_and_rewind(b, b->arenas[number]);
  else if (op < 940)
    claim_and_return(b, b->arenas[number]);
  else if (op < 960)
    trim(b);
  else if (op < 980)
    use_and_release(b);
  else if (op < 990)
    reset_arena(b, number);
  else if (op < 994)
    use_and_restore(b);
}

typedef struct request {
  uint32_t seed;
  size_t count; /* of items, set by the builder */
} request;

static void *build_random(toft_region *r, void *argument) {
  request *q = (request *)argument;
  builder b = {r, {NULL}, {NULL}, {NULL}, NULL, {{0, 0, 0}}, q->seed};
  for (int i = 0; i < OWNERS; i++) {
    b.arenas[i] = toft_region_arena(r);
    b.recyclers[i] = toft_region_recycler(r);
    b.mallocs[i] = toft_region_malloc(r);
  }
  b.root = (root *)toft_malloc_calloc(b.mallocs[0], 1, sizeof *b.root);
  assert_non_null(b.root);
  for (int n = 0; n < STEPS; n++) step(&b);
  q->count = b.root->count;
  return b.root;
}

/* Compares an item, and clears it. */
static void check_and_clear(item *t) {
  size_t size = t->size, capacity = t->capacity, i = sizeof *t;
  unsigned char *p = (unsigned char *)t;
  assert_ptr_equal(t->self, t);
  assert_true(size <= capacity);
  while (i < size && p[i] == byte_of(t->seed, i)) i++;
  while (i >= size && i < capacity && p[i] == 0) i++;
  if (i != capacity) fail_msg("byte %zu of an item of %zu is %u", i, size, p[i]);
  memset(p, 0, capacity);
}

/* Clears the content in a copy of the file; then it has zeros only, and links of free objects. */
static void check_file(toft_frozen *f, size_t count) {
  root *found = (root *)f->root;
  unsigned char *p = (unsigned char *)f->memory;
  assert_int_equal(found->count, count);
  for (size_t i = 0; i < count; i++) check_and_clear(found->items[i]);
  memset(found, 0, sizeof *found);
  for (size_t at = START; at < f->size; at += WIDTH) {
    size_t word = at / WIDTH;
    uintptr_t value;
    uint64_t set;
    memcpy(&value, p + at, WIDTH);
    memcpy(&set, p + f->size + word / 64 * 8, 8);
    if (value != 0 && (set >> word % 64 & 1) == 0) fail_msg("the word at %zu is %zx", at, (size_t)value);
  }
}

/* Bytes of an item may look like an address. */
static int accept_equal_words(void *argument, const toft_freeze_fault *f) {
  return f->words[0] == f->words[1] ? 1 : print(argument, f);
}

static void released_memory_is_zero(void **state) {
  (void)state;
  size_t seeds = long_run() ? 200 : rounds_of(50);
  for (uint32_t seed = 1; seed <= seeds; seed++) {
    request q = {seed * 2654435769u, 0};
    toft_freeze_options o = TOFT_FREEZE_OPTIONS;
    o.report = accept_equal_words;
    o.max = (size_t)64 << 20;
    assert_int_equal(toft_freeze(build_random, &q, path, &o), TOFT_OK);
    for (uint32_t flags = 0; flags <= TOFT_FROZEN_ELSEWHERE; flags += TOFT_FROZEN_ELSEWHERE) {
      toft_frozen f = open_with(flags | TOFT_FROZEN_WRITABLE | TOFT_FROZEN_VERIFY);
      check_file(&f, q.count);
      toft_frozen_close(&f);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(released_memory_is_zero)};
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
