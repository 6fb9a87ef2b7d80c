/* Each request of memory is refused, of every call and every kind of object: nothing changes, and the call is done when
 * there is memory again.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#if !defined(TOFT_OMIT_CHECKS) && !defined(TOFT_OMIT_METERS) && !defined(TOFT_OMIT_PAGE_CACHE) && \
    !defined(TOFT_OMIT_POOLS) && !defined(TOFT_OMIT_RECYCLER) && !defined(TOFT_OMIT_THREADS)
#define REFUSING_HEAP
#endif
#include "refusing.h"

#include "foreign_arenas.h"

#define ROWS(table) table, sizeof table / sizeof *(table)

/* ---- calls of an arena ---- */

enum { LARGE = 5000 }; /* more than any block has left when a call begins */

static struct {
  unsigned char *kept, *object; /* allocations; NULL: none */
  size_t object_size;
  toft_range range;
  toft_pack pack;
  toft_mark mark;
  size_t turn;
  size_t adopted; /* bytes of arenas on other sources */
  int registered, cleaned;
} in; /* the arena */

static void clean(void *arg) {
  (void)arg;
  in.cleaned++;
}

/* Content of an allocation: of its beginning. */
static size_t part(size_t size) { return size < 4096 ? size : 4096; }

static void forget(toft_arena *a) {
  in.object = NULL;
  in.object_size = 0;
  in.pack = toft_pack_begin(a);
}

static void keep(toft_arena *a) {
  in.kept = (unsigned char *)toft_alloc(a, 100);
  fill(in.kept, 100, 1);
  in.mark = toft_mark_here(a);
  in.adopted = 0;
  forget(a);
}

static void *make_arena(toft_source *of) {
  toft_arena *a = arena_on(of);
  memset(&in, 0, sizeof in);
  keep(a);
  return a;
}

static uintptr_t at(const void *p) { return (uintptr_t)p; }

static void look_at_arena(void *of, uint64_t *seen) {
  toft_arena *a = (toft_arena *)of;
  toft_stats s = toft_get_stats(a);
  const uint64_t now[] = {at(a->cursor),  a->epoch,          s.live, s.allocated, s.blocks, at(in.range.cursor),
                          in.range.claim, at(in.pack.cursor)};
  memcpy(seen, now, sizeof now);
  assert_true(filled(in.kept, 100, 1) && filled(in.object, part(in.object_size), 2));
  assert_int_equal(s.reserved, taken.bytes + in.adopted);
}

static void release_arena(void *of) {
  toft_arena *a = (toft_arena *)of;
  if (in.range.claim != 0) assert_int_equal(toft_unclaim(a, &in.range), TOFT_OK);
  toft_release(a);
  assert_int_equal(in.cleaned, in.registered);
}

static const subject an_arena = {"arena", make_arena, look_at_arena, release_arena};

static int resize_to(toft_arena *a, size_t size) {
  void *p = toft_resize(a, in.object, in.object_size, size, 8);
  if (p == NULL) return TOFT_ENOMEM;
  assert_true(filled(p, part(in.object_size), 2));
  in.object = (unsigned char *)p;
  in.object_size = size;
  fill(p, part(size), 2);
  return TOFT_OK;
}

/* Few bytes are left in the block. */
static void fill_block(void *of) {
  toft_arena *a = (toft_arena *)of;
  while ((size_t)(a->limit - a->cursor) >= 16) assert_non_null(toft_alloc(a, 8));
}
static void add_object(void *of) { assert_int_equal(resize_to((toft_arena *)of, 3000), TOFT_OK); }
static void add_large_object(void *of) { assert_int_equal(resize_to((toft_arena *)of, 400000), TOFT_OK); }
static void claim(void *of) {
  assert_int_equal(toft_claim((toft_arena *)of, &in.range), TOFT_OK);
  assert_non_null(toft_range_alloc((toft_arena *)of, &in.range, 24));
}

