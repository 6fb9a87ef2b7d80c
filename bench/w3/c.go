//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

// Package w3 measures arenas that are borrowed for the length of a cgo call. Everything is in its tests; the C
// that they call is here, since tests cannot contain any.
package w3

/*
#include <stdint.h>
#include <stdlib.h>

struct w3_link {
	const struct w3_link *next;
	uint64_t kind, value;
};

struct w3_params {
	uint32_t kind, count;
	char **names;
	const struct w3_link *chain;
};

static void w3_nothing(void) {}

// Reads everything that hangs on p: each byte of the names by its place, and the chain.
static uint64_t w3_walk(const struct w3_params *p) {
	uint64_t sum = p->kind;
	for (uint32_t i = 0; i < p->count; i++) {
		const unsigned char *s = (const unsigned char *)p->names[i];
		for (uint64_t at = 1; *s != 0; s++) sum += at++ * *s;
	}
	for (const struct w3_link *l = p->chain; l != NULL; l = l->next) sum += l->kind * l->value;
	return sum;
}
*/
import "C"
import "unsafe"

type (
	char   = C.char
	u64    = C.uint64_t
	link   = C.struct_w3_link
	params = C.struct_w3_params
)

func malloc(size int) unsafe.Pointer { return C.malloc(C.size_t(size)) }
func calloc(size int) unsafe.Pointer { return C.calloc(1, C.size_t(size)) }
func free(p unsafe.Pointer)          { C.free(p) }
func cString(s string) *char         { return C.CString(s) }
func nothing()                       { C.w3_nothing() }
func walk(p *params) uint64          { return uint64(C.w3_walk(p)) }
