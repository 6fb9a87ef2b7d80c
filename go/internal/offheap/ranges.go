// SPDX-License-Identifier: MIT OR Apache-2.0

// Package offheap reserves address space outside the Go heap, and decides which types may be stored there.
package offheap

import "os"

// PageSize is the size of the system's pages.
var PageSize = uintptr(os.Getpagesize())

// RoundUp rounds n up to a multiple of to, a power of two.
func RoundUp(n, to uintptr) uintptr { return (n + to - 1) &^ (to - 1) }
