/* Addresses of code by module and offset, which are the same in each run; and the hashes of code paths.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_TRIAL_MODULES_H
#define TOFT_TRIAL_MODULES_H

#include "../preload/stacks.h"

enum { MODULES_MAX = 4096 };

static struct {
  struct {
    uint64_t start, end, offset, path; /* path: its hash */
  } of[MODULES_MAX];
  unsigned count, last;
} M;

static uint64_t hash_path(const char *path) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; *path != 0; path++) h = (h ^ (unsigned char)*path) * 0x100000001b3u;
  return h;
}

static uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 32;
}

static uint64_t read_hex(const char **text) {
  uint64_t value = 0;
  for (;; ++*text) {
    unsigned c = (unsigned char)**text;
    unsigned digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 16;
    if (digit == 16) return value;
    value = value << 4 | digit;
  }
}

/* A line of /proc/self/maps: START-END PERMISSIONS OFFSET DEVICE INODE PATH. */
static void read_module(const char *line) {
  uint64_t start = read_hex(&line), end = *line == '-' ? (line++, read_hex(&line)) : 0;
  if (end == 0 || strlen(line) < 6 || line[3] != 'x' || M.count == MODULES_MAX) return;
  line += 6;
  uint64_t offset = read_hex(&line);
  const char *path = strchr(line, '/');
  M.of[M.count].start = start;
  M.of[M.count].end = end;
  M.of[M.count].offset = offset;
  M.of[M.count++].path = path != NULL ? hash_path(path) : 0;
}

/* Without the loader's functions: they take its lock, whose holder may wait for that of this library. */
static void read_modules(void) {
  static char line[PAGE + 256], text[PAGE];
  int from = S.sandbox ? -1 : open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (from < 0) return;
  size_t used = 0;
  M.count = M.last = 0;
  for (ssize_t n; (n = read(from, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < n; i++) {
      if (text[i] != '\n') {
        if (used < sizeof line - 1) line[used++] = text[i];
        continue;
      }
      line[used] = 0;
      used = 0;
      read_module(line);
    }
  }
  close(from);
}

static int is_in_module(unsigned i, uint64_t address) {
  return i < M.count && address - M.of[i].start < M.of[i].end - M.of[i].start;
}

/* Adds a return address to the hash of a path; 0: it is in no file, as the 0 behind the outermost frame. */
static int add_address(uint64_t *h, uint64_t address) {
  if (address < PAGE) return 0;
  for (int is_read = 0; !is_in_module(M.last, address); is_read = 1) {
    for (M.last = 0; M.last < M.count && !is_in_module(M.last, address);) M.last++;
    if (M.last == M.count) {
      if (is_read) return 0;
      read_modules();
    }
  }
  if (M.of[M.last].path == 0) return 0;
  *h = mix(mix(*h, M.of[M.last].path), address - M.of[M.last].start + M.of[M.last].offset);
  return 1;
}

#endif
