// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import (
	"syscall"
	"unsafe"
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	virtualAlloc = kernel32.NewProc("VirtualAlloc")
	virtualFree  = kernel32.NewProc("VirtualFree")
)

const (
	memCommit, memReserve, memDecommit, memRelease = 0x1000, 0x2000, 0x4000, 0x8000
	pageNoAccess, pageReadWrite                    = 0x01, 0x04
)

// A Mapping identifies a reserved range for Release.
type Mapping = uintptr

// Reserve reserves size bytes of address space and returns its start, or nil if there is none. The range must not be
// read before Commit; if readable is set, it is committed and reads as zero, because only committed memory can be read.
func Reserve(size uintptr, readable, small bool) (base unsafe.Pointer, m Mapping) {
	kind, protection := uintptr(memReserve), uintptr(pageNoAccess)
	if readable {
		kind, protection = memReserve|memCommit, pageReadWrite
	}
	p, _, _ := virtualAlloc.Call(0, size, kind, protection)
	return unsafe.Add(nil, p), p
}

// Commit makes a part of a range writable. It reports false if there is no memory.
func Commit(p unsafe.Pointer, size uintptr) bool {
	done, _, _ := virtualAlloc.Call(uintptr(p), size, memCommit, pageReadWrite)
	return done != 0
}

// Discard returns the memory of a part to the system and loses its contents. If keep is set, the part stays committed.
func Discard(p unsafe.Pointer, size uintptr, keep bool) {
	_, _, _ = virtualFree.Call(uintptr(p), size, memDecommit)
	if keep {
		Commit(p, size)
	}
}

// Release returns a range to the system.
func Release(m Mapping) { _, _, _ = virtualFree.Call(m, 0, memRelease) }

// Resident returns how many bytes of the range count as used by the process: all that are committed.
func Resident(_ unsafe.Pointer, size uintptr) uintptr { return size }
