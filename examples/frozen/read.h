/* A way to reach the packages. Each answers the queries of read.c.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef READ_H
#define READ_H

#include <stdint.h>
#include <stdio.h>
#include "packages.h"

typedef struct way {
  const char *name;
  int (*open)(const char *path);           /* 0: failed */
  void (*package)(const char *name);       /* prints it with print_package */
  uint64_t (*needed_by)(const char *name); /* the packages that depend on it */
} way;

extern const way frozen_way, frozen_verified_way, list_way, json_way, frozen_json_way, sqlite_way;

static inline void print_package(text name, text version, uint64_t kib, uint64_t depends, text description) {
  printf("%.*s %.*s %llu %llu %.*s\n", (int)name.size, name.at, (int)version.size, version.at, (unsigned long long)kib,
         (unsigned long long)depends, (int)description.size, description.at);
}

#endif
