/* The events of a recorded trace.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef W5_TRACE_H
#define W5_TRACE_H

#include <stdint.h>

/* TRACE_RESIZED has the old address of a realloc; TRACE_REALLOC follows with the new one, if the call succeeded. */
enum { TRACE_MALLOC = 1, TRACE_CALLOC, TRACE_REALLOC, TRACE_FREE, TRACE_RESIZED };

typedef struct trace_event {
  uint64_t address;
  uint32_t size, call;
} trace_event;

#endif
