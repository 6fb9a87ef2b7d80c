/* Runs a program with the objects of one scope in arenas: LD_PRELOAD=trial.so TOFT_TRIAL=FILE program.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The file names the executable and the code paths from the scope's function to malloc. A call of malloc is found by
 * its site, as in the recorder, whose stack is unwound when it is first seen. In the mode TRIAL_ARENA its object is
 * allocated in the arena of the thread, by a function behind an address, as an allocator hook is; in the mode
 * TRIAL_CONTROL by the program's malloc, beside the same steps: its size is written, it is counted, and frees that
 * follow one another are timed. The difference of the CPU times is the saving.
 *
 * A call of the scope has ended if a call of the thread has a stack pointer above the frame of the scope's function,
 * if a call with another frame begins, or if as few of its objects are live as the file gives, after as many frees.
 * Then the arena is reset. If an object is live, the arena is left as it is until it is freed, and another one begins:
 * an object stays valid until the program frees it. What no arena can serve is served by the program's malloc.
 *
 * Everything but the cursor of an arena runs behind a lock on a stack of the library's own, as in the recorder. */
#define _GNU_SOURCE
#define TOFT_STATIC      /* the program may use a Toft of its own, */
#define TOFT_OMIT_CHECKS /* for which its environment is */
#define TOFT_OMIT_METERS
#include <stddef.h>
#include <stdlib.h>

static void *allocate_block(size_t), *clear_block(size_t, size_t), *resize_block(void *, size_t);
static void free_block(void *);
static int align_block(void **, size_t, size_t);

#define malloc allocate_block
#define calloc clear_block
#define realloc resize_block
#define free free_block
#define posix_memalign align_block
#include "toft.c"
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef posix_memalign

#include "../preload/family.h"
#include "../preload/limits.h"
#include "../preload/sandbox.h"
#include "marks.h"
#include "modules.h"
#include "trial.h"

#include <sys/stat.h>

static void *allocate_block(size_t size) { return N.malloc(size); }
static void *clear_block(size_t n, size_t size) { return N.calloc(n, size); }
static void *resize_block(void *p, size_t size) { return N.realloc(p, size); }
static void free_block(void *p) { N.free(p); }
static int align_block(void **result, size_t align, size_t size) { return N.posix_memalign(result, align, size); }

/* The clock is read at each 16th free of a run, from the fourth on: most runs are shorter, and it takes time. */
enum { BURST = 16, BURST_BEGIN = 3 };

/* A program calls hooks by their addresses. */
static void *(*volatile hook_malloc)(toft_arena *, size_t) = make_inline;
static void (*volatile hook_free)(toft_arena *, void *) = end_object;
#define NO_FRAME UINT64_MAX

static struct {
  trial_file *file;   /* NULL: nothing is routed */
  int64_t free_ticks; /* what BURST frees in an arena take by themselves */
  int is_control;
  pthread_key_t key;
  size_t (*usable_size)(void *);
} F;

static __thread struct {
  uint64_t frame; /* of the call of the scope; NO_FRAME: there is none */
  toft_arena *arena;
  slice *slice;         /* NULL: none yet */
  uint64_t made, freed; /* objects of the slice since its reset */
  uint64_t added_made;
  uint64_t frees, stamp; /* frees in the arena, one after another */
  int64_t traversal;
  int is_full;   /* there is no memory until the next call of the scope */
  uint64_t next; /* of the call of malloc that has begun: the frame of the scope's call; 0: none */
} O __attribute__((tls_model("initial-exec"))) = {NO_FRAME, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0};

/* ---- sites ---- */

static int is_listed(enum trial_kind kind, uint64_t hash) {
  size_t low = 0, high = F.file->count;
  hash = mix(hash, kind);
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (F.file->hash[middle] == hash) return 1;
    if (F.file->hash[middle] < hash)
      low = middle + 1;
    else
      high = middle;
  }
  return 0;
}

/* A frame has the scope's outermost call around it, and the path from that to itself. */
static void note_frame(uint64_t ip, uint64_t cfa, uint64_t function, uint32_t id, uint32_t parent) {
  node_link *n = &S.nodes[id], *outer = &S.nodes[parent];
  uint64_t call = 0;
  (void)cfa, (void)function;
  n->scope = outer->scope;
  n->path = outer->path;
  if (n->scope == 0 && add_address(&call, ip) && is_listed(TRIAL_CALL, call)) n->scope = id, n->path = 0;
  if (n->scope != 0 && !add_address(&n->path, ip)) n->scope = 0;
}

