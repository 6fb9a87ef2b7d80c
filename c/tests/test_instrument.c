/* Instruments before arenas of other providers: the same answers as without one, bytes by tag, budgets, and each misuse
 * that a checked arena of the library detects.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "foreign_arenas.h"
#include "support.h"
#include "table_beneath.h"
#include "threads.h"

typedef struct provider {
  const char *name;
  toft_arena *(*create)(void);
  int has_claims, has_budgets;
} provider;

static const provider providers[] = {{"mini", mini_create, 0, 0}, {"copy", copy_create, 1, 1}};
#define EACH_PROVIDER(p) for (const provider *p = providers; p < providers + 2; p++)

static toft_arena *create_with(const provider *p, int checked, int metered) {
  toft_arena *a = p->create();
  assert_non_null(a);
  assert_int_equal(toft_instrument_arena(a, 1), TOFT_OK);
  assert_int_equal(toft_set_checked(a, checked), TOFT_OK);
  if (metered) assert_int_equal(toft_set_metered(a, 1), TOFT_OK);
  return a;
}

/* ---- findings ---- */

static int found[TOFT_FOUND_OUTSIDE + 1];
static char message[2048];

static void note(void *arg, const toft_finding *f) {
  (void)arg;
  found[f->kind]++;
  strncpy(message, f->message, sizeof message - 1);
}

/* Fails unless the findings since the last call are one of that kind; 0: none. */
static void assert_found(int kind) {
  for (int k = 1; k <= TOFT_FOUND_OUTSIDE; k++)
    if (found[k] != (k == kind)) fail_msg("%d findings of kind %d, not one of %d: %s", found[k], k, kind, message);
  memset(found, 0, sizeof found);
}

#ifndef HAS_ASAN /* which reports the writes themselves */
/* Volatile: for the compiler the bytes are no object. */
static void write_at(void *p, ptrdiff_t at) { ((volatile unsigned char *)p)[at] = 0x55; }

static void test_writes_out_of_bounds(void **state) {
  (void)state;
  EACH_PROVIDER(p) {
    toft_arena *a = create_with(p, 1, 0);
    void *q = toft_alloc(a, 13);
    write_at(q, 13); /* a byte of the rounding */
    toft_free(a, q, 13);
    assert_found(TOFT_FOUND_OVERRUN);
    q = toft_alloc(a, 40);
    write_at(q, -1);
    q = toft_resize(a, q, 40, 100, 8);
    assert_non_null(q);
    assert_found(TOFT_FOUND_UNDERRUN);
    toft_mark m = toft_mark_here(a);
    q = toft_alloc(a, 300000); /* in a block of its own */
    write_at(q, 300000 + 15);
    assert_int_equal(toft_rewind(a, m), TOFT_ECORRUPT);
    assert_found(TOFT_FOUND_OVERRUN);
    q = toft_alloc_aligned(a, 10, 4096);
    write_at(q, 10);
    assert_int_equal(toft_findings(a, note, NULL) >= 1, 1);
    memset(found, 0, sizeof found);
    assert_int_equal(toft_reset(a), TOFT_OK); /* reported before */
    assert_found(0);
    write_at(toft_alloc(a, 8), 8);
    toft_release(a);
    assert_found(TOFT_FOUND_OVERRUN);
  }
}

static void test_from_the_start(void **state) {
  (void)state;
  uint64_t checked = 0;
  mini_instruments = 1;
  toft_arena *a = mini_create(), *own = toft_create();
  mini_instruments = 0;
  assert_int_equal(toft_info_of(own)->query(own, TOFT_SET_CHECKED, &checked), TOFT_OK); /* by the environment */
  write_at(toft_alloc(a, 13), 13);
  assert_int_equal(toft_reset(a), checked ? TOFT_ECORRUPT : TOFT_OK);
  assert_found(checked ? TOFT_FOUND_OVERRUN : 0);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
  toft_release(a);
  toft_release(own);
}

