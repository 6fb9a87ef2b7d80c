// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"math/bits"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// A span is a range of address space that is committed from its start. It grows without moving, so pointers into it
// stay valid.
type span struct {
	base            unsafe.Pointer
	size, committed uintptr // multiples of the page size
	mapping         offheap.Mapping
}

// The largest span: sums of a few such sizes cannot overflow.
const maxSpan = ^uintptr(0) >> 2

// reserveSpan reserves address space. It reports false if there is none. If readable is set, what is not committed
// reads as zero.
func reserveSpan(size uintptr, readable bool) (span, bool) {
	if size > maxSpan {
		return span{}, false
	}
	size = offheap.RoundUp(max(size, 1), offheap.PageSize)
	base, m := offheap.Reserve(size, readable, false)
	return span{base: base, size: size, mapping: m}, base != nil
}

// commit makes the first n bytes writable, rounded up to a page or a huge page. It reports false if there is no memory.
func (s *span) commit(n uintptr) bool {
	if n <= s.committed {
		return true
	}
	unit := offheap.PageSize
	if n >= offheap.HugePage {
		unit = offheap.HugePage
	}
	to := min(offheap.RoundUp(n, unit), s.size)
	if !commitRange(unsafe.Add(s.base, s.committed), to-s.committed) {
		return false
	}
	s.committed = to
	return true
}

// commitRange is a variable so that tests can make it fail.
var commitRange = offheap.Commit

// decommit returns the memory of all but the first n bytes.
func (s *span) decommit(n uintptr) {
	if n = offheap.RoundUp(n, offheap.PageSize); n < s.committed {
		offheap.Discard(unsafe.Add(s.base, n), s.committed-n, false)
		s.committed = n
	}
}

// discard returns the memory between two offsets but leaves it committed. Its contents are undefined afterwards.
func (s *span) discard(from, to uintptr) {
	if from, to = offheap.RoundUp(from, offheap.PageSize), min(to, s.committed); from < to {
		offheap.Discard(unsafe.Add(s.base, from), to-from, true)
	}
}

func (s *span) release() {
	if s.base != nil {
		offheap.Release(s.mapping)
	}
	*s = span{}
}

// A store is a span of items of one size, one for each slot, counted from 0. Item 0 is at the offset first.
type store struct {
	span
	first, stride uintptr
}

// reserveStore reserves address space for the items 0 to slots. Item 1, the first in use, starts a cache line; lines
// more lines are skipped before it, so that equal items of stores side by side are in different sets of a cache.
func reserveStore(slots uint32, stride, lines uintptr, readable bool) (*store, bool) {
	over, bytes := bits.Mul(uint(slots)+1, uint(stride))
	if over != 0 || uintptr(bytes) > maxSpan {
		return nil, false
	}
	first := offheap.RoundUp(max(stride, 1), 64) + 64*lines - stride
	s, ok := reserveSpan(first+uintptr(bytes), readable)
	return &store{s, first, stride}, ok
}

func (s *store) at(i uintptr) unsafe.Pointer { return unsafe.Add(s.base, s.first+i*s.stride) }

// bytes returns the size of the items 0 to slots.
func (s *store) bytes(slots uint32) uintptr { return s.first + (uintptr(slots)+1)*s.stride }

// capacity returns how many slots have memory, limit at most.
func (s *store) capacity(limit uint32) uint32 {
	if s.committed < s.bytes(0) {
		return 0
	}
	if s.stride == 0 {
		return limit
	}
	return uint32(min(uintptr(limit), (s.committed-s.first)/s.stride-1))
}

// stores are the memory of one pool or table, the keys first.
type stores struct {
	all   []*store
	owner uintptr // the address of the slots; a pointer would keep them from being collected
}

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

func (m *stores) capacity(limit uint32) uint32 {
	n := limit
	for _, s := range m.all {
		n = min(n, s.capacity(limit))
	}
	return n
}

// The smallest and the largest amount by which memory is committed: few system calls, little unused memory.
const (
	minStep = 64 << 10
	maxStep = 64 << 20
)

// step returns by how many slots to grow: the memory doubles, within the bounds above.
func (m *stores) step(capacity uint32) uint32 {
	var widest uintptr = 1
	for _, s := range m.all {
		widest = max(widest, s.stride)
	}
	bytes := min(max(uintptr(capacity)*widest, minStep), maxStep)
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
