//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// An Arena allocates by moving a pointer and frees everything at once. A *Arena points to the arena's head in C memory,
// four words that C, C++, Rust and Julia use too. The garbage collector neither scans nor frees what is allocated in an
// arena, and C may keep it for as long as the arena's owner does.
//
// Arenas come from [Get] (for the length of a call, as a [Lease]), from [NewArena] (until Release), and from [Wrap] and
// [Own] (made by C). One goroutine at a time may use an arena; it may be passed from one to another.
//
// Memory of an arena must not contain Go pointers, as the rules of cgo say of all C memory. Pointers into arenas and to
// other C memory are allowed.
type Arena struct {
	_      noCopy
	cursor uintptr // the next free byte; a multiple of 8
	ops    uintptr // the provider's table
	limit  uintptr // the end of what the inline path may allocate
	epoch  uintptr // changes when a rewind must take the slow path; bit 0: the arena is instrumented
}

// AnyArena is the constraint of functions that allocate: they take a *[Arena] or a *[Lease].
type AnyArena interface{ Arena | Lease }

// noCopy makes go vet report copies of a head, which would allocate the same bytes.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// ---- owned arenas ----

// Options are the options of [NewArena]. The zero value is an arena on the C heap without limits.
type Options struct {
	Budget     uint64 // the most bytes that may be live; 0 for no limit
	Reserve    uint   // the size of the first block
	Contiguous uint   // if not 0, use one range of so many bytes of address space, committed as the arena grows
	Checked    bool   // see [Arena.SetChecked]

	// Within is the budget that the blocks count for, with those of other arenas; nil for none. Not with Contiguous.
	Within *Budget
}

// The arenas that Release accepts.
var owned sync.Map // *Arena -> *creation, which is nil if C made the arena

// The released arenas whose heads are kept and refuse every operation, oldest first.
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

// retire keeps the head of a released arena, so that its use is detected.
func retire(a *Arena, m *creation) {
	retired.Lock()
	defer retired.Unlock()
	retired.arenas = append(retired.arenas, retiredArena{a, m})
	retired.space += m.space
	for len(retired.arenas) > mostRetired || retired.space > mostRetiredSpace {
		endOldestRetired()
	}
}

// Precondition: the mutex is held.
func endOldestRetired() {
	oldest := retired.arenas[0]
	retired.arenas = slices.Delete(retired.arenas, 0, 1)
	retired.space -= oldest.space
	cEndRetired(oldest.a, oldest.creation)
}

// endRetired frees all kept heads. It reports false if there are none.
func endRetired() bool {
	retired.Lock()
	defer retired.Unlock()
	some := len(retired.arenas) != 0
	for len(retired.arenas) != 0 {
		endOldestRetired()
	}
	return some
}

// NewArena makes an arena that lives until [Arena.Release]; without a Release its memory leaks. For the length of one
// call [Get] is faster. It fails if there is no memory or address space.
func NewArena(o Options) (*Arena, error) {
	if o.Contiguous != 0 && o.Reserve > o.Contiguous {
		return nil, wrap("NewArena: Reserve exceeds Contiguous", ErrArgument)
	}
	if o.Within != nil {
		o.Within.check("NewArena")
		if o.Contiguous != 0 {
			return nil, wrap("NewArena: Contiguous within a budget", ErrArgument)
		}
	}
	create := cCreate
	if debug.on.Load() && o.Contiguous == 0 && o.Within == nil {
		create = createDebugged
	}
	a, m := create(o)
	if a == nil && endRetired() {
		a, m = create(o)
	}
	if a == nil {
		return nil, wrap("NewArena", ErrNoMemory)
	}
	owned.Store(a, m)
	if raceBuild {
		raceBegin(a)
	}
	return a, nil
}

// Wrap returns an arena that C made, for use from Go; C still has to release it. p is a toft_arena *. Wrap fails with
// [ErrNoArena] or [ErrVersion] if the memory at p is not the head of an arena.
func Wrap(p unsafe.Pointer) (*Arena, error) {
	switch cCheck(p) {
	case 0:
		return (*Arena)(p), nil
	case codeNoSys:
		return nil, ErrVersion
	}
	return nil, ErrNoArena
}

