/* Records the sizes that a program requests from malloc: LITTER_SIZES=FILE LD_PRELOAD=record.so program. Each request
 * has the same chance to be in the sample (reservoir sampling). Forked processes write to the same file.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sizes.h"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static struct sizes *sizes;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("LITTER_SIZES");
  int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
  void *map;
  if (file < 0 || ftruncate(file, sizeof *sizes) != 0) _exit(1);
  map = mmap(NULL, sizeof *sizes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) _exit(1);
  close(file);
  sizes = (struct sizes *)map;
}

static void record(size_t size) {
  uint64_t i, state;
  if (sizes == NULL) return;
  state = i = __atomic_fetch_add(&sizes->requests, 1, __ATOMIC_RELAXED);
  if (i >= SIZES_MAX) i = next_random(&state) % (i + 1);
  if (i < SIZES_MAX) sizes->size[i] = size;
}

void *malloc(size_t size) {
  record(size);
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  record(n * size);
  return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size) {
  record(size);
  return __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size) {
  record(size);
  return __libc_memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size) {
  *p = aligned_alloc(align, size);
  return *p != NULL ? 0 : ENOMEM;
}
