//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import (
	"syscall"
	"unsafe"
)

// A Mapping identifies a reserved range for Release.
type Mapping []byte

// Reserve reserves size bytes of address space and returns its start, or nil if there is none. The range must not be
// read before Commit; if readable is set, it reads as zero instead.
//
// If small is set, the system uses small pages. Otherwise huge pages are requested for all but the first 2 MiB: they
// shorten the page walks of a large pool, and a small pool stays small.
func Reserve(size uintptr, readable, small bool) (base unsafe.Pointer, m Mapping) {
	protection := syscall.PROT_NONE
	if readable {
		protection = syscall.PROT_READ
	}
	mapped := size
	huge := !small && size > HugePage && adviseHuge != 0
	if huge {
		mapped += HugePage // room to align the start
	}
	if int(mapped) < 0 {
		return nil, nil
	}
	m, err := syscall.Mmap(-1, 0, int(mapped), protection, syscall.MAP_PRIVATE|syscall.MAP_ANON|noReserve)
	if err != nil {
		return nil, nil
	}
	base = unsafe.Pointer(unsafe.SliceData(m))
	if huge {
		base = unsafe.Add(base, -uintptr(base)&(HugePage-1))
		advise(unsafe.Add(base, HugePage), size-HugePage, adviseHuge) // small pages serve as well if it fails
	}
	return base, m
}

// Commit makes a part of a range writable. It reports false if there is no memory.
func Commit(p unsafe.Pointer, size uintptr) bool {
	return protect(p, size, syscall.PROT_READ|syscall.PROT_WRITE)
}

// Discard returns the memory of a part to the system and loses its contents. If keep is set, the part stays committed.
func Discard(p unsafe.Pointer, size uintptr, keep bool) {
	advise(p, size, syscall.MADV_DONTNEED)
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

func advise(p unsafe.Pointer, size uintptr, advice uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(p), size, advice)
}
