// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"math/bits"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// A span is a part of a reserved range that is committed from its start. It grows without moving, so pointers into it
// stay valid.
type span struct {
	base            unsafe.Pointer
	size, committed uintptr // multiples of the page size
	readable        bool    // what is not committed reads as zero
	huge            bool    // huge pages are requested
}

// The largest span, and the largest sum of those in one range: sums of a few such sizes cannot overflow.
const maxSpan = ^uintptr(0) >> 2

// whole reports whether the span is committed as one from the start. Each boundary between committed and other memory
// costs the process a mapping, of which Linux allows 65530 by default.
func (s *span) whole() bool { return s.size <= minStep }

// commit makes the first n bytes writable, rounded up to the end of a page or huge page. It reports false if there is no
// memory. Huge pages are requested for all but the first 2 MiB once they are used, so that a small pool stays small: they
// shorten the page walks of a large one.
func (s *span) commit(n uintptr) bool {
	if n <= s.committed {
		return true
	}
	unit, base := offheap.PageSize, uintptr(s.base)
	if n >= offheap.HugePage {
		unit = offheap.HugePage
	}
	to := min(offheap.RoundUp(base+n, unit)-base, s.size)
	if !commitRange(unsafe.Add(s.base, s.committed), to-s.committed) {
		return false
	}
	s.setCommitted(to)
	if to > offheap.HugePage && !s.huge {
		s.huge = true
		offheap.AdviseHuge(unsafe.Add(s.base, offheap.HugePage), s.size-offheap.HugePage)
	}
	return true
}

// commitRange is a variable so that tests can make it fail.
var commitRange = offheap.Commit

// decommit returns the memory of all but the first n bytes.
func (s *span) decommit(n uintptr) {
	if n = offheap.RoundUp(n, offheap.PageSize); n < s.committed {
		offheap.Discard(unsafe.Add(s.base, n), s.committed-n, false)
		if from := max(n, offheap.HugePage); s.huge && from < s.committed {
			offheap.AdviseHuge(unsafe.Add(s.base, from), s.committed-from)
		}
		s.setCommitted(n)
	}
}

func (s *span) setCommitted(n uintptr) {
	s.committed = n
	offheap.SetCommitted(s.base, n)
}

// discard returns the memory between two offsets but leaves it committed. Its contents are undefined afterwards.
func (s *span) discard(from, to uintptr) {
	if from, to = offheap.RoundUp(from, offheap.PageSize), min(to, s.committed); from < to {
		offheap.Discard(unsafe.Add(s.base, from), to-from, true)
	}
}

// A store is a span of items of one size, one for each slot, counted from 0. Item 0 is at the offset first.
type store struct {
	span
	first, stride uintptr
}

// newStore lays out the items 0 to slots; see [slots.add]. Item 1, the first in use, starts a cache line; lines more lines
// are skipped before it, so that equal items of stores side by side are in different sets of a cache. If the items are too
// large, so is the size: more than maxSpan.
func newStore(slots uint32, stride, lines uintptr) *store {
	s := &store{first: offheap.RoundUp(max(stride, 1), 64) + 64*lines - stride, stride: stride}
	s.size = maxSpan + 1
	if over, bytes := bits.Mul(uint(slots)+1, uint(stride)); over == 0 && uintptr(bytes) <= maxSpan {
		s.size = offheap.RoundUp(s.first+uintptr(bytes), offheap.PageSize)
	}
	return s
}

// reserve reserves one range for stores, which costs fewer mappings than one for each.
func reserve(list []*store) (mapping offheap.Mapping, ok bool) {
	var size uintptr
	for _, s := range list {
		if s.size > maxSpan-size {
			return mapping, false
		}
		size += s.size
	}
	base, mapping := offheap.Reserve(size)
	size = 0
	for _, s := range list {
		s.base = unsafe.Add(base, size)
		size += s.size
	}
	return mapping, base != nil
}

// start commits memory for count slots, or all if the store is small. Precondition: its base is set.
func (s *store) start(count uint32) bool {
	if s.whole() {
		return s.commit(s.size)
	}
	if s.readable && !offheap.Readable(s.base, s.size) {
		return false
	}
	return s.commit(s.bytes(count))
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
	all      []*store
	mappings []offheap.Mapping
	least    uint32  // this number of slots have memory from the start
	owner    uintptr // the address of the slots; a pointer would keep them from being collected
}

func (m *stores) release() {
	for _, s := range m.all {
		s.setCommitted(0)
	}
	for _, mapping := range m.mappings {
		offheap.Release(mapping)
	}
	m.all, m.mappings = nil, nil
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
