//go:build darwin || dragonfly || freebsd || netbsd || openbsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import "unsafe"

// These systems have neither MAP_NORESERVE nor MADV_HUGEPAGE, or need none.
const (
	noReserve  = 0
	adviseHuge = 0
)

// Resident returns how many bytes of the range are in memory: all, because these systems do not all say so.
func Resident(_ unsafe.Pointer, size uintptr) uintptr { return size }
