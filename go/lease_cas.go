//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync/atomic"
	"unsafe"
)

// Taking a lease by compare and swap, in a group of slots that is selected by the address of the caller's stack: a
// goroutine returns to the same group, and two goroutines that run at once rarely share one. This is the way of builds
// without lease_pin.go and of processes whose system refuses the barrier that lease_pin.go needs.

const groups = 64

func groupOf(here *byte) uintptr {
	h := uintptr(unsafe.Pointer(here)) >> 11
	return (h ^ h>>6) % groups
}

// getNear tries all slots of one group.
func getNear(group uintptr) *Lease {
	if !grouped.Load() {
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
		l.unlock()
		if s != nil {
			a := s.arena()
			a.cursor = s.start
			return raceBegin(a).lease()
		}
	}
	return getSlow()
}

func (l *list) tryLock() bool { return atomic.CompareAndSwapUint32(&l.busy, 0, 1) }

func (l *list) unlock() { atomic.StoreUint32(&l.busy, 0) }

// enterGroup returns the list of the group, for the caller alone until it calls unlock, or nil if the list is in use.
func enterGroup() *list {
	var here byte
	if grouped.Load() {
		g := groupOf(&here)
		if l := &lists[g]; l.tryLock() {
			noteList(g)
			return l
		}
	}
	return nil
}

// locked calls f with the list for itself, unless the list is in use.
func (l *list) locked(f func(l *list)) {
	if l.tryLock() {
		f(l)
		l.unlock()
	}
}

// trimGroups is trimProcs for this way.
func trimGroups(all bool) {
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
