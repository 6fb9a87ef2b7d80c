/* The sites of calls: their stacks are unwound once and entered into a tree.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_STACKS_H
#define TOFT_PRELOAD_STACKS_H

#include "frames.h"

/* Defined by the library. They receive each new frame, and each new site, whose innermost frame is `leaf`; 0: the
 * stack is not known. */
static void note_frame(uint64_t ip, uint64_t cfa, uint64_t function, uint32_t id, uint32_t parent);
static void note_site(uint32_t i, uint64_t ra, uint64_t sp, uint32_t leaf);

static uint32_t node_hash(uint64_t ip, uint64_t cfa) {
  uint64_t h = (ip * 0x9E3779B97F4A7C15u) ^ (cfa * 0xC2B2AE3D27D4EB4Fu);
  return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* The last bytes that were read of the stack that is unwound. */
static struct { uint64_t start, size; } W;

typedef struct unwinding {
  uint64_t ra, sp;
  unsigned count, skipped;
  uint32_t known; /* the node of the frame after the last */
  struct {
    uint64_t ip, cfa, function;
  } frame[FRAMES_MAX];
} unwinding;

/* Reads a word of the program's stack through the kernel: a frame that was known once may be on another
 * stack by now, in pages that are inaccessible. 0: it cannot be read. */
static int read_stack(uint64_t at, uint64_t *word) {
  static uint64_t window[WINDOW / 8];
  if (at - W.start > W.size || W.size - (at - W.start) < 8) {
    struct iovec to = {window, WINDOW}, from = {(void *)(uintptr_t)at, WINDOW};
    ssize_t n = S.sandbox ? 0 : process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    W.start = at;
    W.size = n > 0 ? (uint64_t)n : 0;
    if (W.size < 8) return 0;
  }
  memcpy(word, (char *)window + (at - W.start), 8);
  return 1;
}

/* Whether the callers of a known frame are those of the current stack: the return addresses of the next VERIFIED
 * callers are compared with those in the stack. Frames further out are taken to be the same. */
static int has_chain(const node_link *n, const unwinding *u) {
  for (int i = 0; i < VERIFIED && n->parent != 0; i++, n = &S.nodes[n->parent]) {
    uint64_t found;
    if (n->cfa <= u->sp || !read_stack(n->cfa - 8, &found) || found != S.nodes[n->parent].ip) return 0;
  }
  return 1;
}

/* The number of a known frame of the same function, address and callers, or 0. */
static uint32_t known_node(uint64_t ip, uint64_t cfa, const unwinding *u) {
  uint32_t i = node_hash(ip, cfa), id;
  if (!READS_STACK) return 0;
  for (; (id = S.node_table[i & S.node_mask]) != 0; i++)
    if (S.nodes[id].ip == ip && S.nodes[id].cfa == cfa && has_chain(&S.nodes[id], u)) return id;
  return 0;
}

#if defined(__x86_64__)
/* Whether a known frame and its callers are those from the index `k` on. */
static int is_chain(const node_link *n, const unwinding *u, unsigned k) {
  for (unsigned last = k + VERIFIED; k < u->count; n = &S.nodes[n->parent]) {
    if (n->ip != u->frame[k].ip || n->cfa != u->frame[k].cfa) return 0;
    if (n->parent == 0 || k++ == last) return 1;
  }
  return 0;
}

/* Sets `known`, if the frame of that index is. */
static int find_known(unwinding *u, unsigned k) {
  uint32_t i = node_hash(u->frame[k].ip, u->frame[k].cfa), id;
  for (; (id = S.node_table[i & S.node_mask]) != 0; i++)
    if (is_chain(&S.nodes[id], u, k)) break;
  if (id != 0) u->count = k;
  u->known = id;
  return id != 0;
}

/* Unwinds by rules that are known. The library's functions are compiled with frame pointers, so that the caller's is in
 * the word before the return address. 0: libgcc must. */
static int walk(unwinding *u) {
  uint64_t ip = u->ra, sp = u->sp, rbp = ((const uint64_t *)(uintptr_t)sp)[-2];
  unsigned checked = 0;
  while (u->count < FRAMES_MAX) {
    const frame_rule *r = rule_of(ip);
    if (r == NULL) break;
    unsigned k = u->count++;
    u->frame[k].ip = ip;
    u->frame[k].function = r->function;
    u->frame[k].cfa = 0;
    if (r->is_outermost) break;
    if (!next_frame(r, &ip, &sp, &rbp)) return 0;
    if (ip == 0) break;
    u->frame[k].cfa = sp;
    if (k >= VERIFIED && find_known(u, checked++)) return 1;
  }
  while (checked < u->count && !find_known(u, checked)) checked++;
  return 1;
}

#ifdef TOFT_ASSERTIONS
static _Unwind_Reason_Code compare_frame(struct _Unwind_Context *c, void *arg) {
  unwinding *u = (unwinding *)arg;
  if (u->skipped == 0 && _Unwind_GetIP(c) != u->ra) return _URC_NO_REASON;
  unsigned k = u->skipped++;
  if (k == u->count) return _URC_END_OF_STACK;
  if (u->frame[k].ip != _Unwind_GetIP(c) || u->frame[k].function != _Unwind_GetRegionStart(c)) abort();
  if (k > 0 && u->frame[k - 1].cfa != _Unwind_GetCFA(c)) abort();
  return k + 1 < u->count ? _URC_NO_REASON : _URC_END_OF_STACK; /* it may stop at what is no code */
}
#endif
#else
static int walk(unwinding *u) { return (void)u, 0; }
#endif

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *arg) {
  unwinding *u = (unwinding *)arg;
  uint64_t ip = _Unwind_GetIP(c), cfa = _Unwind_GetCFA(c);
  if (u->count == 0 && ip != u->ra) return ++u->skipped < 8 ? _URC_NO_REASON : _URC_END_OF_STACK;
  if (u->count > 0) {
    unsigned last = u->count - 1;
    u->frame[last].cfa = cfa; /* libgcc states the stack pointer at the call in this frame: the previous frame's CFA */
    if (u->count == FRAMES_MAX || cfa <= u->sp) return _URC_END_OF_STACK;
    u->known = known_node(u->frame[last].ip, cfa, u);
    if (u->known != 0) {
      u->count--;
      return _URC_END_OF_STACK;
    }
  }
  u->frame[u->count].ip = ip;
  u->frame[u->count].cfa = 0;
  u->frame[u->count++].function = _Unwind_GetRegionStart(c);
  return _URC_NO_REASON;
}

