//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// Leases: arenas for the length of a call. Each processor (a P of Go's scheduler) has four slots of its own, in buffers of
// 8 KiB that are side by side in one range of addresses, so that the slot of an arena is found by arithmetic. If all leases
// of the processor are in use, Get takes an extra one; see lease_extra.go. There are two ways to take a processor's lease:
// lease_pin.go needs no atomic operation, and lease_cas.go needs neither a function of Go's runtime nor a barrier of the
// system. The package chooses when it starts.
//
// The arena of an idle lease is sealed: its cursor is at its limit. An allocation after Return therefore takes the slow
// path, which panics. Get unseals the arena by setting its cursor to the start, and Return only sets the cursor and advances
// the epoch. The provider of these arenas is this package's own, which permits the latter; it makes every mark from before
// the Return take the slow path of Rewind, which refuses it.

// A Lease is an arena that is leased from a cache for the length of a call; see [Get]. It has the methods of [Arena] except
// for Release, which does not compile: a lease ends with [Lease.Return].
//
// Functions of this package that allocate take a *Lease as they take a *Arena. For another function that takes a *Arena,
// pass the address of the field Arena, which is that of the Lease.
type Lease struct {
	leased
	Arena
}

// leased makes the selector Release ambiguous in a Lease.
type leased struct{}

func (leased) Release() {}

// A slot is the cache's entry for one arena. The slot of a processor is at the start of its buffer, in C memory; the arena
// follows.
type slot struct {
	state uint32  // changes as described in lease_pin.go and lease_cas.go
	hold  uint32  // whether the collector uses the slot; see lease_pin.go
	start uintptr // the arena's cursor when it is empty
	epoch uintptr // the arena's epoch when it is empty: while it is unchanged, setting the cursor rewinds
	kept  uintptr // bytes of the arena's blocks outside the buffer; part of keptBytes

	at           uintptr // the address of the arena
	limited      bool    // the arena got a budget or checks, which end with the lease
	instrumented bool    // the arena was metered or sampled
	_            [6]byte
	checked      uintptr // bit 0 of the epoch of a new arena: whether all arenas of the process are checked
	first        uintptr // if epoch is noEpoch: the arena's epoch when it is empty
}

const (
	slotSize   = 64
	bufferSize = 8 << 10
	perP       = 4   // slots of a processor: for calls within calls, and while goroutines wait in C
	maxP       = 256 // processors that have their own slots
	procBytes  = maxP * perP * bufferSize
)

// States of a slot.
const (
	empty    = iota // it has no arena
	idle            // its arena is not leased
	leasedBy        // its arena is leased
	unused          // idle since a collection of garbage; lease_cas.go only
	trimmed         // used by the collector; lease_cas.go only
)

const noAddress = ^(^uintptr(0) >> 1) // an address that no memory has

const noEpoch = 0 // an epoch that no arena has: Return takes the slow path

var (
	rangeStart uintptr        = noAddress // the buffers of the processors' slots; extra slots and their buffers follow
	pins       bool                       // leases are taken as in lease_pin.go, else as in lease_cas.go
	active     atomic.Uintptr             // the number of processors whose slots and lists may be used if pins: 0 or maxP
	grouped    atomic.Bool                // slots and lists may be used if not pins
	separate   sync.Map                   // *Arena -> *slot: those whose buffer is on the C heap

	separateBuffers atomic.Int64
)

func init() {
	keptLimit.Store(defaultKept)
	cNoCache()
	reserveBuffers()
	pins = canPin()
	useSlots(true)
	startDebug()
}

// useSlots makes Get use the slots of processors, if there are any, or ends that.
func useSlots(on bool) {
	switch on = on && rangeStart != noAddress; {
	case !pins:
		grouped.Store(on)
	case on:
		active.Store(maxP)
	default:
		active.Store(0)
	}
}

func slotAt(i uintptr) *slot { return (*slot)(unsafe.Add(nil, rangeStart+i*bufferSize)) }

func (s *slot) arena() *Arena { return (*Arena)(unsafe.Add(nil, s.at)) }

// behind returns the arena of a slot at the start of its buffer.
func (s *slot) behind() *Arena { return (*Arena)(unsafe.Add(unsafe.Pointer(s), slotSize)) }

// lease returns a as the lease that it is.
func (a *Arena) lease() *Lease { return (*Lease)(unsafe.Pointer(a)) }