static void test_late_writes(void **state) {
  (void)state;
  EACH_PROVIDER(p) {
    toft_arena *a = create_with(p, 1, 0);
    void *q = toft_alloc(a, 50);
    assert_non_null(toft_alloc(a, 50));
    toft_free(a, q, 50);
    write_at(q, 3);
    assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
    assert_found(TOFT_FOUND_LATE_WRITE);
    q = toft_alloc(a, 60);
    assert_int_equal(toft_reset(a), TOFT_OK);
    write_at(q, 5);
    assert_non_null(toft_alloc(a, 60)); /* in the same place */
    assert_found(TOFT_FOUND_LATE_WRITE);
    toft_mark m = toft_mark_here(a);
    q = toft_alloc(a, 60);
    void *r = toft_alloc(a, 60);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    write_at(r, 0);
    write_at(q, 59);
    assert_non_null(toft_alloc(a, 60)); /* in the place of the first */
    assert_found(TOFT_FOUND_LATE_WRITE);
    assert_int_equal(toft_reset(a), TOFT_ECORRUPT);
    assert_found(TOFT_FOUND_LATE_WRITE);
    q = toft_alloc(a, 60);
    assert_int_equal(toft_reset(a), TOFT_OK);
    write_at(q, 0);
    toft_release(a);
    assert_found(TOFT_FOUND_LATE_WRITE);
  }
}
#endif

static void test_wrong_frees(void **state) {
  (void)state;
  EACH_PROVIDER(p) {
    int outside;
    toft_arena *a = p->create();
    void *before = toft_alloc(a, 32);
    assert_int_equal(toft_instrument_arena(a, 1), TOFT_OK);
    assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
    void *q = toft_alloc(a, 40);
    toft_free(a, q, 32);
    assert_found(TOFT_FOUND_WRONG_SIZE);
    toft_free(a, (char *)q + 8, 32);
    assert_found(TOFT_FOUND_FOREIGN);
    toft_free(a, q, 40);
    assert_found(0);
    toft_free(a, q, 40);
    assert_found(TOFT_FOUND_DOUBLE_FREE);
    assert_null(toft_resize(a, q, 40, 50, 8));
    assert_found(TOFT_FOUND_DOUBLE_FREE);
    assert_int_equal(toft_set_checked(a, 0), TOFT_OK);
    assert_int_equal(toft_set_checked(a, 1), TOFT_OK);
    if (p->has_claims) { /* it answers toft_contains */
      toft_free(a, &outside, 4);
      assert_found(TOFT_FOUND_FOREIGN);
      toft_free(a, before, 32); /* it is older than the checks */
      before = toft_resize(a, before, 32, 64, 8);
      assert_non_null(before);
    }
    assert_found(0);
    assert_int_equal(toft_reset(a), TOFT_OK);
    toft_free(a, &outside, 4);
    assert_found(TOFT_FOUND_FOREIGN);
    toft_release(a);
    assert_found(0);
  }
}

static void test_stale_marks(void **state) {
  (void)state;
  EACH_PROVIDER(p) {
    toft_arena *a = create_with(p, 1, 0);
    toft_mark m = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 64));
    toft_mark inner = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 16));
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_non_null(toft_alloc(a, 64));
    assert_non_null(toft_alloc(a, 64)); /* the mark is plausible again */
    assert_int_equal(toft_rewind(a, inner), TOFT_EMARK);
    assert_found(TOFT_FOUND_STALE_MARK);
    inner = toft_mark_here(a);
    assert_non_null(toft_alloc(a, 300000)); /* does not move the cursor */
    toft_mark above = toft_mark_here(a);
    assert_int_equal(toft_rewind(a, inner), TOFT_OK);
    assert_int_equal(toft_rewind(a, above), TOFT_EMARK);
    assert_found(TOFT_FOUND_STALE_MARK);
    assert_int_equal(toft_rewind(a, inner), TOFT_OK);
    assert_int_equal(toft_reset(a), TOFT_OK);
    assert_int_equal(toft_rewind(a, inner), TOFT_EMARK);
    assert_found(TOFT_FOUND_STALE_MARK);
    m = toft_mark_here(a);
    if (p->has_claims) {
      toft_range r = {NULL, NULL, 0};
      assert_non_null(a->ops->claim(a, &r, 10, 1));
      toft_mark inside = toft_mark_here(a);
      assert_non_null(a->ops->claim(a, &r, 10, 1));
      assert_int_equal(a->ops->give(a, &r), TOFT_OK);
      assert_int_equal(toft_rewind(a, inside), TOFT_EMARK);
      assert_found(TOFT_FOUND_STALE_MARK);
    }
    assert_int_equal(toft_set_checked(a, 0), TOFT_OK);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    toft_release(a);
    assert_found(0);
  }
}

static void *alloc_elsewhere(void *arg) { return toft_alloc((toft_arena *)arg, 8); }

