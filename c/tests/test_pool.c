/* Pools: handles that detect stale use, walks, options, and a random stream against a plain model.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "pools.h"

/* ---- handles ---- */

static void stale_and_foreign_handles(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(24);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  is_stale(&p, 0);
  is_stale(&p, 1);
  toft_handle a = add(&p), b = add(&p);
  assert_int_not_equal(a, b);
  assert_int_equal(toft_pool_remove(&p, a), TOFT_OK);
  is_stale(&p, a);
  toft_handle c = add(&p); /* in a's slot */
  assert_int_not_equal(a, c);
  assert_int_equal(c & p.mask, a & p.mask);
  is_stale(&p, a);
  assert_int_equal(toft_pool_count(&p), 2);
  uint32_t seed = 7;
  for (int i = 0; i < 200000; i++) {
    toft_handle h = next_random(&seed);
    if (h != b && h != c) is_stale(&p, h);
  }
  for (uint32_t bit = 0; bit < 32; bit++) {
    is_stale(&p, b ^ (uint32_t)1 << bit);
    is_stale(&p, UINT32_MAX << bit);
  }
  toft_pool_release(&p);
  is_stale(&p, b);
}

static void handle_of_finds_live_slots_only(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(40);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  toft_handle h[100];
  for (int i = 0; i < 100; i++) h[i] = add(&p);
  for (int i = 0; i < 100; i += 2) assert_int_equal(toft_pool_remove(&p, h[i]), TOFT_OK);
  for (uint32_t i = 0; i < 100; i++) {
    unsigned char *slot = p.slots + i * p.stride;
    assert_int_equal(toft_pool_handle_of(&p, slot), i % 2 ? h[i] : 0);
    assert_int_equal(toft_pool_handle_of(&p, slot + 1), 0);
  }
  assert_int_equal(toft_pool_handle_of(&p, p.slots - p.stride), 0);
  assert_int_equal(toft_pool_handle_of(&p, p.slots + 100 * p.stride), 0);
  assert_int_equal(toft_pool_handle_of(&p, &p), 0);
  assert_int_equal(toft_pool_handle_of(&p, NULL), 0);
  toft_pool_release(&p);
}

static void generations_wrap(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(1);
  o.max_slots = 0xffffff;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  toft_handle first = add(&p), h = first;
  for (int i = 0; i < 256; i++) {
    assert_int_equal(h >> 24, i);
    assert_int_equal(toft_pool_remove(&p, h), TOFT_OK);
    is_stale(&p, h);
    if (i < 255) is_stale(&p, first);
    h = add(&p);
    assert_int_equal(h & 0xffffff, 1);
  }
  assert_int_equal(h, first);
  toft_pool_release(&p);
}

static void clears_count_as_generations(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(1);
  o.max_slots = 0xffffff;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  toft_handle first[70];
  for (int i = 0; i < 70; i++) first[i] = add(&p);
  for (int round = 1; round <= 256; round++) {
    toft_pool_clear(&p);
    for (int i = 0; i < 70; i++) is_stale(&p, first[i]);
    for (int i = 0; i < 70; i++) assert_int_equal(add(&p) == first[i], round == 256);
  }
  toft_pool_release(&p);
}

static void a_retired_slot_is_not_reused(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(1);
  o.max_slots = 0xffffff;
  o.flags = TOFT_POOL_RETIRE;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  toft_handle first = add(&p), h = first;
  for (int i = 0; i < 254; i++) {
    assert_int_equal(toft_pool_remove(&p, h), TOFT_OK);
    h = add(&p);
    assert_int_equal(h & 0xffffff, 1);
  }
  assert_int_equal(toft_pool_get_stats(&p).retired, 0);
  assert_int_equal(toft_pool_remove(&p, h), TOFT_OK); /* the 255th time */
  assert_int_equal(toft_pool_get_stats(&p).retired, 1);
  for (int i = 0; i < 1000; i++) {
    h = add(&p);
    assert_int_not_equal(h & 0xffffff, 1);
    if (i % 3 == 0) assert_int_equal(toft_pool_remove(&p, h), TOFT_OK);
    if (i % 100 == 50) toft_pool_clear(&p);
    if (i % 100 == 70) toft_pool_trim(&p);
    is_stale(&p, first);
    is_stale(&p, p.retire_key);     /* what its key is */
    is_stale(&p, p.retire_key | 1); /* the handle that comes next */
  }
  toft_pool_release(&p);
}

