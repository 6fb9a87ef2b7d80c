//go:build !race

// SPDX-License-Identifier: MIT OR Apache-2.0

package cgoparam

import "testing"

// Without the race detector, for which each lease has a word of Go memory.
func TestNoGarbage(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		a := GetAlloc()
		a.Malloc(100)
		a.CString("text")
		ReturnAlloc(a)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
