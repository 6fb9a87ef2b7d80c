//go:build cgo && !without_ristretto

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"unsafe"

	"github.com/dgraph-io/ristretto/v2/z"
)

// ristretto's z.Allocator, kept by its goroutine and Reset: its AllocatorPool costs more. Allocate neither aligns nor
// zeroes, so sizes are rounded to 8 by hand; zeroed means AllocateAligned. Its memory is Go's unless it is built with
// jemalloc, and so must not hold the pointers of a cgo call: it is not in BenchmarkCall.

func onRistretto(do func(a *z.Allocator, n int) uintptr) factory {
	return func() (loop, func()) {
		a := z.NewAllocator(64<<10, "w3")
		return func(n int) uintptr { return do(a, n) }, a.Release
	}
}

func ristrettoTake(a *z.Allocator, size int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(a.Allocate((size + 7) &^ 7)))
}

func ristrettoZeroed(a *z.Allocator, size int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(a.AllocateAligned(size)))
}
