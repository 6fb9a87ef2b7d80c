//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Extra leases: what Get gives while all leases of a processor are taken. In the range of addresses they follow the homes of
// the processors, side by side, and then come their homes. Each processor has a list of idle ones; what that cannot hold, or lacks, goes to or comes from
// a list of all processors, under a mutex, by half a list at a time. So neither Get nor Return usually waits, also if leases
// are got on one processor and returned on another.
//
// The bottom of a list that was not reached between two collections of garbage is not needed, and ends.

// A list holds idle extra leases, by number, the last returned on top. See enter.
type list struct {
	busy  uint32 // 1: a goroutine uses it
	hold  uint32 // the collector uses it, or is about to
	n     uint32
	low   uint32 // the least n since the last collection
	items [listSize]uint32
	_     [48]byte // so that the lists of two processors share no pair of cache lines
}

const listSize = 128

var lists [maxP]list

// The range of addresses, and the list of all processors.
var extra struct {
	limit uint32        // extra leases there is address space for
	homes uintptr       // where their homes lie
	made  atomic.Uint32 // homes below this number have been in use, and can be read
	sync.Mutex
	committed uint32   // homes below this number can be written
	idle      []uint32 // as a list
	low       int
	vacant    []uint32 // homes that were in use and hold nothing
}

const (
	mostExtra   = 1 << (6 + 7*unsafe.Sizeof(uintptr(0))/4) // 8 GiB of addresses, 64 MiB where they have 32 bits
	leastExtra  = 1 << 10
	commitExtra = 1 << 10 // homes that are made usable at a time
)

// reserveHomes takes the range of addresses: less of it where the process is short of them.
func reserveHomes() {
	for n := uintptr(mostExtra); n >= leastExtra; n /= 4 { // powers of two, so that all is on its boundary
		if p, _ := takeRange(slabSize+n*(leaseSize+homeSize)+homeSize, false, true); p != nil { // never given back
			p = unsafe.Add(p, -uintptr(p)&(homeSize-1)) // create relies on it
			if commitHomes(p, slabSize) {
				slab, extra.limit = uintptr(p), uint32(n)
				extra.homes = slab + slabSize + n*leaseSize
			}
			return
		}
	}
}

func commitHomes(p unsafe.Pointer, size uintptr) bool {
	if !makeWritable(p, size) {
		return false
	}
	cShowRoots(p, size)
	return true
}

// dropHomes gives the memory of the whole pages in a part of the range back; on Linux they read as zero afterwards.
func dropHomes(p unsafe.Pointer, size uintptr) {
	from := roundUp(uintptr(p), pageSize)
	if to := (uintptr(p) + size) &^ (pageSize - 1); from < to {
		dropRange(unsafe.Add(nil, from), to-from, true)
	}
}

// extraAt is the extra lease of a number.
func extraAt(i uint32) *lease { return (*lease)(unsafe.Add(nil, slab+slabSize+uintptr(i)*leaseSize)) }

// extraHome is the home of an extra lease.
func extraHome(i uint32) unsafe.Pointer { return unsafe.Add(nil, extra.homes+uintptr(i)*homeSize) }

// extraArena is the arena of an extra lease: in each home at another place, since addresses that are a multiple of the page
// apart share the few entries that a cache has for them.
func extraArena(i uint32) *Arena {
	return (*Arena)(unsafe.Add(extraHome(i), uintptr(i+i>>4)%64*64))
}

// extraOf is the number of the extra lease that a belongs to; -1: none.
func extraOf(a *Arena) int {
	i := (uintptr(unsafe.Pointer(a)) - extra.homes) / homeSize
	if i >= uintptr(extra.made.Load()) || extraArena(uint32(i)) != a {
		return -1
	}
	return int(i)
}

// pop takes the lease on top; nil: there is none. The caller has the list for itself.
func (s *list) pop() *lease {
	for s.n != 0 {
		s.n--
		s.low = min(s.low, s.n)
		// A lease that two goroutines returned at once, against the rules, is here twice: it is given once.
		if l := extraAt(s.items[s.n]); l.state == idle {
			l.state = leased
			return l
		}
	}
	return nil
}

