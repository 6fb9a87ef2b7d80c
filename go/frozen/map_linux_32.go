//go:build linux && (386 || arm)

// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

import "syscall"

const (
	mmapCall        = syscall.SYS_MMAP2 // the offset is in pages
	mapWithoutForce = 0x100000          // MAP_FIXED_NOREPLACE; a hint to systems before Linux 4.17
)
