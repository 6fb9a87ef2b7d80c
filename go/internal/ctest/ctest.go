//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

// Package ctest is the C side of the tests, because test files cannot use cgo: a second provider (a copy of the library with
// other names), a client that allocates inline, and functions that read what Go has built.
package ctest

// #cgo CFLAGS: -std=gnu11 -DTOFT_PREFIX=ctest_
// #include "ctest.h"
import "C"

import "unsafe"

// ---- the provider ----

// Create makes an arena in C, with a budget in bytes (0 for none).
func Create(budget uint64) unsafe.Pointer {
	return unsafe.Pointer(C.ctest_x_create(C.uint64_t(budget)))
}

// Release releases an arena in C.
func Release(a unsafe.Pointer) { C.ctest_x_release((*C.toft_arena)(a)) }

// Held returns the bytes that the arenas of this provider have taken from their source.
func Held() int { return int(C.ctest_x_held()) }

// Foreign returns a head whose provider follows version v of the ABI and has a table with so many bytes missing. The caller
// must free it.
func Foreign(v, missing uint32) unsafe.Pointer {
	return unsafe.Pointer(C.ctest_x_foreign(C.uint32_t(v), C.uint32_t(missing)))
}

// Free frees memory of the C heap.
func Free(p unsafe.Pointer) { C.ctest_x_free(p) }

// HeapInUse returns the bytes in use of the C heap, mapped blocks included.
func HeapInUse() int { return int(C.ctest_x_heap_in_use()) }

// ---- the client ----

// Node is struct node of ctest.h.
type Node struct {
	Value int64
	Next  *Node
}

// List makes C build a list of 1 to n in the arena, inline.
func List(a unsafe.Pointer, n int) *Node {
	return (*Node)(unsafe.Pointer(C.ctest_x_list((*C.toft_arena)(a), C.int(n))))
}

// Scratch makes C mark the arena, fill n bytes, and rewind.
func Scratch(a unsafe.Pointer, n int) bool {
	return C.ctest_x_scratch((*C.toft_arena)(a), C.size_t(n)) != 0
}

// Thread returns the thread on which the caller runs.
func Thread() uint64 { return uint64(C.ctest_x_thread()) }

// Claim makes C claim a range of the arena until Give.
func Claim(a unsafe.Pointer) bool { return C.ctest_x_claim((*C.toft_arena)(a)) != 0 }

// Give makes C unclaim the range.
func Give(a unsafe.Pointer) bool { return C.ctest_x_give((*C.toft_arena)(a)) != 0 }

// Reset makes C reset the arena, which keeps nothing.
func Reset(a unsafe.Pointer) int { return int(C.ctest_x_reset((*C.toft_arena)(a))) }

// Log appends n to a list, of which TakeLog returns the last 16 at most.
func Log(n int) { C.ctest_x_log(C.int(n)) }

// LogAtCleanup registers a cleanup of C that appends n.
func LogAtCleanup(a unsafe.Pointer, n int) bool {
	return C.ctest_x_log_at_cleanup((*C.toft_arena)(a), C.intptr_t(n)) != 0
}

// TakeLog empties the list.
func TakeLog() (out []int) {
	var all [16]C.int
	for _, n := range all[:C.ctest_x_take_log(&all[0])] {
		out = append(out, int(n))
	}
	return out
}

// Adopt makes arena a release the donor.
func Adopt(a, donor unsafe.Pointer) bool {
	return C.ctest_x_adopt((*C.toft_arena)(a), (*C.toft_arena)(donor)) == 0
}

// ---- readers ----

// BufferCreateInfo is struct buffer_create_info, with the parts of a struct of a graphics library.
type BufferCreateInfo struct {
	Kind             uint32
	Next             *BufferCreateInfo
	Flags, Usage     uint32
	Size             uint64
	Sharing          uint32
	QueueFamilyCount uint32
	QueueFamilies    *uint32
}

// EveryKind is struct every_kind of ctest.h, as cgo declares it.
type EveryKind = C.struct_every_kind

// The types of the same header that a wrapper allocates by themselves, as cgo declares them.
type (
	Linked       = C.struct_linked
	Linking      = C.struct_linking
	Opaque       = *C.struct_incomplete // for an out-parameter
	Number       = C.union_number
	Function     = C.compare_fn
	Text         = *C.char
	ForeignArena = C.toft_arena
)

// SumBufferInfo returns the sum of all numbers of the info, of its queue family indices, and of the infos linked to it.
func SumBufferInfo(info *BufferCreateInfo) uint64 {
	return uint64(C.ctest_x_sum_info((*C.struct_buffer_create_info)(unsafe.Pointer(info))))
}

// SumStrings returns the sum of the bytes of a NULL-terminated array of strings, and the number of strings.
func SumStrings(list unsafe.Pointer) (sum, n int) {
	var count C.int
	return int(C.ctest_x_sum_strings((**C.char)(list), &count)), int(count)
}

// Strlen calls strlen of C.
func Strlen(s unsafe.Pointer) int { return int(C.ctest_x_strlen((*C.char)(s))) }

// Keep makes C keep a pointer, which ReadKept reads.
func Keep(p *int64) { C.ctest_x_keep((*C.int64_t)(p)) }

// ReadKept returns the value at the pointer of Keep.
func ReadKept() int64 { return int64(C.ctest_x_read_kept()) }

// Divide writes two results.
func Divide(a, b int32, quotient, rest *int32) bool {
	return C.ctest_x_divide(C.int(a), C.int(b), (*C.int)(quotient), (*C.int)(rest)) == 0
}
