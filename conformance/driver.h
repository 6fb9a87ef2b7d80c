/* What the driver's files share, and its entry.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORMANCE_DRIVER_H
#define CONFORMANCE_DRIVER_H
#include "conformance.h"

/* All scenarios for one pair. Arguments as of a program; process: a client that cannot be loaded, since it
 * is the process; or NULL. 0: the pair keeps all rules; 1: the broken rule was printed; 2: it could not be loaded. */
__attribute__((visibility("default"))) int conformance_main(int argc, char **argv, const conformance_client *process);

/* The scenarios. Failures are printed by `broken` of stage.h. */
void table_is_the_providers(void);    /* the slow path lies in the provider's object */
void providers_name_themselves(void); /* toft_abi_info.h */
void arguments_are_checked(void);     /* arguments that the clients' packages do not pass */
void paths_are_inline(void);          /* what the row's client does without a call, and with which arguments it calls */
void versions_are_checked(void);      /* a head that is not of version 1 */
void all_fill_and_read(void);         /* each language reads what all wrote, over many blocks */
void marks_pass_languages(void);      /* one marks, one fills, one registers, one rewinds */
void budgets_bind_all(void);
void sources_refuse_all(void);
void refusals_come_late(void); /* a budget that the padding at the block's true base exceeds */
void peaks_are_exact(void);
void claims_hold(void); /* each client that can claims, and all are served outside the range */
void resets_and_trims(void);
void cleanups_use_others(void); /* an arena is closed to its own cleanups only */
void clients_release(void);
void providers_own_memory(void); /* not the driver's source but the provider's, with its caches */
void threads_hand_over(void);    /* each language makes or leases, fills, releases, on a thread each */
void checks_find_faults(void); /* each client writes out of bounds in a checked arena, and the row's call reports it */

typedef struct conformance_vectors {
  int played;
  long own, all;     /* operations: by the client's package, and all */
  const char *wrong; /* NULL: nothing */
} conformance_vectors;

/* Every vector that one client can play on one provider's arenas. ways: 1, each once; 2, once more without reading
 * statistics in between; 0, none. */
conformance_vectors conformance_play(const conformance_provider *provider, const conformance_client *client, int ways);

#endif
