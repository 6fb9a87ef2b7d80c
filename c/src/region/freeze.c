/* Freezing: builds content in two regions, compares them word by word, and writes a file.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_FREEZE_C
#define TOFT_REGION_FREEZE_C

#include "../debug/debug_records.c"
#include "../debug/symbolize.c"
#include "../platform/files.c"
#include "../platform/mappings.c"
#include "../recycler/recycler_checked.c"
#include "freeze_scrub.c"
#include "frozen_format.h"
#include "region_checkpoint.c"

#ifndef TOFT_NO_OS

/* Checked arenas and recyclers record the sites of allocations. */
#ifdef TOFT_OMIT_CHECKS
#define TOFT_FREEZE_KNOWS_SITES 0
#else
#define TOFT_FREEZE_KNOWS_SITES 1
#endif

/* A region with the content, while it can still be released; afterwards its bytes only. */
typedef struct toft_build {
  toft_region_control *control;
  unsigned char *base;
  void *root;
  size_t size; /* of the content once it is scrubbed, else 0 */
} toft_build;

typedef struct toft_freezing {
  const toft_freeze_options *options;
  toft_build builds[2];
  size_t size;                      /* of the content: pointers lie in it */
  int finds_sites;                  /* the builds are checked, and are not written */
  const struct toft_record *record; /* of the allocation that is compared; NULL: not known */
  toft_mappings mappings;
  size_t refused;
  uint64_t pointers;
  uint64_t *bits; /* behind the content of the first build */
  char name[1024];
} toft_freezing;

/* ---- faults ---- */

/* The function or variable at an address, and its mapping. */
static const char *toft_freeze_name(toft_freezing *z, uintptr_t address) {
  toft_symbol s;
  char mapping[256];
  memset(&s, 0, sizeof s);
  (void)toft_symbolize(NULL, (const void *)(address + 1), &s); /* which looks up the byte before */
  toft_mapping_name(address, mapping, sizeof mapping);
  if (s.function != NULL)
    (void)snprintf(z->name, sizeof z->name, "%.500s in %.500s", s.function, s.module != NULL ? s.module : mapping);
  else
    (void)snprintf(z->name, sizeof z->name, "%.500s", s.module != NULL ? s.module : mapping);
  return z->name;
}

/* Returns whether the word is plain data. */
static int toft_freeze_refuse(toft_freezing *z, uint32_t kind, uint64_t offset, uintptr_t first, uintptr_t second) {
  const toft_freeze_options *o = z->options;
  toft_freeze_fault f;
  int counts = kind == TOFT_FREEZE_DIFFERS || kind == TOFT_FREEZE_POINTS_OUT;
  memset(&f, 0, sizeof f);
  f.kind = kind;
  f.offset = offset;
  f.words[0] = first;
  f.words[1] = second;
#ifndef TOFT_OMIT_CHECKS
  if (z->record != NULL) {
    f.site = (const void *)z->record->allocated.site;
    f.size = z->record->size - z->record->header;
    f.inside = offset - (uint64_t)(z->record->p + z->record->header - z->builds[0].base);
  }
#endif
  int with_sites = (o->flags & TOFT_FREEZE_SITES) != 0;
  if (o->report != NULL && (z->finds_sites || !with_sites || !TOFT_FREEZE_KNOWS_SITES)) {
    int is_address = kind != TOFT_FREEZE_SIZE && first >= TOFT_ADDRESS_MIN;
    if (is_address && toft_mappings_contain(&z->mappings, first)) f.points_to = toft_freeze_name(z, first);
    if (o->report(o->report_argument, &f) != 0 && counts && !with_sites) return 1;
  }
  z->refused++;
  return 0;
}

static int toft_freeze_result(const toft_freezing *z) {
  if (z->refused != 0) return TOFT_ECONTENT;
  return TOFT_OK;
}

/* ---- building ---- */

/* The first region is aligned for the largest file. The second has the alignment of a file with the content of
 * the first, and no higher one: addresses differ in all bits that may differ where the file is opened. */
