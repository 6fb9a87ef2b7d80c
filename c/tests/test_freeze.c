/* Frozen files: content at its address and elsewhere; altered files. test_freeze_words.c has the words.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>

#ifndef _WIN32
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#endif

#include "frozen_content.h"

/* ---- reading back ---- */

static void content_is_read_back(void **state) {
  (void)state;
  static const size_t counts[] = {0, 1, 10, 2000};
  for (size_t i = 0; i < 4; i++) {
    freeze_content(counts[i]);
    for (uint32_t flags = 0; flags < 8; flags++) {
      toft_frozen f = open_with(flags);
      if (flags & TOFT_FROZEN_ELSEWHERE) assert_int_equal(f.moved, 1);
      check_content((content *)f.root, counts[i]);
      if (flags & TOFT_FROZEN_WRITABLE) ((content *)f.root)->count = 1000000; /* this process's copy */
      toft_frozen_close(&f);
      assert_null(f.root);
      toft_frozen_close(&f);
    }
  }
}

/* The same content gives the same file, in each process and at each address of the builders' regions. */
static void files_are_reproducible(void **state) {
  (void)state;
  size_t sizes[2];
  unsigned char *files[2];
  for (int i = 0; i < 2; i++) {
    void *space = malloc((size_t)5 << 20); /* other addresses */
    freeze_content(300);
    files[i] = read_file(&sizes[i], 64);
    free(space);
  }
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(files[0], files[1], sizes[0]);
}

/* The checksum of the format, by its description. */
static uint64_t checksum(uint64_t sum, const unsigned char *p, size_t size) {
  uint64_t word;
  for (size_t at = 0; at < size; at += 8) {
    memcpy(&word, p + at, 8);
    sum ^= word;
    sum = (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15u;
  }
  return sum;
}

/* Rule F3. */
static void the_address_is_that_of_the_content(void **state) {
  (void)state;
  static const size_t counts[] = {0, 1, 10, 2000};
  for (size_t i = 0; i < 4; i++) {
    size_t bytes;
    uint64_t base, size, set, align = 65536, start = (uint64_t)1 << (WIDTH == 4 ? 29 : 45);
    freeze_content(counts[i]);
    unsigned char *file = read_file(&bytes, 64);
    memcpy(&base, file + 16, 8);
    memcpy(&size, file + 24, 8);
    for (size_t word = 0; word < size / WIDTH; word++) { /* pointers become offsets */
      uintptr_t at;
      memcpy(&set, file + size + word / 64 * 8, 8);
      memcpy(&at, file + word * WIDTH, WIDTH);
      at -= (uintptr_t)(base * (set >> word % 64 & 1));
      memcpy(file + word * WIDTH, &at, WIDTH);
    }
    while (align < bytes) align *= 2;
    uint64_t sum = checksum(1, file + 104, bytes - 104);
    assert_int_equal(base, start + ((sum >> 32) * align) % start);
  }
}

static void one_file_is_open_often(void **state) {
  (void)state;
  toft_frozen open[20];
  freeze_content(50);
  for (int i = 0; i < 20; i++) {
    open[i] = open_with(0);
    if (i > 0) assert_int_equal(open[i].moved, 1); /* its address is in use */
  }
#if !defined(_WIN32)  /* where a file that is mapped cannot be replaced */
  freeze_content(51); /* a new file; those that are open stay */
#else
  plan p = {51, NULL, 0};
  assert_int_equal(toft_freeze(build, &p, path, NULL), TOFT_EIO);
  assert_int_equal(errno, EACCES);
#endif
  for (int i = 0; i < 20; i++) {
    check_content((content *)open[i].root, 50);
    toft_frozen_close(&open[i]);
  }
}

static void caller_memory_is_opened_in_place(void **state) {
  (void)state;
  size_t size;
  freeze_content(100);
  unsigned char *p = read_file(&size, (size_t)1 << 20);
  toft_frozen f;
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.flags = TOFT_FROZEN_VERIFY;
  for (int round = 0; round < 2; round++) {
    assert_int_equal(toft_frozen_open_in(&f, p, size, &o), TOFT_OK);
    assert_int_equal(f.moved, round == 0);
    check_content((content *)f.root, 100);
    toft_frozen_close(&f);
  }
  unsigned char *copy =
      (unsigned char *)toft_alloc_aligned(scratch, size, (size_t)1 << 20); /* of pointers that were moved */
  memcpy(copy, p, size);
  memset(p, 0, size);
  assert_int_equal(toft_frozen_open_in(&f, copy, size, NULL), TOFT_OK);
  check_content((content *)f.root, 100);
  assert_int_equal(toft_frozen_open_in(&f, copy + 8, size - 8, NULL), TOFT_EARG);
  assert_int_equal(toft_frozen_open_in(&f, NULL, size, NULL), TOFT_EARG);
  o.flags = TOFT_FROZEN_WRITABLE;
  assert_int_equal(toft_frozen_open_in(&f, copy, size, &o), TOFT_EARG);
}

#if !defined(_WIN32)
static void *read_in_thread(void *arg) {
  check_content((content *)((toft_frozen *)arg)->root, 200);
  return NULL;
}

static void threads_and_forks_read(void **state) {
  (void)state;
  freeze_content(200);
  toft_frozen f = open_with(TOFT_FROZEN_ELSEWHERE);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, &f), 0);
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  pid_t child = fork();
  if (child == 0) {
    check_content((content *)f.root, 200);
    freeze_content(200); /* in a child */
    toft_frozen_close(&f);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  check_content((content *)f.root, 200);
  toft_frozen_close(&f);
}
#endif

