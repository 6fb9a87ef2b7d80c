/* TOFT_METERED, TOFT_SAMPLING, TOFT_BUDGET, TOFT_PROFILE and TOFT_PROFILE_SIGNAL. They are read once, so each case is a
 * child of its own, which exits by exit(). It reports by its exit code, since an assertion there would go on with the
 * parent's other tests.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <stdio.h>

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define CHECK(condition) \
  if (!(condition)) exit(__LINE__ % 250 + 1)

static char folder[] = "toft_profile_XXXXXX";
static char profile[64], findings[64];
static char text[1 << 20];

/* Reads a file into `text`. 0: there is none. */
static int read_file(const char *path) {
  FILE *in = fopen(path, "rb");
  text[0] = 0;
  if (in == NULL) return 0;
  text[fread(text, 1, sizeof text - 1, in)] = 0;
  fclose(in);
  return 1;
}

/* Runs a case with variables, pairs of name and value up to NULL. */
static void in_child(void (*work)(void), const char *const *variables) {
  int status = 0;
  (void)remove(profile);
  (void)remove(findings);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (; *variables != NULL; variables += 2) setenv(variables[0], variables[1], 1);
    work();
    exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0); /* else: the line of the CHECK, modulo 250, plus 1 */
}
#define IN_CHILD(work, ...)                         \
  do {                                              \
    const char *const all_[] = {__VA_ARGS__, NULL}; \
    in_child(work, all_);                           \
  } while (0)

static int has(const char *part) {
  if (strstr(text, part) != NULL) return 1;
  fprintf(stderr, "no %s in\n%s\n", part, text);
  return 0;
}

/* The number behind a key, the first one after `from`. */
static uint64_t number(const char *from, const char *key) {
  const char *at = strstr(text, from);
  if (at != NULL) at = strstr(at, key);
  if (at == NULL) fprintf(stderr, "no %s %s in\n%s\n", from, key, text);
  assert_non_null(at);
  return strtoull(at + strlen(key), NULL, 10);
}

static void allocate(toft_arena *a, int count, size_t size) {
  for (int i = 0; i < count; i++) CHECK(toft_alloc(a, size) != NULL);
}

/* ---- meters ---- */

static int count_tags(void *arg, const toft_tag_report *t) {
  (void)t;
  ++*(int *)arg;
  return 0;
}

static void nothing_is_on(void) {
  for (int i = 0; i < 3; i++) {
    int tags = 0;
    toft_arena *a = toft_create();
    CHECK(a != NULL && (a->epoch & 1) == 0 && a->limit - a->cursor == 4096 - 512);
    allocate(a, 1, 1000);
    CHECK(toft_tags(a, count_tags, &tags) == 0 && tags == 0);
    toft_release(a);
  }
  CHECK(toft_write_profile() == TOFT_ENOSYS);
}

static void values_that_are_off(void **state) {
  (void)state;
  IN_CHILD(nothing_is_on, "TOFT_PROFILE_SIGNAL", "USR1");
  IN_CHILD(nothing_is_on, "TOFT_METERED", "", "TOFT_SAMPLING", "", "TOFT_BUDGET", "", "TOFT_PROFILE", "");
  IN_CHILD(nothing_is_on, "TOFT_METERED", "0", "TOFT_SAMPLING", "0", "TOFT_BUDGET", "0");
  IN_CHILD(nothing_is_on, "TOFT_METERED", "Off", "TOFT_SAMPLING", "0K", "TOFT_BUDGET", "-1");
  IN_CHILD(nothing_is_on, "TOFT_METERED", "no", "TOFT_SAMPLING", "K", "TOFT_BUDGET", "much");
  IN_CHILD(nothing_is_on, "TOFT_METERED", "false");
}