// slotOf returns the slot of a leased or returned arena, or nil for another arena.
func slotOf(a *Arena) *slot {
	if off := uintptr(unsafe.Pointer(a)) - rangeStart; off < procBytes {
		if off%bufferSize != slotSize {
			return nil
		}
		return (*slot)(unsafe.Add(unsafe.Pointer(a), -slotSize))
	}
	if i := extraOf(a); i >= 0 {
		return extraAt(uint32(i))
	}
	if s, ok := separate.Load(a); ok {
		return s.(*slot)
	}
	return nil
}

// setChanged makes Return end the budget or the checks of the arena.
func (s *slot) setChanged() {
	s.returnSlowly()
	s.limited = true
}

// returnSlowly makes the next Return take the slow path.
func (s *slot) returnSlowly() {
	if s.epoch != noEpoch {
		s.first, s.epoch = s.epoch, noEpoch
	}
}

// outlived reports whether the mark is older than the lease.
func (s *slot) outlived(m Mark) bool {
	if s.epoch != noEpoch {
		return m.epoch < s.epoch
	}
	return m.epoch < s.first
}

// seal makes allocations and marks of an empty arena take the slow path. Precondition: a.epoch == s.epoch and !s.wraps().
func (s *slot) seal(a *Arena) {
	a.cursor = a.limit
	s.epoch += 2
	a.epoch += 2
}

// wraps reports whether the next epoch of the arena would be one that older marks may have. It takes 2^31 Returns.
func (s *slot) wraps() bool { return unsafe.Sizeof(s.epoch) == 4 && s.epoch >= lastEpoch }

const lastEpoch = ^uintptr(0) - 1

// check panics if the arena must not be used. Every slow path begins with it.
func (a *Arena) check(what string) {
	if s := slotOf(a); s != nil && atomic.LoadUint32(&s.state) != leasedBy {
		panic(misuse(a, what+" after Return"))
	}
	switch a.ops {
	case releasedOps:
		panic("toft: " + what + " after Release")
	case 0:
		panic("toft: " + what + " of an Arena that was not made by this package")
	}
	if raceBuild {
		raceUse(a)
	}
}

// Return ends the lease: it frees everything that was allocated, runs the cleanups, and makes the arena available to the
// next Get. Neither Go nor C may use the arena or its memory afterwards. Any goroutine may return a lease, once. A second
// Return and the use of a returned arena panic until the arena is leased again, except for Mark and allocations of 0 bytes;
// a Rewind to a mark from before a Return always panics. With leasetest.SetDebug all of these always panic, with the places of Get
// and Return.
//
//go:nosplit
func (l *Lease) Return() {
	a := (*Arena)(unsafe.Pointer(l)) // &l.Arena would add a check of l
	if raceBuild && slotOf(a) != nil {
		raceUse(a)
	}
	if uintptr(unsafe.Pointer(a))-rangeStart < procBytes {
		s := (*slot)(unsafe.Add(unsafe.Pointer(a), -slotSize))
		if s.state == leasedBy && a.epoch == s.epoch && !s.wraps() {
			s.seal(a)
			s.release()
			return
		}
	}
	a.returnSlow()
}

func (a *Arena) returnSlow() {
	i := extraOf(a)
	if i >= 0 {
		if s := extraAt(uint32(i)); s.state == leasedBy && a.epoch == s.epoch && !s.wraps() {
			s.seal(a)
			releaseExtra(s, uint32(i))
			return
		}
	}
	s := slotOf(a)
	if s == nil { // its memory may be unmapped, and is not read
		panic("toft: Return of an arena that is not leased")
	}
	if debugReturn(a) {
		return
	}
	if atomic.LoadUint32(&s.state) != leasedBy {
		panic(misuse(a, "second Return"))
	}
	if s.wraps() {
		s.instrumented = true // refresh makes a new arena
	} else if a.epoch == s.epoch { // setting the cursor rewinds
		s.seal(a)
		s.makeIdle(a, i)
		return
	}
	emptying{call: cReset, a: a}.run(func(code int) {
		if code != 0 && code != codeCorrupt {
			panic(wrap("Return", errorOf(code)))
		}
		s.refresh(a)
		s.makeIdle(a, i)
		must("Return", code)
	})
}

// makeIdle makes an empty arena available to the next Get. i is the number of an extra slot, or -1.
func (s *slot) makeIdle(a *Arena, i int) {
	a.cursor = a.limit
	switch {
	case i >= 0:
		releaseExtra(s, uint32(i))
	case uintptr(unsafe.Pointer(s))-rangeStart < procBytes:
		s.release()
	default:
		s.destroy()
	}
}

