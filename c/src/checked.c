/* Checked arenas. limit == cursor, so every allocation from every language comes here and gets a record, red zones on
 * both sides and a fill; giving back looks at the zones and poisons. Slow, and exact.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

#define TOFT_ZONE 16
enum { TOFT_BYTE_ZONE = 0xFD, TOFT_BYTE_NEW = 0xCD, TOFT_BYTE_GONE = 0xDD };

/* In front of its allocation: record, zone, size bytes, zone up to `end`. */
struct toft_record {
  toft_record *older;
  unsigned char *p, *end;
  size_t size;
  uintptr_t born;
  unsigned char *cursor; /* the arena's, just after: what a mark taken then holds */
  size_t freed;          /* non-zero: given back already, though not the newest */
};

static void toft_fail(toft_state *a, size_t size, size_t align, int code) {
  if (a->failure != NULL) a->failure(a->failure_arg, &a->head, size, align, code);
}

static void *toft_place_checked(toft_state *a, size_t size, size_t align) {
  size_t wide = toft_max(align, TOFT_ZONE);
  size_t front = toft_round(sizeof(toft_record) + TOFT_ZONE, wide);
  size_t whole = front + TOFT_ROUND8(size) + TOFT_ZONE;
  if (whole > TOFT_MAX_REQUEST) return NULL;
  unsigned char *base;
  if (a->state & TOFT_CLAIMED)
    base = (unsigned char *)toft_place_aside(a, whole, wide);
  else if (toft_fits_here(a, whole, wide) || (toft_affords(a, whole) && toft_extend_here(a, whole, wide)))
    base = (unsigned char *)toft_place_here(a, whole, wide);
  else
    base = (unsigned char *)toft_place_further(a, whole, wide);
  if (base == NULL) return NULL;
  unsigned char *p = base + front;
  toft_record *r = (toft_record *)(void *)(p - TOFT_ZONE - sizeof(toft_record));
  memset(base, TOFT_BYTE_ZONE, whole);
  memset(p, TOFT_BYTE_NEW, size);
  toft_bump(a); /* a mark between any two allocations tells them apart */
  r->older = a->records;
  r->p = p;
  r->end = base + whole;
  r->size = size;
  r->born = toft_epoch(a);
  r->cursor = a->head.cursor;
  r->freed = 0;
  a->records = r;
  return p;
}

static int toft_zones_intact(const toft_record *r) {
  for (const unsigned char *z = r->p - TOFT_ZONE; z < r->p; z++)
    if (*z != TOFT_BYTE_ZONE) return 0;
  for (const unsigned char *z = r->p + r->size; z < r->end; z++)
    if (*z != TOFT_BYTE_ZONE) return 0;
  return 1;
}

static int toft_check_record(toft_state *a, const toft_record *r) {
  if (toft_zones_intact(r)) return TOFT_OK;
  toft_fail(a, r->size, 0, TOFT_ECORRUPT);
  return TOFT_ECORRUPT;
}

/* Forgets the records born after `epoch`, and looks at their zones. */
static int toft_check_records(toft_state *a, uintptr_t epoch) {
  int code = TOFT_OK;
  for (; a->records != NULL && a->records->born > epoch; a->records = a->records->older)
    if (toft_check_record(a, a->records) != TOFT_OK) code = TOFT_ECORRUPT;
  return code;
}

static toft_record *toft_find_record(toft_state *a, const void *p) {
  toft_record *r = a->records;
  while (r != NULL && r->p != p) r = r->older;
  return r;
}

/* Each allocation has an epoch of its own, so a mark that is not stale names the cursor that followed it. */
static int toft_mark_is_stale(const toft_state *a, const unsigned char *cursor, uintptr_t epoch) {
  if (!(a->state & TOFT_IS_CHECKED) || epoch < a->checked_since) return 0;
  const toft_record *r = a->records;
  while (r != NULL && r->born > epoch) r = r->older;
  return cursor != (r != NULL && r->born > a->checked_since ? r->cursor : a->checked_from);
}

static void toft_poison(const toft_state *a, unsigned char *from, unsigned char *to) {
  if ((a->state & TOFT_IS_CHECKED) && from < to) memset(from, TOFT_BYTE_GONE, (size_t)(to - from));
}

static void toft_check_from_here(toft_state *a) {
  a->checked_since = toft_epoch(a);
  a->checked_from = a->head.cursor;
}

static void *toft_resize_checked(toft_state *a, void *p, size_t old_size, size_t new_size, size_t align, uint32_t flags,
                                 int *code) {
  if (old_size == 0) { /* an address without bytes has no record */
    *code = TOFT_ENOMEM;
    if (new_size == 0 && toft_pad((unsigned char *)p, align) == 0) return p;
    return (flags & TOFT_STAY) ? NULL : toft_place(a, new_size, align);
  }
  toft_record *r = toft_find_record(a, p);
  if (r == NULL || r->freed || r->size != old_size) {
    *code = TOFT_EARG;
    return NULL;
  }
  if (new_size <= old_size && toft_pad(r->p, align) == 0) {
    memset(r->p + new_size, TOFT_BYTE_ZONE, old_size - new_size);
    r->size = new_size;
    return p;
  }
  *code = TOFT_ENOMEM;
  if (flags & TOFT_STAY) return NULL;
  void *q = toft_place(a, new_size, align);
  if (q == NULL) return NULL;
  memcpy(q, p, toft_min(old_size, new_size));
  memset(p, TOFT_BYTE_GONE, old_size);
  r->freed = 1;
  return q;
}

static int toft_free_checked(toft_state *a, void *p, size_t size) {
  if (size == 0) return TOFT_OK;
  toft_record *r = toft_find_record(a, p);
  if (r == NULL || r->freed || r->size != size) return TOFT_EARG;
  memset(p, TOFT_BYTE_GONE, size); /* its place is given back by rewind, reset or release */
  r->freed = 1;
  return TOFT_OK;
}
