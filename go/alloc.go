//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// The fast paths. All of them are one compare, limit - cursor < size: room is a multiple of 8, so the raw size decides,
// and nothing can wrap. Whatever does not fit, and every allocation of a checked arena, goes to the arena's provider. Those
// marked inline must stay within the inliner's budget of 80; a test asserts it.

// An AllocError tells what could not be had, as the caller asked for it. It wraps [ErrNoMemory].
type AllocError struct {
	Size, Align int // in bytes
	Len         int // of a slice whose elements have Size bytes; 0 elsewhere
}

func (e *AllocError) Error() string {
	what, why := fmt.Sprint(e.Size), "out of memory or over budget"
	if e.Len != 0 {
		what = fmt.Sprintf("%d x %d", e.Len, e.Size)
	}
	switch {
	case e.Size < 0:
		why = "a negative size"
	case e.Len < 0:
		why = "a negative length"
	case !isAlign(uint(e.Align)):
		why = "not a power of two"
	}
	return fmt.Sprintf("toft: cannot allocate %s bytes aligned to %d: %s", what, e.Align, why)
}

// Unwrap gives [ErrNoMemory].
func (e *AllocError) Unwrap() error { return ErrNoMemory }

// ---- one value ----

// New allocates a zeroed T. It panics, naming the field, for a T that cannot live in C memory (one that holds a string,
// slice, map, chan, func or interface, at any depth), and with an [AllocError] where there is no memory. Inline, but for
// one call.
func New[T any](a *Arena) *T {
	return (*T)(a.zeroed(any((*T)(nil)), valueSize[T]()))
}

// TryNew is New that returns the [AllocError]. For a type that cannot live in C memory it panics, as all Try functions do.
func TryNew[T any](a *Arena) (*T, error) { return TryNewAligned[T](a, 8) }

// NewAligned is New at an address that is a multiple of align, a power of two: for what C aligns more strictly than Go,
// vectors and cache lines.
func NewAligned[T any](a *Arena, align uint) *T {
	mustAlign(align)
	return must1(TryNewAligned[T](a, align))
}

// TryNewAligned is NewAligned that returns the [AllocError], also for an alignment that is no power of two.
func TryNewAligned[T any](a *Arena, align uint) (*T, error) {
	p, err := a.try(any((*T)(nil)), valueSize[T](), align)
	return (*T)(p), err
}

// Copy allocates a copy of v.
func Copy[T any](a *Arena, v T) *T {
	p := (*T)(a.typed(any((*T)(nil)), valueSize[T]()))
	*p = v
	return p
}

// TryCopy is Copy that returns the [AllocError].
func TryCopy[T any](a *Arena, v T) (*T, error) {
	p, err := TryNew[T](a)
	if err == nil {
		*p = v
	}
	return p, err
}

// ---- slices ----

// MakeSlice allocates n zeroed T, side by side. It panics as make does for a length that is out of range, and as [New].
func MakeSlice[T any](a *Arena, n int) []T {
	return unsafe.Slice((*T)(a.zeroedArray(any((*T)(nil)), n, unsafe.Sizeof(*new(T)))), n)
}

// TryMakeSlice is MakeSlice that returns the [AllocError], also for lengths out of range.
func TryMakeSlice[T any](a *Arena, n int) ([]T, error) { return TryMakeSliceAligned[T](a, n, 8) }

// MakeSliceAligned is MakeSlice whose first element is at a multiple of align, a power of two.
func MakeSliceAligned[T any](a *Arena, n int, align uint) []T {
	mustFit(n, unsafe.Sizeof(*new(T)))
	mustAlign(align)
	return must1(TryMakeSliceAligned[T](a, n, align))
}

// TryMakeSliceAligned is MakeSliceAligned that returns the [AllocError], also for lengths out of range and for an alignment
// that is no power of two.
func TryMakeSliceAligned[T any](a *Arena, n int, align uint) ([]T, error) {
	size := unsafe.Sizeof(*new(T))
	p, err := a.try(any((*T)(nil)), sliceSize(n, size), align)
	if err != nil {
		return nil, &AllocError{int(size), int(align), n}
	}
	return unsafe.Slice((*T)(p), n), nil
}

// CopySlice allocates a copy of s; for C, its address is unsafe.SliceData of the result. It has no spare capacity.
func CopySlice[T any](a *Arena, s []T) []T {
	p := a.typed(any((*T)(nil)), uintptr(len(s))*unsafe.Sizeof(*new(T)))
	t := unsafe.Slice((*T)(p), len(s))
	copy(t, s)
	return t
}

