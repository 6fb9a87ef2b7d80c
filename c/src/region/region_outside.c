/* The reports of a checked region. At its checkpoints: words that are the address of writable memory outside of the
 * region, which a restore does not bring back. Linux only, since it needs the mappings of the process.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_REGION_OUTSIDE_C
#define TOFT_REGION_REGION_OUTSIDE_C

#include "../core/hooks.h"
#include "../debug/omitted.c"
#include "../debug/reports.c"
#include "../platform/mappings.c"
#include "region_walk.c"

#if defined(TOFT_HAS_MAPPINGS) && !defined(TOFT_OMIT_CHECKS)
#define TOFT_OUTSIDE_MAX 16 /* findings of a checkpoint */

typedef struct toft_outside_scan {
  uintptr_t from, to; /* the region's range */
  toft_mappings writable;
  toft_arena *arena; /* that is read, or NULL */
  toft_call_info call;
  size_t found;
} toft_outside_scan;

/* Appends the variable of a loaded module, or the name of the mapping. */
static void toft_put_target(toft_text_writer *t, uintptr_t target) {
  char name[256];
  if (toft_put_variable(target, t)) return;
  toft_mapping_name(target, name, sizeof name);
  toft_put_name(t, name);
}

static void toft_outside_report(toft_outside_scan *s, const unsigned char *at, uintptr_t target) {
  char place[TOFT_SITE_TEXT_MAX];
  toft_text_writer t = {place, place + sizeof place - 1};
  toft_report f;
  if (++s->found > TOFT_OUTSIDE_MAX) return;
  toft_put_target(&t, target);
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_OUTSIDE;
  f.arena = s->arena;
  f.p = at;
  f.size = sizeof target;
  f.claimed_size = target;
  f.target = place;
  f.detected = s->call;
  toft_publish_report(&f);
}

/* Bytes that were never written count as written for the memory tools. */
static void toft_outside_read(void *arg, toft_arena *arena, const unsigned char *p, size_t size) {
  toft_outside_scan *s = (toft_outside_scan *)arg;
  const unsigned char *end = p + size;
  uintptr_t word;
  s->arena = arena;
  for (p += toft_pad(p, sizeof word); p < end && (size_t)(end - p) >= sizeof word; p += sizeof word) {
    memcpy(&word, p, sizeof word);
    toft_unpoison(&word, sizeof word);
    if (word < TOFT_ADDRESS_MIN || (word >= s->from && word < s->to)) continue;
    if (toft_mappings_contain(&s->writable, word)) toft_outside_report(s, p, word);
  }
}

static void toft_outside_report_rest(const toft_outside_scan *s) {
  toft_report f;
  if (s->found <= TOFT_OUTSIDE_MAX) return;
  memset(&f, 0, sizeof f);
  f.kind = TOFT_FOUND_OUTSIDE;
  f.size = s->found - TOFT_OUTSIDE_MAX;
  f.detected = s->call;
  toft_publish_report(&f);
}

static int toft_region_is_checked(const toft_region_control *c) {
  size_t switches = toft_process_switches();
  return (c->flags & TOFT_REGION_CHECKED) != 0 ||
         ((switches & TOFT_PROCESS_CHECKS) && !(switches & TOFT_PROCESS_HAS_TOOL));
}

static int toft_region_has_checks(void) { return 1; }

/* Without memory for the list of mappings nothing is reported. */
static void toft_region_report_outside(const toft_region *r, uintptr_t site) {
  toft_outside_scan s;
  if (!toft_region_is_checked(r->control)) return;
  memset(&s, 0, sizeof s);
  s.from = (uintptr_t)r->base;
  s.to = s.from + r->control->max;
  s.call = toft_call_begun("checkpoint", site);
  const toft_content_walk walk = {toft_outside_read, &s};
  if (toft_mappings_read(&s.writable, 1)) toft_region_walk(r, &walk);
  toft_outside_report_rest(&s);
  toft_mappings_free(&s.writable);
}
#else
static int toft_region_has_checks(void) { return 0; }
static TOFT_RARE void toft_region_report_outside(const toft_region *r, uintptr_t site) { (void)r, (void)site; }
#endif

#endif
