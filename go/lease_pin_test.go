//go:build cgo && linux && (amd64 || arm64) && !race && !toft_portable

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// Get does not return a lease that the collector has taken, but it returns one that the collector has only seen idle.
func TestHeldLeasesAreNotGiven(t *testing.T) {
	if active.Load() == 0 {
		t.Skip("processors have no leases here")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a := Get()
	l := slotOf(&a.Arena)
	a.Return()
	atomic.StoreUint32(&l.hold, holdTaken)
	others := hold(2*perP, func(b *Arena) {
		if b == &a.Arena {
			t.Error("given while holdTaken")
		}
	})
	if l.state != idle {
		t.Errorf("state %d", l.state)
	}
	atomic.StoreUint32(&l.hold, holdUnused)
	b := Get()
	if b != a || l.hold != holdNone {
		t.Errorf("%p, not %p; hold %d", b, a, l.hold)
	}
	b.Return()
	returnAll(others)
}
