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
  int reopen;  /* a fork: its file is created with its first event */
  int sandbox; /* the program restricts its system calls; no other is made */
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

/* ---- the program's own functions ---- */

/* The operators new and delete of C++. The last letter of size_t's code is that of the processor. */
#if __SIZEOF_SIZE_T__ == 8
#define SIZE_CODE "m"
#define FOR_SIZE(begin, end) begin##m##end
#else
#define SIZE_CODE "j"
#define FOR_SIZE(begin, end) begin##j##end
#endif
enum operators {
  NEW,
  NEW_NOTHROW,
  NEW_ALIGNED,
  NEW_ALIGNED_NOTHROW,
  NEW_ARRAY,
  NEW_ARRAY_NOTHROW,
  NEW_ARRAY_ALIGNED,
  NEW_ARRAY_ALIGNED_NOTHROW,
  DELETE,
  DELETE_NOTHROW,
  DELETE_SIZED,
  DELETE_ALIGNED,
  DELETE_ALIGNED_NOTHROW,
  DELETE_SIZED_ALIGNED,
  DELETE_ARRAY,
  DELETE_ARRAY_NOTHROW,
  DELETE_ARRAY_SIZED,
  DELETE_ARRAY_ALIGNED,
  DELETE_ARRAY_ALIGNED_NOTHROW,
  DELETE_ARRAY_SIZED_ALIGNED,
  OPERATORS
};

static const char *const operator_names[OPERATORS] = {
    "_Znw" SIZE_CODE,
    "_Znw" SIZE_CODE "RKSt9nothrow_t",
    "_Znw" SIZE_CODE "St11align_val_t",
    "_Znw" SIZE_CODE "St11align_val_tRKSt9nothrow_t",
    "_Zna" SIZE_CODE,
    "_Zna" SIZE_CODE "RKSt9nothrow_t",
    "_Zna" SIZE_CODE "St11align_val_t",
    "_Zna" SIZE_CODE "St11align_val_tRKSt9nothrow_t",
    "_ZdlPv",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdlPv" SIZE_CODE,
    "_ZdlPvSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdlPv" SIZE_CODE "St11align_val_t",
    "_ZdaPv",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdaPv" SIZE_CODE,
    "_ZdaPvSt11align_val_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPv" SIZE_CODE "St11align_val_t",
};

/* An operator's arguments are in up to three registers; those that it does not have are not read. */
typedef void *operator_function(uintptr_t, uintptr_t, uintptr_t);

/* What the program calls without the recorder; NULL: not there. */
static struct {
  void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t), (*free)(void *);
  void *(*memalign)(size_t, size_t), *(*aligned_alloc)(size_t, size_t), *(*valloc)(size_t), *(*pvalloc)(size_t);
  int (*posix_memalign)(void **, size_t, size_t);
  void (*cfree)(void *), (*free_sized)(void *, size_t), (*free_aligned_sized)(void *, size_t, size_t);
  int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
  long (*syscall)(long, long, long, long, long, long, long);
  operator_function *operators[OPERATORS];
  int has_operators; /* malloc's library has the operators too: they do not call malloc */
  int resolved;
} N;

static void find_next(void *function, const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found != NULL) memcpy(function, &found, sizeof found);
}

/* Finds the program's own functions, at the first call of any. 0: this thread is finding them. Until glibc 2.33 dlsym
 * may call calloc, and does without if it fails. That all of these are there but for C++ is a property of glibc. */
