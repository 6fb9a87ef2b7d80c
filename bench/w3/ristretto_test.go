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

func init() {
	add("ristretto", map[string]factory{
		"Small": onRistretto(ristrettoSmall), "SmallDefer": onRistretto(ristrettoSmallDefer),
		"SmallZeroed": onRistretto(ristrettoSmallZeroed), "SmallZeroedDefer": onRistretto(ristrettoSmallZeroedDefer),
		"SmallWritten": onRistretto(ristrettoSmallWritten),
		"Multi":        onRistretto(ristrettoMulti), "MultiDefer": onRistretto(ristrettoMultiDefer),
		"MultiZeroed": onRistretto(ristrettoMultiZeroed), "MultiZeroedDefer": onRistretto(ristrettoMultiZeroedDefer),
		"MultiWritten": onRistretto(ristrettoMultiWritten),
		"Owned":        onRistretto(ristrettoSmall), "Steady": onRistretto(ristrettoSteady),
	})
}

func ristrettoTake(a *z.Allocator, size int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(a.Allocate((size + 7) &^ 7)))
}

func ristrettoZeroed(a *z.Allocator, size int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(a.AllocateAligned(size)))
}

func ristrettoSmall(a *z.Allocator, n int) (bad uintptr) {
	for range n {
		bad |= at(ristrettoTake(a, 1)) | at(ristrettoTake(a, 10)) | at(ristrettoTake(a, 100)) | at(ristrettoTake(a, 1000))
		a.Reset()
	}
	return bad
}

func ristrettoSmallDefer(a *z.Allocator, n int) (bad uintptr) {
	batch := func() uintptr {
		defer a.Reset()
		return at(ristrettoTake(a, 1)) | at(ristrettoTake(a, 10)) | at(ristrettoTake(a, 100)) | at(ristrettoTake(a, 1000))
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func ristrettoSmallZeroed(a *z.Allocator, n int) (bad uintptr) {
	for range n {
		bad |= used(ristrettoZeroed(a, 1), 1) | used(ristrettoZeroed(a, 10), 10) |
			used(ristrettoZeroed(a, 100), 100) | used(ristrettoZeroed(a, 1000), 1000)
		a.Reset()
	}
	return bad
}

func ristrettoSmallZeroedDefer(a *z.Allocator, n int) (bad uintptr) {
	batch := func() uintptr {
		defer a.Reset()
		return used(ristrettoZeroed(a, 1), 1) | used(ristrettoZeroed(a, 10), 10) |
			used(ristrettoZeroed(a, 100), 100) | used(ristrettoZeroed(a, 1000), 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func ristrettoSmallWritten(a *z.Allocator, n int) (bad uintptr) {
	for range n {
		bad |= writeSmall(ristrettoTake(a, 1), ristrettoTake(a, 10), ristrettoTake(a, 100), ristrettoTake(a, 1000))
		a.Reset()
	}
	return bad
}

func ristrettoMulti(a *z.Allocator, n int) (bad uintptr) {
	for range n {
		for range 10 {
			bad |= at(ristrettoTake(a, 1000))
		}
		a.Reset()
	}
	return bad
}

func ristrettoMultiDefer(a *z.Allocator, n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		defer a.Reset()
		for range 10 {
			bad |= at(ristrettoTake(a, 1000))
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func ristrettoMultiZeroed(a *z.Allocator, n int) (bad uintptr) {
	for range n {
		for range 10 {
			bad |= used(ristrettoZeroed(a, 1000), 1000)
		}
		a.Reset()
	}
	return bad
}

func ristrettoMultiZeroedDefer(a *z.Allocator, n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		defer a.Reset()
		for range 10 {
			bad |= used(ristrettoZeroed(a, 1000), 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func ristrettoMultiWritten(a *z.Allocator, n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		for k := range ps {
			ps[k] = ristrettoTake(a, 1000)
		}
		bad |= writeMulti(&ps)
		a.Reset()
	}
	return bad
}

func ristrettoSteady(a *z.Allocator, n int) (bad uintptr) {
	for i := range n {
		for range steadyKiB(i) {
			bad |= at(ristrettoTake(a, steadyA)) | at(ristrettoTake(a, steadyB)) | at(ristrettoTake(a, steadyC))
		}
		a.Reset()
	}
	return bad
}
