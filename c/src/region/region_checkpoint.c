/* Checkpoints of a region: a tree whose nodes hold the pages of 4 KiB that differ from their parent. The written pages
 * come from the system where it keeps a record of them (platform/written.c), else pages are compared.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_REGION_CHECKPOINT_C
#define TOFT_REGION_CHECKPOINT_C

#include "../core/blocks.c"
#include "../platform/sanitizers.c"
#include "../platform/written.c"
#include "region.c"
#include "region_outside.c"
#include "region_pages.c"

/* A page of a node: its content there, and at the parent; NULL: it is behind the parent's content. */
typedef struct toft_saved_page {
  size_t page;
  const unsigned char *is, *was;
} toft_saved_page;

/* An arena that has cleanups at a node. */
typedef struct toft_saved_cleanups {
  uint64_t arena; /* number */
  uintptr_t epoch;
} toft_saved_cleanups;

typedef struct toft_node {
  toft_checkpoint number; /* above the parent's */
  struct toft_node *parent, *below;
  size_t children;
  size_t size;            /* bytes in use, from the start of the range */
  toft_saved_page *pages; /* by page */
  size_t count, room;
  toft_saved_cleanups *cleanups; /* by falling number */
  size_t cleanup_count;
  unsigned char *access; /* under a memory tool: what of it was accessible; else NULL */
  int dropped;           /* by the program; it stays while several contents depend on it */
  char name[TOFT_CHECKPOINT_NAME];
} toft_node;

struct toft_tree {
  toft_node **nodes; /* by number */
  size_t count, room;
  toft_node *current;         /* from which the present content has come; NULL: there are no nodes */
  const unsigned char **view; /* the pages at `current` */
  size_t view_room;
  toft_saved_chunk *chunks;
  toft_checkpoint last;
  size_t synced; /* with a record: a page below this differs from the view only if the system has it as written */
  int has_record, refused;
};

/* Whether a range is claimed, or a cleanup is running. */
static int toft_region_is_busy(const toft_region *r) {
  for (toft_region_arena_link *link = r->arenas; link != NULL; link = link->older) {
    const toft_state *a = toft_region_arena_of(link);
    if ((a->state & TOFT_REFUSING) && !toft_region_is_adopted(a)) return 1;
  }
  return 0;
}

/* Makes room for `count` elements of `size` bytes; the first `used` move. 0: there is no memory; nothing changed. */
static int toft_region_grow(void **array, size_t *room, size_t used, size_t count, size_t size) {
  if (count <= *room) return 1;
  size_t more = toft_max(count, *room + *room / 2 + 8);
  void *grown = toft_os_heap_take(toft_round(more * size, 64), 64);
  if (grown == NULL) return 0;
  if (used != 0) memcpy(grown, *array, used * size);
  if (*array != NULL) toft_os_heap_put(*array);
  *array = grown;
  *room = more;
  return 1;
}

/* ---- memory tools ---- Bytes that the program made inaccessible are copied, and are so after a restore too. */

/* Makes all of it accessible. 0: no memory for the map, which is stored; NULL: there is no tool. */
static int toft_region_open(unsigned char *p, size_t size, unsigned char **access) {
  *access = NULL;
  if (!toft_has_memory_tool()) return 1;
  *access = (unsigned char *)toft_os_map(toft_os_page(size / 8), 0);
  if (*access == NULL) return 0;
  toft_access_save(p, size, *access);
  toft_access_set(p, size, *access, toft_unpoison);
  return 1;
}

static void toft_region_close(const unsigned char *p, size_t size, const unsigned char *access) {
  if (access != NULL) toft_access_set(p, size, access, toft_poison);
}

static void toft_region_free_access(unsigned char *access, size_t size) {
  if (access != NULL) toft_os_unmap(access, toft_os_page(size / 8));
}

