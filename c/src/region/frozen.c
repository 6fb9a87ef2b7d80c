/* Opening frozen files: mapped at their own address, or elsewhere with their pointers moved.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_FROZEN_C
#define TOFT_REGION_FROZEN_C

#include "../core/policy.c"
#include "../platform/files.c"
#include "frozen_format.h"

/* ---- what is checked ---- */

static int toft_frozen_options_of(const toft_frozen_options *options, toft_frozen_options *o, uint32_t flags) {
  static const toft_frozen_options defaults = TOFT_FROZEN_OPTIONS;
  *o = options != NULL ? *options : defaults;
  return o->size == sizeof *o && (o->flags & ~flags) == 0 ? TOFT_OK : TOFT_EARG;
}

static int toft_frozen_has_layout(const toft_frozen_header *h, const toft_frozen_options *o) {
  if (o->layout != NULL && strcmp(h->layout, o->layout) != 0) return 0;
  return o->layout_hash == 0 || o->layout_hash == h->layout_hash;
}

/* Checks the header of a file of `size` bytes. */
static int toft_frozen_check_header(const toft_frozen_header *h, uint64_t size, const toft_frozen_options *o) {
  if (memcmp(h->magic, toft_frozen_magic, sizeof h->magic) != 0) return TOFT_ECORRUPT;
  if (h->order == TOFT_FROZEN_OTHER_ORDER) return TOFT_ENOSYS;
  if (h->order != TOFT_FROZEN_ORDER || h->header_checksum != toft_frozen_header_checksum(h)) return TOFT_ECORRUPT;
  if (h->version != TOFT_FROZEN_VERSION || h->width != sizeof(void *)) return TOFT_ENOSYS;
  if (h->size < TOFT_FROZEN_START || h->size % 8 != 0 || h->size > size) return TOFT_ECORRUPT;
  if (size != toft_frozen_file_size(h->size) || size > PTRDIFF_MAX) return TOFT_ECORRUPT;
  if (h->base % 64 != 0 || h->base == 0 || h->base > UINTPTR_MAX - size) return TOFT_ECORRUPT;
  if (h->root < TOFT_FROZEN_START || h->root >= h->size) return TOFT_ECORRUPT;
  if (h->layout[sizeof h->layout - 1] != 0) return TOFT_ECORRUPT;
  return toft_frozen_has_layout(h, o) ? TOFT_OK : TOFT_ECONTENT;
}

static int toft_frozen_has_checksum(const toft_frozen_header *h, const void *p) {
  return h->checksum == 0 || h->checksum == toft_frozen_body_checksum(p, h->size);
}

/* Whether each pointer lies inside, and there are as many as the header says. */
static int toft_frozen_check_pointers(const toft_frozen_header *h, void *p) {
  uint64_t count;
  return toft_frozen_scan(p, h->size, (uintptr_t)h->base, &count) && count == h->pointers;
}

static void toft_frozen_fill(toft_frozen *f, const toft_frozen_header *h, void *p, int moved) {
  f->memory = p;
  f->root = (unsigned char *)p + h->root;
  f->size = h->size;
  f->moved = (uint32_t)moved;
}

/* ---- in the caller's memory ---- */

int toft_frozen_open_in(toft_frozen *f, void *memory, size_t size, const toft_frozen_options *options) {
  toft_frozen_options o;
  toft_frozen_header h;
  memset(f, 0, sizeof *f);
  int code = toft_frozen_options_of(options, &o, TOFT_FROZEN_VERIFY);
  if (code != TOFT_OK || memory == NULL || (uintptr_t)memory % 64 != 0) return TOFT_EARG;
  if (size < TOFT_FROZEN_START) return TOFT_ECORRUPT;
  memcpy(&h, memory, sizeof h);
  code = toft_frozen_check_header(&h, size, &o);
  if (code != TOFT_OK) return code;
  int moves = h.base != (uintptr_t)memory, verifies = (o.flags & TOFT_FROZEN_VERIFY) != 0;
  if (verifies && !toft_frozen_has_checksum(&h, memory)) return TOFT_ECORRUPT;
  if ((verifies || moves) && !toft_frozen_check_pointers(&h, memory)) return TOFT_ECORRUPT;
  toft_frozen_fill(f, &h, memory, moves);
  if (!moves) return TOFT_OK;
  toft_frozen_move(memory, h.size, (uintptr_t)memory - (uintptr_t)h.base);
  h.base = (uintptr_t)memory;
  h.checksum = 0; /* it is that of other pointers */
  h.header_checksum = toft_frozen_header_checksum(&h);
  memcpy(memory, &h, sizeof h);
  return TOFT_OK;
}

/* ---- files ---- */

#ifndef TOFT_NO_OS

/* Maps the file and moves its pointers if it is not at its address. */
static int toft_frozen_map(toft_frozen *f, toft_file file, size_t size, const toft_frozen_header *h, uint32_t flags) {
  int writable = (flags & TOFT_FROZEN_WRITABLE) != 0, verifies = (flags & TOFT_FROZEN_VERIFY) != 0;
  void *p = NULL;
  if ((flags & TOFT_FROZEN_ELSEWHERE) == 0) p = toft_file_map_at(file, size, (void *)(uintptr_t)h->base, writable);
  int moves = p == NULL;
  if (moves) p = toft_file_map_aligned(file, size, (size_t)toft_frozen_align(size));
  if (p == NULL) return TOFT_EIO;
  int code = TOFT_OK;
  if ((verifies && !toft_frozen_has_checksum(h, p)) || ((verifies || moves) && !toft_frozen_check_pointers(h, p)))
    code = TOFT_ECORRUPT;
  if (code == TOFT_OK && moves) {
    toft_frozen_move(p, h->size, (uintptr_t)p - (uintptr_t)h->base);
    if (!writable && !toft_os_protect(p, size)) code = TOFT_EIO;
  }
  if (code != TOFT_OK) {
    toft_file_unmap(p, size);
    return code;
  }
  toft_frozen_fill(f, h, p, moves);
  f->mapped = size;
  return TOFT_OK;
}

int toft_frozen_open(toft_frozen *f, const char *path, const toft_frozen_options *options) {
  toft_frozen_options o;
  toft_frozen_header h;
  uint64_t size = 0;
  memset(f, 0, sizeof *f);
  int code = toft_frozen_options_of(options, &o, TOFT_FROZEN_WRITABLE | TOFT_FROZEN_VERIFY | TOFT_FROZEN_ELSEWHERE);
  if (code != TOFT_OK || path == NULL) return TOFT_EARG;
  toft_file file = toft_file_open(path, &size);
  if (file == TOFT_FILE_NONE) return TOFT_EIO;
  if (size < TOFT_FROZEN_START)
    code = TOFT_ECORRUPT;
  else if (!toft_file_read(file, &h, sizeof h))
    code = TOFT_EIO;
  else
    code = toft_frozen_check_header(&h, size, &o);
  if (code == TOFT_OK) code = toft_frozen_map(f, file, (size_t)size, &h, o.flags);
  toft_file_close(file);
  return code;
}

void toft_frozen_close(toft_frozen *f) {
  if (f->mapped != 0) toft_file_unmap(f->memory, (size_t)f->mapped);
  memset(f, 0, sizeof *f);
}

#else

int toft_frozen_open(toft_frozen *f, const char *path, const toft_frozen_options *options) {
  (void)path, (void)options;
  memset(f, 0, sizeof *f);
  return TOFT_ENOSYS;
}

void toft_frozen_close(toft_frozen *f) { memset(f, 0, sizeof *f); }

#endif

#endif
