/* The allocator of a document's nodes and strings, chosen when the program is compiled so that each
 * build calls its allocator as directly as a real program would:
 *   -DDOCUMENTS_MALLOC  malloc, and free by walking the tree; run it under LD_PRELOAD for other mallocs
 *   -DDOCUMENTS_TOFT    an arena; a document ends with a reset or, unless `keep`, with its arena's release
 *   -DDOCUMENTS_NONE    nothing is built: measures the parser alone
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef DOCUMENTS_MEMORY_H
#define DOCUMENTS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(DOCUMENTS_TOFT)
#include "../counted.h"
#include "toft.h"

enum { BUILDS = 1, FREES_BY_WALK = 0 };

struct memory {
  toft_source *source; /* NULL: the heap */
  toft_arena *arena;
  toft_pack text; /* strings are contiguous, not rounded to 8 */
  int keep;       /* one arena for all documents, reset between them */
};

static inline int memory_begin(struct memory *m) {
  toft_options o = TOFT_OPTIONS;
  o.source = m->source;
  if (m->arena == NULL) m->arena = m->source == NULL ? toft_create() : toft_create_with(&o);
  if (m->arena == NULL) return 0;
  m->text = toft_pack_begin(m->arena);
  return 1;
}
static inline void *memory_object(struct memory *m, size_t size) { return toft_alloc(m->arena, size); }
static inline char *memory_text(struct memory *m, size_t size) { return (char *)toft_pack_alloc(&m->text, size); }
static inline void memory_free(struct memory *m, void *p) { (void)m, (void)p; }
static inline void memory_end(struct memory *m) {
  if (m->keep) {
    (void)toft_reset(m->arena);
  } else {
    toft_release(m->arena);
    m->arena = NULL;
  }
}
static inline void memory_done(struct memory *m) {
  toft_release(m->arena);
  m->arena = NULL;
}

static inline int memory_count(struct memory *m) { return (m->source = counted_source()) != NULL; }
static inline void memory_print_counts(uint64_t requests) { print_counts(requests); }

#else
#if defined(DOCUMENTS_NONE)
enum { BUILDS = 0, FREES_BY_WALK = 0 };
#else
enum { BUILDS = 1, FREES_BY_WALK = 1 };
#endif

struct memory {
  int keep; /* unused */
};

static inline int memory_begin(struct memory *m) { return (void)m, 1; }
static inline void *memory_object(struct memory *m, size_t size) { return (void)m, malloc(size); }
static inline char *memory_text(struct memory *m, size_t size) { return (void)m, (char *)malloc(size); }
static inline void memory_free(struct memory *m, void *p) { (void)m, free(p); }
static inline void memory_end(struct memory *m) { (void)m; }
static inline void memory_done(struct memory *m) { (void)m; }
static inline int memory_count(struct memory *m) { return (void)m, 0; } /* no statistics */
static inline void memory_print_counts(uint64_t requests) { (void)requests; }
#endif

#endif
