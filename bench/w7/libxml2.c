/* libxml2: documents are parsed into trees, and written again.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <toft/malloc.h>

#include "driver.h"

/* ---- adapter: hooks without a context, of a library that frees individually ---- */

static toft_malloc memory;

static char *duplicate(const char *s) {
  size_t bytes = strlen(s) + 1;
  char *copy = (char *)toft_malloc_current_alloc(bytes);
  return copy != NULL ? (char *)memcpy(copy, s, bytes) : NULL;
}

static int adapt(const char *way) {
  toft_malloc_init(&memory, NULL);
  toft_malloc_current_swap(&memory);
  return strcmp(way, "toft") == 0 &&
         xmlMemSetup(toft_malloc_current_free, toft_malloc_current_alloc, toft_malloc_current_realloc, duplicate) == 0;
}

/* ---- end of the adapter ---- */

static void play(struct text *texts, int count) {
  for (int i = 0; i < count; i++) {
    xmlDocPtr document = xmlReadMemory(texts[i].bytes, (int)texts[i].size, texts[i].path, NULL, XML_PARSE_NONET);
    xmlChar *written;
    int bytes;
    if (document == NULL) fail(texts[i].path);
    xmlDocDumpMemory(document, &written, &bytes);
    if (written == NULL) fail("no memory");
    output(written, (size_t)bytes);
    xmlFree(written);
    xmlFreeDoc(document);
  }
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, NULL, play); }
