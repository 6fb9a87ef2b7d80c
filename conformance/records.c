/* Records, which clients write into the arena and read, and cleanups of all languages.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "stage.h"

/* ---- records ---- */

static pile one_pile; /* too large for the stack */

pile *new_pile(void) {
  memset(&one_pile, 0, sizeof one_pile);
  return &one_pile;
}

/* Sizes and alignments that repeat: small ones mostly, a block's worth at times, more than a page rarely. */
void stream(size_t i, uint64_t *size, size_t *align) {
  uint32_t x = (uint32_t)i * 2654435761u + 40503u;
  x ^= x >> 15;
  *size = i % 97 == 96 ? 1600000 : i % 31 == 30 ? 70000 : i % 11 == 10 ? 5000 : x % 200;
  *align = (size_t)1 << (x >> 8) % (i % 13 == 12 ? 13 : 7);
}

void add(pile *l, const conformance_client *c, uint64_t size, size_t align) {
  uint64_t seed = 1000 + l->count;
  conformance_record *r = c->write(arena, l->newest, size, seed, align);
  size_t whole = sizeof *r + (size_t)size;
  const unsigned char *p = (const unsigned char *)r;
  CHECK("4 alloc", r != NULL, "%s gets no %zu bytes at %zu", c->name, whole, align);
  CHECK("M7", ((uintptr_t)p & (align - 1)) == 0 && (uintptr_t)p % 8 == 0, "%s gets %p, not at %zu", c->name,
        (const void *)p, align);
  CHECK("M8", in_source(p, whole), "%s gets what is in no block of the source", c->name);
  size_t disjoint = 0;
  for (size_t i = 0; i < l->count; i++) disjoint += p + whole <= l->at[i] || l->at[i] + l->size[i] <= p;
  CHECK("4 alloc", disjoint == l->count, "%s gets bytes that are in use", c->name);
  CHECK("4 alloc", l->count < RECORDS, "too many records");
  l->at[l->count] = p;
  l->size[l->count++] = whole;
  l->newest = r;
  check_head();
  check_limit();
}

void add_stream(pile *l, const conformance_client *c) {
  uint64_t size;
  size_t align;
  stream(l->next++, &size, &align);
  add(l, c, size, align);
}

/* Each language reads what all of them wrote. */
void check_pile(const pile *l) {
  for (int i = 0; i < client_count; i++) {
    uint64_t whole = clients[i]->read(l->newest);
    CHECK("U5", whole == l->count, "%s finds %llu of %zu records whole", clients[i]->name, (unsigned long long)whole,
          l->count);
  }
}

/* ---- cleanups ---- */

typedef struct registration {
  cleanup_log *log;
  int number;
} registration;

cleanup_log log_of;
static registration registrations[CLEANUPS];

/* Functions of the provider and of clients are below it on the stack: it must not jump. */
static void notify(void *arg) {
  const registration *t = (const registration *)arg;
  cleanup_log *log = t->log;
  if (log->count < CLEANUPS) log->ran[log->count++] = t->number;
  if (arena->limit != arena->cursor || arena->ops->alloc(arena, 8, 8, 0, 0) != NULL ||
      arena->ops->reset(arena, TOFT_KEEP_RECENT, 0) != TOFT_EBUSY)
    log->open = 1;
  if (log->intact != NULL && clients[0]->read(log->intact->newest) != log->intact->count) log->damaged = 1;
}

void start_log(void) { memset(&log_of, 0, sizeof log_of); }

void add_cleanup(const conformance_client *c, int number) {
  registrations[number] = (registration){&log_of, number};
  if (c->cleanup != NULL)
    CHECK("4 cleanup", c->cleanup(arena, notify, &registrations[number]) == 1, "%s cannot register one", c->name);
  else
    CHECK("4 cleanup", arena->ops->cleanup(arena, notify, &registrations[number]) != NULL, "ops cannot register one");
}

void check_log(int count) {
  CHECK("M16", log_of.count == count, "%d cleanups ran, not %d", log_of.count, count);
  for (int i = 0; i < count; i++)
    CHECK("M15", log_of.ran[i] == count - 1 - i, "cleanup %d ran in place of %d", log_of.ran[i], count - 1 - i);
  CHECK("M16", !log_of.open, "the arena is open while a cleanup runs");
  CHECK("4 rewind", !log_of.damaged, "memory was given back before the cleanups ran");
}
