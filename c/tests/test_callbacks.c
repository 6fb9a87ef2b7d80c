/* Callbacks of every kind, correct and incorrect: they call the arena that called them, use other arenas and the
 * thread's caches, fork, or end their thread. The arena must work afterwards.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support.h"

#include <stdio.h>

#ifdef _WIN32
int main(void) { return 77; }
#else
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALL_IT, USE_OTHERS, FORK, END_THREAD, ACTIONS };

/* What the callback that is being tried does, and in which arena it is called. */
static int action, called, refused, others_good;
static toft_arena *a;
static void *lost[64]; /* what calls that never ended hold: leak checkers are to find it */
static size_t lost_count;

/* Calls that change a busy arena. Sources may be called in the middle of an op: there only the inline path may be
 * tried. */
static int is_refused(toft_arena *arena) {
  toft_range r = {NULL, NULL, 0};
  toft_mark m = toft_mark_here(arena);
  int good = toft_alloc(arena, 8) == NULL && toft_rewind(arena, m) == TOFT_EBUSY && toft_reset(arena) == TOFT_EBUSY &&
             toft_claim(arena, &r) == TOFT_EBUSY && toft_cleanup_add(arena, NULL, NULL) == NULL &&
             toft_set_budget(arena, 1) == TOFT_EBUSY;
  toft_trim(arena, 0);
  toft_release(arena);
  return good && toft_get_stats(arena).reserved != 0;
}

static int use_others(void) {
  toft_lease l = toft_lease_get(NULL);
  toft_arena *other = toft_create();
  toft_recycler r;
  int good = l.arena != NULL && toft_alloc(l.arena, 5000) != NULL && other != NULL && toft_alloc(other, 5000) != NULL;
  toft_recycler_init(&r, NULL);
  good = good && toft_recycler_alloc(&r, 5000, 8) != NULL;
  toft_recycler_release(&r);
  toft_release(other);
  toft_cache_trim();
  return toft_lease_return(NULL, l) == TOFT_OK && good;
}