static void every_arena_is_metered(void) {
  static unsigned char buffer[4096];
  toft_options o = TOFT_OPTIONS;
  toft_reserve_source r;
  counted c;
  toft_options kinds[4];
  for (int i = 0; i < 4; i++) kinds[i] = o;
  kinds[1].source = toft_reserve_source_init(&r, 1 << 20);
  kinds[2].source = counted_init(&c);
  kinds[3].buffer = buffer;
  kinds[3].buffer_size = sizeof buffer;
  for (int i = 0; i < 40; i++) { /* also arenas that come from the thread's cache, and reused leases */
    int tags = 0;
    toft_lease l = {NULL, 0};
    toft_arena *a;
    if (i % 5 == 4) {
      l = toft_lease_get(NULL);
      a = l.arena;
    } else {
      a = toft_create_with(&kinds[i % 5]);
    }
    CHECK(a != NULL && toft_tag_push(a, "tag") == TOFT_OK);
    allocate(a, 1, 100);
    toft_tag_pop(a);
    CHECK(toft_tags(a, count_tags, &tags) == 0 && tags == 2);
    if (i % 3 == 0) CHECK(toft_set_metered(a, 0) == TOFT_OK); /* the program's call has the last word */
    if (l.arena == NULL) toft_release(a);
    CHECK(l.arena == NULL || toft_lease_return(NULL, l) == TOFT_OK);
  }
  toft_reserve_source_release(&r);
  CHECK(c.out == 0);
}

static void metered(void **state) {
  (void)state;
  IN_CHILD(every_arena_is_metered, "TOFT_METERED", "1");
  IN_CHILD(every_arena_is_metered, "TOFT_METERED", "1", "TOFT_PROFILE", profile, "TOFT_SAMPLING", "64");
  IN_CHILD(every_arena_is_metered, "TOFT_METERED", "1", "TOFT_CHECKED", "1");
  IN_CHILD(every_arena_is_metered, "TOFT_METERED", "yes", "TOFT_CHECKED", "1", "TOFT_BUDGET", "1000000");
}

static int add_count(void *arg, const toft_site_report *r) {
  *(uint64_t *)arg += r->count;
  return 0;
}

static void every_arena_is_sampled(void) {
  for (int i = 0; i < 3; i++) {
    uint64_t count = 0;
    toft_arena *a = toft_create();
    CHECK(a != NULL);
    allocate(a, 100000, 64);
    CHECK(toft_sites(a, add_count, &count) == 0);
    CHECK(count > 90000 && count < 110000); /* 6400 samples: 1.25 % */
    toft_release(a);
  }
}

static void sampled(void **state) {
  (void)state;
  IN_CHILD(every_arena_is_sampled, "TOFT_SAMPLING", "1000");
  IN_CHILD(every_arena_is_sampled, "TOFT_SAMPLING", "1k");
}

/* ---- the budget ---- */

static int reports;
static void hear(void *arg, const toft_finding *f) {
  CHECK(arg == &reports && f->kind == TOFT_FOUND_OVER_BUDGET && f->size > 10000);
  reports++;
}

static void budget_is_soft(void) {
  toft_on_finding(hear, &reports);
  toft_arena *a = toft_create();
  allocate(a, 10, 1000);
  CHECK(reports == 0);
  allocate(a, 1, 8);
  CHECK(reports == 1);
  allocate(a, 100, 1000);
  CHECK(reports == 1); /* once in a round */
  CHECK(toft_reset(a) == TOFT_OK);
  allocate(a, 1, 200000);
  CHECK(reports == 2);
  toft_release(a);
  for (int i = 0; i < 3; i++) { /* each lease has the budget again */
    toft_lease l = toft_lease_get(NULL);
    allocate(l.arena, 1, 10000);
    CHECK(reports == 2 + i);
    allocate(l.arena, 1, 1000);
    CHECK(reports == 3 + i);
    CHECK(toft_lease_return(NULL, l) == TOFT_OK);
  }
  a = toft_create();
  CHECK(toft_set_soft_budget(a, UINT64_MAX, NULL, NULL) == TOFT_OK);
  allocate(a, 1, 20000);
  CHECK(reports == 5);
  toft_release(a);
}

