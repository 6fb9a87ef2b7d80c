/* Memory that is used after the end of its owner, in C. clang-tidy compiles it and must report the lines with
 * "found: ROW" and no others; the rows are those of docs/checked.md. It is not run. scripts/check-lifetimes has the
 * command.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <toft.h>

struct node {
  int value;
};

/* ---- owners that are variables ---- */

toft_arena *arena_in_a_dead_buffer(void) {
  char buffer[TOFT_BUFFER(100)];
  return toft_create_in(buffer, sizeof buffer, NULL); /* found: arena in a buffer that ended */
}

struct node *node_in_a_dead_buffer(void) {
  char buffer[TOFT_BUFFER(100)];
  toft_arena *a = toft_create_in(buffer, sizeof buffer, NULL); /* found: arena in a buffer that ended */
  return toft_new(a, struct node);
}

int node_after_the_block_of_its_buffer(void) {
  struct node *n;
  {
    char buffer[TOFT_BUFFER(100)];
    toft_arena *a = toft_create_in(buffer, sizeof buffer, NULL); /* found: arena in a buffer that ended */
    n = toft_new(a, struct node);
  }
  return n->value;
}

char *text_in_a_dead_buffer(void) {
  char buffer[TOFT_BUFFER(100)];
  toft_arena *a = toft_create_in(buffer, sizeof buffer, NULL); /* found: arena in a buffer that ended */
  return toft_printf(a, "%d", 1);
}

void *hook_in_a_dead_buffer(void) {
  char buffer[TOFT_BUFFER(100)];
  toft_arena *a = toft_create_in(buffer, sizeof buffer, NULL); /* found: arena in a buffer that ended */
  return toft_hook_malloc(a, 8);
}

struct node *kept;
void node_in_a_global(void) {
  char buffer[TOFT_BUFFER(100)];
  toft_arena *a = toft_create_in(buffer, sizeof buffer, NULL); /* found: result in a global variable */
  kept = toft_new(a, struct node);
}

toft_source *source_that_ended(void) {
  toft_limited_source limited;
  return toft_limited_source_init(&limited, NULL, 1 << 20); /* found: source that ended */
}

toft_source *pages_that_ended(void) {
  toft_page_source pages;
  return toft_page_source_init(&pages, 0); /* found: source that ended */
}

void *recycler_that_ended(void) {
  toft_recycler r;
  if (toft_recycler_init(&r, NULL) != TOFT_OK) return NULL;
  void *p = toft_recycler_alloc(&r, 16, 8); /* found: recycler write after release */
  toft_recycler_release(&r);
  return p;
}

void *malloc_that_ended(void) {
  toft_malloc m;
  toft_malloc_init(&m, NULL);
  void *p = toft_malloc_alloc(&m, 16); /* found: toft_malloc that ended */
  toft_malloc_release(&m);
  return p;
}

void *lazy_that_ended(void) {
  toft_lazy l = {0};
  void *p = toft_lazy_alloc(&l, 16, 8); /* found: lazy write after release */
  toft_lazy_release(&l);
  return p;
}

struct node *pool_that_ended(void) {
  toft_pool p;
  toft_pool_options o = TOFT_POOL_OPTIONS;
  toft_handle h;
  o.slot_size = sizeof(struct node);
  if (toft_pool_init(&p, &o) != TOFT_OK) return NULL;
  struct node *n = (struct node *)toft_pool_insert(&p, &h); /* found: value of a pool that ended */
  toft_pool_release(&p);
  return n;
}

/* ---- not found: the owner is behind a pointer, or does not end ---- */

int used_after_release(void) {
  toft_arena *a = toft_create();
  struct node *n = toft_new(a, struct node);
  toft_release(a);
  return n->value; /* missed: write after release */
}

int used_after_reset(toft_arena *a) {
  struct node *n = toft_new(a, struct node);
  toft_reset(a);
  return n->value; /* missed: read after reset */
}

void written_after_reset(toft_arena *a) {
  struct node *n = toft_new(a, struct node);
  toft_reset(a);
  n->value = 1; /* missed: write after reset */
}

void written_after_rewind(toft_arena *a) {
  toft_mark m = toft_mark_here(a);
  struct node *n = toft_new(a, struct node);
  toft_rewind(a, m);
  n->value = 1; /* missed: write after rewind */
}

void written_after_return(void) {
  toft_lease l = toft_lease_get(NULL);
  struct node *n = toft_new(l.arena, struct node);
  toft_lease_return(NULL, l);
  n->value = 1; /* missed: write after return */
}

void written_after_release_of_all(void) {
  toft_shared *s = toft_shared_create(NULL);
  struct node *n = (struct node *)toft_shared_alloc(s, sizeof(struct node), 8);
  toft_shared_release(s);
  n->value = 1; /* missed: shared write after release */
}

void *called_after_release(void) {
  toft_arena *a = toft_create();
  toft_release(a);
  return toft_alloc(a, 8); /* missed: call after release */
}

void *called_after_return(void) {
  toft_lease l = toft_lease_get(NULL);
  toft_lease_return(NULL, l);
  return toft_alloc(l.arena, 8); /* missed: call after return */
}
