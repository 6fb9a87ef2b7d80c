// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import "syscall"

const (
	noReserve  = syscall.MAP_NORESERVE
	adviseHuge = syscall.MADV_HUGEPAGE
)
