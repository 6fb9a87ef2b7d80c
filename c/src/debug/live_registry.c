/* The registry of live checked arenas and recyclers, so that objects that a program never releases are verified at
 * exit.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_LIVE_REGISTRY_C
#define TOFT_DEBUG_LIVE_REGISTRY_C

#include "../platform/atomic.c"

typedef struct toft_live_entry {
  struct toft_live_entry *next, *previous;
  /* Marks the object as in a call, so that calls of other threads are refused; 0: a call is running. With the
   * registry's lock held. */
  int (*begin_call)(struct toft_live_entry *self);
  void (*verify)(struct toft_live_entry *self); /* without the lock: reports call hooks */
  int verified;
} toft_live_entry;

static toft_lock toft_registry_lock;
static toft_live_entry toft_registry = {&toft_registry, &toft_registry, NULL, NULL, 0};

static void toft_registry_add(toft_live_entry *r, int (*begin_call)(toft_live_entry *),
                              void (*verify)(toft_live_entry *)) {
  r->begin_call = begin_call;
  r->verify = verify;
  r->verified = 0;
  toft_lock_take(&toft_registry_lock);
  r->next = toft_registry.next;
  r->previous = &toft_registry;
  r->next->previous = r->previous->next = r;
  TOFT_UNLOCK(&toft_registry_lock);
}

/* Idempotent. */
static void toft_registry_remove(toft_live_entry *r) {
  if (r->next == NULL) return;
  toft_lock_take(&toft_registry_lock);
  r->next->previous = r->previous;
  r->previous->next = r->next;
  r->next = NULL;
  TOFT_UNLOCK(&toft_registry_lock);
}

/* Verifies all entries at unload. Other threads may have been stopped with the lock held. */
static void toft_registry_end(void) {
  for (;;) {
    toft_live_entry *r;
    if (!toft_lock_take_at_unload(&toft_registry_lock)) return;
    for (r = toft_registry.next; r != &toft_registry && r->verified; r = r->next) continue;
    int entered = r != &toft_registry && r->begin_call(r);
    r->verified = r != &toft_registry;
    int more = r->verified;
    TOFT_UNLOCK(&toft_registry_lock);
    if (entered) r->verify(r);
    if (!more) return;
  }
}

#endif
