//go:build cgo && (!linux || !(amd64 || arm64) || race || toft_portable)

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import "sync/atomic"

// Builds that always take leases as lease_cas.go does. The race detector understands atomic operations.

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
	if grouped.Load() {
		s := slotAt(g * perP)
		if atomic.CompareAndSwapUint32(&s.state, idle, leasedBy) {
			a := s.behind()
			a.cursor = s.start
			return raceBegin(a).lease()
		}
	}
	return getNear(g)
}

func enter() *list { return enterGroup() }

func (l *list) leave() { l.unlock() }

// releaseExtra makes an extra slot idle whose arena is sealed.
func releaseExtra(s *slot, i uint32) {
	s.release()
	push(i)
}

func (l *list) exclusively(f func(l *list)) { l.locked(f) }

func trimProcs(all bool) { trimGroups(all) }

func canPin() bool { return false }