static int call_alloc(void *a) { return done(toft_alloc((toft_arena *)a, LARGE)); }
static int call_aligned(void *a) { return done(toft_alloc_aligned((toft_arena *)a, LARGE, 4096)); }
static int call_zeroed(void *a) { return done(toft_alloc_zeroed((toft_arena *)a, 60000, 64)); }
static int call_dedicated(void *a) { return done(toft_alloc((toft_arena *)a, 400000)); }
static int call_resize(void *a) { return resize_to((toft_arena *)a, in.object_size % 500000 + 9000); }
static int call_resize_dedicated(void *a) { return resize_to((toft_arena *)a, in.object_size + 500000); }
static int call_strdup(void *a) { return done(toft_strdup((toft_arena *)a, "longer than what is left in the block")); }
static int call_printf(void *a) { return done(toft_printf((toft_arena *)a, "%05000d", 7)); }
static int call_pack(void *a) {
  (void)a;
  return done(toft_pack_alloc(&in.pack, 200));
}
static int call_cleanup(void *a) {
  int code = done(toft_cleanup_add((toft_arena *)a, clean, NULL));
  in.registered += code == TOFT_OK;
  return code;
}
static int call_free(void *a) {
  toft_free((toft_arena *)a, in.object, in.object_size);
  in.object = NULL;
  in.object_size = 0;
  return TOFT_OK;
}
static int call_range(void *a) { return done(toft_range_alloc((toft_arena *)a, &in.range, 70000)); }
static int call_reserve(void *a) { return toft_reserve((toft_arena *)a, 70000, 0); }

/* All of these, with rewinds, resets and trims between them. */
static int call_in_turn(void *of) {
  static int (*const calls[])(void *) = {call_alloc,   call_resize, call_free,      call_resize,
                                         call_aligned, call_zeroed, call_dedicated, call_cleanup,
                                         call_strdup,  call_printf, call_pack};
  toft_arena *a = (toft_arena *)of;
  int code = calls[in.turn % (sizeof calls / sizeof *calls)](a);
  if (code != TOFT_OK) return code;
  in.turn++;
  if (in.turn % 45 == 44) {
    assert_int_equal(toft_reset(a), TOFT_OK);
    toft_trim(a, in.turn * 1000);
    keep(a);
  } else if (in.turn % 18 == 17) {
    assert_int_equal(toft_rewind(a, in.mark), TOFT_OK);
    forget(a);
  }
  return TOFT_OK;
}

static void calls_of_an_arena(void **state) {
  static const refusal rows[] = {
      {"alloc", NULL, call_alloc, 2},           {"alloc_aligned", NULL, call_aligned, 2},
      {"alloc_zeroed", NULL, call_zeroed, 2},   {"alloc, dedicated", NULL, call_dedicated, 2},
      {"resize", add_object, call_resize, 2},   {"resize, dedicated", add_large_object, call_resize_dedicated, 2},
      {"strdup", fill_block, call_strdup, 1},   {"printf", NULL, call_printf, 2},
      {"pack_alloc", fill_block, call_pack, 9}, {"cleanup_add", fill_block, call_cleanup, 1},
      {"range_alloc", claim, call_range, 2},    {"alloc beside a range", claim, call_alloc, 2},
      {"reserve", NULL, call_reserve, 1},       {"all in turn", NULL, call_in_turn, 100},
  };
  (void)state;
  each_refusal(&an_arena, ROWS(rows));
}

/* ---- every kind of object ---- */

static const kind *it;
static const size_t sizes[] = {10, 3000, 24, 70000, 9000, 400000, 100, 5000, 300000, 40000, 1 << 20, 2000, 16};
enum { SIZES = sizeof sizes / sizeof *sizes };
static void *placed[SIZES];
static size_t placed_count;

/* Made by the first call. */
static struct {
  toft_source *source;
  void *made;
} of_kind;

static void *make_kind(toft_source *of) {
  placed_count = 0;
  of_kind.source = of;
  of_kind.made = NULL;
  return &of_kind;
}
static void look_at_kind(void *of, uint64_t *seen) {
  (void)of;
  int known = of_kind.made != NULL && it->reserved != NULL;
  if (of_kind.made == NULL || known) assert_int_equal(taken.bytes, known ? it->reserved(of_kind.made) : 0);
  seen[0] = of_kind.made != NULL ? it->live(of_kind.made) : 0;
  for (size_t i = 0; i < placed_count; i++) assert_true(filled(placed[i], part(sizes[i]), (unsigned)i));
}
static void release_kind(void *of) {
  (void)of;
  if (of_kind.made != NULL) it->release(of_kind.made);
}

