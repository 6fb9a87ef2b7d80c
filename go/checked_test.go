//go:build cgo && !asan

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft_test

import (
	"fmt"
	"unsafe"

	"toft.dev/toft"
)

// Writes outside of allocations, at which AddressSanitizer would end the program before the arena detects them.

func ExampleArena_SetChecked() {
	a, _ := toft.NewArena(toft.Options{})
	defer a.Release()
	a.SetChecked(true)
	m := a.Mark()
	p := a.Alloc(10, 1)
	*(*byte)(unsafe.Add(p, 10)) = 1 // one too far
	defer func() { fmt.Println(recover()) }()
	a.Rewind(m)
	// Output: toft: Rewind: bytes were written outside an allocation
}
