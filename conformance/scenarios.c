/* Scenarios of one arena in all languages.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "driver.h"
#include "stage.h"

void all_fill_and_read(void) {
  open_arena(UINT64_MAX);
  pile *l = new_pile();
  for (int i = 0; i < 300; i++) add_stream(l, i % 2 == 0 ? row : clients[i / 2 % client_count]);
  check_pile(l);
  toft_stats s = stats_of(row);
  uint64_t least = 0;
  int contains = row->contains != NULL && arena->ops->contains(arena, NULL) >= 0;
  for (size_t i = 0; i < l->count; i++) {
    least += (l->size[i] + 7) / 8 * 8;
    if (contains) CHECK("4 contains", row->contains(arena, l->at[i]) == 1, "an allocation is not contained");
  }
  if (contains) CHECK("4 contains", row->contains(arena, &least) == 0, "the stack is contained");
  int as_policy = provider->policy != 1 || (s.blocks == source.out && source.out > 4);
  CHECK("4 stats", s.live >= least && s.live <= s.reserved && as_policy,
        "live %llu of %llu in %llu blocks, and %llu were allocated in %zu", (unsigned long long)s.live,
        (unsigned long long)s.reserved, (unsigned long long)s.blocks, (unsigned long long)least, source.out);
  for (int i = 0; i < client_count; i++) check_stats(clients[i]);
  if (row->zeroed != NULL) {
    unsigned char *p = (unsigned char *)row->zeroed(arena, 9000, 32);
    size_t zeroes = 0;
    while (p != NULL && zeroes < 9000 && p[zeroes] == 0) zeroes++;
    CHECK("4 alloc", zeroes == 9000, "byte %zu is not zeroed", zeroes);
  }
  close_arena();
}

/* The row marks, another fills, a third registers, a fourth rewinds. */
void marks_pass_languages(void) {
  open_arena(UINT64_MAX);
  pile *l = new_pile();
  for (int i = 0; i < 5; i++) add_stream(l, row);
  size_t kept = l->count;
  const conformance_record *newest = l->newest;
  uint64_t before = live();
  for (int fills = 0; fills < client_count; fills++)
    for (int registers = 0; registers < client_count; registers++)
      for (int rewinds = 0; rewinds < client_count || rewinds < 2; rewinds++) { /* twice: allocated is above peak */
        const conformance_client *rewinder = clients[rewinds % client_count];
        start_log();
        toft_mark m = row->mark(arena);
        add(l, clients[fills], 100, 8);
        add_cleanup(clients[registers], 0);
        add(l, clients[fills], 5000, 64); /* in another block */
        add_cleanup(clients[(registers + 1) % client_count], 1);
        log_of.intact = l;
        int code = rewind_by(rewinder, m);
        CHECK("M14", code == TOFT_OK, "%s rewinds with %d", rewinder->name, code);
        check_log(2);
        CHECK("M15", arena->cursor == m.cursor, "the cursor is %+ld", (long)(arena->cursor - m.cursor));
        CHECK("4 stats", live() == before, "live is %llu, not %llu", (unsigned long long)live(),
              (unsigned long long)before);
        l->count = kept;
        l->newest = newest;
      }
  check_pile(l);
  if (provider->supports & CONFORMANCE_BUDGET) {
    CHECK("4 set", budget_by(row, 1000000000) == TOFT_OK, "no budget");
    for (int i = 0; i < client_count; i++) check_members(clients[i]);
  }
  close_arena();
}

/* Refused by the budget, or by the source: the arena is as it was. */
static void check_refused(const conformance_client *c, size_t size) {
  toft_arena was = {arena->cursor, arena->ops, arena->limit, arena->epoch};
  toft_stats s = stats_of(c);
  CHECK("6", c->alloc(arena, size, 8) == NULL, "%s gets %zu bytes that were refused", c->name, size);
  CHECK("6", c->write(arena, NULL, size, 1, 64) == NULL, "%s gets a record that was refused", c->name);
  int same = arena->cursor == was.cursor && arena->ops == was.ops;
  if (provider->policy == 1) same &= arena->limit == was.limit && arena->epoch == was.epoch;
  CHECK("M5", same, "a refusal changed the head");
  toft_stats now = stats_of(c);
  CHECK("M5", now.live == s.live && now.blocks == s.blocks && now.reserved == s.reserved,
        "a refusal changed the arena");
  CHECK("6", c->alloc(arena, 0, 8) != NULL, "%s is refused 0 bytes", c->name);
}

