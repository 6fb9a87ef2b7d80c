//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// Extra leases, which Get returns while all leases of a processor are in use. In the range of addresses their slots follow
// the buffers of the processors, side by side, and then come their buffers. Each processor has a list of idle ones. Half a
// list at a time moves to and from a list of all processors, under a mutex, if the processor's list is full or empty. So
// Get and Return usually do not wait, also if leases are got on one processor and returned on another.
//
// The bottom of a list that was not reached between two collections of garbage is not needed, and is freed.

// A list holds the numbers of idle extra slots, the last returned one on top. See enter.
type list struct {
	busy  uint32 // 1 if a goroutine uses it
	hold  uint32 // as slot.hold
	n     uint32
	low   uint32 // the smallest n since the last collection
	items [listSize]uint32
	_     [48]byte // the lists of two processors share no pair of cache lines
}

const listSize = 128

var lists [maxP]list

// The range of addresses, and the list of all processors.
var extra struct {
	limit   uint32        // the number of extra slots that have address space
	buffers uintptr       // the address of their buffers
	made    atomic.Uint32 // slots below this number have been in use and can be read
	sync.Mutex
	committed uint32   // slots below this number can be written
	idle      []uint32 // as the items of a list
	low       int
	vacant    []uint32 // slots that were in use and are empty
}

const (
	mostExtra   = 1 << (6 + 7*unsafe.Sizeof(uintptr(0))/4) // 8 GiB of addresses, 64 MiB where they have 32 bits
	leastExtra  = 1 << 10
	commitExtra = 1 << 10 // slots that are committed at a time
)

// reserveBuffers reserves the range of addresses, or less if the process has not enough.
func reserveBuffers() {
	for n := uintptr(mostExtra); n >= leastExtra; n /= 4 { // powers of two, so that all is on its boundary
		if p, _ := offheap.Reserve(procBytes + n*(slotSize+bufferSize) + bufferSize); p != nil { // never released
			p = unsafe.Add(p, -uintptr(p)&(bufferSize-1)) // create relies on it
			if commitBuffers(p, procBytes) {
				rangeStart, extra.limit = uintptr(p), uint32(n)
				extra.buffers = rangeStart + procBytes + n*slotSize
			}
			return
		}
	}
}

func commitBuffers(p unsafe.Pointer, size uintptr) bool {
	if !offheap.Commit(p, size) {
		return false
	}
	cShowRoots(p, size)
	return true
}

// dropBuffers returns the memory of the whole pages in a part of the range; on Linux they read as zero afterwards.
func dropBuffers(p unsafe.Pointer, size uintptr) {
	from := offheap.RoundUp(uintptr(p), offheap.PageSize)
	if to := (uintptr(p) + size) &^ (offheap.PageSize - 1); from < to {
		offheap.Discard(unsafe.Add(nil, from), to-from, true)
	}
}

// extraAt returns the extra slot of a number.
func extraAt(i uint32) *slot {
	return (*slot)(unsafe.Add(nil, rangeStart+procBytes+uintptr(i)*slotSize))
}

// extraBuffer returns the buffer of an extra slot.
func extraBuffer(i uint32) unsafe.Pointer {
	return unsafe.Add(nil, extra.buffers+uintptr(i)*bufferSize)
}

// extraArena returns the arena of an extra slot. Its offset differs from buffer to buffer, because addresses that are a
// multiple of the page apart share few entries of a cache.
func extraArena(i uint32) *Arena {
	return (*Arena)(unsafe.Add(extraBuffer(i), uintptr(i+i>>4)%64*64))
}

// extraOf returns the number of the extra slot of a, or -1 for another arena.
func extraOf(a *Arena) int {
	i := (uintptr(unsafe.Pointer(a)) - extra.buffers) / bufferSize
	if i >= uintptr(extra.made.Load()) || extraArena(uint32(i)) != a {
		return -1
	}
	return int(i)
}

// pop takes the slot on top; it returns nil if there is none. Precondition: the caller has the list for itself.
func (l *list) pop() *slot {
	for l.n != 0 {
		l.n--
		l.low = min(l.low, l.n)
		// A lease that two goroutines returned at once, against the rules, is in the list twice but taken once.
		if s := extraAt(l.items[l.n]); s.state == idle {
			s.state = leasedBy
			return s
		}
	}
	return nil
}

// push adds an idle slot to the list of the processor, or if that is full or in use, to the list of all processors.
func push(i uint32) {
	l := enter()
	switch {
	case l == nil:
		moveExtra([]uint32{i})
	case l.n == listSize:
		l.overflow(i)
	default:
		l.items[l.n] = i
		l.n++
		l.leave()
	}
}

