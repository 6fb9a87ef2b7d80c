/* Records the calls of malloc and its relatives in a program: LD_PRELOAD=recorder.so TOFT_RECORDING=FOLDER program.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The recorder only observes: each function that it defines calls the one that the program would call without it. Each
 * thread writes events into a segment that is mapped from the file of the recording, so that nothing is lost if the
 * process is killed. A full segment is appended to the file by a system call, which takes a quarter of the time of
 * mapping new pages. The stack of a site is unwound when the site is first seen, and only up to a known frame.
 *
 * Everything but the writing of an event runs behind a lock on a stack of the recorder's own, with signals blocked. The
 * space of a mapped segment is allocated first, so a full disk ends the recording and not the program. docs/advise.md
 * has more that the recorder does not do to a program. The number of lost events is in the header. */
#include "../preload/family.h"
#include "../preload/limits.h"
#include "../preload/sandbox.h"
#include "file.h"

/* ---- stacks ---- */

static void note_frame(uint64_t ip, uint64_t cfa, uint64_t function, uint32_t id, uint32_t parent) {
  if (E.stack_next == E.stack_end) {
    if ((R.stack_segments & (R.stack_segments - 1)) == 0) write_maps();
    R.stack_segments++;
    recording_segment *s = next_segment(E.stacks, RECORDING_STACKS);
    if (s == NULL) return;
    E.stacks = s;
    E.stack_next = (recording_node *)(s + 1);
    E.stack_end = (recording_node *)((char *)s + size_of(s));
  }
  recording_node *n = E.stack_next++;
  n->ip = ip;
  n->cfa = cfa;
  n->function = function;
  n->parent = parent;
  STORE(&n->id, id);
}

static void note_site(uint32_t i, uint64_t ra, uint64_t sp, uint32_t leaf) {
  note_frame(ra, sp, 0, i | RECORDING_SITE, leaf);
}

/* ---- events ---- */

static void start_events(void *arg) {
  (void)arg;
  if (R.reopen) {
    R.reopen = 0;
    open_recording(1);
  }
  recording_segment *s = R.header != NULL ? next_segment(E.events, RECORDING_EVENTS) : NULL;
  if (s == NULL) return;
  E.events = s;
  E.next = (uint64_t *)(s + 1);
  E.end = (uint64_t *)((char *)s + size_of(s)) - EVENT_WORDS;
  E.high = 0;
}

/* Whether a signal has yet to start the recording, or has stopped it. */
static inline int is_off(void) { return (int)(__atomic_load_n(&R.total->state, __ATOMIC_RELAXED) & 1); }

/* A new segment for the calling thread's events; 0: nothing is recorded. */
static NOINLINE int refill(void) {
  recording_header *h = LOAD(&R.header);
  if (T.busy || (h == NULL && !LOAD(&R.reopen)) || is_off()) return 0;
  if (h == NULL || !LOAD(&h->partial)) {
    int error = errno;
    aside(start_events, NULL);
    errno = error;
  }
  if (E.next < E.end) return 1;
  if ((h = LOAD(&R.header)) != NULL) __atomic_add_fetch(&h->lost, 1, __ATOMIC_RELAXED);
  return 0;
}

static ALWAYS_INLINE void record(unsigned call, const void *p, uint64_t value, const void *ra, const void *sp) {
  if (UNLIKELY(E.next >= E.end) && !refill()) return;
  if (UNLIKELY(T.busy | is_off())) return;
  uint32_t i = site_of(ra, sp);
  uint64_t *e = E.next, address = (uint64_t)(uintptr_t)p, high = address >> 36;
  if (UNLIKELY(high != E.high)) {
    E.high = high;
    *e++ = RECORDING_HIGH | high << 32;
  }
  if (UNLIKELY(value >= RECORDING_LONG)) {
    e[1] = value;
    value = RECORDING_LONG;
  }
  e[0] = call | (uint64_t)i << 4 | value << 24 | (address >> 4) << 32;
  E.next = e + 1 + (value == RECORDING_LONG);
}

static ALWAYS_INLINE void *take(size_t size, size_t align, const void *ra, const void *sp) {
  (void)size, (void)align, (void)ra, (void)sp;
  return NULL;
}

static ALWAYS_INLINE void took(const void *p, size_t size, int zeroed, const void *ra, const void *sp) {
  record(zeroed ? RECORDING_CALLOC : RECORDING_MALLOC, p, size, ra, sp);
}

static ALWAYS_INLINE int drop(void *p, const void *ra, const void *sp) {
  record(RECORDING_FREE, p, 0, ra, sp);
  return 0;
}

static ALWAYS_INLINE void *resize(void *old, size_t size, const void *ra, const void *sp) {
  if (!is_resolved() && N.realloc == NULL) return NULL;
  if (old != NULL) record(RECORDING_RESIZE, old, 0, ra, sp);
  void *p = N.realloc(old, size);
  if (p != NULL)
    record(RECORDING_REALLOC, p, size, ra, sp);
  else if (old != NULL && size != 0)
    record(RECORDING_RESTORE, old, 0, ra, sp);
  return p;
}