void budgets_bind_all(void) {
  open_arena(UINT64_MAX);
  pile *l = new_pile();
  for (int i = 0; i < client_count; i++) {
    const conformance_client *c = clients[i];
    add(l, row, 64, 8);
    int code = budget_by(row, live() + 1600);
    CHECK("4 set", code == TOFT_OK, "%s sets a budget with %d", row->name, code);
    for (int k = 0; k < 100; k++)
      CHECK("6", c->alloc(arena, 16, 8) != NULL, "%s is refused 16 bytes after %d of 1600", c->name, 16 * k);
    check_refused(c, 1);
    check_refused(row, 1);
    CHECK("4 set", budget_by(c, UINT64_MAX) == TOFT_OK && row->alloc(arena, 16, 8) != NULL, "a lifted budget holds");
  }
  check_pile(l);
  close_arena();
}

void sources_refuse_all(void) {
  open_arena(UINT64_MAX);
  pile *l = new_pile();
  for (int i = 0; i < client_count; i++) {
    add(l, row, 3000, 8);
    source.refuses = 1;
    uint64_t asked = source.requests;
    check_refused(clients[i], 2000000);
    CHECK("M10", source.requests > asked, "the source was not called");
    source.refuses = 0;
    add(l, clients[i], 2000000, 8);
  }
  check_pile(l);
  close_arena();
}

static pile *beside;
static int served, refused;
static toft_mark before_claim;

static void use_during_claim(void *arg) {
  (void)arg;
  refused = arena->limit == arena->cursor && (arena->epoch & 1) != 0 && rewind_by(row, before_claim) == TOFT_EBUSY;
  for (int i = 0; i < client_count; i++) {
    conformance_record *r = clients[i]->write(arena, beside->newest, 50, 1000 + beside->count, 8);
    if (r == NULL) return;
    beside->newest = r;
    beside->count++;
    served++;
  }
}

/* Each client that can claims; all are served outside the range. */
void claims_hold(void) {
  open_arena(UINT64_MAX);
  for (int i = 0; i < client_count; i++) {
    const conformance_client *c = clients[i];
    if (c->claimed == NULL) continue;
    beside = new_pile();
    served = refused = 0;
    before_claim = row->mark(arena);
    conformance_record *list = c->claimed(arena, NULL, 300, 7, use_during_claim, NULL); /* more than a block has */
    CHECK("4 claim", list != NULL, "%s cannot claim", c->name);
    CHECK("M17", refused, "the arena is open while %s holds a claim", c->name);
    CHECK("P14", served == client_count, "%d clients were served beside the claim of %s", served, c->name);
    CHECK("M17", (arena->epoch & 1) == 0 || (provider->supports & CONFORMANCE_INSTRUMENTED) != 0, "%s did not give",
          c->name);
    check_pile(beside);
    uint64_t seed = 7 + 300;
    for (const conformance_record *r = list; r != NULL; r = r->older) {
      CHECK("U12", r->seed == --seed && r->size == 0, "what %s wrote into its claim was overwritten", c->name);
      CHECK("M8", in_source((const unsigned char *)r, sizeof *r), "the claim of %s is in no block", c->name);
    }
    CHECK("4 claim", seed == 7, "%llu records are missing", (unsigned long long)(seed - 7));
    CHECK("4 reset", reset_by(row) == TOFT_OK && live() == 0, "live is %llu after a reset", (unsigned long long)live());
  }
  close_arena();
}

/* One of each client, if the provider supports them. Returns their number. */
static int add_cleanups(void) {
  int count = provider->supports & CONFORMANCE_CLEANUP ? client_count : 0;
  for (int i = 0; i < count; i++) add_cleanup(clients[i], i);
  return count;
}

void resets_and_trims(void) {
  open_arena(UINT64_MAX);
  uint64_t calls = 0;
  for (int round = 0; round < 20; round++) {
    pile *l = new_pile();
    start_log();
    toft_mark m = row->mark(arena);
    for (int i = 0; i < 40; i++) add_stream(l, clients[(round + i) % client_count]);
    int cleanups = add_cleanups();
    if (round % 5 == 0) check_pile(l);
    log_of.intact = l;
    int code = reset_by(row);
    CHECK("4 reset", code == TOFT_OK, "%s resets with %d", row->name, code);
    check_log(cleanups);
    CHECK("4 reset", live() == 0, "live is %llu", (unsigned long long)live());
    for (int i = 0; i < client_count; i++) {
      code = rewind_by(clients[i], m);
      CHECK("M14", code == TOFT_EMARK, "%s rewinds to before a reset with %d", clients[i]->name, code);
    }
    if (round == 9) calls = source.requests;
  }
  if (provider->policy == 1) CHECK("P10", source.requests == calls, "equal rounds still call the source");
  check_stats(row);
  if (row->trim != NULL)
    row->trim(arena, 0);
  else
    arena->ops->trim(arena, 0);
  if (provider->policy == 1)
    CHECK("P13", source.out == 1 && source.size[0] == 4096, "%zu blocks are left of an empty arena", source.out);
  check_stats(row);
  pile *l = new_pile();
  for (int i = 0; i < 40; i++) add_stream(l, clients[i % client_count]);
  check_pile(l);
  close_arena();
}