static NOINLINE int resolve(void) {
  if (T.resolving) return 0;
  T.resolving = 1;
  int busy = T.busy, error = errno;
  T.busy = 1;
  find_next(&N.malloc, "malloc");
  find_next(&N.free, "free");
  find_next(&N.calloc, "calloc");
  find_next(&N.realloc, "realloc");
  find_next(&N.memalign, "memalign");
  find_next(&N.aligned_alloc, "aligned_alloc");
  find_next(&N.posix_memalign, "posix_memalign");
  find_next(&N.valloc, "valloc");
  find_next(&N.pvalloc, "pvalloc");
  find_next(&N.prctl, "prctl");
  find_next(&N.syscall, "syscall");
  find_next(&N.cfree, "cfree");
  find_next(&N.free_sized, "free_sized");
  find_next(&N.free_aligned_sized, "free_aligned_sized");
  for (int i = 0; i < OPERATORS; i++) find_next(&N.operators[i], operator_names[i]);
  Dl_info provider, operators;
  memset(&provider, 0, sizeof provider);
  memset(&operators, 0, sizeof operators);
  if (dladdr((void *)(uintptr_t)N.malloc, &provider) != 0 && provider.dli_fname != NULL)
    strncpy(R.provider, provider.dli_fname, sizeof R.provider - 1);
  N.has_operators = N.operators[NEW] != NULL && dladdr((void *)(uintptr_t)N.operators[NEW], &operators) != 0 &&
                    operators.dli_fbase == provider.dli_fbase;
  (void)dlerror(); /* not the program's errors */
  STORE(&N.resolved, 1);
  T.busy = busy;
  T.resolving = 0;
  errno = error;
  return 1;
}

static inline __attribute__((always_inline)) int is_resolved(void) {
  return !UNLIKELY(!LOAD(&N.resolved)) || resolve();
}

/* An operator that is in no library of the program's global scope: a plug-in is in C++, and the program in C. That
 * of the caller's module and its libraries. */
static NOINLINE operator_function *find_operator(int which, const void *caller) {
  operator_function *found = NULL;
  Dl_info at;
  int busy = T.busy;
  T.busy = 1;
  find_next(&found, operator_names[which]);
  if (found == NULL && dladdr((void *)(uintptr_t)caller, &at) != 0) {
    void *module = dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *function = module != NULL ? dlsym(module, operator_names[which]) : NULL;
    memcpy(&found, &function, sizeof found);
    if (module != NULL) (void)dlclose(module);
  }
  (void)dlerror();
  T.busy = busy;
  return found;
}

/* ---- the recorder's own stack ---- */

static void lock(void) {
  while (__atomic_exchange_n(&R.lock, 1, __ATOMIC_ACQUIRE))
    if (!LOAD(&R.sandbox)) sched_yield();
}

static void unlock(void) { STORE(&R.lock, 0); }

/* Calls `function` with the stack pointer `top`. It can be unwound: the frame is found by the frame pointer. */
#if defined(__x86_64__)
void toft_recorder_on_stack(void (*function)(void *), void *arg, void *top);
__asm__(
    ".text\n.type toft_recorder_on_stack,@function\n.hidden toft_recorder_on_stack\ntoft_recorder_on_stack:\n"
    ".cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp,-16\n"
    "mov %rsp,%rbp\n.cfi_def_cfa_register %rbp\n"
    "mov %rdx,%rsp\nmov %rdi,%rax\nmov %rsi,%rdi\ncall *%rax\n"
    "mov %rbp,%rsp\npop %rbp\n.cfi_def_cfa %rsp,8\nret\n"
    ".cfi_endproc\n.size toft_recorder_on_stack,.-toft_recorder_on_stack\n");
#elif defined(__aarch64__)
void toft_recorder_on_stack(void (*function)(void *), void *arg, void *top);
__asm__(
    ".text\n.type toft_recorder_on_stack,%function\n.hidden toft_recorder_on_stack\ntoft_recorder_on_stack:\n"
    ".cfi_startproc\n"
    "stp x29,x30,[sp,#-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29,-16\n.cfi_offset x30,-8\n"
    "mov x29,sp\n.cfi_def_cfa_register x29\n"
    "mov sp,x2\nmov x9,x0\nmov x0,x1\nblr x9\n"
    "mov sp,x29\n.cfi_def_cfa_register sp\n"
    "ldp x29,x30,[sp],#16\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\nret\n"
    ".cfi_endproc\n.size toft_recorder_on_stack,.-toft_recorder_on_stack\n");
