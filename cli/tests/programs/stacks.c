/* Allocates on small stacks: "threads" of 16 KiB, the least that POSIX allows, or a context on N bytes above an
 * inaccessible page, with memory of the program below it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, OTHER = 64 << 10 };
static ucontext_t outer, inner;

/* Fills more than a segment of the recording, from many sites. */
__attribute__((noinline)) static void leaf(int depth) {
  void *volatile p = malloc(40);
  if (depth > 0) leaf(depth - 1);
  free(p);
}

static void work(void) {
  for (int i = 0; i < 8000; i++) leaf(i % 5);
}

static void *thread(void *arg) {
  work();
  return arg;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  if (strcmp(argv[1], "threads") == 0) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, 16384) != 0) return 3;
    for (int i = 0; i < 4; i++) {
      pthread_t t;
      if (pthread_create(&t, &small, thread, NULL) != 0 || pthread_join(t, NULL) != 0) return 4;
    }
  } else {
    size_t size = (size_t)atoi(argv[1]);
    unsigned char *all =
        (unsigned char *)mmap(NULL, OTHER + PAGE + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == (unsigned char *)MAP_FAILED) return 5;
    memset(all, 0x5a, OTHER);
    mprotect(all + OTHER, PAGE, PROT_NONE);
    getcontext(&inner);
    inner.uc_stack.ss_sp = all + OTHER + PAGE;
    inner.uc_stack.ss_size = size;
    inner.uc_link = &outer;
    makecontext(&inner, work, 0);
    swapcontext(&outer, &inner);
    for (int i = 0; i < OTHER; i++)
      if (all[i] != 0x5a) return 6;
  }
  puts("ok");
  return 0;
}
