//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import (
	"syscall"
	"unsafe"
)

// A Mapping identifies a reserved range for Release.
type Mapping []byte

// HugePage is the size of a huge page on x86-64 and arm64.
const HugePage = 2 << 20

// The limits of pools without one: the number of slots, and the address space for their values.
const (
	DefaultSlots = 1<<24 - 1
	DefaultSpan  = min(1<<40, uint64(^uintptr(0))>>4)
)

// Reserve reserves size bytes of address space and returns its start, or nil if there is none. No part may be read before
// Commit or Readable.
func Reserve(size uintptr) (base unsafe.Pointer, m Mapping) {
	if int(size) < 0 {
		return nil, nil
	}
	m, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|noReserve)
	if err != nil {
		return nil, nil
	}
	return unsafe.Pointer(unsafe.SliceData(m)), m
}

// Readable makes a part of a range read as zero, without committing it where the system has such memory.
func Readable(p unsafe.Pointer, size uintptr) bool { return protect(p, size, syscall.PROT_READ) }

// AdviseHuge requests huge pages for a part of a range.
func AdviseHuge(p unsafe.Pointer, size uintptr) {
	if adviseHuge != 0 {
		advise(p, size, adviseHuge) // small pages serve as well if it fails
	}
}

// Commit makes a part of a range writable. It reports false if there is no memory.
func Commit(p unsafe.Pointer, size uintptr) bool {
	return protect(p, size, syscall.PROT_READ|syscall.PROT_WRITE)
}

// Discard returns the memory of a part to the system and loses its contents. If keep is set, the part stays committed; if not,
// it loses its advice.
func Discard(p unsafe.Pointer, size uintptr, keep bool) {
	if !keep && replace(p, size) {
		return
	}
	if !advise(p, size, syscall.MADV_DONTNEED) { // locked
		_, _, _ = syscall.Syscall(syscall.SYS_MUNLOCK, uintptr(p), size, 0)
		advise(p, size, syscall.MADV_DONTNEED)
	}
	if !keep {
		protect(p, size, syscall.PROT_NONE)
	}
}

// Release returns a range to the system.
func Release(m Mapping) { _ = syscall.Munmap(m) }

func protect(p unsafe.Pointer, size uintptr, protection uintptr) bool {
	_, _, code := syscall.Syscall(syscall.SYS_MPROTECT, uintptr(p), size, protection)
	return code == 0
}

func advise(p unsafe.Pointer, size uintptr, advice uintptr) bool {
	_, _, code := syscall.Syscall(syscall.SYS_MADVISE, uintptr(p), size, advice)
	return code == 0
}
