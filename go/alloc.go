//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"math/bits"
	"reflect"
	"sync/atomic"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// The fast paths. Each makes one compare, limit - cursor < size: the remaining bytes are a multiple of 8, so the size need
// not be rounded, and nothing overflows. What does not fit, and every allocation of an instrumented arena, goes to the
// arena's provider. Functions that are documented as inlined must stay within the inliner's budget of 80; a test checks it.

// An AllocError describes an allocation that failed. It wraps [ErrArgument] if the size or the length is negative or the
// alignment is not a power of two, [ErrBusy] if a cleanup of the arena was running, and otherwise [ErrNoMemory].
type AllocError struct {
	Size, Align int // in bytes, as requested
	Len         int // the length of a slice whose elements have Size bytes; 0 for others

	busy bool // a cleanup of the arena is running
}

func (e *AllocError) Error() string {
	what, why := fmt.Sprint(e.Size), e.badArgument()
	if e.Len != 0 {
		what = fmt.Sprintf("%d x %d", e.Len, e.Size)
	}
	switch {
	case why != "":
	case e.busy:
		why = "a cleanup of the arena is running"
	default:
		why = "out of memory or over budget"
	}
	return fmt.Sprintf("toft: cannot allocate %s bytes aligned to %d: %s", what, e.Align, why)
}

// badArgument returns what is wrong with the request, or "".
func (e *AllocError) badArgument() string {
	switch {
	case e.Size < 0:
		return "a negative size"
	case e.Len < 0:
		return "a negative length"
	case !isAlign(uint(e.Align)):
		return "not a power of two"
	}
	return ""
}

// Unwrap returns [ErrArgument], [ErrBusy] or [ErrNoMemory].
func (e *AllocError) Unwrap() error {
	switch {
	case e.badArgument() != "":
		return ErrArgument
	case e.busy:
		return ErrBusy
	}
	return ErrNoMemory
}

// refusal returns e with its cause. Precondition: the arena has refused the allocation.
func (a *Arena) refusal(e AllocError) *AllocError {
	e.busy = runsCleanup(a)
	return &e
}

// of returns the arena that a points to: the Arena of a Lease is at the address of the Lease.
func of[A AnyArena](a *A) *Arena { return (*Arena)(unsafe.Pointer(a)) }

// ---- one value ----

// New allocates a zeroed T. It panics and names the field if T contains what C memory cannot hold (a string, slice, map,
// chan, func or interface, at any depth, or a pointer to a type that contains one), and with an [AllocError] if there is no
// memory.
func New[T any, A AnyArena](a *A) *T {
	return (*T)((*Arena)(unsafe.Pointer(a)).zeroed(any((*T)(nil)), valueSize[T]()))
}

// TryNew is like [New] and returns the [AllocError]. As all Try functions it panics for a type that New refuses.
func TryNew[T any, A AnyArena](a *A) (*T, error) { return TryNewAligned[T](a, 8) }

// NewAligned is like [New] at an address that is a multiple of align, a power of two. It serves types that C aligns more
// strictly than Go, such as vectors.
func NewAligned[T any, A AnyArena](a *A, align uint) *T {
	return must1(TryNewAligned[T](a, align))
}

// TryNewAligned is like [NewAligned] and returns the [AllocError], also if align is not a power of two.
func TryNewAligned[T any, A AnyArena](a *A, align uint) (*T, error) {
	p, err := of(a).try(any((*T)(nil)), valueSize[T](), align)
	return (*T)(p), err
}

// Copy allocates a copy of v. It panics as [New] does.
func Copy[T any, A AnyArena](a *A, v T) *T {
	p := (*T)(of(a).typed(any((*T)(nil)), valueSize[T]()))
	*p = v
	return p
}

// TryCopy is like [Copy] and returns the [AllocError].
func TryCopy[T any, A AnyArena](a *A, v T) (*T, error) {
	p, err := TryNew[T](a)
	if err == nil {
		*p = v
	}
	return p, err
}

// ---- slices ----

// MakeSlice allocates a slice of n zeroed elements. It panics as [New] does, and with an [AllocError] if n is out of range.
func MakeSlice[T any, A AnyArena](a *A, n int) []T {
	return unsafe.Slice((*T)((*Arena)(unsafe.Pointer(a)).zeroedArray(any((*T)(nil)), n, unsafe.Sizeof(*new(T)))), n)
}

