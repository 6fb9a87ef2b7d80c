/* Checks malloc and its relatives, then builds lists that end by a traversal. "thread": a second thread allocates too.
 * "handlers": handlers of fork allocate, while another thread waits.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
  if (!(condition)) exit(__LINE__ % 250 + 1)

#if defined(__x86_64__) /* old programs call it; new ones cannot be linked to it otherwise */
void old_free(void *);
__asm__(".symver old_free,cfree@GLIBC_2.2.5");
#else
#define old_free free
#endif

enum { DOCUMENTS = 40, NODES = 8000 };

static int aligned(const void *p, size_t align) { return p != NULL && (uintptr_t)p % align == 0; }

static void relatives(void) {
  void *p = NULL;
  volatile size_t huge = SIZE_MAX / 2; /* the compiler warns of the constant */
  char *text = (char *)malloc(10);
  CHECK(aligned(text, 16) && malloc_usable_size(text) >= 10);
  strcpy(text, "nine char");
  text = (char *)realloc(text, 100000);
  CHECK(text != NULL && strcmp(text, "nine char") == 0);
  text = (char *)reallocarray(text, 3, 5);
  CHECK(text != NULL && strcmp(text, "nine char") == 0);
  CHECK(realloc(text, 0) == NULL);
  char *zeros = (char *)calloc(1000, 3);
  for (int i = 0; i < 3000; i++) CHECK(zeros != NULL && zeros[i] == 0);
  free(zeros);
  errno = 0;
  CHECK(calloc(huge, 4) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(NULL, huge, 4) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(malloc(huge) == NULL && errno == ENOMEM);
  CHECK(posix_memalign(&p, 256, 1000) == 0 && aligned(p, 256));
  free(p);
  CHECK(posix_memalign(&p, 3, 1000) == EINVAL);
  p = aligned_alloc(4096, 8192);
  CHECK(aligned(p, 4096));
  free(p);
  p = memalign(64, 100);
  CHECK(aligned(p, 64));
  free(p);
  p = memalign(48, 100); /* rounded up */
  CHECK(aligned(p, 64));
  free(p);
  p = pvalloc(100);
  CHECK(aligned(p, 4096) && malloc_usable_size(p) >= 4096);
  free(p);
  CHECK(pvalloc(huge * 2) == NULL);
  p = valloc(100);
  CHECK(aligned(p, 4096));
  free(p);
  void *filled[100]; /* another malloc finds no header of its own */
  for (int i = 0; i < 100; i++) {
    CHECK((filled[i] = malloc(128)) != NULL);
    memset(filled[i], 0xff, 128);
  }
  for (int i = 0; i < 100; i++) old_free(filled[i]);
  p = malloc(0);
  CHECK(p != NULL && p != malloc(0));
  free(p);
  free(NULL);
}

typedef struct node {
  struct node *next;
  uint64_t values[4];
} node;

__attribute__((noinline)) static void document(int kind) {
  node *list = NULL, *next;
  for (int i = 0; i < NODES; i++) {
    next = (node *)malloc(sizeof *next);
    CHECK(next != NULL);
    next->next = list;
    next->values[i % 4] = (uint64_t)kind;
    list = next;
  }
  for (; list != NULL; list = next) {
    next = list->next;
    free(list);
  }
}

static void *allocate(void *arg) {
  for (int i = 0; i < 1000; i++) {
    void *volatile p = malloc(100); /* volatile: the compiler would remove the pair */
    free(p);
  }
  return arg;
}

/* Before the constructors of libraries register theirs. */
static void allocate_little(void) { (void)allocate(NULL); }
static void register_handlers(int argc, char **argv, char **environment) {
  (void)environment;
  if (argc > 1 && strcmp(argv[1], "handlers") == 0) pthread_atfork(allocate_little, allocate_little, allocate_little);
}
__attribute__((section(".preinit_array"), used)) static void (*at_start)(int, char **, char **) = register_handlers;

static void *wait_for_end(void *arg) {
  pause();
  return arg;
}

int main(int argc, char **argv) {
  pthread_t thread;
  int status = 0;
  relatives();
  alarm(60); /* in place of a fork that does not return */
  if (argc > 1 && strcmp(argv[1], "handlers") == 0) CHECK(pthread_create(&thread, NULL, wait_for_end, NULL) == 0);
  pid_t child = fork();
  if (child == 0) {
    relatives();
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  for (int i = 0; i < DOCUMENTS; i++) document(i);
  if (argc > 1 && strcmp(argv[1], "thread") == 0) {
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0 && pthread_join(thread, NULL) == 0);
    relatives();
  }
  return 0;
}
