//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package ctest

// #include "pages.h"
import "C"

import "unsafe"

// Pages is a source of pages that fails on request.
type Pages struct{ c *C.ctest_pages }

func arena(p unsafe.Pointer) *C.toft_arena { return (*C.toft_arena)(p) }

// NewPagesFailingFrom makes a source that fails from that call on, until Grant.
func NewPagesFailingFrom(call uintptr) Pages {
	return Pages{C.ctest_pages_make(C.size_t(call))}
}

// Grant ends the failures.
func (s Pages) Grant() { C.ctest_pages_grant(s.c) }

// Free frees all blocks and returns how many were in use.
func (s Pages) Free() int { return int(C.ctest_pages_free(s.c)) }

// Create makes an arena on the source.
func (s Pages) Create() unsafe.Pointer { return unsafe.Pointer(C.ctest_pages_create(s.c)) }

// Bytes returns the bytes that the arena must report for its source.
func (s Pages) Bytes() uint64 { return uint64(C.ctest_pages_bytes(s.c)) }

// Calls returns the number of calls of take.
func (s Pages) Calls() uint64 { return uint64(C.ctest_pages_calls(s.c)) }

// Reset calls ops->reset.
func Reset(a unsafe.Pointer, policy uint32, keep uintptr) int {
	return int(C.ctest_reset(arena(a), C.uint32_t(policy), C.size_t(keep)))
}
