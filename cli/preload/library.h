/* What the libraries that `toft advise` preloads have in common: their includes, constants and state.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_LIBRARY_H
#define TOFT_PRELOAD_LIBRARY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

enum {
  PAGE = 4096,
  SITES_BITS = 20, /* at most 2^20 sites and frames: 104 MiB of address space; pages in use only take memory */
  SITES_BITS_MIN = 10,
  SPARE = 4096,     /* sites and frames that are left to a program that limits its memory later */
  LIMIT_SHARE = 16, /* the library takes this part of memory that is limited */
  TABLE_BITS = 12,  /* of the first table of sites; it grows, so that it stays in the caches */
  FRAMES_MAX = 8192,
  OWN_STACK = 256 << 10,
  SANDBOX_TABLE_BITS = 17,
  CALLERS = 3,
  VARIANTS = 3, /* sites of one key that differ by all callers; more differ by the first */
  VERIFIED = 8,
  WINDOW = 2048,
#if defined(__x86_64__)
  READS_STACK = 1, /* return addresses are below the frame's CFA */
#else
  READS_STACK = 0,
#endif
  SAME_MAX = 8, /* frames of one address in the table that differ by their callers */
};

typedef struct site {
  uint64_t key;              /* hash of return address and stack pointer */
  const void *slot[CALLERS]; /* where the return addresses are, if in the page of the stack pointer, else NULL */
  uint64_t caller[CALLERS];
  uint64_t frame; /* what the library keeps of a site */
} site;

/* Numbers of sites by the upper bits of their keys; 0: free. It is at most half full. */
typedef struct site_table {
  unsigned shift;
  uint32_t mask;
  uint32_t number[];
} site_table;

typedef struct node_link {
  uint64_t ip, cfa;
  uint32_t parent, scope; /* scope, path: what the library keeps of a frame */
  uint64_t path;
} node_link;

static struct {
  int no_clock; /* reading the processor's clock ends the program, which wants so */
  int sandbox;  /* the program restricts its system calls; no other is made */
  int lock;
  char *stack_top;     /* of the library's own stack, which the holder of the lock uses */
  char provider[PAGE]; /* the library that malloc is from */
  site *sites;         /* from number 1 */
  site_table *table;
  uint32_t site_count, entered, site_end; /* end: the first number for which there is no memory */
  node_link *nodes;
  uint32_t *node_table; /* numbers of nodes by hash */
  uint32_t node_count, node_end, node_mask;
} S;

static __thread struct {
  int busy; /* inside the library */
  int resolving;
} T __attribute__((tls_model("initial-exec")));

static inline uint64_t ticks(void) {
  if (UNLIKELY(S.no_clock)) return 0;
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return 0;
#endif
}

/* The least limit of the process's memory; SIZE_MAX: there is none. */
static size_t memory_limit(void) {
  size_t least = SIZE_MAX;
  const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
  for (int i = 0; i < 2; i++) {
    struct rlimit r;
    if (getrlimit(resources[i], &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < least) least = r.rlim_cur;
  }
  return least;
}

/* Memory of 0 bytes. A table is accessed at random: with large pages it has fewer page faults and TLB misses. */
static void *reserve_memory(size_t size, int table) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  (void)madvise(p, size, table ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return p;
}

#endif
