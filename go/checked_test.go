//go:build cgo && !asan

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft_test

import (
	"fmt"
	"unsafe"

	"toft.dev/toft"
)

// What is written on purpose where nothing may be written: AddressSanitizer ends the program there, before the arena can
// tell.

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