static void budget(void **state) {
  int lines = 0;
  (void)state;
  IN_CHILD(budget_is_soft, "TOFT_BUDGET", "10000", "TOFT_FINDINGS", findings);
  assert_true(read_file(findings));
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    if (lines++ == 0)
      assert_non_null(strstr(line, "toft: over budget: 10008 bytes of a soft budget of 10000; noticed by alloc at "));
    assert_ptr_equal(strstr(line, "toft: over budget: "), line);
  }
  assert_int_equal(lines, 5);
}

static void exceed_a_checked_arena(void) {
  toft_arena *a = toft_create();
  allocate(a, 1, 10000);
  toft_release(a);
}

static void budget_in_a_checked_process(void **state) {
  (void)state;
  IN_CHILD(exceed_a_checked_arena, "TOFT_BUDGET", "10000", "TOFT_CHECKED", "1", "TOFT_FINDINGS", findings);
  assert_true(read_file(findings)); /* with the red zones */
  assert_true(has("toft: over budget: 10032 bytes of a soft budget of 10000; noticed by alloc at "));
}

/* ---- the profile at exit ---- */

static void three_kinds_of_arenas(void) {
  toft_arena *large = toft_create();
  allocate(large, 1, 1000000); /* the peak */
  toft_release(large);
  toft_arena *alive = toft_create();
  CHECK(alive != NULL && toft_tag_push(alive, "alive") == TOFT_OK);
  toft_phase p = toft_phase_begin(alive, "start");
  allocate(alive, 10, 1000);
  toft_phase_end(alive, &p);
  allocate(alive, 1, 300000);
  allocate(alive, 5, 8);          /* inline */
  for (int i = 0; i < 100; i++) { /* released */
    toft_arena *a = toft_create();
    CHECK(toft_tag_push(a, "alive") == TOFT_OK && toft_tag_push(a, "within") == TOFT_OK);
    allocate(a, 10, 16);
    toft_release(a);
  }
  for (int i = 0; i < 100; i++) {
    toft_lease l = toft_lease_get(NULL);
    CHECK(toft_tag_push(l.arena, "lease") == TOFT_OK);
    p = toft_phase_begin(l.arena, "request");
    allocate(l.arena, 1, 104);
    toft_phase_end(l.arena, &p);
    CHECK(toft_lease_return(NULL, l) == TOFT_OK);
  }
  toft_arena *outer = toft_create(), *donor = toft_create();
  CHECK(toft_tag_push(donor, "donor") == TOFT_OK);
  allocate(donor, 1, 5000);
  CHECK(toft_adopt(outer, donor) == TOFT_OK);
}

static void the_profile_is_exact_at_exit(void **state) {
  struct stat s;
  (void)state;
  IN_CHILD(three_kinds_of_arenas, "TOFT_METERED", "1", "TOFT_PROFILE", profile);
  assert_true(read_file(profile));
  assert_ptr_equal(strstr(text, "{\"version\":1,\"process\":{\"id\":"), text);
  assert_true(has(",\"library\":\"toft-c\","));
  /* alive, outer and the idle lease; 101 arenas, 100 leases and the donor */
  assert_true(has("\"arenas\":3,\"released\":202,\"sampling\":null,\"budget\":null,\"signal\":null},"));
#ifdef __linux__
#ifndef HAS_TSAN /* its thread makes the numbers late, as that of user-mode emulation */
  if (getenv("TOFT_EMULATED") == NULL) {
    assert_int_equal(number("stats", "\"live\":"), 310040 + 5000);
    assert_int_equal(number("stats", "\"allocated\":"), 1000000 + 310040 + 100 * 160 + 100 * 104 + 2 * 5000);
    assert_int_equal(number("stats", "\"peak\":"), 1000000);
    assert_true(has("{\"name\":\"\",\"number\":0,\"live\":5000,\"allocated\":1005000,\"budget\":null}"));
    assert_true(has("{\"name\":\"alive\",\"number\":null,\"live\":310040,\"allocated\":310040,\"budget\":null}"));
  }
#endif
#endif
  assert_true(has("{\"name\":\"alive/within\",\"number\":null,\"live\":0,\"allocated\":16000,\"budget\":null}"));
  assert_true(has("{\"name\":\"lease\",\"number\":null,\"live\":0,\"allocated\":10400,\"budget\":null}"));
  assert_true(has("{\"name\":\"donor\",\"number\":null,\"live\":0,\"allocated\":5000,\"budget\":null}"));
  assert_true(has("{\"name\":\"start\",\"entries\":1,\"allocated\":10000,\"kept\":10000}"));
  assert_true(has("{\"name\":\"request\",\"entries\":100,\"allocated\":10400,\"kept\":10400}"));
  assert_true(has("\"sites\":[]}\n"));
  assert_int_equal(stat(profile, &s), 0);
  assert_int_equal(s.st_mode & 0777, 0600);
}

