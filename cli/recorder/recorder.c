/* Records the calls of malloc and its relatives in a program: LD_PRELOAD=recorder.so TOFT_RECORDING=FOLDER program.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The recorder only observes. Each function that it defines calls the definition that the program would call
 * without it, the next one in the order of the dynamic linker: memory comes from the program's own malloc, and
 * functions that are not defined here, such as malloc_usable_size, receive pointers of that malloc.
 *
 * Each thread writes events into a segment that is mapped from the file of the recording, so that nothing is lost if
 * the process is killed. A full segment is appended to the file by a system call, which takes a quarter of the time
 * of mapping new pages of a file. A site describes a call: its return address, its stack pointer and the
 * return addresses of up to three callers. The stack of a site is unwound when the site is first seen, and only up to
 * a frame that is known from another stack.
 *
 * Everything but the writing of an event runs behind a lock on a stack of the recorder's own, with signals blocked: a
 * thread or a coroutine needs less than 512 bytes of its stack for it. The space of a mapped segment is allocated
 * first, so a full disk ends the recording and not the program. The descriptors of the file and of its folder have
 * high numbers and are opened again if the program has closed them. From the moment at which a program restricts its
 * system calls by seccomp the recorder makes none: it writes into segments that it has mapped before. What is lost is
 * counted in the header. */
#include "stacks.h"

/* ---- events ---- */

static void start_events(void *arg) {
  (void)arg;
  if (R.reopen) {
    R.reopen = 0;
    open_recording(1);
  }
  recording_segment *s = R.header != NULL ? next_segment(T.events, RECORDING_EVENTS) : NULL;
  if (s == NULL) return;
  T.events = s;
  T.next = (uint64_t *)(s + 1);
  T.end = (uint64_t *)((char *)s + RECORDING_SEGMENT) - EVENT_WORDS;
  T.high = 0;
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
  if (T.next < T.end) return 1;
  if ((h = LOAD(&R.header)) != NULL) __atomic_add_fetch(&h->lost, 1, __ATOMIC_RELAXED);
  return 0;
}