// TryMakeSlice is like [MakeSlice] and returns the [AllocError], also if n is out of range.
func TryMakeSlice[T any, A AnyArena](a *A, n int) ([]T, error) {
	return TryMakeSliceAligned[T](a, n, 8)
}

// MakeSliceAligned is like [MakeSlice], with the first element at a multiple of align, a power of two.
func MakeSliceAligned[T any, A AnyArena](a *A, n int, align uint) []T {
	return must1(TryMakeSliceAligned[T](a, n, align))
}

// TryMakeSliceAligned is like [MakeSliceAligned] and returns the [AllocError], also if n is out of range or align is not a
// power of two.
func TryMakeSliceAligned[T any, A AnyArena](a *A, n int, align uint) ([]T, error) {
	size := unsafe.Sizeof(*new(T))
	p, err := of(a).try(any((*T)(nil)), sliceSize(n, size), align)
	if err != nil {
		return nil, of(a).refusal(AllocError{Size: int(size), Align: int(align), Len: n})
	}
	return unsafe.Slice((*T)(p), n), nil
}

// CopySlice allocates a copy of s, whose capacity is its length. For C, unsafe.SliceData of the result is its address. It
// panics as [New] does.
func CopySlice[T any, A AnyArena](a *A, s []T) []T {
	p := of(a).typed(any((*T)(nil)), uintptr(len(s))*unsafe.Sizeof(*new(T)))
	t := unsafe.Slice((*T)(p), len(s))
	copy(t, s)
	return t
}

// TryCopySlice is like [CopySlice] and returns the [AllocError].
func TryCopySlice[T any, A AnyArena](a *A, s []T) ([]T, error) {
	t, err := TryMakeSlice[T](a, len(s))
	copy(t, s)
	return t, err
}

// ---- without zeroing ----

// Uninit allocates values of type T without zeroing them, which is the fastest allocation of this package. See [UninitOf].
type Uninit[T any] struct{ *uninit[T] }

// Only UninitOf makes an uninit, after it has examined T. The methods of a zero Uninit panic.
type uninit[T any] struct{}

// UninitOf examines T and panics, naming the field, if it contains a pointer or anything else that [New] refuses: the
// garbage collector must not see uninitialized memory as pointers. Keep the result in a variable:
//
//	var points = toft.UninitOf[point]()
func UninitOf[T any]() Uninit[T] {
	t := reflect.TypeOf((*T)(nil)).Elem()
	if reason := offheap.Refused(t, true); reason != "" {
		panic(fmt.Sprintf("toft: UninitOf[%v]: %s, which must be zeroed: use New", t, reason))
	}
	return Uninit[T]{new(uninit[T])}
}

// A T rounded up to 8 bytes by its type, which adds nothing to the inliner's cost.
type rounded[T any] struct {
	_ [0]atomic.Uint64 // aligned to 8 on all systems, unlike uint64
	_ T
}

// New allocates a T with undefined contents. It panics with an [AllocError] if there is no memory. It is inlined. Pass the
// field Arena of a [Lease]: points.New(&a.Arena).
func (uninit[T]) New(a *Arena) (p *T) {
	if raceBuild {
		raceUse(a)
	}
	if a.limit-a.cursor < unsafe.Sizeof(rounded[T]{}) {
		return (*T)(a.more(unsafe.Sizeof(rounded[T]{})))
	}
	p = (*T)(unsafe.Add(nil, a.cursor)) // a variable for cursor would exceed the inliner's budget
	a.cursor += unsafe.Sizeof(rounded[T]{})
	return
}

// MakeSlice allocates a slice of n elements with undefined contents. It panics as [MakeSlice] does.
func (uninit[T]) MakeSlice(a *Arena, n int) []T {
	return unsafe.Slice((*T)(a.array(n, unsafe.Sizeof(*new(T)))), n)
}

// ---- bytes ----

// Alloc allocates size zeroed bytes at a multiple of align, a power of two. It panics with an [AllocError] if there is no
// memory, size is negative or align is not a power of two.
//
//go:nosplit
func (a *Arena) Alloc(size, align int) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	n := uintptr(size)
	if a.limit-a.cursor < n || uint(align) > 8 || 0b1_0001_0110>>uint(align)&1 == 0 {
		p := a.alloc(size, align)
		wipe(p, n)
		return p
	}
	p := unsafe.Add(nil, a.cursor)
	whole := (n + 7) &^ 7
	a.cursor += whole
	switch {
	case n-1 < 16:
		zero16(p, whole)
	case n-1 < 64:
		zero64(p, whole)
	case n-1 < 256:
		zero256(p, whole)
	default:
		wipe(p, n)
	}
	return p
}

