/* C's structs, opened in place.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <toft.h>
#include "lookup.h"

static toft_frozen file;

static int open_with(const char *path, uint32_t flags) {
  toft_frozen_options o = TOFT_FROZEN_OPTIONS;
  o.layout = PACKAGES_LAYOUT;
  o.flags = flags;
  return toft_frozen_open(&file, path, &o) == TOFT_OK;
}

static int open_file(const char *path) { return open_with(path, 0); }
static int open_verified(const char *path) { return open_with(path, TOFT_FROZEN_VERIFY); }

static void print(const char *name) { look_up((const packages *)file.root, name); }
static uint64_t needed_by(const char *name) { return count_needs((const packages *)file.root, name); }

const way frozen_way = {"frozen", open_file, print, needed_by};
const way frozen_verified_way = {"frozen-verified", open_verified, print, needed_by};