static inline __attribute__((always_inline)) void record(unsigned call, const void *p, uint64_t value, const void *ra,
                                                         const void *sp) {
  if (UNLIKELY(T.next >= T.end) && !refill()) return;
  if (UNLIKELY(T.busy | is_off())) return;
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

static inline void set_busy(const int *before) { T.busy = *before; }

/* A call within which other functions of the family, which the library may call by their names, are not recorded.
 * An exception may leave it. */
#define QUIETLY(call)                                            \
  ({                                                             \
    __attribute__((cleanup(set_busy))) int busy_before = T.busy; \
    T.busy = 1;                                                  \
    call;                                                        \
  })

void *malloc(size_t size) {
  if (!is_resolved() && N.malloc == NULL) return NULL;
  void *p = N.malloc(size);
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

void *own_malloc(size_t) __attribute__((alias("malloc"), visibility("hidden")));

/* Whether the program calls the recorder's malloc, and not one that is linked into it. */
static int is_malloc_ours(void) { return (uintptr_t)malloc == (uintptr_t)own_malloc; }

void *calloc(size_t n, size_t size) {
  if (!is_resolved() && N.calloc == NULL) return NULL;
  void *p = N.calloc(n, size);
  if (p != NULL) record(RECORDING_CALLOC, p, n * size, HERE);
  return p;
}

void free(void *p) {
  if (p == NULL || (!is_resolved() && N.free == NULL)) return;
  record(RECORDING_FREE, p, 0, HERE);
  N.free(p);
}

void cfree(void *p) {
  if (p == NULL || !is_resolved()) return;
  record(RECORDING_FREE, p, 0, HERE);
  (N.cfree != NULL ? N.cfree : N.free)(p);
}

void free_sized(void *p, size_t size) {
  if (p == NULL || !is_resolved()) return;
  record(RECORDING_FREE, p, 0, HERE);
  if (N.free_sized != NULL)
    N.free_sized(p, size);
  else
    N.free(p);
}

void free_aligned_sized(void *p, size_t align, size_t size) {
  if (p == NULL || !is_resolved()) return;
  record(RECORDING_FREE, p, 0, HERE);
  if (N.free_aligned_sized != NULL)
    N.free_aligned_sized(p, align, size);
  else
    N.free(p);
}

static inline __attribute__((always_inline)) void *resize(void *old, size_t size, const void *ra, const void *sp) {
  if (!is_resolved() && N.realloc == NULL) return NULL;
  if (old != NULL) record(RECORDING_RESIZE, old, 0, ra, sp);
  void *p = N.realloc(old, size);
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
  if (!is_resolved()) return NULL;
  void *p = QUIETLY(N.memalign(align, size));
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

void *aligned_alloc(size_t align, size_t size) {
  if (!is_resolved()) return NULL;
  void *p = QUIETLY(N.aligned_alloc(align, size));
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

int posix_memalign(void **result, size_t align, size_t size) {
  if (!is_resolved()) return ENOMEM;
  int failed = QUIETLY(N.posix_memalign(result, align, size));
  if (failed == 0 && *result != NULL) record(RECORDING_MALLOC, *result, size, HERE);
  return failed;
}

void *valloc(size_t size) {
  if (!is_resolved()) return NULL;
  void *p = QUIETLY(N.valloc(size));
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

void *pvalloc(size_t size) {
  if (!is_resolved()) return NULL;
  void *p = QUIETLY(N.pvalloc(size));
  if (p != NULL) record(RECORDING_MALLOC, p, size, HERE);
  return p;
}

/* Operators of malloc's library. */
static NOINLINE void *record_new(operator_function *f, uintptr_t size, uintptr_t b, uintptr_t c, const void *ra,
                                 const void *sp) {
  void *p = QUIETLY(f(size, b, c));
  if (p != NULL) record(RECORDING_MALLOC, p, size, ra, sp);
  return p;
}

static NOINLINE void *record_delete(operator_function *f, void *p, uintptr_t b, uintptr_t c, const void *ra,
                                    const void *sp) {
  if (p != NULL) record(RECORDING_FREE, p, 0, ra, sp);
  return QUIETLY(f((uintptr_t)p, b, c));
}

/* Other operators call malloc and free. The recorder leaves no frame on the stack, which is unwound from malloc. */
static inline __attribute__((always_inline)) void *call_new(int which, uintptr_t size, uintptr_t b, uintptr_t c,
                                                            const void *ra, const void *sp) {
  operator_function *f = is_resolved() ? N.operators[which] : NULL;
  if (UNLIKELY(f == NULL) && (f = find_operator(which, ra)) == NULL) return malloc(size);
  return UNLIKELY(N.has_operators) ? record_new(f, size, b, c, ra, sp) : f(size, b, c);
}

static inline __attribute__((always_inline)) void *call_delete(int which, void *p, uintptr_t b, uintptr_t c,
                                                               const void *ra, const void *sp) {
  operator_function *f = is_resolved() ? N.operators[which] : NULL;
  if (UNLIKELY(f == NULL) && (f = find_operator(which, ra)) == NULL) return free(p), NULL;
  return UNLIKELY(N.has_operators) ? record_delete(f, p, b, c, ra, sp) : f((uintptr_t)p, b, c);
}

#define OPERATOR_NEW(which, name) \
  void *name(uintptr_t size, uintptr_t b, uintptr_t c) { return call_new(which, size, b, c, HERE); }
#define OPERATOR_DELETE(which, name) \
  void *name(void *p, uintptr_t b, uintptr_t c) { return call_delete(which, p, b, c, HERE); }

OPERATOR_NEW(NEW, FOR_SIZE(_Znw, ))
OPERATOR_NEW(NEW_NOTHROW, FOR_SIZE(_Znw, RKSt9nothrow_t))
OPERATOR_NEW(NEW_ALIGNED, FOR_SIZE(_Znw, St11align_val_t))
OPERATOR_NEW(NEW_ALIGNED_NOTHROW, FOR_SIZE(_Znw, St11align_val_tRKSt9nothrow_t))
OPERATOR_NEW(NEW_ARRAY, FOR_SIZE(_Zna, ))
OPERATOR_NEW(NEW_ARRAY_NOTHROW, FOR_SIZE(_Zna, RKSt9nothrow_t))
OPERATOR_NEW(NEW_ARRAY_ALIGNED, FOR_SIZE(_Zna, St11align_val_t))
OPERATOR_NEW(NEW_ARRAY_ALIGNED_NOTHROW, FOR_SIZE(_Zna, St11align_val_tRKSt9nothrow_t))
OPERATOR_DELETE(DELETE, _ZdlPv)
OPERATOR_DELETE(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_SIZED, FOR_SIZE(_ZdlPv, ))
OPERATOR_DELETE(DELETE_ALIGNED, _ZdlPvSt11align_val_t)
OPERATOR_DELETE(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_SIZED_ALIGNED, FOR_SIZE(_ZdlPv, St11align_val_t))
OPERATOR_DELETE(DELETE_ARRAY, _ZdaPv)
OPERATOR_DELETE(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_ARRAY_SIZED, FOR_SIZE(_ZdaPv, ))
OPERATOR_DELETE(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t)
OPERATOR_DELETE(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t)
OPERATOR_DELETE(DELETE_ARRAY_SIZED_ALIGNED, FOR_SIZE(_ZdaPv, St11align_val_t))

/* ---- the sandbox ---- */

/* Prepares for a time without system calls. */
static void enter_sandbox(void *arg) {
  (void)arg;
  if (R.reopen) {
    R.reopen = 0;
    open_recording(1);
  }
  if (R.header == NULL || R.sandbox) return;
  write_maps();
  uint64_t used = LOAD(&R.total->segments), here = R.header->segments, allowed = segments_allowed();
  uint64_t count = SANDBOX_SEGMENTS;
  R.reserve_reason = RECORDING_SANDBOX;
  if (used + count > R.total_limit) {
    count = used < R.total_limit ? R.total_limit - used : 0;
    R.reserve_reason = RECORDING_LIMIT;
  }
  if (here + count > allowed) {
    count = here < allowed ? allowed - here : 0;
    R.reserve_reason = RECORDING_FILE_SIZE;
  }
  R.reserve = count > 0 ? map_segments(count) : NULL;
  R.reserve_end = R.reserve != NULL ? R.reserve + count * RECORDING_SEGMENT : NULL;
  if (64 - R.table->shift < SANDBOX_TABLE_BITS) grow_table(SANDBOX_TABLE_BITS);
  STORE(&R.sandbox, 1);
}

/* The strict mode forbids the processor's clock too. */
static NOINLINE void before_sandbox(int strict) {
  int error = errno;
  if (!T.busy && (LOAD(&R.header) != NULL || LOAD(&R.reopen))) aside(enter_sandbox, NULL);
  if (strict) STORE(&R.no_clock, 1);
  errno = error;
}

/* The arguments of both functions are in registers, as in calls without a prototype. Both end by a jump: what a system
 * call does to the stack, it does to that of the caller. */
int recorded_prctl(int, unsigned long, unsigned long, unsigned long, unsigned long) __asm__("prctl");
long recorded_syscall(long, long, long, long, long, long, long) __asm__("syscall");

int recorded_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || b != 0)) before_sandbox(a == SECCOMP_MODE_STRICT);
  if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV) STORE(&R.no_clock, 1);
  if (!is_resolved()) return -1;
  return N.prctl(option, a, b, c, d);
}

long recorded_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c != 0)))
    before_sandbox(a == SECCOMP_SET_MODE_STRICT);
  if (number == SYS_prctl && a == PR_SET_SECCOMP && (b == SECCOMP_MODE_STRICT || c != 0))
    before_sandbox(b == SECCOMP_MODE_STRICT);
  if (!is_resolved()) return -1;
  return N.syscall(number, a, b, c, d, e, f);
}