// AllocUninit is like [Arena.Alloc] and leaves the contents undefined. Memory that Go uses as a type with pointers must be
// zeroed: the garbage collector reads the pointer that a store overwrites, and the program ends with "found bad pointer in
// Go heap" if it looks like an address of freed Go memory.
//
//go:nosplit
func (a *Arena) AllocUninit(size, align int) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	n := uintptr(size)
	if a.limit-a.cursor < n || uint(align) > 8 || 0b1_0001_0110>>uint(align)&1 == 0 {
		return a.alloc(size, align)
	}
	p := unsafe.Add(nil, a.cursor)
	a.cursor += (n + 7) &^ 7
	return p
}

// TryAlloc is like [Arena.Alloc] and returns the [AllocError], also if size is negative or align is not a power of two.
func (a *Arena) TryAlloc(size, align int) (unsafe.Pointer, error) {
	if size < 0 {
		return nil, &AllocError{Size: size, Align: align}
	}
	return a.try(nil, uintptr(size), uint(align))
}

func isAlign(align uint) bool { return bits.OnesCount(align) == 1 && int(align) > 0 }

func must1[R any](r R, err error) R {
	if err != nil {
		panic(err)
	}
	return r
}

// alloc is the slow path of Alloc and AllocUninit.
func (a *Arena) alloc(size, align int) unsafe.Pointer {
	e := AllocError{Size: size, Align: align}
	if e.badArgument() == "" {
		if p := a.aligned(uintptr(size), uintptr(align)); p != nil {
			return p
		}
	}
	panic(a.refusal(e))
}

// ---- common parts ----

// valueSize returns the size of a T, but at least 1, because Go reads at the address of a value of size 0.
func valueSize[T any]() uintptr { return max(unsafe.Sizeof(*new(T)), 1) }

const (
	maxSize  = ^uintptr(0) >> 1                       // the largest size of a slice in Go
	maxBytes = maxSize >> (unsafe.Sizeof(0) / 8 * 16) // the largest array that the compiler accepts; no arena is as large
)

// sliceSize returns n * size, or a size that no arena can serve if n is out of range.
func sliceSize(n int, size uintptr) uintptr {
	hi, lo := bits.Mul64(uint64(n), uint64(size))
	if n < 0 || hi != 0 || lo > uint64(maxSize) {
		return ^uintptr(0)
	}
	return uintptr(lo)
}

// wipe zeroes memory as bytes, so that the garbage collector does not take its old contents for pointers.
func wipe(p unsafe.Pointer, size uintptr) {
	if size != 0 { // else p may be the end of mapped memory, which Go would read to check that p is not nil
		clear((*[maxBytes]byte)(p)[:size])
	}
}

// zero16 zeroes 8 or 16 bytes without a call, by overlapping stores.
func zero16(p unsafe.Pointer, size uintptr) {
	*(*uint64)(p) = 0
	*(*uint64)(unsafe.Add(p, size-8)) = 0
}

// zero64 does so for 16 to 64 bytes.
func zero64(p unsafe.Pointer, size uintptr) {
	type pair [2]uint64
	*(*pair)(p) = pair{}
	*(*pair)(unsafe.Add(p, size-16)) = pair{}
	if size > 32 {
		*(*pair)(unsafe.Add(p, 16)) = pair{}
		*(*pair)(unsafe.Add(p, size-32)) = pair{}
	}
}

// zero256 does so for 64 to 256 bytes.
func zero256(p unsafe.Pointer, size uintptr) {
	type line [8]uint64
	*(*line)(p) = line{}
	*(*line)(unsafe.Add(p, size-64)) = line{}
	if size > 128 {
		*(*line)(unsafe.Add(p, 64)) = line{}
		*(*line)(unsafe.Add(p, size-128)) = line{}
	}
}

// zeroed is New without its type.
//
//go:nosplit
func (a *Arena) zeroed(typ any, size uintptr) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	if passedAt(typeWord(typ)).Load()&^holdsPointers != typeWord(typ) || a.limit-a.cursor < size {
		return a.zeroedSlow(typ, size)
	}
	p := unsafe.Add(nil, a.cursor)
	whole := (size + 7) &^ 7
	a.cursor += whole
	switch {
	case size-1 < 16:
		zero16(p, whole)
	case size-1 < 64:
		zero64(p, whole)
	case size-1 < 256:
		zero256(p, whole)
	default:
		wipe(p, size)
	}
	return p
}

