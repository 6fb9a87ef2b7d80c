/* Builds the tree of each document, walks it and frees it, repeatedly:
 *     documents [--keep | --count] ROUNDS FILE...
 * Prints what ../programs.py reads, and a line about the trees. --count: instead of times, on Toft, the
 * numbers of the trees' requests and of Toft's calls of its source.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>

#include "tree.h"

enum { BUILD = 0, WALK, FREE, PARTS };

struct document {
  const char *path;
  char *text;
  size_t size;
};

static void fail(const char *path, const char *why) {
  fprintf(stderr, "documents: %s: %s\n", path, why);
  exit(1);
}

struct round {
  uint64_t took[PARTS]; /* nanoseconds */
  uint64_t hash, nodes, strings, bytes, requests;
};

static struct round run(const struct document *d, size_t count, struct memory *m) {
  struct round r = {{0, 0, 0}, HASH_START, 0, 0, 0, 0};
  for (size_t i = 0; i < count; i++) {
    char error[256];
    struct tree t;
    const char *dot = strrchr(d[i].path, '.');
    int xml = dot != NULL && strcmp(dot, ".xml") == 0;
    uint64_t start = now(), built, walked;
    memset(&t, 0, sizeof t);
    t.memory = m;
    if (!memory_begin(m)) fail(d[i].path, "no memory for the tree");
    if (!(xml ? xml_parse : json_parse)(&t, d[i].text, d[i].size, error, sizeof error)) fail(d[i].path, error);
    built = now();
    r.hash = tree_hash(r.hash, t.root);
    walked = now();
    if (FREES_BY_WALK) tree_free(m, t.root);
    memory_end(m);
    r.took[FREE] += now() - walked;
    r.took[BUILD] += built - start;
    r.took[WALK] += walked - built;
    r.nodes += t.nodes;
    r.strings += t.strings;
    r.bytes += t.bytes;
    r.requests += t.nodes + t.attributes + t.strings;
  }
  return r;
}

int main(int argc, char **argv) {
  struct memory memory;
  struct document *documents;
  struct round first, r;
  int keep = argc > 1 && strcmp(argv[1], "--keep") == 0;
  int counting = argc > 1 && strcmp(argv[1], "--count") == 0;
  int at = 1 + keep + counting, rounds = argc > at ? atoi(argv[at]) : 0, count = argc - at - 1;
  if (rounds < 1 || count < 1) {
    fprintf(stderr, "usage: documents [--keep | --count] ROUNDS FILE...\n");
    return 2;
  }
  if ((documents = (struct document *)calloc((size_t)count, sizeof *documents)) == NULL) fail(argv[0], "no memory");
  for (int i = 0; i < count; i++) {
    struct document *d = &documents[i];
    d->path = argv[at + 1 + i];
    if ((d->text = load(d->path, &d->size)) == NULL) fail(d->path, errno != 0 ? strerror(errno) : "cannot be read");
  }

  memset(&memory, 0, sizeof memory);
  memory.keep = keep;
  if (counting) {
    if (!memory_count(&memory)) fail(argv[0], "there is nothing to count without Toft");
    first = run(documents, (size_t)count, &memory);
    memory_done(&memory);
    memory_print_counts(first.requests);
    return 0;
  }
  print_parts("build walk free");
  first = run(documents, (size_t)count, &memory); /* warms up */
  for (int i = 0; i < rounds; i++) {
    struct meter m = meter_begin();
    r = run(documents, (size_t)count, &memory);
    meter_end(&m, r.took, PARTS);
    if (r.hash != first.hash) fail(argv[0], "two rounds built different trees");
  }
  printf("tree %llu %llu %llu\n", (unsigned long long)first.nodes, (unsigned long long)first.strings,
         (unsigned long long)first.bytes);
  print_total(first.hash);
  memory_done(&memory);
  for (int i = 0; i < count; i++) free(documents[i].text);
  free(documents);
  return 0;
}
