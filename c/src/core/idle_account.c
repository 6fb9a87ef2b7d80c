/* The process's account of idle memory. All that keep memory for later requests share one allowance: the cache of
 * pages, recyclers and regions. The bytes that they keep and the bytes in use are together at most what was in use at
 * once in the current or the previous window of time, and a margin for requests of other sizes.
 *
 * Threads collect their changes and add them to the sums of the process when they exceed 1 MiB, all but the half of it,
 * so that an object that comes and goes changes no sum. A block whose idle
 * pages may be returned by any thread is in a list; its owner and another thread exclude each other by an asymmetric
 * fence, so that the owner pays two stores and a load. Where there is no such fence, owners alone return idle pages.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_IDLE_ACCOUNT_C
#define TOFT_CORE_IDLE_ACCOUNT_C

#include "../platform/assert.h"
#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "../platform/thread_local.h"
#include "policy.c"

/* A block with idle pages; part of its owner's header. */
typedef struct toft_purgeable {
  struct toft_purgeable *next, *previous;
  size_t (*purge)(struct toft_purgeable *); /* discards the idle pages; returns their bytes */
  size_t busy, purging;                     /* atomic */
  size_t window;                            /* atomic; of the last use */
} toft_purgeable;

/* What goes back to the source or the system. */
enum { TOFT_SURPLUS_NONE, TOFT_SURPLUS_BLOCKS, TOFT_SURPLUS_PAGES };

#ifdef TOFT_OMIT_PAGE_CACHE /* also where there are no pages and no clock */
static void toft_account_move(size_t used, size_t idle) { (void)used, (void)idle; }
static void toft_account_end(void) {}
static size_t toft_account_turn(void) { return 0; }
static int toft_account_exceeds(void) { return 0; }
static size_t toft_account_held(void) { return SIZE_MAX; }
static int toft_account_check(size_t *surplus) { return *surplus = 0, TOFT_SURPLUS_NONE; }
static void toft_purgeable_add(toft_purgeable *b) { (void)b; }
static void toft_purgeable_remove(toft_purgeable *b) { (void)b; }
TOFT_INLINE void toft_purgeable_enter(toft_purgeable *b) { (void)b; }
TOFT_INLINE void toft_purgeable_leave(toft_purgeable *b) { (void)b; }
static void toft_purge(size_t bytes, int all) { (void)bytes, (void)all; }
static void toft_purge_at_fork(int phase) { (void)phase; }

#else

#define TOFT_ACCOUNT_STEP TOFT_MIB         /* of a thread, until it is added to the sums */
#define TOFT_ACCOUNT_MARGIN (4 * TOFT_MIB) /* as much as the peak up to this, or an eighth of it */
#define TOFT_ACCOUNT_DELAY 32              /* a surplus returns after this part of a window */
#define TOFT_PAGE_WINDOW 500               /* milliseconds */
#define TOFT_PURGES 32                     /* blocks that are excluded by one fence */

/* Atomic. Bytes; the sums may be below 0 for a moment, since threads add their changes later. A block whose objects
 * come and go changes the bytes in use only. */
static struct {
  size_t used, held;    /* in use; in use or idle */
  size_t peak[2];       /* the most bytes in use at once, in the current and in the previous window */
  size_t most[2];       /* the most bytes held when pages were taken, in the same windows */
  size_t began, window; /* start of the current window in milliseconds; its number */
  size_t surplus_since; /* 0: there is none */
  size_t changed;       /* the window in which a thread added a change or purged a block last */
  size_t aged;          /* the window in which blocks were purged last */
} toft_account;

typedef struct toft_account_change {
  size_t used, held;
  size_t window; /* the last one in which a surplus was looked for */
  size_t step;   /* TOFT_ACCOUNT_STEP; 0: each change is added at once */
  int is_known;  /* the end of the thread adds its changes, or cannot */
} toft_account_change;

TOFT_PER_THREAD toft_account_change toft_account_own;
#define toft_account_own TOFT_OWN(toft_account_own)

static struct {
  toft_lock lock;
  toft_purgeable *first, *last; /* the first was added last */
  size_t count;
} toft_purgeables;

static void toft_account_age(void);
static int toft_account_check(size_t *surplus);
static void toft_idle_memory_kept(void); /* background.c */

/* ---- settings ---- */

static size_t toft_page_window_setting = 0; /* 0: the environment has not been read yet; else the value + 1 */