// TryCopySlice is CopySlice that returns the [AllocError].
func TryCopySlice[T any](a *Arena, s []T) ([]T, error) {
	t, err := TryMakeSlice[T](a, len(s))
	copy(t, s)
	return t, err
}

// ---- without zeroing ----

// Plain allocates T without zeroing it, which is the fastest way there is. See [PlainOf].
type Plain[T any] struct{ *plain[T] }

// What only PlainOf can make: whoever has one knows that T was looked at. A Plain that is not from there panics.
type plain[T any] struct{}

// PlainOf looks at T once, and panics, naming the field, if it holds a pointer or anything else that [New] refuses: memory
// that is not zeroed must not be seen as pointers. Keep the result in a variable:
//
//	var points = toft.PlainOf[point]()
func PlainOf[T any]() Plain[T] {
	t := typeOf[T]()
	if wrong := refused(t, true); wrong != "" {
		panic(fmt.Sprintf("toft: PlainOf[%v]: %s, which must be zeroed: use New", t, wrong))
	}
	return Plain[T]{new(plain[T])}
}

// A T rounded up to 8 bytes by the type system: it costs the inliner nothing.
type rounded[T any] struct {
	_ [0]atomic.Uint64 // on a multiple of 8 everywhere, which uint64 is not
	_ T
}

// New allocates a T with whatever is there. It panics with an [AllocError] where there is no memory. Inline.
func (plain[T]) New(a *Arena) (p *T) {
	if raceBuild {
		raceUse(a)
	}
	if a.limit-a.cursor < unsafe.Sizeof(rounded[T]{}) {
		return (*T)(a.more(unsafe.Sizeof(rounded[T]{})))
	}
	p = (*T)(unsafe.Add(nil, a.cursor)) // cursor is read again: a variable for it would cost the inliner too much
	a.cursor += unsafe.Sizeof(rounded[T]{})
	return
}

// MakeSlice allocates n T with whatever is there. It panics as [MakeSlice].
func (plain[T]) MakeSlice(a *Arena, n int) []T {
	return unsafe.Slice((*T)(a.array(n, unsafe.Sizeof(*new(T)))), n)
}

// ---- bytes ----

// Alloc allocates size zeroed bytes at a multiple of align, a power of two. It panics for a negative size or another
// alignment, and with an [AllocError] where there is no memory.
func (a *Arena) Alloc(size, align int) unsafe.Pointer {
	p := a.AllocUninit(size, align)
	wipe(p, uintptr(size))
	return p
}

// AllocUninit is Alloc with whatever is there. Memory that is to be seen as a type with pointers, by Go, must be zeroed:
// the collector looks at what a store of a pointer overwrites.
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

// TryAlloc is Alloc that returns the [AllocError], also for a negative size and for an alignment that is no power of two.
func (a *Arena) TryAlloc(size, align int) (unsafe.Pointer, error) {
	if size < 0 {
		return nil, &AllocError{Size: size, Align: align}
	}
	return a.try(nil, uintptr(size), uint(align))
}

func mustBytes(size, align int) {
	if size < 0 {
		panic(fmt.Sprintf("toft: Alloc: size %d", size))
	}
	mustAlign(uint(align))
}

func isAlign(align uint) bool { return bits.OnesCount(align) == 1 && int(align) > 0 }

func mustAlign(align uint) {
	if !isAlign(align) {
		panic(fmt.Sprintf("toft: alignment %d is not a power of two", int(align)))
	}
}

func must1[R any](r R, err error) R {
	if err != nil {
		panic(err)
	}
	return r
}

// alloc is AllocUninit where the fast path ends.
func (a *Arena) alloc(size, align int) unsafe.Pointer {
	mustBytes(size, align)
	p := a.aligned(uintptr(size), uintptr(align))
	if p == nil {
		panic(&AllocError{Size: size, Align: align})
	}
	return p
}

// ---- what the above have in common ----

// valueSize is that of a T, and one byte for a T without any: Go reads at an address before it uses a value there.
func valueSize[T any]() uintptr { return max(unsafe.Sizeof(*new(T)), 1) }

func mustFit(n int, size uintptr) {
	if n < 0 || sliceSize(n, size) > maxSize {
		panic(fmt.Sprintf("toft: MakeSlice: len %d out of range", n))
	}
}