func (a *Arena) zeroedSlow(typ any, size uintptr) unsafe.Pointer {
	pointers := examine(typ)
	p := a.bump(size)
	wipe(p, size)
	if pointers {
		a.noteTyped(typ, p, size)
	}
	return p
}

func (a *Arena) zeroedArray(typ any, n int, size uintptr) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	passes := passedAt(typeWord(typ)).Load()&^holdsPointers == typeWord(typ)
	hi, whole := bits.Mul64(uint64(n), uint64(size))
	if !passes || n < 0 || hi != 0 || uint64(a.limit-a.cursor) < whole {
		return a.zeroedArraySlow(typ, n, size)
	}
	p := unsafe.Add(nil, a.cursor)
	a.cursor += (uintptr(whole) + 7) &^ 7
	wipe(p, uintptr(whole))
	return p
}

func (a *Arena) zeroedArraySlow(typ any, n int, size uintptr) unsafe.Pointer {
	pointers := examine(typ)
	p := a.array(n, size)
	wipe(p, uintptr(n)*size)
	if pointers {
		a.noteTyped(typ, p, uintptr(n)*size)
	}
	return p
}

// array allocates n * size bytes with undefined contents.
func (a *Arena) array(n int, size uintptr) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	hi, whole := bits.Mul64(uint64(n), uint64(size))
	if n < 0 || hi != 0 || uint64(a.limit-a.cursor) < whole {
		if whole := sliceSize(n, size); whole <= maxSize {
			if p := a.slow(whole, 8); p != nil {
				return p
			}
		}
		panic(a.refusal(AllocError{Size: int(size), Align: 8, Len: n}))
	}
	p := unsafe.Add(nil, a.cursor)
	a.cursor += (uintptr(whole) + 7) &^ 7
	return p
}

// typed examines the type, and zeroes the memory if the type has pointers, because the garbage collector reads the pointer
// that a store overwrites.
func (a *Arena) typed(typ any, size uintptr) unsafe.Pointer {
	if passedAt(typeWord(typ)).Load() == typeWord(typ) {
		return a.bump(size)
	}
	pointers := examine(typ)
	p := a.bump(size)
	if pointers {
		wipe(p, size)
		a.noteTyped(typ, p, size)
	}
	return p
}

func (a *Arena) bump(size uintptr) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	if a.limit-a.cursor < size {
		return a.more(size)
	}
	p := unsafe.Add(nil, a.cursor)
	a.cursor += (size + 7) &^ 7
	return p
}

// try examines the type unless it is nil, and returns failures, also for a size or an alignment out of range.
func (a *Arena) try(typ any, size uintptr, align uint) (unsafe.Pointer, error) {
	pointers := typ != nil && examine(typ)
	var p unsafe.Pointer
	if isAlign(align) && size <= maxSize {
		p = a.aligned(size, uintptr(align))
	}
	if p == nil {
		return nil, a.refusal(AllocError{Size: int(size), Align: int(align)})
	}
	wipe(p, size)
	if pointers {
		a.noteTyped(typ, p, size)
	}
	return p, nil
}

// aligned allocates without zeroing. It returns nil if there is no memory.
func (a *Arena) aligned(size, align uintptr) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	pad := -a.cursor & (align - 1)
	if room := a.limit - a.cursor; room < pad || room-pad < size {
		return a.slow(size, align)
	}
	p := unsafe.Add(nil, a.cursor+pad)
	a.cursor += pad + (size+7)&^7
	return p
}

// more is the slow path of allocations that panic if there is no memory.
//
//go:noinline
func (a *Arena) more(size uintptr) unsafe.Pointer {
	p := a.slow(size, 8)
	if p == nil {
		panic(a.refusal(AllocError{Size: int(size), Align: 8}))
	}
	return p
}

func (a *Arena) slow(size, align uintptr) unsafe.Pointer {
	a.check("allocation")
	var p unsafe.Pointer
	if a.epoch&1 != 0 {
		p = a.allocInstrumented(size, align)
	} else {
		p = cAlloc(a, size, align)
	}
	memoryGrew()
	return p
}
