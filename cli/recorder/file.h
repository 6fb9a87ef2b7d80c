/* The file of a recording.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_RECORDER_FILE_H
#define TOFT_RECORDER_FILE_H

#include "state.h"

/* The recording ends here, with the reason. The first reason is kept. */
static void end_recording(uint32_t reason, int error) {
  recording_header *h = R.header;
  if (h->partial != 0) return;
  h->error = (uint32_t)error;
  STORE(&h->partial, reason);
}

static int same_file(const held *h) {
  struct stat found;
  return h->fd >= 0 && fstat(h->fd, &found) == 0 && found.st_dev == h->device && found.st_ino == h->inode;
}

/* Keeps a new descriptor, at a high number. Where the limit of descriptors is too low it is kept for one use. */
static void hold(held *h, int fd) {
  struct stat found;
  struct rlimit r;
  h->fd = fd;
  if (fd < 0 || fstat(fd, &found) != 0) return;
  h->device = found.st_dev;
  h->inode = found.st_ino;
  int least = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur >= 2048 ? 1000 : FILE_LEAST;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, least);
  if (high < 0) return;
  close(fd);
  h->fd = high;
}

/* Closes a descriptor with a low number, so that the program's next one has the number that it has without
 * the recorder. */
static void release(held *h) {
  if (h->fd < 0 || h->fd >= FILE_LEAST) return;
  close(h->fd);
  h->fd = -1;
}

