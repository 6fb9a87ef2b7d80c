/* What an address of the process is: in a mapping, of a function or variable. Linux lists its mappings; other
 * systems answer for one page.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PLATFORM_MAPPINGS_C
#define TOFT_PLATFORM_MAPPINGS_C

#include "os.c"
#include "sanitizers.c"

/* Words below are numbers: no mapping is there, or on 64-bit Windows none of a module. */
#if defined(_WIN64)
#define TOFT_ADDRESS_MIN ((uintptr_t)1 << 32)
#else
#define TOFT_ADDRESS_MIN 65536
#endif

/* Mappings by address, those adjacent joined; a count of 0: there is no list. */
typedef struct toft_mappings {
  uintptr_t (*ranges)[2];
  size_t count, room;
} toft_mappings;

#if defined(__linux__) && !defined(TOFT_NO_OS)
#define TOFT_HAS_MAPPINGS 1

static FILE *toft_mappings_file(void) {
  return toft_os_stream(toft_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC), "r");
}

/* Reads the next line; stores the range, its access (1: it can be read or executed, 2: also written, 0: a reservation),
 * and the name that it ends with. 0: there is none. */
static int toft_mapping_next(FILE *f, uintptr_t range[2], int *access, char *line, size_t size, const char **name) {
  unsigned long long begin, end;
  char permissions[8];
  int at = 0;
  if (fgets(line, (int)size, f) == NULL) return 0;
  size_t length = strcspn(line, "\n");
  int c = line[length] == 0 ? 0 : '\n';
  while (c != '\n' && c != EOF) c = fgetc(f); /* the rest of a long line */
  line[length] = 0;
  if (sscanf(line, "%llx-%llx %7s %*s %*s %*s %n", &begin, &end, permissions, &at) < 3) return 0;
  *access = permissions[1] == 'w' ? 2 : permissions[0] == 'r' || permissions[2] == 'x';
  range[0] = (uintptr_t)begin;
  range[1] = (uintptr_t)end;
  *name = at != 0 ? line + at : "";
  return 1;
}

/* Whether numbers in the range are no addresses: memory of a sanitizer, which is larger than a program's mappings and,
 * with AddressSanitizer, below them; with pointers of 4 bytes, where most numbers are mapped, all without a name. */
static int toft_mapping_is_left_out(const uintptr_t range[2], const char *name) {
  uint64_t end = range[1], size = end - range[0];
  if (sizeof(void *) == 4) return name[0] == 0;
  return size >= (uint64_t)1 << 40 || (TOFT_HAS_SANITIZER() && end <= (uint64_t)0x10008 << 28);
}

static int toft_mappings_add(toft_mappings *m, const uintptr_t range[2]) {
  if (m->count != 0 && m->ranges[m->count - 1][1] == range[0]) {
    m->ranges[m->count - 1][1] = range[1];
    return 1;
  }
  if (m->count == m->room) {
    size_t room = m->room != 0 ? 2 * m->room : 256;
    void *more = toft_sys_realloc(m->ranges, room * sizeof *m->ranges);
    if (more == NULL) return 0;
    m->ranges = (uintptr_t(*)[2])more;
    m->room = room;
  }
  m->ranges[m->count][0] = range[0];
  m->ranges[m->count++][1] = range[1];
  return 1;
}

/* Reads all mappings, or those that can be written. 0: the list cannot be read, or there is no memory for it. */
static int toft_mappings_read(toft_mappings *m, int writable) {
  char line[512];
  const char *name;
  uintptr_t range[2];
  int done = 1, access;
  memset(m, 0, sizeof *m);
  FILE *f = toft_mappings_file();
  if (f == NULL) return 0;
  while (done && toft_mapping_next(f, range, &access, line, sizeof line, &name))
    if (access > writable && !toft_mapping_is_left_out(range, name)) done = toft_mappings_add(m, range);
  if (ferror(f)) done = 0;
  (void)fclose(f);
  return done && m->count != 0;
}

static int toft_mappings_contain(const toft_mappings *m, uintptr_t address) {
  size_t low = 0, high = m->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (m->ranges[middle][1] <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < m->count && m->ranges[low][0] <= address;
}

/* Stores the name of the mapping: the path of a file, or as the system calls it. */
static void toft_mapping_name(uintptr_t address, char *to, size_t size) {
  char line[512];
  const char *name = NULL;
  uintptr_t range[2];
  int access;
  FILE *f = toft_mappings_file();
  if (f != NULL) {
    while (toft_mapping_next(f, range, &access, line, sizeof line, &name) && range[1] <= address) name = NULL;
    (void)fclose(f);
    if (name != NULL && range[0] > address) name = NULL;
  }
  (void)snprintf(to, size, "%s", name != NULL && name[0] != 0 ? name : "anonymous memory");
}

#elif !defined(TOFT_NO_OS)

static int toft_mappings_read(toft_mappings *m, int writable) {
  (void)writable;
  memset(m, 0, sizeof *m);
  return 1;
}

static int toft_mappings_contain(const toft_mappings *m, uintptr_t address) {
  (void)m;
#if defined(_WIN32)
  MEMORY_BASIC_INFORMATION info;
  return VirtualQuery((const void *)address, &info, sizeof info) != 0 && info.State == MEM_COMMIT;
#else
  uintptr_t page = address & ~((uintptr_t)toft_os_page(1) - 1);
  return toft_sys_msync((void *)page, 1, MS_ASYNC) == 0; /* fails where nothing is mapped */
#endif
}

static void toft_mapping_name(uintptr_t address, char *to, size_t size) {
  (void)address;
  (void)snprintf(to, size, "memory outside of the region");
}

#endif

#ifndef TOFT_NO_OS
static void toft_mappings_free(toft_mappings *m) { free(m->ranges); }
#endif

#endif