static int fork_and_use_others(void) {
  int status = 0;
#ifdef RUNNING_ON_VALGRIND
  if (RUNNING_ON_VALGRIND) return use_others(); /* it counts what the child's missing threads had as leaked */
#endif
  pid_t child = fork();
  if (child == 0) _exit(use_others() ? 0 : 1);
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* arena NULL: of a source, which must not call it. */
static void act(toft_arena *arena) {
  if (called++ != 0) return;
  switch (action) {
    case CALL_IT: refused = arena == NULL || is_refused(arena); break;
    case USE_OTHERS: others_good = use_others(); break;
    case FORK: others_good = fork_and_use_others(); break;
    default: pthread_exit(NULL);
  }
}

/* ---- the callbacks ---- */

static void cleanup(void *arg) { act((toft_arena *)arg); }
static void on_failure(void *arg, toft_arena *arena, size_t size, size_t align, int code) {
  (void)arg, (void)size, (void)align, (void)code;
  act(action == CALL_IT ? NULL : arena); /* it must not call into the arena: see toft_failure_fn */
}
static void on_finding(void *arg, const toft_finding *f) {
  (void)arg;
  act(f->arena);
}
static uint64_t on_refusal(void *arg, toft_arena *arena, uint64_t live, uint64_t budget, size_t size) {
  (void)arg, (void)live, (void)size;
  act(arena);
  return budget;
}
static void on_soft(void *arg, toft_arena *arena, uint64_t live, uint64_t budget) {
  (void)arg, (void)live, (void)budget;
  act(arena);
}
static size_t unwind(void *arg, void **stack, size_t most) {
  (void)stack, (void)most;
  act((toft_arena *)arg);
  return 0;
}
static int on_block(void *arg, const toft_block *block) {
  (void)block;
  act((toft_arena *)arg);
  return 0;
}
static int on_tag(void *arg, const toft_tag_report *tag) {
  (void)tag;
  act((toft_arena *)arg);
  return 0;
}
static int on_write(void *arg, const char *bytes, size_t size) {
  (void)bytes, (void)size;
  act((toft_arena *)arg);
  return 0;
}
static int on_symbol(void *arg, const void *address, toft_symbol *symbol) {
  (void)address, (void)symbol;
  act((toft_arena *)arg);
  return 0;
}

static counted source;
static void *take(toft_source *self, size_t size) {
  act(NULL);
  return counted_take(self, size);
}
static void put(toft_source *self, void *block, size_t size) {
  act(NULL);
  counted_put(self, block, size);
}

/* ---- the calls that lead to them ---- */

static void by_rewind(void) {
  toft_mark m = toft_mark_here(a);
  (void)toft_cleanup_add(a, cleanup, a);
  (void)toft_rewind(a, m);
}
static void by_reset(void) {
  (void)toft_cleanup_add(a, cleanup, a);
  (void)toft_reset(a);
}
static void by_return(void) {
  toft_lease l = toft_lease_get(NULL);
  if (action == END_THREAD) lost[lost_count++] = l.arena;
  (void)toft_cleanup_add(l.arena, cleanup, NULL);
  (void)toft_lease_return(NULL, l);
}
static void by_advance(void) {
  toft_frames *f = toft_frames_create(1, NULL);
  if (action == END_THREAD) lost[lost_count++] = f;
  (void)toft_cleanup_add(toft_frame_arena(f), cleanup, NULL);
  (void)toft_frames_advance(f);
  (void)toft_frames_release(f); /* TOFT_EBUSY where the advance never ended */
}
static void by_failure(void) { (void)!toft_alloc(a, SIZE_MAX); }
static void by_finding(void) {
  (void)toft_set_checked(a, 1);
  write_wrongly(toft_alloc(a, 8), 8);
  toft_on_finding(on_finding, NULL);
  (void)toft_reset(a);
}
static void by_refusal(void) {
  (void)toft_on_refusal(a, on_refusal, NULL);
  (void)toft_set_budget(a, toft_get_stats(a).live + 8);
  (void)!toft_alloc(a, 16);
}
static void by_soft_budget(void) {
  (void)toft_set_soft_budget(a, 8, on_soft, NULL);
  (void)!toft_alloc(a, 16);
}
static void by_sample(void) {
  (void)toft_set_unwinder(a, unwind, a);
  (void)toft_set_sampling(a, 64);
  for (int i = 0; i < 100; i++) (void)!toft_alloc(a, 640);
}
static void by_blocks(void) { (void)toft_blocks(a, on_block, a); }
static void by_tags(void) {
  (void)toft_set_metered(a, 1);
  (void)toft_tags(a, on_tag, a);
}
static void by_snapshot(void) { (void)toft_snapshot(a, NULL, on_write, a); }
static void by_symbols(void) {
  toft_snapshot_options o = TOFT_SNAPSHOT_OPTIONS;
  o.symbolizer = on_symbol;
  o.symbolizer_arg = a;
  (void)toft_set_sampling(a, 64);
  for (int i = 0; i < 100; i++) (void)!toft_alloc(a, 640);
  char text[64];
  (void)toft_snapshot_text(a, &o, text, sizeof text);
}
static void by_take(void) {
  source.source.take = take;
  (void)!toft_alloc(a, 100000);
}
static void by_put(void) {
  source.source.put = put;
  (void)!toft_alloc(a, 1000000);
  (void)toft_reset_keep(a, TOFT_KEEP_BYTES, 0);
}

static void (*const calls[])(void) = {by_rewind,  by_reset,    by_return,      by_advance, by_failure,
                                      by_finding, by_refusal,  by_soft_budget, by_sample,  by_blocks,
                                      by_tags,    by_snapshot, by_symbols,     by_take,    by_put};

static void *in_a_thread(void *arg) {
  calls[*(size_t *)arg]();
  return NULL;
}

static void each_callback_does_each_of_these(void **state) {
  int actions = ACTIONS;
  (void)state;
#ifdef RUNNING_ON_VALGRIND
  if (RUNNING_ON_VALGRIND) actions = END_THREAD; /* memory of a call that never ends is lost */
#endif
  for (size_t call = 0; call < sizeof calls / sizeof *calls; call++) {
    for (action = 0; action < actions; action++) {
      toft_options o = TOFT_OPTIONS;
      pthread_t thread;
      o.source = counted_init(&source);
      o.failure = on_failure;
      called = refused = others_good = 0;
      a = toft_create_with(&o);
      unsigned char *kept = NULL;
      if (calls[call] != by_reset && calls[call] != by_put && calls[call] != by_finding) {
        kept = (unsigned char *)toft_alloc(a, 100);
        fill(kept, 100, 7);
      }
      assert_int_equal(pthread_create(&thread, NULL, in_a_thread, &call), 0);
      assert_int_equal(pthread_join(thread, NULL), 0);
      toft_on_finding(NULL, NULL);
      source.source.take = counted_take;
      source.source.put = counted_put;
      if (called == 0) fail_msg("call %d came to no callback", (int)call);
      if (action == CALL_IT && calls[call] != by_return && calls[call] != by_advance && !refused)
        fail_msg("call %d: the arena was not closed to its callback", (int)call);
      if (action == USE_OTHERS || action == FORK)
        if (!others_good) fail_msg("call %d, action %d: others were not usable", (int)call, action);
      assert_true(kept == NULL || filled(kept, 100, 7));
      called = 1; /* no more actions */
      assert_true(use_others());
      if (action == END_THREAD) {
        lost[lost_count++] = a;
        continue;
      }
      assert_int_equal(toft_set_budget(a, UINT64_MAX), TOFT_OK);
      assert_non_null(toft_alloc(a, 5000));
      assert_int_equal(toft_reset(a), TOFT_OK);
      toft_release(a);
      counted_all_back(&source);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_callback_does_each_of_these),
  };
  return cmocka_run_group_tests_name("callbacks", tests, NULL, NULL);
}
#endif
