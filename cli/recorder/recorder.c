/* Records the calls of malloc and its relatives in a program: LD_PRELOAD=recorder.so TOFT_RECORDING=FOLDER program.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Each thread writes events into a segment that is mapped from the file of the recording, so that nothing is lost if
 * the process is killed. A full segment is appended to the file by a system call, which takes a quarter of the time
 * of mapping new pages of a file. A site is what is known of a call: its return address, its stack pointer and the
 * return addresses of up to three callers. The stack of a site is unwound when the site is first seen, and only up to
 * a frame that is known from another stack.
 *
 * The space of a mapped segment is allocated first, so a full disk ends the recording and not the program. No
 * descriptor stays open: a program that closes all of its descriptors is not disturbed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "recording.h"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), *__libc_valloc(size_t), *__libc_pvalloc(size_t);
extern void __libc_free(void *);

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
  STACK_PAGES_MAX = 2048,
  EVENT_WORDS = 3,
  CALLERS = 3,
  VARIANTS = 3, /* sites of one key that differ by all callers; more differ by the first */
  VERIFIED = 8,
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

static struct {
  recording_header *header; /* the mapped first page of the file; NULL: not recording */
  uint64_t *total;          /* segments of all processes; shared between them */
  uint64_t total_limit;
  char folder[512], path[600];
  int reopen; /* a fork: its file is created with its first event */
  int lock;
  recording_segment *unused[UNUSED_MAX]; /* mapped segments of threads that have ended */
  unsigned unused_count;
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
  recording_segment *events, *stacks;
  recording_node *stack_next, *stack_end;
  unsigned stack_segments;
  uint64_t top; /* the highest frame address that was seen */
} thread_state;

static __thread thread_state T __attribute__((tls_model("initial-exec")));

