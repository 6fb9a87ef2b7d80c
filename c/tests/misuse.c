/* Commits one misuse, on purpose, and ends: `misuse ROW`, a row of the tables in docs/checked.md. make check-misuse
 * builds it, runs it, and compares the findings with the table.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_SITES
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "toft.h"

#ifdef FOREIGN /* the function that makes an arena of another provider */
toft_arena *FOREIGN(void);
#else
#define FOREIGN toft_create
#endif

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

static void *hooked;

static void hook_object(void) {
  hooked = toft_hook_malloc(a, 16);
  (void)!toft_hook_malloc(a, 16);
}
static void hook_free_twice(void) {
  hook_object();
  toft_hook_free(a, hooked);
  toft_hook_free(a, hooked);
}
static void hook_foreign_pointer(void) { toft_hook_free(a, toft_alloc(a, 64)); }
static void hook_underrun(void) {
  hook_object();
  write_at(hooked, -1);
  toft_hook_free(a, hooked);
}

static void release_while_claimed(void) {
  toft_range r;
  toft_claim(a, &r);
  toft_release(a);
  toft_unclaim(a, &r);
}

static void overrun_at_exit(void) {
  overrun();
  exit(0);
}

static toft_recycler recycler;

static char *recycled(void) {
  toft_recycler_init(&recycler, NULL);
  return (char *)toft_recycler_alloc(&recycler, 16, 8);
}
static void recycler_overrun(void) {
  write_at(recycled(), 16);
  toft_recycler_release(&recycler);
}
static void recycler_underrun(void) {
  write_at(recycled(), -1);
  toft_recycler_release(&recycler);
}
static void recycler_late_write(void) {
  char *p = recycled();
  toft_recycler_free(&recycler, p, 16);
  write_at(p, 3);
  toft_recycler_release(&recycler);
}

static void recycler_write_after_release(void) {
  toft_recycler r;
  if (toft_recycler_init(&r, NULL) != TOFT_OK) exit(1);
  char *p = (char *)toft_recycler_alloc(&r, 16, 8);
  toft_recycler_release(&r);
  write_at(p, 3);
}

static void lazy_write_after_release(void) {
  toft_lazy l = {0};
  char *p = (char *)toft_lazy_alloc(&l, 16, 8);
  toft_lazy_release(&l);
  write_at(p, 3);
}

static void shared_write_after_release(void) {
  toft_shared *s = toft_shared_create(NULL);
  char *p = (char *)toft_alloc(toft_shared_local(s), 16);
  toft_shared_release(s);
  write_at(p, 3);
}
static void recycler_late_read(void) {
  volatile char *p = recycled();
  p[3] = 1;
  toft_recycler_free(&recycler, (void *)(uintptr_t)p, 16);
  if (p[3] == 1) puts("it was still there");
  toft_recycler_release(&recycler);
}
static void recycler_free_twice(void) {
  char *p = recycled();
  toft_recycler_free(&recycler, p, 16);
  toft_recycler_free(&recycler, p, 16);
  toft_recycler_release(&recycler);
}
static void recycler_wrong_size(void) {
  toft_recycler_free(&recycler, recycled(), 24);
  toft_recycler_release(&recycler);
}
static void recycler_foreign_pointer(void) {
  (void)recycled();
  toft_recycler_free(&recycler, toft_alloc(a, 16), 16);
  toft_recycler_release(&recycler);
}
static void recycler_overrun_at_exit(void) {
  write_at(recycled(), 16);
  exit(0);
}

/* Rows that commit no misuse: tools must be silent. */
static void nothing_wrong(void) {
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 1; i < 3000; i += 7) memset(toft_alloc(a, i), 1, i);
    toft_mark m = toft_mark_here(a);
    memset(toft_alloc_zeroed(a, 70000, 64), 1, 70000);
    if (toft_rewind(a, m) != TOFT_OK || toft_reset(a) != TOFT_OK) refused("rewind or reset");
    char *object = (char *)recycled();
    memset(object, 1, 16);
    toft_recycler_free(&recycler, object, 16);
    toft_recycler_release(&recycler);
  }
}

/* An arena in a buffer need not be released before the buffer is used again. */
static void buffer_used_again(void) {
  char buffer[2000];
  toft_arena *in = toft_create_in(buffer, sizeof buffer, NULL);
  if (in == NULL) refused("create");
  memset(toft_alloc(in, 100), 1, 100);
  memset(buffer, 2, sizeof buffer);
}

static const struct {
  const char *row;
  void (*commit)(void);
} rows[] = {
    {"nothing wrong", nothing_wrong},
    {"a buffer used again", buffer_used_again},
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
    {"hook double free", hook_free_twice},
    {"hook foreign pointer", hook_foreign_pointer},
    {"hook underrun", hook_underrun},
    {"release while claimed", release_while_claimed},
    {"overrun, alive at exit", overrun_at_exit},
    {"recycler overrun", recycler_overrun},
    {"recycler underrun", recycler_underrun},
    {"recycler late write", recycler_late_write},
    {"recycler write after release", recycler_write_after_release},
    {"lazy write after release", lazy_write_after_release},
    {"shared write after release", shared_write_after_release},
    {"recycler read after free", recycler_late_read},
    {"recycler double free", recycler_free_twice},
    {"recycler wrong size", recycler_wrong_size},
    {"recycler foreign pointer", recycler_foreign_pointer},
    {"recycler overrun, alive at exit", recycler_overrun_at_exit},
};

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].row, argv[1]) != 0) continue;
    a = FOREIGN();
    if (toft_instrument_arena(a, 1) != TOFT_OK) refused("instrument");
    rows[i].commit();
    toft_release(a);
    return 0;
  }
  fprintf(stderr, "misuse: what is to be done?\n");
  return 2;
}
