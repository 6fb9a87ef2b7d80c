/* The blocks of debugged leases and arenas: each on pages of its own, which become inaccessible when it is freed,
 * so that the use of a stale pointer faults. They are in one range of addresses, which is used from its start to its
 * end and then again, the addresses that were freed longest ago first. An inaccessible page follows each block.
 *
 * Each page has an owner: the places where the arena was made and where the block was freed. On systems with signals a
 * handler writes them to standard error and then calls the handler that was there before, which is Go's.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _DEFAULT_SOURCE 1
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

#include "shim.h"

#ifdef __ELF__
extern void __lsan_register_root_region(const void *begin, size_t size) __attribute__((weak));
#endif

#if !defined(MAP_ANON) && defined(MAP_ANONYMOUS)
#define MAP_ANON MAP_ANONYMOUS
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

enum { MOST_PLACES = 1 << 16, OTHER_PLACE = 1 };
#define BEHIND ((uint32_t)1 << 31)

typedef struct owner {
  uint32_t made;  /* a place, or 0: the page was never used; BEHIND: it follows a block */
  uint32_t freed; /* a place, or 0: the block is in use */
} owner;

static struct {
  unsigned char *start; /* NULL: there is no range */
  size_t page, pages;
  size_t next; /* the page where the search for a block begins */
  owner *owners;
  size_t used; /* bytes of blocks in use; atomic */
} range;

static const char **places; /* by number */
static uint32_t place_count = OTHER_PLACE + 1;

/* Guards the range and the places, for writers. */
#ifdef _WIN32
static SRWLOCK mutex = SRWLOCK_INIT;
static void lock(void) { AcquireSRWLockExclusive(&mutex); }
static void unlock(void) { ReleaseSRWLockExclusive(&mutex); }
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock(void) { (void)pthread_mutex_lock(&mutex); }
static void unlock(void) { (void)pthread_mutex_unlock(&mutex); }
#endif

/* ---- memory ---- */

#ifdef _WIN32
static size_t page_size(void) {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  return system.dwPageSize;
}
static void *reserve_pages(size_t size) { return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS); }
static int open_pages(void *p, size_t size) { return VirtualAlloc(p, size, MEM_COMMIT, PAGE_READWRITE) != NULL; }
static void close_pages(void *p, size_t size) { (void)VirtualFree(p, size, MEM_DECOMMIT); }
#else
static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static void *map(void *at, size_t size, int flags) {
  void *p = mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | flags, -1, 0);
  return p != MAP_FAILED ? p : NULL;
}
static void *reserve_pages(size_t size) { return map(NULL, size, 0); }
static int open_pages(void *p, size_t size) { return mprotect(p, size, PROT_READ | PROT_WRITE) == 0; }

/* A new mapping is merged with the inaccessible ones beside it, so that the number of mappings stays low. */
static void close_pages(void *p, size_t size) {
  if (map(p, size, MAP_FIXED) == NULL) (void)mprotect(p, size, PROT_NONE);
}
#endif

static owner *owner_of(const void *p) {
  size_t offset = (size_t)((uintptr_t)p - (uintptr_t)range.start);
  return range.start != NULL && offset < range.pages * range.page ? &range.owners[offset / range.page] : NULL;
}

/* Returns the first of so many pages without a block, or the number of all pages. */
static size_t find(size_t count) {
  size_t from = range.next, free = 0;
  for (size_t looked = 0; looked < 2 * range.pages; looked++) {
    size_t at = from + free;
    if (at >= range.pages) {
      from = free = 0;
      continue;
    }
    if (range.owners[at].made != 0 && range.owners[at].freed == 0) {
      from = at + 1;
      free = 0;
    } else if (++free == count) {
      return from;
    }
  }
  return range.pages;
}

static void *take(toft_source *self, size_t size) {
  const toftgo_faulting *f = (const toftgo_faulting *)self;
  size_t pages = (size + range.page - 1) / range.page;
  if (pages >= range.pages) return NULL;
  lock();
  size_t at = find(pages + 1);
  unsigned char *p = range.start + at * range.page;
  if (at == range.pages || !open_pages(p, pages * range.page)) {
    unlock();
    return NULL;
  }
  for (size_t i = 0; i < pages; i++) range.owners[at + i] = (owner){f->made, 0};
  range.owners[at + pages] = (owner){f->made | BEHIND, 0};
  range.next = at + pages + 1;
  range.used += pages * range.page;
  unlock();
  return p;
}

static void put(toft_source *self, void *block, size_t size) {
  const toftgo_faulting *f = (const toftgo_faulting *)self;
  size_t pages = (size + range.page - 1) / range.page;
  owner *first = owner_of(block);
  lock();
  close_pages(block, pages * range.page);
  for (size_t i = 0; i <= pages; i++) first[i].freed = f->freed != 0 ? f->freed : OTHER_PLACE;
  range.used -= pages * range.page;
  unlock();
}

