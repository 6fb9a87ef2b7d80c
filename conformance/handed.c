/* Arenas that pass from thread to thread and from language to language: one makes or leases an arena, another one fills
 * it, a third one reads and resets it and ends it, or passes it back to the first one's language, which ends the lease.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "stage.h"

enum { MAKE, FILL, READ, END, STEPS, ARENAS = 4, RECORDS_OF_EACH = 7 };

typedef struct handed {
  toft_arena *arena;
  uint64_t key; /* of its lease */
  const conformance_record *newest;
  uint64_t count;    /* of records */
  size_t number;     /* of the arena */
  int step;          /* the next one; by the lock */
  int cleanups, ran; /* ran: written on the thread that resets */
} handed;

/* The arenas on their way. `step` and `wrong` change under the lock; an arena belongs to the thread that received it
 * last. The rest is written before the threads start. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  const conformance_client *by[STEPS]; /* END: NULL unless they are leased */
  handed arenas[ARENAS];
  char wrong[256]; /* what the first step that failed found */
} line = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

__attribute__((format(printf, 1, 2))) static void found(const char *format, ...) {
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&line.lock);
  if (line.wrong[0] == 0) vsnprintf(line.wrong, sizeof line.wrong, format, args);
  pthread_mutex_unlock(&line.lock);
  va_end(args);
}

/* `broken` ends a scenario on the driver's thread only; a step reports its failure, and ends. */
#define STEP(condition, ...) \
  do {                       \
    if (!(condition)) {      \
      found(__VA_ARGS__);    \
      return;                \
    }                        \
  } while (0)

static const conformance_record *write_one(handed *h, const conformance_client *c, size_t size, size_t align) {
  const conformance_record *r = c->write(h->arena, h->newest, size, h->number * 1000 + h->count, align);
  if (r == NULL || (uintptr_t)r % align != 0) return NULL;
  h->newest = r;
  h->count++;
  return r;
}

static void fill(handed *h, const conformance_client *c) {
  toft_arena *a = h->arena;
  /* An empty arena may have no room. */
  STEP(write_one(h, c, 100, 8) != NULL, "%s is refused the first record", c->name);
  const unsigned char *was = a->cursor, *limit = a->limit;
  size_t more = (size_t)(limit - was) + 8;
  STEP(more >= 64 || provider->policy != 1, "an arena with one record has no room");
  const unsigned char *r = (const unsigned char *)write_one(h, c, 8, 8);
  STEP(more < 64 || (r == was && a->cursor == was + (sizeof(conformance_record) + 15) / 8 * 8),
       "%s does not allocate inline", c->name);
  if (more < 1 << 20) {
    unsigned char *p = (unsigned char *)c->alloc(a, more, 8);
    STEP(p != NULL && (p < was || p >= limit || provider->policy != 1), "%s gets %p, and the slow path has to serve it",
         c->name, (void *)p);
    p[0] = p[more - 1] = 1;
  }
  for (size_t i = 0; i < RECORDS_OF_EACH; i++) {
    uint64_t size;
    size_t align;
    stream(h->number * RECORDS_OF_EACH + i, &size, &align);
    STEP(write_one(h, c, (size_t)size, align) != NULL, "%s is refused record %zu", c->name, i);
  }
}

static void read_all(handed *h, const conformance_client *c) {
  uint64_t whole = c->read(h->newest);
  STEP(whole == h->count, "%s finds %llu of %llu records whole", c->name, (unsigned long long)whole,
       (unsigned long long)h->count);
}

static void notify(void *arg) { ((handed *)arg)->ran++; }