/* The frame of the scope's outermost call, if the objects of the site belong to its arena. */
static void note_site(uint32_t i, uint64_t ra, uint64_t sp, uint32_t leaf) {
  uint64_t hash = 0;
  uint32_t scope = S.nodes[leaf].scope, at = leaf;
  (void)ra, (void)sp;
  if ((F.file->mode & TRIAL_ALL) != 0) S.sites[i].frame = S.nodes[leaf].cfa;
  if (scope == 0) return;
  for (int k = 0; k < TRIAL_FRAMES; k++, at = S.nodes[at].parent)
    if (!add_address(&hash, S.nodes[at].ip) || at == scope) break;
  int is_process = F.file->least_freed == UINT64_MAX, has_all = is_process && F.file->live != 0;
  if (has_all || is_listed(TRIAL_PATH, S.nodes[leaf].path) ||
      (!is_listed(TRIAL_NO_PATH, S.nodes[leaf].path) && is_listed(TRIAL_BEGINNING, hash)))
    S.sites[i].frame = S.nodes[scope].cfa != 0 && !is_process ? S.nodes[scope].cfa : NO_FRAME - 1;
}

/* ---- instances ---- */

static void add_up(uint64_t *sum, uint64_t value) { __atomic_add_fetch(sum, value, __ATOMIC_RELAXED); }

static void add_counts(void) {
  add_up(&F.file->routed, O.made - O.added_made);
  __atomic_add_fetch(&F.file->traversal_ticks, O.traversal, __ATOMIC_RELAXED);
  O.added_made = O.made, O.traversal = 0;
}

/* The arena is reset, or left if an object is live. */
static NOINLINE void end_instance(void) {
  O.frame = NO_FRAME;
  O.is_full = 0;
  if (T.busy || O.made == 0) return;
  T.busy = 1;
  int64_t live = (int64_t)(O.made - O.freed);
  add_counts();
  O.made = O.freed = O.added_made = 0;
  add_up(&F.file->instances, 1);
  if (O.slice == NULL) {
    /* the control, without an arena */
  } else if (live + LOAD(&O.slice->live) == 0) {
    STORE(&O.slice->live, 0);
    (void)toft_reset(O.arena);
  } else {
    add_up(&F.file->left, 1);
    leave_slice(O.slice, live);
    O.slice = NULL;
  }
  T.busy = 0;
}

typedef struct request {
  size_t size, align;
  unsigned char *found;
} request;

static int free_object(void *p, slice *s);

/* The time of frees in an arena without a traversal between them, the least of eight attempts. */
static void measure_frees(void) {
  void *p[BURST];
  F.free_ticks = INT64_MAX;
  T.busy = 0; /* as for the program; handlers are blocked here */
  for (int attempt = 0; attempt < 8; attempt++) {
    for (int i = 0; i < BURST; i++) p[i] = make_object(O.arena, UNIT);
    uint64_t begin = ticks();
    for (int i = 0; i < BURST; i++) free_object(p[i], O.slice);
    int64_t taken = (int64_t)(ticks() - begin);
    if (taken < F.free_ticks) F.free_ticks = taken;
    (void)toft_reset(O.arena);
  }
  T.busy = 1;
  O.traversal = 0;
  O.freed = O.frees = 0;
}

/* Memory beyond the arena's block, or the first of a thread. */
static void find_memory(void *arg) {
  request *r = (request *)arg;
  if (O.slice == NULL) {
    open_marks();
    if ((O.slice = find_slice()) == NULL) {
      O.is_full = 1;
      return;
    }
    O.arena = O.slice->arena;
    (void)pthread_setspecific(F.key, &O);
    if (F.free_ticks == 0) measure_frees();
  }
  add_counts();
  if (r->size > (size_t)1 << A.shift || r->align > PAGE) return;
  size_t more = r->align > HEADER ? r->align : 0;
  unsigned char *p = (unsigned char *)allocate_in(O.slice, r->size + more);
  if (p != NULL && more != 0) p = align_object(p, r->size, r->align);
  r->found = p;
  O.is_full = p == NULL && r->size <= PAGE;
  O.made += p != NULL;
}

static NOINLINE void *allocate_slow(size_t size, size_t align) {
  request r = {size, align, NULL};
  int error = errno;
  if (!O.is_full) aside(find_memory, &r);
  errno = error;
  if (r.found == NULL) add_up(&F.file->refused, 1);
  return r.found;
}