static void test_threads_and_release(void **state) {
  (void)state;
  EACH_PROVIDER(p) {
    toft_arena *a = create_with(p, 1, 0);
    assert_int_equal(toft_pin(a, 1), TOFT_OK);
    assert_int_equal(in_thread(alloc_elsewhere, a), 0);
    assert_found(TOFT_FOUND_WRONG_THREAD);
    assert_int_equal(toft_pin(a, 0), TOFT_OK);
    assert_int_not_equal(in_thread(alloc_elsewhere, a), 0);
    if (p->has_claims) {
      toft_range r = {NULL, NULL, 0};
      assert_non_null(a->ops->claim(a, &r, 10, 1));
      assert_ptr_equal(r.cursor, r.limit);
      toft_release(a);
      assert_found(TOFT_FOUND_NOT_RELEASED);
      assert_int_equal(toft_instrument_arena(a, 0), TOFT_EBUSY);
      assert_int_equal(a->ops->give(a, &r), TOFT_OK);
    }
    toft_release(a);
    assert_found(0);
  }
}

/* ---- meters ---- */

typedef struct sum {
  uint64_t live, of_tag;
  const char *tag;
} sum;

static int add_tag(void *arg, const toft_tag_report *t) {
  sum *s = (sum *)arg;
  s->live += t->live;
  if (strcmp(t->name, s->tag) == 0) s->of_tag = t->live;
  return 0;
}

static uint64_t live_of_tag(toft_arena *a, const char *tag) {
  sum s = {0, 0, tag};
  assert_int_equal(toft_tags(a, add_tag, &s), 0);
  assert_int_equal(s.live, toft_get_stats(a).live);
  return s.of_tag;
}

static void test_tags(void **state) {
  (void)state;
  for (int checked = 0; checked < 2; checked++) EACH_PROVIDER(p) {
      toft_arena *a = create_with(p, checked, 1);
      assert_non_null(toft_alloc_aligned(a, 16, 16)); /* the zones of checks are aligned */
      uint64_t before = toft_get_stats(a).live;
      assert_non_null(toft_alloc(a, 112));
      uint64_t one = toft_get_stats(a).live - before; /* with what checks or a sanitizer add */
      assert_int_equal(toft_tag_push(a, "level"), TOFT_OK);
      toft_mark m = toft_mark_here(a);
      assert_non_null(toft_alloc(a, 112));
      assert_int_equal(toft_tag_push(a, "sound"), TOFT_OK);
      void *large = toft_alloc(a, 500000);
      assert_non_null(large);
      toft_tag_pop(a);
      assert_int_equal(live_of_tag(a, "level"), one);
      assert_true(live_of_tag(a, "level/sound") >= 500000);
      toft_tag_pop(a);
      assert_non_null(toft_alloc(a, 100));
      large = toft_resize(a, large, 500000, 1000000, 8); /* under another tag; the old block goes */
      assert_non_null(large);
      if (p->has_claims && !checked) { /* checks keep a block that is freed */
        assert_int_equal(live_of_tag(a, "level/sound"), 0);
        assert_int_equal(live_of_tag(a, "level"), one);
        uint64_t all = live_of_tag(a, "");
        toft_free(a, large, 1000000); /* its block goes */
        assert_int_equal(live_of_tag(a, ""), all - 1000000);
      }
      assert_int_equal(toft_rewind(a, m), TOFT_OK);
      assert_int_equal(live_of_tag(a, "level"), 0);
      assert_int_equal(live_of_tag(a, "level/sound"), 0);
      assert_int_equal(live_of_tag(a, ""), before + one);
      char text[4096];
      assert_true(toft_snapshot_text(a, NULL, text, sizeof text) < sizeof text);
      assert_non_null(strstr(text, "\"level/sound\""));
      assert_int_equal(toft_reset(a), TOFT_OK);
      assert_int_equal(live_of_tag(a, ""), 0);
      toft_release(a);
    }
}

static uint64_t raise_budget(void *arg, toft_arena *a, uint64_t live, uint64_t budget, size_t size) {
  (void)live, (void)size;
  assert_null(toft_alloc(a, 8)); /* a callback runs */
  assert_ptr_equal(a, *(toft_arena **)arg);
  return budget + 1000;
}
static void count_call(void *arg, toft_arena *a, uint64_t live, uint64_t budget) {
  (void)a;
  assert_true(live > budget);
  ++*(int *)arg;
}