const (
	maxSize  = ^uintptr(0) >> 1                       // bytes of a slice, at most; as everywhere in Go
	maxBytes = maxSize >> (unsafe.Sizeof(0) / 8 * 16) // of an array that the compiler takes; no arena has as many
)

// sliceSize is n * size, or what no arena can serve.
func sliceSize(n int, size uintptr) uintptr {
	hi, lo := bits.Mul64(uint64(n), uint64(size))
	if n < 0 || hi != 0 || lo > uint64(maxSize) {
		return ^uintptr(0)
	}
	return uintptr(lo)
}

// wipe zeroes memory without a look at what it held: that may look like a pointer of Go's and be none.
func wipe(p unsafe.Pointer, size uintptr) {
	if size != 0 { // of no bytes the address may be the end of what is mapped, and Go reads there to see that it is not nil
		clear((*[maxBytes]byte)(p)[:size])
	}
}

// zeroed is New behind its type.
//
//go:nosplit
func (a *Arena) zeroed(of any, size uintptr) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	if passedAt(typeWord(of)).Load()&^holdsPointers != typeWord(of) || a.limit-a.cursor < size {
		return a.zeroedSlow(of, size)
	}
	p := unsafe.Add(nil, a.cursor)
	whole := (size + 7) &^ 7
	a.cursor += whole
	// The usual sizes without a call, by stores that overlap.
	switch {
	case size-1 < 16:
		*(*uint64)(p) = 0
		*(*uint64)(unsafe.Add(p, whole-8)) = 0
	case size-1 < 64:
		type pair [2]uint64
		*(*pair)(p) = pair{}
		*(*pair)(unsafe.Add(p, whole-16)) = pair{}
		if size > 32 {
			*(*pair)(unsafe.Add(p, 16)) = pair{}
			*(*pair)(unsafe.Add(p, whole-32)) = pair{}
		}
	default:
		wipe(p, size)
	}
	return p
}

func (a *Arena) zeroedSlow(of any, size uintptr) unsafe.Pointer {
	examine(of)
	p := a.bump(size)
	wipe(p, size)
	return p
}

func (a *Arena) zeroedArray(of any, n int, size uintptr) unsafe.Pointer {
	if passedAt(typeWord(of)).Load()&^holdsPointers != typeWord(of) {
		examine(of)
	}
	p := a.array(n, size)
	wipe(p, uintptr(n)*size)
	return p
}

// array is n * size bytes, whatever is there.
func (a *Arena) array(n int, size uintptr) unsafe.Pointer {
	if raceBuild {
		raceUse(a)
	}
	hi, whole := bits.Mul64(uint64(n), uint64(size))
	if n < 0 || hi != 0 || uint64(a.limit-a.cursor) < whole {
		mustFit(n, size)
		return a.more(uintptr(whole))
	}
	p := unsafe.Add(nil, a.cursor)
	a.cursor += (uintptr(whole) + 7) &^ 7
	return p
}

// typed has the type looked at, and zeroes for those with pointers: what a store of a pointer overwrites is shown to the
// collector.
func (a *Arena) typed(of any, size uintptr) unsafe.Pointer {
	if passedAt(typeWord(of)).Load() == typeWord(of) {
		return a.bump(size)
	}
	pointers := examine(of)
	p := a.bump(size)
	if pointers {
		wipe(p, size)
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

// try has the type looked at, pads, and returns failures, for sizes and alignments of any kind; of may be nil.
func (a *Arena) try(of any, size uintptr, align uint) (unsafe.Pointer, error) {
	if of != nil {
		examine(of)
	}
	var p unsafe.Pointer
	if isAlign(align) && size <= maxSize {
		p = a.aligned(size, uintptr(align))
	}
	if p == nil {
		return nil, &AllocError{Size: int(size), Align: int(align)}
	}
	wipe(p, size)
	return p, nil
}

// aligned pads inline; nil: no memory.
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

// more is the end of the fast paths: it asks the provider, and panics if there is nothing.
//
//go:noinline
func (a *Arena) more(size uintptr) unsafe.Pointer {
	p := a.slow(size, 8)
	if p == nil {
		panic(&AllocError{Size: int(size), Align: 8})
	}
	return p
}

func (a *Arena) slow(size, align uintptr) unsafe.Pointer {
	a.check("allocation")
	return cAlloc(a, size, align)
}
