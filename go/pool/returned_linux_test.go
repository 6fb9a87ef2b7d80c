// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/offheap"
	"toft.dev/toft/internal/testutil"
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

// Pages that were written and discarded are not accounted any more, as they are where the system does not overcommit.
func TestDiscardedPagesAreNotAccounted(t *testing.T) {
	m, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Skip(err)
	}
	accounted := func() bool {
		_, after, _ := strings.Cut("\n"+testutil.ReadProc(t, "smaps"), fmt.Sprintf("\n%x-", unsafe.SliceData(m)))
		_, flags, _ := strings.Cut(after, "VmFlags:")
		flags, _, _ = strings.Cut(flags, "\n")
		return strings.Contains(flags, " ac")
	}
	offheap.Commit(unsafe.Pointer(unsafe.SliceData(m)), 1<<20)
	m[0] = 1
	shown := accounted()
	offheap.Discard(unsafe.Pointer(unsafe.SliceData(m)), 1<<20, false)
	if !shown || unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("the system does not show it, or the pages cannot be replaced")
	}
	if accounted() {
		t.Error("still accounted")
	}
}
