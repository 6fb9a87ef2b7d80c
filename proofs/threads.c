/* What threads share without a lock, and the locks. A harness is a program of two threads, or of a main thread and one
 * or two others. GenMC explores all of its executions under RC11, the C11 memory model without values out of thin air,
 * and reports data races, false assertions and threads that wait forever. main runs the harness HARNESS.
 *
 * The library is the real one. Replaced are the operating system, thread-local storage, and copies and fills of memory
 * whose type GenMC does not support.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_STATIC 1
#define TOFT_OMIT_CHECKS 1
#define TOFT_OMIT_METERS 1
#define TOFT_OMIT_POOLS 1
#define TOFT_SPINS_MAX 1
#define TOFT_PAGE_LOCK_ATTEMPTS 1
#define TOFT_PLATFORM_OS_C /* these files find their guards defined, and are empty */
#define TOFT_PLATFORM_SANITIZERS_C
#define TOFT_PLATFORM_THREAD_LOCAL_H
#define __builtin_constant_p(value) 0

#include <string.h>

#include "../c/src/platform/base.h"
#include "../c/src/platform/lifecycle.h"

typedef struct toft_os_mutex {
  int private;
} toft_os_mutex;

void __VERIFIER_assume(_Bool condition);
void __VERIFIER_assert_fail(const char *condition, const char *file, int line);
long __VERIFIER_thread_create(const void *attributes, void *(*fn)(void *), void *arg);
void *__VERIFIER_thread_join(long thread);
int __VERIFIER_mutex_lock(toft_os_mutex *m);
int __VERIFIER_mutex_unlock(toft_os_mutex *m);
#define prove(condition) ((condition) ? (void)0 : __VERIFIER_assert_fail(#condition, __FILE__, __LINE__))

/* ---- variables of a thread: GenMC has none that are structures ---- */

#define THREADS 3 /* the main thread is 0 */
static _Thread_local int self;
static void *copy_of(void *variable);
#define TOFT_PER_THREAD static
#define TOFT_OWN(variable) (*(__typeof__(variable) *)copy_of(&(variable)))

/* ---- memory: each block is new and zero. The store into a freed one makes an access by another thread a race ---- */

#define HEAP_BYTES (8 * TOFT_MIB)
static _Alignas(4096) unsigned char heap[THREADS][HEAP_BYTES];
static _Thread_local size_t heap_used;

static void *toft_os_heap_take(size_t size, size_t align) {
  size_t start = (heap_used + align - 1) & ~(align - 1);
  prove(size <= HEAP_BYTES - start);
  heap_used = start + size;
  return &heap[self][start];
}
static void toft_os_heap_put(void *p) { *(size_t *)p = 0; }

/* Of copies the harnesses reach those of structures whose members are words; of fills, those with 0 of local variables,
 * which GenMC has, and of new blocks. */
static void words_move(size_t *to, const size_t *from, size_t size) {
  prove(size % sizeof *to == 0);
  for (size_t i = 0, words = size / sizeof *to; i < words; i++) {
    size_t at = to < from ? i : words - 1 - i;
    to[at] = from[at];
  }
}
#define memmove(to, from, size) words_move((size_t *)(void *)(to), (const size_t *)(const void *)(from), size)
#define memcpy(to, from, size) memmove(to, from, size)
#define memset(p, value, size) (#p[0] == '&' ? (void)(memset)(p, value, size) : prove(*(size_t *)(void *)(p) == 0))

/* ---- the operating system ---- */

