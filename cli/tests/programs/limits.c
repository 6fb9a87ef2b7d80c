/* Programs at a limit of their memory. Each prints "ok".
 *   address, data   sets a limit of 96 MiB, then builds lists of up to 1,000,000 objects
 *   exec            the same in another process image, which begins with the limit
 *   lists           the lists alone
 *   left            200 calls that free 1 MB each and leave one object
 *   group           the same in a control group of 64 MiB; 77: there is none
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct node {
  struct node *next;
  uint64_t value;
} node;

__attribute__((noinline)) static int list(uint64_t n) {
  node *all = NULL, *next;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; i++) {
    if ((next = (node *)malloc(sizeof *next)) == NULL) return 0;
    next->next = all;
    next->value = i;
    all = next;
  }
  for (; all != NULL; all = next) {
    next = all->next;
    sum += all->value;
    free(all);
  }
  return sum == n * (n - 1) / 2;
}

static int lists(void) { return list(0) && list(1) && list(10) && list(1000000) && list(1000); }

static int limit(int resource) {
  struct rlimit r = {96 << 20, 96 << 20};
  return list(1000) && setrlimit(resource, &r) == 0;
}

__attribute__((noinline)) static char *leave_one(void) {
  enum { OBJECTS = 100, SIZE = 10000 };
  char *all[OBJECTS];
  for (int i = 0; i < OBJECTS; i++) {
    if ((all[i] = (char *)malloc(SIZE)) == NULL) abort();
    memset(all[i], i, SIZE);
  }
  for (int i = 1; i < OBJECTS; i++) free(all[i]);
  return all[0];
}

static int leave(void) {
  char *left[200];
  for (int i = 0; i < 200; i++) left[i] = leave_one();
  for (int i = 0; i < 200; i++) free(left[i]);
  return 1;
}

static int write_file(const char *folder, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int to = open(path, O_WRONLY), size = (int)strlen(text), done = to >= 0 && write(to, text, (size_t)size) == size;
  close(to);
  return done;
}

static int in_group(const char *parent, const char *limit) {
  char folder[128];
  int status = 77 << 8;
  snprintf(folder, sizeof folder, "%s/toft-%ld", parent, (long)getpid());
  if (mkdir(folder, 0700) != 0) return status;
  pid_t child = fork();
  if (child == 0) {
    if (write_file(folder, limit, "67108864") && write_file(folder, "cgroup.procs", "0"))
      execl("/proc/self/exe", "limits", "left", (char *)NULL);
    _exit(77);
  }
  waitpid(child, &status, 0);
  rmdir(folder);
  return status;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int done = 0;
  if (strcmp(how, "lists") == 0) done = lists();
  if (strcmp(how, "address") == 0) done = limit(RLIMIT_AS) && lists();
  if (strcmp(how, "data") == 0) done = limit(RLIMIT_DATA) && lists();
  if (strcmp(how, "exec") == 0 && limit(RLIMIT_AS)) execl("/proc/self/exe", "limits", "lists", (char *)NULL);
  if (strcmp(how, "left") == 0) done = leave();
  if (strcmp(how, "group") == 0) {
    int status = in_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes");
    if (status == 77 << 8) status = in_group("/sys/fs/cgroup", "memory.max");
    if (status == 77 << 8) return 77;
    printf("%d\n", status);
    done = status == 0;
  }
  puts(done ? "ok" : "failed");
  return !done;
}
