/* Programs that a preloaded library disturbs easily. Each prints "ok".
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libintl.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) static void work(int rounds) {
  for (int i = 0; i < rounds; i++) {
    void *p[100];
    for (int k = 0; k < 100; k++)
      if ((p[k] = malloc(40)) == NULL) abort();
    for (int k = 0; k < 100; k++) free(p[k]);
  }
}

static int ended_well(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int forks(int depth) {
  work(10);
  if (depth == 0) return 1;
  pid_t child[2];
  for (int i = 0; i < 2; i++)
    if ((child[i] = fork()) == 0) _exit(!forks(depth - 1));
  return ended_well(child[0]) & ended_well(child[1]);
}

static int vforks(void) {
  char *true_command[] = {"true", NULL};
  for (int i = 0; i < 5; i++) {
    pid_t child = vfork();
    if (child == 0) {
      execvp("true", true_command);
      _exit(127);
    }
    pid_t spawned = 0;
    work(10);
    if (!ended_well(child) || posix_spawnp(&spawned, "true", NULL, NULL, true_command, environ) != 0) return 0;
    if (!ended_well(spawned)) return 0;
  }
  return 1;
}

static int closes(void) {
  for (int i = 0; i < 20; i++) {
    syscall(SYS_close_range, 3, ~0u, 0);
    work(200);
  }
  return 1;
}

/* Nothing but read, write, exit and the return from a handler is allowed from here on. */
static int strict(void) {
  work(1);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 0;
  work(1000);
  int failed = write(1, "ok\n", 3) != 3;
  syscall(SYS_exit, failed);
  return 0;
}

static volatile sig_atomic_t caught;
static void allocates(int number) {
  (void)number;
  work(10);
  caught++;
}

static int alternate_stack(void) {
  stack_t stack = {.ss_sp = malloc(16384), .ss_size = 16384};
  struct sigaction action = {.sa_handler = allocates, .sa_flags = SA_ONSTACK};
  if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return 0;
  for (int i = 0; i < 100; i++) raise(SIGUSR1);
  return caught == 100;
}

static sigjmp_buf leave;
static void leaves(int number) {
  (void)number;
  siglongjmp(leave, 1);
}

/* Handlers run between the calls of malloc, and leave by a jump. */
static int jumps(void) {
  signal(SIGUSR1, leaves);
  for (volatile int i = 0; i < 1000; i++) {
    if (sigsetjmp(leave, 1) == 0) raise(SIGUSR1);
    work(1);
  }
  return 1;
}

static void counts(int number) {
  (void)number;
  caught++;
}

static int timer(void) {
  struct itimerval each = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};
  struct sigaction action = {.sa_handler = counts, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &each, NULL);
  while (caught < 100) work(100);
  setitimer(ITIMER_REAL, &none, NULL);
  return 1;
}

