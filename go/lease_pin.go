//go:build cgo && linux && (amd64 || arm64) && !race && !toft_portable

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync/atomic"
	_ "unsafe" // for linkname
)

// Taking a lease without an atomic read-modify-write, as sync.Pool does. A goroutine that is pinned to its processor is not
// preempted, so only one goroutine at a time looks at the slots of the processor; the holder of a lease returns it with one
// store. The exception is the collector. It sets hold, makes every thread execute a barrier (membarrier(2)), and then has
// the slot to itself if the slot is still idle, because a goroutine that takes a slot reads hold after it has written state.
//
// procPin and procUnpin are in the runtime's list of functions that stay as they are because many packages use them. With
// -tags toft_portable the package does not use them.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// Values of hold.
const (
	holdNone   = 0
	holdTaken  = 1 // the collector has the slot, or is about to look at it
	holdUnused = 2 // the collector has seen it idle
)

// Get leases an empty arena. The caller must return it:
//
//	a := toft.Get()
//	defer a.Return()
//
// Any number of leases may be in use; Get never waits for a Return. It panics with an [AllocError] if there is no memory
// for another arena.
//
//go:nosplit
func Get() *Lease {
	p := uintptr(procPin())
	if p < active.Load() {
		s := slotAt(p * perP)
		if atomic.LoadUint32(&s.state) == idle {
			s.state = leasedBy
			if atomic.LoadUint32(&s.hold) == holdNone {
				procUnpin()
				a := s.behind()
				a.cursor = s.start
				return a.lease()
			}
			s.state = idle
		}
	}
	return getPinned(p)
}

// getPinned tries all slots of processor p, to which the caller is pinned, and unpins the caller.
func getPinned(p uintptr) *Lease {
	if p >= active.Load() {
		procUnpin()
		var here byte
		return getNear(groupOf(&here))
	}
	for i := p * perP; i < (p+1)*perP; i++ {
		s := slotAt(i)
		before := atomic.LoadUint32(&s.state)
		if before == leasedBy {
			continue
		}
		s.state = leasedBy
		// The load orders the store before it: the collector relies on that.
		if h := atomic.LoadUint32(&s.hold); h != holdNone && !(h == holdUnused && atomic.CompareAndSwapUint32(&s.hold, holdUnused, holdNone)) {
			s.state = before
			continue
		}
		procUnpin()
		if before == empty {
			noteMade(i)
			s.initArena(s.behind())
		}
		a := s.behind()
		a.cursor = s.start
		return a.lease()
	}
	l := &lists[p]
	l.busy = 1
	if atomic.LoadUint32(&l.hold) == holdNone {
		if s := l.pop(); s != nil {
			l.leavePinned()
			a := s.arena()
			a.cursor = s.start
			return a.lease()
		}
	}
	l.leavePinned()
	return getSlow()
}

// enter returns the list of the processor, for the caller alone until it calls leave, or nil if the list is in use.
func enter() *list {
	p := uintptr(procPin())
	if p < active.Load() {
		l := &lists[p]
		l.busy = 1
		if atomic.LoadUint32(&l.hold) == holdNone {
			noteList(p)
			return l
		}
		l.release()
	}
	procUnpin()
	return enterGroup()
}

func (l *list) leave() {
	if pins {
		l.leavePinned()
	} else {
		l.unlock()
	}
}

func (l *list) leavePinned() {
	l.release()
	procUnpin()
}

// releaseExtra makes an extra slot idle whose arena is sealed.
func releaseExtra(s *slot, i uint32) {
	s.release()
	p := uintptr(procPin())
	if p < active.Load() {
		l := &lists[p] // enter, inline
		l.busy = 1
		if atomic.LoadUint32(&l.hold) == holdNone && l.n < listSize {
			if l.n == 0 {
				noteList(p)
			}
			l.items[l.n] = i
			l.n++
			l.leavePinned()
			return
		}
		l.release()
	}
	procUnpin()
	push(i)
}

// exclusively calls f with the list for itself, unless the list is empty or in use. Goroutines that need the list at the
// same time use the list of all processors.
func (l *list) exclusively(f func(l *list)) {
	if !pins {
		l.locked(f)
		return
	}
	if atomic.LoadUint32(&l.n) == 0 || !atomic.CompareAndSwapUint32(&l.hold, holdNone, holdTaken) {
		return
	}
	// After the barrier, a goroutine that enters sees hold, or has set busy. A filter that the program has installed since
	// may refuse it.
	if cBarrier() && atomic.LoadUint32(&l.busy) == 0 {
		f(l)
	}
	atomic.StoreUint32(&l.hold, holdNone)
}

// canPin reports whether there is a barrier, without which the collector could not have a slot to itself. Some filters of
// system calls refuse it.
func canPin() bool { return cBarrier() }

// trimProcs shrinks the idle slots of processors: all of them, or those that were not used since the collection before.
func trimProcs(all bool) {
	if !pins {
		trimGroups(all)
		return
	}
	type candidate struct {
		s      *slot
		unused bool
	}
	var candidates []candidate
	for i := range made.Load() {
		s := slotAt(i)
		if atomic.LoadUint32(&s.state) != idle {
			continue
		}
		h := atomic.LoadUint32(&s.hold)
		if h != holdTaken && atomic.CompareAndSwapUint32(&s.hold, h, holdTaken) {
			candidates = append(candidates, candidate{s, h == holdUnused})
		}
	}
	if len(candidates) == 0 {
		return
	}
	alone := cBarrier()
	for _, c := range candidates {
		after := uint32(holdNone)
		if alone && atomic.LoadUint32(&c.s.state) == idle {
			after = holdUnused
			if all || c.unused && c.s.kept != 0 {
				c.s.shrink()
			} else {
				c.s.endRound()
			}
		}
		atomic.StoreUint32(&c.s.hold, after)
	}
}
