/* The pair, the source, and the arena that is open.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "stage.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "placed_memory.h"

const conformance_provider *provider;
const void *provider_object;
const conformance_client *clients[CLIENTS];
int client_count;
const conformance_client *row, *host;
const char *scenario = "";
jmp_buf failed;
counting source;
toft_arena *arena;

void broken(const char *rule, const char *format, ...) {
  char what[400];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  report_failure(rule, what);
  longjmp(failed, 1);
}

/* ---- the source, which several arenas may use at once ---- */

static pthread_mutex_t source_lock = PTHREAD_MUTEX_INITIALIZER;

static void *take_locked(counting *s, size_t size) {
  s->requests++;
  if (size == 0 || size % 4096 != 0) s->misused = 1;
  if (s->refuses || s->out == BLOCKS) return NULL;
  void *base = placed_memory(size, s->boundary != 0 ? s->boundary : 4096);
  if (base == NULL) return NULL;
  memset(base, 0xA5, size < 1u << 20 ? size : 1u << 20);
  s->base[s->out] = (unsigned char *)base;
  s->size[s->out++] = size;
  s->bytes_taken += size;
  return base;
}

static void put_locked(counting *s, void *block, size_t size) {
  for (size_t i = 0; i < s->out; i++) {
    if (s->base[i] != block || s->size[i] != size) continue;
    page_memory_free(block, size);
    s->out--;
    s->base[i] = s->base[s->out];
    s->size[i] = s->size[s->out];
    s->bytes_given += size;
    return;
  }
  s->misused = 1;
}

static void *take(conformance_source *self, size_t size) {
  pthread_mutex_lock(&source_lock);
  void *block = take_locked((counting *)(void *)self, size);
  pthread_mutex_unlock(&source_lock);
  return block;
}

static void put(conformance_source *self, void *block, size_t size) {
  pthread_mutex_lock(&source_lock);
  put_locked((counting *)(void *)self, block, size);
  pthread_mutex_unlock(&source_lock);
}

void source_start(void) {
  for (size_t i = 0; i < source.out; i++) page_memory_free(source.base[i], source.size[i]); /* a scenario failed */
  memset(&source, 0, sizeof source);
  source.source.take = take;
  source.source.put = put;
}

size_t block_at(const unsigned char *p) {
  for (size_t i = 0; i < source.out; i++)
    if ((uintptr_t)p - (uintptr_t)source.base[i] <= source.size[i]) return i;
  return BLOCKS;
}

int in_source(const unsigned char *p, size_t size) {
  size_t i = block_at(p);
  uintptr_t at = i < BLOCKS ? (uintptr_t)p - (uintptr_t)source.base[i] : 0;
  return at >= 64 && size <= source.size[i] - at; /* M8 */
}

/* ---- the arena of a scenario ---- */

void check_head(void) {
  CHECK("M1", arena->cursor != NULL && arena->cursor <= arena->limit, "cursor %p, limit %p", (void *)arena->cursor,
        (void *)arena->limit);
  CHECK("M1", (uintptr_t)arena->cursor % 8 == 0 && (uintptr_t)arena->limit % 8 == 0, "cursor %p, limit %p",
        (void *)arena->cursor, (void *)arena->limit);
}

void check_limit(void) {
  size_t room = (size_t)(arena->limit - arena->cursor);
  CHECK("M2", room == 0 || in_source(arena->cursor, room), "the %zu bytes up to the limit are in no block", room);
}

toft_stats stats_of(const conformance_client *c) {
  toft_stats s;
  memset(&s, 0, sizeof s);
  if (c->stats != NULL)
    c->stats(arena, &s);
  else
    arena->ops->stats(arena, &s, sizeof s);
  return s;
}

void check_stats(const conformance_client *c) {
  toft_stats s = stats_of(c);
  uint64_t owed = source.bytes_taken - source.bytes_given;
  CHECK("4 stats", s.reserved == owed, "%s reads reserved %llu, and the source is owed %llu", c->name,
        (unsigned long long)s.reserved, (unsigned long long)owed);
  if (provider->memory != SIZE_MAX) return; /* its memory may be the caller's */
  CHECK("4 stats", s.source_calls == source.requests, "%s reads source_calls %llu, not %llu", c->name,
        (unsigned long long)s.source_calls, (unsigned long long)source.requests);
}

/* Each number is at the place where the client's language reads it. */
void check_members(const conformance_client *c) {
  toft_stats s = stats_of(c), real;
  arena->ops->stats(arena, &real, sizeof real);
  CHECK("2",
        s.live == real.live && s.allocated == real.allocated && s.peak == real.peak && s.budget == real.budget &&
            s.reserved == real.reserved && s.wasted == real.wasted && s.blocks == real.blocks &&
            s.source_calls == real.source_calls,
        "%s takes one number of stats for another", c->name);
  CHECK("4 stats", real.live < real.peak && real.peak < real.allocated && real.allocated < real.budget,
        "live %llu, peak %llu, allocated %llu, budget %llu", (unsigned long long)real.live,
        (unsigned long long)real.peak, (unsigned long long)real.allocated, (unsigned long long)real.budget);
}

uint64_t live(void) { return stats_of(row).live; }

void open_arena(uint64_t budget) {
  source_start();
  arena = provider->make(&source.source, budget, 0);
  CHECK("1", arena != NULL, "no arena");
  CHECK("9", arena->ops->version == 1 && arena->ops->size >= sizeof *arena->ops, "version %u, size %u",
        arena->ops->version, arena->ops->size);
  if (provider->policy == 1) CHECK("P2", source.out == 1, "an arena has %zu blocks", source.out);
  check_head();
  check_limit();
  for (int i = 0; i < client_count; i++)
    CHECK("U1", clients[i]->accept == NULL || clients[i]->accept(arena) == TOFT_OK, "%s refuses the arena",
          clients[i]->name);
}

void all_is_back(void) {
  arena = NULL;
  CHECK("4 release", source.out == 0, "%zu blocks were not given back", source.out);
  CHECK("4 release", source.bytes_taken == source.bytes_given, "%llu bytes taken, %llu given back",
        (unsigned long long)source.bytes_taken, (unsigned long long)source.bytes_given);
  CHECK("4 release", !source.misused, "the source got an invalid size, or a block that it did not grant");
}

void close_arena(void) {
  provider->release(arena);
  all_is_back();
}

/* ---- the clients' calls, or ops where a package has none ---- */

int rewind_by(const conformance_client *c, toft_mark m) {
  int code = c->rewind != NULL ? c->rewind(arena, m) : TOFT_ENOSYS;
  return code == TOFT_ENOSYS ? arena->ops->rewind(arena, m.cursor, m.epoch) : code;
}

int reset_by(const conformance_client *c) {
  return c->reset != NULL ? c->reset(arena) : arena->ops->reset(arena, TOFT_KEEP_RECENT, 0);
}

int budget_by(const conformance_client *c, uint64_t bytes) {
  return c->budget != NULL ? c->budget(arena, bytes) : arena->ops->set(arena, TOFT_SET_BUDGET, bytes, NULL, 0);
}
