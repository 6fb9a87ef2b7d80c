//go:build (linux && !s390x) || darwin || freebsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

import (
	"os"
	"syscall"
	"unsafe"
)

// mapAt maps a file privately and read-only at an address where nothing is. nil: not possible. A system that takes the
// address as a hint may map the file elsewhere, which is undone.
func mapAt(file *os.File, base, length uintptr) (unsafe.Pointer, func()) {
	p, _, code := syscall.Syscall6(mmapCall, base, length, syscall.PROT_READ, syscall.MAP_PRIVATE|mapWithoutForce,
		file.Fd(), 0)
	if code != 0 {
		return nil, nil
	}
	unmap := func() { _, _, _ = syscall.Syscall(syscall.SYS_MUNMAP, p, length, 0) }
	if p != base {
		unmap()
		return nil, nil
	}
	return unsafe.Add(nil, p), unmap
}
