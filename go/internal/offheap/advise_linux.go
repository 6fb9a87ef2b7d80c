// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import (
	"syscall"
	"unsafe"
)

const (
	noReserve  = syscall.MAP_NORESERVE
	adviseHuge = syscall.MADV_HUGEPAGE
)

// Resident returns how many bytes of the range are in memory; if the system refuses to say so, all. p is at the start of a
// page.
func Resident(p unsafe.Pointer, size uintptr) (bytes uintptr) {
	var pages [4096]byte
	for from := uintptr(0); from < size; {
		part := min(size-from, uintptr(len(pages))*PageSize)
		if _, _, code := syscall.Syscall(syscall.SYS_MINCORE, uintptr(p)+from, part, uintptr(unsafe.Pointer(&pages))); code != 0 {
			return size
		}
		for _, page := range pages[:RoundUp(part, PageSize)/PageSize] {
			bytes += uintptr(page&1) * PageSize
		}
		from += part
	}
	return min(bytes, size)
}
