/* Reads a published list: read PATH. It needs no library, and ends when its input ends.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format.h"

/* Maps the file and stores its header. NULL after a message. */
static const char *published_open(const char *path, const char *layout, published_header *h) {
  struct stat s;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  int whole = pread(file, h, sizeof *h, 0) == sizeof *h && memcmp(h->magic, PUBLISHED_MAGIC, sizeof h->magic) == 0 &&
              strncmp(h->layout, layout, sizeof h->layout) == 0 && fstat(file, &s) == 0 &&
              (uint64_t)s.st_size == h->size && h->size > PUBLISHED_ROOT;
  void *at = whole ? (void *)(uintptr_t)h->address : NULL;
  void *map = whole ? mmap(at, h->size, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0) : NULL;
  if (file >= 0) close(file);
  if (!whole) fprintf(stderr, "%s: no whole file of this version and layout\n", path);
  if (whole && map == at) return (const char *)map;
  if (whole) fprintf(stderr, "%s: its %zu bytes at %p are taken here\n", path, (size_t)h->size, at);
  return NULL; /* with a kernel before 4.17, to which the address is a wish, there may be a mapping */
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
  published_header h;
  double start = now();
  const char *map = argc == 2 ? published_open(argv[1], BOOK_LAYOUT, &h) : NULL;
  if (map == NULL) return 1;
  double opened = now();
  const book *b = __atomic_load_n((book *const *)(const void *)(map + PUBLISHED_ROOT), __ATOMIC_ACQUIRE);
  char name[64];
  snprintf(name, sizeof name, "%s", b->newest != NULL ? b->newest->name : "nothing");
  printf("opened in %.1f us, %s read in %.1f us\n", opened - start, name, now() - opened);
  int64_t count = 0, sum = 0;
  for (const entry *e = b->newest; e != NULL; e = e->older, count++) sum += entry_value(e);
  if (count != b->count || sum != b->sum) return 3;
  printf("generation %d, root %d, sum %ld\n", (int)b->generation, (int)b->root, (long)b->sum);
  while (getchar() != EOF) {
  }
  return 0;
}
