//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// The calls to C: each function here makes one, which takes about 30 ns, and no fast path makes one. toft.c and toft.h are
// Toft's C library. Its symbols have a prefix, so that a program may link the library for itself.

// #cgo CFLAGS: -std=gnu11 -O2 -DTOFT_PREFIX=toftgo_ -DTOFT_BACKGROUND_DEFAULT=1 -DTOFT_RUNTIME
// #cgo linux LDFLAGS: -lpthread
//
// // C copies the texts, names and results that it gets pointers to.
// #cgo noescape toftgo_x_alloc_sampled
// #cgo noescape toftgo_x_budget_create
// #cgo noescape toftgo_x_contains
// #cgo noescape toftgo_x_end_retired
// #cgo noescape toftgo_x_place
// #cgo noescape toftgo_x_release
// #cgo noescape toftgo_x_reset
// #cgo noescape toftgo_x_retire
// #cgo noescape toftgo_x_rewind
// #cgo noescape toftgo_x_set_tag_budget
// #cgo noescape toftgo_x_snapshot
// #cgo noescape toftgo_x_stats
// #cgo noescape toftgo_x_tag_push
//
// // These call neither a source nor a provider, which may be written in Go.
// #cgo nocallback toftgo_x_barrier
// #cgo nocallback toftgo_x_budget_create
// #cgo nocallback toftgo_x_buffer
// #cgo nocallback toftgo_x_check
// #cgo nocallback toftgo_x_faulting_bytes
// #cgo nocallback toftgo_x_free_buffer
// #cgo nocallback toftgo_x_free_extra
// #cgo nocallback toftgo_x_no_cache
// #cgo nocallback toftgo_x_nothing
// #cgo nocallback toftgo_x_place
// #cgo nocallback toftgo_x_privileged
// #cgo nocallback toftgo_x_released_ops
// #cgo nocallback toftgo_x_show_roots
// #cgo nocallback toftgo_x_start_faults
//
// #include "shim.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"toft.dev/toft/internal/link"
)

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

// callerPlace returns the place from which this package was called, for an instrumented arena, and nil for others.
func callerPlace(a *Arena) *placeText {
	if a.epoch&1 == 0 {
		return nil
	}
	text := link.Place(frames(callers())) + "\x00"
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text)))
}

func cAlloc(a *Arena, size, align uintptr) unsafe.Pointer {
	return C.toftgo_x_alloc(cArena(a), C.size_t(size), C.size_t(align))
}

// cAllocSampled is cAlloc for instrumented arenas. It reports whether the allocation was sampled.
func cAllocSampled(a *Arena, size, align uintptr) (p unsafe.Pointer, sampled bool) {
	r := C.toftgo_x_alloc_sampled(cArena(a), C.size_t(size), C.size_t(align), callerPlace(a))
	return r.p, r.sampled != 0
}

// The calls that free memory; operation is passed to cleanups, see cleanup.go.

func cRewind(e emptying, operation uintptr) int {
	return int(C.toftgo_x_rewind(cArena(e.a), C.uintptr_t(e.m.cursor), C.uintptr_t(e.m.epoch), e.place, C.uintptr_t(operation)))
}

func cReset(e emptying, operation uintptr) int {
	return int(C.toftgo_x_reset(cArena(e.a), e.place, C.uintptr_t(operation)))
}

// cShrink resets an arena and frees all of its blocks.
func cShrink(a *Arena) { C.toftgo_x_shrink(cArena(a)) }

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

// cSetSampling also makes cAllocSampled report samples.
func cSetSampling(a *Arena, bytes uint64) int {
	return int(C.toftgo_x_set_sampling(cArena(a), C.uint64_t(bytes)))
}

func cSetMetered(a *Arena, on bool) int {
	var value C.int
	if on {
		value = 1
	}
	return int(C.toftgo_x_set_metered(cArena(a), value))
}

// The names end with a NUL.
func cSetTagBudget(a *Arena, path []byte, bytes uint64) int {
	return int(C.toftgo_x_set_tag_budget(cArena(a), (*C.char)(unsafe.Pointer(&path[0])), C.uint64_t(bytes)))
}

func cTagPush(a *Arena, name []byte) int {
	return int(C.toftgo_x_tag_push(cArena(a), (*C.char)(unsafe.Pointer(&name[0]))))
}

func cTagPop(a *Arena) { C.toftgo_x_tag_pop(cArena(a)) }

// cSnapshot writes the snapshot, or the part of it that fits, and a NUL. It returns the length of the whole.
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

// cCleanup registers a cleanup of Go. It reports false if there is no memory.
func cCleanup(a *Arena, number int) bool { return C.toftgo_x_cleanup(cArena(a), C.int(number&7)) != 0 }