/* ---- the sandbox ---- */

static int is_active(void) { return LOAD(&R.header) != NULL || LOAD(&R.reopen); }

static void enter_sandbox(void *arg) {
  (void)arg;
  if (R.reopen) {
    R.reopen = 0;
    open_recording(1);
  }
  if (R.header == NULL || S.sandbox) return;
  write_maps();
  uint64_t used = LOAD(&R.total->segments), here = R.header->segments, allowed = segments_allowed();
  uint64_t left = used < R.total_limit ? R.total_limit - used : 0, room = here < allowed ? allowed - here : 0;
  uint64_t count = SANDBOX_SEGMENTS;
  R.reserve_reason = RECORDING_SANDBOX;
  if (count > left) count = left, R.reserve_reason = RECORDING_LIMIT;
  if (count > room) count = room, R.reserve_reason = RECORDING_FILE_SIZE;
  uint64_t share = memory_limit() / LIMIT_SHARE / RECORDING_SEGMENT;
  if (count > share) count = share;
  R.reserve = count > 0 ? map_segments(count) : NULL;
  R.reserve_end = R.reserve != NULL ? R.reserve + count * RECORDING_SEGMENT : NULL;
  grow_tables();
  STORE(&S.sandbox, 1);
}

/* ---- the process ---- */

static void return_memory(void *arg) {
  (void)arg;
  cut_sites();
}

/* In the child of a fork. Mapped segments belong to the parent's file. */
static void after_fork(void) {
  if (!S.sandbox) {
    if (E.events != NULL) munmap(E.events, size_of(E.events));
    if (E.stacks != NULL) munmap(E.stacks, size_of(E.stacks));
    if (R.piece != R.pieces_end) munmap(R.piece, (size_t)(R.pieces_end - R.piece));
    for (unsigned i = 0; i < R.unused_count; i++) munmap(R.unused[i], RECORDING_SEGMENT);
  }
  memset(&T, 0, sizeof T);
  memset(&E, 0, sizeof E);
  S.lock = 0;
  R.unused_count = 0;
  R.piece = R.pieces_end = NULL;
  if (R.header == NULL) return;
  if (!S.sandbox) {
    munmap(R.header, PAGE);
    if (same_file(&R.file)) close(R.file.fd);
    R.file.fd = -1;
    /* The numbers of sites and frames are those of the parent's file. */
    memset(S.table->number, 0, sizeof(uint32_t) * ((size_t)S.table->mask + 1));
    (void)madvise(S.node_table, ((size_t)S.node_mask + 1) * sizeof *S.node_table, MADV_DONTNEED);
  }
  R.header = NULL;
  S.site_count = S.entered = S.node_count = R.threads = R.stack_segments = 0;
  R.reopen = 1;
}

static void first_recording(void *arg) {
  (void)arg;
  _Unwind_Backtrace(no_frame, NULL); /* initialises the unwinder */
  open_recording(0);
}

/* Any process of the program starts and stops the recording of all. */
static void on_signal(int number) {
  uint32_t waiting = RECORDING_WAITING, started = RECORDING_STARTED;
  (void)number;
  if (!__atomic_compare_exchange_n(&R.total->state, &waiting, RECORDING_STARTED, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    (void)__atomic_compare_exchange_n(&R.total->state, &started, RECORDING_STOPPED, 0, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
}

static void handle_signal(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  (void)sigaction((int)R.total->signal, &action, NULL);
}

__attribute__((constructor)) static void begin(void) {
  const char *folder = getenv("TOFT_RECORDING");
  if (!is_resolved()) return;
  T.busy = 1;
  (void)dlerror(); /* that of resolve, not the program's */
  T.busy = 0;
  if (folder == NULL || strlen(folder) >= sizeof R.folder) return;
  T.busy = 1;
  strcpy(R.folder, folder);
  strcpy(R.name, "total");
  R.file.fd = R.folder_file.fd = -1;
  if (readlink("/proc/self/exe", R.executable, sizeof R.executable - 1) < 0) R.executable[0] = 0;
  int file = open_in_folder(O_RDWR);
  if (file >= 0) {
    void *total = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (total != MAP_FAILED) R.total = (recording_total *)total;
    if (R.total != NULL && !prepare_sites()) {
      count_unrecorded(RECORDING_WRITE, ENOMEM);
    } else if (R.total != NULL) {
      R.total_limit = R.total->limit;
      if (R.total->signal != 0) handle_signal();
      R.has_key = pthread_key_create(&R.key, end_thread) == 0;
      pthread_atfork(NULL, NULL, after_fork);
      aside(first_recording, NULL);
    }
  }
  T.busy = 0;
}

static void finish(void *arg) {
  recording_header *h = R.header;
  (void)arg;
  if (!S.sandbox && h->pid != (uint32_t)getpid()) return;
  write_maps();
  h->end_ticks = ticks();
  h->end_ns = now();
}

__attribute__((destructor)) static void end(void) {
  if (LOAD(&R.header) != NULL) aside(finish, NULL);
}
