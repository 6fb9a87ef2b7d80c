//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

type pointing struct {
	_     int32
	text  *byte
	inner struct {
		list [3]*chain
		data unsafe.Pointer
	}
	self *pointing
}

var (
	heapByte   *byte
	heapLink   *chain
	heapValue  *pointing
	globalByte byte
)

// store writes a pointer as C does, which GOEXPERIMENT=cgocheck2 would refuse.
func store[T any](at **T, p *T) { *(*uintptr)(unsafe.Pointer(at)) = addressOf(p) }

func TestGoPointersAreFound(t *testing.T) {
	debugging(t)
	heapByte, heapLink, heapValue = new(byte), &chain{value: 1}, new(pointing)
	for want, f := range map[string]func(a *Arena){
		"field text of a toft.pointing":       func(a *Arena) { store(&New[pointing](a).text, heapByte) },
		"field inner.list[2] of a toft.point": func(a *Arena) { store(&New[pointing](a).inner.list[2], heapLink) },
		"field inner.data of a toft.pointing": func(a *Arena) {
			store((**byte)(unsafe.Pointer(&New[pointing](a).inner.data)), (*byte)(unsafe.Add(unsafe.Pointer(heapLink), 8)))
		},
		"[4].next of a []toft.chain":  func(a *Arena) { store(&MakeSlice[chain](a, 5)[4].next, heapLink) },
		"[1] of a []*toft.chain":      func(a *Arena) { store(&CopySlice(a, make([]*chain, 2))[1], heapLink) },
		"; a *toft.chain, allocated":  func(a *Arena) { store(New[*chain](a), heapLink) },
		"field next of a toft.chain":  func(a *Arena) { store(&Copy(a, chain{}).next, heapLink) },
		"field [1] of a [2]*toft.cha": func(a *Arena) { p, _ := TryNew[[2]*chain](a); store(&p[1], heapLink) },
		"field self of a toft.pointi": func(a *Arena) { store(&NewAligned[pointing](a, 64).self, heapValue) },
	} {
		t.Run(want, func(t *testing.T) {
			l := Get()
			f(&l.Arena)
			text, value := panicsWith(t, l.Return)
			wantPlaces(t, text, want, "toft: Return: ", "allocated at ", "gopointers_test.go:", "TestGoPointersAreFound")
			if !errors.Is(value.(error), ErrGoPointer) {
				t.Error("not ErrGoPointer")
			}
			wantPanic(t, "second Return", l.Return) // it is done

			a := newArena(t, Options{Checked: true})
			f(a)
			wantPlaces(t, panics(t, a.Reset), want, "toft: Reset: ")
			a.Reset()
			b := must1(NewArena(Options{Checked: true}))
			f(b)
			wantPlaces(t, panics(t, b.Release), want, "toft: Release: ")
			wantPanic(t, "released before", b.Release)
		})
	}
	runtime.KeepAlive(heapByte)
}

func TestOtherPointersAreAllowed(t *testing.T) {
	debugging(t)
	a := Get()
	b := Get()
	all := New[pointing](a)
	all.self = New[pointing](b)
	all.inner.data, _ = a.CString("text")
	all.inner.list[0] = (*chain)(unsafe.Pointer(ctest.List(b.Pointer(), 2)))
	MakeSlice[*byte](a, 2)[1] = nil
	for _, handle := range []uintptr{1, 4095, 0x1234_5678, ^uintptr(0)} { // numbers that C declares as pointers
		*(*uintptr)(unsafe.Pointer(New[unsafe.Pointer](a))) = handle
	}
	store(New[*byte](a), &globalByte) // is never moved nor freed
	heapLink = new(chain)
	pinned := heapLink
	var pinner runtime.Pinner
	pinner.Pin(pinned)
	defer pinner.Unpin()
	store(New[*chain](a), pinned)
	heapLink = new(chain)

	m := a.Mark() // what is freed does not count
	store(New[*chain](a), heapLink)
	a.Rewind(m)
	*New[uintptr](a) = addressOf(heapLink) // a number, in the same place
	a.Scope(func() { store(New[*chain](a), heapLink) })
	a.Return()
	b.Return()

	c := Get() // and what C has freed is not read
	store(New[*chain](c), heapLink)
	ctest.Reset(c.Pointer())
	c.Return()
}

// An array with more pointers than are compared, and a freed object, whose address may be in no object any more.
func TestComparisonOfManyPointers(t *testing.T) {
	debugging(t)
	a := Get()
	many := MakeSlice[*chain](a, mostPointers+1)
	store(&many[mostPointers], heapLink)
	a.Return()
	a = Get()
	many = MakeSlice[*chain](a, mostPointers+1)
	store(&many[mostPointers-1], heapLink)
	wantPanic(t, "[65535] of a []*toft.chain", a.Return)

	for range 20 {
		a := Get()
		*(*uintptr)(unsafe.Pointer(New[*byte](a))) = freedSpan()
		runtime.GC()
		if text, ok := outcome(a.Return).(error); ok && !strings.Contains(text.Error(), said(ErrGoPointer)) {
			t.Error(text)
		}
	}
}

// freedSpan returns an address of the Go heap that contains no object any more.
func freedSpan() uintptr { return addressOf(&make([]byte, 1<<20)[1<<19]) }
