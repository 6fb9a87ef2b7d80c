/* Programs for `toft run`, chosen by the first argument.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "toft.h"

static __attribute__((noinline)) char *make(toft_arena *a, size_t size) {
  return (char *)toft_alloc(a, size); /* make allocates */
}

static void clean(void) {
  toft_arena *a = toft_create();
  for (int i = 0; i < 1000; i++) memset(make(a, 100), 1, 100);
  toft_release(a);
}

static __attribute__((noinline)) int empty(toft_arena *a) {
  int code = toft_reset(a); /* empty resets */
  return code;
}

/* One late write, and three overruns of one line. */
static void misuse(void) {
  toft_arena *a = toft_create();
  volatile char *kept = make(a, 16);
  empty(a);
  kept[3] = 'x';
  empty(a);
  for (int i = 0; i < 3; i++) {
    volatile char *p = make(a, 24);
    p[24] = '!';
    empty(a);
  }
  toft_release(a);
}

static void release_twice(void) {
  toft_arena *a = toft_create();
  make(a, 100);
  toft_release(a);
  toft_release(a);
}

static void exceed(void) {
  toft_arena *a = toft_create();
  for (int i = 0; i < 100; i++) make(a, 1000);
  toft_release(a);
}

static void leave_alive(void) {
  toft_arena *a = toft_create();
  TOFT_TAG(a, "kept");
  for (int i = 0; i < 10000; i++) make(a, 100);
}

static void *work(void *arg) {
  for (int i = 0; i < 1000; i++) {
    toft_lease l = toft_lease_get(NULL);
    TOFT_TAG(l.arena, "request");
    for (int k = 0; k < 10; k++) make(l.arena, 100);
    toft_lease_return(NULL, l);
  }
  return arg;
}

static void threads(void) {
  pthread_t all[4];
  for (int i = 0; i < 4; i++) pthread_create(&all[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
}

static void on_term(int number) {
  (void)number;
  (void)!write(1, "got TERM\n", 9);
  _exit(5);
}

static void on_user(int number) { (void)number; }

/* Prints that it is ready, and waits. */
static void wait_for_signals(void) {
  leave_alive();
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

static void children(const char *self) {
  leave_alive();
  for (int i = 0; i < 2; i++) {
    pid_t child = fork();
    if (child == 0) execl(self, self, "clean", (char *)NULL);
    waitpid(child, NULL, 0);
  }
}

static void echo(void) {
  char text[100];
  while (fgets(text, sizeof text, stdin) != NULL) {
    fputs(text, stdout);
    fputs("an error of the program\n", stderr);
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "clean") == 0) clean();
  if (strcmp(what, "misuse") == 0) misuse();
  if (strcmp(what, "exceed") == 0) exceed();
  if (strcmp(what, "twice") == 0) release_twice();
  if (strcmp(what, "alive") == 0) leave_alive();
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "children") == 0) children(argv[0]);
  if (strcmp(what, "echo") == 0) echo();
  if (strcmp(what, "code") == 0) {
    misuse();
    return 7;
  }
  if (strcmp(what, "crash") == 0) {
    misuse();
    raise(SIGSEGV);
  }
  if (strcmp(what, "own") == 0) signal(SIGUSR1, on_user);
  if (strcmp(what, "own") == 0) clean();
  if (strcmp(what, "handle") == 0) signal(SIGTERM, on_term);
  if (strcmp(what, "handle") == 0 || strcmp(what, "wait") == 0) wait_for_signals();
  return 0;
}