#else
static void toft_recorder_on_stack(void (*function)(void *), void *arg, void *top) {
  (void)top;
  function(arg);
}
#endif

/* Calls `function` on the recorder's own stack, behind the lock. No handler of a signal runs until it returns: it could
 * switch to another context, or leave by longjmp. The thread is not cancelled either. */
static NOINLINE void aside(void (*function)(void *), void *arg) {
  uint64_t all = ~(uint64_t)0, before = 0;
  int cancel, blocked = !LOAD(&R.sandbox);
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  if (blocked) N.syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, 8, 0, 0);
  T.busy = 1;
  lock();
  toft_recorder_on_stack(function, arg, R.stack_top);
  unlock();
  T.busy = 0;
  if (blocked) N.syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
  (void)pthread_setcancelstate(cancel, &cancel);
}

/* ---- the file ---- */

/* The recording ends here, with the reason. The first reason is kept. */
static void end_recording(uint32_t reason, int error) {
  recording_header *h = R.header;
  if (h->partial != 0) return;
  h->error = (uint32_t)error;
  STORE(&h->partial, reason);
}

static int same_file(const held *h) {
  struct stat found;
  return h->fd >= 0 && fstat(h->fd, &found) == 0 && found.st_dev == h->device && found.st_ino == h->inode;
}

/* Keeps a new descriptor, at a high number. Where the limit of descriptors is too low it is kept for one use. */
static void hold(held *h, int fd) {
  struct stat found;
  struct rlimit r;
  h->fd = fd;
  if (fd < 0 || fstat(fd, &found) != 0) return;
  h->device = found.st_dev;
  h->inode = found.st_ino;
  int least = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur >= 2048 ? 1000 : FILE_LEAST;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, least);
  if (high < 0) return;
  close(fd);
  h->fd = high;
}

/* Closes a descriptor with a low number, so that the program's next one has the number that it has without
 * the recorder. */
static void release(held *h) {
  if (h->fd < 0 || h->fd >= FILE_LEAST) return;
  close(h->fd);
  h->fd = -1;
}

