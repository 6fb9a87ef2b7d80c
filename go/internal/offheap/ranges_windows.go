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

// HugePage is the size of a huge page on x86-64 and arm64.
const HugePage = 2 << 20

// The limits of pools without one: the number of slots, and the address space for their values.
const (
	DefaultSlots = 1<<24 - 1
	DefaultSpan  = min(1<<40, uint64(^uintptr(0))>>4)
)

// Reserve reserves size bytes of address space and returns its start, or nil if there is none. No part may be read before
// Commit or Readable.
func Reserve(size uintptr) (base unsafe.Pointer, m Mapping) {
	p, _, _ := virtualAlloc.Call(0, size, memReserve, pageNoAccess)
	return unsafe.Add(nil, p), p
}

// Readable makes a part of a range read as zero. It commits it, because only committed memory can be read.
func Readable(p unsafe.Pointer, size uintptr) bool { return Commit(p, size) }

// AdviseHuge does nothing: the system has no such request.
func AdviseHuge(unsafe.Pointer, uintptr) {}

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
