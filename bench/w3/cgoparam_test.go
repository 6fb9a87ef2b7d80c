//go:build cgo && !without_cgoparam

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"unsafe"

	"github.com/CannibalVox/cgoparam"
)

// cgoparam itself, beside the few lines that follow its scheme (model_cgoparam_test.go). It zeroes nothing.

func init() {
	add("cgoparam", map[string]factory{
		"Small": each(cgoparamSmall), "SmallDefer": each(cgoparamSmallDefer),
		"Multi": each(cgoparamMulti), "MultiDefer": each(cgoparamMultiDefer), "Steady": each(cgoparamSteady),
	})
	add("cgoparam", held(cgoparam.GetAlloc, func(a *cgoparam.Allocator) unsafe.Pointer { return a.Malloc(heldBytes) },
		cgoparam.ReturnAlloc))
}

func cgoparamSmall(n int) (bad uintptr) {
	for range n {
		a := cgoparam.GetAlloc()
		bad |= at(a.Malloc(1)) | at(a.Malloc(10)) | at(a.Malloc(100)) | at(a.Malloc(1000))
		cgoparam.ReturnAlloc(a)
	}
	return bad
}

func cgoparamSmallDefer(n int) (bad uintptr) {
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

func cgoparamMulti(n int) (bad uintptr) {
	for range n {
		a := cgoparam.GetAlloc()
		for range 10 {
			bad |= at(a.Malloc(1000))
		}
		cgoparam.ReturnAlloc(a)
	}
	return bad
}

func cgoparamMultiDefer(n int) (bad uintptr) {
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

func cgoparamSteady(n int) (bad uintptr) {
	for i := range n {
		a := cgoparam.GetAlloc()
		for range steadyKiB(i) {
			bad |= at(a.Malloc(steadyA)) | at(a.Malloc(steadyB)) | at(a.Malloc(steadyC))
		}
		cgoparam.ReturnAlloc(a)
	}
	return bad
}
