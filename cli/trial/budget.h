/* How much memory the arenas of a trial may take: a quarter of the machine's, or of the limit of the program's control
 * group. A program whose scope's objects do not end would otherwise take all.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TRIAL_BUDGET_H
#define TOFT_TRIAL_BUDGET_H

#include "../preload/library.h"

#include <sys/sysinfo.h>

/* The text of a small file, or "". */
static const char *read_text(const char *path) {
  static char text[PAGE];
  int from = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = from >= 0 ? read(from, text, sizeof text - 1) : 0;
  if (from >= 0) close(from);
  text[n > 0 ? n : 0] = 0;
  return text;
}

/* The limit of a control group, whose path ends with the line; SIZE_MAX: it has none. */
static size_t limit_of(const char *folder, const char *group, const char *file) {
  static char path[PAGE];
  int length = (int)strcspn(group, "\n");
  if (snprintf(path, sizeof path, "%s%.*s/%s", folder, length, group, file) >= (int)sizeof path) return SIZE_MAX;
  unsigned long long limit = strtoull(read_text(path), NULL, 10);
  return limit != 0 && limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
}

static size_t memory_of_group(void) {
  static char groups[PAGE];
  size_t least = SIZE_MAX;
  strcpy(groups, read_text("/proc/self/cgroup"));
  const char *new = strstr(groups, "0::/"), *old = strstr(groups, ":memory:/"), *none = "";
  const size_t limits[] = {
      /* in a container the group's path may not be visible, and its root is that of the container */
      limit_of("/sys/fs/cgroup", new != NULL ? new + 3 : none, "memory.max"),
      limit_of("/sys/fs/cgroup", none, "memory.max"),
      limit_of("/sys/fs/cgroup/memory", old != NULL ? old + 8 : none, "memory.limit_in_bytes"),
      limit_of("/sys/fs/cgroup/memory", none, "memory.limit_in_bytes"),
  };
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (limits[i] < least) least = limits[i];
  return least;
}

static size_t memory_budget(void) {
  struct sysinfo machine;
  size_t all = sysinfo(&machine) == 0 ? (size_t)machine.totalram * machine.mem_unit : SIZE_MAX;
  size_t group = memory_of_group();
  return (group < all ? group : all) / 4;
}

#endif
