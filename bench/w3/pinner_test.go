//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"runtime"
	"unsafe"
)

// runtime.Pinner: objects of Go's heap, pinned so that other objects given to C may point to them, then unpinned. A
// goroutine keeps its Pinner, which is the cheaper way.

type pinned struct {
	kept
	runtime.Pinner
}

func onPinned(do func(k *pinned, n int) uintptr) factory {
	return func() (loop, func()) {
		k := new(pinned)
		return func(n int) uintptr { return do(k, n) }, func() {}
	}
}

func init() {
	add("pinner", map[string]factory{
		"Small": onPinned(pinnedSmall), "SmallDefer": onPinned(pinnedSmallDefer),
		"SmallZeroed": onPinned(pinnedSmallZeroed), "SmallZeroedDefer": onPinned(pinnedSmallZeroedDefer),
		"SmallWritten": onPinned(pinnedSmallWritten),
		"Multi":        onPinned(pinnedMulti), "MultiDefer": onPinned(pinnedMultiDefer),
		"MultiZeroed": onPinned(pinnedMultiZeroed), "MultiZeroedDefer": onPinned(pinnedMultiZeroedDefer),
		"MultiWritten": onPinned(pinnedMultiWritten),
		"Owned":        onPinned(pinnedSmall), "Steady": onPinned(pinnedSteady), "Call": onPinned(pinnedCall),
	})
}

func (k *pinned) pin(n int) []unsafe.Pointer {
	for _, p := range k.kept[:n] {
		k.Pin(p)
	}
	return k.kept[:n]
}

func pinnedSmall(k *pinned, n int) (bad uintptr) {
	for range n {
		k.four()
		for _, p := range k.pin(4) {
			bad |= at(p)
		}
		k.Unpin()
	}
	return bad
}

func pinnedSmallDefer(k *pinned, n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		defer k.Unpin()
		k.four()
		for _, p := range k.pin(4) {
			bad |= at(p)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pinnedSmallZeroed(k *pinned, n int) (bad uintptr) {
	for range n {
		k.four()
		p := k.pin(4)
		bad |= used(p[0], 1) | used(p[1], 10) | used(p[2], 100) | used(p[3], 1000)
		k.Unpin()
	}
	return bad
}

func pinnedSmallZeroedDefer(k *pinned, n int) (bad uintptr) {
	batch := func() uintptr {
		defer k.Unpin()
		k.four()
		p := k.pin(4)
		return used(p[0], 1) | used(p[1], 10) | used(p[2], 100) | used(p[3], 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pinnedSmallWritten(k *pinned, n int) (bad uintptr) {
	for range n {
		k.four()
		p := k.pin(4)
		bad |= writeSmall(p[0], p[1], p[2], p[3])
		k.Unpin()
	}
	return bad
}

func pinnedMulti(k *pinned, n int) (bad uintptr) {
	for range n {
		k.ten()
		for _, p := range k.pin(10) {
			bad |= at(p)
		}
		k.Unpin()
	}
	return bad
}

func pinnedMultiDefer(k *pinned, n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		defer k.Unpin()
		k.ten()
		for _, p := range k.pin(10) {
			bad |= at(p)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pinnedMultiZeroed(k *pinned, n int) (bad uintptr) {
	for range n {
		k.ten()
		for _, p := range k.pin(10) {
			bad |= used(p, 1000)
		}
		k.Unpin()
	}
	return bad
}

func pinnedMultiZeroedDefer(k *pinned, n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		defer k.Unpin()
		k.ten()
		for _, p := range k.pin(10) {
			bad |= used(p, 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pinnedMultiWritten(k *pinned, n int) (bad uintptr) {
	for range n {
		p := k.ten()
		k.pin(10)
		bad |= writeMulti(p)
		k.Unpin()
	}
	return bad
}

func pinnedSteady(k *pinned, n int) (bad uintptr) {
	for i := range n {
		kib := steadyKiB(i)
		for j := range kib {
			k.kept[3*j] = unsafe.Pointer(new([steadyA]byte))
			k.kept[3*j+1] = unsafe.Pointer(new([steadyB]byte))
			k.kept[3*j+2] = unsafe.Pointer(new([steadyC]byte))
		}
		for _, p := range k.pin(3 * kib) {
			bad |= at(p)
		}
		k.Unpin()
	}
	return bad
}

func pinnedCall(k *pinned, n int) (bad uintptr) {
	for i := range n {
		p, array := new(params), new([3]*char)
		for j, name := range names {
			s := make([]byte, len(name)+1)
			copy(s, name)
			array[j] = (*char)(unsafe.Pointer(&s[0]))
			k.Pin(array[j])
		}
		var next *link
		for _, kind := range kinds {
			l := &link{next: next, kind: u64(kind), value: u64(i)}
			k.Pin(l)
			next = l
		}
		k.Pin(array)
		p.kind, p.count, p.names, p.chain = paramsKind, 3, &array[0], next
		bad |= checked(p, i)
		k.Unpin()
	}
	return bad
}
