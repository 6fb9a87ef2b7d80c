//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"slices"
	"strings"
	"unsafe"
)

// CString allocates a copy of s that ends with a NUL, for C: (*C.char)(p). It fails with [ErrNUL] if s contains a NUL. It
// panics with an [AllocError] if there is no memory.
func (a *Arena) CString(s string) (unsafe.Pointer, error) {
	return orPanic(a.TryCString(s))
}

func orPanic(p unsafe.Pointer, err error) (unsafe.Pointer, error) {
	if err != nil && err != ErrNUL {
		panic(err)
	}
	return p, err
}

// TryCString is like [Arena.CString] and returns the [AllocError].
func (a *Arena) TryCString(s string) (unsafe.Pointer, error) {
	size := uintptr(len(s)) + 1
	p, err := a.forText(size, 1, s)
	if err == nil && copyText(p, s) {
		return nil, ErrNUL
	}
	a.keep(p, size)
	return p, err
}

// CStringN allocates a copy of s without a NUL at the end, for C functions that take a length. The result is not nil; if s
// is empty, it must not be read. It panics with an [AllocError] if there is no memory.
//
//go:nosplit
func (a *Arena) CStringN(s string) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	n, p := uintptr(len(s)), unsafe.Add(nil, a.cursor)
	if a.limit-a.cursor < n {
		p = a.more(n)
	} else {
		a.cursor += (n + 7) &^ 7
	}
	copyTo(p, s)
	return p
}

// TryCStringN is like [Arena.CStringN] and returns the [AllocError].
func (a *Arena) TryCStringN(s string) (unsafe.Pointer, error) {
	p := a.aligned(uintptr(len(s)), 1)
	if p == nil {
		return nil, a.refusal(AllocError{Size: len(s), Align: 1})
	}
	copyTo(p, s)
	return p, nil
}

// CBytes allocates a copy of b. The result is not nil; if b is empty, it must not be read. It panics with an [AllocError]
// if there is no memory.
func (a *Arena) CBytes(b []byte) unsafe.Pointer {
	return a.CStringN(unsafe.String(unsafe.SliceData(b), len(b)))
}

// TryCBytes is like [Arena.CBytes] and returns the [AllocError].
func (a *Arena) TryCBytes(b []byte) (unsafe.Pointer, error) {
	return a.TryCStringN(unsafe.String(unsafe.SliceData(b), len(b)))
}

// CStrings allocates an array of C strings that ends with a NULL: (**C.char)(p). It fails with [ErrNUL] if a string
// contains a NUL; the arena is then unchanged. It panics with an [AllocError] if there is no memory.
func (a *Arena) CStrings(ss []string) (unsafe.Pointer, error) {
	return orPanic(a.TryCStrings(ss))
}

// TryCStrings is like [Arena.CStrings] and returns the [AllocError].
func (a *Arena) TryCStrings(ss []string) (unsafe.Pointer, error) {
	const word = unsafe.Sizeof(uintptr(0))
	at := uintptr(len(ss)+1) * word
	size := at + uintptr(len(ss))
	for _, s := range ss {
		size += uintptr(len(s))
	}
	p, err := a.forText(size, word, ss...)
	if err != nil {
		return nil, err
	}
	for i, s := range ss {
		*(*uintptr)(unsafe.Add(p, uintptr(i)*word)) = uintptr(p) + at // stored as a number, without a write barrier
		if copyText(unsafe.Add(p, at), s) {
			return nil, ErrNUL
		}
		at += uintptr(len(s)) + 1
	}
	*(*uintptr)(unsafe.Add(p, uintptr(len(ss))*word)) = 0
	a.keep(p, size)
	return p, nil
}

// forText returns the address of the next size bytes, which keep allocates, or if they are too few, allocates size bytes
// unless one of ss holds a NUL.
func (a *Arena) forText(size, align uintptr, ss ...string) (unsafe.Pointer, error) {
	if raceBuild {
		raceUse(a)
	}
	if a.limit-a.cursor >= size {
		return unsafe.Add(nil, a.cursor), nil
	}
	if slices.ContainsFunc(ss, func(s string) bool { return strings.IndexByte(s, 0) >= 0 }) {
		return nil, ErrNUL
	}
	if p := a.slow(size, align); p != nil {
		return p, nil
	}
	return nil, a.refusal(AllocError{Size: int(size), Align: int(align)})
}

func (a *Arena) keep(p unsafe.Pointer, size uintptr) {
	if uintptr(p) == a.cursor {
		a.cursor += (size + 7) &^ 7
	}
}

// copyTo copies s. If s is empty, p must not be read; see wipe.
func copyTo(p unsafe.Pointer, s string) {
	if len(s) != 0 {
		copy((*[maxBytes]byte)(p)[:len(s)], s)
	}
}

// copyText copies s and a NUL, and reports whether s holds one. Most names are short: eight bytes at a time, without a call.
func copyText(p unsafe.Pointer, s string) (holdsNUL bool) {
	const ones, tops = 0x0101_0101_0101_0101, 0x8080_8080_8080_8080
	n, from := uintptr(len(s)), unsafe.Pointer(unsafe.StringData(s))
	*(*byte)(unsafe.Add(p, n)) = 0
	if n-8 > 56 { // also if n < 8
		copyTo(p, s)
		return strings.IndexByte(s, 0) >= 0
	}
	last := *(*uint64)(unsafe.Add(from, n-8))
	found := (last - ones) &^ last & tops
	for i := uintptr(0); i < n-8; i += 8 {
		w := *(*uint64)(unsafe.Add(from, i))
		*(*uint64)(unsafe.Add(p, i)) = w
		found |= (w - ones) &^ w & tops
	}
	*(*uint64)(unsafe.Add(p, n-8)) = last
	return found != 0
}
