/* The background thread: it returns idle memory to the system while the program calls nothing. It is off by default,
 * starts when pages come to the cache or recyclers have idle memory, sleeps for a window at a time, and ends when
 * nothing more will return.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_CORE_BACKGROUND_C
#define TOFT_CORE_BACKGROUND_C

#include "../platform/atomic.c"
#include "../platform/lifecycle.h"
#include "../platform/os.c"
#include "page_cache.c"

#if defined(TOFT_OMIT_PAGE_CACHE) || defined(TOFT_NO_OS) || defined(_WIN32) || defined(__wasi__)
#ifndef TOFT_OMIT_PAGE_CACHE
static void toft_idle_memory_kept(void) {}
static void toft_background_thread_forget(void) {}
#endif
static void toft_background_thread_end(void) {}
int toft_background_thread(int on) { return on ? TOFT_ENOSYS : TOFT_OK; }

#else

#ifndef TOFT_BACKGROUND_DEFAULT /* 1 in the packages for Go and Julia */
#define TOFT_BACKGROUND_DEFAULT 0
#endif

enum { TOFT_BACKGROUND_NONE, TOFT_BACKGROUND_RUNS, TOFT_BACKGROUND_ENDED, TOFT_BACKGROUND_CHANGES };

static struct {
  size_t setting; /* atomic; 0: the environment has not been read yet; else 1, or 2 if it is on */
  size_t state;   /* atomic; ENDED: not joined yet */
  toft_os_thread thread;
  toft_os_mutex mutex;
  toft_os_condition stopped;
  int stops; /* protected by the mutex */
} toft_background = {0, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static int toft_background_is_on(void) {
  return toft_page_setting(&toft_background.setting, "TOFT_BACKGROUND_THREAD", TOFT_BACKGROUND_DEFAULT) != 0;
}

/* Whether idle memory returns when more windows have ended. */
static int toft_background_has_work(void) {
  if (TOFT_LOAD(&toft_page_bytes) != 0) return 1;
  return TOFT_LOAD(&toft_account.window) - TOFT_LOAD(&toft_account.changed) < 4 &&
         toft_account_idle() > TOFT_ACCOUNT_STEP;
}

/* Waits for a window. 0: the thread must end. */
static int toft_background_wait(void) {
  size_t window = toft_page_window();
  toft_os_mutex_take(&toft_background.mutex);
  if (!toft_background.stops)
    toft_os_wait_for(&toft_background.stopped, &toft_background.mutex, window < 10 ? 10 : window);
  int goes_on = !toft_background.stops;
  toft_os_mutex_drop(&toft_background.mutex);
  return goes_on;
}

static void *toft_background_run(void *unused) {
  size_t ended = TOFT_BACKGROUND_ENDED;
  int goes_on = 1;
  (void)unused;
  do { /* pages that came before the state changed are this thread's */
    while (goes_on && toft_background_has_work()) {
      goes_on = toft_background_wait();
      toft_page_cache_age();
    }
    TOFT_STORE(&toft_background.state, ended);
  } while (goes_on && toft_background_has_work() &&
           TOFT_CAS_RELAXED(&toft_background.state, &ended, TOFT_BACKGROUND_RUNS));
  return NULL;
}

static TOFT_COLD void toft_background_start(void) {
  size_t state = TOFT_LOAD(&toft_background.state);
  if (state == TOFT_BACKGROUND_RUNS || state == TOFT_BACKGROUND_CHANGES || TOFT_LOAD(&toft_os_unloading)) return;
  if (!TOFT_CAS_RELAXED(&toft_background.state, &state, TOFT_BACKGROUND_CHANGES)) return;
  if (state == TOFT_BACKGROUND_ENDED) toft_os_thread_join(toft_background.thread);
  toft_os_mutex_take(&toft_background.mutex);
  toft_background.stops = 0;
  toft_os_mutex_drop(&toft_background.mutex);
  TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_RUNS);
  if (!toft_os_thread_start(&toft_background.thread, toft_background_run))
    TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_NONE); /* the next pages attempt it again */
}

static void toft_idle_memory_kept(void) {
  if (TOFT_UNLIKELY(toft_background_is_on())) toft_background_start();
}

static void toft_background_thread_end(void) {
  size_t state = TOFT_LOAD(&toft_background.state);
  if (state == TOFT_BACKGROUND_NONE || state == TOFT_BACKGROUND_CHANGES) return;
  toft_os_mutex_take(&toft_background.mutex);
  toft_background.stops = 1;
  toft_os_wake_all(&toft_background.stopped);
  toft_os_mutex_drop(&toft_background.mutex);
  toft_os_thread_join(toft_background.thread);
  TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_NONE);
}

/* The mutex may have been held by a thread that the child does not have. */
static void toft_background_thread_forget(void) {
  static const toft_os_mutex mutex = PTHREAD_MUTEX_INITIALIZER;
  static const toft_os_condition condition = PTHREAD_COND_INITIALIZER;
  toft_background.mutex = mutex;
  toft_background.stopped = condition;
  toft_background.stops = 0;
  TOFT_STORE(&toft_background.state, TOFT_BACKGROUND_NONE);
}

int toft_background_thread(int on) {
  TOFT_STORE(&toft_background.setting, on ? 2 : 1);
  if (on && toft_background_has_work()) toft_background_start();
  if (!on) toft_background_thread_end();
  return TOFT_OK;
}
#endif

#endif