static toft_region *toft_freeze_region(const toft_freezing *z, unsigned i, size_t max) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  size_t align = (size_t)toft_frozen_align(toft_frozen_file_size(max));
  o.max = max;
  if (i == 0) return toft_region_create_in(&o, 2 * align, align, 0);
  const toft_region *first = z->builds[0].control->region;
  align = (size_t)toft_frozen_align(toft_frozen_file_size((uint64_t)(first->top - first->base)));
  return toft_region_create_in(&o, max + 2 * align, 2 * align, align);
}

/* A default maximum that is refused becomes less: for the second region not less than the first has used. */
static int toft_freeze_build(toft_freezing *z, unsigned i, size_t *max, toft_build_fn *build, void *argument) {
  toft_build *b = &z->builds[i];
  size_t least = i == 0 ? 0 : (size_t)(z->builds[0].control->region->high - z->builds[0].base);
  toft_region *r = toft_freeze_region(z, i, *max);
  while (r == NULL && toft_region_halve_max(z->options->max, max, least)) r = toft_freeze_region(z, i, *max);
  if (r == NULL) return TOFT_ENOMEM;
  b->control = r->control;
  b->control->freezes = z->finds_sites ? TOFT_REGION_FREEZES_CHECKED : TOFT_REGION_FREEZES;
  b->base = r->base;
  b->root = build(r, argument);
  toft_unpoison(r->base, (size_t)(r->top - r->base)); /* all of it is compared, what the program closed too */
  return toft_region_is_busy(r) ? TOFT_EBUSY : TOFT_OK;
}

static void toft_freeze_discard(toft_build *b) {
  if (b->control == NULL) return;
  if (b->size != 0)
    toft_region_discard(b->control);
  else
    toft_region_release(b->control->region);
}

/* ---- comparing ---- */

static int toft_freeze_has_root(const toft_build *b) {
  const toft_region *r = b->control->region;
  return (unsigned char *)b->root >= r->base + TOFT_FROZEN_START && (unsigned char *)b->root < r->top;
}

/* The roots, sizes and cleanups. */
static void toft_freeze_compare_regions(toft_freezing *z) {
  const toft_build *a = &z->builds[0], *b = &z->builds[1];
  const toft_region *first = a->control->region, *second = b->control->region;
  size_t sizes[] = {(size_t)(first->top - first->base), (size_t)(second->top - second->base)};
  if (!toft_freeze_has_root(a) || !toft_freeze_has_root(b) ||
      (unsigned char *)a->root - a->base != (unsigned char *)b->root - b->base)
    (void)toft_freeze_refuse(z, TOFT_FREEZE_ROOT, 0, (uintptr_t)a->root, (uintptr_t)b->root);
  if (sizes[0] != sizes[1]) (void)toft_freeze_refuse(z, TOFT_FREEZE_SIZE, 0, sizes[0], sizes[1]);
  for (const toft_region_arena_link *link = first->arenas; link != NULL; link = link->older) {
    toft_state *s = toft_region_arena_of((toft_region_arena_link *)(uintptr_t)link);
    toft_sync_in(s);
    toft_set_limit(s);
    for (const toft_cleanup_node *n = s->cleanups; n != NULL; n = n->older) {
      uintptr_t function = (uintptr_t)n->user.fn;
      if (n->user.fn != toft_release_adopted)
        (void)toft_freeze_refuse(z, TOFT_FREEZE_CLEANUP, (uint64_t)((const unsigned char *)n - a->base), function,
                                 function);
    }
  }
}

/* The words of a range; sets the bits of pointers. */
static void toft_freeze_compare_words(toft_freezing *z, size_t from, size_t to) {
  const uintptr_t *first = (const uintptr_t *)(const void *)z->builds[0].base;
  const uintptr_t *second = (const uintptr_t *)(const void *)z->builds[1].base;
  uintptr_t base = (uintptr_t)first, distance = (uintptr_t)second - base;
  for (size_t i = from / sizeof *first; i < to / sizeof *first; i++) {
    uintptr_t p = first[i], q = second[i];
    if (p == q && p < TOFT_ADDRESS_MIN) continue;
    if (q - p == distance && p - base <= z->size) {
      if (z->finds_sites) continue;
      z->bits[i / 64] |= (uint64_t)1 << i % 64;
      z->pointers++;
    } else if (p != q) {
      (void)toft_freeze_refuse(z, TOFT_FREEZE_DIFFERS, i * sizeof *first, p, q);
    } else if (p - base <= z->size || q - (base + distance) <= z->size || toft_mappings_contain(&z->mappings, p)) {
      (void)toft_freeze_refuse(z, TOFT_FREEZE_POINTS_OUT, i * sizeof *first, p, q);
    }
  }
}

