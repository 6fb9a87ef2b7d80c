/* The program's own malloc and its relatives, which a preloaded library calls.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_PROGRAM_FUNCTIONS_H
#define TOFT_PRELOAD_PROGRAM_FUNCTIONS_H

#include "library.h"

/* The operators new and delete of C++, by their names. One letter is the code of size_t on the processor. */
#if __SIZEOF_SIZE_T__ == 8
#define FOR_SIZE(begin, end) begin##m##end
#else
#define FOR_SIZE(begin, end) begin##j##end
#endif
#define OPERATORS_NEW(X)                                                \
  X(NEW, FOR_SIZE(_Znw, ))                                              \
  X(NEW_NOTHROW, FOR_SIZE(_Znw, RKSt9nothrow_t))                        \
  X(NEW_ALIGNED, FOR_SIZE(_Znw, St11align_val_t))                       \
  X(NEW_ALIGNED_NOTHROW, FOR_SIZE(_Znw, St11align_val_tRKSt9nothrow_t)) \
  X(NEW_ARRAY, FOR_SIZE(_Zna, ))                                        \
  X(NEW_ARRAY_NOTHROW, FOR_SIZE(_Zna, RKSt9nothrow_t))                  \
  X(NEW_ARRAY_ALIGNED, FOR_SIZE(_Zna, St11align_val_t))                 \
  X(NEW_ARRAY_ALIGNED_NOTHROW, FOR_SIZE(_Zna, St11align_val_tRKSt9nothrow_t))
#define OPERATORS_DELETE(X)                                            \
  X(DELETE, _ZdlPv)                                                    \
  X(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t)                              \
  X(DELETE_SIZED, FOR_SIZE(_ZdlPv, ))                                  \
  X(DELETE_ALIGNED, _ZdlPvSt11align_val_t)                             \
  X(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t)       \
  X(DELETE_SIZED_ALIGNED, FOR_SIZE(_ZdlPv, St11align_val_t))           \
  X(DELETE_ARRAY, _ZdaPv)                                              \
  X(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t)                        \
  X(DELETE_ARRAY_SIZED, FOR_SIZE(_ZdaPv, ))                            \
  X(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t)                       \
  X(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t) \
  X(DELETE_ARRAY_SIZED_ALIGNED, FOR_SIZE(_ZdaPv, St11align_val_t))
#define NUMBER(which, name) which,
#define TEXT(text) #text
#define NAME(which, name) TEXT(name),
enum operators { OPERATORS_NEW(NUMBER) OPERATORS_DELETE(NUMBER) OPERATORS };
static const char *const operator_names[OPERATORS] = {OPERATORS_NEW(NAME) OPERATORS_DELETE(NAME)};

/* An operator's arguments are in up to three registers; those that it does not have are not read. */
typedef void *operator_function(uintptr_t, uintptr_t, uintptr_t);

/* What the program calls without the library; NULL: not there. */
static struct {
  void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t), (*free)(void *);
  void *(*memalign)(size_t, size_t), *(*aligned_alloc)(size_t, size_t), *(*valloc)(size_t), *(*pvalloc)(size_t);
  int (*posix_memalign)(void **, size_t, size_t);
  void (*cfree)(void *), (*free_sized)(void *, size_t), (*free_aligned_sized)(void *, size_t, size_t);
  int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
  long (*syscall)(long, long, long, long, long, long, long);
  int (*setrlimit)(int, const struct rlimit *), (*setrlimit64)(int, const struct rlimit64 *);
  int (*prlimit)(pid_t, int, const struct rlimit *, struct rlimit *);
  int (*prlimit64)(pid_t, int, const struct rlimit64 *, struct rlimit64 *);
  int (*mlockall)(int);
  operator_function *operators[OPERATORS];
  int has_operators; /* malloc's library has the operators too: they do not call malloc */
  int resolved;
} N;

static void find_next(void *function, const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found != NULL) memcpy(function, &found, sizeof found);
}

/* Members of N; FREES: those that deallocate, beside free. */
#define FREES(X) X(cfree) X(free_sized) X(free_aligned_sized)
#define SERVES(X) X(malloc) X(free) X(calloc) X(realloc) X(memalign) X(aligned_alloc) X(posix_memalign)
#define PAGES(X) X(valloc) X(pvalloc)
#define LIMITS(X) X(prctl) X(syscall) X(setrlimit) X(setrlimit64) X(prlimit) X(prlimit64) X(mlockall)
#define FIND(name) find_next(&N.name, #name);

static int is_malloc_ours(void);

/* Finds the program's own functions, at the first call of any. 0: this thread is finding them. dlerror, which would
 * clear the error of what is not there, translates it, and the caller may hold the lock of the locale. The error itself
 * is in the program's memory: a malloc that is linked into the program may not be ready yet. Until glibc 2.33 dlsym
 * may call calloc, and does without if it fails. That all of these are there but for C++ is a property of glibc. */
static NOINLINE int resolve(void) {
  if (T.resolving) return 0;
  T.resolving = 1;
  int busy = T.busy, error = errno;
  T.busy = 1;
  SERVES(FIND)
  PAGES(FIND)
  LIMITS(FIND)
  if (is_malloc_ours()) {
    FREES(FIND)
    for (int i = 0; i < OPERATORS; i++) find_next(&N.operators[i], operator_names[i]);
  }
  Dl_info provider, operators;
  memset(&provider, 0, sizeof provider);
  memset(&operators, 0, sizeof operators);
  if (dladdr((void *)(uintptr_t)N.malloc, &provider) != 0 && provider.dli_fname != NULL)
    strncpy(S.provider, provider.dli_fname, sizeof S.provider - 1);
  N.has_operators = N.operators[NEW] != NULL && dladdr((void *)(uintptr_t)N.operators[NEW], &operators) != 0 &&
                    operators.dli_fbase == provider.dli_fbase;
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

#endif