/* As memcmp: what the program has not written yet is compared too. */
static int toft_region_compare_bytes(const unsigned char *p, const unsigned char *q, size_t size) {
  unsigned char copies[2][256];
  if (!toft_has_memory_tool()) return memcmp(p, q, size);
  int result = 0;
  for (size_t at = 0, n; at < size && result == 0; at += n) {
    n = toft_min(size - at, sizeof copies[0]);
    memcpy(copies[0], p + at, n);
    memcpy(copies[1], q + at, n);
    toft_unpoison(copies, sizeof copies);
    result = memcmp(copies[0], copies[1], n);
  }
  return result;
}

/* ---- what has changed ---- */

#define TOFT_CHANGES_RUNS 64

/* Pages that may differ from the view, in ranges, up to `end`. */
typedef struct toft_changes {
  toft_region_control *c;
  size_t next, end; /* bytes from the start of the range */
  int n, i;
  toft_written_run runs[TOFT_CHANGES_RUNS];
  size_t same, changed; /* counted by the caller */
} toft_changes;

static toft_changes toft_changes_up_to(toft_region_control *c, size_t end) {
  toft_changes g;
  g.c = c;
  g.next = g.same = g.changed = 0;
  g.n = g.i = 0;
  g.end = end;
  return g;
}

/* Stores the next range of pages. 0: there is none. */
static int toft_changes_next(toft_changes *g, size_t *first, size_t *behind) {
  unsigned char *base = (unsigned char *)g->c->region;
  toft_tree *t = g->c->tree;
  size_t whole_pages = ~(toft_os_page(1) - 1);
  while (g->i == g->n && t->has_record && g->next < (toft_min(t->synced, g->end) & whole_pages)) {
    unsigned char *p = base + g->next;
    g->i = 0;
    g->n = toft_written_next(&p, base + (toft_min(t->synced, g->end) & whole_pages), g->runs, TOFT_CHANGES_RUNS);
    if (g->n < 0) g->n = t->has_record = t->refused = 0; /* as in a forked child: the rest is compared */
    g->next = (size_t)(p - base);
  }
  if (g->i < g->n) {
    *first = (size_t)(g->runs[g->i].start - (uintptr_t)base) / TOFT_SAVED_PAGE;
    *behind = (size_t)(g->runs[g->i++].end - (uintptr_t)base) / TOFT_SAVED_PAGE;
    return 1;
  }
  if (g->next >= g->end) return 0;
  *first = g->next / TOFT_SAVED_PAGE;
  *behind = (g->next = g->end) / TOFT_SAVED_PAGE;
  return 1;
}

/* The pages below `size` are equal to the view. A record begins, if the system keeps one; pages that were written
 * before stay so, unless most of them have not been written again: a page that is written in each round costs no fault.
 * */
static void toft_region_sync(toft_region_control *c, size_t size, const toft_changes *g) {
  toft_tree *t = c->tree;
  unsigned char *base = (unsigned char *)c->region;
  t->synced = size;
  if (t->has_record) {
    if (g->same > g->changed) t->has_record = toft_written_forget(base, toft_os_page(size));
  } else if (!t->refused) {
    t->has_record = c->reserved != NULL && (c->flags & TOFT_REGION_COMPARES) == 0 &&
                    toft_written_begin(c->reserved, toft_os_page(c->reserved_size)) &&
                    toft_written_forget(base, toft_os_page(size));
    t->refused = !t->has_record;
  }
}

/* ---- nodes ---- */

static toft_tree *toft_region_tree(toft_region_control *c) {
  static size_t regions; /* atomic */
  if (c->tree != NULL) return c->tree;
  toft_tree *t = (toft_tree *)toft_os_heap_take(toft_round(sizeof *t, 64), 64);
  if (t == NULL) return NULL;
  memset(t, 0, sizeof *t);
  t->last = (toft_checkpoint)TOFT_ADD(&regions, 1) << 40;
  return c->tree = t;
}

static void toft_node_free(toft_region_control *c, toft_node *n) {
  for (size_t i = 0; i < n->count; i++) {
    c->saved_bytes -= n->pages[i].is != toft_zero_page ? TOFT_SAVED_PAGE : 0;
    toft_saved_page_put(&c->tree->chunks, n->pages[i].is);
  }
  if (n->pages != NULL) toft_os_heap_put(n->pages);
  if (n->cleanups != NULL) toft_os_heap_put(n->cleanups);
  toft_region_free_access(n->access, n->size);
  toft_os_heap_put(n);
}

