/* The format of frozen files: a header, the content, and a bit for each word of both that is a pointer. The header lies
 * where the region's own header was, so that an offset in the file is an offset in the region.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_FROZEN_FORMAT_H
#define TOFT_REGION_FROZEN_FORMAT_H

#include "../platform/base.h"
#include "toft/freeze.h"

#define TOFT_FROZEN_ALIGN_MIN ((size_t)65536)
#define TOFT_FROZEN_START ((size_t)4096) /* of objects; the header and zeros lie before it */
#define TOFT_FROZEN_VERSION 1
#define TOFT_FROZEN_ORDER 0x01020304u
#define TOFT_FROZEN_OTHER_ORDER 0x04030201u

/* All fields in the writer's byte order. */
typedef struct toft_frozen_header {
  unsigned char magic[8];
  uint32_t order;           /* TOFT_FROZEN_ORDER */
  uint16_t version;         /* TOFT_FROZEN_VERSION */
  uint16_t width;           /* bytes of a pointer */
  uint64_t base;            /* the address that the pointers are for, a multiple of toft_frozen_align */
  uint64_t size;            /* bytes of header and content, a multiple of 8 */
  uint64_t root;            /* offset */
  uint64_t pointers;        /* their number */
  uint64_t layout_hash;     /* of the writer's types, or 0 */
  char layout[32];          /* ends with 0 */
  uint64_t checksum;        /* of all that follows the header; 0: not recorded */
  uint64_t header_checksum; /* of the fields before this one */
} toft_frozen_header;

TOFT_STATIC_ASSERT(frozen_header, sizeof(toft_frozen_header) == 104);

static const unsigned char toft_frozen_magic[8] = {0x89, 'T', 'O', 'F', 'T', '\r', '\n', 0x1a};

/* Bytes of the bits behind `size` bytes of words. */
static uint64_t toft_frozen_bits_size(uint64_t size) { return (size / sizeof(uintptr_t) + 63) / 64 * 8; }

static uint64_t toft_frozen_file_size(uint64_t size) { return size + toft_frozen_bits_size(size); }

/* The alignment of every address that a file of `bytes` is opened at: a power of two above all offsets. So the low bits
 * of an object's address are the same everywhere, which content may depend on, and those above differ. */
static uint64_t toft_frozen_align(uint64_t bytes) {
  uint64_t align = TOFT_FROZEN_ALIGN_MIN;
  while (align < bytes) align *= 2;
  return align;
}

/* Adds `size` bytes, a multiple of 8, to a checksum: a change of one word always changes it. */
static uint64_t toft_frozen_checksum(uint64_t sum, const void *p, uint64_t size) {
  const uint64_t *w = (const uint64_t *)p, *end = w + size / 8;
  for (; w < end; w++) {
    sum ^= *w;
    sum = (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15u;
  }
  return sum;
}

static uint64_t toft_frozen_header_checksum(const toft_frozen_header *h) {
  return toft_frozen_checksum(0, h, offsetof(toft_frozen_header, header_checksum));
}

/* The checksum of a whole file: never 0. */
static uint64_t toft_frozen_body_checksum(const void *file, uint64_t size) {
  const unsigned char *p = (const unsigned char *)file + sizeof(toft_frozen_header);
  uint64_t sum = toft_frozen_checksum(1, p, size + toft_frozen_bits_size(size) - sizeof(toft_frozen_header));
  return sum != 0 ? sum : 1;
}

/* Counts the words that are pointers. 0: one does not lie in the `size` bytes from `base` on, or at their end; or a bit
 * is set that is none of a word behind the header's page. */
static int toft_frozen_scan(const void *p, uint64_t size, uintptr_t base, uint64_t *count) {
  const uintptr_t *words = (const uintptr_t *)p;
  const uint64_t *bits = (const uint64_t *)(const void *)((const unsigned char *)p + size);
  uint64_t sets = toft_frozen_bits_size(size) / 8, found = 0;
  for (uint64_t i = 0; i < sets; i++)
    for (uint64_t set = bits[i]; set != 0; set &= set - 1, found++) {
      uint64_t k = i * 64 + toft_lowest_bit(set);
      if (k < TOFT_FROZEN_START / sizeof *words || k >= size / sizeof *words || words[k] - base > size) return 0;
    }
  *count = found;
  return 1;
}

/* Adds `distance` to each pointer. Precondition: no bit is set behind the last word. */
static void toft_frozen_move(void *p, uint64_t size, uintptr_t distance) {
  uintptr_t *words = (uintptr_t *)p;
  const uint64_t *bits = (const uint64_t *)(const void *)((const unsigned char *)p + size);
  uint64_t sets = toft_frozen_bits_size(size) / 8;
  for (uint64_t i = 0; i < sets; i++)
    for (uint64_t set = bits[i]; set != 0; set &= set - 1) words[i * 64 + toft_lowest_bit(set)] += distance;
}

#endif
