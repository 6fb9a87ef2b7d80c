/* Whole files: written so that a reader sees the old one or the new one; mapped privately, or read.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_FILES_C
#define TOFT_PLATFORM_FILES_C

#include "os.c"
#include "replaced_file.c"
#include "sanitizers.c"

#ifndef TOFT_NO_OS

#define TOFT_FILE_NAME_MORE ((size_t)4096) /* bytes that a path may become longer by links and a temporary name */

/* Stores a name in the folder of `path`, .toft- and 16 digits. 0: there are no random numbers. */
static int toft_file_temporary_name(char *to, const char *path) {
  size_t length = toft_path_folder(path);
  unsigned char random[8];
  if (!toft_os_random(random, sizeof random)) return 0;
  toft_mark_defined(random, sizeof random);
  memcpy(to, path, length);
  memcpy(to + length, ".toft-", 6);
  length += 6;
  for (size_t i = 0; i < sizeof random; i++) {
    to[length++] = "0123456789abcdef"[random[i] >> 4];
    to[length++] = "0123456789abcdef"[random[i] & 15];
  }
  to[length] = 0;
  return 1;
}

#if defined(_WIN32)

typedef HANDLE toft_file;
#define TOFT_FILE_NONE INVALID_HANDLE_VALUE

/* Sets errno from the system's last error. */
static int toft_file_failed(void) {
  DWORD error = GetLastError();
  errno = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ? ENOENT
          : error == ERROR_ACCESS_DENIED                                 ? EACCES
          : error == ERROR_NOT_ENOUGH_MEMORY                             ? ENOMEM
                                                                         : EIO;
  return 0;
}

static int toft_file_put(toft_file f, const unsigned char *p, size_t size) {
  while (size > 0) {
    DWORD n = 0, part = (DWORD)toft_file_part(size);
    if (!WriteFile(f, p, part, &n, NULL) || n == 0) return toft_file_failed();
    p += n;
    size -= n;
  }
  return FlushFileBuffers(f) ? 1 : toft_file_failed();
}

static int toft_file_write_new(const char *name, const void *p, size_t size, const toft_replaced_file *old) {
  (void)old;
  toft_file f = CreateFileA(name, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
  if (f == TOFT_FILE_NONE) return toft_file_failed();
  int done = toft_file_put(f, (const unsigned char *)p, size);
  return CloseHandle(f) && done;
}

static void toft_file_remove(const char *name) { (void)DeleteFileA(name); }

static int toft_file_replace(const char *from, const char *to) {
  return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) ? 1 : toft_file_failed();
}

/* Opens a file and stores its size. */
static toft_file toft_file_open(const char *path, uint64_t *size) {
  LARGE_INTEGER n;
  DWORD share = FILE_SHARE_READ | FILE_SHARE_DELETE;
  toft_file f = CreateFileA(path, GENERIC_READ, share, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
  if (f != TOFT_FILE_NONE && GetFileSizeEx(f, &n)) {
    *size = (uint64_t)n.QuadPart;
    return f;
  }
  (void)toft_file_failed();
  if (f != TOFT_FILE_NONE) (void)CloseHandle(f);
  return TOFT_FILE_NONE;
}

static void toft_file_close(toft_file f) { (void)CloseHandle(f); }

/* Reads from the current position. */
static int toft_file_read(toft_file f, void *to, size_t size) {
  unsigned char *p = (unsigned char *)to;
  while (size > 0) {
    DWORD n = 0, part = (DWORD)toft_file_part(size);
    if (!ReadFile(f, p, part, &n, NULL) || n == 0) return 0;
    p += n;
    size -= n;
  }
  return 1;
}

/* Maps the whole file. NULL: not possible; nothing is replaced. */
static void *toft_file_map_at(toft_file f, size_t size, void *at, int writable) {
  HANDLE mapping = CreateFileMappingA(f, NULL, writable ? PAGE_WRITECOPY : PAGE_READONLY, 0, 0, NULL);
  (void)size;
  if (mapping == NULL) return NULL;
  void *p = MapViewOfFileEx(mapping, writable ? FILE_MAP_COPY : FILE_MAP_READ, 0, 0, 0, at);
  (void)CloseHandle(mapping);
  return p;
}

static void toft_file_unmap(void *p, size_t size) {
  (void)size;
  (void)UnmapViewOfFile(p);
}

static int toft_os_protect(void *p, size_t size) {
  DWORD before;
  return VirtualProtect(p, size, PAGE_READONLY, &before) != 0;
}

#else

typedef int toft_file;
#define TOFT_FILE_NONE (-1)

static int toft_file_write_new(const char *name, const void *p, size_t size, const toft_replaced_file *old) {
  int is_new = old->st_mode == 0;
  toft_file f = toft_sys_open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_new ? 0666 : 0600);
  if (f < 0) return 0;
  int done = (is_new || toft_replaced_file_keep_rights(f, old)) && toft_write_all(f, p, size) && toft_sync_file(f);
  int error = errno;
  if (toft_sys_close(f) != 0 && done && errno != EINTR) return 0;
  errno = error;
  return done;
}