/* An object of the call of the scope with that frame. */
static ALWAYS_INLINE void *allocate(size_t size, size_t align, uint64_t frame) {
  if (UNLIKELY(O.frame != frame)) {
    end_instance();
    O.frame = frame;
  }
  if (UNLIKELY(O.slice == NULL || align > HEADER)) return allocate_slow(size, align);
  T.busy = 1;
  void *found = hook_malloc(O.arena, size);
  O.made += found != NULL;
  T.busy = 0;
  return found != NULL ? found : allocate_slow(size, align);
}

/* ---- calls ---- */

/* The frame of the scope's call that a call belongs to, or 0. */
static ALWAYS_INLINE uint64_t scope_of(const void *ra, const void *sp) {
  O.next = 0;
  if (UNLIKELY(T.busy) || LOAD(&F.file) == NULL) return 0;
  O.frees = 0;
  if (UNLIKELY((uint64_t)(uintptr_t)sp >= O.frame)) end_instance();
  return O.next = S.sites[site_of(ra, sp)].frame;
}

static ALWAYS_INLINE void *take(size_t size, size_t align, const void *ra, const void *sp) {
  uint64_t frame = scope_of(ra, sp);
  int is_served = frame != 0 && A.size != 0 && (align & (align - 1)) == 0;
  return is_served ? allocate(size, align, frame) : NULL;
}

static void first_mark(void *arg) {
  (void)arg;
  open_marks();
}

static NOINLINE void begin_control(void) {
  end_instance();
  O.frame = O.next;
  if (K.last == 0) aside(first_mark, NULL);
}

/* In the control the object is marked, and counted. */
static ALWAYS_INLINE void took(const void *p, size_t size, int zeroed, const void *ra, const void *sp) {
  (void)zeroed, (void)ra, (void)sp;
  if (!F.is_control || O.next == 0) return;
  if (UNLIKELY(O.frame != O.next)) begin_control();
  T.busy = 1;
  mark_object(p, size);
  O.made++;
  T.busy = 0;
}

/* The slice of an object, or NULL. */
static ALWAYS_INLINE slice *slice_of(const void *p) {
  uintptr_t at = (uintptr_t)p - A.start;
  return at < A.size ? &A.slice[at >> A.shift] : NULL;
}

/* An address at which no object is: the program's malloc ends the program, as it does without the library. glibc reads
 * the word before the address, which is 0 then. */
static ALWAYS_INLINE int is_object(void *p) {
  if (((uintptr_t)p & (HEADER - 1)) == 0 && *entry_of(p) != 0) return 1;
  memset((char *)p - sizeof(size_t), 0, sizeof(size_t));
  return 0;
}

/* The clock is read at some frees of a run. */
static ALWAYS_INLINE void count_free(void) {
  if ((O.frees++ & (BURST - 1)) != BURST_BEGIN) return;
  uint64_t now = ticks(), taken = now - O.stamp;
  if (O.frees > BURST && taken < F.file->burst_ticks) O.traversal += (int64_t)taken - F.free_ticks;
  O.stamp = now;
}

static ALWAYS_INLINE void end_generation(void) {
  if (O.made - ++O.freed <= F.file->live && O.freed >= F.file->least_freed) O.frame = NO_FRAME;
}

/* Another thread's object, one of an arena that was left, or one that is freed while a handler interrupts the library,
 * is counted only. */
static NOINLINE int free_object(void *p, slice *s) {
  if (UNLIKELY(!is_object(p))) return 0;
  if (s != O.slice || T.busy) {
    O.frees = 0;
    *entry_of(p) = 0;
    __atomic_sub_fetch(&s->live, 1, __ATOMIC_RELEASE);
    return 1;
  }
  count_free();
  T.busy = 1;
  hook_free(O.arena, p);
  end_generation();
  T.busy = 0;
  return 1;
}

static NOINLINE void drop_control(void *p) {
  if (T.busy) return;
  count_free();
  T.busy = 1;
  *mark_of(p) = 0;
  end_generation();
  T.busy = 0;
}

static ALWAYS_INLINE int drop(void *p, const void *ra, const void *sp) {
  (void)ra;
  if (UNLIKELY((uint64_t)(uintptr_t)sp >= O.frame)) end_instance();
  slice *s = slice_of(p);
  if (s != NULL) return free_object(p, s);
  if (*mark_of(p) != 0) return drop_control(p), 0;
  O.frees = 0;
  return 0;
}