static _Unwind_Reason_Code no_frame(struct _Unwind_Context *c, void *arg) {
  (void)c, (void)arg;
  return _URC_END_OF_STACK;
}

static void enter_node(uint32_t id) {
  const node_link *n = &S.nodes[id];
  uint32_t other, same = 0, i = node_hash(n->ip, n->cfa);
  for (; (other = S.node_table[i & S.node_mask]) != 0; i++)
    same += S.nodes[other].ip == n->ip && S.nodes[other].cfa == n->cfa;
  if (same < SAME_MAX) S.node_table[i & S.node_mask] = id;
}

/* Whether the table is at most half full with frames up to that number. It grows, so that few pages are touched where
 * there are few stacks. */
static int has_room(uint32_t id) {
  size_t before = S.node_table != NULL ? (size_t)S.node_mask + 1 : 0, size = (size_t)1 << TABLE_BITS;
  while (size / 2 < id) size *= 2;
  if (size <= before) return 1;
  uint32_t *t = S.sandbox ? NULL : (uint32_t *)reserve_memory(size * sizeof *t, 1), *old = S.node_table;
  if (t == NULL) return 0;
  S.node_table = t;
  S.node_mask = (uint32_t)size - 1;
  for (uint32_t i = 1; i <= S.node_count; i++) enter_node(i);
  if (old != NULL) munmap(old, before * sizeof *old);
  return 1;
}