/* Of each size, twice: the second time there is memory that the object keeps. */
static int call_next_size(void *of) {
  (void)of;
  if (of_kind.made == NULL) of_kind.made = it->create(of_kind.source);
  if (of_kind.made == NULL) return TOFT_ENOMEM;
  void *p = it->alloc(of_kind.made, sizes[placed_count]);
  if (p == NULL) return TOFT_ENOMEM;
  fill(p, part(sizes[placed_count]), (unsigned)placed_count);
  placed[placed_count++] = p;
  if (placed_count < SIZES) return TOFT_OK;
  size_t attempts = taken.attempts;
  it->empty(of_kind.made, placed, sizes, SIZES);
  assert_int_equal(taken.attempts, attempts);
  placed_count = 0;
  return TOFT_OK;
}

static void on_each_kind(const subject *s) {
  for (it = kinds; it < kinds + KINDS; it++) {
    const refusal row = {it->name, NULL, call_next_size, 2 * SIZES};
    each_refusal(s, &row, 1);
  }
}

#ifndef TOFT_OMIT_METERS
static toft_budget *root, *tenant;
static toft_limited_source limited;

static void *make_on_budget(toft_source *of) {
  toft_budget_options o = TOFT_BUDGET_OPTIONS;
  o.source = toft_limited_source_init(&limited, of, 64 << 20);
  root = toft_budget_create(&o);
  assert_int_equal(toft_budget_limit_live(root, 64 << 20), TOFT_OK);
  o.source = NULL;
  o.parent = root;
  tenant = toft_budget_create(&o);
  return make_kind(toft_budget_source(tenant));
}
static void look_at_budget(void *of, uint64_t *seen) {
  look_at_kind(of, seen);
  assert_int_equal(limited.used, taken.bytes);
  assert_int_equal(toft_budget_get_stats(root).reserved, taken.bytes);
  assert_int_equal(toft_budget_get_stats(tenant).reserved, taken.bytes);
}
static void release_with_budget(void *of) {
  release_kind(of);
  assert_int_equal(toft_budget_get_live_stats(root).live, 0);
  assert_int_equal(toft_budget_release(tenant), TOFT_OK); /* nothing is reserved */
  assert_int_equal(toft_budget_release(root), TOFT_OK);
}
#endif

static void each_kind(void **state) {
  static const subject a_kind = {"each kind", make_kind, look_at_kind, release_kind};
  (void)state;
  on_each_kind(&a_kind);
#ifndef TOFT_OMIT_METERS
  static const subject on_budget = {"on a budget", make_on_budget, look_at_budget, release_with_budget};
  on_each_kind(&on_budget);
#endif
}

/* ---- creations ---- */

static void *make_place(toft_source *of) { return of; }
static void look_at_place(void *of, uint64_t *seen) {
  (void)of;
  seen[0] = taken.bytes;
}
static void release_place(void *of) { (void)of; }

#ifndef TOFT_OMIT_POOLS
static int create_pool(void *of) {
  toft_pool p;
  toft_pool_options o = TOFT_POOL_OPTIONS;
  o.slot_size = 48;
  o.slots = 1000;
  o.flags = TOFT_POOL_FIXED;
  o.source = (toft_source *)of;
  int code = toft_pool_init(&p, &o);
  assert_true((toft_pool_insert(&p, NULL) != NULL) == (code == TOFT_OK));
  toft_pool_release(&p);
  return code;
}
#endif
#ifndef TOFT_OMIT_RECYCLER
static int create_counted(void *of) {
  toft_recycler r;
  toft_recycler_options o = TOFT_RECYCLER_OPTIONS;
  o.source = (toft_source *)of;
  o.count = 2000;
  o.block_size = 10000;
  int code = toft_recycler_init(&r, &o);
  if (code == TOFT_OK) toft_recycler_release(&r);
  return code;
}
#endif
static void creations(void **state) {
  static const subject a_place = {"creation", make_place, look_at_place, release_place};
  static const refusal rows[] = {
#ifndef TOFT_OMIT_POOLS
      {"fixed pool", NULL, create_pool, 2},
#endif
#ifndef TOFT_OMIT_RECYCLER
      {"recycler of counted blocks", NULL, create_counted, 2},
#endif
  };
  (void)state;
  each_refusal(&a_place, ROWS(rows));
}

