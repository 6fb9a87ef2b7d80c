//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"unsafe"

	"toft.dev/toft"
)

// Toft, untyped: AllocUninit, and Alloc where zeroed. As C's malloc they get a size; the alignment is that of
// all the others here.

func init() {
	add("toft-untyped", map[string]factory{
		"Small": each(untypedSmall), "SmallDefer": each(untypedSmallDefer),
		"SmallZeroed": each(untypedSmallZeroed), "SmallZeroedDefer": each(untypedSmallZeroedDefer),
		"SmallWritten": each(untypedSmallWritten),
		"Multi":        each(untypedMulti), "MultiDefer": each(untypedMultiDefer),
		"MultiZeroed": each(untypedMultiZeroed), "MultiZeroedDefer": each(untypedMultiZeroedDefer),
		"MultiWritten": each(untypedMultiWritten),
		"Owned":        ownArena(untypedOwned), "Steady": each(untypedSteady),
	})
}

func untypedSmall(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		bad |= at(a.AllocUninit(1, 8)) | at(a.AllocUninit(10, 8)) | at(a.AllocUninit(100, 8)) | at(a.AllocUninit(1000, 8))
		a.Return()
	}
	return bad
}

func untypedSmallDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		a := toft.Get()
		defer a.Return()
		return at(a.AllocUninit(1, 8)) | at(a.AllocUninit(10, 8)) | at(a.AllocUninit(100, 8)) | at(a.AllocUninit(1000, 8))
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func untypedSmallZeroed(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		bad |= used(a.Alloc(1, 8), 1) | used(a.Alloc(10, 8), 10) | used(a.Alloc(100, 8), 100) | used(a.Alloc(1000, 8), 1000)
		a.Return()
	}
	return bad
}

func untypedSmallZeroedDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		a := toft.Get()
		defer a.Return()
		return used(a.Alloc(1, 8), 1) | used(a.Alloc(10, 8), 10) | used(a.Alloc(100, 8), 100) | used(a.Alloc(1000, 8), 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func untypedSmallWritten(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		bad |= writeSmall(a.AllocUninit(1, 8), a.AllocUninit(10, 8), a.AllocUninit(100, 8), a.AllocUninit(1000, 8))
		a.Return()
	}
	return bad
}

func untypedMulti(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		for range 10 {
			bad |= at(a.AllocUninit(1000, 8))
		}
		a.Return()
	}
	return bad
}

func untypedMultiDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		a := toft.Get()
		defer a.Return()
		for range 10 {
			bad |= at(a.AllocUninit(1000, 8))
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func untypedMultiZeroed(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		for range 10 {
			bad |= used(a.Alloc(1000, 8), 1000)
		}
		a.Return()
	}
	return bad
}

func untypedMultiZeroedDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		a := toft.Get()
		defer a.Return()
		for range 10 {
			bad |= used(a.Alloc(1000, 8), 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func untypedMultiWritten(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		a := toft.Get()
		for k := range ps {
			ps[k] = a.AllocUninit(1000, 8)
		}
		bad |= writeMulti(&ps)
		a.Return()
	}
	return bad
}

func untypedOwned(a *toft.Arena, n int) (bad uintptr) {
	for range n {
		m := a.Mark()
		bad |= at(a.AllocUninit(1, 8)) | at(a.AllocUninit(10, 8)) | at(a.AllocUninit(100, 8)) | at(a.AllocUninit(1000, 8))
		a.Rewind(m)
	}
	return bad
}

func untypedSteady(n int) (bad uintptr) {
	for i := range n {
		a := toft.Get()
		for range steadyKiB(i) {
			bad |= at(a.AllocUninit(steadyA, 8)) | at(a.AllocUninit(steadyB, 8)) | at(a.AllocUninit(steadyC, 8))
		}
		a.Return()
	}
	return bad
}