size_t toftgo_x_faulting_bytes(void) {
  lock();
  size_t used = range.used;
  unlock();
  return used;
}

/* The smallest buffer has room for the state of an arena only, so that all objects are in blocks of the source. */
toft_arena *toftgo_x_create_faulting(void *buffer, size_t size, toftgo_faulting *source, uint32_t made) {
  *source = (toftgo_faulting){{take, put, NULL}, made, 0};
  toft_arena *a = NULL;
  for (size_t state = 64; a == NULL && state <= size && state <= TOFT_BUFFER(0); state += 8)
    a = toft_create_in(buffer, state, &source->source);
  return a;
}

/* A checked allocation has a red zone of 16 bytes on each side, and begins at a multiple of 16. */
void toftgo_x_fill_block(toft_arena *a) {
  enum { ZONE = 16, LEAST = 2 * ZONE + 8 };
  const owner *o = owner_of(a->cursor);
  if (o == NULL) return; /* it has no block yet */
  while ((o->made & BEHIND) == 0) o++;
  uintptr_t end = (uintptr_t)range.start + (size_t)(o - range.owners) * range.page;
  uintptr_t begin = ((uintptr_t)a->cursor + ZONE - 1) & ~(uintptr_t)(ZONE - 1);
  if (begin + LEAST <= end) (void)a->ops->alloc(a, end - begin - 2 * ZONE, 8, 0, 0);
}

/* ---- places and faults ---- */

uint32_t toftgo_x_place(const char *text) {
  lock();
  uint32_t number = OTHER_PLACE;
  char *copy = place_count < MOST_PLACES ? (char *)malloc(strlen(text) + 1) : NULL;
  if (copy != NULL) {
    number = place_count++;
    places[number] = strcpy(copy, text);
  }
  unlock();
  return number;
}

#ifndef _WIN32
static struct sigaction before_segv, before_bus;

static struct iovec part(const char *text) { return (struct iovec){(void *)(uintptr_t)text, strlen(text)}; }

/* Async-signal-safe. */
static void explain(const void *p) {
  const owner *o = owner_of(p);
  char digits[2 * sizeof p + 1];
  if (o == NULL || o->made == 0) return;
  for (size_t i = 0; i < 2 * sizeof p; i++)
    digits[i] = "0123456789abcdef"[(uintptr_t)p >> (4 * (2 * sizeof p - 1 - i)) & 15];
  digits[sizeof digits - 1] = 0;
  const char *kind = o->freed == 0      ? " is behind a block of an arena\n\t"
                     : o->made & BEHIND ? " is behind a block that was freed\n\t"
                                        : " was used after it was freed\n\t";
  const struct iovec parts[] = {part("toft: the memory at 0x"),
                                part(digits),
                                part(kind),
                                part(o->freed != 0 ? places[o->freed] : ""),
                                part(o->freed != 0 ? "\n\t" : ""),
                                part(places[o->made & ~BEHIND]),
                                part("\n")};
  ssize_t written = writev(2, parts, sizeof parts / sizeof *parts);
  (void)written;
}

static void on_fault(int number, siginfo_t *info, void *context) {
  const struct sigaction *before = number == SIGBUS ? &before_bus : &before_segv;
  int code = errno;
  explain(info->si_addr);
  errno = code;
  if (before->sa_flags & SA_SIGINFO)
    before->sa_sigaction(number, info, context);
  else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
    before->sa_handler(number);
  else
    (void)sigaction(number, before, NULL); /* the instruction faults again */
}

static int begin_handler(int number, struct sigaction *before) {
  struct sigaction ours;
  if (sigaction(number, NULL, before) != 0) return 0;
  memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ours.sa_mask = before->sa_mask;
  return sigaction(number, &ours, NULL) == 0;
}
static int begin_handlers(void) { return begin_handler(SIGSEGV, &before_segv) && begin_handler(SIGBUS, &before_bus); }
#else
/* An exception handler would run on the stack of the goroutine, which is too small for C. */
static int begin_handlers(void) { return 1; }
#endif

int toftgo_x_start_faults(size_t size) {
  if (range.start != NULL) return 1;
  places = (const char **)calloc(MOST_PLACES, sizeof *places);
  range.page = page_size();
  range.pages = size / range.page;
  range.owners = (owner *)calloc(range.pages, sizeof(owner)); /* written as the range is used */
  unsigned char *start = places != NULL && range.owners != NULL ? (unsigned char *)reserve_pages(size) : NULL;
  if (start == NULL) {
    free((void *)places);
    free(range.owners);
    return 0;
  }
  places[OTHER_PLACE] = "at an unknown place";
#ifdef __ELF__
  if (__lsan_register_root_region != NULL) __lsan_register_root_region(start, size);
#endif
  range.start = start;
  return begin_handlers();
}