/* By remove or clear; a pool whose slots are all retired is full. */
static void a_pool_retires_as_a_whole(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    toft_pool p;
    toft_pool_options o = fixed_at(8, 3);
    o.flags |= TOFT_POOL_RETIRE;
    /* of 32 bits 2 are the number: too many generations to go through, so begin near the end */
    assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
    for (uint32_t i = 1; i <= 3; i++) p.keys[i] = p.retire_key - 2 * (p.mask + 1);
    for (int round = 0; round < 2; round++) {
      toft_handle h[3];
      for (int i = 0; i < 3; i++) h[i] = add(&p);
      assert_null(toft_pool_insert(&p, NULL));
      if (way == 0) toft_pool_clear(&p);
      for (int i = 0; way == 1 && i < 3; i++) assert_int_equal(toft_pool_remove(&p, h[i]), TOFT_OK);
      for (int i = 0; i < 3; i++) is_stale(&p, h[i]);
    }
    assert_int_equal(toft_pool_get_stats(&p).retired, 3);
    assert_int_equal(toft_pool_capacity(&p), 3);
    assert_null(toft_pool_insert(&p, NULL));
    toft_pool_trim(&p);
    assert_null(toft_pool_insert(&p, NULL));
    toft_pool_clear(&p);
    assert_null(toft_pool_insert(&p, NULL));
    assert_int_equal(toft_pool_get_stats(&p).retired, 3);
    toft_pool_release(&p);
  }
}

/* ---- walks ---- */

static void removal_during_a_walk(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(8);
  enum { N = 1000 };
  toft_handle h[N];
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  for (int way = 0; way < 7; way++) {
    size_t seen = 0;
    toft_pool_clear(&p);
    for (int i = 0; i < N; i++) h[i] = add(&p);
    TOFT_POOL_EACH(w, &p) {
      toft_handle now = toft_pool_walk_handle(&w);
      assert_true(toft_pool_contains(&p, now)); /* never a removed slot */
      seen++;
      uint32_t i = w.slot - 1;
      if (way == 0) assert_int_equal(toft_pool_remove(&p, now), TOFT_OK);
      if (way == 1 && i + 1 < N) assert_int_equal(toft_pool_remove(&p, h[i + 1]), TOFT_OK); /* the next */
      if (way == 2 && i + 100 < N) (void)toft_pool_remove(&p, h[i + 100]);                  /* one far ahead */
      if (way == 3 && i > 0) assert_int_equal(toft_pool_remove(&p, h[i - 1]), TOFT_OK);     /* the one before */
      if (way == 4 && i == 300) toft_pool_clear(&p);
      if (way == 5 && i == 300) {
        for (int k = 301; k < N; k++) assert_int_equal(toft_pool_remove(&p, h[k]), TOFT_OK);
        toft_pool_trim(&p);
      }
      if (way == 6 && i % 2 == 0) { /* removed and inserted again: the slot is live */
        assert_int_equal(toft_pool_remove(&p, now), TOFT_OK);
        assert_int_equal(add(&p) & p.mask, w.slot);
      }
    }
    static const size_t expected[] = {N, N / 2, N / 2, N, 301, 301, N};
    assert_int_equal(seen, expected[way]);
    static const size_t left[] = {0, N / 2, N / 2, 1, 0, 301, N};
    assert_int_equal(walk(&p), left[way]);
  }
  toft_pool_release(&p);
}

/* A clear and new inserts during a walk: each value that it visits then is live. */
static void inserts_during_a_walk(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(8);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  for (uint32_t at = 1; at < 260; at += 3) {
    for (uint32_t again = 0; again < 260; again += again < 60 ? 1 : 7) {
      for (int gaps = 0; gaps < 2; gaps++) {
        toft_pool_clear(&p);
        for (int i = 0; i < 259; i++) {
          toft_handle h = add(&p);
          if (gaps && i % 5 == 3 && i != 0) assert_int_equal(toft_pool_remove(&p, h), TOFT_OK);
          if (gaps && i % 5 == 3) i++;
        }
        uint32_t steps = 0;
        TOFT_POOL_EACH(w, &p) {
          assert_true(toft_pool_contains(&p, toft_pool_walk_handle(&w)));
          if (++steps != at) continue;
          if (again % 2)
            toft_pool_clear(&p);
          else
            TOFT_POOL_EACH(inner, &p) assert_int_equal(toft_pool_remove(&p, toft_pool_walk_handle(&inner)), TOFT_OK);
          if (again % 4 == 0) toft_pool_trim(&p);
          for (uint32_t i = 0; i < again; i++) add(&p);
          if (again == 0) break;
        }
        (void)walk(&p);
      }
    }
  }
  toft_pool_release(&p);
}