#if !defined(_WIN32)
/* ---- the file that is replaced ---- */

static char folder[600];

/* Freezes to this name in the folder; returns errno, or 0. */
static int freeze_to(const char *name) {
  char at[1000];
  plan p = {1, NULL, 0};
  snprintf(at, sizeof at, "%s/%s", folder, name);
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.max = 1 << 20; /* an emulator with 32 bits has little address space */
  int code = toft_freeze(build, &p, at, &o);
  assert_true(code == TOFT_OK || code == TOFT_EIO);
  return code == TOFT_OK ? 0 : errno;
}

static struct stat status_of(const char *name) {
  char at[1000];
  struct stat s;
  snprintf(at, sizeof at, "%s/%s", folder, name);
  assert_int_equal(lstat(at, &s), 0);
  return s;
}

static void in_folder(const char *command) {
  char all[2000];
  snprintf(all, sizeof all, "cd '%s' && %s", folder, command);
  assert_int_equal(system(all), 0);
}

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "%s.d", path);
  return mkdir(folder, 0777);
}

static int remove_folder(void **state) {
  (void)state;
  in_folder("rm -rf * && test -z \"$(ls -A)\""); /* no temporary file is left */
  return rmdir(folder);
}

static void what_is_no_regular_file_stays(void **state) {
  (void)state;
  in_folder("mkdir sub && mkfifo fifo && ln -s fifo to-fifo && ln -s a b && ln -s b a && : >removed");
  char descriptor[64], at[700];
  snprintf(at, sizeof at, "%s/removed", folder);
  int fd = open(at, O_RDONLY);
  snprintf(descriptor, sizeof descriptor, "../../../../../../../../dev/fd/%d", fd);
  in_folder("rm removed");
  assert_int_equal(freeze_to("sub"), EISDIR);
  assert_int_equal(freeze_to("fifo"), EINVAL);
  assert_int_equal(freeze_to("to-fifo"), EINVAL);
  assert_int_equal(freeze_to("a"), ELOOP);
  if (access("/proc/self/fd", F_OK) == 0) assert_int_not_equal(freeze_to(descriptor), 0);
  assert_true(S_ISDIR(status_of("sub").st_mode) && S_ISFIFO(status_of("fifo").st_mode));
  assert_true(S_ISLNK(status_of("to-fifo").st_mode) && S_ISLNK(status_of("a").st_mode));
  close(fd);
}

static void links_are_followed(void **state) {
  (void)state;
  in_folder("mkdir one one/two && ln -s one/second first && ln -s two/third one/second");
  in_folder("ln -s \"$PWD/one/last\" one/two/third && ln -s ../file one/last");
  for (int round = 0; round < 2; round++) { /* a new file, and one that exists */
    assert_int_equal(freeze_to("first"), 0);
    assert_true(S_ISREG(status_of("file").st_mode) && status_of("file").st_size > START);
    in_folder("test -L first -a -L one/second -a -L one/two/third -a -L one/last");
  }
  in_folder("ln -s nowhere/file broken");
  assert_int_equal(freeze_to("broken"), ENOENT);
}