static size_t toft_page_setting(size_t *setting, const char *name, size_t otherwise) {
  size_t value = TOFT_LOAD(setting);
  if (TOFT_UNLIKELY(value == 0)) { /* all threads use the first result */
    size_t read = toft_os_env_number(name, otherwise) + 1;
    if (TOFT_CAS_RELAXED(setting, &value, read)) value = read;
  }
  return value - 1;
}
static size_t toft_page_window(void) {
  return toft_page_setting(&toft_page_window_setting, "TOFT_PAGE_CACHE_MS", TOFT_PAGE_WINDOW);
}

/* ---- the sums ---- */

static size_t toft_account_value(size_t sum) { return sum <= SIZE_MAX / 2 ? sum : 0; }
static size_t toft_account_sum(const size_t *sum) { return toft_account_value(TOFT_LOAD(sum)); }
static size_t toft_account_idle(void) {
  return toft_account_value(TOFT_LOAD(&toft_account.held) - TOFT_LOAD(&toft_account.used));
}

static size_t toft_account_held(void) { return toft_account_sum(&toft_account.held); }

/* Whether a surplus was found. */
static int toft_account_exceeds(void) { return TOFT_LOAD(&toft_account.surplus_since) != 0; }

static size_t toft_account_peak(void) {
  return toft_max(toft_account_sum(&toft_account.used),
                  toft_max(TOFT_LOAD(&toft_account.peak[0]), TOFT_LOAD(&toft_account.peak[1])));
}

static void toft_account_raise(size_t *peak, size_t bytes) {
  size_t before = TOFT_LOAD(peak);
  if (bytes <= SIZE_MAX / 2)
    while (bytes > before && !TOFT_CAS_RELAXED(peak, &before, bytes)) continue;
}

/* Begins a window if one has ended. Returns the number of the current one. */
static size_t toft_account_turn(void) {
  size_t now = toft_os_milliseconds(), began = TOFT_LOAD(&toft_account.began), window = toft_page_window();
  size_t passed = now - began, used = toft_account_sum(&toft_account.used);
  if (passed < window || !TOFT_CAS_RELAXED(&toft_account.began, &began, now)) return TOFT_LOAD(&toft_account.window);
  TOFT_STORE(&toft_account.peak[1], passed < 2 * window ? TOFT_LOAD(&toft_account.peak[0]) : used);
  TOFT_STORE(&toft_account.most[1], passed < 2 * window ? TOFT_LOAD(&toft_account.most[0]) : used);
  TOFT_STORE(&toft_account.peak[0], used);
  TOFT_STORE(&toft_account.most[0], used);
  return TOFT_ADD(&toft_account.window, 1);
}

/* Adds to the sums at once; arguments may be negative. A thread may use half a step more before it adds that. */
static void toft_account_add(size_t used, size_t held) {
  toft_account_raise(&toft_account.peak[0],
                     TOFT_ADD(&toft_account.used, used) + toft_account_own.used + toft_account_own.step / 2);
  if (held != 0) TOFT_ADD(&toft_account.held, held);
}

/* Removes what exceeds half a step from a sum of changes, and returns it. */
static size_t toft_account_cut(size_t *change, size_t step) {
  size_t before = *change, left = before <= SIZE_MAX / 2 ? step / 2 : 0 - step / 2;
  if (before + step / 2 <= step) return 0;
  *change = left;
  return before - left;
}

/* Adds the thread's changes but for half a step of each. Returns whether there may be a new surplus: only where more is
 * held, or the peak of a window is forgotten. */
static int toft_account_flush(size_t step) {
  toft_account_change *own = &toft_account_own;
  size_t used = toft_account_cut(&own->used, step), held = toft_account_cut(&own->held, step);
  int only_rises = held == 0 && used <= SIZE_MAX / 2; /* then the clock is not read */
  size_t window = only_rises ? TOFT_LOAD(&toft_account.window) : toft_account_turn(), before = own->window;
  toft_account_add(used, held);
  own->window = window;
  if (TOFT_LOAD(&toft_account.changed) != window) TOFT_STORE(&toft_account.changed, window);
  return held != 0 || window != before;
}

/* The thread ends: later changes are added at once. */
static void toft_account_end(void) {
  if ((toft_account_own.used | toft_account_own.held) != 0) (void)toft_account_flush(0);
  toft_account_own.step = 0;
  toft_account_own.is_known = 1;
}

static int toft_account_exceeds_step(const toft_account_change *own) {
  return own->used + own->step > 2 * own->step || own->held + own->step > 2 * own->step;
}

