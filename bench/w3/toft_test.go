//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import "toft.dev/toft"

// Toft, typed: UninitOf's New, and New where zeroed; untyped: AllocUninit, and Alloc where zeroed. As C's malloc these get a
// size; the alignment is that of all the others here. loops.py has their loops.

type (
	b1    [1]byte
	b10   [10]byte
	b100  [100]byte
	b1000 [1000]byte
)

var (
	uninit1       = toft.UninitOf[b1]()
	uninit10      = toft.UninitOf[b10]()
	uninit100     = toft.UninitOf[b100]()
	uninit1000    = toft.UninitOf[b1000]()
	uninitsteadyA = toft.UninitOf[[steadyA]byte]()
	uninitsteadyB = toft.UninitOf[[steadyB]byte]()
	uninitsteadyC = toft.UninitOf[[steadyC]byte]()
)

// ownArena is the factory of a loop in an arena that its goroutine keeps.
func ownArena(do func(a *toft.Arena, n int) uintptr) factory {
	return func() (loop, func()) {
		a, err := toft.NewArena(toft.Options{})
		if err != nil {
			panic(err)
		}
		return func(n int) uintptr { return do(a, n) }, a.Release
	}
}

func init() {
	add("toft-typed", map[string]factory{"Call": each(typedCall)})
	add("toft-owned", map[string]factory{"Call": ownArena(ownedCall)})
}

func typedCall(n int) (bad uintptr) {
	for i := range n {
		a := toft.Get()
		bad |= checked(build(&a.Arena, i), i)
		a.Return()
	}
	return bad
}

func ownedCall(a *toft.Arena, n int) (bad uintptr) {
	for i := range n {
		m := a.Mark()
		bad |= checked(build(a, i), i)
		a.Rewind(m)
	}
	return bad
}

func build(a *toft.Arena, i int) *params {
	p := toft.New[params](a)
	array, err := a.CStrings(names)
	if err != nil {
		panic(err)
	}
	var next *link
	for _, kind := range kinds {
		l := toft.New[link](a)
		l.next, l.kind, l.value = next, u64(kind), u64(i)
		next = l
	}
	p.kind, p.count, p.names, p.chain = paramsKind, 3, (**char)(array), next
	return p
}
