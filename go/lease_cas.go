//go:build cgo && (!linux || !(amd64 || arm64) || race || toft_portable)

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync/atomic"
	"unsafe"
)

// Taking a lease by compare and swap, at a place that the caller's stack decides: a goroutine comes back to the same
// one, and two that run at once rarely meet. Where the race detector watches, this way is used too, since it understands
// atomic operations.

const places = 64

// Get leases an arena, empty, for the calling goroutine, which must Return it:
//
//	a := toft.Get()
//	defer a.Return()
//
// It never waits for another lease. It panics with an [AllocError] where there is no memory for another arena.
func Get() *Arena {
	var here byte
	h := placeOf(&here)
	if active.Load() != 0 {
		l := leaseAt(h * perP)
		if atomic.CompareAndSwapUint32(&l.state, idle, leased) {
			a := l.behind()
			a.cursor = l.start
			return raceBegin(a)
		}
	}
	return getNear(h)
}

func placeOf(here *byte) uintptr {
	h := uintptr(unsafe.Pointer(here)) >> 11
	return (h ^ h>>6) % places
}

// getNear tries all leases of one place.
func getNear(place uintptr) *Arena {
	if active.Load() == 0 {
		return getSlow()
	}
	for i := place * perP; i < (place+1)*perP; i++ {
		l := leaseAt(i)
		state := atomic.LoadUint32(&l.state)
		if state == leased || !atomic.CompareAndSwapUint32(&l.state, state, leased) {
			continue
		}
		if state == empty {
			noteMade(i)
			l.furnish(l.behind())
		}
		a := l.behind()
		a.cursor = l.start
		return raceBegin(a)
	}
	if s := &lists[place]; s.tryLock() {
		l := s.pop()
		s.leave()
		if l != nil {
			a := l.arena()
			a.cursor = l.start
			return raceBegin(a)
		}
	}
	return getSlow()
}

func (s *list) tryLock() bool { return atomic.CompareAndSwapUint32(&s.busy, 0, 1) }

// enter gives the list of the place, for the caller alone until it calls leave; nil: there is none at the moment.
func enter() *list {
	var here byte
	if active.Load() != 0 {
		p := placeOf(&here)
		if s := &lists[p]; s.tryLock() {
			noteList(p)
			return s
		}
	}
	return nil
}

func (s *list) leave() { atomic.StoreUint32(&s.busy, 0) }

// giveExtra makes a lease idle whose arena is sealed.
func giveExtra(l *lease, i uint32) {
	l.give()
	push(i)
}

// whileOthersWait calls f, which has the list for itself meanwhile, unless it is in use.
func (s *list) whileOthersWait(f func(s *list)) {
	if s.tryLock() {
		f(s)
		s.leave()
	}
}

func canCollect() bool { return true }

// collectSlab shrinks idle leases: all of them, or those that rest since the collection before.
func collectSlab(all bool) {
	for i := range made.Load() {
		l := leaseAt(i)
		switch {
		case atomic.CompareAndSwapUint32(&l.state, rested, leased):
			if all || l.kept != 0 {
				l.shrink()
			}
		case all && atomic.CompareAndSwapUint32(&l.state, idle, leased):
			l.shrink()
		default:
			atomic.CompareAndSwapUint32(&l.state, idle, rested)
			continue
		}
		atomic.StoreUint32(&l.state, rested)
	}
}
