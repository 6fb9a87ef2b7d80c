/* Finds the function and source line of a code address, by the dynamic linker, or by libdw of elfutils where available.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_SYMBOLIZE_C
#define TOFT_DEBUG_SYMBOLIZE_C

#include "../platform/base.h"
#include "../platform/os.c"
#include "../platform/sanitizers.c"

/* With glibc before 2.34, these weak declarations must not apply to a user's file that includes the library and links
 * libdl. */
#if defined(_WIN32) || defined(TOFT_OMIT_SYMBOLS)
#define TOFT_DYNAMIC 0
#elif defined(__GLIBC__) && defined(TOFT_STATIC) && (__GLIBC__ < 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ < 34))
#define TOFT_DYNAMIC 0
#else
#define TOFT_DYNAMIC 1
#include <dlfcn.h>
#if defined(__ELF__)
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose
#define TOFT_HAS(fn) ((fn) != NULL)
/* Declared under another name, since <dlfcn.h> declares dladdr depending on earlier includes. */
typedef struct toft_dl_info {
  const char *module;
  void *base;
  const char *function;
  void *address;
} toft_dl_info;
extern int toft_dladdr(const void *address, toft_dl_info *info) __asm__("dladdr") __attribute__((weak));
#else
#define TOFT_HAS(fn) 1
#endif
#endif

int toft_symbolize(void *arg, const void *address, toft_symbol *symbol) {
  (void)arg;
  memset(symbol, 0, sizeof *symbol);
#if TOFT_DYNAMIC
  const void *call = (const unsigned char *)address - 1; /* the return address may belong to the next function */
#if defined(__ELF__)
  toft_dl_info info;
  if (!TOFT_HAS(toft_dladdr) || toft_dladdr(call, &info) == 0) return 0;
#else
  Dl_info found;
  if (dladdr(call, &found) == 0) return 0;
  struct {
    const char *module, *function;
    const void *base, *address;
  } info = {found.dli_fname, found.dli_sname, found.dli_fbase, found.dli_saddr};
#endif
  symbol->module = info.module;
  symbol->module_offset = (size_t)((uintptr_t)call - (uintptr_t)info.base);
  symbol->function = info.function;
  if (info.function != NULL) symbol->offset = (size_t)((uintptr_t)address - (uintptr_t)info.address);
  return 1;
#else
  (void)address;
  return 0;
#endif
}

/* ---- libdw ---- */

#if TOFT_DYNAMIC && defined(__ELF__)

/* The parts of elfutils/libdwfl.h and elfutils/libdw.h in use, whose ABI is stable. */
typedef struct toft_dwarf_die {
  void *words[4];
} toft_dwarf_die;
typedef struct toft_dwarf_attribute {
  void *words[4]; /* at most */
} toft_dwarf_attribute;
enum { TOFT_DW_TAG_INLINED = 0x1d, TOFT_DW_TAG_SUBPROGRAM = 0x2e, TOFT_DW_CALL_FILE = 0x58, TOFT_DW_CALL_LINE = 0x59 };

typedef struct toft_dwfl_callbacks {
  void *find_elf, *find_debuginfo, *section_address; /* pointers to functions */
  char **debuginfo_path;
} toft_dwfl_callbacks;