static void walks_of_few(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = sized(8);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  assert_int_equal(walk(&p), 0);
  for (size_t only = 1; only <= 300; only++) { /* one live slot, at any place */
    toft_handle h[300];
    toft_pool_clear(&p);
    for (int i = 0; i < 300; i++) h[i] = add(&p);
    for (size_t i = 1; i <= 300; i++)
      if (i != only) assert_int_equal(toft_pool_remove(&p, h[i - 1]), TOFT_OK);
    assert_int_equal(walk(&p), 1);
    assert_int_equal(toft_pool_walk_begin(&p).slot, only);
    assert_int_equal(toft_pool_remove(&p, h[only - 1]), TOFT_OK);
    assert_int_equal(walk(&p), 0);
  }
  toft_pool_release(&p);
  assert_int_equal(walk(&p), 0);
}

/* ---- what languages with constructors do ---- */

static void in_two_steps(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o = fixed_at(8, 4);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  uint32_t i = toft_pool_take_slot(&p);
  assert_int_equal(i, 1);
  is_stale(&p, i); /* not live yet */
  assert_int_equal(toft_pool_count(&p), 0);
  assert_int_equal(toft_pool_handle_of(&p, toft_pool_slot(&p, i)), 0);
  assert_int_equal(walk(&p), 0);
  toft_pool_return_slot(&p, i); /* its constructor failed */
  toft_handle h = add(&p);
  assert_int_equal(h, 1); /* no generation is lost */
  i = toft_pool_take_slot(&p);
  toft_handle nested = add(&p); /* its constructor inserts too */
  toft_handle outer = toft_pool_activate(&p, i);
  assert_int_equal(walk(&p), 3);
  i = toft_pool_deactivate(&p, outer);
  assert_int_equal(i, outer & p.mask);
  is_stale(&p, outer);
  assert_int_equal(toft_pool_deactivate(&p, outer), 0);
  assert_int_equal(toft_pool_deactivate(&p, 0), 0);
  add(&p);
  assert_null(toft_pool_insert(&p, NULL)); /* it is not free before it was shelved */
  toft_pool_return_slot(&p, i);
  assert_int_equal(add(&p) & p.mask, i);
  assert_true(toft_pool_contains(&p, nested));
  toft_pool_release(&p);
}

/* ---- bad options ---- */

static void is_closed(toft_pool *p) {
  assert_int_equal(toft_pool_count(p), 0);
  assert_int_equal(toft_pool_capacity(p), 0);
  assert_null(toft_pool_insert(p, NULL));
  for (uint32_t h = 0; h < 8; h++) is_stale(p, h);
  is_stale(p, UINT32_MAX);
  assert_int_equal(walk(p), 0);
  assert_int_equal(toft_pool_handle_of(p, p), 0);
  assert_int_equal(toft_pool_reserve(p, 0), TOFT_OK);
  assert_int_equal(toft_pool_reserve(p, 1), TOFT_EARG);
  toft_pool_clear(p);
  toft_pool_trim(p);
  toft_pool_stats s = toft_pool_get_stats(p);
  assert_true(s.live == 0 && s.capacity == 0 && s.retired == 0 && s.reserved == 0 && s.committed == 0);
  toft_pool_release(p);
}

