/* The format of a recording: what recorder.c writes and src/advise/recording.rs reads.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A recording is a file of segments of 64 KiB, one file for each process. Segment 0 is the header. A segment may be of
 * pieces of 4 KiB, each of which is like a segment; after one of kind 0 there is none. The segments of a thread are in
 * order of their time, not of their place; one that is in the file twice, in part and whole, has the same time. All
 * fields have the processor's byte order. */
#ifndef TOFT_RECORDING_H
#define TOFT_RECORDING_H

#include <stdint.h>

#define RECORDING_MAGIC 0x3143455254464f54u /* "TOFTREC1" */

enum { RECORDING_SEGMENT = 65536, RECORDING_PIECE = 4096 };

typedef struct recording_header {
  uint64_t magic;
  uint64_t segments; /* at most, this one included; a segment of kind 0 is empty */
  uint64_t begin_ns, begin_ticks;
  uint64_t end_ns, end_ticks; /* 0 if the process was killed or replaced by exec */
  uint32_t pid, parent;
  uint32_t partial; /* a reason; 0: all events were recorded */
  uint32_t forked;  /* the process is a fork: objects of its parent are unknown */
  uint64_t lost;    /* events after the recording ended */
  uint32_t error;   /* errno at its end, or 0 */
  uint32_t unused;
} recording_header;

/* Why events, or a process, were not recorded. */
enum recording_reason {
  RECORDING_LIMIT = 1,       /* the limit of the recording */
  RECORDING_FILE_SIZE = 2,   /* the process's limit on the size of files */
  RECORDING_WRITE = 3,       /* a write has failed: `error` */
  RECORDING_UNREACHABLE = 4, /* the file cannot be opened, after the program has closed it: `error` */
  RECORDING_SANDBOX = 5,     /* the program restricts its system calls, and the memory that was mapped before is full */
};

/* The file "total" in the folder of the recordings, one page. */
typedef struct recording_total {
  uint64_t segments; /* of all processes */
  uint64_t limit;
  uint64_t unrecorded;    /* processes that allocate and have no recording */
  uint32_t reason, error; /* of the last of them */
  uint32_t state;         /* 0: no signal starts the recording */
  uint32_t signal;
} recording_total;

/* The recording between two signals, which any process of the program may receive. Nothing is recorded in odd
 * states. */
enum recording_state { RECORDING_WAITING = 1, RECORDING_STARTED = 2, RECORDING_STOPPED = 3 };

enum recording_kind {
  RECORDING_EVENTS = 1,   /* words, until one is 0 */
  RECORDING_STACKS = 2,   /* recording_node, until one is 0 */
  RECORDING_TEXT = 3,     /* bytes of /proc/self/maps, until a 0 */
  RECORDING_NAME = 4,     /* path of the executable, a 0, and the words of the command line, each with a 0 */
  RECORDING_PROVIDER = 5, /* path of the library that malloc is from */
};

typedef struct recording_segment {
  uint32_t kind, thread; /* the thread's number, from 1 */
  uint64_t ns, ticks;    /* when the segment was taken into use */
  uint64_t piece;        /* RECORDING_PIECE; 0: a whole segment */
} recording_segment;

enum recording_call {
  RECORDING_MALLOC = 1,
  RECORDING_CALLOC = 2,
  RECORDING_REALLOC = 3, /* follows RECORDING_RESIZE, or realloc was called with NULL */
  RECORDING_FREE = 4,
  RECORDING_RESIZE = 5,  /* realloc begins: the address is free from here on */
  RECORDING_RESTORE = 6, /* realloc has failed: the address is not free */
};

/* An event has one word, or two. The first word, from its lowest bits:
 *     4 bits   the call
 *     20 bits  the site
 *     8 bits   requested bytes of an allocation below RECORDING_LONG; else the second word has them.
 *     32 bits  address / 16, the lower 32 bits
 * The upper bits of addresses are those of the last word with RECORDING_HIGH in the segment.
 *
 * An allocation is recorded after it, a deallocation before it, so that of two events with one address and on different
 * threads the earlier one was recorded earlier. */
enum { RECORDING_HIGH = 7, RECORDING_LONG = 255 };

/* A frame of a stack, or a site. Frames form a tree, so that stacks share the frames of outer calls. */
typedef struct recording_node {
  uint64_t ip;       /* return address; of a site: that of malloc's caller */
  uint64_t cfa;      /* stack pointer of the frame's caller; of a site: the stack pointer at the call of malloc */
  uint64_t function; /* first address of the function; 0: unknown */
  uint32_t id;       /* number of the frame, from 1; of a site: number | RECORDING_SITE */
  uint32_t parent;   /* number of the calling frame; of a site: of its frame; 0: none */
} recording_node;

#define RECORDING_SITE 0x80000000u

#endif
