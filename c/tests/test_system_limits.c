/* Objects where the system itself refuses: by limits, locked memory, a full disk, a filter of calls, and signals. No
 * call succeeds without its effect, one that fails changes nothing, nothing leaks, and no signal ends the process.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__linux__)
#include "system_scenarios.h"

#if defined(__has_include)
#if __has_include(<linux/filter.h>)
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif
#endif
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#define limit_to(resource, most) (setrlimit(resource, &(struct rlimit){most, most}) == 0)

static int lock_all_memory(size_t n) {
  (void)n;
  (void)limit_to(RLIMIT_MEMLOCK, RLIM_INFINITY);
  return mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
}

static int limit_addresses(size_t n) {
  static const size_t rooms[] = {0, 128 * KIB, 3 * MIB, 9 * MIB, 40 * MIB};
  unsigned long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  int got = f != NULL && fscanf(f, "%lu", &pages) == 1;
  if (f != NULL) fclose(f);
  return got && limit_to(RLIMIT_AS, pages * (rlim_t)sysconf(_SC_PAGESIZE) + rooms[n]);
}

static int limit_files(size_t n) {
  static const size_t sizes[] = {0, 4096, 60000, 100000};
  return limit_to(RLIMIT_FSIZE, sizes[n]);
}

static int limit_descriptors(size_t n) {
  int next = dup(0);
  if (next < 0) return 0;
  close(next);
  return limit_to(RLIMIT_NOFILE, (rlim_t)next + n);
}

/* A disk of its own in place of the folder, with room for one file. */
static int fill_disk(size_t n) {
  (void)n;
  return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("none", folder, "tmpfs", 0, "size=160k") == 0 && freeze_value(5) == TOFT_OK;
}

/* A filter that ends a process that tries to have a record of its written pages. */
static int filter_calls(size_t n) {
#ifdef BPF_STMT
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  (void)n;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
#else
  (void)n;
  return 0;
#endif
}

static void interrupt(int number) { (void)number; }

static int interrupt_often(size_t n) {
  struct sigaction action;
  struct itimerval often = {{0, 200}, {0, 200}};
  (void)n;
  memset(&action, 0, sizeof action);
  action.sa_handler = interrupt; /* without SA_RESTART */
  return sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0;
}

static const struct {
  const char *name;
  int (*begin)(size_t n);
  size_t count;
  int grants; /* all requests are granted */
} systems[] = {
    {"locked memory", lock_all_memory, 1, 1},
    {"a limit of addresses", limit_addresses, 5, 0},
    {"a limit of file sizes", limit_files, 4, 0},
    {"a limit of descriptors", limit_descriptors, 3, 0},
    {"a full disk", fill_disk, 1, 0},
    {"a filter of system calls", filter_calls, 1, 1},
    {"interrupting signals", interrupt_often, 1, 1},
};

/* Runs all scenarios in a child. */
static int run_in_child(size_t system, size_t n) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    is_child = 1;
    running = systems[system].name;
    if (!systems[system].begin(n)) _exit(77);
    for (size_t i = 0; i < SCENARIOS; i++)
      for (uint32_t of = 0; of < scenarios[i].variants; of++) {
        expected = scenarios[i].run == regions && (of & TOFT_REGION_CHECKED) != 0;
        int granted = run(i, of);
        if (systems[system].grants) CHECK(granted);
      }
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void the_system_refuses(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  toft_on_finding(count_finding, NULL);
  for (size_t system = 0; system < sizeof systems / sizeof *systems; system++)
    for (size_t n = 0; n < systems[system].count; n++) {
      no_order();
      assert_int_equal(freeze_value(5), TOFT_OK);
      int status = run_in_child(system, n);
      if (status == 77 << 8)
        print_message("skipped: %s\n", systems[system].name);
      else if (status != 0)
        fail_msg("%s, %zu: status %d", systems[system].name, n, status);
    }
  (void)files_in_folder(1);
  assert_int_equal(freeze_value(5), TOFT_OK);
}

static void no_finding_ends_the_process(void **state) {
  (void)state;
  skip_where_forks_among_threads_stop();
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    char name[128];
    snprintf(name, sizeof name, "%s/findings", folder);
    if (!limit_to(RLIMIT_FSIZE, 10)) _exit(1);
    for (int i = 0; i < 3; i++) toft_os_append(name, "a finding\n", 10);
    _exit(unlink(name) == 0 ? 0 : 2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_system_refuses),
      cmocka_unit_test(no_finding_ends_the_process),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
#else
int main(void) { return 77; }
#endif
