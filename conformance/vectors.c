/* Plays abi/vectors on one provider's arenas by the calls of one client's package, and by ops where it has none.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "driver.h"
#include "placed_memory.h"
#include "report.h"
#include "vector_player.h"

TOFT_STATIC_ASSERT(needs, VEC_NEEDS_RESIZE == (int)CONFORMANCE_RESIZE && VEC_NEEDS_FREE == (int)CONFORMANCE_FREE &&
                              VEC_NEEDS_CLEANUP == (int)CONFORMANCE_CLEANUP &&
                              VEC_NEEDS_CLAIM == (int)CONFORMANCE_CLAIM && VEC_NEEDS_BUDGET == (int)CONFORMANCE_BUDGET);

static const conformance_provider *provider;
static const conformance_client *client;
static long own, all;

/* Whether the client has such a call; counts both. */
static int mine(int can) {
  all++;
  own += can;
  return can;
}

/* Alignments that are no power of two are for ops alone (section 13). */
static int is_power(size_t align) { return align != 0 && (align & (align - 1)) == 0; }

/* ---- the provider's side ---- */

static vector_source *real;

static void *take(conformance_source *self, size_t size) {
  (void)self;
  return real->take(real, size);
}

static void put(conformance_source *self, void *block, size_t size) {
  (void)self;
  real->put(real, block, size);
}

static toft_arena *make(vector_source *source, uint64_t budget, size_t reserve) {
  static conformance_source adapter = {take, put};
  real = source;
  toft_arena *a = provider->make(&adapter, budget, reserve);
  if (a != NULL && client->accept != NULL && client->accept(a) != TOFT_OK) abort(); /* a scenario has printed why */
  return a;
}

/* ---- the client's side ---- */

static void *alloc(toft_arena *a, size_t n, size_t align, int zero) {
  if (zero && mine(client->zeroed != NULL && is_power(align))) return client->zeroed(a, n, align);
  if (!zero && mine(is_power(align))) return client->alloc(a, n, align);
  return a->ops->alloc(a, n, align, zero ? TOFT_ZERO : 0, 0);
}

static void *resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags) {
  if (mine(client->resize != NULL && flags == 0 && is_power(align))) return client->resize(a, p, old, n, align);
  return a->ops->resize(a, p, old, n, align, flags, 0);
}

static void give_back(toft_arena *a, void *p, size_t n) {
  if (mine(client->free != NULL && n >= client->free_calls_from))
    client->free(a, p, n);
  else if (a->ops->free != NULL)
    a->ops->free(a, p, n);
}

static toft_mark mark(toft_arena *a) {
  mine(1);
  return client->mark(a);
}

static int rewind_to(toft_arena *a, toft_mark m) {
  mine(1);
  return client->rewind(a, m);
}

static int reset(toft_arena *a, uint32_t policy, size_t keep) {
  if (mine(client->reset != NULL && policy == TOFT_KEEP_RECENT)) return client->reset(a);
  return a->ops->reset(a, policy, keep);
}

static void trim(toft_arena *a, size_t keep) {
  if (mine(client->trim != NULL))
    client->trim(a, keep);
  else
    a->ops->trim(a, keep);
}

static int budget(toft_arena *a, uint64_t bytes) {
  if (mine(client->budget != NULL)) return client->budget(a, bytes);
  return a->ops->set(a, TOFT_SET_BUDGET, bytes, NULL, 0);
}

/* The node is the newest allocation (P17). */
static toft_cleanup *register_cleanup(toft_arena *a, void (*fn)(void *), void *arg) {
  if (!mine(client->cleanup != NULL && client->node_alone)) return a->ops->cleanup(a, fn, arg);
  if (!client->cleanup(a, fn, arg)) return NULL;
  return (toft_cleanup *)(void *)(a->cursor - 4 * sizeof(void *));
}

