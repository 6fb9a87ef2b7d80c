/* A game of two processes that predict each other's input, go back when it was another, and compare their states:
 *     rollback FRAMES [FRAME]
 * The world is one region of about 1 MiB: entities in an arena, shots in a toft_malloc. Each frame begins with a
 * checkpoint, of which 60 are kept. The other's input arrives DELAY frames late; where the prediction was wrong the
 * world goes back to that frame and plays it again. Each 10 frames the processes compare the digests of a frame whose
 * input both have. With FRAME one process changes one bit of its world in that frame; at the next comparison both stop,
 * the first difference is printed, and the program ends with 2. Else it prints times and memory, and ends with 0.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "toft.h"
#include "toft/region.h"

enum { ENTITIES = 6000, KEPT = 60, DELAY = 3, SECOND = 60, COMPARED = 10 };

typedef struct entity {
  int64_t x, y, vx, vy, health;
  uint64_t seed, name[14];
} entity;

typedef struct shot {
  struct shot *next;
  const entity *from;
  int64_t left;
} shot;

typedef struct world {
  entity *all;
  shot *shots;
  toft_malloc *heap;
  uint64_t random;
} world;

static void fail(const char *what) {
  fprintf(stderr, "rollback: %s\n", what);
  exit(1);
}

static void must(int code, const char *what) {
  if (code < 0) fail(what);
}

/* ---- the world; a step depends on it and on the two inputs alone ---- */

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static toft_region *new_world(void) {
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.flags = TOFT_REGION_REPEATABLE;
  toft_region *r = toft_region_create(&o);
  if (r == NULL) fail("no region");
  toft_arena *a = toft_region_arena(r);
  world *w = toft_new_zeroed(a, world);
  w->heap = toft_region_malloc(r);
  w->all = (entity *)toft_alloc_zeroed(a, ENTITIES * sizeof(entity), 64);
  if (w->heap == NULL || w->all == NULL) fail("no memory");
  for (int i = 0; i < ENTITIES; i++) w->all[i].seed = next_random(&w->random);
  toft_region_set_root(r, w);
  return r;
}

static void step(world *w, const uint32_t input[2]) {
  for (int player = 0; player < 2; player++) {
    for (int i = 0; i < ENTITIES / 200; i++) { /* those near the player */
      entity *e = &w->all[(next_random(&w->random) % 64 * 90 + input[player] + (unsigned)i) % ENTITIES];
      e->vx += (int64_t)(input[player] & 7) - 3;
      e->x += e->vx;
      e->y += e->vy ^ 1;
    }
    shot *s = (shot *)toft_malloc_calloc(w->heap, 1, sizeof *s);
    if (s == NULL) fail("no memory for a shot");
    s->from = &w->all[input[player] % ENTITIES];
    s->left = 20 + (int64_t)(input[player] % 30);
    s->next = w->shots;
    w->shots = s;
  }
  for (shot **at = &w->shots; *at != NULL;) {
    shot *s = *at;
    if (--s->left > 0) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    toft_malloc_free(w->heap, s);
  }
}

/* ---- a process ---- */

typedef struct message {
  uint64_t digest; /* of the frame before which all input is known */
  uint32_t input;
} message;

static toft_region *region;
static int player, to_other, from_other;
static toft_checkpoint before[KEPT];        /* each frame, by its number */
static uint32_t inputs[2][KEPT], predicted; /* as they were played */
static double spent, restored;
static uint64_t played, most;

static double microseconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void send_all(const void *p, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(to_other, (const char *)p + done, size - done);
    if (n <= 0) fail("the other process has ended");
    done += (size_t)n;
  }
}

static void receive_all(void *p, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = read(from_other, (char *)p + done, size - done);
    if (n <= 0) exit(1);
    done += (size_t)n;
  }
}

/* The input of a player holds for some frames, so that most predictions are right. */
static uint32_t input_of(int of, int frame) {
  uint64_t state = (uint64_t)(of + 1) * 1000 + (uint64_t)(frame / (7 + of));
  (void)next_random(&state);
  return (uint32_t)next_random(&state);
}

static void play(int frame, int changed) {
  double begin = microseconds();
  toft_checkpoint *saved = &before[frame % KEPT];
  if (*saved != 0) must(toft_region_drop_checkpoint(region, *saved), "a checkpoint cannot be dropped");
  must(toft_region_checkpoint(region, saved), "no memory for a checkpoint");
  spent += microseconds() - begin;
  const uint32_t input[2] = {inputs[0][frame % KEPT], inputs[1][frame % KEPT]};
  world *w = (world *)toft_region_root(region);
  step(w, input);
  if (frame == changed && player == 1) w->all[1234].health ^= 64;
  uint64_t saved_bytes = toft_region_get_stats(region).saved;
  most = saved_bytes > most ? saved_bytes : most;
  played++;
}

/* The other's input of a frame has arrived; the frames since then are played again if it was predicted wrongly. */
static void correct(int frame, int now, uint32_t input, int changed) {
  predicted = input;
  if (inputs[!player][frame % KEPT] == input) return;
  double begin = microseconds();
  must(toft_region_restore(region, before[frame % KEPT]), "a restore is refused");
  restored += microseconds() - begin;
  for (int again = frame; again < now; again++) {
    inputs[!player][again % KEPT] = input;
    play(again, changed);
  }
}

