//go:build cgo && !without_cgoparam

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"unsafe"

	"github.com/CannibalVox/cgoparam"
)

// cgoparam zeroes nothing: that is its user's task.

func init() {
	add("cgoparam", map[string]factory{
		"Small": each(cgoparamSmall), "SmallDefer": each(cgoparamSmallDefer),
		"SmallZeroed": each(cgoparamSmallZeroed), "SmallZeroedDefer": each(cgoparamSmallZeroedDefer),
		"SmallWritten": each(cgoparamSmallWritten),
		"Multi":        each(cgoparamMulti), "MultiDefer": each(cgoparamMultiDefer),
		"MultiZeroed": each(cgoparamMultiZeroed), "MultiZeroedDefer": each(cgoparamMultiZeroedDefer),
		"MultiWritten": each(cgoparamMultiWritten),
		"Steady":       each(cgoparamSteady), "Call": each(cgoparamCall),
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

func cgoparamSmallZeroed(n int) (bad uintptr) {
	for range n {
		a := cgoparam.GetAlloc()
		bad |= used(zero(a.Malloc(1), 1), 1) | used(zero(a.Malloc(10), 10), 10) |
			used(zero(a.Malloc(100), 100), 100) | used(zero(a.Malloc(1000), 1000), 1000)
		cgoparam.ReturnAlloc(a)
	}
	return bad
}

func cgoparamSmallZeroedDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		a := cgoparam.GetAlloc()
		defer cgoparam.ReturnAlloc(a)
		return used(zero(a.Malloc(1), 1), 1) | used(zero(a.Malloc(10), 10), 10) |
			used(zero(a.Malloc(100), 100), 100) | used(zero(a.Malloc(1000), 1000), 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func cgoparamSmallWritten(n int) (bad uintptr) {
	for range n {
		a := cgoparam.GetAlloc()
		bad |= writeSmall(a.Malloc(1), a.Malloc(10), a.Malloc(100), a.Malloc(1000))
		cgoparam.ReturnAlloc(a)
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

func cgoparamMultiZeroed(n int) (bad uintptr) {
	for range n {
		a := cgoparam.GetAlloc()
		for range 10 {
			bad |= used(zero(a.Malloc(1000), 1000), 1000)
		}
		cgoparam.ReturnAlloc(a)
	}
	return bad
}

func cgoparamMultiZeroedDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		a := cgoparam.GetAlloc()
		defer cgoparam.ReturnAlloc(a)
		for range 10 {
			bad |= used(zero(a.Malloc(1000), 1000), 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func cgoparamMultiWritten(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		a := cgoparam.GetAlloc()
		for k := range ps {
			ps[k] = a.Malloc(1000)
		}
		bad |= writeMulti(&ps)
		cgoparam.ReturnAlloc(a)
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

func cgoparamCall(n int) (bad uintptr) {
	for i := range n {
		a := cgoparam.GetAlloc()
		p := (*params)(a.Malloc(int(unsafe.Sizeof(params{}))))
		array := (*[3]*char)(a.Malloc(int(unsafe.Sizeof([3]*char{}))))
		for k, name := range names {
			array[k] = (*char)(a.CString(name))
		}
		var next *link
		for _, kind := range kinds {
			l := (*link)(a.Malloc(int(unsafe.Sizeof(link{}))))
			l.next, l.kind, l.value = next, u64(kind), u64(i)
			next = l
		}
		p.kind, p.count, p.names, p.chain = paramsKind, 3, &array[0], next
		bad |= checked(p, i)
		cgoparam.ReturnAlloc(a)
	}
	return bad
}
