/* A plugin that embeds the library is loaded and unloaded again and again, while threads of the program live on.
 * More than 1024 rounds: that many thread-specific keys are all there are, so a leaked one shows.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <stdio.h>

#ifdef PLUGIN
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 2 };

typedef struct plugin {
  void *handle;
  size_t (*work)(unsigned rounds);
  void (*trim)(void);
} plugin;

static unsigned rounds(void) { return long_run() ? 20000 : 1100; }

static plugin load(void) {
  plugin p;
  p.handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(p.handle);
  *(void **)&p.work = dlsym(p.handle, "plugin_work");
  *(void **)&p.trim = dlsym(p.handle, "plugin_trim");
  assert_true(p.work != NULL && p.trim != NULL);
  return p;
}

static void unload(plugin *p) {
  assert_int_equal(dlclose(p->handle), 0);
#ifdef __GLIBC__
  assert_null(dlopen(PLUGIN, RTLD_NOW | RTLD_NOLOAD)); /* unloaded, or the test would be void */
#endif
}

/* ---- threads that alternate with the main thread ---- */

typedef struct crew {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t threads[THREADS];
  plugin *plugin; /* NULL: the thread ends */
  unsigned round, done, failed;
} crew;

static void *crew_member(void *arg) {
  crew *c = (crew *)arg;
  unsigned seen = 0;
  pthread_mutex_lock(&c->lock);
  for (;;) {
    while (c->round == seen) pthread_cond_wait(&c->changed, &c->lock);
    seen = c->round;
    plugin *p = c->plugin;
    if (p == NULL) break;
    pthread_mutex_unlock(&c->lock);
    size_t held = p->work(3);
    if (p->trim != NULL) p->trim(); /* memory that a living thread holds at an unload is lost */
    pthread_mutex_lock(&c->lock);
    c->failed += held == 0;
    c->done++;
    pthread_cond_broadcast(&c->changed);
  }
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

static void crew_start(crew *c) {
  memset(c, 0, sizeof *c);
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->changed, NULL);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&c->threads[i], NULL, crew_member, c), 0);
}

static void crew_turn(crew *c, plugin *p) {
  pthread_mutex_lock(&c->lock);
  c->plugin = p;
  c->done = 0;
  c->round++;
  pthread_cond_broadcast(&c->changed);
  while (p != NULL && c->done < THREADS) pthread_cond_wait(&c->changed, &c->lock);
  pthread_mutex_unlock(&c->lock);
}

static void crew_end(crew *c) {
  crew_turn(c, NULL);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(c->threads[i], NULL), 0);
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  assert_int_equal(c->failed, 0);
}

static void threads_live_across_unloads(void **state) {
  static crew c;
  (void)state;
  crew_start(&c);
  for (unsigned i = 0; i < rounds(); i++) {
    plugin p = load();
    crew_turn(&c, &p);
    assert_true(p.work(3) > 0); /* this thread's cache is returned by the unload */
    unload(&p);
  }
  crew_end(&c);
}

/* ---- profiles on a signal ---- */

static int is_default(int number) {
  struct sigaction now;
  assert_int_equal(sigaction(number, NULL, &now), 0);
  return now.sa_handler == SIG_DFL;
}

/* Neither the handler nor the thread for its requests may stay. */
static void an_unload_ends_the_requests_of_profiles(void **state) {
  char file[] = "toft_dlclose_XXXXXX";
  (void)state;
#if defined(__linux__) && !defined(__GLIBC__)
  skip(); /* musl unloads nothing */
#endif
  int made = mkstemp(file);
  assert_true(made >= 0);
  setenv("TOFT_PROFILE", file, 1);
  setenv("TOFT_PROFILE_SIGNAL", "USR1", 1);
  for (int i = 0; i < 20; i++) {
    plugin p = load();
    assert_true(p.work(3) > 0 && !is_default(SIGUSR1));
    assert_int_equal(raise(SIGUSR1), 0);
    unload(&p);
    assert_true(is_default(SIGUSR1));
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    assert_int_equal(fgetc(in), '{');
    fclose(in);
  }
  unsetenv("TOFT_PROFILE");
  unsetenv("TOFT_PROFILE_SIGNAL");
  assert_int_equal(remove(file), 0);
}

/* ---- threads that end ---- */

static void an_unload_ends_the_background_thread(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    plugin p = load();
    size_t (*background)(void);
    *(void **)&background = dlsym(p.handle, "plugin_background");
    assert_non_null(background);
    assert_true(background() > 0);
    unload(&p);
  }
}

static void *work_once(void *arg) { return ((plugin *)arg)->work(3) > 0 ? arg : NULL; }

static void threads_end_before_an_unload(void **state) {
  (void)state;
  for (unsigned i = 0; i < rounds() / 10; i++) {
    pthread_t threads[THREADS];
    plugin p = load();
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, work_once, &p), 0);
    for (int t = 0; t < THREADS; t++) {
      void *result = NULL;
      assert_int_equal(pthread_join(threads[t], &result), 0);
      assert_ptr_equal(result, &p);
    }
    unload(&p);
  }
}

/* The callback at thread exit was registered by code that is unloaded: it must not run. */
static void threads_end_after_an_unload(void **state) {
  static crew c;
  (void)state;
  for (unsigned i = 0; i < rounds() / 10; i++) {
    crew_start(&c);
    plugin p = load();
    crew_turn(&c, &p);
    unload(&p);
    crew_end(&c);
  }
}

/* Threads whose caches and leases are full when the library is unloaded use the next copy, and end after it. In a child
 * whose end no leak checker sees, since their memory is lost. */
static void full_caches_are_lost_without_harm(void **state) {
  int status = 0;
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    static crew c;
    for (int round = 0; round < 5; round++) {
      crew_start(&c);
      for (int i = 0; i < 8; i++) {
        plugin p = load();
        p.trim = NULL;
        crew_turn(&c, &p);
        unload(&p);
      }
      crew_end(&c);
    }
    raise(SIGKILL);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(full_caches_are_lost_without_harm), cmocka_unit_test(threads_live_across_unloads),
      cmocka_unit_test(threads_end_before_an_unload),      cmocka_unit_test(an_unload_ends_the_requests_of_profiles),
      cmocka_unit_test(threads_end_after_an_unload),       cmocka_unit_test(an_unload_ends_the_background_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  puts("skipped: no loadable modules here");
  return 77;
}

#endif
