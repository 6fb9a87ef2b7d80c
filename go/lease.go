//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Leases: arenas for the length of a call. Each processor (a P of Go's scheduler) has a few, in homes of 8 KiB that lie side
// by side in one range of addresses, so that an arena's lease is found by arithmetic. Who finds those of its processor
// taken gets one of the strays, which are kept in a list under a mutex. lease_pin.go and lease_cas.go are two ways to
// take a processor's lease: without an atomic operation, and without help from Go's runtime.
//
// The arena of an idle lease is sealed: its cursor is at its limit. Whoever uses it after Return finds no room, takes the
// slow path, and is told there. So Get is the rewind, and Return only moves a cursor.

// A lease is at the start of its home, in C memory; its arena follows.
type lease struct {
	state uint32  // taken and given as lease_pin.go or lease_cas.go says
	hold  uint32  // the collector's hand on it
	start uintptr // the arena's cursor when it is empty
	epoch uintptr // the arena's epoch then: if it is still the same, rewinding is moving the cursor
	kept  uintptr // bytes of blocks that the arena keeps besides its home
	tag   uint32  // of strays: the collections it has been idle for

	watched bool // its arena was metered or sampled
	_       [11]byte
	checked uintptr // bit 0 of the epoch of an arena as it is made: all of the process are checked
}

const (
	leaseSize = 64
	homeSize  = 8 << 10
	perP      = 4   // leases of a processor: for calls within calls, and while goroutines wait in C
	maxP      = 256 // processors that have their own
	slabSize  = maxP * perP * homeSize
)

// States of a lease.
const (
	empty  = iota // it has no arena yet
	idle          // waiting
	leased        // given out
	rested        // waiting, and the collector has seen it so
)

const nowhere = ^(^uintptr(0) >> 1) // an address that no memory has

const never = 0 // an epoch that no arena has: Return must look closer

var (
	slab   uintptr        = nowhere // where the homes of the processors lie
	active atomic.Uintptr           // how many processors' leases may be used: 0 or maxP
	strays sync.Map                 // *Arena -> *lease: those that lie elsewhere
)

func init() {
	perLease.Store(256 << 10)
	maxStrays.Store(64)
	cNoCache()
	if canCollect() { // else all leases are strays
		if homes := cReserveHomes(maxP * perP); homes != nil {
			slab = uintptr(homes)
			active.Store(maxP)
		}
	}
	startDebug()
}

func leaseAt(i uintptr) *lease { return (*lease)(unsafe.Add(nil, slab+i*homeSize)) }

func (l *lease) arena() *Arena { return (*Arena)(unsafe.Add(unsafe.Pointer(l), leaseSize)) }

// leaseOf is the lease that a belongs to; nil: none.
func leaseOf(a *Arena) *lease {
	if off := uintptr(unsafe.Pointer(a)) - slab; off < slabSize {
		if off%homeSize != leaseSize {
			return nil
		}
		return (*lease)(unsafe.Add(unsafe.Pointer(a), -leaseSize))
	}
	if l, ok := strays.Load(a); ok {
		return l.(*lease)
	}
	return nil
}

// changed tells Return that the arena has a budget or checks, which end with the lease.
func (l *lease) changed() { l.epoch = never }

// check is where every slow path looks whether the arena may be used.
func (a *Arena) check(what string) {
	if a.ops == 0 {
		panic("toft: " + what + " of an Arena that Get, NewArena, Wrap or Own did not give")
	}
	if l := leaseOf(a); l != nil && atomic.LoadUint32(&l.state) != leased {
		panic(misuse(a, what+" after Return"))
	}
}

