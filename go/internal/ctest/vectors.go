//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package ctest

// #include "vectors.h"
import "C"

import (
	"slices"
	"unsafe"
)

// Pages is a source of pages that logs its calls and fails on request.
type Pages struct{ c *C.ctest_pages }

// Range is a claimed range: toft_range.
type Range struct{ Cursor, Limit, Provider uintptr }

func arena(p unsafe.Pointer) *C.toft_arena { return (*C.toft_arena)(p) }

// NewPages makes a source that fails in the calls of take whose numbers, from 1, are in failAt.
func NewPages(failAt []uintptr) Pages {
	if len(failAt) == 0 {
		return Pages{C.ctest_v_pages(nil, 0)}
	}
	return Pages{C.ctest_v_pages((*C.size_t)(unsafe.Pointer(&failAt[0])), C.size_t(len(failAt)))}
}

// NewPagesFailingFrom makes a source that fails from that call on, until Grant.
func NewPagesFailingFrom(call uintptr) Pages {
	var failAt [200]uintptr
	for i := range failAt {
		failAt[i] = call + uintptr(i)
	}
	return NewPages(failAt[:])
}

// Grant ends the failures.
func (s Pages) Grant() { C.ctest_v_grant(s.c) }

// Free frees all blocks and returns how many were in use.
func (s Pages) Free() int { return int(C.ctest_v_free(s.c)) }

// Create makes an arena on the source.
func (s Pages) Create(budget uint64, reserve uintptr) unsafe.Pointer {
	return unsafe.Pointer(C.ctest_v_create(s.c, C.uint64_t(budget), C.size_t(reserve)))
}

// Traffic returns the blocks taken and returned, and the cleanups that ran, since the previous call.
func (s Pages) Traffic() (took, gave, ran []int) {
	var n C.size_t
	sizes := func(p *C.size_t) (out []int) {
		for _, v := range unsafe.Slice(p, int(n)) {
			out = append(out, int(v))
		}
		return
	}
	took = sizes(C.ctest_v_took(s.c, &n))
	gave = sizes(C.ctest_v_gave(s.c, &n))
	slices.Sort(gave)
	for _, v := range unsafe.Slice(C.ctest_v_ran(s.c, &n), int(n)) {
		ran = append(ran, int(v))
	}
	return
}

// Bytes returns the bytes that the arena must report for its source.
func (s Pages) Bytes() uint64 { return uint64(C.ctest_v_bytes(s.c)) }

// Calls returns the number of calls of take.
func (s Pages) Calls() uint64 { return uint64(C.ctest_v_calls(s.c)) }

// Open reports whether a cleanup found the arena open.
func (s Pages) Open() bool { return C.ctest_v_open(s.c) != 0 }

// Base returns the block in which p has this offset, or 0.
func (s Pages) Base(p uintptr, offset int) uintptr {
	return uintptr(C.ctest_v_base(s.c, unsafe.Add(nil, p), C.size_t(offset)))
}

// Cleanup registers a cleanup that logs id.
func (s Pages) Cleanup(a unsafe.Pointer, id int) uintptr {
	return uintptr(C.ctest_v_cleanup(s.c, arena(a), C.int(id)))
}

// Cancel cancels a cleanup.
func (s Pages) Cancel(id int) { C.ctest_v_cancel(s.c, C.int(id)) }

// Range is one of four ranges.
func (s Pages) Range(id int) *Range { return (*Range)(unsafe.Pointer(C.ctest_v_range(s.c, C.int(id)))) }

// OpsAlloc calls ops->alloc.
func OpsAlloc(a unsafe.Pointer, n, align uintptr, zero bool) uintptr {
	var flags C.uint32_t
	if zero {
		flags = C.TOFT_ZERO
	}
	return uintptr(C.ctest_v_alloc(arena(a), C.size_t(n), C.size_t(align), flags))
}

// Resize calls toft_resize.
func Resize(a unsafe.Pointer, p, old, n, align uintptr, zero, stay bool) uintptr {
	var flags C.uint32_t
	if zero {
		flags |= C.TOFT_ZERO
	}
	if stay {
		flags |= C.TOFT_STAY
	}
	return uintptr(C.ctest_v_resize(arena(a), unsafe.Add(nil, p), C.size_t(old), C.size_t(n), C.size_t(align), flags))
}

// GiveBack calls toft_free.
func GiveBack(a unsafe.Pointer, p, n uintptr) {
	C.ctest_v_give_back(arena(a), unsafe.Add(nil, p), C.size_t(n))
}

// Rewind calls ops->rewind.
func Rewind(a unsafe.Pointer, cursor, epoch uintptr) int {
	return int(C.ctest_v_rewind(arena(a), C.uintptr_t(cursor), C.uintptr_t(epoch)))
}

// Reset calls ops->reset.
func Reset(a unsafe.Pointer, policy uint32, keep uintptr) int {
	return int(C.ctest_v_reset(arena(a), C.uint32_t(policy), C.size_t(keep)))
}

// Set calls ops->set.
func Set(a unsafe.Pointer, what uint32, value uint64) int {
	return int(C.ctest_v_set(arena(a), C.uint32_t(what), C.uint64_t(value)))
}

// Trim calls toft_trim.
func Trim(a unsafe.Pointer, keep uintptr) { C.ctest_v_trim(arena(a), C.size_t(keep)) }

// OpsRelease calls toft_release.
func OpsRelease(a unsafe.Pointer) { C.ctest_v_release(arena(a)) }

// ClaimRange calls toft_claim or ops->claim.
func ClaimRange(a unsafe.Pointer, r *Range, n, align uintptr) uintptr {
	return uintptr(C.ctest_v_claim(arena(a), (*C.toft_range)(unsafe.Pointer(r)), C.size_t(n), C.size_t(align)))
}

// GiveRange calls toft_unclaim.
func GiveRange(a unsafe.Pointer, r *Range) int {
	return int(C.ctest_v_give(arena(a), (*C.toft_range)(unsafe.Pointer(r))))
}