static TOFT_COLD void toft_account_exceed(void) {
  size_t surplus;
  toft_account_change *own = &toft_account_own;
  if (!own->is_known) {
    own->is_known = 1;
    own->step = toft_os_arm_thread_exit() ? TOFT_ACCOUNT_STEP : 0;
  }
  if (own->step != 0 && !toft_account_exceeds_step(own)) return;
  int may_exceed = toft_account_flush(own->step);
  if (toft_account_idle() != 0) toft_idle_memory_kept();
  if (!may_exceed && !toft_account_exceeds()) return;
  toft_account_age();
  (void)toft_account_check(&surplus); /* also forgets one that has ended */
}

/* Adds to the thread's changes. Arguments may be negative. */
static void toft_account_move(size_t used, size_t idle) {
  toft_account_change *own = &toft_account_own;
  own->used += used;
  own->held += used + idle;
  if (TOFT_UNLIKELY(toft_account_exceeds_step(own))) toft_account_exceed();
}

/* ---- the allowance ---- */

/* Returns the idle bytes, without those of the cache of pages, beyond the allowance, and stores the peak, which is at
 * least a step, since less may not have been added to a sum. The changes of this thread are included, those of others
 * are not known. */
static size_t toft_account_excess(size_t *peak) {
  size_t used = toft_account_value(TOFT_LOAD(&toft_account.used) + toft_account_own.used);
  size_t held = toft_account_value(TOFT_LOAD(&toft_account.held) + toft_account_own.held);
  *peak = toft_max(toft_max(toft_account_peak(), used), TOFT_ACCOUNT_STEP);
  size_t kept = *peak + toft_max(toft_min(*peak, TOFT_ACCOUNT_MARGIN), *peak / 8);
  return held > kept ? held - kept : 0;
}

/* Returns the bytes that the cache of pages may keep: those between objects may have been held too. */
static size_t toft_account_room(void) {
  size_t most = toft_max(TOFT_LOAD(&toft_account.most[0]), TOFT_LOAD(&toft_account.most[1]));
  size_t peak = toft_max(toft_account_peak(), most), held = toft_account_sum(&toft_account.held);
  return peak > held ? peak - held : 0;
}

/* Stores the surplus, and returns what goes back: blocks when there has been one for a part of a window, since a
 * program often takes them again at once; pages between objects too after a window; both at once when the surplus
 * exceeds the peak. */
static int toft_account_check(size_t *surplus) {
  size_t peak, excess = toft_account_excess(&peak), now, since, window;
  *surplus = excess;
  if (excess == 0) {
    if (TOFT_LOAD(&toft_account.surplus_since) != 0) TOFT_STORE(&toft_account.surplus_since, 0);
    return TOFT_SURPLUS_NONE;
  }
  now = toft_max(toft_os_milliseconds(), 1);
  since = TOFT_LOAD(&toft_account.surplus_since);
  window = toft_page_window();
  if (since == 0) TOFT_STORE(&toft_account.surplus_since, now);
  if (excess > peak) return TOFT_SURPLUS_PAGES;
  if (since == 0 || now - since < window / TOFT_ACCOUNT_DELAY) return TOFT_SURPLUS_NONE;
  return now - since < window ? TOFT_SURPLUS_BLOCKS : TOFT_SURPLUS_PAGES;
}

/* ---- blocks whose idle pages any thread may discard ---- */

static void toft_purgeable_link(toft_purgeable *b) {
  b->previous = NULL;
  b->next = toft_purgeables.first;
  *(b->next != NULL ? &b->next->previous : &toft_purgeables.last) = b;
  toft_purgeables.first = b;
}

static void toft_purgeable_unlink(toft_purgeable *b) {
  TOFT_ASSERT((b->previous != NULL ? b->previous->next : toft_purgeables.first) == b);
  TOFT_ASSERT((b->next != NULL ? b->next->previous : toft_purgeables.last) == b);
  *(b->previous != NULL ? &b->previous->next : &toft_purgeables.first) = b->next;
  *(b->next != NULL ? &b->next->previous : &toft_purgeables.last) = b->previous;
}

/* Precondition: b->purge is set, and b->busy and b->purging are 0. */
static void toft_purgeable_add(toft_purgeable *b) {
  TOFT_ASSERT(b->purge != NULL && b->busy == 0 && b->purging == 0);
  b->window = TOFT_LOAD(&toft_account.window);
  toft_arm_fork();
  toft_lock_take(&toft_purgeables.lock);
  toft_purgeable_link(b);
  TOFT_ADD(&toft_purgeables.count, 1);
  TOFT_UNLOCK(&toft_purgeables.lock);
}

