//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"slices"
	"sync"
	"unsafe"
)

// An Arena hands out memory by moving a pointer and takes all of it back at once. A *Arena points at the four words that
// C, C++, Rust and Julia see too, in C memory: what is allocated here, the garbage collector neither scans nor frees, and
// C may keep it for as long as the arena's owner lets it live.
//
// Arenas come from [Get] (for the length of a call), [NewArena] (until Release), and [Wrap] and [Own] (made by C). One
// goroutine at a time may use an arena; it may be handed from one to another.
//
// Memory from an arena must hold no Go pointer, as cgo's rules say of all C memory; pointers into arenas and other C
// memory are fine.
type Arena struct {
	_      noCopy
	cursor uintptr // next free byte; a multiple of 8
	ops    uintptr // the provider's functions
	limit  uintptr // end of the inline path's room
	epoch  uintptr // grows when something happened that a rewind must know of; bit 0: watched
}

// A copy of a head would hand out the same bytes: go vet tells.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Errors of arenas.
var (
	ErrMark    = errors.New("toft: mark of another arena, or from before a reset")
	ErrBusy    = errors.New("toft: a range of the arena is claimed, or a cleanup is running")
	ErrCorrupt = errors.New("toft: bytes were written outside an allocation")
	ErrNoArena = errors.New("toft: not the head of an arena")
	ErrVersion = errors.New("toft: the arena's provider follows another version of the ABI")
	ErrNUL     = errors.New("toft: string holds a NUL byte")

	errArgument = errors.New("toft: bad argument")
)

func errorOf(code int) error {
	switch code {
	case 0:
		return nil
	case codeNoMemory:
		return ErrNoMemory
	case codeMark:
		return ErrMark
	case codeBusy:
		return ErrBusy
	case codeCorrupt:
		return ErrCorrupt
	case codeNoSys:
		return fmt.Errorf("toft: the arena's provider does not offer this: %w", errors.ErrUnsupported)
	}
	return errArgument
}

// must panics where a call failed that fails on misuse only.
func must(what string, code int) {
	if code != 0 {
		panic(failed(what, errorOf(code)))
	}
}

// ---- arenas with an owner ----

// Options of [NewArena]; the zero value is an arena on the heap without limits.
type Options struct {
	Budget     uint64 // bytes that may be live at once; 0: no limit
	Reserve    uint   // bytes expected: the first block is made this large
	Contiguous uint   // not 0: one range of at most so many bytes of address space, committed as the arena grows
	Checked    bool   // see [Arena.SetChecked]
}

// Arenas that Go must release.
var owned sync.Map // *Arena -> *creation, nil for those that C made

// Released arenas whose heads refuse everything, oldest first.
var retired struct {
	sync.Mutex
	arenas []retiredArena
	space  uint // address space of contiguous ones
}

type retiredArena struct {
	a *Arena
	*creation
}

const (
	mostRetired      = 256 // 4 KiB each, or a little more
	mostRetiredSpace = ^uint(0) >> 6
)

// retire has the head of a released arena wait, so that its use is noticed.
func retire(a *Arena, m *creation) {
	retired.Lock()
	defer retired.Unlock()
	retired.arenas = append(retired.arenas, retiredArena{a, m})
	retired.space += m.space
	for len(retired.arenas) > mostRetired || retired.space > mostRetiredSpace {
		endOldestRetired()
	}
}

// endOldestRetired needs the mutex.
func endOldestRetired() {
	oldest := retired.arenas[0]
	retired.arenas = slices.Delete(retired.arenas, 0, 1)
	retired.space -= oldest.space
	cEndRetired(oldest.a, oldest.creation)
}

// endRetired gives the memory and addresses of all such heads back; false: there are none.
func endRetired() bool {
	retired.Lock()
	defer retired.Unlock()
	some := len(retired.arenas) != 0
	for len(retired.arenas) != 0 {
		endOldestRetired()
	}
	return some
}

