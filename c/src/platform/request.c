/* Requests to the process by a signal. The handler stores a flag and posts a semaphore, nothing else. A thread, which
 * exists only if a signal was named, serves the request. A forked child does not have that thread: there the next call
 * of toft_serve_request serves it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_REQUEST_C
#define TOFT_PLATFORM_REQUEST_C

#include "atomic.c"
#include "base.h"
#include "os.c"

#if !defined(_WIN32) && !defined(TOFT_NO_OS)
#include <semaphore.h>
#include <signal.h>

static size_t toft_requested;          /* atomic */
static size_t toft_request_has_thread; /* atomic */
static size_t toft_request_ends;       /* atomic: the thread must return */
static int toft_request_signal;        /* 0: no handler */
static void (*toft_request_fn)(void);
static sem_t toft_request_semaphore;
static pthread_t toft_request_thread;

/* Leaves errno as it is: sem_post fails only where its count overflows, and it is called once for each request that the
 * thread takes. */
static void toft_request_handler(int number) {
  (void)number;
  if (TOFT_SWAP(&toft_requested, 1) == 0 && TOFT_LOAD(&toft_request_has_thread))
    (void)sem_post(&toft_request_semaphore);
}

static void *toft_request_wait(void *arg) {
  (void)arg;
  for (;;) {
    while (sem_wait(&toft_request_semaphore) != 0) continue; /* interrupted */
    if (TOFT_LOAD(&toft_request_ends)) return NULL;
    if (TOFT_SWAP(&toft_requested, 0)) toft_request_fn();
  }
}

/* Starts the thread, which gets no signals. If that fails, toft_serve_request serves the requests. */
static void toft_request_start_thread(void) {
  sigset_t all, before;
  if (sem_init(&toft_request_semaphore, 0, 0) != 0) return;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&toft_request_thread, NULL, toft_request_wait, NULL) == 0)
    (void)TOFT_SWAP(&toft_request_has_thread, 1);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Calls fn after each signal of this number. 0: there is no such signal, or the program has set its disposition, which
 * stays. Called once. */
static int toft_request_begin(int number, void (*fn)(void)) {
  struct sigaction ours, theirs;
  if (number == 0 || sigaction(number, NULL, &theirs) != 0 || (theirs.sa_flags & SA_SIGINFO) ||
      theirs.sa_handler != SIG_DFL)
    return 0;
  toft_request_fn = fn;
  toft_request_start_thread();
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = toft_request_handler;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  (void)sigemptyset(&ours.sa_mask);
  if (sigaction(number, &ours, NULL) != 0) return 0;
  toft_request_signal = number;
  return 1;
}

/* Serves a request on this thread, if there is one and no thread for it. */
static void toft_serve_request(void) {
  if (TOFT_LIKELY(!TOFT_LOAD(&toft_requested)) || TOFT_LOAD(&toft_request_has_thread)) return;
  if (TOFT_SWAP(&toft_requested, 0)) toft_request_fn();
}

/* The child of a fork has only the thread that forked. */
static void toft_request_after_fork(void) { TOFT_STORE(&toft_request_has_thread, 0); }

/* Called when the library is unloaded: its code must not run any more. */
static void toft_request_end(void) {
  struct sigaction now;
  if (toft_request_signal != 0 && sigaction(toft_request_signal, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
      now.sa_handler == toft_request_handler) {
    now.sa_handler = SIG_DFL;
    (void)sigaction(toft_request_signal, &now, NULL);
  }
  if (!TOFT_SWAP(&toft_request_has_thread, 0)) return;
  (void)TOFT_SWAP(&toft_request_ends, 1);
  (void)sem_post(&toft_request_semaphore);
  (void)pthread_join(toft_request_thread, NULL);
}

/* The number of a signal by its name, USR1 or USR2. 0: another one. */
static int toft_signal_named(const char *name) {
  return strcmp(name, "USR1") == 0 ? SIGUSR1 : strcmp(name, "USR2") == 0 ? SIGUSR2 : 0;
}

#else
static int toft_request_begin(int number, void (*fn)(void)) { return (void)number, (void)fn, 0; }
static void toft_serve_request(void) {}
static void toft_request_after_fork(void) {}
static void toft_request_end(void) {}
static int toft_signal_named(const char *name) { return (void)name, 0; }
#endif

#endif