// refresh ends the budget, the checks and the meters of an empty arena, bounds what it keeps, and updates the slot.
func (s *slot) refresh(a *Arena) {
	if s.limited {
		s.limited = false
		cSetChecked(a, false)
	}
	// Records end with their arena, so the slot gets a new arena at the same address. C may have switched them on.
	if s.instrumented || a.epoch&1 != s.checked {
		s.instrumented = false
		stopProfile(a)
		cRelease(emptying{a: a}, 0)
		s.create()
	}
	stats := cStats(a)
	if stats.Budget != NoBudget { // C may have set it
		cSetBudget(a, NoBudget)
	}
	s.setKept(keptOf(stats))
	if over := keptBytes.Load() - min(keptLimit.Load(), limiter.kept.Load()); over > 0 && s.kept != 0 {
		cTrim(a, s.kept-min(s.kept, uintptr(over)))
		s.setKept(keptOf(cStats(a)))
	}
	s.note(a)
}

// note records the state of an empty arena. Each Return of an instrumented one takes the slow path, which counts its bytes.
func (s *slot) note(a *Arena) {
	s.start, s.epoch = a.cursor, a.epoch&^1
	if a.epoch&1 != 0 {
		s.returnSlowly()
	}
}

// With calls f with a leased arena and returns it when f has ended, also if f panics.
func With(f func(a *Arena) error) error {
	l := Get()
	defer l.Return()
	return f(&l.Arena)
}

// create makes the arena of a slot, in the rest of its buffer.
func (s *slot) create() *Arena {
	return cCreateIn(unsafe.Pointer(s.arena()), bufferSize-s.at%bufferSize)
}

// initArena makes the arena of an empty slot. It panics if there is no memory for it.
func (s *slot) initArena(at *Arena) {
	s.at = uintptr(unsafe.Pointer(at))
	s.setArena(s.create())
}

func (s *slot) setArena(a *Arena) {
	if a == nil {
		atomic.StoreUint32(&s.state, empty)
		panic(&AllocError{Size: bufferSize, Align: 8})
	}
	s.note(a)
	s.checked = a.epoch & 1
	watchCollector()
}

// ---- separate leases ----

// getSlow is called if the list of the processor has no lease.
func getSlow() *Lease {
	if a := debugGet(); a != nil {
		return raceBegin(a).lease()
	}
	if s := takeExtra(); s != nil {
		a := s.arena()
		a.cursor = s.start
		return raceBegin(a).lease()
	}
	return raceBegin(newSeparate((*slot).create).arena()).lease()
}

// newSeparate makes a slot whose buffer is on the C heap: for debugging, which must not reuse memory, and if the range of
// addresses is used up.
func newSeparate(create func(*slot) *Arena) *slot {
	buffer := cAllocBuffer()
	if buffer == nil {
		panic(&AllocError{Size: bufferSize, Align: 8})
	}
	separateBuffers.Add(1)
	s := (*slot)(buffer)
	*s = slot{state: leasedBy, at: uintptr(unsafe.Pointer(s.behind()))}
	s.setArena(create(s))
	separate.Store(s.arena(), s)
	return s
}

// ReadLeaseStats holds it while it reads separate slots, so that none is freed.
var freeing sync.Mutex

// destroy frees a separate slot.
func (s *slot) destroy() {
	a := s.arena()
	freeing.Lock()
	separate.Delete(a)
	freeing.Unlock()
	s.setKept(0)
	a.cursor = s.start
	cRelease(emptying{a: a}, 0)
	cFreeBuffer(unsafe.Pointer(s))
	separateBuffers.Add(-1)
}

// ---- kept memory ----

// LeaseLimits limit the memory that leases keep between calls.
//
// The arena of a lease keeps blocks between calls as [Arena.Reset] does: as much as the largest of its last 64 rounds
// needed. A round is a call for which the arena needed new blocks, or the first call after a collection of garbage. A
// lease that is not used between two collections frees its blocks.
type LeaseLimits struct {
	// Total limits the bytes of the blocks of all leases of the process; it is 64 MiB unless set. A Return by which the
	// sum would exceed it frees blocks. In addition each lease has a buffer of 8 KiB. [AdjustMemoryLimit] may lower it.
	Total uint
}

const defaultKept = 64 << 20

var (
	keptLimit atomic.Int64
	keptBytes atomic.Int64 // the sum of kept of all slots
)

