// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

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

// A mapping is address space of the system's; see takeRange.
type mapping = uintptr

// takeRange takes address space: nothing of it may be read before makeWritable, or, if it is readable, it reads as zero.
// Only what is committed can be read here. nil: there is no address space.
func takeRange(size uintptr, readable, small bool) (base unsafe.Pointer, m mapping) {
	kind, protection := uintptr(memReserve), uintptr(pageNoAccess)
	if readable {
		kind, protection = memReserve|memCommit, pageReadWrite
	}
	p, _, _ := virtualAlloc.Call(0, size, kind, protection)
	return unsafe.Add(nil, p), p
}

// makeWritable commits a part of a range; false: no memory.
func makeWritable(p unsafe.Pointer, size uintptr) bool {
	done, _, _ := virtualAlloc.Call(uintptr(p), size, memCommit, pageReadWrite)
	return done != 0
}

// dropRange gives the memory of a part back; what it held is lost. keep: the part stays committed.
func dropRange(p unsafe.Pointer, size uintptr, keep bool) {
	_, _, _ = virtualFree.Call(uintptr(p), size, memDecommit)
	if keep {
		makeWritable(p, size)
	}
}

func endRange(m mapping) { _, _, _ = virtualFree.Call(m, 0, memRelease) }