static void test_budgets(void **state) {
  (void)state;
  EACH_PROVIDER(p) {
    int calls = 0;
    toft_arena *a = create_with(p, 0, 1);
    uint64_t live = toft_get_stats(a).live;
    assert_int_equal(toft_set_budget(a, live + 4000), TOFT_OK);
    assert_int_equal(toft_get_stats(a).budget, live + 4000);
    toft_mark m = toft_mark_here(a);
    while (toft_alloc(a, 64) != NULL) continue;
    live = toft_get_stats(a).live;
    assert_true(live <= toft_get_stats(a).budget);
    assert_null(toft_alloc(a, 100));
    assert_null(toft_alloc(a, 1000000));
    assert_int_equal(toft_get_stats(a).live, live);
    if (!p->has_budgets) { /* it is the instrument's */
      assert_int_equal(toft_on_refusal(a, raise_budget, &a), TOFT_OK);
      assert_non_null(toft_alloc(a, 100));
      assert_true(toft_get_stats(a).budget > live);
      assert_int_equal(toft_on_refusal(a, NULL, NULL), TOFT_OK);
    }
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
    while ((size_t)(a->limit - a->cursor) >= 2048) assert_non_null(toft_alloc(a, 8));
    assert_int_equal(toft_set_budget(a, toft_get_stats(a).live + 500), TOFT_OK);
    void *aligned = toft_alloc_aligned(a, 30, 2048); /* exceeds it by its padding in a new block of pages */
    assert_true(aligned == NULL || p->has_budgets);
    assert_true(toft_get_stats(a).live <= toft_get_stats(a).budget);
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
    char *text = (char *)toft_alloc(a, 8);
    memcpy(text, "content", 8);
    while ((uintptr_t)a->cursor % 512 != 64) assert_non_null(toft_alloc(a, 8));
    live = toft_get_stats(a).live;
    assert_int_equal(toft_set_budget(a, live + 300), TOFT_OK);
    assert_null(toft_resize(a, text, 8, 16, 512)); /* by its padding */
    assert_int_equal(toft_get_stats(a).live, live);
    assert_string_equal(text, "content");
    assert_int_equal(toft_rewind(a, m), TOFT_OK);
    assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
    assert_int_equal(toft_set_tag_budget(a, "few", 500), TOFT_OK);
    assert_int_equal(toft_set_soft_budget(a, toft_get_stats(a).live + 600, count_call, &calls), TOFT_OK);
    assert_int_equal(toft_tag_push(a, "few"), TOFT_OK);
    assert_non_null(toft_alloc(a, 400));
    assert_null(toft_alloc(a, 200));
    toft_tag_pop(a);
    assert_int_equal(calls, 0);
    assert_non_null(toft_alloc(a, 300));
    assert_int_equal(calls, 1);
    assert_int_equal(toft_reset(a), TOFT_OK);
    assert_non_null(toft_alloc(a, 100000));
    assert_int_equal(calls, 2); /* once a round */
    toft_release(a);
  }
}

/* ---- on and off ---- */

/* Through an instrument of another library above one of this. */
static void use_two_instruments(const provider *p, toft_arena *a) {
  toft_mark m = toft_mark_here(a);
  uint64_t budget = 0;
  void *object = toft_alloc(a, 40);
  assert_true(toft_contains(a, object) == (p->has_claims ? 1 : TOFT_ENOSYS));
  assert_int_equal(toft_set_budget(a, 1000000), TOFT_OK);
  if (p->has_budgets) assert_int_equal(toft_info_of(a)->query(a, TOFT_SET_BUDGET, &budget), TOFT_OK);
  assert_int_equal(budget, p->has_budgets ? 1000000 : 0);
  assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
  assert_int_equal(toft_set_checked(a, 1), TOFT_OK); /* by the one above */
  toft_free(a, object, 40);                          /* is older than the checks */
  assert_int_equal(copy_found(a), 0);
  object = toft_alloc(a, 100);
  toft_free(a, object, 99);
  assert_int_equal(copy_found(a), 1);
  assert_int_equal(toft_set_checked(a, 0), TOFT_OK);
  assert_int_equal(toft_rewind(a, m), TOFT_OK);
}