static inline uint64_t ticks(void) {
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

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void lock(void) {
  while (__atomic_exchange_n(&R.lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

static void unlock(void) { STORE(&R.lock, 0); }

/* ---- the file ---- */

/* How many segments the file may have. A write beyond the process's limit would raise SIGXFSZ. */
static uint64_t segments_allowed(void) {
  struct rlimit r;
  if (getrlimit(RLIMIT_FSIZE, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return r.rlim_cur / RECORDING_SEGMENT;
}

/* The number of a new segment of the file; 0: the recording has reached its limit. */
static uint64_t reserve_segment(void) {
  recording_header *h = LOAD(&R.header);
  if (h == NULL || h->full) return 0;
  uint64_t i = __atomic_fetch_add(&h->segments, 1, __ATOMIC_ACQ_REL);
  if (i < segments_allowed() && __atomic_add_fetch(R.total, 1, __ATOMIC_RELAXED) <= R.total_limit) return i;
  h->full = 1;
  return 0;
}

static int write_all(int file, const char *from, size_t size, off_t at) {
  while (size > 0) {
    ssize_t n = pwrite(file, from, size, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    from += n, at += n, size -= (size_t)n;
  }
  return 1;
}

/* Appends a segment of `size` bytes to the file. */
static int append(const void *bytes, size_t size) {
  uint64_t i = reserve_segment();
  int file = i != 0 ? open(R.path, O_WRONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  int done = write_all(file, (const char *)bytes, size, (off_t)(i * RECORDING_SEGMENT));
  close(file);
  if (!done) R.header->full = 1;
  return done;
}

static void start_segment(recording_segment *s, uint32_t kind) {
  s->kind = kind;
  s->thread = (uint32_t)syscall(SYS_gettid);
  s->ns = now();
  s->ticks = ticks();
}

/* Maps a new segment of the file, whose space is allocated. */
static recording_segment *map_segment(void) {
  static const char zeros[PAGE];
  uint64_t i = reserve_segment();
  int file = i != 0 ? open(R.path, O_RDWR | O_CLOEXEC) : -1, backed = 1;
  if (file < 0) return NULL;
  off_t at = (off_t)(i * RECORDING_SEGMENT);
  if (fallocate(file, 0, at, RECORDING_SEGMENT) != 0)
    for (int k = 0; k < RECORDING_SEGMENT && backed; k += PAGE) backed = write_all(file, zeros, PAGE, at + k);
  void *p = backed ? mmap(NULL, RECORDING_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, file, at) : MAP_FAILED;
  close(file);
  if (p != MAP_FAILED) return (recording_segment *)p;
  R.header->full = 1;
  return NULL;
}

/* An empty segment of the calling thread: the contents of `s` are appended to the file. NULL: the recording has
 * ended. */
static recording_segment *next_segment(recording_segment *s, uint32_t kind) {
  if (s != NULL) {
    if (!append(s, RECORDING_SEGMENT)) return NULL;
    memset(s + 1, 0, RECORDING_SEGMENT - sizeof *s);
  } else {
    lock();
    if (R.unused_count > 0) s = R.unused[--R.unused_count];
    unlock();
    if (s == NULL && (s = map_segment()) == NULL) return NULL;
    if (R.has_key) (void)pthread_setspecific(R.key, &T);
  }
  start_segment(s, kind);
  return s;
}

/* Gives the mapped segments of a thread that ends to later threads. */
static void end_thread(void *arg) {
  recording_segment *mine[2] = {T.events, T.stacks};
  (void)arg;
  T.next = T.end = NULL;
  T.stack_next = T.stack_end = NULL;
  T.events = T.stacks = NULL;
  for (int i = 0; i < 2; i++) {
    recording_segment *s = mine[i];
    if (s == NULL || !append(s, RECORDING_SEGMENT)) continue;
    memset(s, 0, RECORDING_SEGMENT);
    lock();
    if (R.unused_count < UNUSED_MAX) R.unused[R.unused_count++] = s, s = NULL;
    unlock();
    if (s != NULL) munmap(s, RECORDING_SEGMENT);
  }
}

static void copy_file(const char *path, uint32_t kind) {
  char piece[PAGE];
  int from = open(path, O_RDONLY | O_CLOEXEC), to = open(R.path, O_WRONLY | O_CLOEXEC);
  off_t at = 0, end = 0;
  ssize_t n;
  while (from >= 0 && to >= 0 && (n = read(from, piece, sizeof piece)) > 0) {
    const char *p = piece;
    while (n > 0) {
      if (at == end) {
        recording_segment head;
        uint64_t i = reserve_segment();
        memset(&head, 0, sizeof head);
        start_segment(&head, kind);
        at = (off_t)(i * RECORDING_SEGMENT);
        end = at + RECORDING_SEGMENT;
        if (i == 0 || !write_all(to, (const char *)&head, sizeof head, at)) goto out;
        at += (off_t)sizeof head;
      }
      ssize_t part = n < end - at ? n : (ssize_t)(end - at);
      if (!write_all(to, p, (size_t)part, at)) goto out;
      p += part, at += part, n -= part;
    }
  }
out:
  if (from >= 0) close(from);
  if (to >= 0) close(to);
}

static void write_name(void) {
  struct {
    recording_segment head;
    char path[PAGE];
  } s;
  memset(&s, 0, sizeof s);
  start_segment(&s.head, RECORDING_NAME);
  if (readlink("/proc/self/exe", s.path, sizeof s.path - 1) > 0) (void)append(&s, sizeof s);
}

/* Creates the file of this process. Without it nothing is recorded. */
static void open_recording(int forked) {
  if (segments_allowed() < 2) return;
  snprintf(R.path, sizeof R.path, "%s/%ld-%llu.rec", R.folder, (long)getpid(), (unsigned long long)now());
  int file = open(R.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  recording_header first;
  memset(&first, 0, sizeof first);
  first.magic = RECORDING_MAGIC;
  first.segments = 1;
  first.begin_ns = now();
  first.begin_ticks = ticks();
  first.pid = (uint32_t)getpid();
  first.parent = (uint32_t)getppid();
  first.forked = (uint32_t)forked;
  char page[PAGE] = {0};
  memcpy(page, &first, sizeof first);
  void *p = MAP_FAILED;
  if (write_all(file, page, PAGE, 0)) p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (p == MAP_FAILED) {
    (void)unlink(R.path);
    return;
  }
  STORE(&R.header, (recording_header *)p);
  write_name();
}

/* Memory of 0 bytes. A table is accessed at random: with large pages it has fewer page faults and TLB misses. */
static void *reserve_memory(size_t size, int table) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  (void)madvise(p, size, table ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return p;
}

/* ---- stacks ---- */

static void put_node(uint64_t ip, uint64_t cfa, uint64_t function, uint32_t id, uint32_t parent) {
  if (T.stack_next == T.stack_end) {
    if ((T.stack_segments & (T.stack_segments - 1)) == 0) copy_file("/proc/self/maps", RECORDING_TEXT);
    T.stack_segments++;
    recording_segment *s = next_segment(T.stacks, RECORDING_STACKS);
    if (s == NULL) return;
    T.stacks = s;
    T.stack_next = (recording_node *)(s + 1);
    T.stack_end = (recording_node *)((char *)s + RECORDING_SEGMENT);
  }
  recording_node *n = T.stack_next++;
  n->ip = ip;
  n->cfa = cfa;
  n->function = function;
  n->parent = parent;
  STORE(&n->id, id);
}

static uint32_t node_hash(uint64_t ip, uint64_t cfa) {
  uint64_t h = (ip * 0x9E3779B97F4A7C15u) ^ (cfa * 0xC2B2AE3D27D4EB4Fu);
  return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* Whether all pages of a range can be read. */
static int readable(uint64_t from, uint64_t to) {
  static __thread unsigned char resident[STACK_PAGES_MAX] __attribute__((tls_model("initial-exec")));
  from &= ~(uint64_t)(PAGE - 1);
  uint64_t pages = (to - from + PAGE - 1) / PAGE;
  return to > from && pages <= STACK_PAGES_MAX && mincore((void *)(uintptr_t)from, pages * PAGE, resident) == 0;
}

typedef struct unwinding {
  uint64_t ra, sp;
  uint64_t top; /* end of the readable part of the stack; 0: return addresses cannot be read */
  unsigned count, skipped;
  uint32_t known; /* the node of the frame after the last */
  struct {
    uint64_t ip, cfa, function;
  } frame[FRAMES_MAX];
} unwinding;

/* Whether the callers of a known frame are those of the current stack: the return addresses of the next VERIFIED
 * callers are compared with those in the stack. Frames further out are taken to be the same. */
static int has_chain(const node_link *n, const unwinding *u) {
  for (int i = 0; i < VERIFIED && n->parent != 0; i++, n = &R.nodes[n->parent])
    if (n->cfa <= u->sp || n->cfa > u->top || *(const uint64_t *)(uintptr_t)(n->cfa - 8) != R.nodes[n->parent].ip)
      return 0;
  return 1;
}

/* The number of a known frame of the same function, address and callers, or 0. */
static uint32_t known_node(uint64_t ip, uint64_t cfa, const unwinding *u) {
  if (u->top == 0) return 0;
  uint32_t i = node_hash(ip, cfa), id;
  for (; (id = LOAD(&R.node_table[i & (NODES - 1)])) != 0; i++)
    if (R.nodes[id].ip == ip && R.nodes[id].cfa == cfa && has_chain(&R.nodes[id], u)) return id;
  return 0;
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *arg) {
  unwinding *u = (unwinding *)arg;
  uint64_t ip = _Unwind_GetIP(c), cfa = _Unwind_GetCFA(c);
  if (u->count == 0 && ip != u->ra) return ++u->skipped < 8 ? _URC_NO_REASON : _URC_END_OF_STACK;
  if (u->count > 0) {
    unsigned last = u->count - 1;
    u->frame[last].cfa = cfa; /* libgcc states the stack pointer at the call in this frame: the previous frame's CFA */
    if (u->count == FRAMES_MAX || cfa <= u->sp) return _URC_END_OF_STACK;
    u->known = known_node(u->frame[last].ip, cfa, u);
    if (u->known != 0) {
      u->count--;
      return _URC_END_OF_STACK;
    }
  }
  u->frame[u->count].ip = ip;
  u->frame[u->count].cfa = 0;
  u->frame[u->count++].function = _Unwind_GetRegionStart(c);
  return _URC_NO_REASON;
}

static _Unwind_Reason_Code no_frame(struct _Unwind_Context *c, void *arg) {
  (void)c, (void)arg;
  return _URC_END_OF_STACK;
}

/* Enters the frames of a stack into the tree, from the outermost. Returns the innermost frame's number. The lock is
 * held. */
static uint32_t add_nodes(const unwinding *u, uint32_t *ids) {
  uint32_t parent = u->known;
  for (unsigned k = u->count; k-- > 0;) {
    uint32_t id = R.node_count + 1, i = node_hash(u->frame[k].ip, u->frame[k].cfa);
    if (id > NODES_MAX) return 0;
    R.node_count = id;
    R.nodes[id].ip = u->frame[k].ip;
    R.nodes[id].cfa = u->frame[k].cfa;
    R.nodes[id].parent = parent;
    unsigned same = 0;
    for (uint32_t other; (other = R.node_table[i & (NODES - 1)]) != 0; i++)
      same += R.nodes[other].ip == u->frame[k].ip && R.nodes[other].cfa == u->frame[k].cfa;
    if (same < SAME_MAX) STORE(&R.node_table[i & (NODES - 1)], id);
    ids[k] = parent = id;
  }
  return parent;
}

/* Fills the site `i`, which no other thread knows yet. It differs from others by that many callers. */
static NOINLINE void fill_site(uint32_t i, uint64_t key, uint64_t ra, uint64_t sp, int callers) {
  unwinding u; /* 10 KB of the thread's stack */
  uint32_t ids[FRAMES_MAX];
  site *s = &R.sites[i];
  memset(s, 0, sizeof *s); /* after a fork it has the parent's contents */
  u.ra = ra;
  u.sp = sp;
  u.count = u.skipped = 0;
  u.known = 0;
#if defined(__x86_64__)
  u.top = T.top > sp && readable(sp, T.top) ? T.top : 0;
#else
  u.top = 0;
#endif
  _Unwind_Backtrace(on_frame, &u);
  if (u.count > 1 && u.frame[u.count - 2].cfa > T.top) T.top = u.frame[u.count - 2].cfa;
  lock();
  uint32_t leaf = add_nodes(&u, ids), known = u.known;
  unlock();
  if (leaf != 0) {
    uint32_t parent = known;
    for (unsigned k = u.count; k-- > 0; parent = ids[k])
      put_node(u.frame[k].ip, u.frame[k].cfa, u.frame[k].function, ids[k], parent);
    put_node(ra, sp, 0, i | RECORDING_SITE, leaf);
#if defined(__x86_64__)
    uint64_t page_end = (sp | (PAGE - 1)) + 1;
    for (int j = 0; j < callers; j++, leaf = R.nodes[leaf].parent) {
      uint32_t caller = R.nodes[leaf].parent;
      if (caller == 0 || R.nodes[leaf].cfa > page_end || R.nodes[leaf].cfa < sp + 8) break;
      s->slot[j] = (const void *)(uintptr_t)(R.nodes[leaf].cfa - 8);
      s->caller[j] = R.nodes[caller].ip;
    }
#endif
  }
  s->key = key;
}

/* Whether the callers of a site are those of the current stack. The slots are in the page of the stack pointer. */
static inline int has_callers(const site *s) {
  for (int j = 0; j < CALLERS; j++) {
    if (s->slot[j] == NULL) return 1;
    if (*(const uint64_t *)s->slot[j] != s->caller[j]) return 0;
  }
  return 1;
}

static site_table *new_table(unsigned bits) {
  size_t bytes = sizeof(site_table) + sizeof(uint32_t) * ((size_t)1 << bits);
  site_table *t = (site_table *)reserve_memory(bytes, 0);
  if (t == NULL) return NULL;
  t->shift = 64 - bits;
  t->mask = ((uint32_t)1 << bits) - 1;
  return t;
}

static void enter(site_table *t, uint64_t key, uint32_t id) {
  uint32_t i = (uint32_t)(key >> t->shift);
  while (t->number[i] != 0) i = (i + 1) & t->mask;
  STORE(&t->number[i], id);
}

/* `same`: sites of the same key that differ by their callers. */
static uint32_t lookup(const site_table *t, uint64_t key, int *same) {
  uint32_t id, i = (uint32_t)(key >> t->shift);
  for (*same = 0; (id = LOAD(&t->number[i])) != 0; i = (i + 1) & t->mask) {
    if (R.sites[id].key != key) continue;
    if (has_callers(&R.sites[id])) return id;
    ++*same;
  }
  return 0;
}

/* The number of the site of a call; 0 if there are too many. The old table stays mapped: other threads may read it. */
static NOINLINE uint32_t find_site(uint64_t key, uint64_t ra, uint64_t sp) {
  int same;
  uint32_t id = lookup(LOAD(&R.table), key, &same);
  if (id != 0) return id;
  id = __atomic_add_fetch(&R.site_count, 1, __ATOMIC_RELAXED);
  if (id >= SITES_MAX) {
    __atomic_sub_fetch(&R.site_count, 1, __ATOMIC_RELAXED);
    return 0;
  }
  T.busy = 1;
  fill_site(id, key, ra, sp, same < VARIANTS ? CALLERS : 1);
  lock();
  site_table *t = R.table;
  if (R.entered++ > t->mask / 2) {
    site_table *larger = new_table(64 - t->shift + 1);
    for (uint32_t i = 0; larger != NULL && i <= t->mask; i++)
      if (t->number[i] != 0) enter(larger, R.sites[t->number[i]].key, t->number[i]);
    if (larger != NULL) STORE(&R.table, t = larger);
  }
  if (R.entered <= t->mask) enter(t, key, id);
  unlock();
  T.busy = 0;
  return id;
}

/* ---- events ---- */

/* A new segment for the calling thread's events; 0: nothing is recorded. */
static NOINLINE int refill(void) {
  int error = errno;
  if (T.busy) return 0;
  T.busy = 1;
  if (UNLIKELY(LOAD(&R.reopen))) {
    lock();
    int first = R.reopen;
    R.reopen = 0;
    unlock();
    if (first) open_recording(1);
  }
  recording_segment *s = LOAD(&R.header) != NULL ? next_segment(T.events, RECORDING_EVENTS) : NULL;
  if (s != NULL) {
    T.events = s;
    T.next = (uint64_t *)(s + 1);
    T.end = (uint64_t *)((char *)s + RECORDING_SEGMENT) - EVENT_WORDS;
    T.high = 0;
  }
  T.busy = 0;
  errno = error;
  return s != NULL;
}

static inline __attribute__((always_inline)) void record(unsigned call, const void *p, uint64_t value, const void *ra,
                                                         const void *sp) {
  if (UNLIKELY(T.next >= T.end) && !refill()) return;
  if (UNLIKELY(T.busy)) return;
  uint64_t key = ((uint64_t)(uintptr_t)ra * 0x9E3779B97F4A7C15u) ^ ((uint64_t)(uintptr_t)sp * 0xC2B2AE3D27D4EB4Fu);
  const site_table *t = LOAD(&R.table);
  uint32_t i = LOAD(&t->number[key >> t->shift]);
  site *s = &R.sites[i]; /* 0 has no key */
  if (UNLIKELY(s->key != key || !has_callers(s))) {
    int error = errno;
    i = find_site(key, (uint64_t)(uintptr_t)ra, (uint64_t)(uintptr_t)sp);
    errno = error;
  }
  uint64_t *e = T.next, address = (uint64_t)(uintptr_t)p, high = address >> 36;
  if (UNLIKELY(high != T.high)) {
    T.high = high;
    *e++ = RECORDING_HIGH | high << 32;
  }
  if (call == RECORDING_FREE) {
    if (UNLIKELY((++T.frees & 15) == 0)) {
      value = RECORDING_LONG;
      e[1] = ticks();
    }
  } else {
    T.frees = 0;
    if (UNLIKELY(value >= RECORDING_LONG)) {
      e[1] = value;
      value = RECORDING_LONG;
    }
  }
  e[0] = call | (uint64_t)i << 4 | value << 24 | (address >> 4) << 32;
  T.next = e + 1 + (value == RECORDING_LONG);
}

/* The return address, and the stack pointer of the caller at the call: the CFA of the frame of malloc. */
#define HERE __builtin_return_address(0), __builtin_dwarf_cfa()

void *malloc(size_t size) {
  void *p = __libc_malloc(size);
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

void *calloc(size_t n, size_t size) {
  void *p = __libc_calloc(n, size);
  if (p != NULL) record(RECORDING_CALLOC, p, n * size, HERE);
  return p;
}

void free(void *p) {
  if (p == NULL) return;
  record(RECORDING_FREE, p, 0, HERE);
  __libc_free(p);
}

static inline __attribute__((always_inline)) void *resize(void *old, size_t size, const void *ra, const void *sp) {
  if (old != NULL) record(RECORDING_RESIZE, old, 0, ra, sp);
  void *p = __libc_realloc(old, size);
  if (p != NULL)
    record(RECORDING_REALLOC, p, size, ra, sp);
  else if (old != NULL && size != 0)
    record(RECORDING_RESTORE, old, 0, ra, sp);
  return p;
}

void *realloc(void *old, size_t size) { return resize(old, size, HERE); }

void *reallocarray(void *old, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(old, bytes, HERE);
}

void *memalign(size_t align, size_t size) {
  void *p = __libc_memalign(align, size);
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

void *aligned_alloc(size_t align, size_t size) {
  void *p = __libc_memalign(align, size);
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

int posix_memalign(void **result, size_t align, size_t size) {
  if (align < sizeof(void *) || (align & (align - 1)) != 0) return EINVAL;
  int error = errno;
  void *p = __libc_memalign(align, size);
  errno = error;
  if (p == NULL) return ENOMEM;
  record(RECORDING_MALLOC, p, size, HERE);
  *result = p;
  return 0;
}

void *valloc(size_t size) {
  void *p = __libc_valloc(size);
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

void *pvalloc(size_t size) {
  void *p = __libc_pvalloc(size);
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

/* ---- the process ---- */

/* In the child of a fork. Mapped segments belong to the parent's file. */
static void after_fork(void) {
  if (T.events != NULL) munmap(T.events, RECORDING_SEGMENT);
  if (T.stacks != NULL) munmap(T.stacks, RECORDING_SEGMENT);
  memset(&T, 0, sizeof T);
  R.lock = 0;
  for (unsigned i = 0; i < R.unused_count; i++) munmap(R.unused[i], RECORDING_SEGMENT);
  R.unused_count = 0;
  if (R.header == NULL) return;
  munmap(R.header, PAGE);
  R.header = NULL;
  /* The numbers of sites and frames are those of the parent's file. */
  memset(R.table->number, 0, sizeof(uint32_t) * ((size_t)R.table->mask + 1));
  (void)madvise(R.node_table, NODES * sizeof *R.node_table, MADV_DONTNEED);
  R.site_count = R.entered = R.node_count = 0;
  R.reopen = 1;
}

__attribute__((constructor)) static void begin(void) {
  const char *folder = getenv("TOFT_RECORDING");
  if (folder == NULL || strlen(folder) >= sizeof R.folder) return;
  T.busy = 1;
  strcpy(R.folder, folder);
  snprintf(R.path, sizeof R.path, "%s/total", folder);
  int file = open(R.path, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    uint64_t *total = (uint64_t *)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    R.sites = (site *)reserve_memory(SITES_MAX * sizeof *R.sites, 0);
    R.table = new_table(TABLE_BITS);
    R.nodes = (node_link *)reserve_memory((NODES_MAX + 1) * sizeof *R.nodes, 0);
    R.node_table = (uint32_t *)reserve_memory(NODES * sizeof *R.node_table, 1);
    if ((void *)total != MAP_FAILED && R.sites != NULL && R.table != NULL && R.nodes != NULL && R.node_table != NULL) {
      R.total = total;
      R.total_limit = total[1];
      _Unwind_Backtrace(no_frame, NULL); /* initialises the unwinder */
      R.has_key = pthread_key_create(&R.key, end_thread) == 0;
      pthread_atfork(NULL, NULL, after_fork);
      open_recording(0);
    }
  }
  T.busy = 0;
}

__attribute__((destructor)) static void end(void) {
  recording_header *h = LOAD(&R.header);
  if (h == NULL || h->pid != (uint32_t)getpid()) return;
  int busy = T.busy;
  T.busy = 1;
  copy_file("/proc/self/maps", RECORDING_TEXT);
  h->end_ticks = ticks();
  h->end_ns = now();
  T.busy = busy;
}
