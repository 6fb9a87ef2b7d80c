/* Plays all scenarios with one provider, one client, and every other client beside it, in one process. Each check names
 * the rule of abi/SPEC.md that it tests: U4, M7 and P5, or "4 alloc" for that operation of section 4.
 *
 * The driver shares nothing but toft_abi.h with them. Its source counts the blocks, and it checks every address and
 * every byte itself.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

static int failures;

/* ---- the vectors, by the row's own calls ---- */

static int ways = 2;

static void play_vectors(void) {
  conformance_vectors result = conformance_play(provider, row, ways);
  checks += result.played;
  if (result.wrong != NULL) broken("13", "%s", result.wrong);
  printf("vectors %d own %ld of %ld\n", result.played, result.own, result.all);
}

static const struct {
  const char *name;
  void (*play)(void);
  uint32_t needs; /* what the provider has to support; any of it: of placement policy 1 alone */
} scenarios[] = {
    {"table", table_is_the_providers, 0},
    {"info", providers_name_themselves, 0},
    {"arguments", arguments_are_checked, 0},
    {"inline", paths_are_inline, CONFORMANCE_FULL},
    {"version", versions_are_checked, 0},
    {"fill", all_fill_and_read, CONFORMANCE_FULL},
    {"marks", marks_pass_languages, CONFORMANCE_FULL},
    {"budget", budgets_bind_all, CONFORMANCE_FULL},
    {"source", sources_refuse_all, CONFORMANCE_FULL},
    {"late", refusals_come_late, CONFORMANCE_FULL},
    {"peak", peaks_are_exact, CONFORMANCE_FULL},
    {"claim", claims_hold, CONFORMANCE_FULL},
    {"reset", resets_and_trims, CONFORMANCE_FULL},
    {"cleanup", cleanups_use_others, CONFORMANCE_FULL},
    {"release", clients_release, CONFORMANCE_FULL},
    {"memory", providers_own_memory, CONFORMANCE_FULL},
    {"handed", threads_hand_over, CONFORMANCE_FULL},
    {"checked", checks_find_faults, CONFORMANCE_FULL | CONFORMANCE_CHECKED},
    {"vectors", play_vectors, 0},
};

static void play(size_t i) {
  scenario = scenarios[i].name;
  printf("scenario %s\n", scenario);
  fflush(stdout); /* the last line names the scenario in which a process died */
  if (setjmp(failed) != 0)
    failures++;
  else
    scenarios[i].play();
}

/* ---- loaded libraries ---- */

static void *load(const char *path, const char *symbol) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found = object != NULL ? dlsym(object, symbol) : NULL;
  if (found == NULL) fprintf(stderr, "conformance: %s\n", dlerror());
  return found;
}

static int is_row(const conformance_client *c, const char *name) { return strcmp(c->name, name) == 0; }

int conformance_main(int argc, char **argv, const conformance_client *process) {
  const char *about = "";
  host = process;
  if (host != NULL) clients[client_count++] = host;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--row") == 0) about = argv[i + 1];
    if (strcmp(argv[i], "--ways") == 0) ways = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--provider") == 0) {
      const conformance_provider *(*table)(void);
      void *found = load(argv[i + 1], "conformance_provider_table");
      if (found == NULL) return 2;
      memcpy(&table, &found, sizeof table);
      provider = table();
      if (provider == NULL) return 2;
      provider_path = argv[i + 1];
    }
    if (strcmp(argv[i], "--client") == 0 && client_count < CLIENTS) {
      const conformance_client *(*table)(void);
      void *found = load(argv[i + 1], "conformance_client_table");
      if (found == NULL) return 2;
      memcpy(&table, &found, sizeof table);
      clients[client_count++] = table();
    }
  }
  for (int i = 0; i < client_count; i++)
    if (is_row(clients[i], about)) row = clients[i];
  if (provider == NULL || row == NULL) {
    fprintf(stderr, "conformance: --provider OBJECT --client OBJECT... --row NAME [--ways 0|1|2]\n");
    return 2;
  }
  uint32_t supports = provider->policy == 1 ? provider->supports : 0;
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
    if ((scenarios[i].needs & ~supports) == 0) play(i);
  printf("checks %ld failures %d\n", checks, failures);
  return failures != 0;
}