static void toft_file_remove(const char *name) {
  int error = errno;
  (void)toft_sys_unlink(name);
  errno = error;
}

/* Renames, and waits until the folder is on the disk. Not every system has that for folders: its failure is ignored. */
static int toft_file_replace(char *from, const char *to) {
  char *end = from;
  if (toft_sys_rename(from, to) != 0) return 0;
  for (char *p = from; *p != 0; p++)
    if (*p == '/') end = p + 1;
  if (end == from) *end++ = '.';
  *end = 0;
  toft_file folder = toft_sys_open(from, O_RDONLY | O_CLOEXEC);
  if (folder >= 0) {
    (void)toft_sync_file(folder);
    (void)toft_sys_close(folder);
  }
  return 1;
}

/* Opens a file and stores its size. */
static toft_file toft_file_open(const char *path, uint64_t *size) {
  struct stat s;
  toft_file f = toft_sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (f < 0) return f;
  int error = EINVAL;
  if (toft_sys_fstat(f, &s) != 0) {
    error = errno;
  } else if (S_ISREG(s.st_mode)) {
    *size = (uint64_t)s.st_size;
    return f;
  }
  (void)toft_sys_close(f);
  errno = error;
  return TOFT_FILE_NONE;
}

static void toft_file_close(toft_file f) { (void)toft_sys_close(f); }

/* Reads from the current position. */
static int toft_file_read(toft_file f, void *to, size_t size) { return toft_read_all(f, to, size); }

/* Without force: a mapping at `at` stays. To older systems the address is a hint. */
#if defined(MAP_FIXED_NOREPLACE)
#define TOFT_MAP_AT MAP_FIXED_NOREPLACE
#elif defined(__linux__)
#define TOFT_MAP_AT 0x100000
#elif defined(MAP_EXCL)
#define TOFT_MAP_AT (MAP_FIXED | MAP_EXCL)
#else
#define TOFT_MAP_AT 0
#endif

/* Maps the whole file. NULL: not possible; nothing is replaced. */
static void *toft_file_map_at(toft_file f, size_t size, void *at, int writable) {
  int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void *p = toft_sys_mmap(at, size, protection, MAP_PRIVATE | TOFT_MAP_AT, f, 0);
  if (p == MAP_FAILED || p == at) return p == at ? p : NULL;
  (void)toft_os_unmap(p, size);
  return NULL;
}

static void toft_file_unmap(void *p, size_t size) { (void)toft_os_unmap(p, size); }

static int toft_os_protect(void *p, size_t size) { return toft_sys_mprotect(p, toft_os_page(size), PROT_READ) == 0; }

#endif

/* As toft_file_write_whole, for a path without links. `name` has room for one in its folder. */
static int toft_file_write_at(const char *path, char *name, const void *p, size_t size, const toft_replaced_file *old) {
  int done = 0;
  if (!toft_file_temporary_name(name, path)) {
    errno = EIO;
  } else if (toft_file_write_new(name, p, size, old)) {
    done = toft_file_replace(name, path);
    if (!done) toft_file_remove(name);
  } else if (errno != EEXIST) {
    toft_file_remove(name);
  }
  return done;
}

/* Writes a file that replaces the regular file at `path` when it is complete, or is new. 0: errno has the reason, and
 * `path` is unchanged. */
static int toft_file_write_whole(const char *path, const void *p, size_t size) {
  size_t length = strlen(path) + 1, room = length + TOFT_FILE_NAME_MORE;
  char *names = (char *)toft_os_heap_take(2 * room, 64);
  toft_replaced_file old;
  if (names == NULL) {
    errno = ENOMEM;
    return 0;
  }
  memcpy(names, path, length);
  int done = toft_replaced_file_find(names, names + room, room, &old) &&
             toft_file_write_at(names, names + room, p, size, &old);
  toft_os_heap_put(names);
  return done;
}
#endif

#endif
