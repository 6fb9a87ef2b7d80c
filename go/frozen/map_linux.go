//go:build linux && !386 && !arm && !s390x

// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

import "syscall"

const (
	mmapCall        = syscall.SYS_MMAP
	mapWithoutForce = 0x100000 // MAP_FIXED_NOREPLACE; a hint to systems before Linux 4.17
)
