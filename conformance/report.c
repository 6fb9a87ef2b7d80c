/* The report by rule.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "report.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "stage.h"

enum { RULES = 96 };

typedef struct result {
  char rule[16], what[400]; /* what: the first failure */
  long checks;
  int failures;
} result;

static result *results;

#define OF_INSTRUMENTS "about programs that put code before a table"
#define OF_PROGRAMS "what a program does with a client"

/* All rules. why: no check can name it. */
static const struct {
  const char *rule;
  uint32_t needs;
  const char *why;
} all[] = {
    {"M1", 0, NULL},
    {"M2", 0, NULL},
    {"M3", CONFORMANCE_BUDGET, NULL},
    {"M4", 0, NULL},
    {"M5", 0, NULL},
    {"M6", 0, NULL},
    {"M7", 0, NULL},
    {"M8", 0, NULL},
    {"M9", 0, NULL},
    {"M10", CONFORMANCE_BUDGET, NULL},
    {"M11", 0, NULL},
    {"M12", CONFORMANCE_CLEANUP, NULL},
    {"M13", 0, NULL},
    {"M14", 0, NULL},
    {"M15", 0, NULL},
    {"M16", CONFORMANCE_CLEANUP, NULL},
    {"M17", CONFORMANCE_CLAIM, NULL},
    {"M18", CONFORMANCE_CLAIM, NULL},
    {"M19", 0, "it only permits"},
    {"M20", 0, NULL},
    {"M21", 0, NULL},
    {"M22", 0, "no run shows how an address was derived"},
    {"I1", 0, OF_INSTRUMENTS},
    {"I2", 0, OF_INSTRUMENTS},
    {"I3", 0, OF_INSTRUMENTS},
    {"I4", 0, OF_INSTRUMENTS},
    {"I5", 0, OF_INSTRUMENTS},
    {"4 alloc", 0, NULL},
    {"4 resize", CONFORMANCE_RESIZE, NULL},
    {"4 free", CONFORMANCE_FREE, NULL},
    {"4 rewind", 0, NULL},
    {"4 reset", 0, NULL},
    {"4 trim", 0, NULL},
    {"4 cleanup", CONFORMANCE_CLEANUP, NULL},
    {"4 claim", CONFORMANCE_CLAIM, NULL},
    {"4 give", CONFORMANCE_CLAIM, NULL},
    {"4 contains", 0, NULL},
    {"4 stats", 0, NULL},
    {"4 set", CONFORMANCE_BUDGET, NULL},
    {"4 release", 0, NULL},
    {"6", CONFORMANCE_BUDGET, NULL},
    {"7", 0, NULL},
    {"9", 0, NULL},
    {"3", CONFORMANCE_FULL, NULL},
    {"U1", 0, NULL},
    {"U2", CONFORMANCE_FULL, NULL},
    {"U3", CONFORMANCE_FULL, NULL},
    {"U4", CONFORMANCE_FULL, NULL},
    {"U5", 0, NULL},
    {"U6", 0, OF_PROGRAMS},
    {"U7", 0, OF_PROGRAMS},
    {"U8", CONFORMANCE_FULL, NULL},
    {"U9", CONFORMANCE_FULL, NULL},
    {"U10", 0, OF_PROGRAMS},
    {"U11", 0, OF_PROGRAMS},
    {"U12", CONFORMANCE_CLAIM, NULL},
    {"U13", 0, OF_PROGRAMS},
    {"U14", 0, OF_PROGRAMS},
    {"U15", 0, OF_PROGRAMS},
    {"U16", 0, OF_PROGRAMS},
    {"U17", 0, OF_PROGRAMS},
    {"U18", 0, "about languages in which an address is an integer"},
};

int report_start(void) {
  void *p = mmap(NULL, RULES * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  results = p != MAP_FAILED ? (result *)p : NULL;
  return results != NULL;
}

static result *result_of(const char *rule) {
  static result *last; /* one rule is often checked many times */
  if (last != NULL && strcmp(last->rule, rule) == 0) return last;
  result *r = results;
  while (r < results + RULES - 1 && r->rule[0] != 0 && strcmp(r->rule, rule) != 0) r++;
  if (r->rule[0] == 0) snprintf(r->rule, sizeof r->rule, "%s", rule);
  return last = r;
}

void checked(const char *rule) { result_of(rule)->checks++; }

void report_failure(const char *rule, const char *what) {
  result *r = result_of(rule);
  printf("FAILED %s/%s: %s: %s: %s\n", provider->name, row->name, scenario, rule, what);
  fflush(stdout);
  if (r->failures++ == 0) snprintf(r->what, sizeof r->what, "%s: %.300s", scenario, what);
}

static void print_rule(const char *rule, uint32_t needs, const char *why) {
  const result *r = result_of(rule);
  if (r->failures != 0)
    printf("%-11s FAILED  %s\n", rule, r->what);
  else if (r->checks != 0)
    printf("%-11s ok      %ld checks\n", rule, r->checks);
  else
    printf("%-11s -       not checked: %s\n", rule,
           why != NULL                          ? why
           : (needs & ~provider->supports) != 0 ? "the provider does not support the operation"
                                                : "no scenario that was played came to it");
}

void report_rules(void) {
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) print_rule(all[i].rule, all[i].needs, all[i].why);
  for (const result *r = results; r < results + RULES && r->rule[0] != 0; r++) { /* others, as those of policy 1 */
    size_t i = 0;
    while (i < sizeof all / sizeof all[0] && strcmp(all[i].rule, r->rule) != 0) i++;
    if (i == sizeof all / sizeof all[0]) print_rule(r->rule, 0, NULL);
  }
}

long report_total(int *failures) {
  long checks = 0;
  *failures = 0;
  for (const result *r = results; r < results + RULES; r++) {
    checks += r->checks;
    *failures += r->failures;
  }
  return checks;
}
