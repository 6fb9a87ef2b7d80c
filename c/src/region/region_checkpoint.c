/* Checkpoints of a region: the bytes in use are copied, or written to a file in memory over which the range is mapped
 * privately, so that the system drops the pages that were written since.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_CHECKPOINT_C
#define TOFT_REGION_CHECKPOINT_C

#include "../core/blocks.c"
#include "../platform/sanitizers.c"
#include "region.c"
#include "region_outside.c"

typedef struct toft_saved {
  struct toft_saved *older;
  size_t size;                /* bytes from the start of the range */
  const unsigned char *bytes; /* the copy, or a mapping of the file */
  int file;                   /* of private pages; -1: none */
  unsigned char *access;      /* under a memory tool: what of it was accessible; else NULL */
} toft_saved;

/* Whether a range is claimed, or a cleanup is running. */
static int toft_region_is_busy(const toft_region *r) {
  for (toft_region_arena_link *link = r->arenas; link != NULL; link = link->older) {
    const toft_state *a = toft_region_arena_of(link);
    if ((a->state & TOFT_REFUSING) && !toft_region_is_adopted(a)) return 1;
  }
  return 0;
}

/* ---- memory tools ---- Bytes that the program made inaccessible are copied, and are so after a restore too. */

/* Makes all of it accessible. 0: no memory for the map, which is stored; NULL: there is no tool. */
static int toft_region_open(unsigned char *p, size_t size, unsigned char **access) {
  *access = NULL;
  if (!toft_has_memory_tool()) return 1;
  *access = (unsigned char *)toft_os_map(toft_os_page(size / 8), 0);
  if (*access == NULL) return 0;
  toft_access_save(p, size, *access);
  toft_access_set(p, size, *access, toft_unpoison);
  return 1;
}

static void toft_region_close(const unsigned char *p, size_t size, const unsigned char *access) {
  if (access != NULL) toft_access_set(p, size, access, toft_poison);
}

static void toft_region_free_access(unsigned char *access, size_t size) {
  if (access != NULL) toft_os_unmap(access, toft_os_page(size / 8));
}

/* ---- save ---- */

static void toft_region_free_saved(toft_region_control *c, toft_saved *s) {
  TOFT_ASSERT(s == c->saved);
  TOFT_ASSERT(c->checkpoints != 0 && s->size <= c->saved_bytes);
  toft_scan_end(s->bytes, s->size);
  toft_os_unmap((void *)(uintptr_t)s->bytes, s->size);
  if (s->file >= 0) toft_os_close(s->file);
  c->saved = s->older;
  c->checkpoints--;
  c->saved_bytes -= s->size;
  toft_region_free_access(s->access, s->size);
  toft_os_heap_put(s);
}

static void toft_region_forget_checkpoints(toft_region_control *c) {
  while (c->saved != NULL) toft_region_free_saved(c, c->saved);
}

/* Takes memory for the copy, or a file with the content and a mapping of it. 0: refused; nothing changed. */
static int toft_region_save(toft_region_control *c, toft_saved *s) {
  unsigned char *bytes;
  if (c->flags & TOFT_REGION_PRIVATE_PAGES) {
    s->file = toft_os_memory_file(c->region, s->size);
    if (s->file < 0) return 0;
    bytes = (unsigned char *)toft_os_map_file(s->file, s->size, NULL);
    if (bytes != NULL && toft_os_map_file(s->file, s->size, c->region) == NULL) {
      toft_os_unmap(bytes, s->size);
      bytes = NULL;
    }
    if (bytes == NULL) toft_os_close(s->file);
  } else {
    s->file = -1;
    bytes = (unsigned char *)toft_os_map(s->size, 0);
    if (bytes != NULL) memcpy(bytes, c->region, s->size);
  }
  TOFT_ASSERT(bytes == NULL || memcmp(bytes, c->region, s->size) == 0);
  s->bytes = (unsigned char *)toft_scan_begin(bytes, s->size);
  return bytes != NULL;
}