typedef struct toft_dwarf {
  void *library, *session;
  toft_dwfl_callbacks callbacks;
  void *(*begin)(const toft_dwfl_callbacks *callbacks);
  int (*report)(void *session, pid_t pid);
  int (*report_end)(void *session, void *removed, void *arg);
  void *(*module)(void *session, uint64_t address);
  const char *(*module_info)(void *module, void *user, uint64_t *start, uint64_t *end, uint64_t *dwarf_bias,
                             uint64_t *symbols_bias, const char **main, const char **debug);
  const char *(*function)(void *module, uint64_t address, uint64_t *offset, void *symbol, uint32_t *section, void *elf,
                          uint64_t *bias);
  void *(*line)(void *module, uint64_t address);
  const char *(*line_info)(void *line, uint64_t *address, int *number, int *column, uint64_t *time, uint64_t *length);
  void (*end)(void *session);
  /* inlined functions */
  toft_dwarf_die *(*unit)(void *module, uint64_t address, uint64_t *bias);
  int (*scopes)(toft_dwarf_die *unit, uint64_t address, toft_dwarf_die **scopes);
  int (*scopes_of)(toft_dwarf_die *die, toft_dwarf_die **scopes);
  int (*tag)(toft_dwarf_die *die);
  toft_dwarf_attribute *(*attribute)(toft_dwarf_die *die, unsigned name, toft_dwarf_attribute *out);
  int (*number)(toft_dwarf_attribute *attribute, uint64_t *out);
  int (*files)(toft_dwarf_die *unit, void **files, size_t *count);
  const char *(*file)(void *files, size_t index, uint64_t *time, uint64_t *length);
  const char *(*declared)(toft_dwarf_die *die);
} toft_dwarf;

