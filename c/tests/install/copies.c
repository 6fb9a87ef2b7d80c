/* Loads the shared libraries that are its arguments, and uses each on two threads. Prints their number.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <toft.h>

#define COPIES_MAX 64
static toft_arena *(*create[COPIES_MAX])(void);
static int count;

static void *use(void *failed) {
  for (int i = 0; i < count; i++) {
    toft_arena *a = create[i]();
    if (a == NULL || toft_alloc(a, 100000) == NULL) *(int *)failed = 1;
    toft_release(a);
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread;
  int failed = 0;
  for (; count + 1 < argc && count < COPIES_MAX; count++) {
    void *library = dlopen(argv[count + 1], RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "toft_create") : NULL;
    if (symbol == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    *(void **)(void *)&create[count] = symbol;
  }
  use(&failed);
  if (pthread_create(&thread, NULL, use, &failed) != 0 || pthread_join(thread, NULL) != 0 || failed) return 1;
  printf("copies %d\n", count);
  return 0;
}
