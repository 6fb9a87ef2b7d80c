//go:build cgo && goexperiment.arenas

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"arena"
	"unsafe"
)

// The arenas of Go itself, an experiment: GOEXPERIMENT=arenas.

type inGoArena struct{ a *arena.Arena }

func (s inGoArena) newNode() *node { return arena.New[node](s.a) }

func (s inGoArena) copyOf(b []byte) *byte {
	c := arena.MakeSlice[byte](s.a, len(b), len(b))
	copy(c, b)
	return unsafe.SliceData(c)
}

func init() {
	add("go-arena", documentLoops(alone(func(in []byte) uint64 {
		a := arena.NewArena()
		defer a.Free()
		return parse(inGoArena{a}, in)
	})))
}