/* The number of a file of the folder, which another root or other rights do not hide while its descriptor is open. */
static int open_in_folder(int flags) {
  if (!same_file(&R.folder_file)) hold(&R.folder_file, open(R.folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (R.folder_file.fd < 0) return -1;
  int fd = openat(R.folder_file.fd, R.name, flags | O_CLOEXEC, 0600);
  int error = errno;
  release(&R.folder_file);
  errno = error;
  return fd;
}

/* The descriptor of the recording; -1: the recording has ended. To be released. */
static int recording_file(void) {
  if (same_file(&R.file)) return R.file.fd;
  hold(&R.file, open_in_folder(O_RDWR));
  if (R.file.fd < 0) end_recording(RECORDING_UNREACHABLE, errno);
  return R.file.fd;
}

/* How many segments the file may have. A write beyond the process's limit would raise SIGXFSZ. */
static uint64_t segments_allowed(void) {
  struct rlimit r;
  if (getrlimit(RLIMIT_FSIZE, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return r.rlim_cur / RECORDING_SEGMENT;
}

/* The number of the first of some new segments of the file; 0: the recording has reached its limit. */
static uint64_t reserve_segments(uint64_t count) {
  recording_header *h = R.header;
  if (h == NULL || h->partial) return 0;
  if (h->segments + count > segments_allowed()) {
    end_recording(RECORDING_FILE_SIZE, 0);
    return 0;
  }
  if (__atomic_add_fetch(&R.total->segments, count, __ATOMIC_RELAXED) > R.total_limit) {
    end_recording(RECORDING_LIMIT, 0);
    return 0;
  }
  h->segments += count;
  return h->segments - count;
}

static int write_all(int file, const char *from, size_t size, off_t at) {
  while (size > 0) {
    ssize_t n = pwrite(file, from, size, at);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return 0;
    from += n, at += n, size -= (size_t)n;
  }
  return 1;
}

/* Appends a segment of `size` bytes to the file. */
static int append(const void *bytes, size_t size) {
  uint64_t i = reserve_segments(1);
  int file = i != 0 ? recording_file() : -1;
  if (file < 0) return 0;
  int done = write_all(file, (const char *)bytes, size, (off_t)(i * RECORDING_SEGMENT));
  if (!done) end_recording(RECORDING_WRITE, errno);
  release(&R.file);
  return done;
}

static void start_segment(recording_segment *s, uint32_t kind) {
  if (E.id == 0) E.id = ++R.threads;
  s->kind = kind;
  s->thread = E.id;
  s->ns = now();
  s->ticks = ticks();
}

/* Allocates the space of a part of a file. */
static int allocate_space(int file, off_t at, size_t size) {
  static const char zeros[PAGE];
  if (fallocate(file, 0, at, (off_t)size) == 0) return 1;
  for (size_t k = 0; k < size; k += PAGE)
    if (!write_all(file, zeros, PAGE, at + (off_t)k)) return 0;
  return 1;
}

/* Maps new segments of the file, whose space is allocated. */
static char *map_segments(uint64_t count) {
  uint64_t i = reserve_segments(count);
  int file = i != 0 ? recording_file() : -1;
  if (file < 0) return NULL;
  off_t at = (off_t)(i * RECORDING_SEGMENT);
  size_t size = count * RECORDING_SEGMENT;
  void *p = MAP_FAILED;
  if (allocate_space(file, at, size)) p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
  if (p == MAP_FAILED) end_recording(RECORDING_WRITE, errno);
  release(&R.file);
  return p != MAP_FAILED ? (char *)p : NULL;
}

static recording_segment *segment_of_sandbox(void) {
  if (R.reserve == R.reserve_end) {
    end_recording(R.reserve_reason, 0);
    return NULL;
  }
  R.reserve += RECORDING_SEGMENT;
  return (recording_segment *)(R.reserve - RECORDING_SEGMENT);
}

static recording_segment *next_piece(void) {
  if (R.piece == R.pieces_end) {
    R.piece = map_segments(1);
    R.pieces_end = R.piece != NULL ? R.piece + RECORDING_SEGMENT : NULL;
    if (R.piece == NULL) return NULL;
  }
  recording_segment *s = (recording_segment *)R.piece;
  R.piece += RECORDING_PIECE;
  s->piece = RECORDING_PIECE;
  return s;
}

static size_t size_of(const recording_segment *s) { return s->piece != 0 ? RECORDING_PIECE : RECORDING_SEGMENT; }

/* An empty segment of the calling thread, or a piece: the contents of `s` are appended to the file, which has those of
 * a piece. NULL: the recording has ended. */
static recording_segment *next_segment(recording_segment *s, uint32_t kind) {
  recording_segment *before = s;
  if (R.header->partial) return NULL;
  if (S.sandbox) {
    s = segment_of_sandbox();
  } else if (s != NULL && s->piece == 0) {
    if (!append(s, RECORDING_SEGMENT)) return NULL;
    memset(s + 1, 0, RECORDING_SEGMENT - sizeof *s);
  } else {
    if (E.pieces < PIECES_MAX)
      s = next_piece();
    else
      s = R.unused_count > 0 ? R.unused[--R.unused_count] : (recording_segment *)map_segments(1);
    if (s != NULL && before != NULL) munmap(before, RECORDING_PIECE);
    if (R.has_key) (void)pthread_setspecific(R.key, &E);
    E.pieces++;
  }
  if (s != NULL) start_segment(s, kind);
  return s;
}

/* Gives the mapped segments of a thread that ends to later threads. */
static void give_segments(void *arg) {
  recording_segment *mine[2] = {E.events, E.stacks};
  (void)arg;
  E.next = E.end = NULL;
  E.stack_next = E.stack_end = NULL;
  E.events = E.stacks = NULL;
  for (int i = 0; i < 2 && !S.sandbox; i++) {
    recording_segment *s = mine[i];
    int is_piece = s != NULL && s->piece != 0;
    if (s == NULL || (!is_piece && !append(s, RECORDING_SEGMENT))) continue;
    if (!is_piece && R.unused_count < UNUSED_MAX)
      R.unused[R.unused_count++] = (recording_segment *)memset(s, 0, RECORDING_SEGMENT);
    else
      munmap(s, size_of(s));
  }
}

static void end_thread(void *arg) {
  if (LOAD(&R.header) != NULL) aside(give_segments, arg);
}

/* Copies /proc/self/maps. Without it, functions of libraries that were loaded since have no names. */
static void write_maps(void) {
  static char segment[RECORDING_SEGMENT];
  if (S.sandbox) return;
  int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (from < 0) return;
  for (ssize_t n = 1; n > 0;) {
    size_t end = sizeof(recording_segment);
    while (end < sizeof segment && (n = read(from, segment + end, sizeof segment - end)) > 0) end += (size_t)n;
    start_segment((recording_segment *)segment, RECORDING_TEXT);
    memset(segment + end, 0, sizeof segment - end);
    if (end > sizeof(recording_segment) && !append(segment, end)) break;
  }
  close(from);
}

/* `more`: a file whose bytes follow the text, or NULL. */
static void write_text(uint32_t kind, const char *text, const char *more) {
  static struct {
    recording_segment head;
    char text[2 * PAGE];
  } s;
  start_segment(&s.head, kind);
  memset(s.text, 0, sizeof s.text);
  memcpy(s.text, text, strnlen(text, PAGE - 1));
  int from = more != NULL ? open(more, O_RDONLY | O_CLOEXEC) : -1;
  if (from >= 0) {
    if (read(from, s.text + strlen(s.text) + 1, PAGE - 1) < 0) s.text[strlen(s.text) + 1] = 0;
    close(from);
  }
  (void)append(&s, sizeof s);
}

/* Creates the file of this process. 0: nothing is recorded. */
static int create_recording(int forked) {
  errno = 0;
  if (S.sandbox || segments_allowed() < 2) return 0;
  snprintf(R.name, sizeof R.name, "%ld-%llu.rec", (long)getpid(), (unsigned long long)now());
  int file = open_in_folder(O_RDWR | O_CREAT | O_EXCL);
  if (file < 0) return 0;
  hold(&R.file, file);
  void *p = MAP_FAILED;
  if (allocate_space(R.file.fd, 0, PAGE)) p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, R.file.fd, 0);
  release(&R.file);
  if (p == MAP_FAILED) return 0;
  recording_header *h = (recording_header *)p;
  h->segments = 1;
  h->begin_ns = now();
  h->begin_ticks = ticks();
  h->pid = (uint32_t)getpid();
  h->parent = (uint32_t)getppid();
  h->forked = (uint32_t)forked;
  h->magic = RECORDING_MAGIC;
  STORE(&R.header, h);
  write_text(RECORDING_NAME, R.executable, "/proc/self/cmdline");
  write_text(RECORDING_PROVIDER, S.provider, NULL);
  write_maps(); /* under another root it may not be there later */
  return 1;
}

/* Counts this process, which cannot be recorded. */
static void count_unrecorded(uint32_t reason, int error) {
  R.total->error = (uint32_t)error;
  R.total->reason = reason;
  __atomic_add_fetch(&R.total->unrecorded, 1, __ATOMIC_RELEASE);
}

static void open_recording(int forked) {
  if (create_recording(forked)) return;
  count_unrecorded(S.sandbox                ? RECORDING_SANDBOX
                   : segments_allowed() < 2 ? RECORDING_FILE_SIZE
                                            : RECORDING_UNREACHABLE,
                   errno);
}

#endif
