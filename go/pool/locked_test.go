//go:build linux

// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"syscall"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// Locked pages cannot be discarded; a trim replaces them.
func TestTrimReturnsLockedMemory(t *testing.T) {
	p := newPool[[512]byte](t, Options{MaxSlots: 1 << 16})
	for range 10_000 {
		mustNew(t, p)
	}
	s := p.memory.all[len(p.memory.all)-1]
	if err := syscall.Mlock(unsafe.Slice((*byte)(s.base), s.committed)); err != nil {
		t.Skip(err)
	}
	if all := offheap.Resident(s.base, s.size); all < 10_000*512 {
		t.Fatalf("%d bytes resident", all)
	}
	p.Clear()
	p.Trim()
	if left := offheap.Resident(s.base, s.size); left > offheap.HugePage {
		t.Errorf("%d bytes resident after Trim", left)
	}
	mustNew(t, p)
}