#define TOFT_HUGE_PAGE (2 * TOFT_MIB)
#define TOFT_OS_CAN_SPLIT 1
static size_t toft_os_unloading;
static size_t toft_os_page(size_t n) { return (n + 4095) & ~(size_t)4095; }
static void *toft_os_map(size_t size, int huge) { return (void)huge, toft_os_heap_take(size, 4096); }
static void toft_os_unmap(void *p, size_t size) { (void)size, toft_os_heap_put(p); }
static void toft_os_discard(void *p, size_t size) { (void)p, (void)size; }
static void *toft_os_reserve(size_t size) { return (void)size, NULL; }
static int toft_os_commit(void *p, size_t size) { return (void)p, (void)size, 0; }
static void toft_os_decommit(void *p, size_t size) { (void)p, (void)size; }
static int toft_os_arm_thread_exit(void) { return 1; }
static void toft_os_at_fork(void (*a)(void), void (*b)(void), void (*c)(void)) { (void)a, (void)b, (void)c; }
static size_t toft_os_milliseconds(void) { return 0; }
static size_t toft_os_env_number(const char *name, size_t n) { return (void)name, (void)n, (size_t)self; }
/* Ends the execution: those in which the awaited store happens first remain. */
static void toft_os_yield(void) { __VERIFIER_assume(0); }

/* The asymmetric fence is a sequentially consistent fence on both sides; see TOFT_COMPILER_FENCE below. */
static int toft_os_fence_register(void) { return 1; }
static int toft_os_fence_all(void) { return __atomic_thread_fence(__ATOMIC_SEQ_CST), 1; }

/* A condition counts the wakes: a wait ends at the next one. */
typedef size_t toft_os_condition;
static int toft_os_wait_init(toft_os_mutex *m, toft_os_condition *c) { return (void)m, (void)c, 1; }
static void toft_os_wait_destroy(toft_os_mutex *m, toft_os_condition *c) { (void)m, (void)c; }
static void toft_os_mutex_take(toft_os_mutex *m) { (void)__VERIFIER_mutex_lock(m); }
static void toft_os_mutex_drop(toft_os_mutex *m) { (void)__VERIFIER_mutex_unlock(m); }
static void toft_os_wait(toft_os_condition *c, toft_os_mutex *m) {
  size_t wakes = __atomic_load_n(c, __ATOMIC_RELAXED);
  toft_os_mutex_drop(m);
  while (__atomic_load_n(c, __ATOMIC_RELAXED) == wakes) continue;
  toft_os_mutex_take(m);
}
static void toft_os_wake_all(toft_os_condition *c) { __atomic_fetch_add(c, 1, __ATOMIC_RELAXED); }

static void toft_unpoison(const void *p, size_t n) { (void)p, (void)n; }
static void toft_poison(const void *p, size_t n) { (void)p, (void)n; }
static void toft_mark_undefined(const void *p, size_t n) { (void)p, (void)n; }
static void toft_mark_defined(const void *p, size_t n) { (void)p, (void)n; }
static void *toft_scan_begin(void *p, size_t n) { return (void)n, p; }
static void toft_scan_end(const void *p, size_t n) { (void)p, (void)n; }

#include "../c/src/platform/atomic.c"
#undef TOFT_COMPILER_FENCE
#define TOFT_COMPILER_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* With checks, toft_pin_to reads the state; the stub does not. */
#include "../c/src/debug/omitted.c"
static size_t pin_to(const toft_state *a, size_t thread) { return (void)thread, (size_t)a->state & 0; }
#define toft_pin_to pin_to
#include "../c/src/toft.c"

/* ---- threads ---- */

#undef toft_this_thread
#undef toft_thread_cache
#undef toft_this_thread_id
static struct {
  toft_thread_state state;
  toft_cache cache;
  size_t id;
} copies[THREADS] = {[0 ... THREADS - 1] = {.state = {.lease_tls = &toft_no_lease_tls}}};

static void *copy_of(void *variable) {
  if (variable == &toft_this_thread) return &copies[self].state;
  if (variable == &toft_thread_cache) return &copies[self].cache;
  if (variable == &toft_this_thread_id) return &copies[self].id;
  return variable;
}

typedef void body(void);
static body *bodies[THREADS];
static void *run(void *index) {
  self = (int)(uintptr_t)index;
  bodies[self]();
  return NULL;
}
/* Runs the bodies at the same time: the first one on the main thread, which may be NULL, as may the last. */
static void at_once(body *own, body *first, body *second) {
  bodies[1] = first;
  bodies[2] = second;
  long one = __VERIFIER_thread_create(NULL, run, (void *)1), two = 0;
  if (second != NULL) two = __VERIFIER_thread_create(NULL, run, (void *)2);
  if (own != NULL) own();
  (void)__VERIFIER_thread_join(one);
  if (second != NULL) (void)__VERIFIER_thread_join(two);
}

