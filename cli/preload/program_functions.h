/* The program's own malloc and its relatives, which a preloaded library calls.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_PROGRAM_FUNCTIONS_H
#define TOFT_PRELOAD_PROGRAM_FUNCTIONS_H

#include "library.h"

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
  find_next(&N.setrlimit, "setrlimit");
  find_next(&N.setrlimit64, "setrlimit64");
  find_next(&N.prlimit, "prlimit");
  find_next(&N.prlimit64, "prlimit64");
  find_next(&N.mlockall, "mlockall");
  if (is_malloc_ours()) {
    find_next(&N.cfree, "cfree");
    find_next(&N.free_sized, "free_sized");
    find_next(&N.free_aligned_sized, "free_aligned_sized");
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
