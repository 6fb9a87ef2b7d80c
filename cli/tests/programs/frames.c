/* Allocates in frames of many kinds: with and without a frame pointer, of a size that is known at run time, deep, in a
 * handler of a signal, and on a stack whose outermost return address is no code.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static jmp_buf back;

NOINLINE static void leaf(void) {
  void *volatile p = malloc(24);
  free(p);
}

NOINLINE static void sized(size_t size) {
  char *volatile text = (char *)alloca(size);
  memset(text, 1, size);
  leaf();
}

NOINLINE static int deep(int depth) {
  sized(16 + 16 * (size_t)(depth % 7));
  leaf();
  return depth == 0 ? 0 : 1 + deep(depth - 1);
}

static void on_signal(int number) {
  (void)number;
  sized(64);
}

static void on_other_stack(void) {
  sized(32);
  leaf();
  longjmp(back, 1);
}

int main(void) {
  for (int i = 0; i < 500; i += 20)
    if (deep(i) != i) return 1;
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
#if defined(__x86_64__)
  size_t size = 64 << 10;
  char *stack = (char *)aligned_alloc(64, size), *top = stack + size - 64;
  if (stack == NULL) return 2;
  if (setjmp(back) == 0)
    __asm__ volatile("mov %0, %%rsp\n\tpushq $1\n\tjmp *%1" : : "r"(top), "r"(on_other_stack) : "memory");
  free(stack);
#endif
  puts("ok");
  return 0;
}