static size_t result[THREADS]; /* of each thread */

/* ---- platform ---- */

static toft_lock lock;
static int counter;
static void count(void) {
  toft_lock_take(&lock);
  counter++;
  TOFT_UNLOCK(&lock);
}
static void count_at_unload(void) {
  if (!toft_lock_take_at_unload(&lock)) return;
  counter++;
  TOFT_UNLOCK(&lock);
}
void a_lock_is_exclusive(void) {
  at_once(count, count, count_at_unload);
  prove(counter == 3);
}

static void take_ids(void) { result[self] = toft_thread_id() + toft_first_epoch(); }
void threads_have_their_own_ids(void) {
  at_once(take_ids, take_ids, NULL);
  prove(result[0] - result[1] + TOFT_EPOCH_STRIDE / 2 > TOFT_EPOCH_STRIDE);
  prove(copies[0].id != copies[1].id);
}

/* ---- core ---- */

static void read_settings(void) { result[self] = 2 * toft_page_limit() + (size_t)toft_fence_is_asymmetric(); }
void settings_are_read_once(void) {
  at_once(read_settings, read_settings, read_settings);
  prove(result[0] == result[1] && result[1] == result[2]);
}

static toft_limited_source limited;
static void take_limited(void) { result[self] = limited.source.take(&limited.source, 4096) != NULL; }
void limits_hold(void) {
  toft_limited_source_init(&limited, NULL, 4096);
  at_once(take_limited, take_limited, take_limited);
  prove(result[0] + result[1] + result[2] <= 1);
  prove(limited.used == 4096 * (result[0] + result[1] + result[2]));
}

static void use_pages(void) {
  unsigned char *p = (unsigned char *)toft_page_cache_take(TOFT_MIB);
  *p = 1;
  toft_page_cache_put(p, TOFT_MIB);
}
void pages_have_one_user(void) {
  toft_page_limit_setting = 16 * TOFT_MIB;
  toft_page_window_setting = 1;
  at_once(use_pages, use_pages, NULL);
}

/* ---- leases ---- */

static toft_lease lease;
static void use(toft_arena *a) {
  size_t *p = (size_t *)toft_alloc(a, sizeof *p);
  *p = (size_t)self + 1;
  prove(*p == (size_t)self + 1);
}
static void lease_and_return(void) {
  toft_lease l = toft_lease_get(NULL);
  use(l.arena);
  prove(toft_lease_return(NULL, l) == TOFT_OK);
}
static void return_lease(void) { result[self] = toft_lease_return(NULL, lease) == TOFT_OK; }
static void trim_leases(void) { toft_leases_trim(NULL); }
static void count_leases(void) {
  toft_lease_stats s = toft_leases_get_stats(NULL);
  prove(s.created == 1 && s.leased <= 1 && s.idle + s.leased == 1);
}
void a_lease_is_exclusive(void) {
  lease_and_return();
  at_once(lease_and_return, trim_leases, NULL);
}
void a_thread_registers(void) { at_once(NULL, lease_and_return, trim_leases); }
void a_lease_returns_once(void) {
  lease_and_return();
  lease = toft_lease_get(NULL);
  use(lease.arena);
  at_once(return_lease, return_lease, NULL);
  prove(result[0] + result[1] == 1);
}
void leases_are_counted(void) {
  lease_and_return();
  at_once(lease_and_return, count_leases, NULL);
}
void leases_survive_a_thread(void) {
  lease_and_return();
  at_once(toft_cache_end, trim_leases, NULL);
}

/* ---- frames ---- */

