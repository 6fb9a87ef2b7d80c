/* Commits one misuse, on purpose, and ends: `misuse ROW`, a row of the tables in docs/checked.md. scripts/test misuse
 * builds it, runs it, and compares what was found with the table.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_SITES
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "toft.h"

static toft_arena *a;

static void write_at(void *p, long at) { ((volatile char *)p)[at] = 1; }

static void refused(const char *with) {
  fprintf(stderr, "%s\n", with);
  exit(1);
}

static void *allocate(void *arg) {
  (void)arg;
  return toft_alloc(a, 16);
}

static void in_a_thread(void *arg) {
  pthread_t t;
  (void)arg;
  if (pthread_create(&t, NULL, allocate, NULL) == 0) pthread_join(t, NULL);
}

static void overrun(void) { write_at(toft_alloc(a, 16), 16); }
static void underrun(void) { write_at(toft_alloc(a, 16), -1); }

static void write_after_rewind(void) {
  toft_mark m = toft_mark_here(a);
  char *p = (char *)toft_alloc(a, 16);
  toft_rewind(a, m);
  write_at(p, 3);
}

static void write_after_reset(void) {
  char *p = (char *)toft_alloc(a, 16);
  toft_reset(a);
  write_at(p, 3);
}

static void write_after_release(void) {
  char *p = (char *)toft_alloc(a, 16);
  toft_release(a);
  a = NULL;
  write_at(p, 3);
}

static void write_after_return(void) {
  toft_lease l = toft_lease_get(NULL);
  char *p = (char *)toft_alloc(l.arena, 16);
  toft_lease_return(NULL, l);
  write_at(p, 3);
  toft_leases_trim(NULL);
}

static void call_after_return(void) {
  toft_lease l = toft_lease_get(NULL);
  toft_lease_return(NULL, l);
  if (toft_alloc(l.arena, 16) == NULL) refused("NULL");
}

static void return_twice(void) {
  toft_lease l = toft_lease_get(NULL);
  toft_lease_return(NULL, l);
  if (toft_lease_return(NULL, l) == TOFT_EBUSY) refused("TOFT_EBUSY");
}

static void read_after_reset(void) {
  volatile char *p = (volatile char *)toft_alloc(a, 16);
  p[3] = 1;
  toft_reset(a);
  if (p[3] == 1) puts("it was still there");
}

static void uninitialised(void) {
  volatile char *p = (volatile char *)toft_alloc(a, 16);
  if (p[3] == 1) puts("it happened to be 1");
}

static void call_after_release(void) {
  toft_arena *released = a;
  toft_release(a);
  a = NULL;
  if (toft_alloc(released, 16) != NULL) puts("it was served");
}

static void release_twice(void) {
  toft_arena *released = a;
  toft_release(a);
  a = NULL;
  toft_release(released);
}

static void free_twice(void) {
  char *p = (char *)toft_alloc(a, 16);
  toft_free(a, p, 16);
  toft_free(a, p, 16);
}

static void wrong_size(void) {
  char *p = (char *)toft_alloc(a, 16);
  toft_free(a, p, 24);
}

static void stale_mark(void) {
  toft_mark outer = toft_mark_here(a);
  (void)!toft_alloc(a, 16);
  toft_mark inner = toft_mark_here(a);
  toft_rewind(a, outer);
  (void)!toft_alloc(a, 16);
  toft_rewind(a, inner);
}

static void foreign_pointer(void) {
  toft_arena *other = toft_create();
  toft_free(a, toft_alloc(other, 16), 16);
  toft_release(other);
}

static void two_threads(void) { /* certain to meet: one is in a cleanup of its reset */
  (void)!toft_cleanup_add(a, in_a_thread, NULL);
  toft_reset(a);
}

static void pinned(void) {
  toft_pin(a, 1);
  in_a_thread(NULL);
}

static const struct {
  const char *row;
  void (*commit)(void);
} rows[] = {
    {"overrun", overrun},
    {"underrun", underrun},
    {"write after rewind", write_after_rewind},
    {"write after reset", write_after_reset},
    {"write after release", write_after_release},
    {"write after return", write_after_return},
    {"call after return", call_after_return},
    {"double return", return_twice},
    {"read after reset", read_after_reset},
    {"read before write", uninitialised},
    {"call after release", call_after_release},
    {"double release", release_twice},
    {"double free", free_twice},
    {"wrong size", wrong_size},
    {"stale mark", stale_mark},
    {"foreign pointer", foreign_pointer},
    {"two threads at once", two_threads},
    {"thread it is not pinned to", pinned},
};

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].row, argv[1]) != 0) continue;
    a = toft_create();
    rows[i].commit();
    toft_release(a);
    return 0;
  }
  fprintf(stderr, "misuse: what is to be done?\n");
  return 2;
}
