/* C's part with a copy at the border, as in bindings: the receiver owns the results, and frees each.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "relay.h"

relay_count relay_counts;

void *relay_malloc(size_t size) {
  void *p = malloc(size != 0 ? size : 1);
  if (p != NULL) relay_counts.allocations++;
  return p;
}

void relay_free(void *p) {
  if (p != NULL) relay_counts.frees++;
  free(p);
}

/* Copies the text. Without memory it is empty. */
static int own(relay_text *t) {
  char *p = relay_malloc(t->size);
  if (p == NULL) {
    *t = (relay_text){NULL, 0};
    return 0;
  }
  memcpy(p, t->at, t->size);
  relay_counts.copied += t->size;
  t->at = p;
  return 1;
}

/* Copies all three, also after a failure: each is then owned, or empty. */
static int own_all(relay_record *r) {
  int host = own(&r->host), method = own(&r->method), path = own(&r->path);
  return host && method && path;
}

relay_log *relay_copied_parse(relay_text text) {
  relay_log *log = relay_malloc(sizeof *log);
  if (log == NULL) return NULL;
  *log = (relay_log){NULL, 0, 0};
  size_t room = 0;
  for (const char *p = text.at, *end = p + text.size; p < end;) {
    const char *line = p, *found = memchr(p, '\n', (size_t)(end - p)), *over = found != NULL ? found : end;
    relay_record r;
    p = found != NULL ? found + 1 : end;
    if (!relay_parse_line(line, over, &r)) {
      log->malformed++;
      continue;
    }
    if (log->count == room) { /* grows by halves, as vectors do */
      size_t more = room + room / 2 + 16;
      relay_record *grown = relay_malloc(more * sizeof *grown);
      if (grown != NULL && room != 0) memcpy(grown, log->records, log->count * sizeof *grown);
      if (grown == NULL) {
        relay_copied_log_free(log);
        return NULL;
      }
      relay_free(log->records);
      log->records = grown;
      room = more;
    }
    int whole = own_all(&r);
    log->records[log->count++] = r;
    if (!whole) {
      relay_copied_log_free(log);
      return NULL;
    }
  }
  return log;
}

void relay_copied_log_free(relay_log *log) {
  if (log == NULL) return;
  for (size_t i = 0; i < log->count; i++) {
    relay_free((void *)(uintptr_t)log->records[i].host.at);
    relay_free((void *)(uintptr_t)log->records[i].method.at);
    relay_free((void *)(uintptr_t)log->records[i].path.at);
  }
  relay_free(log->records);
  relay_free(log);
}