// cNextCleanup runs the cleanups of C up to the next one of Go, and returns its number modulo 8, for the caller to run it; -1:
// there is none. again: the arena is busy because of that.
func cNextCleanup(e emptying, again bool, operation uintptr) int {
	var repeated C.int
	if again {
		repeated = 1
	}
	return int(C.toftgo_x_next_cleanup(cArena(e.a), C.uintptr_t(e.m.cursor), C.uintptr_t(e.m.epoch), repeated, C.uintptr_t(operation)))
}

// cHeld returns the bytes of blocks, pages and caches.
func cHeld() uint64 { return uint64(C.toft_held_bytes()) }

// cCreate makes an arena. It returns nil if there is no memory.
func cCreate(o Options) (*Arena, *creation) {
	var checked C.int
	if o.Checked {
		checked = 1
	}
	var p, within unsafe.Pointer
	if o.Within != nil {
		within = o.Within.c
	}
	a := C.toftgo_x_create(C.uint64_t(o.Budget), C.size_t(o.Reserve), C.size_t(o.Contiguous), checked, within, &p)
	return goArena(a), &creation{space: o.Contiguous, within: o.Within, extra: p}
}

// ---- budgets ----

// cBudgetLimit returns the limit of options as C's: 0 is none.
func cBudgetLimit(bytes uint64) uint64 {
	if bytes == 0 {
		return NoBudget
	}
	return bytes
}

func cSize(bytes uint64) C.size_t { return C.size_t(min(bytes, uint64(^uintptr(0)))) }

// cBudgetCreate returns nil if there is no memory.
func cBudgetCreate(b *Budget, limit uint64) unsafe.Pointer {
	name := append([]byte(b.name), 0)
	var parent unsafe.Pointer
	if b.parent != nil {
		parent = b.parent.c
	}
	return C.toftgo_x_budget_create((*C.char)(unsafe.Pointer(&name[0])), parent, cSize(limit), C.uintptr_t(b.handle))
}

func cBudgetRelease(c unsafe.Pointer) int { return int(C.toft_budget_release((*C.toft_budget)(c))) }

func cBudgetSetLimit(c unsafe.Pointer, bytes uint64) {
	C.toft_budget_set_limit((*C.toft_budget)(c), cSize(bytes))
}

func cBudgetLimitLive(c unsafe.Pointer, bytes uint64) int {
	return int(C.toft_budget_limit_live((*C.toft_budget)(c), cSize(bytes)))
}

func cBudgetCharge(c unsafe.Pointer, bytes uint64) int {
	return int(C.toft_budget_charge((*C.toft_budget)(c), cSize(bytes)))
}

func cBudgetUncharge(c unsafe.Pointer, bytes uint64) int {
	return int(C.toft_budget_uncharge((*C.toft_budget)(c), cSize(bytes)))
}

// goLimit returns a limit of C, whose none is SIZE_MAX.
func goLimit(bytes C.uint64_t) uint64 {
	if bytes >= C.uint64_t(^uintptr(0)) {
		return NoBudget
	}
	return uint64(bytes)
}

func cBudgetLiveStats(c unsafe.Pointer) BudgetLiveStats {
	s := C.toft_budget_get_live_stats((*C.toft_budget)(c))
	return BudgetLiveStats{
		Limit: goLimit(s.limit), Live: uint64(s.live), Peak: uint64(s.peak), Available: goLimit(s.available),
		Parked: uint64(s.parked), Refusals: uint64(s.refusals),
	}
}

func cBudgetStats(c unsafe.Pointer) BudgetStats {
	s := C.toft_budget_get_stats((*C.toft_budget)(c))
	return BudgetStats{
		Limit: goLimit(s.limit), Reserved: uint64(s.reserved), Peak: uint64(s.peak), Available: goLimit(s.available),
		Refusals: uint64(s.refusals), Children: uint64(s.children),
	}
}

// toftgoRefused is called by C, on the goroutine of the request.
//
//export toftgoRefused
func toftgoRefused(handle C.uintptr_t, bytes C.size_t) C.int {
	if cgo.Handle(handle).Value().(*Budget).refused(uint64(bytes)) {
		return 1
	}
	return 0
}

// cWriteProfile writes the profile of the process, if TOFT_PROFILE is set.
func cWriteProfile() { C.toft_write_profile() }

// cTrimPages returns the pages that C caches, and the free ones of the C heap, to the system: all of them, or what is due.
func cTrimPages(all bool) {
	if all {
		C.toft_cache_trim()
		C.toft_heap_trim(1)
	} else {
		C.toft_page_cache_age()
		C.toft_heap_trim(4 << 20)
	}
}