// push puts an idle lease onto the list of the processor, or where that is full or in use, onto that of all processors.
func push(i uint32) {
	s := enter()
	switch {
	case s == nil:
		moveExtra([]uint32{i})
	case s.n == listSize:
		s.overflow(i)
	default:
		s.items[s.n] = i
		s.n++
		s.leave()
	}
}

// overflow makes room by half of the list for one more, and leaves the list.
func (s *list) overflow(i uint32) {
	var half [listSize / 2]uint32
	copy(half[:], s.items[listSize/2:])
	s.items[listSize/2] = i
	s.n = listSize/2 + 1
	s.low = min(s.low, listSize/2)
	s.leave()
	moveExtra(half[:])
}

func moveExtra(items []uint32) {
	extra.Lock()
	extra.idle = append(extra.idle, items...)
	extra.Unlock()
}

// takeExtra gives a lease from the list of all processors, and moves others to the list of this one; or a new one. nil:
// there is no memory for it, or no address.
func takeExtra() *lease {
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
	l := rest.pop()
	if rest.n != 0 {
		s := enter()
		if s == nil || s.n != 0 {
			if s != nil {
				s.leave()
			}
			moveExtra(rest.items[:rest.n])
		} else {
			s.n = uint32(copy(s.items[:], rest.items[:rest.n]))
			s.leave()
		}
	}
	if l == nil {
		return takeExtra()
	}
	return l
}

// How many lists have been used; the others are empty.
var listsUsed atomic.Uintptr

func noteList(p uintptr) {
	for n := listsUsed.Load(); n <= p; n = listsUsed.Load() {
		listsUsed.CompareAndSwap(n, p+1)
	}
}

// takeFromOthers takes up to half of the first list of another processor that has some: there are no more leases than
// needed at once, also if goroutines move.
func takeFromOthers(some *[listSize / 2]uint32) (n int) {
	for p := range listsUsed.Load() {
		lists[p].whileOthersWait(func(s *list) {
			n = copy(some[:(s.n+1)/2], s.items[:])
			s.n = uint32(copy(s.items[:], s.items[n:s.n]))
			s.low = max(s.low, uint32(n)) - uint32(n)
		})
		if n != 0 {
			break
		}
	}
	return n
}

// newExtra makes a lease in a home that holds nothing. The caller has the mutex.
func newExtra() *lease {
	i, vacant := extra.made.Load(), len(extra.vacant)
	switch {
	case vacant != 0:
		i = extra.vacant[vacant-1]
	case i == extra.limit:
		return nil
	case i == extra.committed:
		if !commitHomes(unsafe.Pointer(extraAt(i)), commitExtra*leaseSize) || !commitHomes(extraHome(i), commitExtra*homeSize) {
			return nil
		}
		extra.committed += commitExtra
	}
	l := extraAt(i)
	*l = lease{state: leased}
	l.furnish(extraArena(i))
	if vacant != 0 {
		extra.vacant = extra.vacant[:vacant-1]
	} else {
		extra.made.Store(i + 1)
	}
	return l
}

// trimExtra ends idle extra leases: all of them, or those that were not used since the collection before.
func trimExtra(all bool) {
	var ended []uint32
	for p := range listsUsed.Load() {
		lists[p].whileOthersWait(func(s *list) {
			if all {
				s.low = s.n
			}
			ended = append(ended, s.items[:s.low]...)
			copy(s.items[:], s.items[s.low:s.n])
			s.n -= s.low
			s.low = s.n
		})
	}
	extra.Lock()
	if all {
		extra.low = len(extra.idle)
	}
	ended = append(ended, extra.idle[:extra.low]...)
	extra.idle = slices.Delete(extra.idle, 0, extra.low)
	extra.low = len(extra.idle)
	extra.Unlock()
	if len(ended) == 0 {
		return
	}
	slices.Sort(ended)
	ended = slices.Compact(ended)
	for _, i := range ended {
		l := extraAt(i)
		a := l.arena()
		a.cursor = l.start
		cRelease(emptying{a: a}, 0)
		*l, *a = lease{}, Arena{}
	}
	for from := 0; from < len(ended); { // one call for homes side by side
		to := from + 1
		for to < len(ended) && ended[to] == ended[to-1]+1 {
			to++
		}
		dropHomes(extraHome(ended[from]), uintptr(to-from)*homeSize)
		from = to
	}
	extra.Lock()
	extra.vacant = append(extra.vacant, ended...)
	extra.Unlock()
}
