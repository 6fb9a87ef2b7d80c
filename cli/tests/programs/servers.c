/* What servers do, each with 100,000 objects:
 *   chroot     another root, and another user if it can
 *   fork       the same, and the objects are those of a fork
 *   lost       closes all descriptors before
 *   daemon     forks twice, closes all descriptors, goes on in the background
 *   crash      the same, and the process in the background ends by SIGABRT under the recorder
 *   numbers    its own file has all numbers of descriptors
 *   small      a fork may not write files
 *   serve PORT, daemon PORT   prints "ready", then 100,000 objects for each request on 127.0.0.1
 *   request PORT   a client of it
 *   deaf       ignores SIGTERM
 *   terminated ends by SIGTERM
 *   disturbed, unsteady   ends otherwise under the recorder, or the second time
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void work(void) {
  for (int i = 0; i < 1000; i++) {
    void *p[100];
    for (int k = 0; k < 100; k++)
      if ((p[k] = malloc(40)) == NULL) abort();
    for (int k = 0; k < 100; k++) free(p[k]);
  }
}

static void close_all(void) {
  for (int fd = 3; fd < 4096; fd++) close(fd);
}

static void change_root(void) {
  int root = geteuid() == 0;
  if (!root && unshare(CLONE_NEWUSER) != 0) exit(77);
  if (chroot("/dev") != 0 || chdir("/") != 0) exit(77);
  if (root && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) exit(3);
}

static int fork_and_wait(int no_files) {
  int status = 0;
  struct rlimit none = {0, 0};
  pid_t child = fork();
  if (child == 0) {
    if (no_files) setrlimit(RLIMIT_FSIZE, &none);
    work();
    _exit(0);
  }
  return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static struct sockaddr_in address(const char *port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

/* A connection without a request is that of a client that waits until the server is ready. */
static int serve(const char *port) {
  struct sockaddr_in a = address(port);
  int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(server, (struct sockaddr *)&a, sizeof a) != 0 || listen(server, 8) != 0) return 8;
  fputs("it is ready now\n", stderr);
  for (;;) {
    char request;
    int client = accept(server, NULL, NULL);
    if (read(client, &request, 1) == 1) {
      work();
      if (write(client, &request, 1) != 1) return 9;
    }
    close(client);
  }
}

static int request(const char *port) {
  struct sockaddr_in a = address(port);
  char byte = 1;
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(server, (struct sockaddr *)&a, sizeof a) != 0) return 10;
  return write(server, &byte, 1) != 1 || read(server, &byte, 1) != 1 ? 11 : 0;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (argc > 2 && strcmp(how, "serve") == 0) return serve(argv[2]);
  if (argc > 2 && strcmp(how, "request") == 0) return request(argv[2]);
  if (argc > 2 && strcmp(how, "daemon") == 0) return fork() != 0 || fork() != 0 ? 0 : serve(argv[2]);
  int recorded = getenv("TOFT_RECORDING") != NULL;
  free(malloc(3)); /* the recording begins */
  if (strcmp(how, "chroot") == 0) {
    change_root();
    work();
  } else if (strcmp(how, "fork") == 0) {
    change_root();
    if (fork_and_wait(0) != 0) return 4;
  } else if (strcmp(how, "lost") == 0) {
    close_all();
    change_root();
    work();
  } else if (strcmp(how, "daemon") == 0 || strcmp(how, "crash") == 0) {
    if (fork() != 0) _exit(0);
    setsid();
    if (fork() != 0) _exit(0);
    close_all();
    usleep(100000); /* the first process has ended */
    work();
    if (strcmp(how, "crash") == 0 && recorded) abort();
  } else if (strcmp(how, "numbers") == 0) {
    int file = memfd_create("numbers", 0);
    struct stat found;
    for (int fd = 3; fd < 1024; fd++)
      if (fd != file) dup2(file, fd);
    work();
    if (fstat(file, &found) != 0 || found.st_size != 0) return 5;
  } else if (strcmp(how, "small") == 0) {
    work();
    if (fork_and_wait(1) != 0) return 6;
  } else if (strcmp(how, "deaf") == 0) {
    signal(SIGTERM, SIG_IGN);
    puts("deaf");
    fflush(stdout);
    pause();
  } else if (strcmp(how, "terminated") == 0) {
    work();
    raise(SIGTERM);
  } else if (strcmp(how, "disturbed") == 0) {
    work();
    if (recorded) raise(SIGSEGV);
  } else if (strcmp(how, "unsteady") == 0) {
    work();
    if (access(argv[2], F_OK) == 0) return 7;
    close(open(argv[2], O_CREAT | O_WRONLY, 0600));
  }
  return 0;
}