// cCachedPages returns the bytes of the pages that C caches.
func cCachedPages() uintptr { return uintptr(C.toft_page_cache_bytes()) }

// cTrimQuarantine compares the memory of released arenas that were checked, and frees it.
func cTrimQuarantine() { C.toft_quarantine_trim() }

// cRetire is like cRelease for an arena that cCreate made, but keeps its head, which then refuses every operation.
func cRetire(e emptying, operation uintptr) int {
	return int(C.toftgo_x_retire(cArena(e.a), e.place, C.uintptr_t(operation), &e.made.head))
}

// cFreeExtra frees what the arena of a creation needed besides its blocks.
func cFreeExtra(m *creation) {
	if m.faults != nil {
		cFreeBuffer(m.extra)
	} else {
		C.toftgo_x_free_extra(m.extra)
	}
}

func cEndRetired(a *Arena, m *creation) {
	if !m.released {
		C.toftgo_x_end_retired(cArena(a), &m.head)
	}
	cFreeExtra(m)
}

var releasedOps = uintptr(C.toftgo_x_released_ops())

// A creation describes an arena that NewArena made.
type creation struct {
	space  uint           // the size of its address space, if contiguous
	within *Budget        // which exists as long as the arena
	extra  unsafe.Pointer // for cFreeExtra after the release; nil unless contiguous or debugged
	head   C.toft_arena   // the head as it was, while the arena is retired

	faults   *faulting // of a debugged arena, in the buffer extra
	released bool      // C has released the retired arena
}

// cCheck returns 0 if the memory at p looks like the head of an arena, else a code.
func cCheck(p unsafe.Pointer) int { return int(C.toftgo_x_check(p)) }

// cAllocBuffer allocates the buffer of a separate slot on the C heap. It returns nil if there is no memory.
func cAllocBuffer() unsafe.Pointer { return C.toftgo_x_buffer(C.size_t(bufferSize)) }

func cFreeBuffer(buffer unsafe.Pointer) { C.toftgo_x_free_buffer(buffer) }

// cShowRoots makes LeakSanitizer, if it is linked in, search memory outside the heap for pointers.
func cShowRoots(p unsafe.Pointer, size uintptr) { C.toftgo_x_show_roots(p, C.size_t(size)) }

// cCreateIn makes an arena in a buffer. It returns nil if there is no memory.
func cCreateIn(buffer unsafe.Pointer, size uintptr) *Arena {
	return goArena(C.toftgo_x_create_in(buffer, C.size_t(size)))
}

// A faulting is the source of a debugged arena; see faults.c.
type faulting = C.toftgo_faulting

// cStartFaults reserves the addresses of debugged arenas once. It reports false if there are not so many.
func cStartFaults(size uintptr) bool { return C.toftgo_x_start_faults(C.size_t(size)) != 0 }

// cPlace returns a number for a text that ends with a NUL.
func cPlace(text string) uint32 {
	return uint32(C.toftgo_x_place((*C.char)(unsafe.Pointer(unsafe.StringData(text)))))
}

// cCreateFaulting makes an arena with a source. It returns nil if there is no memory.
func cCreateFaulting(buffer unsafe.Pointer, size uintptr, source *faulting, made uint32) *Arena {
	return goArena(C.toftgo_x_create_faulting(buffer, C.size_t(size), source, C.uint32_t(made)))
}

// setFreed sets the place that blocks name which are freed next.
func setFreed(f *faulting, place uint32) { f.freed = C.uint32_t(place) }

// cFillBlock makes the next allocation begin a block.
func cFillBlock(a *Arena) { C.toftgo_x_fill_block(cArena(a)) }

// cCheckPointer panics in Go, as all cgo calls do, if p points to Go memory that has a pointer to unpinned Go memory.
func cCheckPointer(p unsafe.Pointer) { C.toftgo_x_nothing(p) }

// cFaultingBytes returns the bytes of the blocks of debugged arenas.
func cFaultingBytes() uint64 { return uint64(C.toftgo_x_faulting_bytes()) }

// cBarrier makes every thread of this process execute a full barrier. It reports false if the system cannot do that.
func cBarrier() bool { return C.toftgo_x_barrier() != 0 }

// cNoCache turns off C's cache per thread, because the calls of a goroutine come from several threads.
func cNoCache() { C.toftgo_x_no_cache() }

// cPrivileged reports whether the process has rights that its caller has not, so that the environment is not trusted.
func cPrivileged() bool { return C.toftgo_x_privileged() != 0 }

// cChecked reports whether C checks all arenas of this process.
func cChecked() bool { return C.toftgo_x_checked() != 0 }
