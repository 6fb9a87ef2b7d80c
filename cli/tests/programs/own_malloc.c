/* Has a malloc of its own, which takes precedence over that of each library, and is ready when main begins.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Alignas(16) char heap[1 << 20];
static size_t used;
static int ready;

void *malloc(size_t size) {
  if (!ready) abort();
  size_t at = used;
  used += (size + 15) / 16 * 16;
  return used <= sizeof heap ? heap + at : NULL;
}

void free(void *p) { (void)p; }

void *calloc(size_t n, size_t size) { return malloc(n * size); }

void *realloc(void *old, size_t size) {
  void *p = malloc(size);
  return p != NULL && old != NULL ? memcpy(p, old, size) : p;
}

int main(void) {
  ready = 1;
  for (int i = 0; i < 1000; i++) free(malloc(40));
  return write(1, "ok\n", 3) != 3;
}
