/* The modules of the process, the program and its shared libraries, with their build ids.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_MODULES_C
#define TOFT_DEBUG_MODULES_C

#include "../platform/os.c"
#include "json.c"
#include "symbolize.c"

#if TOFT_DYNAMIC && defined(__linux__) && defined(__ELF__)
#include <link.h>
/* Declared under another name, since <link.h> declares dl_iterate_phdr depending on earlier includes. */
typedef struct toft_dl_headers {
  ElfW(Addr) base;
  const char *path;
  const ElfW(Phdr) * headers;
  ElfW(Half) count;
} toft_dl_headers;
extern int toft_dl_iterate(int (*each)(toft_dl_headers *, size_t, void *), void *arg) __asm__("dl_iterate_phdr")
    __attribute__((weak));

/* A segment of code. */
typedef struct toft_module {
  size_t index;     /* the number of this one among all; counted down while it is looked for */
  const char *path; /* "": the program */
  uintptr_t address;
  uint64_t size, offset; /* offset: in the file */
  const unsigned char *build_id;
  size_t build_id_size;
} toft_module;

/* The build id in the notes of a segment. */
static void toft_module_read_notes(toft_module *m, const unsigned char *at, size_t size) {
  ElfW(Nhdr) note;
  while (size > sizeof note) {
    memcpy(&note, at, sizeof note);
    size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3, text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
    size_t whole = sizeof note + name + text;
    if (whole > size) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + sizeof note, "GNU", 4) == 0) {
      m->build_id = at + sizeof note + name;
      m->build_id_size = note.n_descsz;
      return;
    }
    at += whole;
    size -= whole;
  }
}

/* Stops at the segment with the wanted index. */
static TOFT_RARE int toft_module_find(toft_dl_headers *info, size_t size, void *arg) {
  toft_module *m = (toft_module *)arg;
  int found = 0;
  (void)size;
  if (info->path[0] != 0 && strchr(info->path, '/') == NULL) return 0; /* the kernel's, without a file */
  m->build_id_size = 0;
  for (size_t i = 0; i < info->count; i++) {
    const ElfW(Phdr) *h = &info->headers[i];
    uintptr_t at = (uintptr_t)info->base + (uintptr_t)h->p_vaddr;
    if (h->p_type == PT_NOTE && m->build_id_size == 0)
      toft_module_read_notes(m, (const unsigned char *)at, (size_t)h->p_memsz);
    if (h->p_type != PT_LOAD || !(h->p_flags & PF_X) || m->index-- != 0) continue;
    m->path = info->path;
    m->address = at;
    m->size = h->p_memsz;
    m->offset = h->p_offset;
    found = 1;
  }
  return found;
}

static TOFT_RARE void toft_json_module(toft_json *j, const toft_module *m) {
  char executable[1024];
  const char *path = m->path;
  if (*path == 0) path = toft_os_executable(executable, sizeof executable) ? executable : "";
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_text(j, "module", path);
  toft_json_key(j, "address");
  toft_json_raw(j, "\"0x");
  toft_json_digits(j, (uint64_t)m->address, 16);
  toft_json_raw(j, "\"");
  toft_json_number(j, "size", m->size);
  toft_json_number(j, "offset", m->offset);
  if (m->build_id_size != 0) {
    toft_json_key(j, "build_id");
    toft_json_raw(j, "\"");
    for (size_t i = 0; i < 2 * m->build_id_size; i++)
      toft_json_digits(j, i % 2 == 0 ? m->build_id[i / 2] >> 4 : m->build_id[i / 2] & 15, 16);
    toft_json_raw(j, "\"");
  }
  toft_json_close(j, "}");
}

/* No lock of the dynamic linker is held while they are written. */
static void toft_json_modules(toft_json *j) {
  toft_module m;
  toft_json_key(j, "modules");
  toft_json_open(j, "[");
  for (size_t i = 0; TOFT_HAS(toft_dl_iterate); i++) {
    memset(&m, 0, sizeof m);
    m.index = i;
    if (toft_dl_iterate(toft_module_find, &m) == 0) break;
    toft_json_module(j, &m);
  }
  toft_json_close(j, "]");
}
#else
static TOFT_RARE void toft_json_modules(toft_json *j) { (void)j; }
#endif

#endif
