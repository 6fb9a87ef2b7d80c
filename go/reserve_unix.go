//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"syscall"
	"unsafe"
)

// A mapping is address space of the system's; see takeRange.
type mapping []byte

// takeRange takes address space: nothing of it may be read before commitRange, or, if it is readable, it reads as zero.
// small: the system must give memory in small pages. Else, behind the first 2 MiB, huge pages are asked for: a walk over a
// large pool is a walk over the page table too, and a small pool stays small. nil: there is no address space.
func takeRange(size uintptr, readable, small bool) (base unsafe.Pointer, m mapping) {
	protection := syscall.PROT_NONE
	if readable {
		protection = syscall.PROT_READ
	}
	whole := size
	huge := !small && size > hugePage && adviseHuge != 0
	if huge {
		whole += hugePage // so that the range can begin at a multiple of that
	}
	if int(whole) < 0 {
		return nil, nil
	}
	m, err := syscall.Mmap(-1, 0, int(whole), protection, syscall.MAP_PRIVATE|syscall.MAP_ANON|noReserve)
	if err != nil {
		return nil, nil
	}
	base = unsafe.Pointer(unsafe.SliceData(m))
	if huge {
		base = unsafe.Add(base, -uintptr(base)&(hugePage-1))
		advise(unsafe.Add(base, hugePage), size-hugePage, adviseHuge) // a wish: small pages serve as well
	}
	return base, m
}

// makeWritable commits a part of a range; false: no memory.
func makeWritable(p unsafe.Pointer, size uintptr) bool {
	return protect(p, size, syscall.PROT_READ|syscall.PROT_WRITE)
}

// dropRange gives the memory of a part back; what it held is lost. keep: the part stays committed.
func dropRange(p unsafe.Pointer, size uintptr, keep bool) {
	advise(p, size, syscall.MADV_DONTNEED)
	if !keep {
		protect(p, size, syscall.PROT_NONE)
	}
}

func endRange(m mapping) { _ = syscall.Munmap(m) }

func protect(p unsafe.Pointer, size uintptr, protection uintptr) bool {
	_, _, code := syscall.Syscall(syscall.SYS_MPROTECT, uintptr(p), size, protection)
	return code == 0
}

func advise(p unsafe.Pointer, size uintptr, advice uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(p), size, advice)
}