// overflow moves half of the list to the list of all processors, adds i, and leaves the list.
func (l *list) overflow(i uint32) {
	var half [listSize / 2]uint32
	copy(half[:], l.items[listSize/2:])
	l.items[listSize/2] = i
	l.n = listSize/2 + 1
	l.low = min(l.low, listSize/2)
	l.leave()
	moveExtra(half[:])
}

func moveExtra(items []uint32) {
	extra.Lock()
	extra.idle = append(extra.idle, items...)
	extra.Unlock()
}

// takeExtra takes a slot from the list of all processors and moves others to the list of this one, or makes a new slot. It
// returns nil if there is no memory or address space.
func takeExtra() *slot {
	var some [listSize / 2]uint32
	extra.Lock()
	from := max(len(extra.idle)-len(some), 0)
	n := copy(some[:], extra.idle[from:])
	extra.idle = extra.idle[:from]
	extra.low = min(extra.low, from)
	extra.Unlock()
	if n == 0 {
		n = takeFromOthers(&some)
	}
	if n == 0 {
		extra.Lock()
		defer extra.Unlock()
		return newExtra()
	}
	rest := list{n: uint32(n)}
	copy(rest.items[:], some[:n])
	s := rest.pop()
	if rest.n != 0 {
		l := enter()
		if l == nil || l.n != 0 {
			if l != nil {
				l.leave()
			}
			moveExtra(rest.items[:rest.n])
		} else {
			l.n = uint32(copy(l.items[:], rest.items[:rest.n]))
			l.leave()
		}
	}
	if s == nil {
		return takeExtra()
	}
	return s
}

// The lists below this number have been used; the others are empty.
var listsUsed atomic.Uintptr

func noteList(p uintptr) {
	for n := listsUsed.Load(); n <= p; n = listsUsed.Load() {
		listsUsed.CompareAndSwap(n, p+1)
	}
}

// takeFromOthers takes up to half of the first list that is not empty, so that there are no more leases than are needed at
// once, also if goroutines move to other processors.
func takeFromOthers(some *[listSize / 2]uint32) (n int) {
	for p := range listsUsed.Load() {
		lists[p].exclusively(func(l *list) {
			n = copy(some[:(l.n+1)/2], l.items[:])
			l.n = uint32(copy(l.items[:], l.items[n:l.n]))
			l.low = max(l.low, uint32(n)) - uint32(n)
		})
		if n != 0 {
			break
		}
	}
	return n
}

// newExtra makes a lease in an empty slot. Precondition: the mutex is held.
func newExtra() *slot {
	i, vacant := extra.made.Load(), len(extra.vacant)
	switch {
	case vacant != 0:
		i = extra.vacant[vacant-1]
	case i == extra.limit:
		return nil
	case i == extra.committed:
		if !commitBuffers(unsafe.Pointer(extraAt(i)), commitExtra*slotSize) || !commitBuffers(extraBuffer(i), commitExtra*bufferSize) {
			return nil
		}
		extra.committed += commitExtra
	}
	s := extraAt(i)
	*s = slot{state: leasedBy}
	s.initArena(extraArena(i))
	if vacant != 0 {
		extra.vacant = extra.vacant[:vacant-1]
	} else {
		extra.made.Store(i + 1)
	}
	return s
}

// trimExtra frees idle extra slots: all of them, or those that were not used since the collection before.
func trimExtra(all bool) {
	var ended []uint32
	for p := range listsUsed.Load() {
		lists[p].exclusively(func(l *list) {
			if all {
				l.low = l.n
			}
			ended = append(ended, l.items[:l.low]...)
			copy(l.items[:], l.items[l.low:l.n])
			l.n -= l.low
			l.low = l.n
			for _, i := range l.items[:l.n] {
				extraAt(i).endRound()
			}
		})
	}
	extra.Lock()
	if all {
		extra.low = len(extra.idle)
	}
	ended = append(ended, extra.idle[:extra.low]...)
	extra.idle = slices.Delete(extra.idle, 0, extra.low)
	extra.low = len(extra.idle)
	for _, i := range extra.idle {
		extraAt(i).endRound()
	}
	extra.Unlock()
	if len(ended) == 0 {
		return
	}
	slices.Sort(ended)
	ended = slices.Compact(ended)
	for _, i := range ended {
		s := extraAt(i)
		a := s.arena()
		s.setKept(0)
		a.cursor = s.start
		cRelease(emptying{a: a}, 0)
		*s, *a = slot{}, Arena{}
	}
	for from := 0; from < len(ended); { // one call for buffers side by side
		to := from + 1
		for to < len(ended) && ended[to] == ended[to-1]+1 {
			to++
		}
		dropBuffers(extraBuffer(ended[from]), uintptr(to-from)*bufferSize)
		from = to
	}
	extra.Lock()
	extra.vacant = append(extra.vacant, ended...)
	extra.Unlock()
}
