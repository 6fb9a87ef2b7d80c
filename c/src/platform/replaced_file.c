/* The file that a new one replaces: a regular one, found through symbolic links as open does; its owner and mode.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_REPLACED_FILE_C
#define TOFT_PLATFORM_REPLACED_FILE_C

#include "os.c"

#ifndef TOFT_NO_OS

#include <errno.h>

/* Bytes of a path up to its last name. */
static size_t toft_path_folder(const char *path) {
  size_t end = 0;
  for (size_t i = 0; path[i] != 0; i++)
#if defined(_WIN32)
    if (path[i] == '/' || path[i] == '\\' || path[i] == ':') end = i + 1;
#else
    if (path[i] == '/') end = i + 1;
#endif
  return end;
}

#if defined(_WIN32)

typedef int toft_replaced_file; /* the new file has the rights that its folder gives */

/* Whether it is a regular file; else sets errno. */
static int toft_is_regular(HANDLE f) {
  BY_HANDLE_FILE_INFORMATION about;
  int is_on_disk = GetFileType(f) == FILE_TYPE_DISK && GetFileInformationByHandle(f, &about) != 0;
  if (is_on_disk && (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) return 1;
  errno = is_on_disk ? EISDIR : EINVAL;
  return 0;
}

/* See below. A link that leads nowhere is replaced. */
static int toft_replaced_file_find(char *path, char *link, size_t room, toft_replaced_file *old) {
  DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, attributes = GetFileAttributesA(path), n = 0;
  HANDLE f = CreateFileA(path, 0, share, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  *old = f != INVALID_HANDLE_VALUE;
  if (!*old) return 1; /* if there is an error, creating the file has it too */
  int is_regular = toft_is_regular(f);
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
    n = GetFinalPathNameByHandleA(f, link, (DWORD)room, 0);
  if (n != 0 && n < room) memcpy(path, link, n + 1);
  (void)CloseHandle(f);
  return is_regular;
}

#else

#define TOFT_LINKS_MAX 40 /* symbolic links, as for Linux */

typedef struct stat toft_replaced_file; /* st_mode 0: there is none */

/* Whether it is a regular file; else sets errno. */
static int toft_is_regular(const struct stat *s) {
  if (S_ISREG(s->st_mode)) return 1;
  errno = S_ISDIR(s->st_mode) ? EISDIR : EINVAL;
  return 0;
}

/* Replaces a path whose last name is a symbolic link by the one that it leads to, where there may be no file. */
static int toft_path_follow(char *path, char *link, size_t room) {
  for (int i = 0; i < TOFT_LINKS_MAX; i++) {
    ssize_t n = toft_sys_readlink(path, link, room);
    if (n < 0) return errno == EINVAL || errno == ENOENT; /* no link; nothing */
    size_t folder = link[0] == '/' ? 0 : toft_path_folder(path);
    if (folder + (size_t)n >= room) {
      errno = ENAMETOOLONG;
      return 0;
    }
    memcpy(path + folder, link, (size_t)n);
    path[folder + (size_t)n] = 0;
  }
  errno = ELOOP;
  return 0;
}

/* Replaces a path by that of the regular file that it leads to, and stores the file's status. Both buffers have `room`
 * bytes. 0: there can be none; errno has the reason. */
static int toft_replaced_file_find(char *path, char *link, size_t room, toft_replaced_file *old) {
  int exists = toft_sys_stat(path, old) == 0; /* the system may not allow to follow the link */
  if (exists ? !toft_is_regular(old) : errno != ENOENT) return 0;
  if (!toft_path_follow(path, link, room)) return 0;
  if (toft_sys_lstat(path, old) == 0) return toft_is_regular(old);
  memset(old, 0, sizeof *old);
  return !exists && errno == ENOENT; /* a name such as /dev/fd/3 leads to a file that has none */
}

/* Gives a new file the owner, group and mode of the one that it replaces. Where the process may not set the owner, the
 * group at least; where it may not set the group, that gets the rights of all others only. */
static int toft_replaced_file_keep_rights(int file, const toft_replaced_file *old) {
  mode_t mode = old->st_mode & 07777;
  if (toft_sys_fchown(file, old->st_uid, old->st_gid) != 0) {
    mode &= 0777;
    if (toft_sys_fchown(file, (uid_t)-1, old->st_gid) != 0) mode = (mode & 0707) | (mode & 07) << 3;
  }
  return toft_sys_fchmod(file, mode) == 0;
}

#endif
#endif

#endif
