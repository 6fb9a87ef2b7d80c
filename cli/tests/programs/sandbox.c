/* Restricts its system calls by seccomp, and then allocates: N rounds of 100 objects. "open": it may not open files;
 * "all": it may only write, grow the heap and exit. By "prctl" or by "syscall".
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ON(number, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)
#define KILL SECCOMP_RET_KILL_PROCESS
#define ALLOW SECCOMP_RET_ALLOW

static struct sock_filter no_open[] = {
    LOAD_NUMBER,
    ON(SYS_openat, KILL),
#ifdef SYS_open
    ON(SYS_open, KILL),
#endif
    BPF_STMT(BPF_RET | BPF_K, ALLOW),
};
static struct sock_filter nearly_nothing[] = {
    LOAD_NUMBER, ON(SYS_write, ALLOW), ON(SYS_brk, ALLOW), ON(SYS_exit_group, ALLOW), BPF_STMT(BPF_RET | BPF_K, KILL),
};

__attribute__((noinline)) static void work(int rounds) {
  for (int i = 0; i < rounds; i++) {
    void *p[100];
    for (int k = 0; k < 100; k++)
      if ((p[k] = malloc(40)) == NULL) abort();
    for (int k = 0; k < 100; k++) free(p[k]);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  struct sock_fprog filter = {COUNT(no_open), no_open};
  if (strcmp(argv[1], "all") == 0) filter = (struct sock_fprog){COUNT(nearly_nothing), nearly_nothing};
  puts("start");
  fflush(stdout);
  int rounds = atoi(argv[3]);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  long failed = strcmp(argv[2], "prctl") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
                                              : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
  if (failed != 0) return 77;
  work(rounds);
  puts("ok");
  return 0;
}
