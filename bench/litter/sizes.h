/* The file that record.c writes and litter.c reads: a sample of the sizes that a program requested from malloc.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef LITTER_SIZES_H
#define LITTER_SIZES_H

#include <stdint.h>

enum { SIZES_MAX = 65536 };

struct sizes {
  uint64_t requests; /* of the whole run; the first min(requests, SIZES_MAX) elements of size are used */
  uint64_t size[SIZES_MAX];
};

/* A step of SplitMix64. */
static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

#endif