static toft_frames *frames;
static void enter(void) {
  if (toft_frame_enter(frames) != TOFT_OK) return;
  const size_t *last = (const size_t *)toft_frame_previous(frames, 0);
  prove(last == NULL || *last == 1);
  use(toft_frame_arena(frames));
  prove(toft_frame_leave(frames) == TOFT_OK);
}
static void publish(void) {
  size_t *p = (size_t *)toft_alloc(toft_frame_arena(frames), sizeof *p);
  *p = 1;
  toft_frame_publish(frames, p);
}
static void advance(void) { result[self] = toft_frames_advance(frames) == TOFT_OK; }
static void trim_and_count(void) {
  toft_frame_stats s;
  (void)toft_frames_trim(frames, 0);
  (void)toft_frames_get_stats(frames, &s);
}
void frames_end_when_all_have_left(void) {
  frames = toft_frames_create(1, NULL);
  enter();
  at_once(enter, advance, NULL);
}
void frames_end_while_a_thread_registers(void) {
  frames = toft_frames_create(1, NULL);
  at_once(enter, advance, NULL);
}
void frames_end_while_an_entry_is_taken_over(void) {
  frames = toft_frames_create(1, NULL);
  enter();
  toft_cache_end();
  at_once(advance, enter, NULL);
}
void frames_are_trimmed_while_an_entry_is_taken_over(void) {
  frames = toft_frames_create(1, NULL);
  enter();
  toft_cache_end();
  at_once(trim_and_count, enter, NULL);
}
void frames_end_one_at_a_time(void) {
  frames = toft_frames_create(1, NULL);
  enter();
  at_once(NULL, advance, advance);
  prove(frames->number == result[1] + result[2] && frames->number >= 1);
}
void roots_are_published(void) {
  frames = toft_frames_create(1, NULL);
  at_once(publish, enter, NULL);
}

static void arrive(void) {
  result[self] = 1;
  prove(toft_frames_arrive_and_wait(frames) == TOFT_OK);
  prove(result[1] + result[2] == 2);
}
static void drop(void) { prove(toft_frames_arrive_and_drop(frames) == TOFT_OK); }
void a_barrier_waits_for_all(void) {
  frames = toft_frames_create(1, NULL);
  prove(toft_frames_set_parties(frames, 3) == TOFT_OK);
  at_once(drop, arrive, arrive);
  prove(frames->number == 1);
}

/* ---- shared arenas ---- */

static toft_shared *shared;
static size_t *words[THREADS];
static size_t *shared_use(size_t size) {
  size_t *p = (size_t *)toft_shared_alloc(shared, size, 8);
  *p = (size_t)self;
  return p;
}
static void allocate_twice(void) {
  toft_shared_free(shared, shared_use(8), 8);
  words[self] = shared_use(8);
}
static void allocate_large(void) { words[self] = shared_use(12 * TOFT_KIB); }
static void prove_words(void) { prove(*words[1] == 1 && *words[2] == 2 && words[1] != words[2]); }
void shared_bytes_have_one_user(void) {
  shared = toft_shared_create(NULL);
  at_once(NULL, allocate_twice, allocate_twice);
  prove_words();
}
void shared_blocks_are_added(void) {
  shared = toft_shared_create(NULL);
  at_once(NULL, allocate_large, allocate_large);
  prove_words();
}

/* ---- synchronized recyclers ---- */

static struct {
  toft_sync_recycler first;
  toft_recycler_shard second;
} recycler;
static void recycler_use(void) {
  words[self] = (size_t *)toft_sync_recycler_alloc(&recycler.first, 8, 8);
  *words[self] = (size_t)self;
}
static void recycle(void) {
  toft_sync_recycler_free(&recycler.first, words[self], 8);
  recycler_use();
}
/* Each thread frees an object of the main one's shard. */
void objects_have_one_user(void) {
  recycler.first.count = 2;
  for (int i = 0; i < 2; i++) {
    toft_recycler_shard *s = &recycler.first.shards[i];
    s->initialised = toft_recycler_init(&s->recycler, NULL) == TOFT_OK;
    s->recycler.shard = i;
  }
  for (int i = 2; i >= 0; i--) {
    recycler_use();
    words[i] = words[0];
  }
  at_once(NULL, recycle, recycle);
  prove_words();
}

int main(void) {
  HARNESS();
  return 0;
}
