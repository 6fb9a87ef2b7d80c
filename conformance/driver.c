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
#include <sys/wait.h>
#include <unistd.h>

#include "placed_memory.h"
#include "stage.h"

enum { SECONDS = 300 }; /* in which a scenario in a process of its own ends, on any machine */

/* ---- the scenarios ---- */

static int ways = 2, is_apart;

static void play_vectors(void) { conformance_play(provider, row, ways); }

static const size_t MIB = (size_t)1 << 20;
static const conformance_scenario scenarios[] = {
    {"table", "M20", table_is_the_providers, 0, 0},
    {"info", "9", providers_name_themselves, 0, 0},
    {"arguments", "4", arguments_are_checked, 0, 0},
    {"inline", "3", paths_are_inline, CONFORMANCE_FULL | POLICY_1, 0},
    {"version", "U1", versions_are_checked, 0, 0},
    {"fill", "4 alloc", all_fill_and_read, 0, 8 * MIB},
    {"marks", "4 rewind", marks_pass_languages, CONFORMANCE_CLEANUP, MIB},
    {"budget", "6", budgets_bind_all, CONFORMANCE_BUDGET, MIB},
    {"source", "M5", sources_refuse_all, POLICY_1, 0},
    {"late", "P9", refusals_come_late, CONFORMANCE_BUDGET | POLICY_1, 0},
    {"peak", "4 stats", peaks_are_exact, CONFORMANCE_FULL | POLICY_1, 0},
    {"claim", "4 claim", claims_hold, CONFORMANCE_CLAIM | POLICY_1, 0},
    {"reset", "4 reset", resets_and_trims, 0, 8 * MIB},
    {"cleanup", "7", cleanups_use_others, CONFORMANCE_CLEANUP, MIB},
    {"release", "4 release", clients_release, 0, 8 * MIB},
    {"memory", "4 release", providers_own_memory, CONFORMANCE_OWN_MEMORY, 8 * MIB},
    {"handed", "7", threads_hand_over, 0, 8 * MIB},
    {"checked", "6", checks_find_faults, CONFORMANCE_CHECKED, 0},
    {"vectors", "13", play_vectors, 0, 0},
};

/* Ends the scenario where it breaks a rule. */
static void play(const conformance_scenario *s) {
  if (setjmp(failed) == 0) s->play();
}

/* In a process of its own, which may die or not end. */
static void play_apart(const conformance_scenario *s) {
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    play(s);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  char what[40];
  if (child < 0 || waitpid(child, &status, 0) != child)
    report_failure(s->rule, "no process");
  else if (status != 0) {
    snprintf(what, sizeof what, WIFSIGNALED(status) ? "died of signal %d" : "ended with %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    report_failure(s->rule, what);
  }
}

/* Where the provider cannot play it, the reason is printed. */
static void play_in(const conformance_scenario *s, enum placed_order order) {
  uint32_t supports = provider->supports | (provider->policy == 1 ? POLICY_1 : 0);
  const char *why = (s->needs & ~supports & ~POLICY_1) != 0 ? "an operation is not supported"
                    : (s->needs & ~supports) != 0           ? "it is about placement policy 1"
                    : s->memory > provider->memory          ? "an arena has too little memory"
                                                            : NULL;
  if (why != NULL) {
    if (order == FALLING) printf("left out %s: %s\n", s->name, why);
    return;
  }
  placed = order;
  scenario = s->name;
  printf("scenario %s\n", scenario);
  fflush(stdout); /* the last line names the scenario in which a process died */
  (is_apart ? play_apart : play)(s);
}

static void play_all(void) {
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) play_in(&scenarios[i], FALLING);
  for (size_t i = 0; i < rule_scenario_count; i++)
    for (int order = FALLING; order <= RISING; order++) play_in(&rule_scenarios[i], (enum placed_order)order);
}

/* ---- loaded libraries ---- */

static void *load(const char *path, const char *symbol) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found = object != NULL ? dlsym(object, symbol) : NULL;
  if (found == NULL) fprintf(stderr, "conformance: %s\n", dlerror());
  return found;
}

static int is_row(const conformance_client *c, const char *name) { return strcmp(c->name, name) == 0; }

void conformance_link(const conformance_provider *(*table)(void)) {
  void *found;
  Dl_info where;
  memcpy(&found, &table, sizeof found);
  provider_object = dladdr(found, &where) != 0 ? where.dli_fbase : NULL;
  provider = table();
}

void conformance_link_client(const conformance_client *(*table)(void)) { row = clients[client_count++] = table(); }

/* 0: what the option names cannot be loaded. */
static int set_option(const char *option, const char *value) {
  if (strcmp(option, "--ways") == 0) ways = atoi(value);
  if (strcmp(option, "--apart") == 0) is_apart = atoi(value);
  if (strcmp(option, "--provider") == 0) {
    const conformance_provider *(*table)(void);
    void *found = load(value, "conformance_provider_table");
    if (found == NULL) return 0;
    memcpy(&table, &found, sizeof table);
    conformance_link(table);
    return provider != NULL;
  }
  if (strcmp(option, "--client") == 0 && client_count < CLIENTS) {
    const conformance_client *(*table)(void);
    void *found = load(value, "conformance_client_table");
    if (found == NULL) return 0;
    memcpy(&table, &found, sizeof table);
    clients[client_count++] = table();
  }
  return 1;
}

int conformance_main(int argc, char **argv, const conformance_client *process) {
  const char *about = "";
  host = process;
  if (host != NULL) clients[client_count++] = host;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--row") == 0) about = argv[i + 1];
    if (!set_option(argv[i], argv[i + 1])) return 2;
  }
  for (int i = 0; i < client_count; i++)
    if (row == NULL && is_row(clients[i], about)) row = clients[i];
  if (provider == NULL || row == NULL || !report_start()) {
    fprintf(stderr, "conformance: --provider OBJECT --client OBJECT... --row NAME [--ways 0|1|2|4] [--apart 1]\n");
    return 2;
  }
  play_all();
  if (is_apart) report_rules();
  int failures;
  long checks = report_total(&failures);
  printf("checks %ld failures %d\n", checks, failures);
  return failures != 0;
}
