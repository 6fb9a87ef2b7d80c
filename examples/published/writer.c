/* Publishes lists: writer PATH GENERATIONS ENTRIES ROOTS. The first root of a generation has ENTRIES, and each further
 * one an entry more. It ends when its input ends. WRITER_KILL=N, for tests: a kill at step N.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "format.h"
#include "publisher.h"

void step(void) {
  static long at;
  const char *last = getenv("WRITER_KILL");
  if (last != NULL && ++at == atol(last)) raise(SIGKILL);
}

static void end_if(int error, const char *what) {
  if (error == 0) return;
  fprintf(stderr, "writer: %s: %s\n", what, strerror(error));
  exit(1);
}

static void *not_null(void *p) {
  end_if(p == NULL ? ENOMEM : 0, "the region is full");
  return p;
}

/* Adds an entry before those that are published, which do not change. */
static void add(toft_arena *a, book *b) {
  entry *e = (entry *)not_null(toft_new(a, entry));
  e->older = b->newest;
  e->key = b->count++;
  e->name = (const char *)not_null(toft_printf(a, "%d/%d", (int)b->generation, (int)e->key));
  b->newest = e;
  b->sum += entry_value(e);
  if (e->key % 64 == 0) step();
}

static void set_root(toft_region *r, toft_arena *a, book *b) {
  book *made = (book *)not_null(toft_new(a, book));
  b->root++;
  *made = *b;
  step();
  toft_region_set_root(r, made);
  step();
}

static void publish(publisher *p, long entries, long roots) {
  book b = {p->generation + 1, 0, 0, 0, NULL};
  end_if(publisher_begin(p, (size_t)(entries + roots) * 56 + (1 << 18)), p->path);
  toft_region *r = p->next.region;
  toft_arena *a = (toft_arena *)not_null(toft_region_arena(r));
  while (b.count < entries) add(a, &b);
  set_root(r, a, &b);
  end_if(publisher_publish(p), p->path);
  printf("generation %d: %.1f MB\n", (int)b.generation, (double)toft_region_get_stats(r).used / 1e6);
  for (; b.root < (uint64_t)roots; set_root(r, a, &b)) add(a, &b);
}

int main(int argc, char **argv) {
  publisher p;
  if (argc != 5) return 2;
  end_if(publisher_open(&p, argv[1], BOOK_LAYOUT, PUBLISHER_ADDRESS), argv[1]);
  for (long i = 0; i < atol(argv[2]); i++) publish(&p, atol(argv[3]), atol(argv[4]));
  fflush(stdout);
  while (getchar() != EOF) {
  }
  publisher_close(&p);
  return 0;
}