// SetLeaseLimits sets the limits for later Returns and returns the previous ones.
func SetLeaseLimits(l LeaseLimits) (old LeaseLimits) {
	const most uint64 = 1<<63 - 1 // a uint of 32 bits is never larger
	old.Total = uint(keptLimit.Swap(int64(min(uint64(l.Total), most))))
	return old
}

// keptOf returns the bytes of blocks outside the buffer.
func keptOf(s Stats) uintptr { return uintptr(max(s.Reserved, bufferSize) - bufferSize) }

func (s *slot) setKept(bytes uintptr) {
	if bytes != s.kept {
		keptBytes.Add(int64(bytes) - int64(s.kept))
		atomic.StoreUintptr(&s.kept, bytes)
	}
}

// LeaseStats are statistics of the leases of the process. They are exact if no lease is got or returned at the same time.
type LeaseStats struct {
	Leased int    // leases that were got and not returned
	Idle   int    // arenas that are available to Get
	Kept   uint64 // bytes of the idle ones: buffers and blocks
	Cached uint64 // bytes of free pages that C caches for all arenas of the process: see [TrimLeases]
}

// ReadLeaseStats returns the statistics of the leases of the process.
func ReadLeaseStats() (stats LeaseStats) {
	add := func(s *slot) {
		switch atomic.LoadUint32(&s.state) {
		case leasedBy:
			stats.Leased++
		case idle, unused, trimmed:
			stats.Idle++
			stats.Kept += bufferSize + uint64(atomic.LoadUintptr(&s.kept))
		}
	}
	for i := uintptr(0); i < made.Load(); i++ {
		add(slotAt(i))
	}
	for i := range extra.made.Load() {
		add(extraAt(i))
	}
	stats.Cached = uint64(cCachedPages())
	freeing.Lock()
	defer freeing.Unlock()
	separate.Range(func(_, s any) bool {
		add(s.(*slot))
		return true
	})
	return stats
}

// The slots of processors below this number have been used; the memory of the others was never touched.
var made atomic.Uintptr

func noteMade(i uintptr) {
	for n := made.Load(); n <= i; n = made.Load() {
		made.CompareAndSwap(n, i+1)
	}
}

// TrimLeases frees the blocks of idle leases and returns the pages that C caches to the system, with glibc also the free pages
// of the C heap. Each collection of garbage does so for leases that were not used since the collection before, for pages that
// are due, and for the heap after 4 MiB of blocks went back to it: the Go runtime collects at least every two minutes. Pages of 1 MiB and more are cached for as long as they were in use within the last second, 256 MiB
// at most; a thread of C, which exists only while there are any, returns them in a process that is idle, unless the
// environment has TOFT_BACKGROUND_THREAD=0.
func TrimLeases() { collect(true) }

var collecting sync.Mutex

func collect(all bool) {
	trim(all)
	cTrimPages(all)
	adjustLimit(false)
	if !all && debug.any.Load() { // not in TrimLeases, and not on the runtime's goroutine, which runs finalizers
		if debug.on.Load() {
			checkReturned()
		}
		go reportForgotten()
	}
}

func trim(all bool) {
	collecting.Lock()
	defer collecting.Unlock()
	trimProcs(all)
	trimExtra(all)
}

// shrink frees the blocks of an idle arena, and its buffer except for the first page. Precondition: the caller has the slot
// to itself.
func (s *slot) shrink() {
	a := s.arena()
	a.cursor = s.start
	cShrink(a)
	s.note(a)
	a.cursor = a.limit
	s.setKept(0)
	if a.epoch&1 == 0 { // a checked arena would take the zeros for late writes
		dropBuffers(unsafe.Add(unsafe.Pointer(a), offheap.PageSize-s.at%offheap.PageSize), bufferSize-min(offheap.PageSize, bufferSize))
	}
}

// endRound makes the next Return of an arena that keeps blocks a round. Precondition: the caller has the slot to itself.
func (s *slot) endRound() {
	if s.kept != 0 {
		s.returnSlowly()
	}
}

// watchCollector makes each collection of garbage call collect: it finds an unreachable object, whose finalizer makes the
// next one.
func watchCollector() { watch.Do(watchNext) }

var watch sync.Once

func watchNext() {
	type sentinel struct{ _ [64]byte }
	runtime.SetFinalizer(new(sentinel), func(*sentinel) {
		collect(false)
		watchNext()
	})
}
