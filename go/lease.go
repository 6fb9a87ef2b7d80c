//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Leases: arenas for the length of a call. Each processor (a P of Go's scheduler) has four of its own, in homes of 8 KiB
// that lie side by side in one range of addresses, so that an arena's lease is found by arithmetic. If all leases of the
// processor are taken, Get uses an extra one: see lease_extra.go. lease_pin.go and lease_cas.go are two ways to take a
// processor's lease: without an atomic operation, and without help from Go's runtime.
//
// The arena of an idle lease is sealed: its cursor is at its limit. An allocation after Return finds no room, takes the
// slow path, and panics there. So Get is the rewind, and Return only moves a cursor.

// A lease of a processor is at the start of its home, in C memory; its arena follows.
type lease struct {
	state uint32  // taken and given as lease_pin.go or lease_cas.go says
	hold  uint32  // the collector's hand on it
	start uintptr // the arena's cursor when it is empty
	epoch uintptr // the arena's epoch then: if it is still the same, rewinding is moving the cursor
	kept  uintptr // bytes of blocks that the arena keeps besides its home

	at      uintptr // the arena
	watched bool    // its arena was metered or sampled
	_       [7]byte
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
	empty  = iota // it has no arena
	idle          // waiting
	leased        // given out
	rested        // waiting, and the collector has seen it so
)

const nowhere = ^(^uintptr(0) >> 1) // an address that no memory has

const never = 0 // an epoch that no arena has: Return must look closer

var (
	slab     uintptr        = nowhere // where the homes of the processors lie; those of extra leases follow
	active   atomic.Uintptr           // how many processors' leases and lists may be used: 0 or maxP
	canPin   bool                     // active may be maxP
	separate sync.Map                 // *Arena -> *lease: those whose home is on C's heap
)

func init() {
	perLease.Store(256 << 10)
	cNoCache()
	reserveHomes()
	if canPin = slab != nowhere && canCollect(); canPin {
		active.Store(maxP)
	}
	startDebug()
}

func leaseAt(i uintptr) *lease { return (*lease)(unsafe.Add(nil, slab+i*homeSize)) }

func (l *lease) arena() *Arena { return (*Arena)(unsafe.Add(nil, l.at)) }

// behind is the arena of a lease at the start of its home.
func (l *lease) behind() *Arena { return (*Arena)(unsafe.Add(unsafe.Pointer(l), leaseSize)) }

// leaseOf is the lease that a belongs to; nil: none.
func leaseOf(a *Arena) *lease {
	if off := uintptr(unsafe.Pointer(a)) - slab; off < slabSize {
		if off%homeSize != leaseSize {
			return nil
		}
		return (*lease)(unsafe.Add(unsafe.Pointer(a), -leaseSize))
	}
	if i := extraOf(a); i >= 0 {
		return extraAt(uint32(i))
	}
	if l, ok := separate.Load(a); ok {
		return l.(*lease)
	}
	return nil
}

// changed tells Return that the arena has a budget or checks, which end with the lease.
func (l *lease) changed() { l.epoch = never }

// check is where every slow path looks whether the arena may be used.
func (a *Arena) check(what string) {
	if l := leaseOf(a); l != nil && atomic.LoadUint32(&l.state) != leased {
		panic(misuse(a, what+" after Return"))
	}
	switch a.ops {
	case releasedOps:
		panic("toft: " + what + " after Release")
	case 0:
		panic("toft: " + what + " of an Arena that Get, NewArena, Wrap or Own did not give")
	}
	if raceBuild {
		raceUse(a)
	}
}

// Return ends the lease: everything allocated is given back, cleanups run, and the memory waits for the next Get. The
// arena, and what was allocated in it, must not be used any more; what C holds of it must be dropped. Any goroutine may
// return it, once: a second Return panics, as does the use of an arena that was returned and not leased again, but for
// Mark, Rewind and allocations of no bytes. With [SetDebug] both always panic, with the places.
//
//go:nosplit
func (a *Arena) Return() {
	if raceBuild && leaseOf(a) != nil {
		raceUse(a)
	}
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
	i := extraOf(a)
	if i >= 0 {
		if l := extraAt(uint32(i)); l.state == leased && a.epoch == l.epoch {
			a.cursor = a.limit
			giveExtra(l, uint32(i))
			return
		}
	}
	l := leaseOf(a)
	if l == nil { // its memory may be unmapped, and is not read
		panic("toft: Return of an arena that is not leased: Get did not give it, or it was returned")
	}
	if debugReturn(a) {
		return
	}
	if atomic.LoadUint32(&l.state) != leased {
		panic(misuse(a, "second Return"))
	}
	if a.epoch == l.epoch { // rewinding is moving the cursor
		l.idle(a, i)
		return
	}
	emptying{call: cResetLease, a: a, limit: uintptr(perLease.Load())}.run(func(code int) {
		if code != 0 && code != codeCorrupt {
			panic(failed("Return", errorOf(code)))
		}
		l.refresh(a)
		l.idle(a, i)
		must("Return", code)
	})
}

