//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"unsafe"

	"toft.dev/toft"
)

// Toft, typed: UninitOf's New, and New where zeroed. toft_untyped_test.go has the other half.

type (
	b1    [1]byte
	b10   [10]byte
	b100  [100]byte
	b1000 [1000]byte
)

var (
	uninit1    = toft.UninitOf[b1]()
	uninit10   = toft.UninitOf[b10]()
	uninit100  = toft.UninitOf[b100]()
	uninit1000 = toft.UninitOf[b1000]()
	uninitA    = toft.UninitOf[[steadyA]byte]()
	uninitB    = toft.UninitOf[[steadyB]byte]()
	uninitC    = toft.UninitOf[[steadyC]byte]()
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
	add("toft-typed", map[string]factory{
		"Small": each(typedSmall), "SmallDefer": each(typedSmallDefer),
		"SmallZeroed": each(typedSmallZeroed), "SmallZeroedDefer": each(typedSmallZeroedDefer),
		"SmallWritten": each(typedSmallWritten),
		"Multi":        each(typedMulti), "MultiDefer": each(typedMultiDefer),
		"MultiZeroed": each(typedMultiZeroed), "MultiZeroedDefer": each(typedMultiZeroedDefer),
		"MultiWritten": each(typedMultiWritten),
		"Owned":        ownArena(typedOwned), "Steady": each(typedSteady), "Call": each(typedCall),
	})
	add("toft-owned", map[string]factory{"Call": ownArena(ownedCall)})
}

func typedSmall(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		bad |= at(unsafe.Pointer(uninit1.New(&a.Arena))) | at(unsafe.Pointer(uninit10.New(&a.Arena))) |
			at(unsafe.Pointer(uninit100.New(&a.Arena))) | at(unsafe.Pointer(uninit1000.New(&a.Arena)))
		a.Return()
	}
	return bad
}

func typedSmallDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		a := toft.Get()
		defer a.Return()
		return at(unsafe.Pointer(uninit1.New(&a.Arena))) | at(unsafe.Pointer(uninit10.New(&a.Arena))) |
			at(unsafe.Pointer(uninit100.New(&a.Arena))) | at(unsafe.Pointer(uninit1000.New(&a.Arena)))
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func typedSmallZeroed(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		bad |= used(unsafe.Pointer(toft.New[b1](a)), 1) | used(unsafe.Pointer(toft.New[b10](a)), 10) |
			used(unsafe.Pointer(toft.New[b100](a)), 100) | used(unsafe.Pointer(toft.New[b1000](a)), 1000)
		a.Return()
	}
	return bad
}

func typedSmallZeroedDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		a := toft.Get()
		defer a.Return()
		return used(unsafe.Pointer(toft.New[b1](a)), 1) | used(unsafe.Pointer(toft.New[b10](a)), 10) |
			used(unsafe.Pointer(toft.New[b100](a)), 100) | used(unsafe.Pointer(toft.New[b1000](a)), 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func typedSmallWritten(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		bad |= writeSmall(unsafe.Pointer(uninit1.New(&a.Arena)), unsafe.Pointer(uninit10.New(&a.Arena)),
			unsafe.Pointer(uninit100.New(&a.Arena)), unsafe.Pointer(uninit1000.New(&a.Arena)))
		a.Return()
	}
	return bad
}

func typedMulti(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		for range 10 {
			bad |= at(unsafe.Pointer(uninit1000.New(&a.Arena)))
		}
		a.Return()
	}
	return bad
}

func typedMultiDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		a := toft.Get()
		defer a.Return()
		for range 10 {
			bad |= at(unsafe.Pointer(uninit1000.New(&a.Arena)))
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func typedMultiZeroed(n int) (bad uintptr) {
	for range n {
		a := toft.Get()
		for range 10 {
			bad |= used(unsafe.Pointer(toft.New[b1000](a)), 1000)
		}
		a.Return()
	}
	return bad
}

func typedMultiZeroedDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		a := toft.Get()
		defer a.Return()
		for range 10 {
			bad |= used(unsafe.Pointer(toft.New[b1000](a)), 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func typedMultiWritten(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		a := toft.Get()
		for k := range ps {
			ps[k] = unsafe.Pointer(uninit1000.New(&a.Arena))
		}
		bad |= writeMulti(&ps)
		a.Return()
	}
	return bad
}

func typedOwned(a *toft.Arena, n int) (bad uintptr) {
	for range n {
		m := a.Mark()
		bad |= at(unsafe.Pointer(uninit1.New(a))) | at(unsafe.Pointer(uninit10.New(a))) |
			at(unsafe.Pointer(uninit100.New(a))) | at(unsafe.Pointer(uninit1000.New(a)))
		a.Rewind(m)
	}
	return bad
}

func typedSteady(n int) (bad uintptr) {
	for i := range n {
		a := toft.Get()
		for range steadyKiB(i) {
			bad |= at(unsafe.Pointer(uninitA.New(&a.Arena))) | at(unsafe.Pointer(uninitB.New(&a.Arena))) | at(unsafe.Pointer(uninitC.New(&a.Arena)))
		}
		a.Return()
	}
	return bad
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