static void use_another(void *arg) {
  toft_arena *other = (toft_arena *)arg;
  unsigned char *p = (unsigned char *)other->ops->alloc(other, 5000, 64, TOFT_ZERO, 0);
  served = p != NULL && p[4999] == 0 && other->ops->reset(other, TOFT_KEEP_ALL, 0) == TOFT_OK;
  other->ops->release(other);
}

/* Blocks on a boundary of 65536: the first byte of 131072 is 128, so 16384 needs 16256 bytes of padding, not the 3968
 * of a base that is a multiple of 4096. The block is a spare then, and the epoch has grown. */
void refusals_come_late(void) {
  open_arena(UINT64_MAX);
  source.boundary = 65536;
  CHECK("4 alloc", row->alloc(arena, 8, 8) != NULL, "no memory");
  toft_mark m = row->mark(arena);
  CHECK("4 set", budget_by(row, live() + 10000) == TOFT_OK, "no budget");
  for (int i = 0; i < 2; i++) {
    uint64_t before = live(), requests = source.requests;
    uintptr_t epoch = arena->epoch;
    unsigned char *cursor = arena->cursor;
    CHECK("P9", row->alloc(arena, 1000, 16384) == NULL, "%s exceeds the budget by its padding", row->name);
    CHECK("P12", source.requests == requests + (i == 0), "%llu calls of the source, before %llu",
          (unsigned long long)source.requests, (unsigned long long)requests);
    CHECK("P9", arena->epoch == epoch + 2, "the epoch grew by %llu at a late refusal",
          (unsigned long long)(arena->epoch - epoch));
    CHECK("M5", live() == before && arena->cursor == cursor, "a refusal changed the arena");
  }
  CHECK("P12", stats_of(row).reserved == 4096 + 131072, "the block that came is not a spare: %llu bytes",
        (unsigned long long)stats_of(row).reserved);
  CHECK("4 set", budget_by(row, live() + 20000) == TOFT_OK, "no budget");
  uint64_t requests = source.requests;
  unsigned char *p = (unsigned char *)row->alloc(arena, 1000, 16384);
  CHECK("P12", p != NULL && ((uintptr_t)p & 16383) == 0 && source.requests == requests, "the spare does not serve");
  CHECK("M14", rewind_by(row, m) == TOFT_OK && live() == 8, "a refusal made a mark stale");

  CHECK("4 set", budget_by(row, UINT64_MAX) == TOFT_OK, "no budget");
  m = row->mark(arena);
  CHECK("4 alloc", row->alloc(arena, 300000, 8) != NULL, "no memory");
  uintptr_t epoch = arena->epoch;
  CHECK("M14", rewind_by(row, m) == TOFT_OK, "a mark is stale");
  CHECK("M11", arena->epoch == epoch, "the epoch grew at a rewind within one block");
  close_arena();
}

/* Between operations; during one `live` may differ. Dedicated blocks have no padding, so the numbers are known. */
void peaks_are_exact(void) {
  open_arena(UINT64_MAX);
  void *x = row->alloc(arena, 100, 8);
  void *y = arena->ops->alloc(arena, 300000, 8, 0, 0);
  CHECK("4 alloc", x != NULL && y != NULL, "no memory");
  if (row->free != NULL) /* inline */
    row->free(arena, x, 100);
  else
    arena->ops->free(arena, x, 100);
  toft_stats s = stats_of(row);
  CHECK("4 stats", s.live == 300000 && s.peak == 300104, "live %llu, peak %llu after a free",
        (unsigned long long)s.live, (unsigned long long)s.peak);
  y = arena->ops->resize(arena, y, 300000, 600000, 8, 0, 0);
  s = stats_of(row);
  CHECK("4 stats", y != NULL && s.live == 600000 && s.peak == 600000, "live %llu, peak %llu after a move",
        (unsigned long long)s.live, (unsigned long long)s.peak);
  y = arena->ops->resize(arena, y, 600000, 1000, 4096, 0, 0);
  s = stats_of(row);
  CHECK("4 stats", y != NULL && s.live == 4032 + 1000 && s.peak == 600000, "live %llu, peak %llu after a move down",
        (unsigned long long)s.live, (unsigned long long)s.peak);
  close_arena();
}

