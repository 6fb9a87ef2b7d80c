/* The state of the recorder: of the process and of each thread.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECORDER_STATE_H
#define TOFT_RECORDER_STATE_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "recording.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))
#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

enum {
  PAGE = 4096,
  SITES_MAX = 1 << 20, /* 64 MiB of address space; pages in use only take memory */
  TABLE_BITS = 12,     /* of the first table of sites; it grows, so that it stays in the caches */
  NODES = 1 << 21,
  NODES_MAX = NODES / 2,
  FRAMES_MAX = 400,
  OWN_STACK = 256 << 10,
  FILE_LEAST = 100,        /* the least number of a descriptor that is kept */
  SANDBOX_SEGMENTS = 1024, /* 64 MiB are mapped before the program restricts its system calls */
  SANDBOX_TABLE_BITS = 17,
  EVENT_WORDS = 3,
  CALLERS = 3,
  VARIANTS = 3, /* sites of one key that differ by all callers; more differ by the first */
  VERIFIED = 8,
  WINDOW = 2048,
#if defined(__x86_64__)
  READS_STACK = 1, /* return addresses are below the frame's CFA */
#else
  READS_STACK = 0,
#endif
  UNUSED_MAX = 256,
  SAME_MAX = 8, /* frames of one address in the table that differ by their callers */
};

typedef struct site {
  uint64_t key;              /* hash of return address and stack pointer */
  const void *slot[CALLERS]; /* where the return addresses are, if in the page of the stack pointer, else NULL */
  uint64_t caller[CALLERS];
  uint64_t unused;
} site;

/* Numbers of sites by the upper bits of their keys; 0: free. It is at most half full. */
typedef struct site_table {
  unsigned shift;
  uint32_t mask;
  uint32_t number[];
} site_table;

typedef struct node_link {
  uint64_t ip, cfa;
  uint32_t parent, unused;
} node_link;

/* A descriptor that the program may close, and the identity of its file. */
typedef struct held {
  int fd; /* -1: none */
  dev_t device;
  ino_t inode;
} held;

static struct {
  recording_header *header; /* the mapped first page of the file; NULL: not recording */
  recording_total *total;   /* shared between the processes */
  uint64_t total_limit;
  char folder[512], name[64];
  char executable[PAGE], provider[PAGE];
  held folder_file, file;
  int reopen;   /* a fork: its file is created with its first event */
  int no_clock; /* reading the processor's clock ends the program, which wants so */
  int sandbox;  /* the program restricts its system calls; no other is made */
  int lock;
  char *stack_top;                       /* of the recorder's own stack, which the holder of the lock uses */
  recording_segment *unused[UNUSED_MAX]; /* mapped segments of threads that have ended */
  unsigned unused_count;
  char *reserve, *reserve_end; /* segments that are mapped for the time in the sandbox */
  uint32_t reserve_reason;     /* why there are no more */
  uint32_t threads;
  pthread_key_t key;
  int has_key;
  site *sites; /* from number 1 */
  site_table *table;
  uint32_t site_count, entered;
  node_link *nodes;
  uint32_t *node_table; /* numbers of nodes by hash */
  uint32_t node_count;
} R;

typedef struct thread_state {
  uint64_t *next, *end; /* of the events; at least EVENT_WORDS are left before the end of the segment */
  uint64_t high;        /* upper bits of the last address */
  uint32_t frees;       /* since the last call that is not free */
  int busy;             /* inside the recorder */
  int resolving;
  uint32_t id;
  recording_segment *events, *stacks;
  recording_node *stack_next, *stack_end;
  unsigned stack_segments;
} thread_state;

static __thread thread_state T __attribute__((tls_model("initial-exec")));

static inline uint64_t ticks(void) {
  if (UNLIKELY(R.no_clock)) return 0;
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

/* Behind the lock. Without a clock the times have an order only. */
static uint64_t now(void) {
  static uint64_t last;
  struct timespec t;
  if (R.no_clock) return ++last;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return last = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
