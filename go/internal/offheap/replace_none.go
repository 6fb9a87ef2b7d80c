//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && !(amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64))

// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import "unsafe"

// replace does nothing: these systems pass the arguments of mmap in different ways.
func replace(unsafe.Pointer, uintptr) bool { return false }
