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
	h := uintptr(unsafe.Pointer(&here)) >> 11
	h = (h ^ h>>6) % places
	if active.Load() != 0 {
		l := leaseAt(h * perP)
		if atomic.CompareAndSwapUint32(&l.state, idle, leased) {
			a := l.arena()
			a.cursor = l.start
			return a
		}
	}
	return getNear(h)
}

// getNear tries all leases of one place.
func getNear(place uintptr) *Arena {
	if active.Load() == 0 {
		return getSlow()
	}
	for i := place * perP; i < (place+1)*perP; i++ {
		l := leaseAt(i)
		if atomic.CompareAndSwapUint32(&l.state, empty, leased) {
			noteMade(i)
			l.furnish()
		} else if !atomic.CompareAndSwapUint32(&l.state, idle, leased) &&
			!atomic.CompareAndSwapUint32(&l.state, rested, leased) {
			continue
		}
		a := l.arena()
		a.cursor = l.start
		return a
	}
	return getSlow()
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