/* Packages claim for the length of a block of code, and the vectors mix claims with everything. */
static void *claim(toft_arena *a, toft_range *range, size_t n, size_t align) {
  mine(0);
  return a->ops->claim(a, range, n, align);
}

static int give(toft_arena *a, toft_range *range) {
  mine(0);
  return a->ops->give(a, range);
}

static void stats(toft_arena *a, toft_stats *out) {
  if (client->stats != NULL)
    client->stats(a, out);
  else
    a->ops->stats(a, out, sizeof *out);
}

/* ---- all of them ---- */

/* The table's calls alone, as of a package that has no others. */
static void *table_alloc(toft_arena *a, size_t size, size_t align) { return a->ops->alloc(a, size, align, 0, 0); }
static int table_rewind(toft_arena *a, toft_mark m) { return a->ops->rewind(a, m.cursor, m.epoch); }

/* The operation of section 4 that gave a wrong answer. */
static const char *rule_of(enum vec_kind kind) {
  switch (kind) {
    case VEC_ALLOC:
    case VEC_ALLOCS: return "4 alloc";
    case VEC_RESIZE: return "4 resize";
    case VEC_FREE: return "4 free";
    case VEC_MARK:
    case VEC_REWIND: return "4 rewind";
    case VEC_REWIND_RAW: return "M14";
    case VEC_RESET: return "4 reset";
    case VEC_TRIM: return "4 trim";
    case VEC_BUDGET:
    case VEC_SET_UNKNOWN: return "4 set";
    case VEC_CLEANUP:
    case VEC_CANCEL: return "4 cleanup";
    case VEC_CLAIM:
    case VEC_CLAIM_PAST:
    case VEC_FILL:
    case VEC_COPY: return "4 claim";
    case VEC_GIVE:
    case VEC_GIVE_PAST: return "4 give";
    default: return "4 release"; /* the operations were right */
  }
}

static int is_played(const vec *v) {
  return (v->policy == 0 || (uint32_t)v->policy == provider->policy) && v->memory <= provider->memory &&
         (v->needs & ~provider->supports) == 0 && wanted(v, NULL);
}

/* Each vector, by one binding. The first difference of each rule is reported. */
static int play_vectors(const binding *h) {
  int played = 0;
  const char *reported[16] = {NULL};
  for (size_t i = 0; i < COUNT; i++) {
    if (!is_played(&vectors[i])) continue;
    played++;
    for (uint32_t k = 0; k < vectors[i].count; k++) checked(rule_of(vectors[i].ops[k].kind));
    const char *difference = outcome(&vectors[i], h), *rule = difference != NULL ? rule_of(wrong_kind) : NULL;
    size_t n = 0;
    while (rule != NULL && reported[n] != NULL && reported[n] != rule) n++;
    if (rule == NULL || reported[n] != NULL) continue;
    report_failure(reported[n] = rule, difference);
  }
  return played;
}

void conformance_play(const conformance_provider *p, const conformance_client *c, int ways) {
  int played = 0;
  provider = p;
  own = all = 0;
  const conformance_client by_table = {.name = "ops", .alloc = table_alloc, .mark = c->mark, .rewind = table_rewind};
  for (int way = 0; way < ways; way++) {
    static const char *const names[] = {"inline", "quiet", "ops"};
    int quiet = way % 3 == 1;
    client = way % 3 == 2 ? &by_table : c;
    const binding h = {.name = names[way % 3],
                       .quiet = quiet,
                       .make = make,
                       .release = p->release,
                       .alloc = alloc,
                       .resize = resize,
                       .free = give_back,
                       .mark = mark,
                       .rewind = rewind_to,
                       .reset = reset,
                       .trim = trim,
                       .budget = budget,
                       .cleanup = register_cleanup,
                       .claim = claim,
                       .give = give,
                       .stats = stats};
    placed = way % 2 == 0 ? FALLING : RISING;
    played += play_vectors(&h);
  }
  printf("vectors %d own %ld of %ld\n", played, own, all);
}