static void test_on_and_off(void **state) {
  (void)state;
  EACH_PROVIDER(p) {
    toft_arena *a = p->create();
    const toft_arena_ops *ops = a->ops;
    assert_int_equal(toft_instrument_arena(a, 0), TOFT_OK); /* there is none */
    assert_int_equal(toft_instrument_arena(a, 1), TOFT_OK);
    assert_int_equal(toft_instrument_arena(a, 1), TOFT_OK);
    assert_int_equal(toft_set_checked(a, 0), TOFT_OK); /* a checked process has set it */
    assert_ptr_not_equal(a->ops, ops);
    assert_ptr_equal(((const toft_info_ops *)(const void *)a->ops)->under, ops);
    assert_true((toft_info_of(a) != NULL) == (p->has_budgets));
    assert_int_equal(copy_instrument(a, 1), TOFT_OK);          /* another library's, before ours */
    assert_int_equal(toft_instrument_arena(a, 0), TOFT_EBUSY); /* it is beneath */
    use_two_instruments(p, a);
    assert_int_equal(copy_instrument(a, 0), TOFT_OK);
    assert_int_equal(toft_instrument_arena(a, 0), TOFT_OK);
    assert_ptr_equal(a->ops, ops);
    toft_release(a);
  }
  toft_arena *own = toft_create();
  const toft_arena_ops *ops = own->ops;
  assert_int_equal(toft_instrument_arena(own, 1), TOFT_OK);
  assert_ptr_equal(own->ops, ops);
  toft_release(own);
}

/* ---- streams: an arena with an instrument beside one without ---- */

enum { OBJECTS = 400, MARKS = 20, STEPS = 600 };

typedef struct object {
  unsigned char *p[2];
  size_t size, align;
  unsigned seed;
  int step;
} object;

static uint32_t seed;
static uint32_t below(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)seed * n) >> 32);
}

static size_t any_size(void) {
  uint32_t k = below(100);
  return k < 3 ? 0 : k < 80 ? 1 + below(200) : k < 95 ? 1 + below(4000) : k < 99 ? 1 + below(40000) : 1 + below(700000);
}

static void fill_both(object *o) {
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < o->size; i++) o->p[k][i] = (unsigned char)(o->seed + i * 7);
}

static void check_both(const object *o) {
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < o->size; i++) assert_int_equal(o->p[k][i], (unsigned char)(o->seed + i * 7));
}

static int ran[2];
static void run_cleanup(void *arg) { ran[*(int *)arg]++; }

typedef struct twins {
  const provider *p;
  toft_arena *a[2]; /* the second one with an instrument, while `on` */
  toft_range r[2];
  object objects[OBJECTS];
  struct {
    toft_mark m[2];
    int step;
  } marks[MARKS];
  size_t count, mark_count;
  int step, on, claimed;
} twins;

static void alloc_both(twins *t, size_t size, size_t align) {
  object o = {{NULL, NULL}, size, align, (unsigned)t->step, t->step};
  for (int i = 0; i < 2; i++) o.p[i] = (unsigned char *)toft_alloc_aligned(t->a[i], size, align);
  assert_true(o.p[0] != NULL && o.p[1] != NULL && ((uintptr_t)o.p[1] & (align - 1)) == 0);
  fill_both(&o);
  if (size != 0) t->objects[t->count++] = o;
}

static void resize_both(twins *t, size_t size) {
  object *o = &t->objects[below(2) ? t->count - 1 : below((uint32_t)t->count)], moved;
  check_both(o);
  for (int i = 0; i < 2; i++) {
    o->p[i] = (unsigned char *)toft_resize(t->a[i], o->p[i], o->size, size, o->align);
    assert_non_null(o->p[i]);
    for (size_t b = 0; b < o->size && b < size; b++) assert_int_equal(o->p[i][b], (unsigned char)(o->seed + b * 7));
  }
  o->size = size;
  o->step = t->step;
  fill_both(o);
  moved = *o;
  memmove(o, o + 1, (size_t)(t->objects + t->count - 1 - o) * sizeof *o);
  t->objects[t->count - 1] = moved;
}

static void rewind_both(twins *t) {
  size_t n = below((uint32_t)t->mark_count);
  for (int i = 0; i < 2; i++)
    assert_int_equal(toft_rewind(t->a[i], t->marks[n].m[i]), t->claimed ? TOFT_EBUSY : TOFT_OK);
  if (t->claimed) return;
  while (t->count != 0 && t->objects[t->count - 1].step > t->marks[n].step) t->count--;
  t->mark_count = n + below(2);
}

