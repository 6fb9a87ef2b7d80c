/* Builds the tree of each document, walks it and lets it go, again and again:
 *     documents [--keep] ROUNDS FILE...
 * Prints a line of nanoseconds for each round (parse and build, walk, free) and one of totals. ./run calls
 * it for each allocator and makes the table.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "tree.h"

struct document {
  const char *path;
  char *text;
  size_t size;
};

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct rusage usage(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u;
}

static void fail(const char *path, const char *why) {
  fprintf(stderr, "documents: %s: %s\n", path, why);
  exit(1);
}

static struct document load(const char *path) {
  struct document d = {path, NULL, 0};
  FILE *f = fopen(path, "rb");
  long size;
  if (f == NULL) fail(path, strerror(errno));
  if (fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) != 0) fail(path, strerror(errno));
  d.size = (size_t)size;
  if ((d.text = (char *)malloc(d.size + 1)) == NULL) fail(path, "no memory for the text");
  if (fread(d.text, 1, d.size, f) != d.size) fail(path, "cannot be read");
  fclose(f);
  return d;
}

struct round {
  uint64_t build, walk, end; /* nanoseconds */
  uint64_t hash, nodes, strings, bytes;
};

static struct round run(const struct document *d, size_t count, struct memory *m) {
  struct round r = {0, 0, 0, 0xcbf29ce484222325u, 0, 0, 0};
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
    r.end += now() - walked;
    r.build += built - start;
    r.walk += walked - built;
    r.nodes += t.nodes;
    r.strings += t.strings;
    r.bytes += t.bytes;
  }
  return r;
}

int main(int argc, char **argv) {
  struct memory memory;
  struct document *documents;
  struct round first, r;
  int keep = argc > 1 && strcmp(argv[1], "--keep") == 0;
  int at = 1 + keep, rounds = argc > at ? atoi(argv[at]) : 0, count = argc - at - 1;
  long faults;
  if (rounds < 1 || count < 1) {
    fprintf(stderr, "usage: documents [--keep] ROUNDS FILE...\n");
    return 2;
  }
  if ((documents = (struct document *)calloc((size_t)count, sizeof *documents)) == NULL) fail(argv[0], "no memory");
  for (int i = 0; i < count; i++) documents[i] = load(argv[at + 1 + i]);

  memset(&memory, 0, sizeof memory);
  memory.keep = keep;
  first = run(documents, (size_t)count, &memory); /* warms up */
  faults = usage().ru_minflt;
  for (int i = 0; i < rounds; i++) {
    r = run(documents, (size_t)count, &memory);
    if (r.hash != first.hash) fail(argv[0], "two rounds built different trees");
    printf("round %llu %llu %llu\n", (unsigned long long)r.build, (unsigned long long)r.walk,
           (unsigned long long)r.end);
  }
  faults = usage().ru_minflt - faults;
  printf("total %016llx %llu %llu %llu %ld %.1f\n", (unsigned long long)first.hash, (unsigned long long)first.nodes,
         (unsigned long long)first.strings, (unsigned long long)first.bytes, usage().ru_maxrss,
         (double)faults / rounds);
  memory_done(&memory);
  for (int i = 0; i < count; i++) free(documents[i].text);
  free(documents);
  return 0;
}
