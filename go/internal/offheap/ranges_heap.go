//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import "unsafe"

// Ranges of the Go heap, for systems where address space cannot be reserved, or not by package syscall: js and wasip1,
// Plan 9, Solaris and AIX. A range is one allocation without pointers, which the garbage collector frees and counts as
// part of the heap, but does not scan.

// A Mapping keeps a reserved range reachable.
type Mapping []byte

// The limits of pools without one: the number of slots, and the memory for their values.
const (
	DefaultSlots = 1<<18 - 1
	DefaultSpan  = 16 << 20
)

// The largest range. The Go runtime ends the program if it has no memory, so sizes that are likely to fail are refused.
const maxRange = 256 << 20

// HugePage is a size that no part of a range exceeds: huge pages are not requested.
const HugePage = maxRange

// Reserve allocates size bytes, zeroed and aligned to 64, and returns their start, or nil if there are more than 256 MiB.
func Reserve(size uintptr) (base unsafe.Pointer, m Mapping) {
	const alignment = 64
	if size > maxRange {
		return nil, nil
	}
	m = make([]byte, size+alignment)
	base = unsafe.Pointer(unsafe.SliceData(m))
	return unsafe.Add(base, -uintptr(base)&(alignment-1)), m
}

// Readable does nothing: the range is readable.
func Readable(unsafe.Pointer, uintptr) bool { return true }

// AdviseHuge does nothing.
func AdviseHuge(unsafe.Pointer, uintptr) {}

// Commit does nothing: the range is writable.
func Commit(unsafe.Pointer, uintptr) bool { return true }

// Discard does nothing: a part cannot be returned.
func Discard(unsafe.Pointer, uintptr, bool) {}

// Release does nothing: the garbage collector frees the range after its last use.
func Release(Mapping) {}

// Resident returns 0: the collector counts the range.
func Resident(unsafe.Pointer, uintptr) uintptr { return 0 }