static __attribute__((noinline)) void sampled_here(toft_arena *a) { allocate(a, 50000, 64); }

static void released_and_sampled(void) {
  for (int i = 0; i < 2; i++) {
    toft_arena *a = toft_create();
    CHECK(a != NULL && toft_tag_push(a, "samples") == TOFT_OK);
    sampled_here(a);
    CHECK(toft_clear_report(a) == TOFT_OK); /* the program's own reports are another matter */
    toft_release(a);
  }
  toft_arena *a = toft_create();
  for (int i = 0; i < 1000; i++) CHECK(toft_alloc(toft_at(a, "place.c:77"), 1000) != NULL);
}

static void samples_of_released_arenas_stay(void **state) {
  uint64_t count = 0, placed = 0;
  (void)state;
  IN_CHILD(released_and_sampled, "TOFT_METERED", "1", "TOFT_SAMPLING", "1000", "TOFT_PROFILE", profile);
  assert_true(read_file(profile));
  assert_true(has("\"sampling\":1000,"));
  for (char *at = text; (at = strstr(at, "{\"site\":{\"file\":\"")) != NULL; at++) {
    uint64_t n = strtoull(strstr(at, "\"count\":") + 8, NULL, 10);
    if (strncmp(at, "{\"site\":{\"file\":\"place.c\",\"line\":77,", 36) == 0)
      placed += n;
    else if (strstr(at, "\"tag\":\"samples\"") != NULL)
      count += n;
  }
  assert_in_range(count, 90000, 110000); /* 6400 samples */
  assert_in_range(placed, 850, 1150);    /* 1000 samples of 1000 bytes */
}

static void idle(void) {}

static void without_arenas_there_is_no_profile(void **state) {
  (void)state;
  IN_CHILD(idle, "TOFT_PROFILE", profile);
  assert_false(read_file(profile));
}

static void write_twice(void) {
  toft_arena *a = toft_create();
  CHECK(a != NULL && toft_write_profile() == TOFT_OK);
  CHECK(read_file(profile) && strstr(text, "\"arenas\":1,\"released\":0,") != NULL);
  CHECK(strstr(text, "\"budgets\"") == NULL);
  toft_budget_options o = TOFT_BUDGET_OPTIONS; /* all budgets, whichever arenas are there */
  o.name = "of a profile";
  o.limit = 5000;
  CHECK(toft_budget_create(&o) != NULL && toft_write_profile() == TOFT_OK && read_file(profile));
  CHECK(strstr(text, "\"name\":\"of a profile\",\"limit\":5000,\"reserved\":0,") != NULL);
  allocate(a, 1, 10);
  toft_release(a);
}

static void fail_to_write(void) { CHECK(toft_create() != NULL && toft_write_profile() == TOFT_EARG); }