/* Precondition: the regions agree in size. */
static int toft_freeze_compare(toft_freezing *z) {
  toft_build *b = z->builds;
  for (int i = 0; i < 2; i++) b[i].size = toft_region_scrub(b[i].control->region);
  z->size = b[0].size;
  size_t all = (size_t)toft_frozen_file_size(z->size);
  if (!toft_os_commit(b[0].base, all)) return TOFT_ENOMEM;
  z->bits = (uint64_t *)(void *)(b[0].base + z->size);
  toft_unpoison(z->bits, all - z->size);
  memset(z->bits, 0, all - z->size); /* blocks that were returned may have lain here */
  toft_freeze_compare_words(z, TOFT_FROZEN_START, z->size);
  return toft_freeze_result(z);
}

#ifndef TOFT_OMIT_CHECKS
/* The words of an object that was not freed, without omitted ones. Objects lie at the same offset in both regions. */
static void toft_freeze_compare_record(toft_freezing *z, const toft_record *r) {
  size_t offset = (size_t)(r->p + r->header - z->builds[0].base);
  if (r->freed.op != NULL || offset >= z->size) return;
  z->record = r;
  toft_unpoison(r->p, r->size);
  toft_unpoison(z->builds[1].base + (r->p - z->builds[0].base), r->size);
  unsigned char *base = z->builds[0].base;
  const toft_region *region = z->builds[0].control->region;
  size_t from = toft_round(offset, sizeof(void *)), to = (size_t)(r->p + r->size - base);
  toft_freeze_compare_words(z, from, toft_min(to, (size_t)(region->omitted - base)));
  toft_freeze_compare_words(z, toft_max(from, toft_round((size_t)(region->omitted_end - base), sizeof(void *))), to);
  z->record = NULL;
}

/* Compares the objects of checked builds, each with the call that allocated it. */
static void toft_freeze_compare_objects(toft_freezing *z) {
  const toft_region *r = z->builds[0].control->region;
  z->size = (size_t)(r->top - r->base);
  for (toft_region_arena_link *link = r->arenas; link != NULL; link = link->older) {
    const toft_checks *c = toft_region_arena_of(link)->checks;
    for (size_t i = 0; c != NULL && i < c->count; i++) toft_freeze_compare_record(z, &c->records[i]);
  }
  for (const toft_region_recycler_block *block = r->recyclers; block != NULL; block = block->older) {
    const toft_recycler_checks *c = block->u.recycler.checks;
    for (size_t i = 0; c != NULL && i < c->bucket_count; i++)
      for (const toft_object *o = c->buckets[i]; o != NULL; o = o->next) toft_freeze_compare_record(z, &o->record);
  }
}
#else
static void toft_freeze_compare_objects(toft_freezing *z) { (void)z; }
#endif

/* ---- writing ---- */

/* An address for files with this content: a multiple of `align` in a range where the systems' loaders, heaps and tools
 * place nothing, which is as long as its first address. */
static uint64_t toft_frozen_choose_base(uint64_t sum, uint64_t align) {
  uint64_t start = (uint64_t)1 << (sizeof(void *) == 4 ? 29 : 45);
  if (start < align) start = align;
  return start + ((sum >> 32) * align & (start - 1));
}

