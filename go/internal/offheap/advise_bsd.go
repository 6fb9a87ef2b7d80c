//go:build darwin || dragonfly || freebsd || netbsd || openbsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

// These systems have neither MAP_NORESERVE nor MADV_HUGEPAGE, or need none.
const (
	noReserve  = 0
	adviseHuge = 0
)
