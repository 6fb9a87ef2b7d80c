/* JSON that is written through a callback without allocating.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_DEBUG_JSON_C
#define TOFT_DEBUG_JSON_C

#include "../core/policy.c"
#include "../platform/base.h"
#include "symbolize.c"

typedef struct toft_json {
  int (*write)(void *arg, const char *bytes, size_t size); /* 0: written */
  void *arg;
  int code;  /* result of write; nothing is written after an error */
  int first; /* the next element is the first of its object or array */
  size_t length;
  char text[256]; /* buffered text */
} toft_json;

static toft_json toft_json_to(int (*write)(void *, const char *, size_t), void *arg) {
  toft_json j;
  memset(&j, 0, sizeof j);
  j.write = write;
  j.arg = arg;
  return j;
}

/* The length of the UTF-8 character at the start of n > 0 bytes; 0 if there is none. */
static size_t toft_utf8(const unsigned char *s, size_t n) {
  unsigned char c = s[0];
  size_t length = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (length == 0 || length > n) return 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  /* overlong, a surrogate, or above 0x10FFFF */
  if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) || (c == 0xF0 && s[1] < 0x90) ||
      (c == 0xF4 && s[1] > 0x8F))
    return 0;
  return length;
}

static void toft_json_flush(toft_json *j) {
  if (j->length != 0 && j->code == 0) j->code = j->write(j->arg, j->text, j->length);
  j->length = 0;
}

static void toft_json_bytes(toft_json *j, const char *s, size_t n) {
  while (n != 0) {
    size_t part = toft_min(n, sizeof j->text - j->length);
    memcpy(j->text + j->length, s, part);
    j->length += part;
    s += part;
    n -= part;
    if (j->length == sizeof j->text) toft_json_flush(j);
  }
}

static void toft_json_raw(toft_json *j, const char *s) { toft_json_bytes(j, s, strlen(s)); }

static TOFT_RARE void toft_json_digits(toft_json *j, uint64_t n, unsigned base) {
  char digits[20], *at = digits + sizeof digits;
  do {
    *--at = "0123456789abcdef"[n % base];
    n /= base;
  } while (n != 0);
  toft_json_bytes(j, at, (size_t)(digits + sizeof digits - at));
}

/* Invalid UTF-8 in names is replaced. */
static TOFT_RARE void toft_json_string(toft_json *j, const char *s) {
  size_t remaining = strlen(s);
  toft_json_raw(j, "\"");
  while (remaining != 0) {
    size_t n = toft_utf8((const unsigned char *)s, remaining);
    unsigned char c = (unsigned char)*s;
    if (n == 0) {
      toft_json_raw(j, "\xEF\xBF\xBD");
      n = 1;
    } else if (c == '"' || c == '\\') {
      toft_json_raw(j, "\\");
      toft_json_bytes(j, s, 1);
    } else if (c < 0x20) {
      toft_json_raw(j, c < 0x10 ? "\\u000" : "\\u001");
      toft_json_digits(j, c & 0xF, 16);
    } else {
      toft_json_bytes(j, s, n);
    }
    s += n;
    remaining -= n;
  }
  toft_json_raw(j, "\"");
}

static TOFT_RARE void toft_json_next(toft_json *j) {
  if (!j->first) toft_json_raw(j, ",");
  j->first = 0;
}

static TOFT_RARE void toft_json_key(toft_json *j, const char *key) {
  toft_json_next(j);
  toft_json_string(j, key);
  toft_json_raw(j, ":");
}

static TOFT_RARE void toft_json_number(toft_json *j, const char *key, uint64_t n) {
  toft_json_key(j, key);
  toft_json_digits(j, n, 10);
}

static TOFT_RARE void toft_json_signed(toft_json *j, const char *key, int64_t n) {
  toft_json_key(j, key);
  if (n < 0) toft_json_raw(j, "-");
  toft_json_digits(j, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

static TOFT_RARE void toft_json_text(toft_json *j, const char *key, const char *s) {
  toft_json_key(j, key);
  toft_json_string(j, s);
}

static TOFT_RARE void toft_json_open(toft_json *j, const char *bracket) {
  toft_json_raw(j, bracket);
  j->first = 1;
}

static TOFT_RARE void toft_json_close(toft_json *j, const char *bracket) {
  toft_json_raw(j, bracket);
  j->first = 0;
}

/* A call of a stack. */
static TOFT_RARE void toft_json_frame(toft_json *j, const void *address, const toft_symbol *s) {
  toft_json_next(j);
  toft_json_open(j, "{");
  toft_json_key(j, "address");
  toft_json_raw(j, "\"0x");
  toft_json_digits(j, (uint64_t)(uintptr_t)address, 16);
  toft_json_raw(j, "\"");
  if (s->function != NULL) {
    toft_json_text(j, "function", s->function);
    toft_json_number(j, "offset", s->offset);
  }
  if (s->module != NULL) toft_json_text(j, "module", s->module);
  if (s->module_offset != 0) toft_json_number(j, "module_offset", s->module_offset);
  if (s->file != NULL) toft_json_text(j, "file", s->file);
  if (s->file != NULL) toft_json_number(j, "line", s->line);
  toft_json_close(j, "}");
}

#endif
