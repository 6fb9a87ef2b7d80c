/* A published file, and the structures of its content here: all that a reader in C or C++ includes.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef FORMAT_H
#define FORMAT_H
#include <stdint.h>

/* The start of the file. The region follows at 4096, with the root at the offset that toft/region.h names. */
typedef struct published_header {
  char magic[8];       /* with the version of this header */
  uint64_t address;    /* where every process maps the file */
  uint64_t size;       /* of the file, bytes */
  uint64_t generation; /* from 1 on */
  char layout[32];     /* names the structures of the content */
} published_header;
#define PUBLISHED_MAGIC "\211TOFTP1\n"
enum { PUBLISHED_REGION = 4096, PUBLISHED_ROOT = PUBLISHED_REGION + 64 };

/* A list. A program has its own structures here, and another layout after each change of them. */
#define BOOK_LAYOUT "book 1"
typedef struct entry {
  const struct entry *older;
  const char *name;
  int64_t key;
} entry;

typedef struct book {
  uint64_t generation, root; /* root: its number in the generation, from 1 on */
  int64_t count, sum;        /* of the entries; of their keys and the bytes of their names */
  const entry *newest;
} book;

static inline int64_t entry_value(const entry *e) {
  int64_t sum = e->key;
  for (const char *c = e->name; *c != 0; c++) sum += *c;
  return sum;
}

#endif
