//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"strings"
	"unsafe"
)

// CString copies s and ends it with a NUL, for C: (*C.char)(p). [ErrNUL] if s holds a NUL, where C would see its end; an
// [AllocError] where there is no memory.
func (a *Arena) CString(s string) (unsafe.Pointer, error) {
	if holdsNUL(s) {
		return nil, ErrNUL
	}
	p := a.aligned(uintptr(len(s))+1, 1)
	if p == nil {
		return nil, &AllocError{Size: len(s) + 1, Align: 1}
	}
	copyTo(p, s)
	*(*byte)(unsafe.Add(p, len(s))) = 0
	return p, nil
}

// CStringN copies s without a NUL at its end, for C that takes a length; s may hold any bytes. Never nil, also of no bytes,
// whose address must not be read. It panics with an [AllocError].
func (a *Arena) CStringN(s string) unsafe.Pointer {
	p := a.bump(uintptr(len(s)))
	copyTo(p, s)
	return p
}

// TryCStringN is CStringN that returns the [AllocError].
func (a *Arena) TryCStringN(s string) (unsafe.Pointer, error) {
	p := a.aligned(uintptr(len(s)), 1)
	if p == nil {
		return nil, &AllocError{Size: len(s), Align: 1}
	}
	copyTo(p, s)
	return p, nil
}

// CBytes copies b, NULs and all. Never nil, also of no bytes, whose address must not be read. It panics with an
// [AllocError].
func (a *Arena) CBytes(b []byte) unsafe.Pointer {
	p := a.bump(uintptr(len(b)))
	copyTo(p, unsafe.String(unsafe.SliceData(b), len(b)))
	return p
}

// TryCBytes is CBytes that returns the [AllocError].
func (a *Arena) TryCBytes(b []byte) (unsafe.Pointer, error) {
	return a.TryCStringN(unsafe.String(unsafe.SliceData(b), len(b)))
}

// CStrings copies the strings, side by side, and an array of their addresses, which a NULL ends: (**C.char)(p). [ErrNUL]
// if one holds a NUL, an [AllocError] where there is no memory; nothing is allocated then.
func (a *Arena) CStrings(ss []string) (unsafe.Pointer, error) {
	const word = unsafe.Sizeof(uintptr(0))
	list := uintptr(len(ss)+1) * word
	size := list
	for _, s := range ss {
		if holdsNUL(s) {
			return nil, ErrNUL
		}
		size += uintptr(len(s)) + 1
	}
	p := a.aligned(size, word)
	if p == nil {
		return nil, &AllocError{Size: int(size), Align: int(word)}
	}
	at := list
	for i, s := range ss {
		*(*uintptr)(unsafe.Add(p, uintptr(i)*word)) = uintptr(p) + at // a number: Go does not follow it
		copyTo(unsafe.Add(p, at), s)
		at += uintptr(len(s))
		*(*byte)(unsafe.Add(p, at)) = 0
		at++
	}
	*(*uintptr)(unsafe.Add(p, list-word)) = 0
	return p, nil
}

// copyTo copies s; of no bytes the address may not be read, see wipe.
func copyTo(p unsafe.Pointer, s string) {
	if len(s) != 0 {
		copy((*[maxBytes]byte)(p)[:len(s)], s)
	}
}

// holdsNUL looks at eight bytes at a time: names are short, and a call to look at one takes longer than to copy it.
func holdsNUL(s string) bool {
	const ones, tops = 0x0101_0101_0101_0101, 0x8080_8080_8080_8080
	if n := len(s); n >= 8 && n <= 64 {
		p := unsafe.Pointer(unsafe.StringData(s))
		last := *(*uint64)(unsafe.Add(p, n-8))
		found := (last - ones) &^ last & tops
		for i := 0; i < n-8; i += 8 {
			word := *(*uint64)(unsafe.Add(p, i))
			found |= (word - ones) &^ word & tops
		}
		return found != 0
	}
	return strings.IndexByte(s, 0) >= 0
}