/* A cleanup uses and releases another arena of the same provider: closed is an arena's own state. */
void cleanups_use_others(void) {
  open_arena(UINT64_MAX);
  size_t own = source.out;
  toft_arena *other = provider->make(&source.source, UINT64_MAX, 0);
  CHECK("1", other != NULL, "no second arena");
  toft_mark m = row->mark(arena);
  CHECK("4 cleanup", arena->ops->cleanup(arena, use_another, other) != NULL, "ops cannot register one");
  served = 0;
  CHECK("7", rewind_by(row, m) == TOFT_OK && served, "another arena is closed in a cleanup");
  CHECK("4 release", source.out <= own + 1, "%zu blocks are left", source.out);
  close_arena();
}

/* Ends it as the row's language does. */
static void release_by_row(void) {
  if (row->release == NULL) {
    arena->ops->release(arena);
    return;
  }
  int code = row->release(arena);
  CHECK("4 release", code == TOFT_OK, "%s releases with %d", row->name, code);
}

void clients_release(void) {
  open_arena(UINT64_MAX);
  pile *l = new_pile();
  start_log();
  for (int i = 0; i < 100; i++) add_stream(l, clients[i % client_count]);
  int cleanups = add_cleanups();
  log_of.intact = l;
  release_by_row();
  check_log(cleanups);
  all_is_back();
}

/* Not the driver's source but the provider's memory, with its caches. */
void providers_own_memory(void) {
  for (int round = 0; round < 3; round++) {
    source_start();
    arena = provider->make(NULL, UINT64_MAX, 0);
    CHECK("1", arena != NULL, "no arena");
    for (int i = 0; i < client_count; i++)
      CHECK("U1", clients[i]->accept == NULL || clients[i]->accept(arena) == TOFT_OK, "%s refuses the arena",
            clients[i]->name);
    const conformance_record *newest = NULL;
    for (uint64_t i = 0; i < 400; i++) {
      uint64_t size;
      size_t align;
      stream(i, &size, &align);
      newest = clients[i % (uint64_t)client_count]->write(arena, newest, size, i, align);
      CHECK("4 alloc", newest != NULL, "no memory");
    }
    for (int i = 0; i < client_count; i++)
      CHECK("U5", clients[i]->read(newest) == 400, "%s finds records damaged", clients[i]->name);
    release_by_row();
    arena = NULL;
    CHECK("4 release", provider->kept() == 0, "%zu bytes are kept for good", provider->kept());
  }
}

#if defined(__GNUC__)
#define UNINSTRUMENTED __attribute__((noinline, no_sanitize_address))
#else
#define UNINSTRUMENTED
#endif

/* Not instrumented, since the provider may have poisoned the byte, and AddressSanitizer would end the program. */
static UNINSTRUMENTED void write_behind(unsigned char *p, size_t size) { p[size] ^= 0x55; }

/* Each client writes out of bounds in a checked arena; the row's call reports it. */
void checks_find_faults(void) {
  for (int i = 0; i < client_count; i++) {
    open_arena(UINT64_MAX);
    int code = row->checked != NULL ? row->checked(arena, 1) : arena->ops->set(arena, TOFT_SET_CHECKED, 1, NULL, 0);
    CHECK("6", code == TOFT_OK && arena->limit == arena->cursor, "%s switches checks on with %d", row->name, code);
    toft_mark m = row->mark(arena);
    conformance_record *r = clients[i]->write(arena, NULL, 64, 3, 8);
    CHECK("4 alloc", r != NULL && clients[i]->read(r) == 1, "%s cannot fill a checked arena", clients[i]->name);
    CHECK("6", row->rewind(arena, m) == TOFT_OK, "damage where there is none");
    r = clients[i]->write(arena, NULL, 64, 3, 8);
    CHECK("4 alloc", r != NULL, "%s cannot fill a checked arena", clients[i]->name);
    write_behind((unsigned char *)(r + 1), 64);
    code = row->rewind(arena, m);
    CHECK("6", code == TOFT_ECORRUPT, "%s gets no report of a byte written behind what %s allocated: %d", row->name,
          clients[i]->name, code);
    CHECK("6", live() == 0, "the rewind did not do its work");
    close_arena();
  }
}
