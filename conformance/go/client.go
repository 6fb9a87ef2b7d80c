// The client in Go: toft.Wrap, on arenas of any provider. Its table is in table.c.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
package main

// #cgo CFLAGS: -I.. -I../../abi
// #include "conformance.h"
// static void conformance_notify(void (*notify)(void *), void *arg) { notify(arg); }
// typedef void (*conformance_function)(void *);
import "C"

import (
	"errors"
	"unsafe"

	"toft.dev/toft"
)

func main() {}

// arena is one of the driver's, which releases it.
func arena(p *C.toft_arena) *toft.Arena {
	a, err := toft.Wrap(unsafe.Pointer(p))
	if err != nil {
		panic(err)
	}
	return a
}

func code(err error) C.int {
	switch {
	case err == nil:
		return C.TOFT_OK
	case errors.Is(err, toft.ErrMark):
		return C.TOFT_EMARK
	case errors.Is(err, toft.ErrBusy):
		return C.TOFT_EBUSY
	case errors.Is(err, toft.ErrCorrupt):
		return C.TOFT_ECORRUPT
	case errors.Is(err, toft.ErrNoMemory):
		return C.TOFT_ENOMEM
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, toft.ErrVersion):
		return C.TOFT_ENOSYS
	}
	return C.TOFT_EARG
}

// codeOf is the code of a call that panics.
func codeOf(f func()) (c C.int) {
	defer func() {
		if err, ok := recover().(error); ok {
			c = code(err)
		}
	}()
	f()
	return C.TOFT_OK
}

//export conformanceAccept
func conformanceAccept(a *C.toft_arena) C.int {
	_, err := toft.Wrap(unsafe.Pointer(a))
	return code(err)
}

//export conformanceAlloc
func conformanceAlloc(a *C.toft_arena, size, align C.size_t) (p unsafe.Pointer) {
	if int(size) < 0 { // Go has no number for it
		return nil
	}
	codeOf(func() { p = arena(a).AllocUninit(int(size), int(align)) })
	return p
}

//export conformanceZeroed
func conformanceZeroed(a *C.toft_arena, size, align C.size_t) unsafe.Pointer {
	if int(size) < 0 {
		return nil
	}
	p, _ := arena(a).TryAlloc(int(size), int(align))
	return p
}

//export conformanceMark
func conformanceMark(a *C.toft_arena) C.toft_mark {
	m := arena(a).Mark()
	return *(*C.toft_mark)(unsafe.Pointer(&m))
}

//export conformanceRewind
func conformanceRewind(a *C.toft_arena, m C.toft_mark) C.int {
	return codeOf(func() { arena(a).Rewind(*(*toft.Mark)(unsafe.Pointer(&m))) })
}

//export conformanceReset
func conformanceReset(a *C.toft_arena) C.int { return codeOf(arena(a).Reset) }

//export conformanceTrim
func conformanceTrim(a *C.toft_arena, keep C.size_t) { arena(a).Trim(uint(keep)) }

//export conformanceBudget
func conformanceBudget(a *C.toft_arena, bytes C.uint64_t) C.int {
	return codeOf(func() { arena(a).SetBudget(uint64(bytes)) })
}

//export conformanceChecked
func conformanceChecked(a *C.toft_arena, on C.int) C.int {
	return codeOf(func() { arena(a).SetChecked(on != 0) })
}

//export conformanceStats
func conformanceStats(a *C.toft_arena, out *C.toft_stats) {
	s := arena(a).Stats()
	*out = C.toft_stats{
		live: C.uint64_t(s.Live), allocated: C.uint64_t(s.Allocated), peak: C.uint64_t(s.Peak),
		budget: C.uint64_t(s.Budget), reserved: C.uint64_t(s.Reserved), wasted: C.uint64_t(s.Wasted),
		blocks: C.uint64_t(s.Blocks), source_calls: C.uint64_t(s.SourceCalls),
	}
}

//export conformanceContains
func conformanceContains(a *C.toft_arena, p unsafe.Pointer) C.int {
	if arena(a).Contains(p) {
		return 1
	}
	return 0
}

//export conformanceCleanup
func conformanceCleanup(a *C.toft_arena, notify C.conformance_function, arg unsafe.Pointer) C.int {
	if codeOf(func() { arena(a).Cleanup(func() { C.conformance_notify(notify, arg) }) }) != C.TOFT_OK {
		return 0
	}
	return 1
}

//export conformanceRelease
func conformanceRelease(a *C.toft_arena) C.int {
	own, err := toft.Own(unsafe.Pointer(a))
	if err != nil {
		return code(err)
	}
	return codeOf(own.Release)
}

//export conformanceLease
func conformanceLease(_ *C.uint64_t) *C.toft_arena { return (*C.toft_arena)(toft.Get().Pointer()) }

//export conformanceEndLease
func conformanceEndLease(a *C.toft_arena, _ C.uint64_t) C.int {
	return codeOf((*toft.Lease)(unsafe.Pointer(a)).Return)
}

func bytesOf(r *C.conformance_record) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(r), unsafe.Sizeof(*r))), int(r.size))
}

func pattern(r *C.conformance_record, i int) byte {
	return byte(uint64(r.seed)*131 + uint64(i)*7 + uint64(i)/256)
}

//export conformanceWrite
func conformanceWrite(a *C.toft_arena, older *C.conformance_record, size, seed C.uint64_t, align C.size_t) *C.conformance_record {
	p, err := arena(a).TryAlloc(int(unsafe.Sizeof(*older))+int(size), int(align))
	if err != nil {
		return nil
	}
	r := (*C.conformance_record)(p)
	*r = C.conformance_record{older: older, size: size, seed: seed}
	for i, bytes := 0, bytesOf(r); i < len(bytes); i++ {
		bytes[i] = pattern(r, i)
	}
	return r
}

//export conformanceRead
func conformanceRead(r *C.conformance_record) (whole C.uint64_t) {
	for ; r != nil; r = r.older {
		for i, b := range bytesOf(r) {
			if b != pattern(r, i) {
				return whole
			}
		}
		whole++
	}
	return whole
}