// NewArena makes an arena that lives until its Release: forgotten, its memory is lost. For the length of one call [Get]
// is faster. It fails where there is no memory or address space.
func NewArena(o Options) (*Arena, error) {
	if o.Contiguous != 0 && o.Reserve > o.Contiguous {
		return nil, failed("NewArena: Reserve exceeds Contiguous", errArgument)
	}
	a, m := cCreate(o)
	if a == nil && endRetired() {
		a, m = cCreate(o)
	}
	if a == nil {
		return nil, failed("NewArena", ErrNoMemory)
	}
	owned.Store(a, m)
	if raceBuild {
		raceBegin(a)
	}
	return a, nil
}

// Wrap makes an arena of C's usable from Go. It stays C's: who made it releases it. p is a toft_arena *; an error tells
// that it does not look like one.
func Wrap(p unsafe.Pointer) (*Arena, error) {
	switch cCheck(p) {
	case 0:
		return (*Arena)(p), nil
	case codeNoSys:
		return nil, ErrVersion
	}
	return nil, ErrNoArena
}

// Own is Wrap for an arena that C gave away: Release it.
func Own(p unsafe.Pointer) (*Arena, error) {
	a, err := Wrap(p)
	if err != nil {
		return nil, err
	}
	if leaseOf(a) != nil {
		return nil, fmt.Errorf("%w that can be owned: it is leased", ErrNoArena)
	}
	if _, twice := owned.LoadOrStore(a, (*creation)(nil)); twice {
		return nil, fmt.Errorf("%w that can be owned: it has an owner", ErrNoArena)
	}
	return a, nil
}

// Release runs the cleanups and gives all memory back. It panics for an arena that is not the caller's to release: a leased
// or wrapped one, and one that was released before; with [ErrBusy], having done nothing; and with [ErrCorrupt], having done
// its work.
//
// The use of a released arena that [NewArena] made panics, but for Mark, Rewind and allocations of no bytes, and C gets
// NULL from it, while it is among the last 256 that were released, whose heads are kept. In a checked arena it is a finding.
// That of one that [Own] took is not noticed: C has its memory back.
func (a *Arena) Release() {
	value, ok := owned.LoadAndDelete(a)
	if !ok {
		if leaseOf(a) != nil {
			panic("toft: Release of a leased arena: it must be returned")
		}
		panic("toft: Release of an arena that NewArena or Own did not give, or of a released one")
	}
	m := value.(*creation)
	if raceBuild {
		raceUse(a)
		defer raceEnd(a)
	}
	e := emptying{call: cRelease, a: a, made: m}
	retires := m != nil && a.epoch&1 == 0 // a checked one is kept by C, which looks for late writes
	if retires {
		e.call = cRetire
	}
	e.run(func(code int) {
		if code == codeBusy {
			owned.Store(a, m)
			panic(failed("Release", ErrBusy))
		}
		switch {
		case retires:
			retire(a, m)
		case m != nil:
			cFreeExtra(m.extra)
		}
		must("Release", code)
	})
}

// Pointer is the arena as C knows it, a toft_arena *. C may allocate from it inline, rewind, and register cleanups, while
// the call lasts or as long as the arena lives; Go reads the results through the pointers that C hands back.
func (a *Arena) Pointer() unsafe.Pointer { return unsafe.Pointer(a) }

// ---- marks, scopes, resets ----

// A Mark is a point to come back to. It may be kept, and dropped, as one likes. In memory it is C's toft_mark: one that C
// made is good here, and the other way round.
type Mark struct{ cursor, epoch uintptr }

// Mark remembers this point of the arena.
func (a *Arena) Mark() Mark {
	if raceBuild {
		raceUse(a)
	}
	return Mark{a.cursor, a.epoch &^ 1}
}

// Rewind gives back everything allocated since the mark and runs the cleanups registered since. The mark stays good for
// another rewind. A scope in one line:
//
//	defer a.Rewind(a.Mark())
//
// It panics with [ErrMark] for a mark from before a Reset, and with [ErrBusy]. A mark of another arena or from before a
// Return, and a Rewind after Return, are told in checked arenas and with [SetDebug]; elsewhere they may pass, and then
// memory is handed out twice.
func (a *Arena) Rewind(m Mark) {
	if raceBuild {
		raceUse(a)
	}
	if m.epoch != a.epoch || m.cursor > a.cursor {
		a.rewindSlow(m)
		return
	}
	a.cursor = m.cursor
}

