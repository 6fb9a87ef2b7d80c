/* A process that allocates little, and another one that allocates much: by fork, by exec, or by threads.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void work(int rounds) {
  for (int i = 0; i < rounds; i++) {
    void *p[16];
    for (int k = 0; k < 16; k++)
      if ((p[k] = malloc(40)) == NULL) abort();
    for (int k = 0; k < 16; k++) free(p[k]);
  }
}

enum { HANDED = 20000 };
static void *handed[HANDED];

static void *allocate(void *arg) {
  for (int i = 0; i < HANDED; i++) handed[i] = malloc(32);
  work(5000);
  return arg;
}

static void *release(void *arg) {
  for (int i = 0; i < HANDED; i++) free(handed[i]);
  work(5000);
  return arg;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int status = 0;
  if (strcmp(how, "fork") == 0) {
    work(10);
    if (fork() == 0) {
      work(20000);
      _exit(0);
    }
    wait(&status);
  } else if (strcmp(how, "exec") == 0) {
    work(20000);
    execl(argv[0], argv[0], "little", (char *)NULL);
  } else if (strcmp(how, "threads") == 0) {
    pthread_t thread[2];
    pthread_create(&thread[0], NULL, allocate, NULL);
    pthread_join(thread[0], NULL);
    pthread_create(&thread[1], NULL, release, NULL);
    work(5000);
    pthread_join(thread[1], NULL);
  } else if (strcmp(how, "kill") == 0) {
    work(1000);
    raise(SIGKILL);
  } else {
    work(10);
  }
  puts("done");
  return status != 0;
}
