//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"strings"
	"unsafe"
)

// CString copies s and ends it with a NUL, for C: (*C.char)(p). [ErrNUL] if s holds a NUL, where C would see its end.
func (a *Arena) CString(s string) (unsafe.Pointer, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, ErrNUL
	}
	return a.cstring(s), nil
}

func (a *Arena) cstring(s string) unsafe.Pointer {
	p := a.bump(uintptr(len(s)) + 1)
	copy(unsafe.Slice((*byte)(p), len(s)), s)
	*(*byte)(unsafe.Add(p, len(s))) = 0
	return p
}

// CBytes copies b, NULs and all. Of no bytes the address must not be read.
func (a *Arena) CBytes(b []byte) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(CopySlice(a, b)))
}

// CStrings copies the strings and an array of their addresses, which a NULL ends: (**C.char)(p). [ErrNUL] if one holds a
// NUL; nothing is allocated then.
func (a *Arena) CStrings(ss []string) (unsafe.Pointer, error) {
	for _, s := range ss {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, ErrNUL
		}
	}
	list := MakeSlice[unsafe.Pointer](a, len(ss)+1)
	for i, s := range ss {
		list[i] = a.cstring(s)
	}
	return unsafe.Pointer(unsafe.SliceData(list)), nil
}
