/* Opening frozen files: mapped at their own address, or elsewhere with their pointers moved.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_FROZEN_C
#define TOFT_REGION_FROZEN_C

#include "../core/policy.c"
#include "../platform/files.c"
#include "../platform/sanitizers.c"
#include "frozen_format.h"

/* ---- checks ---- */

static int toft_frozen_options_of(const toft_frozen_options *options, toft_frozen_options *o, uint32_t flags) {
  static const toft_frozen_options defaults = TOFT_FROZEN_OPTIONS;
  *o = options != NULL ? *options : defaults;
  return o->size == sizeof *o && (o->flags & ~flags) == 0 ? TOFT_OK : TOFT_EARG;
}

static int toft_frozen_has_layout(const toft_frozen_header *h, const toft_frozen_options *o) {
  size_t i = 0; /* there may be no strcmp */
  if (o->layout != NULL) {
    while (h->layout[i] != 0 && h->layout[i] == o->layout[i]) i++;
    if (h->layout[i] != o->layout[i]) return 0;
  }
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
  if (!toft_frozen_has_layout(h, o)) return TOFT_ECONTENT;
  return TOFT_OK;
}

static int toft_frozen_has_checksum(const toft_frozen_header *h, const void *p) {
  return h->checksum == 0 || h->checksum == toft_frozen_body_checksum(p, h->size);
}

/* Whether each pointer lies inside, and their number is that of the header. */
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

enum { TOFT_FROZEN_RESERVED = 1 << 16 }; /* beside the options' flags: mapped by toft_os_reserve */

/* Content that the program may change may have pointers to other memory. */
static void toft_frozen_hold(toft_frozen *f, void *mapping, size_t size, uint32_t flags) {
  f->mapping = mapping;
  f->mapped = size;
  f->flags = flags;
  if (flags & TOFT_FROZEN_WRITABLE) (void)toft_scan_begin(mapping, size);
}

/* Maps the file at its address. 0: it is not free, or the options exclude it. */
static int toft_frozen_map(toft_frozen *f, toft_file file, size_t size, const toft_frozen_header *h, uint32_t flags) {
  if ((flags & TOFT_FROZEN_ELSEWHERE) != 0 || TOFT_HAS_TSAN()) return 0;
  f->memory = toft_file_map_at(file, size, (void *)(uintptr_t)h->base, (flags & TOFT_FROZEN_WRITABLE) != 0);
  if (f->memory == NULL) return 0;
  toft_frozen_hold(f, f->memory, size, flags);
  return 1;
}

/* Reads the file into a part of a reservation. */
static int toft_frozen_load(toft_frozen *f, toft_file file, size_t size, const toft_frozen_header *h, uint32_t flags) {
  size_t align = (size_t)toft_frozen_align(size), reserved = toft_os_page(size) + align;
  unsigned char *p = (unsigned char *)toft_os_reserve(reserved);
  if (p == NULL) return TOFT_EIO;
  toft_frozen_hold(f, p, reserved, flags | TOFT_FROZEN_RESERVED);
  p += toft_pad(p, align);
  f->memory = p;
  if (!toft_os_commit(p, size)) return TOFT_EIO;
  toft_os_prefer_huge_pages(p, size);
  memcpy(p, h, sizeof *h);
  if (!toft_file_read(file, p + sizeof *h, size - sizeof *h)) return TOFT_EIO;
  return TOFT_OK;
}

static int toft_frozen_map_or_load(toft_frozen *f, toft_file file, size_t size, const toft_frozen_header *h,
                                   uint32_t flags) {
  int verifies = (flags & TOFT_FROZEN_VERIFY) != 0, moves = !toft_frozen_map(f, file, size, h, flags);
  if (moves) {
    int code = toft_frozen_load(f, file, size, h, flags);
    if (code != TOFT_OK) return code;
  }
  if (verifies && !toft_frozen_has_checksum(h, f->memory)) return TOFT_ECORRUPT;
  if ((verifies || moves) && !toft_frozen_check_pointers(h, f->memory)) return TOFT_ECORRUPT;
  if (moves) {
    toft_frozen_move(f->memory, h->size, (uintptr_t)f->memory - (uintptr_t)h->base);
    if ((flags & TOFT_FROZEN_WRITABLE) == 0 && !toft_os_protect(f->memory, size)) return TOFT_EIO;
  }
  toft_frozen_fill(f, h, f->memory, moves);
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
  if (code == TOFT_OK) code = toft_frozen_map_or_load(f, file, (size_t)size, &h, o.flags);
  int error = errno;
  toft_file_close(file);
  if (code != TOFT_OK) toft_frozen_close(f);
  errno = error;
  return code;
}

void toft_frozen_close(toft_frozen *f) {
  if (f->flags & TOFT_FROZEN_WRITABLE) toft_scan_end(f->mapping, (size_t)f->mapped);
  if (f->flags & TOFT_FROZEN_RESERVED)
    toft_os_unmap(f->mapping, (size_t)f->mapped);
  else if (f->mapping != NULL)
    toft_file_unmap(f->mapping, (size_t)f->mapped);
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
