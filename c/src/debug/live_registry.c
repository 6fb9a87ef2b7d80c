/* The checked arenas and recyclers that are alive, so that the end of the process can look at them: a program that
 * exits without releasing them gets their findings too.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_LIVE_REGISTRY_C
#define TOFT_DEBUG_LIVE_REGISTRY_C

#include "../platform/atomic.c"

typedef struct toft_registered {
  struct toft_registered *next, *previous;
  /* Enters the object, so that its own thread's calls are refused meanwhile. 0: a call is running in it. With the
   * registry's lock held. */
  int (*enter)(struct toft_registered *self);
  void (*look)(struct toft_registered *self); /* without the lock: findings call hooks */
  int looked;
} toft_registered;

static toft_lock toft_registry_lock;
static toft_registered toft_registry = {&toft_registry, &toft_registry, NULL, NULL, 0};

static void toft_register(toft_registered *r, int (*enter)(toft_registered *), void (*look)(toft_registered *)) {
  r->enter = enter;
  r->look = look;
  r->looked = 0;
  toft_lock_take(&toft_registry_lock);
  r->next = toft_registry.next;
  r->previous = &toft_registry;
  r->next->previous = r->previous->next = r;
  TOFT_UNLOCK(&toft_registry_lock);
}

/* A second call does nothing. */
static void toft_unregister(toft_registered *r) {
  if (r->next == NULL) return;
  toft_lock_take(&toft_registry_lock);
  r->next->previous = r->previous;
  r->previous->next = r->next;
  r->next = NULL;
  TOFT_UNLOCK(&toft_registry_lock);
}

/* The library is being unloaded: other threads may have been stopped with the lock held. */
static void toft_registry_end(void) {
  for (;;) {
    toft_registered *r;
    if (!toft_lock_take_to_end(&toft_registry_lock)) return;
    for (r = toft_registry.next; r != &toft_registry && r->looked; r = r->next) continue;
    int entered = r != &toft_registry && r->enter(r);
    r->looked = r != &toft_registry;
    int more = r->looked;
    TOFT_UNLOCK(&toft_registry_lock);
    if (entered) r->look(r);
    if (!more) return;
  }
}

#endif
