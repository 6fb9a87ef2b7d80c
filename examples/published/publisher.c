/* The writer's side: see publisher.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "publisher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format.h"

#ifdef PUBLISHER_STEP /* called between the steps, for tests */
void PUBLISHER_STEP(void);
#else
#define PUBLISHER_STEP() ((void)0)
#endif
_Static_assert(PUBLISHED_ROOT == PUBLISHED_REGION + TOFT_REGION_ROOT_OFFSET, "the place of the root");

/* What the release writes goes to private copies of the pages, since readers may have the file. */
static void publisher_drop(publisher_file *f) {
  int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (f->region != NULL && mmap(f->map, f->size, access, flags, f->file, 0) == f->map) toft_region_release(f->region);
  if (f->map != NULL) munmap(f->map, f->size);
  if (f->file >= 0) close(f->file);
  memset(f, 0, sizeof *f);
  f->file = -1;
}

/* Takes the lock, and finds the current generation. */
static int publisher_lock(publisher *p) {
  published_header h;
  p->lock = open(p->link, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (p->lock < 0) return errno;
  PUBLISHER_STEP();
  if (flock(p->lock, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK ? EBUSY : errno;
  int file = open(p->path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? 0 : errno;
  ssize_t size = pread(file, &h, sizeof h, 0);
  close(file);
  if (size != sizeof h || memcmp(h.magic, PUBLISHED_MAGIC, sizeof h.magic) != 0) return EINVAL;
  p->generation = h.generation;
  return 0;
}

int publisher_open(publisher *p, const char *path, const char *layout, uintptr_t address) {
  memset(p, 0, sizeof *p);
  p->lock = p->current.file = p->next.file = -1;
  p->address = address;
  if (strlen(path) > sizeof p->path - sizeof ".lock" || strlen(layout) >= sizeof p->layout) return ENAMETOOLONG;
  strcpy(p->path, path);
  strcpy(p->layout, layout);
  snprintf(p->link, sizeof p->link, "%s.lock", path);
  int error = publisher_lock(p);
  snprintf(p->link, sizeof p->link, "%s.new", path);
  if (error != 0) publisher_close(p);
  return error;
}

/* Makes the file and its region. */
static int publisher_make(publisher *p, publisher_file *f, size_t size) {
  void *at = (void *)(p->address + (p->generation + 1) % PUBLISHER_RANGES * PUBLISHER_RANGE);
  published_header h = {PUBLISHED_MAGIC, (uintptr_t)at, size, p->generation + 1, ""};
  char folder[sizeof p->path] = ".";
  if (strchr(p->path, '/') != NULL) strrchr(strcpy(folder, p->path), '/')[1] = 0;
  memcpy(h.layout, p->layout, sizeof h.layout);
  f->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
  if (f->file < 0) return errno;
  PUBLISHER_STEP();
  int error = posix_fallocate(f->file, 0, (off_t)size);
  if (error != 0) return error;
  if (pwrite(f->file, &h, sizeof h, 0) != sizeof h) return errno;
  PUBLISHER_STEP();
  void *map = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, f->file, 0);
  if (map == MAP_FAILED) return errno;
  f->map = map;
  f->size = size;
  if (map != at) return EEXIST; /* a kernel before 4.17, to which the address is a wish */
  toft_region_options o = TOFT_REGION_OPTIONS;
  o.memory = (char *)map + PUBLISHED_REGION;
  o.max = size - PUBLISHED_REGION;
  f->region = toft_region_create(&o);
  return f->region == NULL ? ENOMEM : 0;
}

int publisher_begin(publisher *p, size_t size) {
  publisher_drop(&p->next);
  int error = size > PUBLISHER_RANGE ? EFBIG
              : size < 128 * 1024    ? EINVAL
                                     : publisher_make(p, &p->next, (size + 4095) & ~(size_t)4095);
  if (error != 0) publisher_drop(&p->next);
  return error;
}

int publisher_publish(publisher *p) {
  if (p->next.region == NULL || toft_region_root(p->next.region) == NULL) return EINVAL;
  char file[32];
  snprintf(file, sizeof file, "/proc/self/fd/%d", p->next.file);
  unlink(p->link); /* of a writer that was killed before its rename */
  if (linkat(AT_FDCWD, file, AT_FDCWD, p->link, AT_SYMLINK_FOLLOW) != 0) return errno;
  PUBLISHER_STEP();
  if (rename(p->link, p->path) != 0) return errno;
  PUBLISHER_STEP();
  publisher_drop(&p->current);
  PUBLISHER_STEP();
  p->current = p->next;
  p->next = (publisher_file){NULL, NULL, 0, -1};
  p->generation++;
  return 0;
}

void publisher_close(publisher *p) {
  publisher_drop(&p->next);
  publisher_drop(&p->current);
  if (p->lock >= 0) close(p->lock);
  p->lock = -1;
}