/* Stores the address of a symbol in *function, a pointer of any type. */
static int toft_dwarf_find(const toft_dwarf *d, const char *name, void *function) {
  void *found = dlsym(d->library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static TOFT_RARE int toft_dwarf_begin(toft_dwarf *d) {
  /* By build id only: the standard search may query servers. */
  return toft_dwarf_find(d, "dwfl_linux_proc_find_elf", &d->callbacks.find_elf) &&
         toft_dwarf_find(d, "dwfl_build_id_find_debuginfo", &d->callbacks.find_debuginfo) &&
         toft_dwarf_find(d, "dwfl_begin", &d->begin) && toft_dwarf_find(d, "dwfl_linux_proc_report", &d->report) &&
         toft_dwarf_find(d, "dwfl_report_end", &d->report_end) && toft_dwarf_find(d, "dwfl_addrmodule", &d->module) &&
         toft_dwarf_find(d, "dwfl_module_info", &d->module_info) &&
         toft_dwarf_find(d, "dwfl_module_addrinfo", &d->function) &&
         toft_dwarf_find(d, "dwfl_module_getsrc", &d->line) && toft_dwarf_find(d, "dwfl_lineinfo", &d->line_info) &&
         toft_dwarf_find(d, "dwfl_module_addrdie", &d->unit) && toft_dwarf_find(d, "dwarf_getscopes", &d->scopes) &&
         toft_dwarf_find(d, "dwarf_getscopes_die", &d->scopes_of) && toft_dwarf_find(d, "dwarf_tag", &d->tag) &&
         toft_dwarf_find(d, "dwarf_attr", &d->attribute) && toft_dwarf_find(d, "dwarf_formudata", &d->number) &&
         toft_dwarf_find(d, "dwarf_getsrcfiles", &d->files) && toft_dwarf_find(d, "dwarf_filesrc", &d->file) &&
         toft_dwarf_find(d, "dwarf_decl_file", &d->declared) && toft_dwarf_find(d, "dwfl_end", &d->end) &&
         (d->session = d->begin(&d->callbacks)) != NULL && d->report(d->session, getpid()) == 0 &&
         d->report_end(d->session, NULL, NULL) == 0;
}

static void toft_dwarf_close(toft_dwarf *d) {
  if (d->session != NULL) d->end(d->session);
  if (d->library != NULL) (void)dlclose(d->library);
}

/* 0: libdw is missing or does not work. With MemorySanitizer it is not used, since memory written by an uninstrumented
 * library counts as uninitialised. */
static int toft_dwarf_open(toft_dwarf *d) {
  memset(d, 0, sizeof *d);
  if (toft_msan_unpoison != NULL) return 0;
  if (TOFT_HAS(dlopen) && TOFT_HAS(dlsym) && TOFT_HAS(dlclose))
    d->library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (d->library != NULL && toft_dwarf_begin(d)) return 1;
  toft_dwarf_close(d);
  return 0;
}

/* Whether the address is in a module that was loaded when the session began. */
static int toft_dwarf_covers(const toft_dwarf *d, const void *address) {
  return d->module(d->session, (uint64_t)(uintptr_t)address - 1) != NULL;
}

/* Whether the file belongs to Toft's inline functions or to the language's library. */
static int toft_is_library_file(const char *file) {
  const char *slash = strrchr(file, '/'), *name = slash != NULL ? slash + 1 : file, *dot = strrchr(name, '.');
  if (strcmp(name, "toft.h") == 0 || strcmp(name, "toft.c") == 0) return 1;
  if (name - file >= 5 && memcmp(name - 5, "toft/", 5) == 0 && (name - file == 5 || name[-6] == '/') && dot != NULL &&
      (strcmp(dot, ".h") == 0 || strcmp(dot, ".hpp") == 0))
    return 1;
  return strncmp(file, "/usr/include/", 13) == 0 || strstr(file, "/include/c++/") != NULL;
}

/* For an address in an inlined function of a library: replaces file and line by those of the call in the program's own
 * code, if that was inlined into the same function. Else they stay unchanged. */
static TOFT_RARE void toft_dwarf_skip_library(const toft_dwarf *d, void *module, uint64_t call, toft_symbol *symbol) {
  toft_dwarf_die *inner = NULL, *chain = NULL;
  uint64_t bias = 0;
  void *files = NULL;
  size_t known = 0;
  toft_dwarf_die *unit = d->unit(module, call, &bias);
  if (unit == NULL || d->files(unit, &files, &known) != 0 || d->scopes(unit, call - bias, &inner) <= 0) return;
  const char *file = symbol->file;
  uint64_t line = symbol->line;
  int count = d->scopes_of(&inner[0], &chain), found = 0;
  for (int i = 0; i < count && !found; i++) {
    toft_dwarf_attribute at;
    uint64_t index = 0;
    int tag = d->tag(&chain[i]);
    if (tag != TOFT_DW_TAG_INLINED && tag != TOFT_DW_TAG_SUBPROGRAM) continue;
    const char *declared = d->declared(&chain[i]);
    found = declared != NULL && !toft_is_library_file(declared);
    if (found || tag == TOFT_DW_TAG_SUBPROGRAM) break;
    if (d->attribute(&chain[i], TOFT_DW_CALL_FILE, &at) == NULL || d->number(&at, &index) != 0) break;
    file = d->file(files, (size_t)index, NULL, NULL);
    if (d->attribute(&chain[i], TOFT_DW_CALL_LINE, &at) == NULL || d->number(&at, &line) != 0 || file == NULL) break;
  }
  if (found) {
    symbol->file = file;
    symbol->line = (unsigned)line;
  }
  free(chain);
  free(inner);
}

static int toft_dwarf_symbolize(void *arg, const void *address, toft_symbol *symbol) {
  const toft_dwarf *d = (const toft_dwarf *)arg;
  uint64_t call = (uint64_t)(uintptr_t)address - 1, start = 0, offset = 0, info[8];
  void *module = d->module(d->session, call);
  if (module == NULL) return toft_symbolize(NULL, address, symbol);
  memset(symbol, 0, sizeof *symbol);
  symbol->module = d->module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
  symbol->module_offset = (size_t)(call - start);
  symbol->function = d->function(module, call, &offset, info, NULL, NULL, NULL);
  if (symbol->function != NULL) symbol->offset = (size_t)offset + 1;
  int number = 0;
  void *line = d->line(module, call);
  if (line != NULL) symbol->file = d->line_info(line, NULL, &number, NULL, NULL, NULL);
  symbol->line = number > 0 ? (unsigned)number : 0;
  if (symbol->file != NULL && toft_is_library_file(symbol->file)) toft_dwarf_skip_library(d, module, call, symbol);
  return 1;
}

#else

typedef struct toft_dwarf {
  char none;
} toft_dwarf;
static TOFT_RARE int toft_dwarf_open(toft_dwarf *d) { return (void)d, 0; }
static void toft_dwarf_close(toft_dwarf *d) { (void)d; }
static int toft_dwarf_covers(const toft_dwarf *d, const void *address) { return (void)d, (void)address, 1; }
static int toft_dwarf_symbolize(void *arg, const void *address, toft_symbol *symbol) {
  return toft_symbolize(arg, address, symbol);
}

#endif

#endif
