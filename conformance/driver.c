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
  int core; /* also for a provider that supports less than everything, or has another placement policy */
} scenarios[] = {
    {"table", table_is_the_providers, 1}, {"info", providers_name_themselves, 1}, {"inline", paths_are_inline, 0},
    {"version", versions_are_checked, 1}, {"fill", all_fill_and_read, 0},         {"marks", marks_pass_languages, 0},
    {"budget", budgets_bind_all, 0},      {"source", sources_refuse_all, 0},      {"claim", claims_hold, 0},
    {"reset", resets_and_trims, 0},       {"cleanup", cleanups_use_others, 0},    {"release", clients_release, 0},
    {"memory", providers_own_memory, 0},  {"handed", threads_hand_over, 0},       {"checked", checks_find_faults, 0},
    {"vectors", play_vectors, 1},
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

/* ---- what is loaded ---- */

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
  int full = provider->supports == CONFORMANCE_FULL && provider->policy == 1;
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
    if (full || scenarios[i].core) play(i);
  printf("checks %ld failures %d\n", checks, failures);
  return failures != 0;
}