/* ---- the first difference ---- */

typedef struct parts {
  toft_digest_part *all;
  uint64_t count;
} parts;

static void add(void *list, const toft_digest_part *part) {
  parts *p = (parts *)list;
  p->all = (toft_digest_part *)realloc(p->all, (p->count + 1) * sizeof *p->all);
  if (p->all == NULL) fail("no memory for a list");
  p->all[p->count++] = *part;
}

/* Player 1 sends its parts, and the content of the part that player 0 names. */
static void show_difference(int frame) {
  parts mine = {NULL, 0}, its = {NULL, 0};
  uint64_t k = 0, words[512], other[512];
  must(toft_region_restore(region, before[frame % KEPT]), "a restore is refused");
  must(toft_region_digest_parts(region, 0, add, &mine), "no memory for a list");
  if (player == 1) {
    send_all(&mine.count, sizeof mine.count);
    send_all(mine.all, (size_t)mine.count * sizeof *mine.all);
    receive_all(&k, sizeof k);
    send_all((const char *)region + mine.all[k].offset, (size_t)mine.all[k].length);
    exit(2);
  }
  receive_all(&its.count, sizeof its.count);
  its.all = (toft_digest_part *)malloc((size_t)its.count * sizeof *its.all);
  if (its.all == NULL) fail("no memory for a list");
  receive_all(its.all, (size_t)its.count * sizeof *its.all);
  while (k + 1 < mine.count && k + 1 < its.count && memcmp(&mine.all[k], &its.all[k], sizeof *its.all) == 0) k++;
  const toft_digest_part *p = &mine.all[k];
  send_all(&k, sizeof k);
  receive_all(other, (size_t)its.all[k].length);
  memcpy(words, (const char *)region + p->offset, (size_t)p->length);
  uint64_t i = 0, offset = p->offset;
  while (i + 1 < p->length / 8 && words[i] == other[i]) i++;
  offset += 8 * i;
  printf("frame %d differs at byte %llu of the region, in the object of %llu bytes at %llu: %llu here, %llu there\n",
         frame, (unsigned long long)offset, (unsigned long long)p->size, (unsigned long long)p->object,
         (unsigned long long)words[i], (unsigned long long)other[i]);
  const world *w = (const world *)toft_region_root(region);
  uint64_t in_entities = (uint64_t)((const char *)region + offset - (const char *)w->all);
  if (in_entities < ENTITIES * sizeof(entity))
    printf("that is byte %llu of entity %llu\n", (unsigned long long)(in_entities % sizeof(entity)),
           (unsigned long long)(in_entities / sizeof(entity)));
  exit(2);
}

/* ---- the game ---- */

static void run(int frames, int changed) {
  message mine = {0, 0}, its[DELAY + 1];
  memset(its, 0, sizeof its);
  region = new_world();
  for (int frame = 0; frame < frames; frame++) {
    int known = frame - DELAY; /* whose input has arrived, so that the state before it is as it stays */
    if (known >= 0) correct(known, frame, its[known % (DELAY + 1)].input, changed);
    mine.input = input_of(player, frame);
    mine.digest = 0;
    if (known >= 0 && known % COMPARED == 0)
      must(toft_region_digest(region, before[known % KEPT], &mine.digest), "no memory for a digest");
    send_all(&mine, sizeof mine);
    receive_all(&its[frame % (DELAY + 1)], sizeof its[0]);
    if (its[frame % (DELAY + 1)].digest != mine.digest) show_difference(known);
    inputs[player][frame % KEPT] = mine.input;
    inputs[!player][frame % KEPT] = predicted;
    play(frame, changed);
  }
  if (player == 0)
    printf(
        "%d frames, %llu played, checkpoints %.0f us and restores %.0f us of a second of %d frames; %d checkpoints "
        "hold %.2f MiB "
        "of a world of %.2f MiB\n",
        frames, (unsigned long long)played, spent * SECOND / frames, restored * SECOND / frames, SECOND, KEPT,
        (double)most / 1048576, (double)toft_region_get_stats(region).used / 1048576);
  toft_region_release(region);
  exit(0);
}

int main(int argc, char **argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 0, changed = argc > 2 ? atoi(argv[2]) : -1, up[2], down[2], status = 0;
  if (frames <= 0) fail("expected: rollback FRAMES [FRAME]");
  if (pipe(up) != 0 || pipe(down) != 0) fail("no pipe");
  pid_t child = fork();
  if (child < 0) fail("no process");
  player = child == 0;
  to_other = player ? up[1] : down[1];
  from_other = player ? down[0] : up[0];
  (void)close(player ? up[0] : up[1]);
  (void)close(player ? down[1] : down[0]);
  if (child == 0) run(frames, changed);
  pid_t own = fork(); /* so that both players are children, and the parent has the status of each */
  if (own == 0) run(frames, changed);
  (void)close(up[0]), (void)close(down[1]);
  int worst = 0;
  while (wait(&status) > 0) worst = !WIFEXITED(status) ? 1 : WEXITSTATUS(status) > worst ? WEXITSTATUS(status) : worst;
  return worst;
}