static void absurd_options(void **state) {
  (void)state;
  counted c;
  unsigned char buffer[256];
  static const struct {
    int code;
    toft_pool_options o;
  } bad[] = {
      {TOFT_EARG, {0, 8, 0, 0, 0, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 3, 0, 0, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 8192, 0, 0, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, SIZE_MAX, 0, 0, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, 10, 9, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, (size_t)1 << 31, 0, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, 0, (size_t)1 << 31, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, 0, SIZE_MAX, NULL, NULL, 0, 0}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, 0, 0, NULL, NULL, 0, 4}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, 0, 0, NULL, NULL, 0, TOFT_POOL_FIXED}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, 5, 6, NULL, NULL, 0, TOFT_POOL_FIXED}},
      {TOFT_EARG, {sizeof(toft_pool_options), 8, 0, 5, 0, NULL, NULL, 256, 0}},
      {TOFT_ENOMEM, {sizeof(toft_pool_options), SIZE_MAX, 0, 0, 0, NULL, NULL, 0, 0}},
      {TOFT_ENOMEM, {sizeof(toft_pool_options), SIZE_MAX - 4000, 4096, 0, 0, NULL, NULL, 0, 0}},
      {TOFT_ENOMEM, {sizeof(toft_pool_options), SIZE_MAX / 2, 0, 0, 0, NULL, NULL, 0, 0}},
      {TOFT_ENOMEM, {sizeof(toft_pool_options), SIZE_MAX / 1000, 0, 0, 1001, NULL, NULL, 0, 0}},
      {TOFT_ENOMEM, {sizeof(toft_pool_options), SIZE_MAX / 3, 1, 3, 0, NULL, NULL, 0, TOFT_POOL_FIXED}},
      {TOFT_ENOMEM, {sizeof(toft_pool_options), SIZE_MAX / 8, 1, 9, 0, NULL, NULL, 0, TOFT_POOL_FIXED}},
      {TOFT_ENOMEM, {sizeof(toft_pool_options), SIZE_MAX / 9, 1, 9, 0, NULL, NULL, 0, TOFT_POOL_FIXED}},
  };
  toft_pool p;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    memset(&p, 0x5a, sizeof p);
    assert_int_equal(toft_pool_init(&p, &bad[k].o), bad[k].code);
    is_closed(&p);
  }
  memset(&p, 0x5a, sizeof p);
  assert_int_equal(toft_pool_init(&p, NULL), TOFT_EARG);
  is_closed(&p);
  toft_pool_options o = sized(8);
  o.source = counted_init(&c);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_EARG); /* a source serves fixed pools */
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_EARG);
  o.source = NULL;
  o.max_slots = 1;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_EARG);
  o.max_slots = 0;
  o.slots = SIZE_MAX;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_EARG);
  o.slots = TOFT_POOL_SLOTS_MAX;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_EARG);
  o.slots = 0;
  o.buffer = NULL;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_EARG);
  is_closed(&p);
  counted_all_back(&c);
  assert_int_equal(c.attempts, 0);
}

/* What an older caller's structure has not is as in TOFT_POOL_OPTIONS. */
static void shorter_options(void **state) {
  (void)state;
  toft_pool p;
  toft_pool_options o;
  memset(&o, 0xff, sizeof o);
  o.size = 2 * sizeof(size_t);
  o.slot_size = 24;
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  assert_int_equal(p.stride, 24);
  add(&p);
  toft_pool_release(&p);
}

static void a_pool_may_be_moved(void **state) {
  (void)state;
  toft_pool p, q;
  toft_pool_options o = sized(8);
  assert_int_equal(toft_pool_init(&p, &o), TOFT_OK);
  toft_handle h = add(&p);
  memcpy(&q, &p, sizeof q);
  memset(&p, 0, sizeof p);
  assert_non_null(toft_pool_at(&q, h));
  for (int i = 0; i < 10000; i++) add(&q);
  assert_int_equal(walk(&q), 10001);
  toft_pool_release(&q);
}

/* ---- a stream against a model ---- */

enum { MODEL = 3000 };

typedef struct model {
  toft_handle handles[MODEL];
  unsigned seeds[MODEL];
  size_t live;
  toft_handle stale[256]; /* of the values that were removed last */
  size_t removed;
} model;

static void forget(model *m, size_t k) {
  m->stale[m->removed++ % 256] = m->handles[k];
  m->handles[k] = m->handles[--m->live];
  m->seeds[k] = m->seeds[m->live];
}

static void compare(const toft_pool *p, const model *m, size_t size) {
  static unsigned char seen[4 * MODEL];
  memset(seen, 0, sizeof seen);
  assert_int_equal(toft_pool_count(p), m->live);
  TOFT_POOL_EACH(w, p) {
    assert_true(w.slot < sizeof seen && !seen[w.slot]);
    seen[w.slot] = 1;
  }
  for (size_t k = 0; k < m->live; k++) {
    void *slot = toft_pool_at(p, m->handles[k]);
    assert_non_null(slot);
    assert_true(filled(slot, size, m->seeds[k]));
    assert_int_equal(seen[m->handles[k] & p->mask], 1);
    seen[m->handles[k] & p->mask] = 0;
  }
  for (size_t i = 0; i < sizeof seen; i++) assert_false(seen[i]);
}