// Own is like [Wrap] and makes Go the owner: the caller must call [Arena.Release], and C must not.
func Own(p unsafe.Pointer) (*Arena, error) {
	a, err := Wrap(p)
	if err != nil {
		return nil, err
	}
	if slotOf(a) != nil {
		return nil, fmt.Errorf("%w that can be owned: it is leased", ErrNoArena)
	}
	if _, twice := owned.LoadOrStore(a, (*creation)(nil)); twice {
		return nil, fmt.Errorf("%w that can be owned: it has an owner", ErrNoArena)
	}
	return a, nil
}

// Release runs the cleanups and frees all memory. It panics if the arena was not returned by [NewArena] or [Own] or was
// released before; with [ErrBusy], and then the arena is unchanged; and with [ErrCorrupt] after it has released the arena.
//
// The heads of the last 256 released arenas of NewArena are kept, unless they were within a [Budget]. Using one of these arenas panics, except for Mark
// and allocations of 0 bytes; C gets NULL from it; if it was checked, the use is a finding. The use of a released
// arena of Own is not detected.
func (a *Arena) Release() {
	value, ok := owned.LoadAndDelete(a)
	if !ok {
		if slotOf(a) != nil {
			panic("toft: Release of a leased arena, which Return ends")
		}
		panic("toft: Release of an arena that NewArena or Own did not return, or that was released before")
	}
	m := value.(*creation)
	if raceBuild {
		raceUse(a)
		defer raceEnd(a)
	}
	var found error
	e := emptying{call: cRelease, a: a, made: m}
	// C keeps a checked one in its quarantine; the head of one within a budget would count there.
	retires := m != nil && m.within == nil && a.epoch&1 == 0
	if retires {
		e.call = cRetire
	}
	if m != nil && m.faults != nil {
		setFreed(m.faults, placeNumber("released", callers()))
		found = storedGoPointer("Release", a)
	}
	e.run(func(code int) {
		if code == codeBusy {
			owned.Store(a, m)
			panic(wrap("Release", ErrBusy))
		}
		stopProfile(a)
		switch {
		case retires:
			retire(a, m)
		case m != nil && m.faults != nil:
			m.released = true
			retire(a, m)
		case m != nil:
			cFreeExtra(m)
		}
		must("Release", code)
		panicWith(found)
	})
}

// Pointer returns the arena as C's toft_arena *. C may allocate from it, rewind it and register cleanups for as long as
// the arena lives; Go reads what C allocated through the pointers that C returns.
func (a *Arena) Pointer() unsafe.Pointer { return unsafe.Pointer(a) }

// ---- marks, scopes, resets ----

// A Mark is a point of an arena for [Arena.Rewind]. It has the layout of C's toft_mark and may be passed between C and Go.
type Mark struct{ cursor, epoch uintptr }

// Mark returns the current point of the arena.
func (a *Arena) Mark() Mark {
	if raceBuild {
		raceUse(a)
	}
	return Mark{a.cursor, a.epoch &^ 1}
}

// Rewind frees everything that was allocated after the mark, and runs the cleanups that were registered after it. The
// mark stays valid for further rewinds. A scope in one line:
//
//	defer a.Rewind(a.Mark())
//
// It panics with [ErrMark] for a mark from before a Reset or a Return, with [ErrBusy], and after Return. A mark of another
// arena, or one that was rewound past, is detected in checked arenas and with leasetest.SetDebug; otherwise it may free memory that
// is in use.
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
	if s := slotOf(a); s != nil && s.outlived(m) { // C would rewind to it if no block came since
		panic(wrap("Rewind", ErrMark))
	}
	emptying{call: cRewind, a: a, m: m}.run(func(code int) {
		rewindProfile(a)
		if isDebugged(a) {
			rewindTyped(a)
			cTrim(a, 0)
		}
		must("Rewind", code)
	})
}

// Scope calls f and then frees what f allocated, also if f panics.
func (a *Arena) Scope(f func()) {
	if a.epoch&1 != 0 && isDebugged(a) && cStats(a).Budget == NoBudget {
		cFillBlock(a) // so that the blocks of f become inaccessible
	}
	defer a.Rewind(a.Mark())
	f()
}