// Return ends the lease: everything allocated is given back, cleanups run, and the memory waits for the next Get. The
// arena, and what was allocated in it, must not be used any more; what C holds of it must be dropped. Any goroutine may
// return it, once: a second Return panics, as does the use of an arena that was returned and not leased again, but for
// Mark, Rewind and allocations of no bytes, and for the arenas beyond those that are kept (see [LeaseLimits]), whose memory
// is gone. With [SetDebug] both are always told, with the places.
//
//go:nosplit
func (a *Arena) Return() {
	if uintptr(unsafe.Pointer(a))-slab < slabSize {
		l := (*lease)(unsafe.Add(unsafe.Pointer(a), -leaseSize))
		if l.state == leased && a.epoch == l.epoch {
			a.cursor = a.limit
			l.give()
			return
		}
	}
	a.returnSlow()
}

func (a *Arena) returnSlow() {
	l := leaseOf(a)
	if l == nil { // or no more: its memory may be gone, and is not looked at
		panic("toft: Return of an arena that is not leased: Get did not give it, or it was returned")
	}
	if debugReturn(a) {
		return
	}
	if atomic.LoadUint32(&l.state) != leased {
		panic(misuse(a, "second Return"))
	}
	var fault error
	if a.epoch != l.epoch { // else it is a stray, and rewinding it is moving the cursor
		fault = l.reset(a)
	}
	if errors.Is(fault, ErrBusy) {
		panic(fmt.Errorf("toft: Return: %w", ErrBusy))
	}
	a.cursor = a.limit
	if l.isStray() {
		returnStray(l)
	} else {
		l.give()
	}
	if fault != nil {
		panic(fmt.Errorf("toft: Return: %w", fault))
	}
}

// reset empties the arena through its maker, ends its budget, checks and meters, and returns what it holds above the limit.
func (l *lease) reset(a *Arena) error {
	code := cResetLease(a, uintptr(perLease.Load()))
	if code != 0 && code != codeCorrupt {
		return errorOf(code)
	}
	if l.epoch == never {
		cSetChecked(a, false)
	}
	// What was noted ends with its arena: the next has one of its own, in the same place. C may have switched it on.
	if l.watched || a.epoch&1 != l.checked {
		l.watched = false
		cRelease(a)
		cCreateIn(unsafe.Pointer(l))
	}
	s := cStats(a)
	if s.Budget != NoBudget { // C may have set it
		cSetBudget(a, NoBudget)
	}
	l.start, l.epoch = a.cursor, a.epoch
	atomic.StoreUintptr(&l.kept, uintptr(max(s.Reserved, homeSize)-homeSize))
	return errorOf(code)
}

// With calls f with a leased arena, and returns it when f is done, also if f panics.
func With(f func(a *Arena) error) error {
	a := Get()
	defer a.Return()
	return f(a)
}

// furnish makes the arena of an empty lease.
func (l *lease) furnish() {
	a := cCreateIn(unsafe.Pointer(l))
	l.start, l.epoch, l.checked = a.cursor, a.epoch, a.epoch&1
	watchCollector()
}

// ---- strays ----

var stray struct {
	sync.Mutex
	idle []*lease
}

func (l *lease) isStray() bool { return uintptr(unsafe.Pointer(l))-slab >= slabSize }

// getSlow gives a stray.
func getSlow() *Arena {
	if a := debugGet(); a != nil {
		return a
	}
	stray.Lock()
	if n := len(stray.idle); n > 0 {
		l := stray.idle[n-1]
		stray.idle = stray.idle[:n-1]
		stray.Unlock()
		l.tag = 0
		a := l.arena()
		a.cursor = l.start
		atomic.StoreUint32(&l.state, leased)
		return a
	}
	stray.Unlock()
	return newStray().arena()
}

func newStray() *lease {
	home := cHome()
	if home == nil {
		panic(&AllocError{homeSize, 8})
	}
	clear(unsafe.Slice((*byte)(home), leaseSize))
	l := (*lease)(home)
	l.furnish()
	l.state = leased
	strays.Store(l.arena(), l)
	return l
}

func returnStray(l *lease) {
	stray.Lock()
	atomic.StoreUint32(&l.state, idle)
	keep := int64(len(stray.idle)) < maxStrays.Load()
	if keep {
		stray.idle = append(stray.idle, l)
	}
	stray.Unlock()
	if !keep {
		l.destroy()
	}
}

