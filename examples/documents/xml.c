/* XML by expat: its events to tree calls. The parser's own memory is on malloc in every build. Expat hands
 * out text in pieces; they are joined in a buffer of the parser's, so that every build copies each text
 * once.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <expat.h>
#include <stdio.h>

#include "tree.h"

struct state {
  XML_Parser parser;
  struct tree *tree;
  char *text;
  size_t size, room;
  int failed;
};

static void check(struct state *s, int ok) {
  if (ok || s->failed) return;
  s->failed = 1;
  XML_StopParser(s->parser, XML_FALSE);
}

static void flush(struct state *s) {
  if (s->size != 0) check(s, tree_string(s->tree, NODE_TEXT, s->text, s->size));
  s->size = 0;
}

static void on_start(void *arg, const XML_Char *name, const XML_Char **attributes) {
  struct state *s = (struct state *)arg;
  if (s->failed) return;
  flush(s);
  check(s, tree_key(s->tree, name, strlen(name)) && tree_open(s->tree, NODE_ELEMENT));
  for (; !s->failed && attributes[0] != NULL; attributes += 2)
    check(s, tree_attribute(s->tree, attributes[0], attributes[1]));
}

static void on_end(void *arg, const XML_Char *name) {
  struct state *s = (struct state *)arg;
  (void)name;
  if (s->failed) return;
  flush(s);
  if (!s->failed) tree_close(s->tree);
}

static void on_text(void *arg, const XML_Char *text, int length) {
  struct state *s = (struct state *)arg;
  size_t n = (size_t)length;
  if (s->failed) return;
  if (s->room - s->size < n) {
    size_t room = 2 * (s->room + n);
    char *more = (char *)realloc(s->text, room);
    if (more == NULL) {
      check(s, 0);
      return;
    }
    s->text = more;
    s->room = room;
  }
  memcpy(s->text + s->size, text, n);
  s->size += n;
}

int xml_parse(struct tree *t, const char *text, size_t size, char *error, size_t error_size) {
  struct state s;
  int ok;
  memset(&s, 0, sizeof s);
  s.tree = t;
  s.parser = XML_ParserCreate(NULL);
  if (s.parser == NULL) {
    snprintf(error, error_size, "no memory for the XML parser");
    return 0;
  }
  XML_SetUserData(s.parser, &s);
  XML_SetElementHandler(s.parser, on_start, on_end);
  XML_SetCharacterDataHandler(s.parser, on_text);
  ok = XML_Parse(s.parser, text, (int)size, XML_TRUE) == XML_STATUS_OK;
  if (s.failed)
    snprintf(error, error_size, "no memory for the tree");
  else if (!ok)
    snprintf(error, error_size, "line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(s.parser),
             XML_ErrorString(XML_GetErrorCode(s.parser)));
  XML_ParserFree(s.parser);
  free(s.text);
  return ok && !s.failed;
}
