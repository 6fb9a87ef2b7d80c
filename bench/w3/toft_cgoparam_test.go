//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import "toft.dev/toft/cgoparam"

// Toft with the interface of cgoparam. It zeroes nothing, as cgoparam.

func init() {
	add("toft-cgoparam", map[string]factory{
		"Small": each(dropInSmall), "SmallDefer": each(dropInSmallDefer),
		"Multi": each(dropInMulti), "MultiDefer": each(dropInMultiDefer), "Steady": each(dropInSteady),
	})
}

func dropInSmall(n int) (bad uintptr) {
	for range n {
		a := cgoparam.GetAlloc()
		bad |= at(a.Malloc(1)) | at(a.Malloc(10)) | at(a.Malloc(100)) | at(a.Malloc(1000))
		cgoparam.ReturnAlloc(a)
	}
	return bad
}

func dropInSmallDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		a := cgoparam.GetAlloc()
		defer cgoparam.ReturnAlloc(a)
		return at(a.Malloc(1)) | at(a.Malloc(10)) | at(a.Malloc(100)) | at(a.Malloc(1000))
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func dropInMulti(n int) (bad uintptr) {
	for range n {
		a := cgoparam.GetAlloc()
		for range 10 {
			bad |= at(a.Malloc(1000))
		}
		cgoparam.ReturnAlloc(a)
	}
	return bad
}

func dropInMultiDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		a := cgoparam.GetAlloc()
		defer cgoparam.ReturnAlloc(a)
		for range 10 {
			bad |= at(a.Malloc(1000))
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func dropInSteady(n int) (bad uintptr) {
	for i := range n {
		a := cgoparam.GetAlloc()
		for range steadyKiB(i) {
			bad |= at(a.Malloc(steadyA)) | at(a.Malloc(steadyB)) | at(a.Malloc(steadyC))
		}
		cgoparam.ReturnAlloc(a)
	}
	return bad
}
