// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"unsafe"
)

// A Pool holds values of one type in slots that are reused, outside the garbage collector's sight: ten million nodes in a
// Pool cost a collection nothing. Values refer to each other by [Handle]; a handle whose value was freed is told apart,
// so there is no use after free through handles.
//
// A slot never moves: the pool takes address space for its maximum when it is made, and memory as it grows. So a *T from
// [Pool.At] or [Pool.New] stays good until that slot is freed, cleared or trimmed away, or the pool closed; behind it
// there is no check.
//
// T must hold no pointer of any kind: numbers, bools, handles, and arrays and structs of these.
//
// A Pool is for one goroutine at a time; several may read it at once while none changes it. [Pool.Close] gives its memory
// back, and so does the garbage collector, some time after the last use of the *Pool. A *T alone does not keep the pool:
// where it is used after the *Pool's last mention, say [runtime.KeepAlive] behind.
type Pool[T any] struct {
	slots unsafe.Pointer // slot 0, which is never used
	ledger
	_ [128 - unsafe.Sizeof(uintptr(0)) - unsafe.Sizeof(ledger{})]byte // two pools do not share a cache line
}

// PoolOptions of [NewPool]; the zero value is a pool that grows to 1<<24 - 1 slots.
type PoolOptions struct {
	// Slots have memory from the start. If the pool is Fixed, these are all.
	Slots int

	// MaxSlots is how far the pool may grow: this much address space is taken, which costs next to nothing. 0: 1<<24 - 1,
	// less if that would take more than 1 TiB (256 MiB where pointers have 32 bits), at least Slots.
	//
	// Of a handle's 32 bits the index takes as many as MaxSlots needs; the generation has the rest. With 8 bits (the
	// default) a stale handle is told apart until its slot was freed 256 times; at 1000 slots it is 22 bits, and 4
	// million times.
	MaxSlots int

	Fixed bool // Slots is the limit: New never asks the system for memory, and fails with ErrFull

	// Retire takes a slot out of use when its generations are spent, so that a stale handle is always told apart. Slots
	// freed that often (255 times with 8 bits) are missing from then on.
	Retire bool
}

// NewPool makes an empty pool. It fails if T holds a pointer, naming the field; if the options contradict each other; if
// there is no address space for MaxSlots; and with [ErrNoMemory] if there is no memory for Slots.
func NewPool[T any](o PoolOptions) (*Pool[T], error) {
	p := new(Pool[T])
	size := unsafe.Sizeof(*new(T))
	err := refusal[T]()
	if err == nil {
		err = p.open(o.Slots, o.MaxSlots, o.Fixed, o.Retire, size)
	}
	if err == nil {
		var slots *store
		if slots, err = p.add(size, 0, uint32(o.Slots)); err == nil {
			p.slots = slots.at(0)
		}
	}
	if err != nil {
		p.close()
		return nil, failed(fmt.Sprintf("Pool[%v]", typeOf[T]()), err)
	}
	p.begin()
	p.cleanup = runtime.AddCleanup(p, (*stores).release, p.memory)
	return p, nil
}

func refusal[T any]() error {
	if wrong := refused(typeOf[T](), true); wrong != "" {
		return fmt.Errorf("%s: memory outside the Go heap cannot hold it", wrong)
	}
	return nil
}

// New takes a free slot and returns its handle, and the value in it, which is zero. It fails with [ErrFull],
// [ErrNoMemory] or [ErrClosed], and nothing has changed then.
func (p *Pool[T]) New() (Handle[T], *T, error) {
	h := p.take()
	if h == 0 {
		var err error
		if h, err = p.takeMore(); err != nil {
			return 0, nil, err
		}
	}
	v := p.slot(h & p.mask)
	clear(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))) // a few stores; *new(T) would be copied
	runtime.KeepAlive(p)
	return Handle[T](h), v, nil
}

// NewUninit is New without the zeroing: the value is what an earlier one left, or zero.
func (p *Pool[T]) NewUninit() (Handle[T], *T, error) {
	h := p.take()
	if h == 0 {
		var err error
		if h, err = p.takeMore(); err != nil {
			return 0, nil, err
		}
	}
	return Handle[T](h), p.slot(h & p.mask), nil
}

func (p *Pool[T]) slot(i uint32) *T {
	return (*T)(unsafe.Add(p.slots, uintptr(i)*unsafe.Sizeof(*new(T))))
}

// At is the value behind a handle. It is nil if the value was freed, for the zero Handle, for a handle that the pool
// never gave, and after Close.
func (p *Pool[T]) At(h Handle[T]) *T {
	i := uint32(h) & p.mask
	if *p.key(i) != uint32(h) {
		return nil
	}
	runtime.KeepAlive(p)
	return p.slot(i)
}

// Free frees the slot behind a handle. It returns false, and does nothing, where At would return nil.
func (p *Pool[T]) Free(h Handle[T]) bool { return p.give(uint32(h)) }

// All ranges over the live values, in the order of their slots. While it goes on, values may be freed, the current one
// too; one that is freed before it was reached is not visited. Whether values added meanwhile are visited is undefined.
func (p *Pool[T]) All() iter.Seq2[Handle[T], *T] {
	return func(yield func(Handle[T], *T) bool) {
		for from := uintptr(0); from < uintptr(p.used); from += 64 {
			for set := p.liveIn(from); set != 0; set &= set - 1 {
				i := uint32(from) + uint32(bits.TrailingZeros64(set)) + 1
				if i > p.used { // cleared, trimmed or closed meanwhile
					return
				}
				if h := *p.key(i); h&p.mask == i && !yield(Handle[T](h), p.slot(i)) {
					return
				}
			}
		}
	}
}

// Len is how many values are live.
func (p *Pool[T]) Len() int { return int(p.live) }

// Cap is how many slots have memory, those out of use included.
func (p *Pool[T]) Cap() int { return int(p.room) }

// Retired is how many slots are out of use; see Retire in [PoolOptions].
func (p *Pool[T]) Retired() int { return int(p.retired) }

// Bytes are the address space that the pool takes, and how much of it is committed: memory that the system has promised,
// and provides when it is first touched.
func (p *Pool[T]) Bytes() (reserved, committed uint64) { return p.memory.bytes() }

// Clear frees all values at once; every handle is stale from then on. It takes about a nanosecond for each slot that was
// used since the last Clear, since each has its generation. Memory is kept: see Trim.
func (p *Pool[T]) Clear() { p.clear() }

// Trim gives memory above the highest live slot back to the system; 4 bytes a slot stay, to tell stale handles. A Fixed
// pool keeps its memory committed, so that New cannot fail, but leaves it to the system until it is touched.
func (p *Pool[T]) Trim() { p.trim() }

// Close gives all memory back. From then on At returns nil, Free false and New [ErrClosed]; no *T may be used. It may be
// called twice.
func (p *Pool[T]) Close() {
	p.close()
	p.slots = nil
}
