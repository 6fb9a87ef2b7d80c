/* The functions of os.c where there is no operating system (TOFT_NO_OS): bare metal, WebAssembly. There are no pages,
 * threads, environment or files. Blocks come from the caller's buffers and sources; the heap source has memory only
 * where TOFT_HEAP_ALLOC(size, align) and TOFT_HEAP_FREE(pointer) are defined.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_NO_OS_C
#define TOFT_PLATFORM_NO_OS_C

#include "base.h"

#ifndef TOFT_HEAP_ALLOC
#define TOFT_HEAP_ALLOC(size, align) ((void)(size), (void)(align), (void *)NULL)
#define TOFT_HEAP_FREE(pointer) ((void)(pointer))
#endif

static size_t toft_os_page(size_t n) { return (n + 4095) & ~(size_t)4095; }

static void *toft_os_heap_take(size_t size, size_t align) { return TOFT_HEAP_ALLOC(size, align); }
static void toft_os_heap_put(void *p) { TOFT_HEAP_FREE(p); }

static void *toft_os_map(size_t size, int huge) {
  (void)huge;
  return TOFT_HEAP_ALLOC(size, 4096);
}
static int toft_os_unmap(void *p, size_t size) {
  (void)size;
  TOFT_HEAP_FREE(p);
  return 1;
}
static void toft_os_discard(void *p, size_t size) { (void)p, (void)size; }
static int toft_os_forget(unsigned char *p, size_t size) { return (void)p, (void)size, 0; }
static int toft_os_return_pages(unsigned char *p, size_t size) { return (void)p, (void)size, 0; }
static void *toft_os_reserve(size_t size) {
  (void)size;
  return NULL;
}
static int toft_os_commit(void *p, size_t size) {
  (void)p, (void)size;
  return 0;
}
static int toft_os_decommit(void *p, size_t size) { return (void)p, (void)size, 0; }
static void toft_os_yield(void) {}

static int toft_os_fence_register(void) { return 0; }

#define TOFT_OS_CAN_SPLIT 0

/* Nothing ends but the program, so the cache is always open. */
static int toft_os_arm_thread_exit(void) { return 1; }

#endif
