//go:build darwin || freebsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

import "syscall"

const (
	mmapCall        = syscall.SYS_MMAP
	mapWithoutForce = 0 // the address is a hint
)