static void toft_region_forget_checkpoints(toft_region_control *c) {
  toft_tree *t = c->tree;
  if (t == NULL) return;
  for (size_t i = 0; i < t->count; i++) toft_node_free(c, t->nodes[i]);
  TOFT_ASSERT(c->saved_bytes == 0 && (t->chunks == NULL || t->chunks->next == NULL));
  if (t->chunks != NULL) toft_os_heap_put(t->chunks);
  if (t->nodes != NULL) toft_os_heap_put(t->nodes);
  if (t->view != NULL) toft_os_heap_put((void *)t->view);
  toft_os_heap_put(t);
  c->tree = NULL;
}

/* The index of the first node with at least this number. */
static size_t toft_tree_index(const toft_tree *t, toft_checkpoint number) {
  size_t low = 0, high = t->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (t->nodes[middle]->number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The pages behind `size` bytes may have lost their content. */
static void toft_region_lose_pages(const toft_region_control *c, size_t size) {
  if (c->tree != NULL) c->tree->synced = toft_min(c->tree->synced, size);
}

static toft_node *toft_node_listed(toft_node *n) {
  while (n != NULL && n->dropped) n = n->parent;
  return n;
}

/* 0: the current one. NULL: there is none. */
static toft_node *toft_region_node(const toft_region *r, toft_checkpoint number) {
  const toft_tree *t = r->control->tree;
  if (t == NULL) return NULL;
  if (number == 0) return toft_node_listed(t->current);
  size_t i = toft_tree_index(t, number);
  return i < t->count && t->nodes[i]->number == number && !t->nodes[i]->dropped ? t->nodes[i] : NULL;
}

/* ---- save ---- */

static int toft_node_add(toft_region_control *c, toft_node *n, size_t page) {
  const unsigned char *p = (unsigned char *)c->region + page * TOFT_SAVED_PAGE, *is = toft_zero_page;
  if (!toft_region_grow((void **)&n->pages, &n->room, n->count, n->count + 1, sizeof *n->pages)) return 0;
  if (toft_region_compare_bytes(p, toft_zero_page, TOFT_SAVED_PAGE) != 0) {
    unsigned char *copy = toft_saved_page_take(&c->tree->chunks);
    if (copy == NULL) return 0;
    is = (const unsigned char *)memcpy(copy, p, TOFT_SAVED_PAGE);
    c->saved_bytes += TOFT_SAVED_PAGE;
  }
  toft_saved_page *added = &n->pages[n->count++];
  added->page = page;
  added->is = is;
  added->was = c->tree->view[page];
  return 1;
}

static int toft_node_add_pages(toft_region_control *c, toft_node *n, toft_changes *g) {
  const toft_tree *t = c->tree;
  size_t page, behind;
  while (toft_changes_next(g, &page, &behind))
    for (; page < behind; page++) {
      const unsigned char *p = (unsigned char *)c->region + page * TOFT_SAVED_PAGE;
      int same = t->view[page] != NULL && toft_region_compare_bytes(p, t->view[page], TOFT_SAVED_PAGE) == 0;
      if (!same && !toft_node_add(c, n, page)) return 0;
      g->same += (size_t)same;
      g->changed += (size_t)!same;
    }
  return 1;
}

static int toft_node_add_cleanups(const toft_region *r, toft_node *n) {
  size_t room = 0;
  for (toft_region_arena_link *link = r->arenas; link != NULL; link = link->older) {
    const toft_state *a = toft_region_arena_of(link);
    if ((a->state & TOFT_PRISTINE) || a->cleanups == NULL || toft_region_is_adopted(a)) continue;
    if (!toft_region_grow((void **)&n->cleanups, &room, n->cleanup_count, n->cleanup_count + 1, sizeof *n->cleanups))
      return 0;
    n->cleanups[n->cleanup_count].arena = link->number;
    n->cleanups[n->cleanup_count++].epoch = toft_epoch(a);
  }
  return 1;
}

/* Reserves what the tree needs for a node of this size. */
static int toft_tree_admit(toft_tree *t, size_t size) {
  size_t pages = size / TOFT_SAVED_PAGE, known = t->view_room;
  if (!toft_region_grow((void **)&t->nodes, &t->room, t->count, t->count + 1, sizeof(void *))) return 0;
  if (!toft_region_grow((void **)&t->view, &t->view_room, known, pages, sizeof *t->view)) return 0;
  while (known < t->view_room) t->view[known++] = NULL;
  return 1;
}

static void toft_tree_insert(toft_tree *t, toft_node *n) {
  for (size_t i = 0; i < n->count; i++) t->view[n->pages[i].page] = n->pages[i].is;
  n->number = ++t->last;
  n->parent = t->current;
  if (n->parent != NULL) n->parent->children++;
  t->nodes[t->count++] = t->current = n;
}

/* Makes a node of the present content. NULL: there is no memory, and nothing changed. */
static toft_node *toft_region_save(toft_region *r) {
  toft_region_control *c = r->control;
  size_t size = (size_t)(r->top - r->base);
  toft_node *n = toft_region_tree(c) != NULL ? (toft_node *)toft_os_heap_take(toft_round(sizeof *n, 64), 64) : NULL;
  if (n == NULL) return NULL;
  memset(n, 0, sizeof *n);
  n->size = size;
  toft_changes g = toft_changes_up_to(c, size);
  int saved = toft_region_open(r->base, size, &n->access) && toft_tree_admit(c->tree, size) &&
              toft_node_add_cleanups(r, n) && toft_node_add_pages(c, n, &g);
  toft_region_close(r->base, size, n->access);
  if (!saved) {
    toft_node_free(c, n);
    return NULL;
  }
  toft_tree_insert(c->tree, n);
  toft_region_sync(c, size, &g);
  return n;
}

int toft_region_checkpoint(toft_region *r, toft_checkpoint *made) {
  if (toft_region_is_busy(r)) return TOFT_EBUSY;
  toft_region_report_outside(r, TOFT_CALLER());
  const toft_node *n = toft_region_save(r);
  if (n == NULL) return TOFT_ENOMEM;
  r->control->checkpoints++;
  if (made != NULL) *made = n->number;
  TOFT_VERIFY(region, r);
  return TOFT_OK;
}

/* ---- drop ---- */

/* The entry for a page; NULL: there is none. */
static const toft_saved_page *toft_saved_page_of(const toft_saved_page *pages, size_t count, size_t page) {
  while (count != 0) {
    const toft_saved_page *middle = pages + count / 2;
    if (middle->page == page) return middle;
    pages = middle->page < page ? middle + 1 : pages;
    count = middle->page < page ? count - count / 2 - 1 : count / 2;
  }
  return NULL;
}

/* Moves the pages of a node into the array of its parent, which becomes the node's. 0: there is no memory. */
static int toft_node_merge(toft_region_control *c, toft_node *parent, toft_node *n) {
  size_t i = parent->count, j, k = parent->count + n->count, merged;
  for (j = 0; j < n->count; j++) k -= toft_saved_page_of(parent->pages, i, n->pages[j].page) != NULL;
  if (!toft_region_grow((void **)&parent->pages, &parent->room, parent->count, k, sizeof *n->pages)) return 0;
  merged = k;
  toft_saved_page *to = parent->pages;
  while (j != 0) {
    toft_saved_page from = n->pages[j - 1];
    if (i == k) i = k = (size_t)(toft_saved_page_of(to, i, from.page) - to) + 1; /* none moves: the rest is there */
    if (i != 0 && to[i - 1].page > from.page) {
      to[--k] = to[--i];
      continue;
    }
    if (i != 0 && to[i - 1].page == from.page) {
      c->saved_bytes -= to[--i].is != toft_zero_page ? TOFT_SAVED_PAGE : 0;
      toft_saved_page_put(&c->tree->chunks, to[i].is);
      from.was = to[i].was;
    }
    to[--k] = from;
    j--;
  }
  TOFT_ASSERT(k == i);
  parent->pages = n->pages;
  parent->count = 0;
  n->pages = to;
  n->count = merged;
  n->room = parent->room;
  return 1;
}

static toft_node *toft_tree_only_child(const toft_tree *t, const toft_node *n) {
  size_t i = toft_tree_index(t, n->number) + 1;
  while (t->nodes[i]->parent != n) i++;
  return t->nodes[i];
}

static void toft_tree_remove(toft_region_control *c, toft_node *n) {
  toft_tree *t = c->tree;
  size_t i = toft_tree_index(t, n->number);
  TOFT_ASSERT(t->nodes[i] == n && t->current != n);
  memmove(&t->nodes[i], &t->nodes[i + 1], (--t->count - i) * sizeof(void *));
  toft_node_free(c, n);
}

/* Moves the view from the current node to the parent. */
static void toft_tree_ascend(toft_region_control *c) {
  toft_tree *t = c->tree;
  const toft_node *n = t->current;
  for (size_t i = 0; i < n->count; i++) t->view[n->pages[i].page] = n->pages[i].was;
  t->current = n->parent;
}

/* The pages of the current node count as written, since the parent's are others. */
static void toft_region_leave_node(toft_region_control *c) {
  toft_tree *t = c->tree;
  const toft_node *n = t->current;
  for (size_t i = 0, end; i < n->count && t->has_record; i = end) {
    size_t first = n->pages[i].page;
    for (end = i + 1; end < n->count && n->pages[end].page == first + (end - i);) end++;
    t->has_record =
        toft_written_mark((unsigned char *)c->region + first * TOFT_SAVED_PAGE, (end - i) * TOFT_SAVED_PAGE);
  }
  toft_tree_ascend(c);
  t->synced = t->current != NULL ? toft_min(t->synced, t->current->size) : 0;
}

/* Removes a node that was dropped, if at most one content depends on it: a child, or the present content. Without
 * memory for a child's pages it stays. */
static void toft_tree_reduce(toft_region_control *c, toft_node *n) {
  toft_tree *t = c->tree;
  while (n != NULL && n->dropped && n->children + (n == t->current) <= 1) {
    toft_node *parent = n->parent;
    if (n->children == 1) {
      toft_node *child = toft_tree_only_child(t, n);
      if (!toft_node_merge(c, n, child)) return;
      child->parent = parent;
    } else {
      if (n == t->current) toft_region_leave_node(c);
      if (parent != NULL) parent->children--;
    }
    toft_tree_remove(c, n);
    n = parent;
  }
}

int toft_region_drop_checkpoint(toft_region *r, toft_checkpoint dropped) {
  toft_region_control *c = r->control;
  toft_node *n = toft_region_node(r, dropped);
  if (n == NULL) return TOFT_EMARK;
  if (toft_region_is_busy(r)) return TOFT_EBUSY;
  n->dropped = 1;
  c->checkpoints--;
  toft_tree_reduce(c, n);
  TOFT_VERIFY(region, r);
  return TOFT_OK;
}

/* ---- restore ---- */

static toft_node *toft_tree_common(toft_node *a, toft_node *b) {
  while (a != b)
    if (a->number > b->number)
      a = a->parent;
    else
      b = b->parent;
  return a;
}

/* Runs the cleanups that were registered since the node, those of newer arenas first. */
static void toft_region_run_cleanups(toft_region *r, const toft_node *since) {
  size_t i = 0;
  for (toft_region_arena_link *link = r->arenas; link != NULL; link = link->older) {
    toft_state *a = toft_region_arena_of(link);
    if ((a->state & TOFT_PRISTINE) || toft_region_is_adopted(a)) continue;
    while (i < since->cleanup_count && since->cleanups[i].arena > link->number) i++;
    int had = i < since->cleanup_count && since->cleanups[i].arena == link->number;
    toft_sync_in(a);
    toft_run_cleanups(a, had ? since->cleanups[i].epoch : 0);
  }
}

static int toft_region_bring_back_page(toft_region_control *c, size_t page) {
  unsigned char *p = (unsigned char *)c->region + page * TOFT_SAVED_PAGE;
  const unsigned char *is = c->tree->view[page];
  TOFT_ASSERT(is != NULL);
  if (toft_region_compare_bytes(p, is, TOFT_SAVED_PAGE) == 0) return 0;
  memcpy(p, is, TOFT_SAVED_PAGE);
  TOFT_ASSERT(toft_region_compare_bytes(p, is, TOFT_SAVED_PAGE) == 0);
  return 1;
}

/* Pages of a node on the way from the content before to that of `size` bytes. */
static void toft_region_bring_back_node(toft_region_control *c, const toft_node *n, size_t size) {
  for (size_t i = 0; i < n->count; i++)
    if (n->pages[i].page < size / TOFT_SAVED_PAGE) (void)toft_region_bring_back_page(c, n->pages[i].page);
}

/* Brings back the content of a node, and runs the cleanups on the way to it, unless `keeps_cleanups`. */
static void toft_region_go(toft_region *r, toft_node *to, int keeps_cleanups) {
  toft_region_control *c = r->control;
  toft_tree *t = c->tree;
  toft_node *from = t->current, *common = toft_tree_common(from, to), *first = NULL;
  unsigned char *high = r->high;
  size_t page, behind;
  while (t->current != common) toft_tree_ascend(c);
  if (!keeps_cleanups) toft_region_run_cleanups(r, common);
  for (toft_node *n = to; n != common; n = n->parent) n->below = first, first = n;
  for (const toft_node *n = first; n != NULL; n = n->below)
    for (size_t i = 0; i < n->count; i++) t->view[n->pages[i].page] = n->pages[i].is;
  t->current = to;
  if (to->access != NULL) toft_unpoison(c->region, c->committed);
  toft_changes g = toft_changes_up_to(c, to->size);
  while (toft_changes_next(&g, &page, &behind))
    for (; page < behind; page++) {
      int changed = toft_region_bring_back_page(c, page);
      g.changed += (size_t)changed;
      g.same += (size_t)!changed;
    }
  for (const toft_node *n = from; n != common; n = n->parent) toft_region_bring_back_node(c, n, to->size);
  for (const toft_node *n = first; n != NULL; n = n->below) toft_region_bring_back_node(c, n, to->size);
  r->high = high;
  toft_region_sync(c, to->size, &g);
  toft_region_close(r->base, to->size, to->access);
  toft_region_count_top(r);
  toft_tree_reduce(c, from);
}

int toft_region_restore(toft_region *r, toft_checkpoint to) {
  toft_node *n = toft_region_node(r, to);
  if (n == NULL) return TOFT_EMARK;
  if (toft_region_is_busy(r)) return TOFT_EBUSY;
  toft_region_go(r, n, 0);
  TOFT_VERIFY(region, r);
  return TOFT_OK;
}

/* ---- what there is ---- */

toft_checkpoint toft_region_current(const toft_region *r) {
  const toft_node *n = toft_region_node(r, 0);
  return n != NULL ? n->number : 0;
}

int toft_region_next_checkpoint(const toft_region *r, toft_checkpoint after, toft_checkpoint_info *info) {
  const toft_tree *t = r->control->tree;
  size_t i = t != NULL ? toft_tree_index(t, after) : 0;
  while (t != NULL && i < t->count && (t->nodes[i]->number <= after || t->nodes[i]->dropped)) i++;
  if (t == NULL || i == t->count) return TOFT_EMARK;
  const toft_node *n = t->nodes[i], *parent = toft_node_listed(n->parent);
  info->checkpoint = n->number;
  info->parent = parent != NULL ? parent->number : 0;
  info->name = n->name;
  info->size = n->size;
  info->saved = (uint64_t)n->count * TOFT_SAVED_PAGE;
  return TOFT_OK;
}

int toft_region_name_checkpoint(toft_region *r, toft_checkpoint named, const char *name) {
  toft_node *n = toft_region_node(r, named);
  size_t length = 0;
  if (n == NULL || name == NULL) return n == NULL ? TOFT_EMARK : TOFT_EARG;
  while (length < sizeof n->name && name[length] != 0) length++;
  if (length == sizeof n->name) return TOFT_EARG;
  memcpy(n->name, name, length + 1);
  return TOFT_OK;
}

#endif
