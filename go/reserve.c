/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _DEFAULT_SOURCE 1 /* madvise, MAP_ANONYMOUS */
#define _DARWIN_C_SOURCE 1
#include "reserve.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* There, only what is committed can be read. */
void *toftgo_range_take(size_t size, int readable) {
  return VirtualAlloc(NULL, size, MEM_RESERVE | (readable ? MEM_COMMIT : 0), readable ? PAGE_READWRITE : PAGE_NOACCESS);
}
int toftgo_range_commit(void *p, size_t size) { return VirtualAlloc(p, size, MEM_COMMIT, PAGE_READWRITE) != NULL; }
void toftgo_range_drop(void *p, size_t size, int keep) {
  VirtualFree(p, size, MEM_DECOMMIT);
  if (keep) VirtualAlloc(p, size, MEM_COMMIT, PAGE_READWRITE);
}
void toftgo_range_end(void *p, size_t size) {
  (void)size;
  VirtualFree(p, 0, MEM_RELEASE);
}

#else
#include <stdint.h>
#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#define HUGE_PAGE ((size_t)2 << 20)

static unsigned char *map(size_t size, int readable) {
  void *p = mmap(NULL, size, readable ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : (unsigned char *)p;
}

/* Behind the first 2 MiB huge pages are asked for: a walk over a large pool is a walk over the page table too. A small
 * pool stays small. Huge pages need the range on their own boundary: map one more, cut off both ends. */
void *toftgo_range_take(size_t size, int readable) {
#ifdef MADV_HUGEPAGE
  if (size > HUGE_PAGE && size <= SIZE_MAX - HUGE_PAGE) {
    unsigned char *p = map(size + HUGE_PAGE, readable);
    if (p == NULL) return NULL;
    size_t front = (size_t)(0 - (uintptr_t)p) & (HUGE_PAGE - 1);
    if (front != 0) munmap(p, front);
    if (front != HUGE_PAGE) munmap(p + front + size, HUGE_PAGE - front);
    p += front;
    (void)madvise(p + HUGE_PAGE, size - HUGE_PAGE, MADV_HUGEPAGE); /* a wish: small pages serve as well */
    return p;
  }
#endif
  return map(size, readable);
}
int toftgo_range_commit(void *p, size_t size) { return mprotect(p, size, PROT_READ | PROT_WRITE) == 0; }
void toftgo_range_drop(void *p, size_t size, int keep) {
  (void)madvise(p, size, MADV_DONTNEED);
  if (!keep) (void)mprotect(p, size, PROT_NONE);
}
void toftgo_range_end(void *p, size_t size) { munmap(p, size); }
#endif
