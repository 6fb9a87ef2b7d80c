//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// The one door to C: every function here is a foreign call of about 30 ns, and none of them is on a fast path. toft.c and
// toft.h are Toft's C library; its symbols are renamed, so that a program that links the library for itself has no clash.

// #cgo CFLAGS: -std=gnu11 -O2 -DTOFT_PREFIX=toftgo_
// #cgo linux LDFLAGS: -lpthread
// #include "shim.h"
import "C"

import "unsafe"

const (
	codeNoMemory = C.TOFT_ENOMEM
	codeMark     = C.TOFT_EMARK
	codeBusy     = C.TOFT_EBUSY
	codeArg      = C.TOFT_EARG
	codeNoSys    = C.TOFT_ENOSYS
	codeCorrupt  = C.TOFT_ECORRUPT
)

func cArena(a *Arena) *C.toft_arena { return (*C.toft_arena)(unsafe.Pointer(a)) }

func goArena(p *C.toft_arena) *Arena { return (*Arena)(unsafe.Pointer(p)) }

type placeText = C.char

// callerPlace is where this package was called from, for an arena that is watched; nil for others. C copies it.
func callerPlace(a *Arena) *placeText {
	if a.epoch&1 == 0 {
		return nil
	}
	text := place(frames(callers())) + "\x00"
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text)))
}

func cAlloc(a *Arena, size, align uintptr) unsafe.Pointer {
	return C.toftgo_x_alloc(cArena(a), C.size_t(size), C.size_t(align), callerPlace(a))
}

// These empty arenas: operation is what cleanups are given, see cleanup.go.

func cRewind(e emptying, operation uintptr) int {
	return int(C.toftgo_x_rewind(cArena(e.a), C.uintptr_t(e.m.cursor), C.uintptr_t(e.m.epoch), e.place, C.uintptr_t(operation)))
}

func cReset(e emptying, operation uintptr) int {
	return int(C.toftgo_x_reset(cArena(e.a), e.place, C.uintptr_t(operation)))
}

// cResetLease empties a lease's arena and returns what it keeps above limit.
func cResetLease(e emptying, operation uintptr) int {
	return int(C.toftgo_x_reset_lease(cArena(e.a), C.size_t(e.limit), e.place, C.uintptr_t(operation)))
}

func cRelease(e emptying, operation uintptr) int {
	return int(C.toftgo_x_release(cArena(e.a), e.place, C.uintptr_t(operation)))
}

func cTrim(a *Arena, keep uintptr) { C.toftgo_x_trim(cArena(a), C.size_t(keep)) }

func cSet(a *Arena, what uint32, value uint64) int {
	return int(C.toftgo_x_set(cArena(a), C.uint32_t(what), C.uint64_t(value)))
}

func cSetBudget(a *Arena, bytes uint64) int { return cSet(a, C.TOFT_SET_BUDGET, bytes) }

func cSetChecked(a *Arena, on bool) int {
	var value uint64
	if on {
		value = 1
	}
	return cSet(a, C.TOFT_SET_CHECKED, value)
}

const setSample = C.TOFT_SET_SAMPLE

func cSetMetered(a *Arena, on bool) int {
	var value C.int
	if on {
		value = 1
	}
	return int(C.toftgo_x_set_metered(cArena(a), value))
}

// Names end with a NUL.
func cSetTagBudget(a *Arena, path []byte, bytes uint64) int {
	return int(C.toftgo_x_set_tag_budget(cArena(a), (*C.char)(unsafe.Pointer(&path[0])), C.uint64_t(bytes)))
}

func cTagPush(a *Arena, name []byte) int {
	return int(C.toftgo_x_tag_push(cArena(a), (*C.char)(unsafe.Pointer(&name[0]))))
}

func cTagPop(a *Arena) { C.toftgo_x_tag_pop(cArena(a)) }

