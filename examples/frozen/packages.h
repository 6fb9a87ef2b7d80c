/* A list of packages as plain C structs, with an index by name: what the file contains.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef PACKAGES_H
#define PACKAGES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PACKAGES_LAYOUT "packages 1"

typedef struct text {
  const char *at; /* never NULL */
  uint64_t size;
} text;

typedef struct package {
  text name, version, description;
  text *depends; /* the names in Depends */
  uint64_t depends_count;
  uint64_t kib; /* installed */
} package;

typedef struct packages {
  package *list; /* by name */
  uint64_t count;
  uint64_t *index;     /* at a name's hash or the next free place: the package's number and 1; 0: free */
  uint64_t index_size; /* a power of two above the count */
} packages;

static inline uint64_t hash_of(text t) { /* FNV-1a */
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < t.size; i++) hash = (hash ^ (unsigned char)t.at[i]) * 0x100000001b3u;
  return hash;
}

static inline int same_text(text a, text b) { return a.size == b.size && memcmp(a.at, b.at, a.size) == 0; }

/* Parses a list in Debian's format; the first of packages with one name counts. All memory comes from `take`, which
 * returns NULL if there is none; so does this then. */
packages *packages_parse(const char *list, size_t size, void *(*take)(void *argument, size_t size), void *argument);

/* Reads a file that is longer than it is now; a 0 is behind its bytes. NULL: failed. The caller frees it. */
char *read_whole(const char *path, size_t *size);

#endif