func (a *Arena) rewindSlow(m Mark) {
	a.check("Rewind")
	emptying{call: cRewind, a: a, m: m}.run(func(code int) { must("Rewind", code) })
}

// Scope calls f and then gives back what was allocated meanwhile, also if f panics.
func (a *Arena) Scope(f func()) {
	defer a.Rewind(a.Mark())
	f()
}

// Reset gives back every allocation and runs the cleanups, but keeps blocks for the next round: as much as the largest of
// the last 64 rounds needed. A leased arena is reset by Return.
func (a *Arena) Reset() {
	a.check("Reset")
	emptying{call: cReset, a: a}.run(func(code int) { must("Reset", code) })
}

// Trim returns memory that holds no allocation, until about keep bytes of it are left.
func (a *Arena) Trim(keep uint) {
	a.check("Trim")
	cTrim(a, uintptr(keep))
}

// ---- budgets, checks, statistics ----

// NoBudget lifts a budget.
const NoBudget = ^uint64(0)

// SetBudget limits the bytes that may be live from now on, padding included; it costs nothing until it is reached.
// [NoBudget] lifts it. A budget below what is live refuses everything until enough has been given back. The budget of a
// leased arena ends with its lease.
func (a *Arena) SetBudget(bytes uint64) {
	a.check("SetBudget")
	must("SetBudget", cSetBudget(a, bytes))
	if l := leaseOf(a); l != nil {
		l.changed()
	}
}

// SetChecked switches checks of what is allocated from now on: red zones around it, looked at when it is given back
// (Rewind, Reset and Return then panic with [ErrCorrupt], having done their work); what is given back is filled with
// 0xDD; marks already rewound past are refused. Slow, and exact. The checks of a leased arena end with its lease.
func (a *Arena) SetChecked(on bool) {
	a.check("SetChecked")
	must("SetChecked", cSetChecked(a, on))
	if l := leaseOf(a); l != nil {
		l.changed()
	}
}

// Stats of an arena, in bytes but for the last two. Live is exact; Allocated and Peak are taken at slow calls, so they
// miss what was allocated and rewound within one block in between.
type Stats struct {
	Live        uint64 // allocated and not given back
	Allocated   uint64 // allocated, ever
	Peak        uint64 // the most that was live
	Budget      uint64 // NoBudget: none
	Reserved    uint64 // blocks, kept ones included
	Wasted      uint64 // headers of blocks, and the unused ends of full ones
	Blocks      uint64
	SourceCalls uint64 // how often blocks were asked for
}

// Stats tells what the arena holds now.
func (a *Arena) Stats() Stats {
	a.check("Stats")
	return cStats(a)
}

// Contains tells whether p lies in memory that the arena has handed out.
func (a *Arena) Contains(p unsafe.Pointer) bool {
	a.check("Contains")
	return cContains(a, p)
}

// ---- cleanups ----

// Cleanup has f called once, when this point of the arena is rewound, reset, returned or released; the newest first. f
// may use other arenas, but not this one. It runs on a goroutine of its own, for which Rewind, Reset, Return or Release
// waits. If it panics or calls [runtime.Goexit], the other cleanups run and the memory is given back all the same; then
// the caller's goroutine panics with the same value, or exits. Of several that do so the last counts.
//
// Where C by itself rewinds, resets or releases the arena, f is called from C and must neither panic nor call Goexit.
// Cleanups that C registered run on the thread that empties the arena.
func (a *Arena) Cleanup(f func()) {
	if f == nil {
		panic("toft: Cleanup: nil function")
	}
	a.check("Cleanup")
	h := cgo.NewHandle(cleanup{a, f})
	countCleanup(a, 1)
	if !cCleanup(a, uintptr(h)) {
		countCleanup(a, -1)
		h.Delete()
		panic(&AllocError{Size: cleanupSize, Align: 8})
	}
}

// What a cleanup takes in its arena, about.
const cleanupSize = 40
