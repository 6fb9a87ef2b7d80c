//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync"
	"unsafe"

	"toft.dev/toft/internal/link"
)

// The memory of debugged leases and of arenas that are made while debugging is on: blocks on pages of their own, which become
// inaccessible when they are freed. See faults.c.

const (
	mostFaulting  = 1 << (27 + 8*(unsafe.Sizeof(uintptr(0))/8)) // 32 GiB of addresses, 128 MiB where they have 32 bits
	leastFaulting = 16 << 20
)

// startFaults reserves the addresses of debugged leases. It panics if there are not enough.
func startFaults() {
	for size := uintptr(mostFaulting); !cStartFaults(size); size /= 2 {
		if size < leastFaulting {
			panic(&AllocError{Size: leastFaulting, Align: 8})
		}
	}
}

// faulting returns the source of a debugged lease, which is at the end of the slot's buffer.
func (s *slot) faulting() *faulting {
	return (*faulting)(unsafe.Add(unsafe.Pointer(s), bufferSize-unsafe.Sizeof(faulting{})))
}

// createFaulting is create for a debugged lease.
func (s *slot) createFaulting(made uint32) *Arena {
	return cCreateFaulting(unsafe.Pointer(s.arena()), bufferSize-s.at%bufferSize-unsafe.Sizeof(faulting{}), s.faulting(), made)
}

// beginFreeing makes the blocks that the caller's call frees name its place, and later ones an unknown place, until the
// function that it returns is called. It does nothing if a is not debugged, or is being returned or released.
func beginFreeing(a *Arena) (end func()) {
	f := faultsOf(a)
	if f == nil {
		return func() {}
	}
	setFreed(f, placeNumber("freed", callers()))
	return func() { setFreed(f, 0) }
}

// faultsOf returns the source of a debugged arena that was neither returned nor released, or nil.
func faultsOf(a *Arena) *faulting {
	if !debug.any.Load() {
		return nil
	}
	if m, ok := owned.Load(a); ok && m.(*creation) != nil {
		return m.(*creation).faults
	}
	debug.Lock()
	defer debug.Unlock()
	if r := debug.records[a]; r != nil && r.returned == nil {
		return slotOf(a).faulting()
	}
	return nil
}

// isDebugged reports whether a is debugged and was neither returned nor released.
func isDebugged(a *Arena) bool { return faultsOf(a) != nil }

// createDebugged is cCreate for a debugged arena, whose state and source are in a buffer.
func createDebugged(o Options) (*Arena, *creation) {
	buffer := cAllocBuffer()
	if buffer == nil {
		return nil, nil
	}
	const size = bufferSize - unsafe.Sizeof(faulting{})
	m := &creation{extra: buffer, faults: (*faulting)(unsafe.Add(buffer, size))}
	a := cCreateFaulting(buffer, size, m.faults, placeNumber("made", callers()))
	if a == nil || o.Checked && cSetChecked(a, true) != 0 {
		cFreeBuffer(buffer)
		return nil, nil
	}
	if o.Budget != 0 {
		must("NewArena", cSetBudget(a, o.Budget))
	}
	return a, m
}

// The numbers of places by their text.
var places struct {
	sync.Mutex
	numbers map[string]uint32
}

// placeNumber returns the number of "VERB at PLACE", for C.
func placeNumber(verb string, pcs []uintptr) uint32 {
	text := verb + " at " + link.Place(frames(pcs)) + "\x00"
	places.Lock()
	defer places.Unlock()
	n, known := places.numbers[text]
	if !known {
		if places.numbers == nil {
			places.numbers = map[string]uint32{}
		}
		n = cPlace(text)
		places.numbers[text] = n
	}
	return n
}
