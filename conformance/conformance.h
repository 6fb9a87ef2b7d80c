/* The tables that the driver takes from a provider and from a client. Each is a shared object that exports one
 * function, conformance_provider_table or conformance_client_table. Both sides share nothing but toft_abi.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H
#include <stddef.h>
#include <stdint.h>

#include "toft_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The source of a provider's blocks: the driver, which counts them. */
typedef struct conformance_source conformance_source;
struct conformance_source {
  void *(*take)(conformance_source *self, size_t size);
  void (*put)(conformance_source *self, void *block, size_t size);
};

/* Support of a provider beyond the core profile of abi/SPEC.md, section 9. The full profile is FULL; the rest is
 * optional beyond it. */
enum {
  CONFORMANCE_RESIZE = 1,
  CONFORMANCE_FREE = 2,
  CONFORMANCE_CLEANUP = 4,
  CONFORMANCE_CLAIM = 8,
  CONFORMANCE_BUDGET = 16,
  CONFORMANCE_INFO = 32,           /* a table with toft_abi_info.h's addition */
  CONFORMANCE_SAMPLE = 64,         /* set(TOFT_SET_SAMPLE) */
  CONFORMANCE_CHECKED = 128,       /* set(TOFT_SET_CHECKED) */
  CONFORMANCE_QUERY = 256,         /* with INFO: query answers for the settings that the bits here announce */
  CONFORMANCE_TAG = 512,           /* set(TOFT_SET_TAG) */
  CONFORMANCE_OWN_MEMORY = 1024,   /* arenas without a source of the driver's */
  CONFORMANCE_INSTRUMENTED = 2048, /* an instrument is before each arena: bit 0 of the epoch is set */
  CONFORMANCE_FULL = 31,
  CONFORMANCE_ALL = 2047
};

typedef struct conformance_provider {
  const char *name;
  /* An arena on `source`, or on the provider's own memory where that is NULL, if it has such. budget: UINT64_MAX is
   * none. NULL: no memory. */
  toft_arena *(*make)(conformance_source *source, uint64_t budget, size_t reserve);
  /* Ends an arena of this provider's, as the language's own clients do. */
  void (*release)(toft_arena *a);
  /* Bytes that the provider keeps of released arenas on its own memory, after a request to keep none. */
  size_t (*kept)(void);
  uint32_t supports; /* CONFORMANCE_... */
  uint32_t policy;   /* its placement policy: 1; 0: another one, so it plays the vectors of the rules alone */
  size_t memory;     /* bytes that an arena can hold; SIZE_MAX: as many as its source grants */
} conformance_provider;

/* What clients write into arenas, and read in another language. */
typedef struct conformance_record conformance_record;
struct conformance_record {
  const conformance_record *older;
  uint64_t size, seed; /* byte i behind it is (seed * 131 + i * 7 + i / 256) mod 256 */
};

/* The operations of a client's package on an arena of any provider, by its public interface and its own inline paths. A
 * member is NULL where the package has no such call: then the driver calls ops. Results and codes are those of ops,
 * however the language shows them. */
typedef struct conformance_client {
  const char *name;
  /* Called for every arena before its use: TOFT_OK, or another code where the package refuses it (U1). NULL: it
   * refuses none. */
  int (*accept)(toft_arena *a);
  void *(*alloc)(toft_arena *a, size_t size, size_t align);
  void *(*zeroed)(toft_arena *a, size_t size, size_t align);
  void *(*resize)(toft_arena *a, void *p, size_t old_size, size_t new_size, size_t align);
  void (*free)(toft_arena *a, void *p, size_t size);
  size_t free_calls_from; /* a free of fewer bytes does not call ops unless p is the newest allocation */
  toft_mark (*mark)(toft_arena *a);
  int (*rewind)(toft_arena *a, toft_mark m); /* TOFT_ENOSYS: not to a mark that another language made */
  int (*reset)(toft_arena *a);               /* TOFT_KEEP_RECENT */
  void (*trim)(toft_arena *a, size_t keep);
  int (*budget)(toft_arena *a, uint64_t bytes);
  int (*checked)(toft_arena *a, int on);
  void (*stats)(toft_arena *a, toft_stats *out);
  int (*contains)(toft_arena *a, const void *p);
  /* Registers a function of this language that calls notify(arg). 0: refused. */
  int (*cleanup)(toft_arena *a, void (*notify)(void *arg), void *arg);
  int node_alone; /* and takes nothing of the arena but the node (P17) */
  /* `count` records of size 0 in a claim, in front of the list, with seed, seed + 1, ...; halfway through it calls
   * during(arg), which uses the arena. NULL: refused, and nothing is claimed. */
  conformance_record *(*claimed)(toft_arena *a, const conformance_record *older, uint64_t count, uint64_t seed,
                                 void (*during)(void *arg), void *arg);
  int (*release)(toft_arena *a); /* takes the arena over and ends it */
  /* A record in the arena, in front of the list; NULL: refused. */
  conformance_record *(*write)(toft_arena *a, const conformance_record *older, uint64_t size, uint64_t seed,
                               size_t align);
  /* How many records of the list are whole, from the newest to the first that is not. */
  uint64_t (*read)(const conformance_record *newest);
  /* An empty arena of the package's own cache of leases, or a new one if it has no leases; NULL: no memory. `end_lease`
   * ends it, on any thread, and takes the key that `lease` wrote. */
  toft_arena *(*lease)(uint64_t *key);
  int (*end_lease)(toft_arena *a, uint64_t key);
} conformance_client;

#ifdef __cplusplus
}
#endif
#endif