// cSnapshot writes as much as there is room for, with a NUL, and tells how long the whole is.
func cSnapshot(a *Arena, text []byte) int {
	return int(C.toftgo_x_snapshot(cArena(a), (*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(text))))
}

func cContains(a *Arena, p unsafe.Pointer) bool { return C.toftgo_x_contains(cArena(a), p) == 1 }

func cStats(a *Arena) Stats {
	var s C.toft_stats
	C.toftgo_x_stats(cArena(a), &s)
	return Stats{
		Live: uint64(s.live), Allocated: uint64(s.allocated), Peak: uint64(s.peak), Budget: uint64(s.budget),
		Reserved: uint64(s.reserved), Wasted: uint64(s.wasted), Blocks: uint64(s.blocks),
		SourceCalls: uint64(s.source_calls),
	}
}

// cCleanup registers the function behind a handle; false: no memory.
func cCleanup(a *Arena, handle uintptr) bool {
	return C.toftgo_x_cleanup(cArena(a), C.uintptr_t(handle)) != 0
}

// cCreate makes an arena; nil: no memory.
func cCreate(o Options) (*Arena, *creation) {
	var checked C.int
	if o.Checked {
		checked = 1
	}
	var p unsafe.Pointer
	a := C.toftgo_x_create(C.uint64_t(o.Budget), C.size_t(o.Reserve), C.size_t(o.Contiguous), checked, &p)
	return goArena(a), &creation{space: o.Contiguous, extra: p}
}

// cTrimQuarantine looks at the memory of released arenas that were checked, and lets it go.
func cTrimQuarantine() { C.toft_quarantine_trim() }

// cRetire is cRelease for an arena that cCreate made: its head remains, and refuses everything.
func cRetire(e emptying, operation uintptr) int {
	return int(C.toftgo_x_retire(cArena(e.a), e.place, C.uintptr_t(operation), &e.made.head))
}

func cFreeExtra(p unsafe.Pointer) { C.toftgo_x_free_extra(p) }

func cEndRetired(a *Arena, m *creation) { C.toftgo_x_end_retired(cArena(a), m.extra, &m.head) }

var releasedOps = uintptr(C.toftgo_x_released_ops())

// A creation is what is known of an arena that NewArena made.
type creation struct {
	space uint           // address space of its own
	extra unsafe.Pointer // for cFreeExtra after the release; nil for most
	head  C.toft_arena   // while the arena is retired, in C memory as all of it
}

// cCheck tells whether p looks like the head of an arena: a code, 0 if it does.
func cCheck(p unsafe.Pointer) int { return int(C.toftgo_x_check(p)) }

// cHome takes memory for a lease from the heap; nil: there is none.
func cHome() unsafe.Pointer { return C.toftgo_x_home(C.size_t(homeSize)) }

func cFreeHome(home unsafe.Pointer) { C.toftgo_x_free_home(home) }

// cShowRoots tells LeakSanitizer, where it is linked in, to look for pointers in memory that is not on the heap.
func cShowRoots(p unsafe.Pointer, size uintptr) { C.toftgo_x_show_roots(p, C.size_t(size)) }

// cCreateIn makes an arena in a buffer; nil: no memory.
func cCreateIn(buffer unsafe.Pointer, size uintptr) *Arena {
	return goArena(C.toftgo_x_create_in(buffer, C.size_t(size)))
}

// cBarrier makes every thread of this process execute a full barrier before it returns; false: not on this system.
func cBarrier() bool { return C.toftgo_x_barrier() != 0 }

// cNoCache turns off the cache that each thread has in C: a goroutine's next call may come from another thread.
func cNoCache() { C.toftgo_x_no_cache() }

// cPrivileged tells whether this process has rights that its caller has not, so that the environment must not be trusted.
func cPrivileged() bool { return C.toftgo_x_privileged() != 0 }

// cChecked tells whether C checks all arenas of this process.
func cChecked() bool { return C.toftgo_x_checked() != 0 }