static void paths(void **state) {
  char pattern[96], path[96], target[96];
  struct stat s;
  (void)state;
  IN_CHILD(write_twice, "TOFT_PROFILE", profile);
  assert_true(read_file(profile)); /* replaced at exit */
  assert_true(has("\"arenas\":0,\"released\":1,"));
  IN_CHILD(fail_to_write, "TOFT_PROFILE", "/no/such/folder/profile");
  (void)snprintf(target, sizeof target, "%s/target", folder);
  assert_int_equal(symlink(target, profile), 0);
  IN_CHILD(three_kinds_of_arenas, "TOFT_PROFILE", profile);
  assert_int_not_equal(stat(target, &s), 0); /* a link is replaced, not followed */
  (void)snprintf(pattern, sizeof pattern, "%s/%%p.%%l.%%x", folder);
  IN_CHILD(three_kinds_of_arenas, "TOFT_PROFILE", pattern);
  FILE *list = NULL;
  (void)snprintf(path, sizeof path, "ls %s/*.c-*.%%x", folder);
  list = popen(path, "r");
  assert_true(list != NULL && fgets(path, sizeof path, list) != NULL);
  pclose(list);
  path[strcspn(path, "\n")] = 0;
  assert_true(read_file(path));
  assert_int_equal(number("process", "\"id\":"), strtoull(path + strlen(folder) + 1, NULL, 10));
  assert_int_equal(remove(path), 0);
}

/* ---- threads ---- */

static int ends;
static void *allocate_for_ever(void *arg) {
  (void)arg;
  toft_arena *a = toft_create();
  CHECK(a != NULL);
  do { /* once at least, also where the profiles are complete before this thread runs */
    TOFT_TAG(a, "thread");
    allocate(a, 100, 500);
    toft_lease l = toft_lease_get(NULL);
    allocate(l.arena, 10, 100);
    CHECK(toft_lease_return(NULL, l) == TOFT_OK);
    CHECK(toft_reset(a) == TOFT_OK);
  } while (!__atomic_load_n(&ends, __ATOMIC_RELAXED));
  allocate(a, 100, 1000);
  return NULL;
}

/* Profiles while other threads use their arenas, whose memory a profile does not read. */
static void profile_running_threads(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, allocate_for_ever, NULL) == 0);
  for (int i = 0; i < 8; i++) CHECK(toft_write_profile() == TOFT_OK);
  __atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void threads_go_on_during_a_profile(void **state) {
  (void)state;
  IN_CHILD(profile_running_threads, "TOFT_METERED", "1", "TOFT_SAMPLING", "10000", "TOFT_PROFILE", profile);
  assert_true(read_file(profile));
  /* two arenas, each of 100000 bytes; at most 16 KiB were not seen yet */
  assert_in_range(number("stats", "\"live\":"), 2 * (100000 - 16384), 200000);
  assert_in_range(number("\"thread\"", "\"allocated\":"), 2 * 50000, UINT64_MAX);
}

static void *allocate_and_wait(void *arg) {
  toft_arena *a = toft_create();
  allocate(a, 100, 1000);
  __atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
  for (;;) pause();
  return NULL;
}

static void exit_with_a_thread(void) {
  pthread_t thread;
  int ready = 0;
  CHECK(pthread_create(&thread, NULL, allocate_and_wait, &ready) == 0);
  while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) == 0) (void)sched_yield();
}

static void threads_may_outlive_the_exit(void **state) {
  (void)state;
  IN_CHILD(exit_with_a_thread, "TOFT_PROFILE", profile);
  assert_true(read_file(profile));
  assert_in_range(number("stats", "\"live\":"), 100000 - 16384, 100000);
}

/* ---- signals and forks ---- */

static void wait_for_the_profile(void) {
  while (!read_file(profile)) (void)sched_yield();
}

static void idle_until_signalled(void) {
  toft_arena *a = toft_create();
  allocate(a, 1, 100000);
  CHECK(kill(getpid(), SIGUSR2) == 0); /* no call on an arena follows */
  wait_for_the_profile();
  CHECK(strstr(text, "\"live\":100000,") != NULL);
  for (int i = 0; i < 3; i++) { /* again and again */
    CHECK(remove(profile) == 0);
    CHECK(kill(getpid(), SIGUSR2) == 0);
    wait_for_the_profile();
  }
  toft_release(a);
}

