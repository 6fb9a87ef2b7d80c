//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"strings"
	"unsafe"
)

// CString allocates a copy of s that ends with a NUL, for C: (*C.char)(p). It fails with [ErrNUL] if s contains a NUL. It
// panics with an [AllocError] if there is no memory.
func (a *Arena) CString(s string) (unsafe.Pointer, error) {
	p, err := a.TryCString(s)
	if err != nil && err != ErrNUL {
		panic(err)
	}
	return p, err
}

// TryCString is like [Arena.CString] and returns the [AllocError].
func (a *Arena) TryCString(s string) (unsafe.Pointer, error) {
	if holdsNUL(s) {
		return nil, ErrNUL
	}
	p := a.aligned(uintptr(len(s))+1, 1)
	if p == nil {
		return nil, a.refusal(AllocError{Size: len(s) + 1, Align: 1})
	}
	copyTo(p, s)
	*(*byte)(unsafe.Add(p, len(s))) = 0
	return p, nil
}

// CStringN allocates a copy of s without a NUL at the end, for C functions that take a length. The result is not nil; if s
// is empty, it must not be read. It panics with an [AllocError] if there is no memory.
func (a *Arena) CStringN(s string) unsafe.Pointer {
	p := a.bump(uintptr(len(s)))
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
	p := a.bump(uintptr(len(b)))
	copyTo(p, unsafe.String(unsafe.SliceData(b), len(b)))
	return p
}

// TryCBytes is like [Arena.CBytes] and returns the [AllocError].
func (a *Arena) TryCBytes(b []byte) (unsafe.Pointer, error) {
	return a.TryCStringN(unsafe.String(unsafe.SliceData(b), len(b)))
}

// CStrings allocates an array of C strings that ends with a NULL: (**C.char)(p). It fails with [ErrNUL] if a string
// contains a NUL; the arena is then unchanged. It panics with an [AllocError] if there is no memory.
func (a *Arena) CStrings(ss []string) (unsafe.Pointer, error) {
	p, err := a.TryCStrings(ss)
	if err != nil && err != ErrNUL {
		panic(err)
	}
	return p, err
}

// TryCStrings is like [Arena.CStrings] and returns the [AllocError].
func (a *Arena) TryCStrings(ss []string) (unsafe.Pointer, error) {
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
		return nil, a.refusal(AllocError{Size: int(size), Align: int(word)})
	}
	at := list
	for i, s := range ss {
		*(*uintptr)(unsafe.Add(p, uintptr(i)*word)) = uintptr(p) + at // stored as a number, without a write barrier
		copyTo(unsafe.Add(p, at), s)
		at += uintptr(len(s))
		*(*byte)(unsafe.Add(p, at)) = 0
		at++
	}
	*(*uintptr)(unsafe.Add(p, list-word)) = 0
	return p, nil
}

// copyTo copies s. If s is empty, p must not be read; see wipe.
func copyTo(p unsafe.Pointer, s string) {
	if len(s) != 0 {
		copy((*[maxBytes]byte)(p)[:len(s)], s)
	}
}

// holdsNUL compares eight bytes at a time: most names are short, and a call of IndexByte takes longer than the copy.
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
