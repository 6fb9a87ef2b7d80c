//go:build cgo && race

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync"
	"unsafe"
)

// The race detector does not look at C memory, so it would not see two goroutines in one arena. In programs that are built
// with it each arena therefore has a word of Go memory, which everything that is done with the arena from Go writes to.

const raceBuild = true

type shadow struct{ uses uint64 }

var shadows sync.Map // uintptr of the arena -> *shadow; it orders nothing among those that only look

// raceBegin gives the arena another word: what was done with it for the caller before is not to be compared.
func raceBegin(a *Arena) *Arena {
	shadows.Store(uintptr(unsafe.Pointer(a)), new(shadow))
	return a
}

func raceEnd(a *Arena) { shadows.Delete(uintptr(unsafe.Pointer(a))) }

// raceUse is a write to the arena for the race detector.
func raceUse(a *Arena) {
	s, ok := shadows.Load(uintptr(unsafe.Pointer(a)))
	if !ok {
		s, _ = shadows.LoadOrStore(uintptr(unsafe.Pointer(a)), new(shadow))
	}
	s.(*shadow).uses++
}