static void a_signal_requests_a_profile(void **state) {
  char number_of_it[16];
  (void)state;
  (void)snprintf(number_of_it, sizeof number_of_it, "%d", SIGUSR2);
  IN_CHILD(idle_until_signalled, "TOFT_PROFILE", profile, "TOFT_PROFILE_SIGNAL", "USR2");
  assert_true(read_file(profile) && has("\"live\":0,"));
  assert_int_equal(number("process", "\"signal\":"), SIGUSR2);
  IN_CHILD(idle_until_signalled, "TOFT_PROFILE", profile, "TOFT_PROFILE_SIGNAL", number_of_it);
}

static volatile sig_atomic_t handled;
static void own_handler(int number_of_it) { handled = number_of_it; }

static void handle_it_myself(void) {
  CHECK(signal(SIGUSR1, own_handler) != SIG_ERR);
  CHECK(toft_create() != NULL);
  CHECK(kill(getpid(), SIGUSR1) == 0);
  while (handled != SIGUSR1) (void)sched_yield();
  CHECK(!read_file(profile));
}

static void a_programs_handler_stays(void **state) {
  (void)state;
  IN_CHILD(handle_it_myself, "TOFT_PROFILE", profile, "TOFT_PROFILE_SIGNAL", "USR1");
  assert_true(read_file(profile) && has("\"signal\":null"));
}

static char pattern_of_children[64];

/* The child has no thread for the signal: its next slow call writes the profile. */
static void fork_with_a_signal(void) {
  int status = 0;
  toft_arena *a = toft_create();
  allocate(a, 1, 100000);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    char path[96];
    (void)snprintf(path, sizeof path, "%s/child.%d", folder, (int)getpid());
    CHECK(kill(getpid(), SIGUSR1) == 0);
    while (!read_file(path)) {
      allocate(a, 1, 50000);
      CHECK(toft_reset(a) == TOFT_OK);
    }
    CHECK(remove(path) == 0);
    toft_release(a);
    exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  char path[96];
  (void)snprintf(path, sizeof path, "%s/child.%d", folder, (int)child);
  CHECK(read_file(path) && strstr(text, "\"live\":0,") != NULL); /* at its exit */
  CHECK(number("process", "\"id\":") == (uint64_t)child && remove(path) == 0);
  (void)snprintf(path, sizeof path, "%s/child.%d", folder, (int)getpid());
  CHECK(toft_write_profile() == TOFT_OK && read_file(path) && strstr(text, "\"live\":100000,") != NULL);
}

static void a_forked_child_has_a_profile_of_its_own(void **state) {
  (void)state;
  (void)snprintf(pattern_of_children, sizeof pattern_of_children, "%s/child.%%p", folder);
  IN_CHILD(fork_with_a_signal, "TOFT_PROFILE", pattern_of_children, "TOFT_PROFILE_SIGNAL", "USR1");
}