/* ---- the process ---- */

/* In the child of a fork. Mapped segments belong to the parent's file. */
static void after_fork(void) {
  if (!R.sandbox) {
    if (T.events != NULL) munmap(T.events, RECORDING_SEGMENT);
    if (T.stacks != NULL) munmap(T.stacks, RECORDING_SEGMENT);
    for (unsigned i = 0; i < R.unused_count; i++) munmap(R.unused[i], RECORDING_SEGMENT);
  }
  memset(&T, 0, sizeof T);
  R.lock = 0;
  R.unused_count = 0;
  if (R.header == NULL) return;
  if (!R.sandbox) {
    munmap(R.header, PAGE);
    if (same_file(&R.file)) close(R.file.fd);
    R.file.fd = -1;
    /* The numbers of sites and frames are those of the parent's file. */
    memset(R.table->number, 0, sizeof(uint32_t) * ((size_t)R.table->mask + 1));
    (void)madvise(R.node_table, NODES * sizeof *R.node_table, MADV_DONTNEED);
  }
  R.header = NULL;
  R.site_count = R.entered = R.node_count = R.threads = 0;
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
    R.sites = (site *)reserve_memory(SITES_MAX * sizeof *R.sites, 0);
    R.table = new_table(TABLE_BITS);
    R.nodes = (node_link *)reserve_memory((NODES_MAX + 1) * sizeof *R.nodes, 0);
    R.node_table = (uint32_t *)reserve_memory(NODES * sizeof *R.node_table, 1);
    char *stack = (char *)reserve_memory(OWN_STACK, 0);
    if (total != MAP_FAILED && R.sites != NULL && R.table != NULL && R.nodes != NULL && R.node_table != NULL &&
        stack != NULL && mprotect(stack, PAGE, PROT_NONE) == 0) {
      R.total = (recording_total *)total;
      R.total_limit = R.total->limit;
      if (R.total->signal != 0) handle_signal();
      R.stack_top = stack + OWN_STACK;
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
  if (!R.sandbox && h->pid != (uint32_t)getpid()) return;
  write_maps();
  h->end_ticks = ticks();
  h->end_ns = now();
}

__attribute__((destructor)) static void end(void) {
  if (LOAD(&R.header) != NULL) aside(finish, NULL);
}
