/* What all scenarios use: the pair, checks that name a rule, a source that counts, the open arena, records that one
 * language writes and others read, and a log of cleanups.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORMANCE_STAGE_H
#define CONFORMANCE_STAGE_H
#include <setjmp.h>

#include "conformance.h"
#include "report.h"

enum { CLIENTS = 8, BLOCKS = 4096, RECORDS = 4096, CLEANUPS = 64 };

/* ---- the pair ---- */

extern const conformance_provider *provider;
extern const void *provider_object; /* where the loader put it */
extern const conformance_client *clients[CLIENTS];
extern int client_count;
extern const conformance_client *row;  /* the client that the pair is about */
extern const conformance_client *host; /* the client that is the process, entered on its main thread only; or NULL */

/* ---- checks ---- */

extern const char *scenario;
extern jmp_buf failed; /* the end of a scenario that broke a rule */

/* Prints the rule and ends the scenario. Not to be called with a provider's or client's function on the stack. */
__attribute__((noreturn, format(printf, 2, 3))) void broken(const char *rule, const char *format, ...);

#define CHECK(rule, condition, ...)              \
  do {                                           \
    checked(rule);                               \
    if (!(condition)) broken(rule, __VA_ARGS__); \
  } while (0)

/* ---- the source ---- */

typedef struct counting {
  conformance_source source; /* first, so that its address is that of all of it */
  unsigned char *base[BLOCKS];
  size_t size[BLOCKS], out;
  uint64_t requests, bytes_taken, bytes_given; /* requests: the refused ones too */
  size_t boundary;                             /* blocks are on a boundary of this; 0: of 4096 */
  int refuses, misused; /* misused: it got back a block that it did not grant, or an invalid size */
} counting;

extern counting source;

void source_start(void);
int in_source(const unsigned char *p, size_t size); /* are these bytes such as a block may hand out? */
size_t block_at(const unsigned char *p);            /* the number of the block that p is in; BLOCKS: in none */

/* ---- the arena of a scenario ---- */

extern toft_arena *arena;

void open_arena(uint64_t budget); /* on the source; shown to all clients */
void close_arena(void);           /* released by its provider; then as all_is_back */
void all_is_back(void);           /* after a client's release */
void check_head(void);
void check_limit(void); /* of an arena on the source */
void check_stats(const conformance_client *c);
void check_members(const conformance_client *c);
toft_stats stats_of(const conformance_client *c);
uint64_t live(void);

/* A client's call, or that of ops where the package has none. */
int rewind_by(const conformance_client *c, toft_mark m);
int reset_by(const conformance_client *c);
int budget_by(const conformance_client *c, uint64_t bytes);

/* ---- records ---- */

typedef struct pile {
  const conformance_record *newest;
  size_t count, next; /* next: which numbers the stream is at */
  const unsigned char *at[RECORDS];
  size_t size[RECORDS];
} pile;

pile *new_pile(void); /* empty; there is one */
void stream(size_t i, uint64_t *size, size_t *align);
void add(pile *l, const conformance_client *c, uint64_t size, size_t align);
void add_stream(pile *l, const conformance_client *c);
void check_pile(const pile *l); /* each language reads what all of them wrote */

/* ---- cleanups ---- */

typedef struct cleanup_log {
  int ran[CLEANUPS], count;
  int open;           /* the arena took a call in a cleanup */
  const pile *intact; /* records to check while cleanups run */
  int damaged;
} cleanup_log;

extern cleanup_log log_of;

void start_log(void);
void add_cleanup(const conformance_client *c, int number); /* numbers from 0, in the order in which they are added */
void check_log(int count); /* `count` ran, newest first, in a closed arena that was intact */

#endif