static int plugins(const char *path) {
  for (int i = 0; i < 50; i++) {
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*allocate)(void) = plugin != NULL ? (void (*)(void))dlsym(plugin, "allocate_in_plugin") : NULL;
    if (allocate == NULL) return 0;
    allocate();
    dlclose(plugin);
    mmap(NULL, 4096 * (size_t)(i + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* the next one is elsewhere */
  }
  return 1;
}

static int chain(char **argv) {
  char left[16];
  int n = argv[2] != NULL ? atoi(argv[2]) : 20;
  work(100);
  if (n == 0) return 1;
  snprintf(left, sizeof left, "%d", n - 1);
  execl("/proc/self/exe", argv[0], argv[1], left, (char *)NULL);
  return 0;
}

static void *in_thread(void *arg) {
  for (int i = 0; i < 100; i++) {
    work(5);
    pthread_testcancel();
  }
  return arg;
}

/* Threads are cancelled and end while the process forks. */
static int threads(void) {
  for (int i = 0; i < 10; i++) {
    pthread_t thread[4];
    for (int k = 0; k < 4; k++)
      if (pthread_create(&thread[k], NULL, in_thread, NULL) != 0) return 0;
    pid_t child = fork();
    if (child == 0) {
      work(10);
      _exit(0);
    }
    for (int k = 0; k < 4; k += 2) pthread_cancel(thread[k]);
    for (int k = 0; k < 4; k++) pthread_join(thread[k], NULL);
    if (!ended_well(child)) return 0;
  }
  return 1;
}

/* Memory and descriptors run out. */
static int limits(void) {
  struct rlimit memory = {64 << 20, 64 << 20}, files = {3, 3};
  setrlimit(RLIMIT_NOFILE, &files);
  setrlimit(RLIMIT_AS, &memory);
  work(1000);
  void *all[64];
  int n = 0;
  while (n < 64 && (all[n] = malloc(1 << 20)) != NULL) n++;
  for (int i = 0; i < n; i++) free(all[i]);
  work(1000);
  return n < 64;
}

static int locale(void) {
  for (int i = 0; i < 4; i++)
    if (setlocale(LC_ALL, i % 2 == 0 ? "C.UTF-8" : "C") == NULL || gettext("text") == NULL) return 0;
  return 1;
}

/* The C library keeps objects that it allocates in a call. */
__attribute__((noinline)) static int keep(int i) {
  char name[32], *text = NULL, *made = NULL, *line = NULL, *put = (char *)malloc(64);
  size_t size = 0, room = 0;
  snprintf(name, sizeof name, "NAME_%d", i);
  FILE *to = open_memstream(&text, &size);
  if (put == NULL || to == NULL || setenv(name, "value", 1) != 0 || asprintf(&made, "PUT_%d=%d", i, i) < 0) return 0;
  for (int k = 0; k < 1000; k++) fprintf(to, "%d ", k);
  fclose(to);
  FILE *from = fmemopen(text, size, "r");
  int same = size == 3890 && getline(&line, &room, from) == (ssize_t)size && strcmp(line, text) == 0;
  fclose(from);
  strcpy(put, made);
  same &= putenv(put) == 0;
  free(text);
  free(made);
  free(line);
  return same;
}

static int keeps(void) {
  char name[32], value[32];
  for (int i = 0; i < 100; i++)
    if (!keep(i)) return 0;
  for (int i = 0; i < 100; i++) {
    snprintf(name, sizeof name, "PUT_%d", i);
    snprintf(value, sizeof value, "%d", i);
    if (getenv(name) == NULL || strcmp(getenv(name), value) != 0) return 0;
  }
  return 1;
}

/* Objects that handlers, a child and the end of the process free. A call that is left by a jump allocates them. */
enum { LATER = 20 };
static char *later[LATER];

static int free_half(int from) {
  for (int i = from; i < LATER; i += 2) {
    if (later[i][29] != (char)i) return 0;
    free(later[i]);
    later[i] = NULL;
  }
  return 1;
}

static void frees(int number) {
  (void)number;
  caught += free_half(0);
}

static void frees_at_end(void) {
  if (!free_half(1)) _exit(9);
}

__attribute__((noinline)) static void allocate_and_leave(void) {
  for (int i = 0; i < LATER; i++) {
    later[i] = (char *)malloc(30);
    memset(later[i], i, 30);
  }
  siglongjmp(leave, 1);
}

static int frees_later(void) {
  atexit(frees_at_end);
  signal(SIGUSR1, frees);
  for (volatile int i = 0; i < 100; i++) {
    if (i > 0 && !free_half(1)) return 0;
    if (sigsetjmp(leave, 0) == 0) allocate_and_leave();
    raise(SIGUSR1);
  }
  pid_t child = fork();
  if (child == 0) exit(0);
  return ended_well(child) && caught == 100;
}

static pthread_barrier_t all_run;
static void *at_once(void *arg) {
  pthread_barrier_wait(&all_run);
  work(20);
  return arg;
}

/* 50 threads with the least stacks. */
static int crowd(void) {
  pthread_t thread[50];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  pthread_barrier_init(&all_run, NULL, 50);
  for (int i = 0; i < 50; i++)
    if (pthread_create(&thread[i], &small, at_once, NULL) != 0) return 0;
  for (int i = 0; i < 50; i++) pthread_join(thread[i], NULL);
  return 1;
}

/* The C library ends a program that frees a wrong address. */
static int misuse(const char *how) {
  char *volatile p[8];
  char *volatile object = NULL; /* volatile: the compiler warns otherwise */
  for (int i = 0; i < 8; i++) p[i] = (char *)malloc(40);
  if (strcmp(how, "twice") == 0 || strcmp(how, "resized") == 0) free(p[3]);
  if (strcmp(how, "twice") == 0) free(p[3]);
  if (strcmp(how, "resized") == 0) object = (char *)realloc(p[3], 1000);
  if (strcmp(how, "newest") == 0) free(p[7]), free(p[7]);
  if (strcmp(how, "within") == 0) object = p[3] + 1, free(object);
  if (strcmp(how, "foreign") == 0) object = (char *)p + 16, free(object);
  return object == NULL;
}

void allocate_in_plugin(void) { work(20); }

#ifdef LIBRARY /* the first allocation of the process, while the C library's lock of the locale is held */
__attribute__((constructor)) static void begin(void) { (void)newlocale(LC_ALL_MASK, "POSIX", (locale_t)0); }
#endif

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int done = 0;
  if (strcmp(how, "forks") == 0) done = forks(4);
  if (strcmp(how, "vforks") == 0) done = vforks();
  if (strcmp(how, "closes") == 0) done = closes();
  if (strcmp(how, "strict") == 0) done = strict();
  if (strcmp(how, "stack") == 0) done = alternate_stack();
  if (strcmp(how, "jumps") == 0) done = jumps();
  if (strcmp(how, "timer") == 0) done = timer();
  if (strcmp(how, "plugins") == 0) done = plugins(argv[2]);
  if (strcmp(how, "chain") == 0) done = chain(argv);
  if (strcmp(how, "threads") == 0) done = threads();
  if (strcmp(how, "locale") == 0) done = locale();
  if (strcmp(how, "keeps") == 0) done = keeps();
  if (strcmp(how, "later") == 0) done = frees_later();
  if (strcmp(how, "crowd") == 0) done = crowd();
  if (strcmp(how, "misuse") == 0) done = misuse(argv[2]);
  if (strcmp(how, "limits") == 0) done = limits();
  puts(done ? "ok" : "failed");
  return !done;
}