#if defined(REFUSING_HEAP) && !defined(_WIN32)
/* ---- pools that grow ---- */

static toft_pool pool;
static toft_handle first; /* of the slot with 0 */

static void *make_pool(toft_source *of) {
  toft_pool_options o = TOFT_POOL_OPTIONS;
  (void)of;
  o.slot_size = 100;
  assert_int_equal(toft_pool_init(&pool, &o), TOFT_OK);
  *(uint32_t *)toft_pool_insert(&pool, &first) = 0;
  return &pool;
}
static void look_at_pool(void *of, uint64_t *seen) {
  uint32_t i = 0;
  (void)of;
  TOFT_POOL_EACH(w, &pool) assert_int_equal(*(uint32_t *)toft_pool_walk_slot(&w), i++);
  assert_int_equal(i, seen[0] = toft_pool_count(&pool));
  seen[1] = toft_pool_capacity(&pool);
}
static void release_pool(void *of) {
  (void)of;
  toft_pool_release(&pool);
}

/* Fills it up, if there is memory for one slot more. A full pool keeps its slots, and uses those that become free. One
 * refusal is followed by another try. */
static int call_insert(void *of) {
  toft_handle h = 7;
  uint32_t n = (uint32_t)toft_pool_count(&pool), *slot = (uint32_t *)toft_pool_insert(&pool, &h);
  (void)of;
  if (slot == NULL) {
    assert_true(requests.way != ONCE && h == 7 && n == toft_pool_capacity(&pool));
    assert_int_equal(toft_pool_reserve(&pool, n), TOFT_OK);
    assert_int_equal(toft_pool_reserve(&pool, n + 1), TOFT_ENOMEM);
    assert_int_equal(toft_pool_remove(&pool, first), TOFT_OK);
    *(uint32_t *)toft_pool_insert(&pool, &first) = 0;
    return TOFT_ENOMEM;
  }
  for (*slot = n; ++n < toft_pool_capacity(&pool);) *(uint32_t *)toft_pool_insert(&pool, NULL) = n;
  return TOFT_OK;
}

static void pools_that_grow(void **state) {
  static const subject a_pool = {"growing pool", make_pool, look_at_pool, release_pool};
  static const refusal row = {"insert", NULL, call_insert, 9};
  toft_pool_options o = TOFT_POOL_OPTIONS;
  (void)state;
  (void)toft_cache_limit(0); /* ranges that are kept need no memory */
  each_refusal(&a_pool, &row, 1);
  refuse(ABOVE_A_SIZE, 40 << 20); /* address space: for fewer slots, if max_slots is not given */
  o.slot_size = 64;
  assert_int_equal(toft_pool_init(&pool, &o), TOFT_OK);
  assert_true(pool.max > 100000 && pool.max < (40 << 20) / 64);
  assert_true(toft_pool_get_stats(&pool).reserved <= 40 << 20);
  for (uint32_t i = 0; i < 1000; i++) assert_non_null(toft_pool_insert(&pool, NULL));
  toft_pool_release(&pool);
  o.max_slots = 1000000;
  assert_int_equal(toft_pool_init(&pool, &o), TOFT_ENOMEM);
  o.max_slots = 0;
  o.slots = 1000000;
  assert_int_equal(toft_pool_init(&pool, &o), TOFT_ENOMEM);
  o.slots = 0;
  refuse(ABOVE_A_SIZE, 60000);
  assert_int_equal(toft_pool_init(&pool, &o), TOFT_ENOMEM);
  refuse(NOTHING, 0);
}
#endif

#ifdef REFUSING_HEAP
/* ---- meters and checks, whose own memory is the heap's ---- */

static const char *const tags[] = {"", "x", "x/y"}; /* each within the one before it */
static uint64_t expected[3];                        /* live bytes by tag */
static int tag;                                     /* the current one */

