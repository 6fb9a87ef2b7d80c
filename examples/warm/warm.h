/* The interpreters that the program serves requests with: one file each.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef WARM_H
#define WARM_H

#include <toft.h>

typedef struct interpreter {
  const char *name;
  /* Returns a state with its libraries, 2,000 routes and a dictionary, whose memory comes from `memory`; NULL: malloc.
   * It ends the program if there is no memory. */
  void *(*start)(toft_malloc *memory);
  /* A request: it changes globals, a table of the library and the data, and has the same result in each new state. */
  long long (*serve)(void *state);
  void (*close)(void *state);
} interpreter;

extern const interpreter lua, duktape, quickjs;

void fail(const char *what); /* ends the program */

#endif
