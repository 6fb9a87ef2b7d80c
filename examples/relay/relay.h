/* Interface between Go, C and Rust, which pass each other addresses within one arena, and nothing else.
 *
 * A log's text, the records that C finds in it and the index that Rust makes of them are in the caller's arena.
 * They live until its owner rewinds, resets or releases it. Results: TOFT_OK, or TOFT_ENOMEM if
 * the arena has no memory or its budget allows no more. Earlier allocations stay in the arena; *out is not
 * written.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef RELAY_H
#define RELAY_H

#include <stdint.h>

#include "../../abi/toft_abi.h" /* all that is needed of Toft */

typedef struct relay_text { /* not terminated: a part of the log */
  const char *at;
  size_t size;
} relay_text;

typedef struct relay_record {
  relay_text host, method, path; /* the path without its query */
  uint64_t status, bytes, micros;
} relay_record;

typedef struct relay_log {
  relay_record *records;
  size_t count, malformed; /* lines */
} relay_log;

typedef struct relay_group { /* the requests for one path */
  relay_text path;
  uint64_t requests, errors, bytes;      /* errors: a status of 500 or more; bytes: of all */
  const relay_record *const *by_slowest; /* `requests` of them; equally long ones in the order of the log */
} relay_group;

typedef struct relay_index { /* groups, sorted by the bytes of their paths; NULL if there are none */
  const relay_group *groups;
  size_t count;
} relay_index;

/* C, parse.c: the lines of an access log, in the combined format's order, and the seconds that the request took:
 *     203.0.113.7 - - [22/Nov/2026:11:12:36 +0000] "GET /items?page=2 HTTP/1.1" 200 5316 0.004
 * A malformed line is counted and skipped. The texts of the records are parts of the log. */
int relay_parse(toft_arena *a, relay_text log, relay_log *out);

/* Parses one line, without its end. Returns 1 if it is well-formed. */
int relay_parse_line(const char *at, const char *end, relay_record *out);

/* Rust, index/src/lib.rs. */
int relay_index_in(toft_arena *a, const relay_log *log, relay_index *out);

/* ---- the same with a copy at each border, for comparison ---- */

/* Calls of malloc and free by C, Rust and Go; and bytes copied between their memories. */
typedef struct relay_count {
  uint64_t allocations, frees, copied;
} relay_count;
extern relay_count relay_counts;

/* C, copied.c: records that own their texts. NULL: no memory. The caller frees them with relay_copied_log_free. */
relay_log *relay_copied_parse(relay_text log);
void relay_copied_log_free(relay_log *log);

/* Rust, index/src/copied.rs: an index that owns its contents. The caller frees it with relay_copied_index_free. */
relay_index *relay_copied_index(const relay_log *log);
void relay_copied_index_free(relay_index *index);

/* malloc and free, counted. */
void *relay_malloc(size_t size);
void relay_free(void *p);

#endif
