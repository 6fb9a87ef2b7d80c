/* Strings in an arena: printf, and packed bytes. Uses the public ABI only, so arenas of any provider will do.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_API_STRINGS_C
#define TOFT_API_STRINGS_C

#include "../core/policy.c"
#include "../debug/debug_api.c"
#include "../platform/base.h"

#ifndef TOFT_NO_LIBC
/* Formats into the remaining bytes, and a second time if they were too few. */
char *toft_vprintf(toft_arena *a, const char *format, va_list args) {
  va_list copy;
  toft_attribute_call(a, TOFT_CALLER());
  size_t remaining =
      toft_min((size_t)(a->limit - a->cursor), INT_MAX); /* the maximum that vsnprintf accepts everywhere */
  va_copy(copy, args);
  int length = vsnprintf(remaining != 0 ? (char *)a->cursor : NULL, remaining, format, args);
  char *s = NULL;
  if (length >= 0) {
    size_t size = (size_t)length + 1;
    unsigned char *start = a->cursor;
    s = (char *)toft_alloc(a, size);
    if (s != NULL && ((unsigned char *)s != start || size > remaining)) (void)vsnprintf(s, size, format, copy);
  }
  va_end(copy);
  return s;
}

char *toft_printf(toft_arena *a, const char *format, ...) {
  va_list args;
  toft_attribute_call(a, TOFT_CALLER());
  va_start(args, format);
  char *s = toft_vprintf(a, format, args);
  va_end(args);
  return s;
}
#endif

/* Strings above a quarter of a chunk are allocated separately, so that at most a quarter of a chunk is wasted. Chunks
 * double up to 4 KiB. */
void *toft_pack_grow(toft_pack *k, size_t n) {
  toft_attribute_call(k->arena, TOFT_CALLER());
  if (n > k->chunk / 4) return toft_alloc(k->arena, n);
  unsigned char *p = (unsigned char *)toft_alloc(k->arena, k->chunk);
  if (p == NULL) return toft_alloc(k->arena, n);
  k->cursor = p + n;
  k->limit = p + k->chunk;
  if (k->chunk < 4096) k->chunk *= 2;
  return p;
}

void *toft_pack_bytes(toft_pack *k, const void *p, size_t n) {
  void *q = toft_pack_alloc(k, n);
  if (q != NULL && n != 0) memcpy(q, p, n);
  return q;
}

#endif
