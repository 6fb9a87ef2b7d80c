/* Calls every function of the family of malloc, and mixes them as the library that the program is linked to allows.
 * JEMALLOC, TCMALLOC, MIMALLOC: also the functions that only this library has. CLASSES: prints its sizes. MEEK: its new
 * ends the program.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <malloc.h>
#include <new>

extern "C" {
#if defined(JEMALLOC)
void *mallocx(size_t, int);
void *rallocx(void *, size_t, int);
size_t xallocx(void *, size_t, size_t, int), sallocx(const void *, int), nallocx(size_t, int);
void dallocx(void *, int), sdallocx(void *, size_t, int);
#elif defined(TCMALLOC)
void *tc_malloc(size_t), *tc_realloc(void *, size_t), *tc_memalign(size_t, size_t), *tc_new(size_t);
void tc_free(void *), tc_free_sized(void *, size_t), tc_delete(void *);
size_t tc_malloc_size(void *), tc_nallocx(size_t, int);
#elif defined(MIMALLOC)
void *mi_malloc(size_t), *mi_realloc(void *, size_t), *mi_malloc_aligned(size_t, size_t);
void mi_free(void *);
char *mi_strdup(const char *);
size_t mi_usable_size(const void *), mi_good_size(size_t);
#endif
}

#define CHECK(condition) \
  if (!(condition)) std::printf("line %d\n", __LINE__), std::fflush(stdout), std::_Exit(1)

static void *checked(void *p, size_t size, size_t align) {
  CHECK(p != nullptr && (uintptr_t)p % align == 0 && malloc_usable_size(p) >= size);
  std::memset(p, 1, malloc_usable_size(p)); /* all of it is the program's */
  return p;
}

static void standard() {
  void *p = nullptr;
  for (size_t size = 1; size < 100000; size = size * 3 + 1) {
    std::free(checked(std::malloc(size), size, 16 < size ? 16 : 1));
    std::free(checked(std::calloc(size, 2), 2 * size, 1));
    std::free(checked(aligned_alloc(64, size * 64), size, 64));
    std::free(checked(memalign(256, size), size, 256));
    std::free(checked(valloc(size), size, 4096));
    CHECK(posix_memalign(&p, 512, size) == 0);
    p = checked(std::realloc(checked(p, size, 512), 2 * size), 2 * size, 1);
    std::free(checked(reallocarray(p, 3, size), 3 * size, 1));
    ::operator delete(checked(::operator new(size), size, 1));
    ::operator delete(checked(::operator new(size), size, 1), size);
    ::operator delete(checked(::operator new(size, std::nothrow), size, 1), std::nothrow);
    ::operator delete[](checked(::operator new[](size), size, 1), size);
    ::operator delete[](checked(::operator new[](size, std::nothrow), size, 1));
    const std::align_val_t align{128};
    ::operator delete(checked(::operator new(size, align), size, 128), align);
    ::operator delete(checked(::operator new(size, align), size, 128), size, align);
    ::operator delete(checked(::operator new(size, align, std::nothrow), size, 128), align, std::nothrow);
    ::operator delete[](checked(::operator new[](size, align), size, 128), size, align);
    ::operator delete[](checked(::operator new[](size, align, std::nothrow), size, 128), align);
  }
  char *text = nullptr;
  CHECK(asprintf(&text, "%d", 42) == 2);
  std::free(checked(strdup(text), 3, 1));
  std::free(checked(text, 3, 1));
  volatile size_t huge = PTRDIFF_MAX;
  errno = 0;
  CHECK(std::malloc(huge) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(nullptr, huge, 4) == nullptr && errno == ENOMEM);
  CHECK(posix_memalign(&p, 3, 8) == EINVAL);
#ifndef MEEK
  bool caught = false;
  try {
    ::operator delete(::operator new(huge));
  } catch (const std::bad_alloc &) {
    caught = true;
  }
  CHECK(caught);
#endif
  (void)malloc_trim(0);
  /* Functions that are there in some libraries only; a program looks for them. */
  for (const char *name : {"cfree", "free_sized", "free_aligned_sized"}) {
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) continue;
    void (*release)(void *, size_t, size_t);
    std::memcpy(&release, &found, sizeof release);
    const bool aligned = std::strcmp(name, "free_aligned_sized") == 0;
    p = checked(aligned ? aligned_alloc(64, 128) : std::malloc(64), 64, 16);
    release(p, 64, 128);
  }
}

static void own() {
#if defined(JEMALLOC)
  void *p = checked(mallocx(100, 0), 100, 16);
  CHECK(sallocx(p, 0) == nallocx(100, 0) && xallocx(p, 100, 0, 0) >= 100);
  p = checked(rallocx(p, 5000, 0), 5000, 16);
  sdallocx(p, 5000, 0);
  dallocx(checked(std::malloc(30), 30, 16), 0);
  sdallocx(checked(std::malloc(30), 30, 16), 30, 0);
  std::free(checked(mallocx(30, 0), 30, 16));
#elif defined(TCMALLOC)
  void *p = checked(tc_realloc(checked(tc_malloc(100), 100, 16), 5000), 5000, 16);
  CHECK(tc_malloc_size(p) == tc_nallocx(5000, 0));
  tc_free_sized(p, 5000);
  tc_free(checked(std::malloc(30), 30, 8));
  std::free(checked(tc_memalign(64, 30), 30, 64));
  tc_delete(checked(::operator new(30), 30, 8));
  ::operator delete(checked(tc_new(30), 30, 8));
#elif defined(MIMALLOC)
  void *p = checked(mi_realloc(checked(mi_malloc(100), 100, 16), 5000), 5000, 16);
  CHECK(mi_usable_size(p) >= mi_good_size(5000));
  mi_free(p);
  mi_free(checked(std::malloc(30), 30, 16));
  std::free(checked(mi_malloc_aligned(30, 64), 30, 64));
  std::free(checked(mi_strdup("text"), 5, 1));
#endif
}

int main() {
  for (int i = 0; i < 20; i++) standard();
  own();
#ifdef CLASSES /* of the library; another malloc behind the same names has others */
  for (size_t size = 1; size < 2000; size += 111) {
    void *p = std::malloc(size);
    std::printf("%zu ", malloc_usable_size(p));
    std::free(p);
  }
#endif
  std::puts("ok");
}