/* most: how many slots the pool can have. */
static void stream(const toft_pool_options *o, uint32_t seed, size_t most, size_t steps) {
  static model m;
  toft_pool p;
  memset(&m, 0, sizeof m);
  assert_int_equal(toft_pool_init(&p, o), TOFT_OK);
  for (size_t step = 0; step < steps; step++) {
    uint32_t r = next_random(&seed), what = r % 1000, lean = step / 5000 % 2 ? 350 : 620; /* to empty, to full */
    size_t k = m.live != 0 ? (r >> 10) % m.live : 0;
    if (what < lean) {
      toft_handle h = 77;
      void *slot = toft_pool_insert(&p, &h);
      if (slot == NULL) {
        assert_int_equal(h, 77);
        assert_int_equal(m.live + toft_pool_get_stats(&p).retired, most);
      } else if (m.live == MODEL) {
        assert_int_equal(toft_pool_remove(&p, h), TOFT_OK);
      } else {
        m.handles[m.live] = h;
        m.seeds[m.live++] = (unsigned)step;
        fill(slot, o->slot_size, (unsigned)step);
        assert_int_equal(toft_pool_handle_of(&p, slot), h);
      }
    } else if (what < 950) {
      if (m.live == 0) continue;
      void *slot = toft_pool_at(&p, m.handles[k]);
      assert_non_null(slot);
      assert_true(filled(slot, o->slot_size, m.seeds[k]));
      assert_int_equal(toft_pool_remove(&p, m.handles[k]), TOFT_OK);
      is_stale(&p, m.handles[k]);
      forget(&m, k);
    } else if (what < 990) {
      for (size_t i = 0; i < 16 && i < m.removed; i++) is_stale(&p, m.stale[(m.removed - 1 - i) % 256]);
    } else if (what < 996) {
      compare(&p, &m, o->slot_size);
    } else if (what < 998) { /* remove some during a walk */
      TOFT_POOL_EACH(w, &p) {
        toft_handle h = toft_pool_walk_handle(&w);
        if (next_random(&seed) % 4 != 0) continue;
        for (k = 0; m.handles[k] != h;) k++;
        assert_true(k < m.live);
        assert_int_equal(toft_pool_remove(&p, h), TOFT_OK);
        forget(&m, k);
      }
    } else if (what < 999) {
      toft_pool_trim(&p);
    } else if (r % 7 == 0) {
      toft_pool_clear(&p);
      while (m.live != 0) forget(&m, m.live - 1);
    }
  }
  compare(&p, &m, o->slot_size);
  toft_pool_release(&p);
}

static void streams(void **state) {
  (void)state;
  size_t steps = long_run() ? 2000000 : 120000;
  counted c;
  toft_pool_options o = sized(24);
  stream(&o, 1, SIZE_MAX, steps);
  o = sized(3);
  o.max_slots = 2000;
  stream(&o, 2, 2000, steps);
  o = fixed_at(100, 700);
  o.source = counted_init(&c);
  stream(&o, 3, 700, steps);
  counted_all_back(&c);
  static unsigned char buffer[TOFT_POOL_BUFFER(200, 40, 8)];
  o = sized(40);
  o.buffer = buffer;
  o.buffer_size = sizeof buffer;
  o.slots = 200;
  stream(&o, 4, 200, steps);
  o = sized(1);
  o.max_slots = 0xffffff;
  o.flags = TOFT_POOL_RETIRE;
  stream(&o, 5, SIZE_MAX, steps);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stale_and_foreign_handles),
      cmocka_unit_test(handle_of_finds_live_slots_only),
      cmocka_unit_test(generations_wrap),
      cmocka_unit_test(clears_count_as_generations),
      cmocka_unit_test(a_retired_slot_is_not_reused),
      cmocka_unit_test(a_pool_retires_as_a_whole),
      cmocka_unit_test(removal_during_a_walk),
      cmocka_unit_test(inserts_during_a_walk),
      cmocka_unit_test(walks_of_few),
      cmocka_unit_test(in_two_steps),
      cmocka_unit_test(absurd_options),
      cmocka_unit_test(shorter_options),
      cmocka_unit_test(a_pool_may_be_moved),
      cmocka_unit_test(streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