// Reset frees every allocation and runs the cleanups. It keeps as much memory as the largest of the last 64 rounds
// needed. [Lease.Return] resets a leased arena. It panics with [ErrBusy] and [ErrCorrupt] as [Arena.Release] does.
func (a *Arena) Reset() {
	a.check("Reset")
	found := storedGoPointer("Reset", a)
	emptying{call: cReset, a: a}.run(func(code int) {
		rewindProfile(a)
		if isDebugged(a) && code != codeBusy {
			cShrink(a)
			defer panicWith(found)
		}
		must("Reset", code)
	})
}

// Trim frees memory without allocations until about keep bytes of it are left.
func (a *Arena) Trim(keep uint) {
	a.check("Trim")
	if debug.any.Load() {
		defer beginFreeing(a)()
	}
	cTrim(a, uintptr(keep))
}

// ---- budgets, checks, statistics ----

// NoBudget is the budget of an arena without a limit.
const NoBudget = ^uint64(0)

// SetBudget limits the bytes that may be live, padding included; [NoBudget] removes the limit. A budget costs nothing until
// it is reached. If more is live already, every allocation fails until enough has been freed. The budget of a leased arena
// ends with the lease.
func (a *Arena) SetBudget(bytes uint64) {
	a.check("SetBudget")
	must("SetBudget", cSetBudget(a, bytes))
	if s := slotOf(a); s != nil {
		s.setChanged()
	}
}

// SetChecked switches the checks of later allocations on or off. A checked allocation has red zones, which are compared
// when it is freed: Rewind, Reset and Return panic with [ErrCorrupt] after their work if one has changed. Freed memory is
// filled with 0xDD, and marks that were rewound past are refused. The checks are exact and slow. Those of a leased arena
// end with the lease.
func (a *Arena) SetChecked(on bool) {
	a.check("SetChecked")
	must("SetChecked", cSetChecked(a, on))
	if s := slotOf(a); s != nil {
		s.setChanged()
	}
}

// Stats are statistics of an arena; all but the last two are in bytes. Live is exact. Allocated and Peak are updated by slow
// paths, so they do not include what was allocated and rewound within one block between two of these.
type Stats struct {
	Live        uint64 // allocated and not freed
	Allocated   uint64 // allocated since the arena was made
	Peak        uint64 // the most that was live
	Budget      uint64 // the limit of Live, or NoBudget
	Reserved    uint64 // in blocks, kept ones included
	Wasted      uint64 // in headers of blocks and in the unused ends of full blocks
	Blocks      uint64
	SourceCalls uint64 // requests for blocks
}

// Stats returns the current statistics of the arena.
func (a *Arena) Stats() Stats {
	a.check("Stats")
	return cStats(a)
}

// Contains reports whether p points into memory that the arena has allocated.
func (a *Arena) Contains(p unsafe.Pointer) bool {
	a.check("Contains")
	return cContains(a, p)
}

// ---- cleanups ----

// Cleanup registers f to be called once, when this point of the arena is rewound, reset, returned or released. f may read
// and write all memory that the call frees, and use other arenas but not this one: an allocation then fails with an
// [AllocError] that wraps [ErrBusy].
//
// Cleanups run newest first, those that C registered too, and each arena that C has adopted is released at its place among
// them. They run on the goroutine that calls Rewind, Reset, Return or Release. If f panics or calls [runtime.Goexit], the
// other cleanups still run and the memory is freed while the panic or exit continues. If several do so, Go's rules for
// deferred functions apply.
//
// The cleanups of an adopted arena, and those of an arena of another provider than this package's C library, run on a
// goroutine of their own each while the call waits, and then the call repeats the last panic or exit. If C rewinds, resets
// or releases the arena, f is called from C and must neither panic nor call Goexit.
//
// Cleanup panics with an [AllocError] if there is no memory.
func (a *Arena) Cleanup(f func()) {
	if f == nil {
		panic("toft: Cleanup: nil function")
	}
	a.check("Cleanup")
	if number := pushCleanup(a, f); !cCleanup(a, number) {
		popCleanup(a, number, 0)
		panic(a.refusal(AllocError{Size: cleanupSize, Align: 8}))
	}
}

// The bytes that a cleanup allocates, about.
const cleanupSize = 40
