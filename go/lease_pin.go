//go:build cgo && linux && (amd64 || arm64) && !race && !toft_portable

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"sync/atomic"
	_ "unsafe" // for linkname
)

// Taking a lease without an atomic read-modify-write, which is what sync.Pool does. A goroutine that is pinned to its
// processor is not preempted, so of the goroutines there only one at a time looks at its leases; and a lease is given back
// by whoever holds it, with one store. The collector's hand is the exception, and pays for it: it sets hold, has every
// thread execute a barrier (membarrier(2)), and then has the lease to itself if it is still idle, since whoever takes it
// looks at hold after writing state.
//
// procPin and procUnpin are in the runtime's list of functions that stay as they are because many use them. Built with
// -tags toft_portable, the package does without.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// Values of hold.
const (
	free    = 0
	held    = 1 // the collector is about to look, or has it
	resting = 2 // the collector has seen it idle
)

// Get leases an arena, empty, for the calling goroutine, which must Return it:
//
//	a := toft.Get()
//	defer a.Return()
//
// It never waits for another lease. It panics with an [AllocError] where there is no memory for another arena.
//
//go:nosplit
func Get() *Arena {
	p := uintptr(procPin())
	if p < active.Load() {
		l := leaseAt(p * perP)
		if atomic.LoadUint32(&l.state) == idle {
			l.state = leased
			if atomic.LoadUint32(&l.hold) == free {
				procUnpin()
				a := l.behind()
				a.cursor = l.start
				return a
			}
			l.state = idle
		}
	}
	return getPinned(p)
}

// getPinned tries all leases of processor p, to which the caller is pinned, and unpins.
func getPinned(p uintptr) *Arena {
	if p >= active.Load() {
		procUnpin()
		return getSlow()
	}
	for i := p * perP; i < (p+1)*perP; i++ {
		l := leaseAt(i)
		before := atomic.LoadUint32(&l.state)
		if before == leased {
			continue
		}
		l.state = leased
		// The first look orders the store before: it is what the collector relies on.
		if h := atomic.LoadUint32(&l.hold); h != free && !(h == resting && atomic.CompareAndSwapUint32(&l.hold, resting, free)) {
			l.state = before
			continue
		}
		procUnpin()
		if before == empty {
			noteMade(i)
			l.furnish(l.behind())
		}
		a := l.behind()
		a.cursor = l.start
		return a
	}
	s := &lists[p]
	s.busy = 1
	if atomic.LoadUint32(&s.hold) == free {
		if l := s.pop(); l != nil {
			s.leave()
			a := l.arena()
			a.cursor = l.start
			return a
		}
	}
	s.leave()
	return getSlow()
}

// enter gives the list of the processor, for the caller alone until it calls leave; nil: there is none at the moment.
func enter() *list {
	p := uintptr(procPin())
	if p < active.Load() {
		s := &lists[p]
		s.busy = 1
		if atomic.LoadUint32(&s.hold) == free {
			noteList(p)
			return s
		}
		s.release()
	}
	procUnpin()
	return nil
}

func (s *list) leave() {
	s.release()
	procUnpin()
}

// giveExtra makes a lease idle whose arena is sealed.
func giveExtra(l *lease, i uint32) {
	l.give()
	p := uintptr(procPin())
	if p < active.Load() {
		s := &lists[p] // enter, inline
		s.busy = 1
		if atomic.LoadUint32(&s.hold) == free && s.n < listSize {
			if s.n == 0 {
				noteList(p)
			}
			s.items[s.n] = i
			s.n++
			s.leave()
			return
		}
		s.release()
	}
	procUnpin()
	push(i)
}

// whileOthersWait calls f, which has the list for itself meanwhile, unless the list is empty or in use: goroutines that need it
// take the list of all processors.
func (s *list) whileOthersWait(f func(s *list)) {
	if atomic.LoadUint32(&s.n) == 0 || !atomic.CompareAndSwapUint32(&s.hold, free, held) {
		return
	}
	cBarrier() // from here on a goroutine that enters sees hold, or has set busy
	if atomic.LoadUint32(&s.busy) == 0 {
		f(s)
	}
	atomic.StoreUint32(&s.hold, free)
}

// canCollect: without the barrier the collector could never have a lease to itself.
func canCollect() bool { return cBarrier() }

// collectSlab shrinks idle leases: all of them, or those that rest since the collection before.
func collectSlab(all bool) {
	type seen struct {
		l    *lease
		rest bool
	}
	var some []seen
	for i := range made.Load() {
		l := leaseAt(i)
		if atomic.LoadUint32(&l.state) != idle {
			continue
		}
		h := atomic.LoadUint32(&l.hold)
		if h != held && atomic.CompareAndSwapUint32(&l.hold, h, held) {
			some = append(some, seen{l, h == resting})
		}
	}
	if len(some) == 0 {
		return
	}
	cBarrier()
	for _, s := range some {
		after := uint32(free)
		if atomic.LoadUint32(&s.l.state) == idle {
			after = resting
			if all || s.rest && s.l.kept != 0 {
				s.l.shrink()
			}
		}
		atomic.StoreUint32(&s.l.hold, after)
	}
}
