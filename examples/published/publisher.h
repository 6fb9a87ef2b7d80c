/* The writer's side of published structures (docs/published.md), for Linux with 64-bit pointers: generations of content
 * in files. The path is that of the current one, and readers of others keep theirs.
 *
 * A publisher is used by one thread at a time. Results are 0 or a value of errno.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef PUBLISHER_H
#define PUBLISHER_H
#include "toft.h"

/* Generations take turns in these ranges, so that a reader can have one beside the next. They are above 2^46: below it
 * are frozen files and Go's heap. Paths that one process opens at the same time have different addresses. */
#define PUBLISHER_ADDRESS ((uintptr_t)0x480000000000)
#define PUBLISHER_RANGE ((uintptr_t)1 << 36) /* the size of the largest file */
enum { PUBLISHER_RANGES = 16 };

typedef struct publisher_file {
  toft_region *region; /* NULL: there is none */
  void *map;
  size_t size;
  int file;
} publisher_file;

typedef struct publisher {
  publisher_file current, next; /* current.region takes more content and roots; NULL before the first publication */
  uint64_t generation;          /* the current one; 0: none */
  uintptr_t address;
  int lock;
  char layout[32], path[256], link[256];
} publisher;

/* Continues the generations of the path. EBUSY: it has another writer; EINVAL: it is no published file. */
int publisher_open(publisher *p, const char *path, const char *layout, uintptr_t address);
/* Makes p->next.region, in a file of `size` bytes, at least 128 KiB. All are reserved, so that a full tmpfs is an error
 * here, ENOSPC, and no signal later. EEXIST: the addresses are taken in this process; EFBIG. A generation that is not
 * published is dropped. */
int publisher_begin(publisher *p, size_t size);
/* Publishes it. Its root is set, and what that leads to does not change from then on. EINVAL: there is no root. */
int publisher_publish(publisher *p);
/* Ends the publisher. The current generation stays. */
void publisher_close(publisher *p);

#endif