static void names_of_each_length_are_valid(void **state) {
  if (getenv("TOFT_EMULATED") != NULL) skip(); /* where addresses have 32 bits, numbers may look like some */
  (void)state;
  char name[257];
  for (size_t length = 200; length <= 256; length++) {
    memset(name, 'a', length);
    name[length] = 0;
    assert_int_equal(freeze_to(name), length <= 255 ? 0 : ENAMETOOLONG);
  }
}

static void owner_and_mode_are_kept(void **state) {
  (void)state;
  mode_t mask = umask(027);
  assert_int_equal(freeze_to("file"), 0);
  assert_int_equal(status_of("file").st_mode & 07777, 0640);
  in_folder("chmod 0606 file");
  assert_int_equal(freeze_to("file"), 0);
  assert_int_equal(status_of("file").st_mode & 07777, 0606);
  (void)umask(mask);
  if (geteuid() != 0) return; /* the rest changes owners */
  in_folder("chown 1001:1002 file && chmod 4750 file");
  assert_int_equal(freeze_to("file"), 0);
  assert_int_equal(status_of("file").st_uid, 1001);
  assert_int_equal(status_of("file").st_gid, 1002);
  assert_int_equal(status_of("file").st_mode & 07777, 04750);
  in_folder("chmod 0777 . && chmod 4764 file");
  assert_int_equal(seteuid(1003), 0); /* is in none of the file's groups */
  struct stat s;
  int sees_folder = stat(folder, &s) == 0, code = sees_folder ? freeze_to("file") : 0;
  assert_int_equal(seteuid(0), 0);
  assert_int_equal(code, 0);
  if (!sees_folder) return;
  assert_int_equal(status_of("file").st_uid, 1003);
  assert_int_equal(status_of("file").st_mode & 07777, 0744);
}
#endif

static void bad_input(void **state) {
  (void)state;
  plan p = {1, NULL, 0};
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  toft_frozen_options r = TOFT_FROZEN_OPTIONS;
  toft_frozen f;
  assert_int_equal(toft_freeze(NULL, NULL, path, NULL), TOFT_EARG);
  assert_int_equal(toft_freeze(build, &p, NULL, NULL), TOFT_EARG);
  assert_int_equal(toft_freeze(build, &p, "", NULL), TOFT_EARG);
  o.size--;
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_EARG);
  o.size++;
  o.layout = "a name of a layout that is too lo"; /* 32 bytes */
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_EARG);
  o.layout = "a name of a layout that is long";
  o.max = 100000;
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_EARG);
  o.max = 0;
  assert_int_equal(p.calls, 0);
  assert_int_equal(toft_freeze(build, &p, "/no/such/folder/x", &o), TOFT_EIO);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(toft_freeze(build, &p, path, &o), TOFT_OK);
  r.layout = o.layout;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_OK);
  toft_frozen_close(&f);
  r.layout = "another";
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_ECONTENT);
  r.layout = NULL;
  r.layout_hash = 1;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_ECONTENT);
  r.layout_hash = 0;
  r.flags = 8;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_EARG);
  r.flags = 0;
  r.size = 1;
  assert_int_equal(toft_frozen_open(&f, path, &r), TOFT_EARG);
  assert_int_equal(toft_frozen_open(&f, NULL, NULL), TOFT_EARG);
  assert_int_equal(toft_frozen_open(&f, "/no/such/file", NULL), TOFT_EIO);
  assert_int_equal(toft_frozen_open(&f, ".", NULL), TOFT_EIO);
  assert_null(f.root);
}

/* ---- altered files ---- */

static void set_header_checksum(unsigned char *file) {
  uint64_t sum = checksum(0, file, 96);
  memcpy(file + 96, &sum, 8);
}

/* A file that was opened has pointers inside it only, and a root. */
static void check_pointers(const toft_frozen *f, size_t bytes) {
  const unsigned char *p = (const unsigned char *)f->memory, *bits = p + f->size;
  assert_true(f->size + bytes / 8 / WIDTH >= f->size && f->size < bytes);
  assert_true((unsigned char *)f->root >= p + START && (unsigned char *)f->root < p + f->size);
  for (size_t word = 0; word < (bytes - f->size) / 8 * 64; word++) {
    uint64_t set;
    memcpy(&set, bits + word / 64 * 8, 8);
    if ((set >> word % 64 & 1) == 0) continue;
    uintptr_t at;
    assert_true(word >= START / WIDTH && (word + 1) * WIDTH <= f->size);
    memcpy(&at, p + word * WIDTH, sizeof at);
    assert_true(at >= (uintptr_t)p && at <= (uintptr_t)p + f->size);
  }
}

