//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// C memory may hold numbers, pointers, and arrays and structs of these, but not what the Go runtime manages: string,
// slice, map, chan, func, interface. A pointer whose target contains one of these could only be a Go pointer. Each type is
// examined once.

// The types that passed, by the address of their descriptor: a direct-mapped cache in front of a map.
var (
	passed   [1024]atomic.Uintptr
	examined sync.Map // reflect.Type -> verdict
)

type verdict struct {
	reason   string // why the type is refused, or ""
	pointers bool
}

const holdsPointers = 1 // a bit that is 0 in the address of each descriptor

func typeWord(of any) uintptr { return *(*uintptr)(unsafe.Pointer(&of)) }

func passedAt(word uintptr) *atomic.Uintptr { return &passed[word>>5%uintptr(len(passed))] }

// examine panics if the type that of, a *T, points to must not be in an arena. It reports whether the type has pointers.
//
//go:noinline
func examine(of any) (pointers bool) {
	t := reflect.TypeOf(of).Elem()
	found, known := examined.Load(t)
	if !known {
		found = verdict{offheap.Refused(t, false), offheap.Refused(t, true) != ""}
		examined.Store(t, found)
	}
	v := found.(verdict)
	if v.reason != "" {
		panic(fmt.Sprintf("toft: %v cannot be in an arena: %s", t, v.reason))
	}
	word := typeWord(of)
	entry := word
	if v.pointers {
		entry |= holdsPointers
	}
	passedAt(word).Store(entry)
	return v.pointers
}