static void step(handed *h, int number) {
  const conformance_client *c = line.by[number];
  toft_stats s;
  int code, new_to_it = 1;
  int own = (provider->supports & CONFORMANCE_OWN_MEMORY) != 0 && h->number % 2 == 0;
  if (number == MAKE)
    h->arena = line.by[END] != NULL ? c->lease(&h->key) : provider->make(own ? NULL : &source.source, UINT64_MAX, 0);
  STEP(h->arena != NULL, "no arena");
  for (int i = MAKE; i < number; i++) new_to_it &= line.by[i] != c;
  STEP(!new_to_it || c->accept == NULL || c->accept(h->arena) == TOFT_OK, "%s refuses the arena", c->name);
  switch (number) {
    case MAKE: STEP(write_one(h, c, 100, 8) != NULL, "%s is refused the first record", c->name); break;
    case FILL:
      fill(h, c);
      /* A cleanup is a call of the language that registered it, on the thread that resets. */
      if (c->cleanup == NULL || (c == host && line.by[READ] != host)) break;
      if (line.by[END] == NULL && (provider->supports & CONFORMANCE_CLEANUP) == 0) break;
      h->cleanups = c->cleanup(h->arena, notify, h);
      STEP(h->cleanups == 1, "%s cannot register a cleanup", c->name);
      break;
    case READ:
      read_all(h, c);
      code = c->reset != NULL ? c->reset(h->arena) : h->arena->ops->reset(h->arena, TOFT_KEEP_RECENT, 0);
      STEP(code == TOFT_OK && h->ran == h->cleanups, "%s resets with %d, and %d cleanups run", c->name, code, h->ran);
      h->arena->ops->stats(h->arena, &s, sizeof s);
      STEP(s.live == 0, "%llu bytes are live after a reset", (unsigned long long)s.live);
      h->newest = NULL;
      h->count = 0;
      fill(h, c);
      read_all(h, c);
      if (line.by[END] != NULL) break;
      code = c->release != NULL ? c->release(h->arena) : (h->arena->ops->release(h->arena), TOFT_OK);
      STEP(code == TOFT_OK, "%s releases with %d", c->name, code);
      break;
    default: code = c->end_lease(h->arena, h->key); STEP(code == TOFT_OK, "%s ends its lease with %d", c->name, code);
  }
}

/* The steps of this mask, for each arena when its previous step is done. */
static void *work(void *mask) {
  for (int i = 0; i < ARENAS; i++)
    for (int s = MAKE; s < STEPS; s++) {
      if (((uintptr_t)mask >> s & 1) == 0) continue;
      handed *h = &line.arenas[i];
      pthread_mutex_lock(&line.lock);
      while (h->step != s) pthread_cond_wait(&line.moved, &line.lock);
      int wrong = line.wrong[0] != 0;
      pthread_mutex_unlock(&line.lock);
      if (!wrong) step(h, s);
      pthread_mutex_lock(&line.lock);
      h->step++;
      pthread_cond_broadcast(&line.moved);
      pthread_mutex_unlock(&line.lock);
    }
  return NULL;
}

/* A thread for each step. ends: each thread has ended before the next one starts; otherwise all run at once, and each
 * arena is passed on under the lock while the others are made, filled and released. The host's steps run here. */
static void pass_on(const conformance_client *first, const conformance_client *filler, const conformance_client *reader,
                    int leased, int ends) {
  pthread_t threads[STEPS];
  uintptr_t here = 0, started = 0;
  const conformance_client *by[STEPS] = {first, filler, reader, leased ? first : NULL};
  line.wrong[0] = 0;
  for (size_t i = 0; i < ARENAS; i++) line.arenas[i] = (handed){.number = i};
  for (int s = MAKE; s < STEPS; s++) line.by[s] = by[s];
  for (int s = MAKE; s < STEPS; s++) {
    uintptr_t one = (uintptr_t)1 << s;
    if (by[s] == NULL) continue;
    if (by[s] == host) {
      here |= one;
      if (ends) (void)work((void *)one);
    } else {
      int refused = pthread_create(&threads[s], NULL, work, (void *)one);
      CHECK("7", refused == 0, "no thread");
      started |= one;
      if (ends) (void)pthread_join(threads[s], NULL);
    }
  }
  if (!ends) {
    (void)work((void *)here);
    for (int s = MAKE; s < STEPS; s++)
      if (started >> s & 1) (void)pthread_join(threads[s], NULL);
  }
  CHECK("7", line.wrong[0] == 0, "%s arena of %s, filled by %s, read by %s, %s: %s", leased ? "leased" : "new",
        first->name, filler->name, reader->name, ends ? "after the thread's end" : "by a lock", line.wrong);
}

/* All in which the row takes a part. The provider's arenas are made by its own language. */
void threads_hand_over(void) {
  const conformance_client *own = row;
  source_start();
  for (int i = 0; i < client_count; i++)
    if (strcmp(clients[i]->name, provider->name) == 0) own = clients[i];
  for (int m = -1; m < client_count; m++)
    for (int f = 0; f < client_count; f++)
      for (int r = 0; r < client_count; r++)
        for (int ends = 0; ends < 2; ends++) {
          const conformance_client *first = m < 0 ? own : clients[m];
          if (m >= 0 && first->lease == NULL) continue;
          if (first == row || clients[f] == row || clients[r] == row)
            pass_on(first, clients[f], clients[r], m >= 0, ends);
        }
  all_is_back();
  CHECK("4 release", provider->kept() == 0, "%zu bytes are kept for good", provider->kept());
}
