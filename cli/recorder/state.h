/* The state of the recorder: of the process and of each thread.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECORDER_STATE_H
#define TOFT_RECORDER_STATE_H

#include "../preload/stacks.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "recording.h"

enum {
  FILE_LEAST = 100,        /* the least number of a descriptor that is kept */
  SANDBOX_SEGMENTS = 1024, /* 64 MiB are mapped before the program restricts its system calls */
  EVENT_WORDS = 3,
  UNUSED_MAX = 256,
  PIECES_MAX = 24, /* the first ones of a thread, so that many threads take little */
};

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
  char folder[PAGE], name[64];
  char executable[PAGE];
  held folder_file, file;
  int reopen;                            /* a fork: its file is created with its first event */
  recording_segment *unused[UNUSED_MAX]; /* mapped segments of threads that have ended */
  unsigned unused_count;
  char *piece, *pieces_end;    /* pieces of a mapped segment that no thread has taken */
  char *reserve, *reserve_end; /* segments that are mapped for the time in the sandbox */
  uint32_t reserve_reason;     /* why there are no more */
  uint32_t threads, stack_segments;
  pthread_key_t key;
  int has_key;
} R;

typedef struct thread_events {
  uint64_t *next, *end; /* of the events; at least EVENT_WORDS are left before the end of the segment */
  uint64_t high;        /* upper bits of the last address */
  uint32_t id;
  recording_segment *events, *stacks;
  recording_node *stack_next, *stack_end;
  unsigned pieces;
} thread_events;

static __thread thread_events E __attribute__((tls_model("initial-exec")));

/* Behind the lock. Without a clock the times have an order only. */
static uint64_t now(void) {
  static uint64_t last;
  struct timespec t;
  if (S.no_clock) return ++last;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return last = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
