//go:build cgo && !without_cgoparam

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"unsafe"

	"github.com/CannibalVox/cgoparam"
)

// cgoparam zeroes nothing: that is its user's task.

func init() {
	add("cgoparam", map[string]factory{"Call": each(cgoparamCall)})
	add("cgoparam", held(cgoparam.GetAlloc, func(a *cgoparam.Allocator) unsafe.Pointer { return a.Malloc(heldBytes) },
		cgoparam.ReturnAlloc))
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
