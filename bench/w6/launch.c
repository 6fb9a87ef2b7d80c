/* Runs a command from a small process, since the peak of a process includes the memory of its parent.
 *     launch PRELOAD small|any COMMAND...
 * PRELOAD is a library, or empty; `small` refuses huge pages to the command. The last line of the standard error is the
 * time of user and system in nanoseconds, KiB of memory, and page faults. The status is that of the command.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long nanoseconds(struct timeval t) { return t.tv_sec * 1000000000ll + t.tv_usec * 1000ll; }

int main(int argc, char **argv) {
  struct rusage used;
  int status;
  if (argc < 4) return 125;
  pid_t child = fork();
  if (child == 0) {
    if (*argv[1] != '\0') setenv("LD_PRELOAD", argv[1], 1);
    if (strcmp(argv[2], "small") == 0 && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) _exit(126);
    execvp(argv[3], argv + 3);
    _exit(127);
  }
  if (child < 0 || wait4(child, &status, 0, &used) != child) return 125;
  fprintf(stderr, "%lld %lld %ld %ld\n", nanoseconds(used.ru_utime), nanoseconds(used.ru_stime), used.ru_maxrss,
          used.ru_minflt);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 124;
}
