/* The file of a trial: src/advise/trial.rs writes it, trial.c reads it and writes its counts.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TRIAL_H
#define TOFT_TRIAL_H

#include <stdint.h>

#define TRIAL_MAGIC 0x314c525454464f54u /* "TOFTTRL1" */

/* Each mode finds the site of each call, and counts the objects of the scope. ARENA: they are in an arena. A bit
 * for tests, ALL: all sites are the scope's, in calls of the function that calls malloc. */
enum trial_mode { TRIAL_CONTROL = 1, TRIAL_ARENA = 2, TRIAL_ALL = 4 };

/* What the file lists. A path is that from the outermost call of the scope's function to malloc's caller. A run finds
 * other paths than the recorded one if fewer callers distinguish its calls, so a path that neither list has is taken
 * as the TRIAL_FRAMES frames nearest to malloc are. */
enum trial_kind {
  TRIAL_CALL = 1,     /* a return address in the scope's function */
  TRIAL_PATH = 2,     /* whose objects are in the arena */
  TRIAL_NO_PATH = 3,  /* whose objects are not */
  TRIAL_BEGINNING = 4 /* of paths whose objects are all in the arena */
};
enum { TRIAL_FRAMES = 4 };

/* The first page of the file. Sorted hashes follow. */
typedef struct trial_file {
  uint64_t magic;
  uint32_t mode, count;     /* count: of hashes */
  uint64_t burst_ticks;     /* 16 frees that take longer do something else too */
  uint64_t routed;          /* objects of the scope */
  uint64_t instances, left; /* calls of the scope; those after which an object was alive */
  uint64_t refused;         /* objects for which no arena had memory, and limits of the program's memory */
  int64_t traversal_ticks;  /* time of frees in the arena, one after another */
  /* The arena is reset too where at most `live` of its objects are left after these frees; UINT64_MAX: never, and
   * `live` is whether it has the objects of all paths, also of unknown ones. */
  uint64_t live, least_freed;
  char executable[4096 - 80]; /* others are not tried; "": all are */
  uint64_t hash[];
} trial_file;

#endif
