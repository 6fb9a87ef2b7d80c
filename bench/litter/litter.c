/* Litters the heap of a process before its main: LITTER_SIZES=FILE LD_PRELOAD="litter.so MALLOC" program. Objects of
 * the sizes in the file are allocated at random and shuffled; 19 of 20 are freed. A line on standard output reports it:
 *     littered OBJECTS LIVE BYTES RESIDENT     RESIDENT: the growth of resident memory in bytes
 * malloc itself is not replaced, so that the measured calls are those of a program without this library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sizes.h"

enum { OBJECTS_MAX = 4000000, KEPT = 20 };
#define BYTES_MAX ((size_t)3 << 29)

static void stop(const char *why) {
  dprintf(2, "litter: %s\n", why);
  _exit(1);
}

static long resident(void) {
  char text[128] = "";
  long pages = 0;
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0 || sscanf(text, "%*d %ld", &pages) != 1) stop("no statm");
  close(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Its own pages, which do not change the heap. */
static void *map(size_t bytes, int protection, int file) {
  void *p = mmap(NULL, bytes, protection, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, file, 0);
  if (p == MAP_FAILED) stop("mmap failed");
  return p;
}

/* A process that was forked after the constructor may call it again: it then writes to all pages that it shares. */
__attribute__((constructor, visibility("default"))) void litter(void) {
  const char *path = getenv("LITTER_SIZES");
  int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  const struct sizes *sizes;
  char **objects;
  uint64_t random = 1, known;
  size_t n = 0, bytes = 0, live;
  long before = resident();
  if (file < 0 || lseek(file, 0, SEEK_END) != (off_t)sizeof *sizes) stop("LITTER_SIZES names no file of record.so");
  sizes = (const struct sizes *)map(sizeof *sizes, PROT_READ, file);
  close(file);
  objects = (char **)map(OBJECTS_MAX * sizeof *objects, PROT_READ | PROT_WRITE, -1);
  known = sizes->requests < SIZES_MAX ? sizes->requests : SIZES_MAX;
  if (known == 0) stop("the program requested nothing");
  while (n < OBJECTS_MAX && bytes < BYTES_MAX) {
    size_t size = sizes->size[next_random(&random) % known];
    if ((objects[n] = (char *)malloc(size)) == NULL) stop("no memory");
    if (size > 0) *objects[n] = 1;
    bytes += size;
    n++;
  }
  for (size_t i = n - 1; i > 0; i--) {
    size_t k = next_random(&random) % (i + 1);
    char *p = objects[i];
    objects[i] = objects[k];
    objects[k] = p;
  }
  live = n / KEPT;
  for (size_t i = live; i < n; i++) free(objects[i]);
  munmap(objects, OBJECTS_MAX * sizeof *objects);
  munmap((void *)(uintptr_t)sizes, sizeof *sizes);
  dprintf(1, "littered %zu %zu %zu %ld\n", n, live, bytes, resident() - before);
}
