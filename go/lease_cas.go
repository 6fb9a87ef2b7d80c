//go:build cgo && (!linux || !(amd64 || arm64) || race || toft_portable)

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync/atomic"
	"unsafe"
)

// Taking a lease by compare and swap, in a group of slots that is selected by the address of the caller's stack: a
// goroutine returns to the same group, and two goroutines that run at once rarely share one. The race detector, which
// understands atomic operations, needs this way too.

const groups = 64

// Get leases an empty arena. The caller must return it:
//
//	a := toft.Get()
//	defer a.Return()
//
// Any number of leases may be in use; Get never waits for a Return. It panics with an [AllocError] if there is no memory
// for another arena.
func Get() *Lease {
	var here byte
	g := groupOf(&here)
	if active.Load() != 0 {
		s := slotAt(g * perP)
		if atomic.CompareAndSwapUint32(&s.state, idle, leasedBy) {
			a := s.behind()
			a.cursor = s.start
			return raceBegin(a).lease()
		}
	}
	return getNear(g)
}

func groupOf(here *byte) uintptr {
	h := uintptr(unsafe.Pointer(here)) >> 11
	return (h ^ h>>6) % groups
}

// getNear tries all slots of one group.
func getNear(group uintptr) *Lease {
	if active.Load() == 0 {
		return getSlow()
	}
	for i := group * perP; i < (group+1)*perP; i++ {
		s := slotAt(i)
		state := atomic.LoadUint32(&s.state)
		if state == leasedBy || state == trimmed || !atomic.CompareAndSwapUint32(&s.state, state, leasedBy) {
			continue
		}
		if state == empty {
			noteMade(i)
			s.initArena(s.behind())
		}
		a := s.behind()
		a.cursor = s.start
		return raceBegin(a).lease()
	}
	if l := &lists[group]; l.tryLock() {
		s := l.pop()
		l.leave()
		if s != nil {
			a := s.arena()
			a.cursor = s.start
			return raceBegin(a).lease()
		}
	}
	return getSlow()
}

func (l *list) tryLock() bool { return atomic.CompareAndSwapUint32(&l.busy, 0, 1) }

// enter returns the list of the group, for the caller alone until it calls leave, or nil if the list is in use.
func enter() *list {
	var here byte
	if active.Load() != 0 {
		g := groupOf(&here)
		if l := &lists[g]; l.tryLock() {
			noteList(g)
			return l
		}
	}
	return nil
}

func (l *list) leave() { atomic.StoreUint32(&l.busy, 0) }

// releaseExtra makes an extra slot idle whose arena is sealed.
func releaseExtra(s *slot, i uint32) {
	s.release()
	push(i)
}

// exclusively calls f with the list for itself, unless the list is in use.
func (l *list) exclusively(f func(l *list)) {
	if l.tryLock() {
		f(l)
		l.leave()
	}
}

func canCollect() bool { return true }

// trimProcs shrinks the idle slots of processors: all of them, or those that were not used since the collection before.
func trimProcs(all bool) {
	for i := range made.Load() {
		s := slotAt(i)
		switch {
		case atomic.CompareAndSwapUint32(&s.state, unused, trimmed):
			if all || s.kept != 0 {
				s.shrink()
			}
		case all && atomic.CompareAndSwapUint32(&s.state, idle, trimmed):
			s.shrink()
		case atomic.CompareAndSwapUint32(&s.state, idle, trimmed):
			s.endRound()
		default:
			continue
		}
		atomic.StoreUint32(&s.state, unused)
	}
}