static void claim_both(twins *t, size_t size) {
  for (int i = 0; i < 2; i++) {
    if (!t->claimed) assert_non_null(t->a[i]->ops->claim(t->a[i], &t->r[i], 0, 1));
    assert_non_null(t->a[i]->ops->claim(t->a[i], &t->r[i], size, 1));
    if (t->claimed) assert_int_equal(t->a[i]->ops->give(t->a[i], &t->r[i]), TOFT_OK);
  }
  t->claimed = !t->claimed;
}

static void check_all(const twins *t) {
  for (size_t i = 0; i < t->count; i++) check_both(&t->objects[i]);
}

static void play_step(twins *t, size_t size, size_t align) {
  static int which[2] = {0, 1};
  uint32_t k = below(100);
  if (k < 50 && t->count < OBJECTS) {
    alloc_both(t, size, align);
  } else if (k < 60 && t->count != 0) {
    resize_both(t, size + 1);
  } else if (k < 66 && t->count != 0) {
    const object *o = &t->objects[--t->count];
    for (int i = 0; i < 2; i++) toft_free(t->a[i], o->p[i], o->size);
  } else if (k < 74 && t->mark_count < MARKS && !t->claimed) {
    for (int i = 0; i < 2; i++) t->marks[t->mark_count].m[i] = toft_mark_here(t->a[i]);
    t->marks[t->mark_count++].step = t->step;
  } else if (k < 82 && t->mark_count != 0) {
    rewind_both(t);
  } else if (k < 88) {
    for (int i = 0; i < 2; i++) assert_true((toft_cleanup_add(t->a[i], run_cleanup, &which[i]) == NULL) == t->claimed);
  } else if (k < 92 && t->p->has_claims) {
    claim_both(t, 1 + size / 8);
  } else if (k < 94) {
    size_t keep = below(2) * 100000;
    for (int i = 0; i < 2; i++) toft_trim(t->a[i], keep);
  } else if (k < 95 && !t->claimed) {
    check_all(t);
    for (int i = 0; i < 2; i++) assert_int_equal(toft_reset(t->a[i]), TOFT_OK);
    t->count = t->mark_count = 0;
  }
}

static void play(const provider *p, int checked, int metered, int switched) {
  static twins t;
  memset(&t, 0, sizeof t);
  ran[0] = ran[1] = 0;
  t.p = p;
  for (int i = 0; i < 2; i++) t.a[i] = p->create();
  beneath_put(t.a[1]);
  for (t.step = 1; t.step <= STEPS; t.step++) {
    if (!t.claimed && (switched ? below(20) == 0 : !t.on)) {
      t.on = !t.on;
      assert_int_equal(beneath_switch(t.a[1], t.on), TOFT_OK);
      if (t.on) assert_int_equal(toft_set_checked(t.a[1], checked), TOFT_OK);
      if (t.on && metered) assert_int_equal(toft_set_metered(t.a[1], 1), TOFT_OK);
    }
    size_t size = any_size();
    play_step(&t, size, (size_t)1 << below(checked && below(8) == 0 ? 13 : 7));
    if (!checked && !switched && p->has_claims) /* the others place by peaks that they see */
      assert_int_equal(toft_get_stats(t.a[0]).live, toft_get_stats(t.a[1]).live);
    if (t.on && metered) (void)live_of_tag(t.a[1], "");
    if (beneath_broken(t.a[1]) != NULL) fail_msg("%s", beneath.broken);
    assert_found(0);
  }
  check_all(&t);
  if (t.claimed) claim_both(&t, 1);
  for (int i = 0; i < 2; i++) toft_release(t.a[i]);
  assert_int_equal(ran[0], ran[1]);
  assert_found(0);
}

static void test_streams(void **state) {
  (void)state;
  EACH_PROVIDER(p)
  for (int how = 1; how < 8; how++)
    for (uint32_t i = 0; i < 10; i++) {
      seed = i * 7919 + 1;
      play(p, how & 1, how & 2, how & 4);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#ifndef HAS_ASAN
      cmocka_unit_test(test_writes_out_of_bounds),
      cmocka_unit_test(test_from_the_start),
      cmocka_unit_test(test_late_writes),
#endif
      cmocka_unit_test(test_wrong_frees),
      cmocka_unit_test(test_stale_marks),
      cmocka_unit_test(test_threads_and_release),
      cmocka_unit_test(test_tags),
      cmocka_unit_test(test_budgets),
      cmocka_unit_test(test_on_and_off),
      cmocka_unit_test(test_streams),
  };
  toft_on_finding(note, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
