//go:build amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x

// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import "testing"

// Tests with numbers that an int of 32 bits cannot hold.
func TestSizesThatOverflow(t *testing.T) {
	noAddressSpace[[1 << 32]byte](t)
	noAddressSpace[[1 << 40]byte](t) // the product has 71 bits
	for _, o := range []Options{{MaxSlots: mostSlots + 1}, {Slots: mostSlots + 1, Fixed: true}, {Slots: 1 << 40}} {
		if p, err := New[byte](o); err == nil || p != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
