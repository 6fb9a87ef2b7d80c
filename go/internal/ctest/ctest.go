//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

// Package ctest is the C side of the tests: a provider of arenas of its own (a second copy of the library, under other
// names), a user that bumps inline, and functions that read what Go built. Test files cannot use cgo themselves.
package ctest

// #cgo CFLAGS: -std=gnu11 -DTOFT_PREFIX=ctest_
// #include "ctest.h"
import "C"

import "unsafe"

// ---- the provider ----

// Create makes an arena in C, with a budget in bytes (0: none).
func Create(budget uint64) unsafe.Pointer {
	return unsafe.Pointer(C.ctest_x_create(C.uint64_t(budget)))
}

// Release releases an arena in C.
func Release(a unsafe.Pointer) { C.ctest_x_release((*C.toft_arena)(a)) }

// Held is what the providers of this copy hold of their source, in bytes.
func Held() int { return int(C.ctest_x_held()) }

// Foreign is a head, to be freed, whose provider follows version v of the ABI and fills in all but so many bytes of the table.
func Foreign(v, missing uint32) unsafe.Pointer {
	return unsafe.Pointer(C.ctest_x_foreign(C.uint32_t(v), C.uint32_t(missing)))
}

// Free frees memory of C's.
func Free(p unsafe.Pointer) { C.ctest_x_free(p) }

// HeapInUse is what malloc has given out, mapped blocks included, in bytes.
func HeapInUse() int { return int(C.ctest_x_heap_in_use()) }

// ---- the user ----

// Node is struct node of ctest.h.
type Node struct {
	Value int64
	Next  *Node
}

// List has C build a list of 1 to n in the arena, inline.
func List(a unsafe.Pointer, n int) *Node {
	return (*Node)(unsafe.Pointer(C.ctest_x_list((*C.toft_arena)(a), C.int(n))))
}

// Scratch has C mark, fill n bytes, and rewind.
func Scratch(a unsafe.Pointer, n int) bool {
	return C.ctest_x_scratch((*C.toft_arena)(a), C.size_t(n)) != 0
}

// Thread is the thread that the caller runs on.
func Thread() uint64 { return uint64(C.ctest_x_thread()) }

// Claim has C claim the arena's range, until Give.
func Claim(a unsafe.Pointer) bool { return C.ctest_x_claim((*C.toft_arena)(a)) != 0 }

// Give has C give it back.
func Give(a unsafe.Pointer) bool { return C.ctest_x_give((*C.toft_arena)(a)) != 0 }

// ---- readers ----

// BufferCreateInfo is struct buffer_create_info, as a graphics library has it.
type BufferCreateInfo struct {
	Kind             uint32
	Next             *BufferCreateInfo
	Flags            uint32
	Size             uint64
	Usage, Sharing   uint32
	QueueFamilyCount uint32
	QueueFamilies    *uint32
}

// SumBufferInfo adds up all numbers of the info, the queue family indices that it points to, and those it is linked to.
func SumBufferInfo(info *BufferCreateInfo) uint64 {
	return uint64(C.ctest_x_sum_info((*C.struct_buffer_create_info)(unsafe.Pointer(info))))
}

// SumStrings returns the sum of the bytes of a NULL-terminated array of strings, and the number of strings.
func SumStrings(list unsafe.Pointer) (sum, n int) {
	var count C.int
	return int(C.ctest_x_sum_strings((**C.char)(list), &count)), int(count)
}

// Strlen is C's.
func Strlen(s unsafe.Pointer) int { return int(C.ctest_x_strlen((*C.char)(s))) }

// Divide writes two results.
func Divide(a, b int32, quotient, rest *int32) bool {
	return C.ctest_x_divide(C.int(a), C.int(b), (*C.int)(quotient), (*C.int)(rest)) == 0
}