static int compare_tag(void *arg, const toft_tag_report *t) {
  for (int i = 0; i < 3; i++)
    if (strcmp(t->name, tags[i]) == 0) {
      assert_int_equal(t->live, expected[i]);
      *(uint64_t *)arg += t->live;
    }
  return 0;
}

static void look_at_meters(void *of, uint64_t *seen) {
  uint64_t live = 0;
  look_at_arena(of, seen);
  assert_int_equal(toft_tags((toft_arena *)of, compare_tag, &live), 0);
  assert_int_equal(live, seen[2]);
}

static void *make_metered(toft_source *of) {
  toft_arena *a = (toft_arena *)make_arena(of);
  memset(expected, 0, sizeof expected);
  tag = 0;
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  expected[0] = toft_get_stats(a).live;
  return a;
}

static int set_metered(void *a) { return toft_set_metered((toft_arena *)a, 1); }
static int set_tag(void *a) { return toft_set_tag((toft_arena *)a, 3, "z"); }
static int set_tag_budget(void *a) { return toft_set_tag_budget((toft_arena *)a, "x/y", 30000000); }
static int set_sampling(void *a) { return toft_set_sampling((toft_arena *)a, 512); }
static int set_checked(void *a) { return toft_set_checked((toft_arena *)a, 1); }

static int push_inner(void *a) {
  int code = toft_tag_push((toft_arena *)a, tag == 0 ? "x" : "y");
  if (code != TOFT_OK) toft_tag_pop((toft_arena *)a); /* of the one that failed */
  tag += code == TOFT_OK;
  return code;
}
static void sample(void *a) { assert_int_equal(set_sampling(a), TOFT_OK); }

static int take(toft_arena *a, size_t size) {
  int code = done(toft_alloc(a, size));
  if (code == TOFT_OK) expected[tag] += size;
  return code;
}

static int adopt(void *of) {
  toft_arena *donor = toft_create();
  int code = donor != NULL && toft_alloc(donor, 64) != NULL ? toft_adopt((toft_arena *)of, donor) : TOFT_ENOMEM;
  if (code == TOFT_OK) {
    expected[tag] += 64;
    in.adopted += (size_t)toft_get_stats(donor).reserved;
  } else {
    toft_release(donor);
  }
  return code;
}

/* Tags within tags, phases and samples, with a reset between them. */
static int tags_in_turn(void *of) {
  toft_arena *a = (toft_arena *)of;
  size_t step = in.turn % 8;
  int code = TOFT_OK;
  if (step < 2) code = push_inner(a);
  if (step == 2) code = take(a, 40);
  if (step == 3) code = take(a, 300000);
  if (step == 4) code = adopt(a);
  if (step == 5) {
    toft_phase p = toft_phase_begin(a, in.turn % 16 < 8 ? "even" : "odd");
    code = take(a, 3000);
    toft_phase_end(a, &p);
  }
  if (code != TOFT_OK) return code;
  if (step > 5) toft_tag_pop(a);
  if (step > 5) tag--;
  if (++in.turn % 160 != 0) return TOFT_OK;
  assert_int_equal(toft_reset(a), TOFT_OK);
  memset(expected, 0, sizeof expected);
  keep(a);
  expected[0] = toft_get_stats(a).live;
  return TOFT_OK;
}

static void none_found(void *arg, const toft_finding *f) {
  (void)arg;
  fail_msg("%s", f->message);
}

static void *make_checked(toft_source *of) {
  void *a = make_arena(of);
  assert_int_equal(set_checked(a), TOFT_OK);
  return a;
}
static void look_at_checks(void *of, uint64_t *seen) {
  look_at_arena(of, seen);
  assert_int_equal(toft_findings((toft_arena *)of, none_found, NULL), 0);
}

