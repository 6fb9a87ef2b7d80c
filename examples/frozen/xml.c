/* A document of libxml2, frozen: its nodes are there without a parse.
 *     xml write DOCUMENT FILE        parses it, freezes a copy of the tree
 *     xml unchanged DOCUMENT FILE    the same without the replaced names: is refused
 *     xml read|elsewhere FILE        opens the file at its own address, at another one
 * Each prints the nanoseconds, and what the tree contains; the last number is a hash of it as libxml2 writes it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>
#include <libxml/xpath.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <toft.h>

#define LAYOUT "libxml2 " LIBXML_DOTTED_VERSION

static toft_malloc memory; /* of all but frozen trees */

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static char *duplicate(const char *s) {
  size_t bytes = strlen(s) + 1;
  char *copy = (char *)toft_malloc_current_alloc(bytes);
  return copy != NULL ? (char *)memcpy(copy, s, bytes) : NULL;
}

/* libxml2's global tables are in `memory`, and made before a region is the current one. */
static int start(void) {
  toft_malloc_init(&memory, NULL);
  toft_malloc_current_swap(&memory);
  if (xmlMemSetup(toft_malloc_current_free, toft_malloc_current_alloc, toft_malloc_current_realloc, duplicate) != 0)
    return 0;
  xmlInitParser();
  return 1;
}

/* ---- writing ---- */

/* The names of texts and comments are variables of the library. One copy of each, since adjacent texts are joined if
 * their names are at one address. */
typedef struct names {
  const xmlChar *text, *comment;
} names;

static void replace_names(const names *all, xmlNode *n) {
  for (; n != NULL; n = n->next) {
    if (n->name == xmlStringText) n->name = all->text;
    if (n->name == xmlStringComment) n->name = all->comment;
    if (n->type != XML_ELEMENT_NODE) continue;
    for (xmlAttr *a = n->properties; a != NULL; a = a->next) replace_names(all, a->children);
    replace_names(all, n->children);
  }
}

typedef struct task {
  xmlDoc *parsed;
  int replaces;
} task;

/* A copy has no dictionary, and without a DTD and IDs no hash table; their seeds are random numbers. */
static void *copy_tree(toft_region *r, void *argument) {
  const task *t = (const task *)argument;
  const xmlDoc *from = t->parsed;
  toft_malloc *before = toft_malloc_current_swap(toft_region_malloc(r));
  xmlDoc *copy = xmlNewDoc(from->version);
  for (xmlNode *n = from->children; n != NULL && copy != NULL; n = n->next) {
    if (n->type == XML_DTD_NODE) continue;
    xmlNode *child = xmlDocCopyNode(n, copy, 1);
    if (child == NULL || xmlAddChild((xmlNode *)copy, child) == NULL) copy = NULL;
  }
  names all = {xmlStrdup(xmlStringText), xmlStrdup(xmlStringComment)};
  if (all.text == NULL || all.comment == NULL) copy = NULL;
  if (copy != NULL && t->replaces) replace_names(&all, copy->children);
  (void)toft_malloc_current_swap(before);
  return copy;
}

/* Prints the first faults: a document has one for each of its texts. */
static int report(void *argument, const toft_freeze_fault *f) {
  int *printed = argument;
  if (++*printed > 16) return 0;
  fprintf(stderr, "the word at %llu points to %s\n", (unsigned long long)f->offset, f->points_to ? f->points_to : "?");
  return 0;
}

/* ---- reading: functions of libxml2 that change nothing ---- */

static void count(const xmlNode *first, unsigned long long *counts) {
  for (const xmlNode *n = first; n != NULL; n = n->next) {
    if (n->type == XML_TEXT_NODE) counts[2] += strlen((const char *)n->content);
    if (n->type != XML_ELEMENT_NODE) continue;
    counts[0]++;
    for (const xmlAttr *a = n->properties; a != NULL; a = a->next) counts[1]++;
    count(n->children, counts);
  }
}

static int show(xmlDoc *document) {
  unsigned long long counts[3] = {0, 0, 0};
  count(document->children, counts);
  xmlBuffer *written = xmlBufferCreate();
  for (xmlNode *n = document->children; n != NULL; n = n->next) xmlNodeDump(written, document, n, 0, 0);
  int bytes = xmlBufferLength(written);
  unsigned long long hash = 0xcbf29ce484222325u;
  for (int i = 0; i < bytes; i++) hash = (hash ^ xmlBufferContent(written)[i]) * 0x100000001b3u;
  xmlBufferFree(written);
  xmlXPathContext *context = xmlXPathNewContext(document);
  xmlXPathObject *found = xmlXPathEval((const xmlChar *)"//*[@type]", context);
  int matches = found != NULL && found->nodesetval != NULL ? found->nodesetval->nodeNr : 0;
  const xmlNode *root = xmlDocGetRootElement(document), *element = xmlFirstElementChild((xmlNode *)root);
  xmlChar *value = matches != 0 ? xmlGetProp(found->nodesetval->nodeTab[matches - 1], (const xmlChar *)"type") : NULL;
  printf("%llu elements, %llu attributes, %llu bytes of text; ", counts[0], counts[1], counts[2]);
  printf("<%s><%s>; ", (const char *)root->name, element != NULL ? (const char *)element->name : "");
  printf("%d with a type, the last %s; ", matches, value != NULL ? (const char *)value : "-");
  printf("written: %d bytes, %016llx\n", bytes, hash);
  xmlFree(value);
  xmlXPathFreeObject(found);
  xmlXPathFreeContext(context);
  return 1;
}

static int write_file(const char *document, const char *path, int replaces) {
  long long start_of_parse = now();
  xmlDoc *parsed = xmlReadFile(document, NULL, XML_PARSE_NONET | XML_PARSE_NOENT);
  if (parsed == NULL) return 1;
  printf("times %lld\n", now() - start_of_parse);
  toft_freeze_options o = TOFT_FREEZE_OPTIONS;
  o.layout = LAYOUT;
  int printed = 0;
  o.report = report;
  o.report_argument = &printed;
  task t = {parsed, replaces};
  int result = toft_freeze(copy_tree, &t, path, &o);
  xmlDtd *dtd = xmlGetIntSubset(parsed);
  if (dtd != NULL) { /* as in the copy */
    xmlUnlinkNode((xmlNode *)dtd);
    xmlFreeDtd(dtd);
  }
  int shown = result == TOFT_OK && show(parsed);
  xmlFreeDoc(parsed);
  return !shown;
}

static int read_file(const char *path, uint32_t flags) {
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  toft_frozen f;
  o.layout = LAYOUT;
  o.flags = flags;
  long long before = now();
  if (toft_frozen_open(&f, path, &o) != TOFT_OK) return 1;
  printf("times %lld\n", now() - before);
  int shown = show((xmlDoc *)f.root);
  toft_frozen_close(&f);
  return !shown;
}

int main(int argc, char **argv) {
  int result = 2;
  if (argc < 3 || !start()) return 2;
  if (argc == 4 && strcmp(argv[1], "write") == 0) result = write_file(argv[2], argv[3], 1);
  if (argc == 4 && strcmp(argv[1], "unchanged") == 0) result = write_file(argv[2], argv[3], 0);
  if (strcmp(argv[1], "read") == 0) result = read_file(argv[2], 0);
  if (strcmp(argv[1], "elsewhere") == 0) result = read_file(argv[2], TOFT_FROZEN_ELSEWHERE);
  xmlCleanupParser();
  toft_malloc_release(&memory);
  return result;
}
