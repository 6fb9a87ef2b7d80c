/* C's half: lines into records whose texts stay where Go put them. SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "relay.h"

/* Moves *p behind the next c; t becomes the text before it. */
static int until(const char **p, const char *end, char c, relay_text *t) {
  const char *found = memchr(*p, c, (size_t)(end - *p));
  if (found == NULL) return 0;
  *t = (relay_text){*p, (size_t)(found - *p)};
  *p = found + 1;
  return 1;
}

/* Reads the digits of a number below 10^18; returns how many there were. */
static int number(const char **p, const char *end, uint64_t *n) {
  int digits = 0;
  for (*n = 0; *p < end && **p >= '0' && **p <= '9' && digits < 18; digits++) *n = *n * 10 + (uint64_t)(*(*p)++ - '0');
  return digits;
}

int relay_parse_line(const char *at, const char *end, relay_record *r) {
  relay_text skipped, request;
  uint64_t fraction = 0;
  if (!until(&at, end, ' ', &r->host) || !until(&at, end, '"', &skipped) || !until(&at, end, '"', &request)) return 0;
  const char *p = request.at, *over = request.at + request.size;
  if (!until(&p, over, ' ', &r->method) || !until(&p, over, ' ', &r->path)) return 0;
  const char *query = memchr(r->path.at, '?', r->path.size);
  if (query != NULL) r->path.size = (size_t)(query - r->path.at);
  if (at == end || *at++ != ' ' || number(&at, end, &r->status) != 3) return 0;
  if (at == end || *at++ != ' ' || number(&at, end, &r->bytes) == 0) return 0;
  if (at == end || *at++ != ' ' || number(&at, end, &r->micros) == 0 || r->micros >= 1000000000) return 0;
  if (at == end || *at++ != '.') return 0;
  int digits = number(&at, end, &fraction);
  if (digits == 0 || digits > 6 || at != end) return 0;
  for (; digits < 6; digits++) fraction *= 10;
  r->micros = r->micros * 1000000 + fraction;
  return 1;
}

/* Section 3 of the ABI: compare, then add. */
static relay_record *room_for(toft_arena *a, size_t n) {
  unsigned char *p = a->cursor;
  size_t size = n <= SIZE_MAX / sizeof(relay_record) ? n * sizeof(relay_record) : SIZE_MAX; /* too large: refused */
  if ((size_t)(a->limit - p) < size) return (relay_record *)a->ops->alloc(a, size, 8, 0, 0);
  a->cursor = p + size;
  return (relay_record *)(void *)p;
}

/* Shrinks the newest allocation to n: an inline resize, if the provider need not see it. */
static void keep(toft_arena *a, relay_record *r, size_t had, size_t n) {
  if ((a->epoch & 1) == 0 && a->cursor == (unsigned char *)(r + had)) a->cursor = (unsigned char *)(r + n);
}

int relay_parse(toft_arena *a, relay_text log, relay_log *out) {
  size_t lines = 1, count = 0, malformed = 0;
  for (const char *p = log.at, *end = p + log.size; p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
    lines++;
  relay_record *r = room_for(a, lines);
  if (r == NULL) return TOFT_ENOMEM;
  for (const char *p = log.at, *end = p + log.size; p < end;) {
    relay_text line = {p, (size_t)(end - p)};
    if (!until(&p, end, '\n', &line)) p = end;
    if (relay_parse_line(line.at, line.at + line.size, &r[count]))
      count++;
    else
      malformed++;
  }
  keep(a, r, lines, count);
  *out = (relay_log){r, count, malformed};
  return TOFT_OK;
}
