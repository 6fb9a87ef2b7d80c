/* What the driver's files share, and its entry.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORMANCE_DRIVER_H
#define CONFORMANCE_DRIVER_H
#include "conformance.h"

/* All scenarios for one pair. Arguments as of a program; process: a client that cannot be loaded, since it
 * is the process; or NULL. 0: the pair keeps all rules; 1: the broken rule was printed; 2: it could not be loaded. */
__attribute__((visibility("default"))) int conformance_main(int argc, char **argv, const conformance_client *process);

/* The provider, or the client of the row, is part of the program; not a shared object that an option names. */
__attribute__((visibility("default"))) void conformance_link(const conformance_provider *(*table)(void));
__attribute__((visibility("default"))) void conformance_link_client(const conformance_client *(*table)(void));

/* A scenario, and what a provider needs to play it. */
typedef struct conformance_scenario {
  const char *name, *rule; /* rule: the one that is broken if the scenario's process dies */
  void (*play)(void);
  uint32_t needs; /* CONFORMANCE_..., POLICY_1 */
  size_t memory;  /* bytes that an arena holds */
} conformance_scenario;

#define POLICY_1 (1u << 31)

/* One for each rule of section 11 and each operation; played with blocks at falling and at rising addresses. */
extern const conformance_scenario rule_scenarios[];
extern const size_t rule_scenario_count;

/* The other scenarios. Failures are printed by `broken` of stage.h. */
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

/* Every vector that one client can play on one provider's arenas. ways, from 0 to 6: inline; inline, without reading
 * statistics in between; by the table alone; then the same with blocks at rising addresses where they were falling. */
void conformance_play(const conformance_provider *provider, const conformance_client *client, int ways);

#endif
