//go:build cgo && race

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync"
	"unsafe"
)

// The race detector does not observe C memory, so it would not see two goroutines that use one arena. In programs built
// with it, each arena therefore has a word of Go memory, to which every use of the arena from Go writes.

const raceBuild = true

type shadow struct{ uses uint64 }

var shadows sync.Map // uintptr of the arena -> *shadow; loads from it order nothing

// raceBegin gives the arena a new word, so that earlier uses by other owners are not compared with those that follow.
func raceBegin(a *Arena) *Arena {
	shadows.Store(uintptr(unsafe.Pointer(a)), new(shadow))
	return a
}

func raceEnd(a *Arena) { shadows.Delete(uintptr(unsafe.Pointer(a))) }

// raceUse writes to the arena's word.
func raceUse(a *Arena) {
	s, ok := shadows.Load(uintptr(unsafe.Pointer(a)))
	if !ok {
		s, _ = shadows.LoadOrStore(uintptr(unsafe.Pointer(a)), new(shadow))
	}
	s.(*shadow).uses++
}