static void altered_files_are_refused_or_sound(void **state) {
  (void)state;
  plan p = {0, NULL, 0};
  size_t size, opened = 0, refused = 0, rounds = long_run() ? 1000000 : rounds_of(50000);
  uint32_t random = 5;
  assert_int_equal(toft_freeze(build, &p, path, NULL), TOFT_OK);
  unsigned char *file = read_file(&size, 64), *copy = (unsigned char *)toft_alloc_aligned(scratch, size, 64);
  for (size_t round = 0; round < rounds; round++) {
    memcpy(copy, file, size);
    size_t given = next_random(&random) % 8 == 0 ? next_random(&random) % size : size;
    for (uint32_t n = 1 + next_random(&random) % 4; n > 0; n--) {
      size_t place = next_random(&random) % 4;
      size_t at = place == 0   ? next_random(&random) % 104
                  : place == 1 ? size - 1 - next_random(&random) % (size / 65)
                               : next_random(&random) % size;
      copy[at] =
          (unsigned char)(next_random(&random) % 2 ? next_random(&random) : copy[at] ^ 1u << next_random(&random) % 8);
    }
    if (next_random(&random) % 8 != 0) set_header_checksum(copy);
    toft_frozen_options o = TOFT_FROZEN_OPTIONS;
    o.flags = next_random(&random) % 2 ? TOFT_FROZEN_VERIFY : 0;
    toft_frozen f;
    int code = toft_frozen_open_in(&f, copy, given, &o);
    if (code == TOFT_OK) {
      check_pointers(&f, given);
      opened++;
    } else {
      assert_null(f.root);
      refused++;
    }
  }
  assert_true(opened > rounds / 50 && refused > rounds / 4);
}

/* Each prefix of a file and each altered byte of it, with VERIFY; and bytes behind its end. */
static void damage_is_found(void **state) {
  (void)state;
  size_t size;
  plan p = {0, NULL, 0};
  assert_int_equal(toft_freeze(build, &p, path, NULL), TOFT_OK);
  unsigned char *file = read_file(&size, 64), *copy = (unsigned char *)toft_alloc_aligned(scratch, size + 4096, 64);
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  toft_frozen f;
  o.flags = TOFT_FROZEN_VERIFY;
  memset(copy + size, 0, 4096);
  memcpy(copy, file, size);
  for (size_t more = 1; more <= 4096; more *= 8)
    assert_int_equal(toft_frozen_open_in(&f, copy, size + more, NULL), TOFT_ECORRUPT);
  for (size_t at = 0; at < size; at += 1 + at / 2000) {
    memcpy(copy, file, size);
    assert_int_equal(toft_frozen_open_in(&f, copy, at, &o), TOFT_ECORRUPT);
    copy[at] ^= 4;
    int code = toft_frozen_open_in(&f, copy, size, &o);
    assert_true(code == TOFT_ECORRUPT || (code == TOFT_ENOSYS && at < 16));
  }
  for (int i = 0; i < 3; i++) { /* another system's: byte order, version, width of pointers */
    static const size_t places[] = {8, 12, 14};
    memcpy(copy, file, size);
    unsigned char *at = copy + places[i];
    if (i == 0) {
      unsigned char order[] = {at[3], at[2], at[1], at[0]};
      memcpy(at, order, 4);
    } else {
      at[0] ^= 0xc;
    }
    set_header_checksum(copy);
    assert_int_equal(toft_frozen_open_in(&f, copy, size, &o), TOFT_ENOSYS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(content_is_read_back),
    cmocka_unit_test(files_are_reproducible),
    cmocka_unit_test(the_address_is_that_of_the_content),
    cmocka_unit_test(one_file_is_open_often),
    cmocka_unit_test(caller_memory_is_opened_in_place),
#if !defined(_WIN32)
    cmocka_unit_test(threads_and_forks_read),
    cmocka_unit_test_setup_teardown(what_is_no_regular_file_stays, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(links_are_followed, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(names_of_each_length_are_valid, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(owner_and_mode_are_kept, make_folder, remove_folder),
#endif
    cmocka_unit_test(bad_input),
    cmocka_unit_test(altered_files_are_refused_or_sound),
    cmocka_unit_test(damage_is_found),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