// idle has an empty lease wait for the next Get. i: its number among the extra ones, or -1.
func (l *lease) idle(a *Arena, i int) {
	a.cursor = a.limit
	switch {
	case i >= 0:
		giveExtra(l, uint32(i))
	case uintptr(unsafe.Pointer(l))-slab < slabSize:
		l.give()
	default:
		l.destroy()
	}
}

// refresh ends an empty arena's budget, checks and meters, and notes how it is now.
func (l *lease) refresh(a *Arena) {
	if l.epoch == never {
		cSetChecked(a, false)
	}
	// What was noted ends with its arena: the next has one of its own, in the same place. C may have switched it on.
	if l.watched || a.epoch&1 != l.checked {
		l.watched = false
		cRelease(emptying{a: a}, 0)
		l.create()
	}
	s := cStats(a)
	if s.Budget != NoBudget { // C may have set it
		cSetBudget(a, NoBudget)
	}
	l.start, l.epoch = a.cursor, a.epoch
	atomic.StoreUintptr(&l.kept, uintptr(max(s.Reserved, homeSize)-homeSize))
}

// With calls f with a leased arena, and returns it when f is done, also if f panics.
func With(f func(a *Arena) error) error {
	a := Get()
	defer a.Return()
	return f(a)
}

// create makes the lease's arena, in what is left of its home.
func (l *lease) create() *Arena {
	return cCreateIn(unsafe.Pointer(l.arena()), homeSize-l.at%homeSize)
}

// furnish makes the arena of an empty lease, and panics where there is no memory for it.
func (l *lease) furnish(at *Arena) {
	l.at = uintptr(unsafe.Pointer(at))
	a := l.create()
	if a == nil {
		atomic.StoreUint32(&l.state, empty)
		panic(&AllocError{Size: homeSize, Align: 8})
	}
	l.start, l.epoch, l.checked = a.cursor, a.epoch, a.epoch&1
	watchCollector()
}

// ---- separate leases ----

// getSlow gives an extra lease where the list of the processor has none.
func getSlow() *Arena {
	if a := debugGet(); a != nil {
		return raceBegin(a)
	}
	if l := takeExtra(); l != nil {
		a := l.arena()
		a.cursor = l.start
		return raceBegin(a)
	}
	return raceBegin(newSeparate().arena())
}

// newSeparate makes a lease whose home is on C's heap: for debugging, which must have its memory for itself, and where the
// range of addresses is used up.
func newSeparate() *lease {
	home := cHome()
	if home == nil {
		panic(&AllocError{Size: homeSize, Align: 8})
	}
	l := (*lease)(home)
	*l = lease{state: leased}
	l.furnish(l.behind())
	separate.Store(l.arena(), l)
	return l
}

// Leases reads separate leases while it has this; none is freed meanwhile.
var freeing sync.Mutex

// destroy ends a separate lease.
func (l *lease) destroy() {
	a := l.arena()
	freeing.Lock()
	separate.Delete(a)
	freeing.Unlock()
	a.cursor = l.start
	cRelease(emptying{a: a}, 0)
	cFreeHome(unsafe.Pointer(l))
}

// ---- what is kept ----

// LeaseLimits bound what waits for the next Get. Besides, each lease has a home of 8 KiB.
type LeaseLimits struct {
	PerLease uint // bytes of blocks that one keeps; 256 KiB unless set
}

var perLease atomic.Int64

// SetLeaseLimits sets the limits, for leases that are returned from now on, and returns the old ones. A lease whose calls
// need more than PerLease asks the heap each time.
func SetLeaseLimits(l LeaseLimits) (old LeaseLimits) {
	const most uint64 = 1<<63 - 1 // more than a uint of 32 bits
	old.PerLease = uint(perLease.Swap(int64(min(uint64(l.PerLease), most))))
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
	for i := range extra.made.Load() {
		look(extraAt(i))
	}
	freeing.Lock()
	defer freeing.Unlock()
	separate.Range(func(_, l any) bool {
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
// used since the one before; Go's runtime collects every two minutes at least.
func TrimLeases() { collect(true) }

var collecting sync.Mutex

func collect(all bool) {
	trim(all)
	if !all && debug.any.Load() { // not while collecting, and not on the runtime's goroutine, which has finalizers to run
		if debug.on.Load() {
			CheckReturned()
		}
		go reportForgotten()
	}
}

func trim(all bool) {
	collecting.Lock()
	defer collecting.Unlock()
	collectSlab(all)
	trimExtra(all)
}

// shrink gives back what an idle lease keeps, but for the first page of its home. The caller has it to himself.
func (l *lease) shrink() {
	a := l.arena()
	a.cursor = l.start
	cResetLease(emptying{a: a}, 0)
	cTrim(a, 0)
	l.start, l.epoch = a.cursor, a.epoch
	a.cursor = a.limit
	atomic.StoreUintptr(&l.kept, 0)
	if a.epoch&1 == 0 { // else what is gone there would be taken for a late write
		dropHomes(unsafe.Add(unsafe.Pointer(a), pageSize-l.at%pageSize), homeSize-min(pageSize, homeSize))
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