/* The number of a file of the folder, which another root or other rights do not hide while its descriptor is open. */
static int open_in_folder(int flags) {
  if (!same_file(&R.folder_file)) hold(&R.folder_file, open(R.folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (R.folder_file.fd < 0) return -1;
  int fd = openat(R.folder_file.fd, R.name, flags | O_CLOEXEC, 0600);
  int error = errno;
  release(&R.folder_file);
  errno = error;
  return fd;
}

/* The descriptor of the recording; -1: the recording has ended. To be released. */
static int recording_file(void) {
  if (same_file(&R.file)) return R.file.fd;
  hold(&R.file, open_in_folder(O_RDWR));
  if (R.file.fd < 0) end_recording(RECORDING_UNREACHABLE, errno);
  return R.file.fd;
}

/* How many segments the file may have. A write beyond the process's limit would raise SIGXFSZ. */
static uint64_t segments_allowed(void) {
  struct rlimit r;
  if (getrlimit(RLIMIT_FSIZE, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return r.rlim_cur / RECORDING_SEGMENT;
}

/* The number of the first of some new segments of the file; 0: the recording has reached its limit. */
static uint64_t reserve_segments(uint64_t count) {
  recording_header *h = R.header;
  if (h == NULL || h->partial) return 0;
  if (h->segments + count > segments_allowed()) {
    end_recording(RECORDING_FILE_SIZE, 0);
    return 0;
  }
  if (__atomic_add_fetch(&R.total->segments, count, __ATOMIC_RELAXED) > R.total_limit) {
    end_recording(RECORDING_LIMIT, 0);
    return 0;
  }
  h->segments += count;
  return h->segments - count;
}

static int write_all(int file, const char *from, size_t size, off_t at) {
  while (size > 0) {
    ssize_t n = pwrite(file, from, size, at);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return 0;
    from += n, at += n, size -= (size_t)n;
  }
  return 1;
}

/* Appends a segment of `size` bytes to the file. */
static int append(const void *bytes, size_t size) {
  uint64_t i = reserve_segments(1);
  int file = i != 0 ? recording_file() : -1;
  if (file < 0) return 0;
  int done = write_all(file, (const char *)bytes, size, (off_t)(i * RECORDING_SEGMENT));
  if (!done) end_recording(RECORDING_WRITE, errno);
  release(&R.file);
  return done;
}

static void start_segment(recording_segment *s, uint32_t kind) {
  if (T.id == 0) T.id = ++R.threads;
  s->kind = kind;
  s->thread = T.id;
  s->ns = now();
  s->ticks = ticks();
}

/* Allocates the space of a part of a file. */
static int allocate_space(int file, off_t at, size_t size) {
  static const char zeros[PAGE];
  if (fallocate(file, 0, at, (off_t)size) == 0) return 1;
  for (size_t k = 0; k < size; k += PAGE)
    if (!write_all(file, zeros, PAGE, at + (off_t)k)) return 0;
  return 1;
}

/* Maps new segments of the file, whose space is allocated. */
static char *map_segments(uint64_t count) {
  uint64_t i = reserve_segments(count);
  int file = i != 0 ? recording_file() : -1;
  if (file < 0) return NULL;
  off_t at = (off_t)(i * RECORDING_SEGMENT);
  size_t size = count * RECORDING_SEGMENT;
  void *p = MAP_FAILED;
  if (allocate_space(file, at, size)) p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
  if (p == MAP_FAILED) end_recording(RECORDING_WRITE, errno);
  release(&R.file);
  return p != MAP_FAILED ? (char *)p : NULL;
}

static recording_segment *segment_of_sandbox(void) {
  if (R.reserve == R.reserve_end) {
    end_recording(R.reserve_reason, 0);
    return NULL;
  }
  R.reserve += RECORDING_SEGMENT;
  return (recording_segment *)(R.reserve - RECORDING_SEGMENT);
}

/* An empty segment of the calling thread: the contents of `s` are appended to the file. NULL: the recording has
 * ended. */
static recording_segment *next_segment(recording_segment *s, uint32_t kind) {
  if (R.header->partial) return NULL;
  if (R.sandbox) {
    if ((s = segment_of_sandbox()) == NULL) return NULL;
  } else if (s != NULL) {
    if (!append(s, RECORDING_SEGMENT)) return NULL;
    memset(s + 1, 0, RECORDING_SEGMENT - sizeof *s);
  } else {
    if (R.unused_count > 0)
      s = R.unused[--R.unused_count];
    else if ((s = (recording_segment *)map_segments(1)) == NULL)
      return NULL;
    if (R.has_key) (void)pthread_setspecific(R.key, &T);
  }
  start_segment(s, kind);
  return s;
}

/* Gives the mapped segments of a thread that ends to later threads. */
static void give_segments(void *arg) {
  recording_segment *mine[2] = {T.events, T.stacks};
  (void)arg;
  T.next = T.end = NULL;
  T.stack_next = T.stack_end = NULL;
  T.events = T.stacks = NULL;
  for (int i = 0; i < 2 && !R.sandbox; i++) {
    recording_segment *s = mine[i];
    if (s == NULL || !append(s, RECORDING_SEGMENT)) continue;
    memset(s, 0, RECORDING_SEGMENT);
    if (R.unused_count < UNUSED_MAX)
      R.unused[R.unused_count++] = s;
    else
      munmap(s, RECORDING_SEGMENT);
  }
}

static void end_thread(void *arg) {
  if (LOAD(&R.header) != NULL) aside(give_segments, arg);
}

/* Copies /proc/self/maps. Without it, functions of libraries that were loaded since have no names. */
static void write_maps(void) {
  static char segment[RECORDING_SEGMENT];
  if (R.sandbox) return;
  int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (from < 0) return;
  for (ssize_t n = 1; n > 0;) {
    size_t end = sizeof(recording_segment);
    while (end < sizeof segment && (n = read(from, segment + end, sizeof segment - end)) > 0) end += (size_t)n;
    start_segment((recording_segment *)segment, RECORDING_TEXT);
    memset(segment + end, 0, sizeof segment - end);
    if (end > sizeof(recording_segment) && !append(segment, end)) break;
  }
  close(from);
}

static void write_text(uint32_t kind, const char *text) {
  static struct {
    recording_segment head;
    char text[PAGE];
  } s;
  start_segment(&s.head, kind);
  memset(s.text, 0, sizeof s.text);
  memcpy(s.text, text, strnlen(text, sizeof s.text - 1));
  (void)append(&s, sizeof s);
}

/* Creates the file of this process. 0: nothing is recorded. */
static int create_recording(int forked) {
  errno = 0;
  if (R.sandbox || segments_allowed() < 2) return 0;
  snprintf(R.name, sizeof R.name, "%ld-%llu.rec", (long)getpid(), (unsigned long long)now());
  int file = open_in_folder(O_RDWR | O_CREAT | O_EXCL);
  if (file < 0) return 0;
  hold(&R.file, file);
  void *p = MAP_FAILED;
  if (allocate_space(R.file.fd, 0, PAGE)) p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, R.file.fd, 0);
  release(&R.file);
  if (p == MAP_FAILED) return 0;
  recording_header *h = (recording_header *)p;
  h->segments = 1;
  h->begin_ns = now();
  h->begin_ticks = ticks();
  h->pid = (uint32_t)getpid();
  h->parent = (uint32_t)getppid();
  h->forked = (uint32_t)forked;
  h->magic = RECORDING_MAGIC;
  STORE(&R.header, h);
  write_text(RECORDING_NAME, R.executable);
  write_text(RECORDING_PROVIDER, R.provider);
  write_maps(); /* under another root it may not be there later */
  return 1;
}

/* Starts the recording of this process: counts it if it cannot be recorded. */
static void open_recording(int forked) {
  if (create_recording(forked)) return;
  R.total->error = (uint32_t)errno;
  R.total->reason = R.sandbox                ? RECORDING_SANDBOX
                    : segments_allowed() < 2 ? RECORDING_FILE_SIZE
                                             : RECORDING_UNREACHABLE;
  __atomic_add_fetch(&R.total->unrecorded, 1, __ATOMIC_RELEASE);
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
    if ((T.stack_segments & (T.stack_segments - 1)) == 0) write_maps();
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

/* The last bytes that were read of the stack that is unwound. */
static struct { uint64_t start, size; } W;

typedef struct unwinding {
  uint64_t ra, sp;
  unsigned count, skipped;
  uint32_t known; /* the node of the frame after the last */
  struct {
    uint64_t ip, cfa, function;
  } frame[FRAMES_MAX];
} unwinding;

/* Reads a word of the program's stack through the kernel: a frame that was known once may be on another
 * stack by now, in pages that are inaccessible. 0: it cannot be read. */
static int read_stack(uint64_t at, uint64_t *word) {
  static uint64_t window[WINDOW / 8];
  if (at - W.start > W.size || W.size - (at - W.start) < 8) {
    struct iovec to = {window, WINDOW}, from = {(void *)(uintptr_t)at, WINDOW};
    ssize_t n = R.sandbox ? 0 : process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    W.start = at;
    W.size = n > 0 ? (uint64_t)n : 0;
    if (W.size < 8) return 0;
  }
  memcpy(word, (char *)window + (at - W.start), 8);
  return 1;
}

/* Whether the callers of a known frame are those of the current stack: the return addresses of the next VERIFIED
 * callers are compared with those in the stack. Frames further out are taken to be the same. */
static int has_chain(const node_link *n, const unwinding *u) {
  for (int i = 0; i < VERIFIED && n->parent != 0; i++, n = &R.nodes[n->parent]) {
    uint64_t found;
    if (n->cfa <= u->sp || !read_stack(n->cfa - 8, &found) || found != R.nodes[n->parent].ip) return 0;
  }
  return 1;
}

/* The number of a known frame of the same function, address and callers, or 0. */
static uint32_t known_node(uint64_t ip, uint64_t cfa, const unwinding *u) {
  uint32_t i = node_hash(ip, cfa), id;
  if (!READS_STACK) return 0;
  for (; (id = R.node_table[i & (NODES - 1)]) != 0; i++)
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

/* Enters the frames of a stack into the tree, from the outermost. Returns the innermost frame's number. */
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

/* Fills the site `i`, which no other thread sees yet. It differs from others by that many callers. */
static void fill_site(uint32_t i, uint64_t key, uint64_t ra, uint64_t sp, int callers) {
  static unwinding u;
  static uint32_t ids[FRAMES_MAX];
  site *s = &R.sites[i];
  memset(s, 0, sizeof *s); /* after a fork it has the parent's contents */
  u.ra = ra;
  u.sp = sp;
  u.count = u.skipped = 0;
  u.known = 0;
  W.size = 0;
  _Unwind_Backtrace(on_frame, &u);
  uint32_t leaf = add_nodes(&u, ids), known = u.known;
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

static void grow_table(unsigned bits) {
  site_table *t = R.table, *larger = new_table(bits);
  if (larger == NULL) return;
  for (uint32_t i = 0; i <= t->mask; i++)
    if (t->number[i] != 0) enter(larger, R.sites[t->number[i]].key, t->number[i]);
  STORE(&R.table, larger);
}

typedef struct call_site {
  uint64_t key, ra, sp;
  uint32_t id;
} call_site;

/* Finds or enters a site. The old table stays mapped: other threads may read it. */
static void enter_site(void *arg) {
  call_site *c = (call_site *)arg;
  int same;
  c->id = lookup(R.table, c->key, &same);
  if (c->id != 0 || R.site_count + 1 >= SITES_MAX) return;
  c->id = ++R.site_count;
  fill_site(c->id, c->key, c->ra, c->sp, same < VARIANTS ? CALLERS : 1);
  if (R.entered++ > R.table->mask / 2 && !R.sandbox) grow_table(64 - R.table->shift + 1);
  if (R.entered <= R.table->mask) enter(R.table, c->key, c->id);
}

/* The number of the site of a call; 0 if there are too many. */
static NOINLINE uint32_t find_site(uint64_t key, uint64_t ra, uint64_t sp) {
  int same, error = errno;
  call_site c = {key, ra, sp, lookup(LOAD(&R.table), key, &same)};
  if (c.id == 0) aside(enter_site, &c);
  errno = error;
  return c.id;
}

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

/* A new segment for the calling thread's events; 0: nothing is recorded. */
static NOINLINE int refill(void) {
  recording_header *h = LOAD(&R.header);
  if (T.busy || (h == NULL && !LOAD(&R.reopen))) return 0;
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

static NOINLINE void before_sandbox(void) {
  int error = errno;
  if (!T.busy && (LOAD(&R.header) != NULL || LOAD(&R.reopen))) aside(enter_sandbox, NULL);
  errno = error;
}

/* The arguments of both functions are in registers, as in calls without a prototype. Both end by a jump: what a system
 * call does to the stack, it does to that of the caller. */
int recorded_prctl(int, unsigned long, unsigned long, unsigned long, unsigned long) __asm__("prctl");
long recorded_syscall(long, long, long, long, long, long, long) __asm__("syscall");

int recorded_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || b != 0)) before_sandbox();
  if (!is_resolved()) return -1;
  return N.prctl(option, a, b, c, d);
}

long recorded_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c != 0)))
    before_sandbox();
  if (number == SYS_prctl && a == PR_SET_SECCOMP && (b == SECCOMP_MODE_STRICT || c != 0)) before_sandbox();
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

__attribute__((constructor)) static void begin(void) {
  const char *folder = getenv("TOFT_RECORDING");
  if (!is_resolved() || folder == NULL || strlen(folder) >= sizeof R.folder) return;
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
