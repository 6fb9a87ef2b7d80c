//go:build linux && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64)

// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import (
	"syscall"
	"unsafe"
)

// replace reserves a part of a range anew: pages that were written stay committed if they are made inaccessible
// only, which counts where the system does not overcommit. It reports false if the system refuses.
func replace(p unsafe.Pointer, size uintptr) bool {
	const flags = syscall.MAP_PRIVATE | syscall.MAP_ANON | syscall.MAP_FIXED | noReserve
	_, _, code := syscall.Syscall6(syscall.SYS_MMAP, uintptr(p), size, syscall.PROT_NONE, flags, ^uintptr(0), 0)
	return code == 0
}