static int toft_freeze_write(toft_freezing *z, const char *path) {
  unsigned char *p = z->builds[0].base;
  toft_frozen_header h;
  uint64_t size = z->builds[0].size;
  memset(&h, 0, sizeof h);
  memcpy(h.magic, toft_frozen_magic, sizeof h.magic);
  h.order = TOFT_FROZEN_ORDER;
  h.version = TOFT_FROZEN_VERSION;
  h.width = sizeof(void *);
  h.size = size;
  h.root = (uint64_t)((unsigned char *)z->builds[0].root - p);
  h.pointers = z->pointers;
  h.layout_hash = z->options->layout_hash;
  if (z->options->layout != NULL) memcpy(h.layout, z->options->layout, strlen(z->options->layout));
  toft_frozen_move(p, size, 0 - (uintptr_t)p); /* the same bytes at every run */
  h.base = toft_frozen_choose_base(toft_frozen_body_checksum(p, size), toft_frozen_align(toft_frozen_file_size(size)));
  toft_frozen_move(p, size, (uintptr_t)h.base);
  h.checksum = toft_frozen_body_checksum(p, size);
  h.header_checksum = toft_frozen_header_checksum(&h);
  memcpy(p, &h, sizeof h);
  if (!toft_file_write_whole(path, p, (size_t)toft_frozen_file_size(size))) return TOFT_EIO;
  return TOFT_OK;
}

/* ---- API ---- */

/* Builds twice and compares what needs no scrubbing. */
static int toft_freeze_build_both(toft_freezing *z, toft_build_fn *build, void *argument) {
  size_t max = toft_region_max(z->options->max);
  int code = TOFT_OK;
  for (unsigned i = 0; i < 2 && code == TOFT_OK; i++) code = toft_freeze_build(z, i, &max, build, argument);
  if (code != TOFT_OK) return code;
  if (!toft_mappings_read(&z->mappings, 0)) return TOFT_ENOMEM;
  toft_freeze_compare_regions(z);
  return toft_freeze_result(z);
}

static void toft_freeze_discard_both(toft_freezing *z) {
  for (int i = 0; i < 2; i++) toft_freeze_discard(&z->builds[i]);
  memset(z->builds, 0, sizeof z->builds);
  toft_mappings_free(&z->mappings);
}

/* Builds twice more, in checked arenas, and reports each fault with its allocation. */
static void toft_freeze_find_sites(toft_freezing *z, toft_build_fn *build, void *argument) {
  z->finds_sites = 1;
  z->refused = 0;
  if (toft_freeze_build_both(z, build, argument) == TOFT_OK) toft_freeze_compare_objects(z);
  toft_freeze_discard_both(z);
}

int toft_freeze_omit(toft_region *r, void *p, size_t size) {
  unsigned char *from = (unsigned char *)p;
  if (from < r->base + TOFT_FROZEN_START || from > r->top || size > (size_t)(r->top - from)) return TOFT_EARG;
  r->omitted = from;
  r->omitted_end = from + size;
  return TOFT_OK;
}

int toft_freeze(toft_build_fn *build, void *argument, const char *path, const toft_freeze_options *options) {
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  if (options != NULL) {
    if (options->size != sizeof o) return TOFT_EARG;
    o = *options;
  }
  if (build == NULL || path == NULL || path[0] == 0 || (o.flags & ~(uint32_t)TOFT_FREEZE_SITES) != 0) return TOFT_EARG;
  if (!toft_region_is_valid_max(toft_region_max(o.max))) return TOFT_EARG;
  if (o.layout != NULL && strlen(o.layout) >= sizeof((toft_frozen_header *)0)->layout) return TOFT_EARG;
  toft_freezing *z = (toft_freezing *)toft_os_heap_take(toft_round(sizeof *z, 64), 64);
  if (z == NULL) return TOFT_ENOMEM;
  memset(z, 0, sizeof *z);
  z->options = &o;
  int code = toft_freeze_build_both(z, build, argument);
  if (code == TOFT_OK) code = toft_freeze_compare(z);
  if (code == TOFT_OK) code = toft_freeze_write(z, path);
  int error = errno;
  toft_freeze_discard_both(z);
  if (TOFT_FREEZE_KNOWS_SITES && code == TOFT_ECONTENT && (o.flags & TOFT_FREEZE_SITES) != 0)
    toft_freeze_find_sites(z, build, argument);
  toft_os_heap_put(z);
  errno = error;
  return code;
}

#else

int toft_freeze_omit(toft_region *r, void *p, size_t size) {
  (void)r, (void)p, (void)size;
  return TOFT_ENOSYS;
}

int toft_freeze(toft_build_fn *build, void *argument, const char *path, const toft_freeze_options *options) {
  (void)build, (void)argument, (void)path, (void)options;
  return TOFT_ENOSYS;
}

#endif

#endif