/* In place if it shrinks, or is the newest object and fits. */
static NOINLINE void *resize_object(unsigned char *old, size_t size, uint64_t frame, slice *s) {
  size_t before = size_of(old);
  toft_arena *a = O.arena;
  if (size == 0) { /* what this returns is the malloc's choice */
    void *p = N.malloc(1);
    free_object(old, s);
    return p != NULL ? N.realloc(p, 0) : NULL;
  }
  int is_newest = s == O.slice && frame != 0 && a->cursor == old + rounded(before);
  if (frame != 0 && (size <= before || (is_newest && (size_t)(a->limit - old) >= rounded(size))) &&
      set_size(old, size)) {
    if (is_newest) a->cursor = old + rounded(size);
    if (s == O.slice) O.made++, O.freed++;
    return old;
  }
  void *p = frame != 0 ? allocate(size, 0, frame) : NULL;
  if (p == NULL && (p = N.malloc(size)) == NULL) return NULL;
  memcpy(p, old, size < before ? size : before);
  free_object(old, s);
  O.frees = 0;
  return p;
}

static ALWAYS_INLINE void *resize(void *old, size_t size, const void *ra, const void *sp) {
  if (!is_resolved() && N.realloc == NULL) return NULL;
  uint64_t frame = scope_of(ra, sp);
  slice *s = slice_of(old);
  if (UNLIKELY(s != NULL) && is_object(old)) return resize_object((unsigned char *)old, size, frame, s);
  void *p = old == NULL && frame != 0 && A.size != 0 ? allocate(size, 0, frame) : NULL;
  if (p != NULL) return p;
  unsigned char mark = *mark_of(old);
  p = N.realloc(old, size);
  if (mark != 0 && (p != NULL || size == 0)) *mark_of(old) = 0;
  if (mark != 0 && p != NULL) *mark_of(p) = mark;
  if (old == NULL && p != NULL) took(p, size, 0, ra, sp);
  return p;
}

size_t malloc_usable_size(void *p) {
  if (p != NULL && slice_of(p) != NULL) return size_of(p);
  if (!is_resolved() || F.usable_size == NULL) return 0;
  return F.usable_size(p);
}

/* ---- the process ---- */

static int is_active(void) { return LOAD(&F.file) != NULL; }

static void enter_sandbox(void *arg) {
  (void)arg;
  read_modules();
  grow_tables();
  STORE(&S.sandbox, 1);
}

static void return_memory(void *arg) {
  (void)arg;
  add_up(&F.file->refused, 1);
  cut_slices();
  cut_sites();
}

static void after_fork(void) {
  S.lock = 0;
  T.busy = 0;
}

static void end_thread(void *arg) {
  (void)arg;
  end_instance();
  if (O.slice == NULL) return;
  leave_slice(O.slice, 0);
  O.slice = NULL;
}

static void first_call(void *arg) {
  (void)arg;
  _Unwind_Backtrace(no_frame, NULL); /* initialises the unwinder */
  read_modules();
}

/* The file, if it is about this executable. */
static trial_file *open_trial(const char *path) {
  static char executable[PAGE];
  struct stat found;
  int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return NULL;
  void *p = MAP_FAILED;
  if (fstat(fd, &found) == 0 && found.st_size >= PAGE)
    p = mmap(NULL, (size_t)found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p == MAP_FAILED) return NULL;
  trial_file *file = (trial_file *)p;
  ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
  int is_right = file->executable[0] == 0 || (length > 0 && strcmp(executable, file->executable) == 0);
  if (is_right && file->magic == TRIAL_MAGIC) return file;
  munmap(p, (size_t)found.st_size);
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  if (!is_resolved()) return;
  T.busy = 1;
  find_next(&F.usable_size, "malloc_usable_size");
  (void)dlerror(); /* those of looking for functions, not the program's */
  trial_file *file = open_trial(getenv("TOFT_TRIAL"));
  if (file != NULL && prepare_sites() && pthread_key_create(&F.key, end_thread) == 0) {
    F.is_control = (file->mode & TRIAL_ARENA) == 0;
    if (!F.is_control && !reserve_slices()) add_up(&file->refused, 1);
    pthread_atfork(NULL, NULL, after_fork);
    aside(first_call, NULL);
    STORE(&F.file, file);
  }
  T.busy = 0;
}

__attribute__((destructor)) static void end(void) {
  if (LOAD(&F.file) == NULL) return;
  end_instance();
  add_counts();
}
