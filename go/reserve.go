// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"math/bits"
	"os"
	"unsafe"
)

// A span is a range of address space, committed from its front: it grows without moving, so pointers into it stay good.
type span struct {
	base            unsafe.Pointer
	size, committed uintptr // multiples of the page
	mapping         mapping
}

const hugePage = 2 << 20

var pageSize = uintptr(os.Getpagesize())

func roundUp(n, to uintptr) uintptr { return (n + to - 1) &^ (to - 1) }

// The most that is asked of the system: sums of a few such sizes cannot wrap.
const maxSpan = ^uintptr(0) >> 2

// reserveSpan takes address space; false: there is none. readable: what is not committed reads as zero.
func reserveSpan(size uintptr, readable bool) (span, bool) {
	if size > maxSpan {
		return span{}, false
	}
	size = roundUp(max(size, 1), pageSize)
	base, m := takeRange(size, readable, false)
	return span{base: base, size: size, mapping: m}, base != nil
}

// commit makes the first n bytes writable, and some more; false: no memory.
func (s *span) commit(n uintptr) bool {
	if n <= s.committed {
		return true
	}
	unit := pageSize
	if n >= hugePage {
		unit = hugePage
	}
	to := min(roundUp(n, unit), s.size)
	if !commitRange(unsafe.Add(s.base, s.committed), to-s.committed) {
		return false
	}
	s.committed = to
	return true
}

// Tests put a failing one in its place.
var commitRange = makeWritable

// decommit gives the memory of all but the first n bytes back.
func (s *span) decommit(n uintptr) {
	if n = roundUp(n, pageSize); n < s.committed {
		dropRange(unsafe.Add(s.base, n), s.committed-n, false)
		s.committed = n
	}
}

// empty gives the memory between two offsets back, but leaves it committed. What it holds afterwards is undefined.
func (s *span) empty(from, to uintptr) {
	if from, to = roundUp(from, pageSize), min(to, s.committed); from < to {
		dropRange(unsafe.Add(s.base, from), to-from, true)
	}
}

func (s *span) release() {
	if s.base != nil {
		endRange(s.mapping)
	}
	*s = span{}
}

// A store is a span of equal items, one for each slot, counted from 0; `first` is where item 0 stands.
type store struct {
	span
	first, stride uintptr
}

// reserveStore takes address space for the items 0 to slots. Item 1, the first in use, is on a line of 64 bytes: that
// many lines further on than it need be, so that stores side by side do not meet in the same sets of a cache.
func reserveStore(slots uint32, stride, lines uintptr, readable bool) (*store, bool) {
	over, bytes := bits.Mul(uint(slots)+1, uint(stride))
	if over != 0 || uintptr(bytes) > maxSpan {
		return nil, false
	}
	first := roundUp(max(stride, 1), 64) + 64*lines - stride
	s, ok := reserveSpan(first+uintptr(bytes), readable)
	return &store{s, first, stride}, ok
}

func (s *store) at(i uintptr) unsafe.Pointer { return unsafe.Add(s.base, s.first+i*s.stride) }

// bytes holds the items 0 to slots.
func (s *store) bytes(slots uint32) uintptr { return s.first + (uintptr(slots)+1)*s.stride }

// room is how many slots have memory, max at most.
func (s *store) room(max uint32) uint32 {
	if s.committed < s.bytes(0) {
		return 0
	}
	if s.stride == 0 {
		return max
	}
	return uint32(min(uintptr(max), (s.committed-s.first)/s.stride-1))
}

// stores are the memory of one pool or table: the keys first.
type stores struct{ all []*store }

func (m *stores) release() {
	for _, s := range m.all {
		s.release()
	}
	m.all = nil
}

func (m *stores) commit(slots uint32) bool {
	for _, s := range m.all {
		if !s.commit(s.bytes(slots)) {
			return false
		}
	}
	return true
}

func (m *stores) room(max uint32) uint32 {
	room := max
	for _, s := range m.all {
		room = min(room, s.room(max))
	}
	return room
}

// The smallest and the largest step by which memory is committed: few system calls, little unused.
const (
	smallStep = 64 << 10
	largeStep = 64 << 20
)

// step is by how many slots to grow: so many that the memory doubles, within bounds.
func (m *stores) step(room uint32) uint32 {
	var widest uintptr = 1
	for _, s := range m.all {
		widest = max(widest, s.stride)
	}
	bytes := min(max(uintptr(room)*widest, smallStep), largeStep)
	return uint32(max(bytes/widest, 1))
}

func (m *stores) bytes() (reserved, committed uint64) {
	if m == nil {
		return 0, 0
	}
	for _, s := range m.all {
		reserved += uint64(s.size)
		committed += uint64(s.committed)
	}
	return reserved, committed
}