// destroy ends a stray.
func (l *lease) destroy() {
	a := l.arena()
	stray.Lock() // Leases may be looking at it
	strays.Delete(a)
	stray.Unlock()
	a.cursor = l.start
	cRelease(a)
	cFreeHome(unsafe.Pointer(l))
}

// ---- what is kept ----

// LeaseLimits bound what waits for the next Get. Besides, each processor's leases have homes of 8 KiB.
type LeaseLimits struct {
	PerLease uint // bytes of blocks that one keeps; 256 KiB unless set
	Strays   uint // leases kept beyond the four of each processor; 64 unless set
}

var perLease, maxStrays atomic.Int64

// SetLeaseLimits sets the limits, for leases that are returned from now on, and tells the old ones. A lease whose calls
// need more than PerLease asks the heap each time.
func SetLeaseLimits(l LeaseLimits) (old LeaseLimits) {
	const most uint64 = 1<<63 - 1 // more than a uint of 32 bits
	old.PerLease = uint(perLease.Swap(int64(min(uint64(l.PerLease), most))))
	old.Strays = uint(maxStrays.Swap(int64(min(uint64(l.Strays), most))))
	return old
}

// LeaseStats tells what leases there are. It is a look at things in motion, exact when nothing moves.
type LeaseStats struct {
	Leased int    // given out
	Idle   int    // waiting
	Kept   uint64 // bytes that wait: homes, and blocks
}

// Leases tells what leases there are.
func Leases() (s LeaseStats) {
	look := func(l *lease) {
		switch atomic.LoadUint32(&l.state) {
		case leased:
			s.Leased++
		case idle, rested:
			s.Idle++
			s.Kept += homeSize + uint64(atomic.LoadUintptr(&l.kept))
		}
	}
	for i := uintptr(0); i < made.Load(); i++ {
		look(leaseAt(i))
	}
	stray.Lock() // none is freed meanwhile
	defer stray.Unlock()
	strays.Range(func(_, l any) bool {
		look(l.(*lease))
		return true
	})
	return s
}

// How many homes of the slab have been used; the rest is untouched.
var made atomic.Uintptr

func noteMade(i uintptr) {
	for n := made.Load(); n <= i; n = made.Load() {
		made.CompareAndSwap(n, i+1)
	}
}

// TrimLeases returns the memory that idle leases keep. Each collection of garbage does the same for those that were not
// used since the one before.
func TrimLeases() { collect(true) }

var collecting sync.Mutex

func collect(all bool) {
	trim(all)
	if !all { // not while collecting: who is told may call TrimLeases
		if debug.on.Load() {
			CheckReturned()
		}
		reportForgotten()
	}
}

func trim(all bool) {
	collecting.Lock()
	defer collecting.Unlock()
	collectSlab(all)
	stray.Lock()
	var kept, dropped []*lease
	for _, l := range stray.idle {
		l.tag++
		if all || l.tag > 1 {
			dropped = append(dropped, l)
		} else {
			kept = append(kept, l)
		}
	}
	stray.idle = kept
	stray.Unlock()
	for _, l := range dropped {
		l.destroy()
	}
}

// shrink gives back what an idle lease keeps, but for the first page of its home. The caller has it to himself.
func (l *lease) shrink() {
	a := l.arena()
	a.cursor = l.start
	cResetLease(a, 0)
	cTrim(a, 0)
	l.start, l.epoch = a.cursor, a.epoch
	a.cursor = a.limit
	atomic.StoreUintptr(&l.kept, 0)
	if a.epoch&1 == 0 { // else what is gone there would be taken for a late write
		cDropTail(unsafe.Pointer(l))
	}
}

// watchCollector has collect called after each collection of garbage: the collector finds an object that nobody holds,
// and the next one is laid out.
func watchCollector() { watch.Do(layOut) }

var watch sync.Once

func layOut() {
	type bait struct{ _ [64]byte }
	runtime.SetFinalizer(new(bait), func(*bait) {
		collect(false)
		layOut()
	})
}