static void meters_and_checks(void **state) {
  static const subject metered = {"metered arena", make_metered, look_at_meters, release_arena};
  static const subject checked = {"checked arena", make_checked, look_at_checks, release_arena};
  static const refusal settings[] = {
      {"set_metered", NULL, set_metered, 1},       {"set_tag", NULL, set_tag, 1},
      {"set_tag_budget", NULL, set_tag_budget, 1}, {"set_sampling", NULL, set_sampling, 1},
      {"set_checked", NULL, set_checked, 1},
  };
  static const refusal of_meters[] = {
      {"set_tag_budget", NULL, set_tag_budget, 1},
      {"all in turn", sample, tags_in_turn, 320},
  };
  static const refusal of_checks = {"all in turn", NULL, call_in_turn, 80};
  (void)state;
  each_refusal(&an_arena, ROWS(settings));
  each_refusal(&metered, ROWS(of_meters));
  each_refusal(&checked, &of_checks, 1);
}

/* ---- an instrument, whose records are the heap's; the arena beneath has other memory, which is not refused ---- */

static void *make_foreign(toft_source *of) {
  toft_arena *a = mini_create();
  (void)of;
  memset(&in, 0, sizeof in);
  keep(a);
  return a;
}
static int put_on(void *a) { return toft_instrument_arena((toft_arena *)a, 1); }
static void *make_instrumented(toft_source *of) {
  void *a = make_foreign(of);
  assert_true(put_on(a) == TOFT_OK && set_checked(a) == TOFT_OK && set_metered(a) == TOFT_OK);
  keep((toft_arena *)a);
  return a;
}
static void look_at_foreign(void *of, uint64_t *seen) {
  toft_arena *a = (toft_arena *)of;
  const uint64_t now[] = {at(a->cursor), at(a->ops), a->epoch, toft_get_stats(a).live};
  memcpy(seen, now, sizeof now);
  assert_true(filled(in.kept, 100, 1) && filled(in.object, part(in.object_size), 2));
}
static void look_at_instrument(void *of, uint64_t *seen) {
  look_at_foreign(of, seen);
  assert_int_equal(toft_findings((toft_arena *)of, none_found, NULL), 0);
}

static void instruments(void **state) {
  static const subject plain = {"another provider's arena", make_foreign, look_at_foreign, release_arena};
  static const subject instrumented = {"instrument", make_instrumented, look_at_instrument, release_arena};
  static const refusal rows[] = {{"set_tag", NULL, set_tag, 1},
                                 {"set_tag_budget", NULL, set_tag_budget, 1},
                                 {"all in turn", sample, call_in_turn, 80}};
  static const refusal on = {"instrument_arena", NULL, put_on, 1};
  (void)state;
  each_refusal(&plain, &on, 1);
  each_refusal(&instrumented, ROWS(rows));
}

static toft_arena *looked_at;
static size_t looks, open_looks;
static void look_for_room(void) {
  looks++;
  open_looks += looked_at->cursor != looked_at->limit;
}

/* Another thread's inline path must find none, or it is served where its call would be refused. */
static void a_checked_arena_stays_sealed_in_a_call(void **state) {
  (void)state;
  looked_at = toft_create();
  assert_int_equal(toft_set_checked(looked_at, 1), TOFT_OK);
  requests.looking = look_for_room;
  for (size_t i = 0; i < 60; i++)
    assert_non_null(toft_alloc(looked_at, 16)); /* within the initial block: recorded after the allocation */
  requests.looking = NULL;
  assert_true(looks >= 4);
  assert_int_equal(open_looks, 0);
  toft_release(looked_at);
}

static void a_metered_allocation_requires_no_memory(void **state) {
  static char memory[8192];
  (void)state;
  toft_arena *a = toft_create_in(memory, sizeof memory, NULL);
  assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  assert_int_equal(toft_set_sampling(a, 64), TOFT_OK); /* so that the table is called */
  refuse(FROM_THEN_ON, 1);
  for (int i = 0; i < 20; i++) assert_non_null(toft_alloc(a, 100));
  refuse(NOTHING, 0);
  toft_release(a);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_of_an_arena),
      cmocka_unit_test(each_kind),
      cmocka_unit_test(creations),
#ifdef REFUSING_HEAP
      cmocka_unit_test(meters_and_checks),
      cmocka_unit_test(instruments),
      cmocka_unit_test(a_checked_arena_stays_sealed_in_a_call),
      cmocka_unit_test(a_metered_allocation_requires_no_memory),
#ifndef _WIN32
      cmocka_unit_test(pools_that_grow),
#endif
#endif
  };
  return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
