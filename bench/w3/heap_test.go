//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import "unsafe"

// Go's heap: new, always zeroed, freed by the collector; C must not keep it, nor find pointers in it. The
// blocks are stored where the compiler must take them to live on, else it would put them on the stack. There is
// nothing to defer.

type kept [3 * 20]unsafe.Pointer

func onHeap(do func(k *kept, n int) uintptr) factory {
	return func() (loop, func()) {
		k := new(kept)
		return func(n int) uintptr { return do(k, n) }, func() {}
	}
}

func init() {
	add("heap", map[string]factory{
		"Small": onHeap(heapSmall), "SmallZeroed": onHeap(heapSmallZeroed), "SmallWritten": onHeap(heapSmallWritten),
		"Multi": onHeap(heapMulti), "MultiZeroed": onHeap(heapMultiZeroed), "MultiWritten": onHeap(heapMultiWritten),
		"Owned": onHeap(heapSmall), "Steady": onHeap(heapSteady),
	})
}

func (k *kept) four() {
	k[0], k[1] = unsafe.Pointer(new(b1)), unsafe.Pointer(new(b10))
	k[2], k[3] = unsafe.Pointer(new(b100)), unsafe.Pointer(new(b1000))
}

func (k *kept) ten() *[10]unsafe.Pointer {
	for i := range 10 {
		k[i] = unsafe.Pointer(new(b1000))
	}
	return (*[10]unsafe.Pointer)(k[:10])
}

func heapSmall(k *kept, n int) (bad uintptr) {
	for range n {
		k.four()
		bad |= at(k[0]) | at(k[1]) | at(k[2]) | at(k[3])
	}
	return bad
}

func heapSmallZeroed(k *kept, n int) (bad uintptr) {
	for range n {
		k.four()
		bad |= used(k[0], 1) | used(k[1], 10) | used(k[2], 100) | used(k[3], 1000)
	}
	return bad
}

func heapSmallWritten(k *kept, n int) (bad uintptr) {
	for range n {
		k.four()
		bad |= writeSmall(k[0], k[1], k[2], k[3])
	}
	return bad
}

func heapMulti(k *kept, n int) (bad uintptr) {
	for range n {
		for _, p := range k.ten() {
			bad |= at(p)
		}
	}
	return bad
}

func heapMultiZeroed(k *kept, n int) (bad uintptr) {
	for range n {
		for _, p := range k.ten() {
			bad |= used(p, 1000)
		}
	}
	return bad
}

func heapMultiWritten(k *kept, n int) (bad uintptr) {
	for range n {
		bad |= writeMulti(k.ten())
	}
	return bad
}

func heapSteady(k *kept, n int) (bad uintptr) {
	for i := range n {
		kib := steadyKiB(i)
		for j := range kib {
			k[3*j] = unsafe.Pointer(new([steadyA]byte))
			k[3*j+1] = unsafe.Pointer(new([steadyB]byte))
			k[3*j+2] = unsafe.Pointer(new([steadyC]byte))
		}
		for _, p := range k[:3*kib] {
			bad |= at(p)
		}
	}
	return bad
}