/* Forks while other threads hold the locks of records. */
static void fork_among_threads(void) {
  pthread_t threads[2];
  int status = 0;
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, allocate_for_ever, NULL) == 0);
  for (int i = 0; i < 8; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      toft_arena *a = toft_create();
      allocate(a, 100, 1000);
      toft_release(a);
      _exit(toft_write_profile());
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  __atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void *create_and_release(void *arg) {
  toft_release(toft_create());
  return arg;
}

/* Forks while another thread reads the environment, which takes long here: no child waits for that thread. */
static void fork_during_the_first_call(void) {
  static char *many[1000001], other[] = "OTHER=1";
  pthread_t thread;
  int status = 0;
  for (int i = 0; i < 1000000; i++) many[i] = other;
  environ = many;
  CHECK(pthread_create(&thread, NULL, create_and_release, NULL) == 0);
  for (int i = 0; i < 5; i++) {
    CHECK(usleep(200) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      (void)alarm(20);
      toft_arena *a = toft_create();
      _exit(a == NULL);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(pthread_join(thread, NULL) == 0);
}

static void a_fork_during_the_first_call(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  for (int i = 0; i < 4; i++) IN_CHILD(fork_during_the_first_call, "OTHER", "1");
}

static void forks_leave_no_lock_taken(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
#ifdef __i386__ /* a fork may leave the lock of the C library's unwinder taken, so the child cannot sample */
  IN_CHILD(fork_among_threads, "TOFT_METERED", "1", "TOFT_PROFILE", profile);
#else
  IN_CHILD(fork_among_threads, "TOFT_METERED", "1", "TOFT_SAMPLING", "1000", "TOFT_PROFILE", profile);
#endif
}

/* A child that writes profiles and is ended from outside (`most` SIZE_MAX), or has a limit of the bytes of a file, by
 * which its write fails without a signal. Afterwards the file at the path is a whole one. */
static void write_until_killed(unsigned delay, size_t most) {
  char temporary[96];
  struct rlimit limit = {most, most};
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    if (most != SIZE_MAX && setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    do {
      if (toft_write_profile() != TOFT_OK) _exit(2);
    } while (most == SIZE_MAX);
    _exit(3);
  }
  if (most == SIZE_MAX) CHECK(usleep(delay) == 0 && kill(child, SIGKILL) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  if (most == SIZE_MAX) CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  if (most != SIZE_MAX) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 2); /* no SIGXFSZ */
  CHECK(read_file(profile) && text[0] == '{' && strcmp(text + strlen(text) - 2, "}\n") == 0);
  (void)snprintf(temporary, sizeof temporary, "%s.%d", profile, (int)child);
  CHECK(remove(temporary) != 0 || most == SIZE_MAX);
}

static void write_and_be_killed(void) {
  char tag[16];
  toft_arena *a = toft_create();
  for (int i = 0; i < 500; i++) {
    (void)snprintf(tag, sizeof tag, "tag %d", i);
    CHECK(toft_set_tag(a, (uint32_t)i, tag) == TOFT_OK && toft_alloc(a, 100) != NULL);
  }
  CHECK(toft_write_profile() == TOFT_OK && read_file(profile));
  size_t whole = strlen(text);
  for (unsigned i = 0; i < 30; i++) write_until_killed(100 * i, SIZE_MAX);
  for (size_t most = 0; most < whole; most += whole / 10 + 1) write_until_killed(0, most);
  toft_release(a);
}

static void no_part_of_a_profile_is_seen(void **state) {
  (void)state;
  if (getenv("TOFT_EMULATED") != NULL) skip(); /* not every emulator has the limit */
  IN_CHILD(write_and_be_killed, "TOFT_METERED", "1", "TOFT_PROFILE", profile);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_part_of_a_profile_is_seen),
      cmocka_unit_test(values_that_are_off),
      cmocka_unit_test(metered),
      cmocka_unit_test(sampled),
      cmocka_unit_test(budget),
      cmocka_unit_test(budget_in_a_checked_process),
      cmocka_unit_test(the_profile_is_exact_at_exit),
      cmocka_unit_test(samples_of_released_arenas_stay),
      cmocka_unit_test(without_arenas_there_is_no_profile),
      cmocka_unit_test(paths),
      cmocka_unit_test(threads_go_on_during_a_profile),
      cmocka_unit_test(threads_may_outlive_the_exit),
      cmocka_unit_test(a_signal_requests_a_profile),
      cmocka_unit_test(a_programs_handler_stays),
      cmocka_unit_test(a_forked_child_has_a_profile_of_its_own),
      cmocka_unit_test(a_fork_during_the_first_call),
      cmocka_unit_test(forks_leave_no_lock_taken),
  };
  if (mkdtemp(folder) == NULL) return 1;
  (void)snprintf(profile, sizeof profile, "%s/profile", folder);
  (void)snprintf(findings, sizeof findings, "%s/findings", folder);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[64];
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  return failed + (system(command) != 0);
}

#else

int main(void) {
  puts("skipped: no fork here");
  return 77;
}

#endif