/* Enters the frames of a stack into the tree, from the outermost. Returns the innermost frame's number. */
static uint32_t add_nodes(const unwinding *u, uint32_t *ids) {
  uint32_t parent = u->known;
  for (unsigned k = u->count; k-- > 0;) {
    uint32_t id = S.node_count + 1;
    if (id >= S.node_end || !has_room(id)) return 0;
    S.node_count = id;
    S.nodes[id].ip = u->frame[k].ip;
    S.nodes[id].cfa = u->frame[k].cfa;
    S.nodes[id].parent = parent;
    enter_node(id);
    ids[k] = parent = id;
  }
  return parent;
}

/* Fills the site `i`, which no other thread sees yet. It differs from others by that many callers. */
static void fill_site(uint32_t i, uint64_t key, uint64_t ra, uint64_t sp, int callers) {
  static unwinding u;
  static uint32_t ids[FRAMES_MAX];
  site *s = &S.sites[i];
  memset(s, 0, sizeof *s); /* after a fork it has the parent's contents */
  u.ra = ra;
  u.sp = sp;
  u.count = u.skipped = 0;
  u.known = 0;
  W.size = 0;
  if (!walk(&u)) {
    u.count = 0;
    _Unwind_Backtrace(on_frame, &u);
#if defined(TOFT_ASSERTIONS) && defined(__x86_64__)
  } else {
    _Unwind_Backtrace(compare_frame, &u);
    if (u.skipped < u.count) abort();
#endif
  }
  uint32_t leaf = add_nodes(&u, ids), known = u.known;
  if (leaf != 0) {
    uint32_t parent = known;
    for (unsigned k = u.count; k-- > 0; parent = ids[k])
      note_frame(u.frame[k].ip, u.frame[k].cfa, u.frame[k].function, ids[k], parent);
    note_site(i, ra, sp, leaf);
#if defined(__x86_64__)
    uint64_t page_end = (sp | (PAGE - 1)) + 1;
    for (int j = 0; j < callers; j++, leaf = S.nodes[leaf].parent) {
      uint32_t caller = S.nodes[leaf].parent;
      if (caller == 0 || S.nodes[leaf].cfa > page_end || S.nodes[leaf].cfa < sp + 8) break;
      s->slot[j] = (const void *)(uintptr_t)(S.nodes[leaf].cfa - 8);
      s->caller[j] = S.nodes[caller].ip;
    }
#endif
  }
  s->key = key;
}

/* Whether the callers of a site are those of the current stack. The slots are in the page of the stack pointer. */
static inline int has_callers(const site *s) {
  for (int j = 0; j < CALLERS; j++) {
    if (s->slot[j] == NULL) return 1;
    if (*(const uint64_t *)s->slot[j] != s->caller[j]) return 0;
  }
  return 1;
}

static site_table *new_table(unsigned bits) {
  size_t bytes = sizeof(site_table) + sizeof(uint32_t) * ((size_t)1 << bits);
  site_table *t = (site_table *)reserve_memory(bytes, 0);
  if (t == NULL) return NULL;
  t->shift = 64 - bits;
  t->mask = ((uint32_t)1 << bits) - 1;
  return t;
}

static void enter(site_table *t, uint64_t key, uint32_t id) {
  uint32_t i = (uint32_t)(key >> t->shift);
  while (t->number[i] != 0) i = (i + 1) & t->mask;
  STORE(&t->number[i], id);
}

/* `same`: sites of the same key that differ by their callers. */
static uint32_t lookup(const site_table *t, uint64_t key, int *same) {
  uint32_t id, i = (uint32_t)(key >> t->shift);
  for (*same = 0; (id = LOAD(&t->number[i])) != 0; i = (i + 1) & t->mask) {
    if (S.sites[id].key != key) continue;
    if (has_callers(&S.sites[id])) return id;
    ++*same;
  }
  return 0;
}