int toft_region_checkpoint(toft_region *r) {
  toft_region_control *c = r->control;
  if (toft_region_is_busy(r)) return TOFT_EBUSY;
  toft_region_report_outside(r, TOFT_CALLER());
  toft_saved *s = (toft_saved *)toft_os_heap_take(toft_round(sizeof *s, 64), 64);
  if (s == NULL) return TOFT_ENOMEM;
  s->older = c->saved;
  s->size = toft_min(toft_os_page((size_t)(r->top - r->base)), c->max);
  int saved = toft_region_open(r->base, s->size, &s->access) && toft_region_save(c, s);
  toft_region_close(r->base, s->size, s->access);
  if (!saved) {
    toft_region_free_access(s->access, s->size);
    toft_os_heap_put(s);
    return TOFT_ENOMEM;
  }
  TOFT_ASSERT(s->older == NULL || s->older->size <= c->committed);
  c->saved = s;
  c->checkpoints++;
  c->saved_bytes += s->size;
  return TOFT_OK;
}

/* ---- restore ---- */

/* Runs the cleanups that were registered since the checkpoint, those of newer arenas first. */
static void toft_region_run_cleanups(toft_region *r, const toft_saved *s) {
  const toft_region *then = (const toft_region *)(const void *)s->bytes;
  for (toft_region_arena_link *link = r->arenas; link != NULL; link = link->older) {
    toft_state *a = toft_region_arena_of(link);
    const toft_state *was = (const toft_state *)(const void *)(s->bytes + ((unsigned char *)a - r->base));
    if ((a->state & TOFT_PRISTINE) || toft_region_is_adopted(a)) continue;
    toft_sync_in(a);
    toft_run_cleanups(a, link->number <= then->arena_count ? toft_epoch(was) : 0);
  }
}

static void toft_region_bring_back(toft_region_control *c, const toft_saved *s) {
  if (s->file < 0 || !toft_os_forget((unsigned char *)c->region, toft_os_page(c->committed)))
    memcpy(c->region, s->bytes, s->size); /* also where the pages are locked */
  TOFT_ASSERT(memcmp(c->region, s->bytes, s->size) == 0);
}

int toft_region_restore(toft_region *r) {
  toft_region_control *c = r->control;
  if (c->saved == NULL) return TOFT_EMARK;
  if (toft_region_is_busy(r)) return TOFT_EBUSY;
  unsigned char *high = r->high;
  toft_region_run_cleanups(r, c->saved);
  if (c->saved->access != NULL) toft_unpoison(r, c->committed);
  toft_region_bring_back(c, c->saved);
  toft_region_close(r->base, c->saved->size, c->saved->access);
  r->high = high;
  toft_region_count_top(r);
  TOFT_VERIFY(region, r);
  return TOFT_OK;
}

int toft_region_drop_checkpoint(toft_region *r) {
  toft_region_control *c = r->control;
  toft_saved *s = c->saved;
  if (s == NULL) return TOFT_EMARK;
  if (s->file >= 0 &&
      s->older != NULL) { /* the content moves onto the pages of the checkpoint before, as far as that goes */
    size_t size = s->older->size;
    unsigned char *copy = (unsigned char *)toft_os_map(size, 0), *access = NULL;
    int mapped = copy != NULL && toft_region_open((unsigned char *)r, size, &access);
    if (mapped) memcpy(copy, r, size);
    mapped = mapped && toft_os_map_file(s->older->file, size, c->region) != NULL;
    if (mapped) memcpy(c->region, copy, size);
    if (copy != NULL) toft_os_unmap(copy, size);
    toft_region_close((unsigned char *)c->region, size, access);
    toft_region_free_access(access, size);
    if (!mapped) return TOFT_ENOMEM;
  }
  toft_region_free_saved(c, s);
  TOFT_VERIFY(region, r);
  return TOFT_OK;
}

#endif