static void toft_purgeable_remove(toft_purgeable *b) {
  toft_lock_take(&toft_purgeables.lock);
  toft_purgeable_unlink(b);
  TOFT_ADD(&toft_purgeables.count, (size_t)0 - 1);
  TOFT_UNLOCK(&toft_purgeables.lock);
}

static TOFT_COLD void toft_purgeable_wait(toft_purgeable *b) {
  do {
    TOFT_STORE_RELEASE(&b->busy, 0);
    while (TOFT_LOAD(&b->purging) != 0) toft_os_yield();
    TOFT_STORE(&b->busy, 1);
    TOFT_COMPILER_FENCE();
  } while (TOFT_LOAD_ACQUIRE(&b->purging) != 0);
}

/* The owner begins to use the record of idle pages. */
TOFT_INLINE void toft_purgeable_enter(toft_purgeable *b) {
  TOFT_ASSERT(TOFT_LOAD(&b->busy) == 0); /* it does not nest */
  TOFT_STORE(&b->busy, 1);
  TOFT_COMPILER_FENCE(); /* pairs with toft_os_fence_all */
  if (TOFT_UNLIKELY(TOFT_LOAD_ACQUIRE(&b->purging) != 0)) toft_purgeable_wait(b);
  TOFT_STORE(&b->window, TOFT_LOAD(&toft_account.window));
}
TOFT_INLINE void toft_purgeable_leave(toft_purgeable *b) {
  TOFT_ASSERT(TOFT_LOAD(&b->busy) == 1);
  TOFT_STORE_RELEASE(&b->busy, 0);
}

/* Excludes the owners of some blocks that no call has used for two windows, or of any, and discards their idle pages.
 * Returns the bytes. Precondition: the lock is held. */
static size_t toft_purge_some(size_t bytes, int all, size_t *left) {
  toft_purgeable *some[TOFT_PURGES], *b;
  size_t n = 0, done = 0, window = TOFT_LOAD(&toft_account.window);
  for (; *left > 0 && n < TOFT_PURGES; --*left) { /* the next calls begin with others */
    b = toft_purgeables.last;
    toft_purgeable_unlink(b);
    toft_purgeable_link(b);
    if (!all && window - TOFT_LOAD(&b->window) < 2) continue;
    TOFT_STORE(&b->purging, 1);
    some[n++] = b;
  }
  int excluded = n != 0 && toft_os_fence_all();
  while (n-- > 0) {
    TOFT_ASSERT(TOFT_LOAD(&some[n]->purging) == 1);
    if (excluded && done < bytes && TOFT_LOAD_ACQUIRE(&some[n]->busy) == 0) done += some[n]->purge(some[n]);
    TOFT_STORE_RELEASE(&some[n]->purging, 0);
  }
  return done;
}

/* Discards idle pages of recyclers: about `bytes` of those that no call has used for two windows, or of all. */
static TOFT_COLD void toft_purge(size_t bytes, int all) {
  size_t done = 0, left = SIZE_MAX;
  if (TOFT_LOAD(&toft_purgeables.count) == 0 || !toft_fence_is_asymmetric()) return; /* without a system call */
  while (left > 0 && done < bytes) {
    if (!TOFT_LOCK_TRY(&toft_purgeables.lock)) return; /* another thread purges */
    left = toft_min(left, toft_purgeables.count);
    done += toft_purge_some(bytes - done, all, &left);
    TOFT_UNLOCK(&toft_purgeables.lock);
  }
  if (done == 0) return;
  TOFT_STORE(&toft_account.changed, TOFT_LOAD(&toft_account.window));
  toft_account_add(0, 0 - done);
}

/* Once in a window: returns what exceeds the allowance. */
static void toft_account_age(void) {
  size_t window = TOFT_LOAD(&toft_account.window), aged = TOFT_LOAD(&toft_account.aged), excess, peak;
  if (aged == window || !TOFT_CAS_RELAXED(&toft_account.aged, &aged, window)) return;
  if ((excess = toft_account_excess(&peak)) != 0) toft_purge(excess, 0);
}

static void toft_purge_at_fork(int phase) {
  if (phase == 0)
    toft_lock_take(&toft_purgeables.lock);
  else
    TOFT_UNLOCK(&toft_purgeables.lock);
}
#endif

#endif