static void grow_table(unsigned bits) {
  site_table *t = S.table, *larger = new_table(bits);
  if (larger == NULL) return;
  for (uint32_t i = 0; i <= t->mask; i++)
    if (t->number[i] != 0) enter(larger, S.sites[t->number[i]].key, t->number[i]);
  STORE(&S.table, larger);
}

typedef struct call_site {
  uint64_t key, ra, sp;
  uint32_t id;
} call_site;

/* Finds or enters a site. The old table stays mapped: other threads may read it. */
static void enter_site(void *arg) {
  call_site *c = (call_site *)arg;
  int same;
  c->id = lookup(S.table, c->key, &same);
  if (c->id != 0 || S.site_count + 1 >= S.site_end) return;
  c->id = ++S.site_count;
  fill_site(c->id, c->key, c->ra, c->sp, same < VARIANTS ? CALLERS : 1);
  if (S.entered++ > S.table->mask / 2 && !S.sandbox) grow_table(64 - S.table->shift + 1);
  if (S.entered <= S.table->mask) enter(S.table, c->key, c->id);
}

/* The number of the site of a call; 0 if there are too many. */
static NOINLINE uint32_t find_site(uint64_t key, uint64_t ra, uint64_t sp) {
  int same, error = errno;
  call_site c = {key, ra, sp, lookup(LOAD(&S.table), key, &same)};
  if (c.id == 0) aside(enter_site, &c);
  errno = error;
  return c.id;
}

/* The number of the site of a call, which is in the table in most cases. 0 has no key. */
static ALWAYS_INLINE uint32_t site_of(const void *ra, const void *sp) {
  uint64_t key = ((uint64_t)(uintptr_t)ra * 0x9E3779B97F4A7C15u) ^ ((uint64_t)(uintptr_t)sp * 0xC2B2AE3D27D4EB4Fu);
  const site_table *t = LOAD(&S.table);
  uint32_t i = LOAD(&t->number[key >> t->shift]);
  const site *s = &S.sites[i];
  if (UNLIKELY(s->key != key || !has_callers(s))) i = find_site(key, (uint64_t)(uintptr_t)ra, (uint64_t)(uintptr_t)sp);
  return i;
}

/* Reserves the memory of the tables, and the library's own stack. 0: there is none. */
static int prepare_sites(void) {
  unsigned bits = SITES_BITS;
  size_t each = sizeof *S.sites + sizeof *S.nodes + 2 * sizeof *S.node_table, share = memory_limit() / LIMIT_SHARE;
  while (bits > SITES_BITS_MIN && each << bits > share) bits--;
  S.site_end = S.node_end = (uint32_t)1 << bits;
  S.sites = (site *)reserve_memory(S.site_end * sizeof *S.sites, 0);
  S.table = new_table(TABLE_BITS);
  S.nodes = (node_link *)reserve_memory(S.node_end * sizeof *S.nodes, 0);
  char *stack = (char *)reserve_memory(OWN_STACK, 0);
  if (S.sites == NULL || S.table == NULL || S.nodes == NULL || stack == NULL || !has_room(1)) return 0;
  S.stack_top = stack + OWN_STACK;
  return mprotect(stack, PAGE, PROT_NONE) == 0;
}

/* Returns the end of a table but for SPARE elements. The number of those that are left. */
static uint32_t cut(void *table, size_t each, uint32_t used, uint32_t end) {
  size_t kept = (each * (used + SPARE) + PAGE - 1) & -(size_t)PAGE, all = each * end;
  if (kept >= all || munmap((char *)table + kept, all - kept) != 0) return end;
  return (uint32_t)(kept / each);
}

/* Before the time without system calls. */
static void grow_tables(void) {
  if (64 - S.table->shift < SANDBOX_TABLE_BITS) grow_table(SANDBOX_TABLE_BITS);
  (void)has_room(S.node_end);
}

/* Returns unused memory. */
static void cut_sites(void) {
  S.site_end = cut(S.sites, sizeof *S.sites, S.site_count, S.site_end);
  S.node_end = cut(S.nodes, sizeof *S.nodes, S.node_count, S.node_end);
  (void)has_room(S.node_end);
}

#endif
