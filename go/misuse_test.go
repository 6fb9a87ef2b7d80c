//go:build cgo && !asan

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"testing"
	"unsafe"
)

// These tests write outside of allocations; see checked_test.go.

func TestChecked(t *testing.T) {
	a := newArena(t, Options{Checked: true})
	p := New[[13]byte](a)
	m := a.Mark()
	q := MakeSlice[byte](a, 5)
	*(*byte)(unsafe.Add(unsafe.Pointer(&q[0]), 5)) = 1
	wantPanic(t, said(ErrCorrupt), func() { a.Rewind(m) })
	if q[0] != 0xDD {
		t.Errorf("%#x is left of what was given back", q[0])
	}
	*(*byte)(unsafe.Add(unsafe.Pointer(p), -1)) = 1
	wantPanic(t, said(ErrCorrupt), a.Reset)
	a.SetChecked(false)
	if New[[13]byte](a); a.limit == a.cursor {
		t.Error("still checked")
	}
}

func TestReturnOfACheckedLease(t *testing.T) {
	a := Get()
	a.SetChecked(true)
	p := New[[8]byte](a)
	*(*byte)(unsafe.Add(unsafe.Pointer(p), 8)) = 1
	wantPanic(t, said(ErrCorrupt), a.Return)
	wantPanic(t, "second Return", a.Return) // it is done
}

func TestDebugChecksArenas(t *testing.T) {
	debugging(t)
	a := getHere()
	p := New[[8]byte](a)
	*(*byte)(unsafe.Add(unsafe.Pointer(p), 8)) = 1
	wantPlaces(t, panics(t, a.lease().Return), said(ErrCorrupt), "toft.getHere")
}
