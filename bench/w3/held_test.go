//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"fmt"
	"unsafe"

	"toft.dev/toft"
)

// Held: k arenas are got, each for 64 bytes, and then all are returned. An operation is one of them.

var heldAtOnce = []int{1, 4, 8, 64, 100, 1000, 3000, 10000, 30000}

const heldBytes = 64

var uninitHeld = toft.UninitOf[[heldBytes]byte]()

func heldName(k int) string { return fmt.Sprintf("Held%d", k) }

// held is the factory of such a loop for each k.
func held[A any](get func() A, use func(A) unsafe.Pointer, put func(A)) map[string]factory {
	loops := map[string]factory{}
	for _, k := range heldAtOnce {
		loops[heldName(k)] = func() (loop, func()) {
			out := make([]A, k)
			for range 2 { // all are made before the time is taken
				for i := range out {
					out[i] = get()
				}
				for _, a := range out {
					put(a)
				}
			}
			return func(n int) (bad uintptr) {
				for ; n > 0; n -= k {
					some := out[:min(n, k)]
					for i := range some {
						some[i] = get()
						bad |= at(use(some[i]))
					}
					for _, a := range some {
						put(a)
					}
				}
				return bad
			}, func() {}
		}
	}
	return loops
}

func init() {
	add("toft-typed", held(toft.Get, func(a *toft.Lease) unsafe.Pointer { return unsafe.Pointer(uninitHeld.New(&a.Arena)) },
		(*toft.Lease).Return))
	add("toft-untyped", held(toft.Get, func(a *toft.Lease) unsafe.Pointer { return a.AllocUninit(heldBytes, 8) },
		(*toft.Lease).Return))
	add("floor_pool", held(func() *floor { return emptyPool.Get().(*floor) },
		func(f *floor) unsafe.Pointer { return unsafe.Pointer(f) }, func(f *floor) { emptyPool.Put(f) }))
}
