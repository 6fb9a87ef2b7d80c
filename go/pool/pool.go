// SPDX-License-Identifier: MIT OR Apache-2.0

// Package pool provides pools of reusable slots outside the garbage collector's heap. It needs neither cgo nor a C
// compiler.
//
// A [Pool] holds values without pointers, addressed by 32-bit handles; a handle whose value was freed is detected. A
// [Table] holds rows whose fields are in one contiguous [Column] each. The garbage collector scans neither, so that ten
// million nodes in a pool add nothing to the time of a collection.
//
// The memory is not counted by the runtime: it is not part of the heap size that triggers collections, nor of
// GOMEMLIMIT. In a process with a memory limit, set GOMEMLIMIT lower by what the pools commit; see [Pool.Bytes]. Where cgo is
// available, AdjustMemoryLimit of toft.dev/toft does so, and Held returns the memory of all pools.
//
// On js, wasip1, Plan 9, Solaris, illumos and AIX a pool is one allocation on the Go heap instead. The garbage collector
// does not scan it, but counts its full size, and frees it after the last use: Trim and Close return nothing to the system.
//
// On Linux a process has at most vm.max_map_count mappings, 65530 by default. A pool costs up to one mapping if MaxSlots
// values take up to 64 KiB, up to two with up to 8,191 slots, up to four otherwise, and two more while it uses huge pages.
// A table and each of its columns cost as much.
package pool

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// Errors of pools and tables.
var (
	// ErrFull is returned by New if the pool has reached its maximum.
	ErrFull = errors.New("pool: full")
	// ErrClosed is returned by operations on a pool or table that was closed, or was not made by [New] or [NewTable].
	ErrClosed = errors.New("pool: closed or never made")
	// ErrNoMemory is returned if there is no memory or no address space. The error that wraps it names the limit of
	// mappings if the process has reached it.
	ErrNoMemory = errors.New("pool: out of memory")
)

// A Pool holds values of one type in slots that are reused, outside the garbage collector's heap. Values refer to each
// other by [Handle]. A handle whose value was freed is detected, so there is no use after free through handles.
//
// A slot never moves: the pool reserves address space for its maximum and commits memory as it grows. A *T from
// [Pool.At] or [Pool.New] is valid until its slot is freed, cleared or trimmed, or the pool is closed; the use of an
// invalid *T is not detected.
//
// T must contain no pointers: numbers, bools, handles, and arrays and structs of these.
//
// A Pool must not be used by several goroutines at the same time, except for reading while no goroutine changes it.
// It must not be copied, which go vet reports; a copy panics where that costs the fast paths nothing. The zero Pool is a
// closed one.
//
// [Pool.Close] frees its memory; otherwise the garbage collector does, some time after the last use of the *Pool. A *T
// does not keep the pool reachable: if it is used after the last use of the *Pool, call [runtime.KeepAlive].
type Pool[T any] struct {
	_      noCopy
	values unsafe.Pointer // slot 0, which is never used
	slots
	_ [128 - unsafe.Sizeof(uintptr(0)) - unsafe.Sizeof(slots{})]byte // two pools do not share a cache line
}

// Options are the options of [New]. The zero value is a pool that grows to 1<<24 - 1 slots.
type Options struct {
	// Slots is the number of slots that have memory from the start. In a fixed pool it is the number of all slots.
	Slots int

	// MaxSlots is the number of slots to which the pool may grow. Address space is reserved for all of them. If it is
	// 0, the limit is 1<<24 - 1 slots or 1 TiB of address space (256 MiB where pointers have 32 bits), whichever is
	// less, but at least Slots. On systems where pools are on the Go heap (see the package) it is 1<<18 - 1 slots or 16
	// MiB, which are allocated at once, and no more than 256 MiB are allocated for a pool or a column.
	//
	// Of the 32 bits of a handle, the index has as many as MaxSlots needs, and the generation has the others. With the
	// default, 8 bits, a stale handle is detected until its slot was freed 256 times; with 1000 slots the generation has
	// 22 bits, and the slot must be freed 4 million times.
	MaxSlots int

	// Fixed makes Slots the limit: New then takes no memory from the system, and fails with ErrFull.
	Fixed bool

	// Retire takes a slot out of use when it has used up its generations, so that stale handles are always detected. A
	// slot with 8 bits of generation is lost after 255 frees.
	Retire bool
}

// New returns an empty pool. It fails if T contains a pointer (the error names the field), if the options contradict
// each other, or with [ErrNoMemory] if there is no address space for MaxSlots or no memory for Slots.
func New[T any](o Options) (*Pool[T], error) {
	p := new(Pool[T])
	size := unsafe.Sizeof(*new(T))
	err := checkType[T]()
	if err == nil {
		err = p.open(o.Slots, o.MaxSlots, o.Fixed, o.Retire, size)
	}
	if err != nil {
		p.close()
		return nil, wrap(fmt.Sprintf("Pool[%v]", typeOf[T]()), err)
	}
	p.values = p.memory.all[1].at(0)
	p.start()
	p.cleanup = runtime.AddCleanup(p, (*stores).release, p.memory)
	return p, nil
}

func typeOf[T any]() reflect.Type { return reflect.TypeOf((*T)(nil)).Elem() }

func checkType[T any]() error {
	if reason := offheap.Refused(typeOf[T](), true); reason != "" {
		return fmt.Errorf("%s, which memory outside the Go heap cannot hold", reason)
	}
	return nil
}

// wrap returns err with the type that failed: "pool: Table: out of memory".
func wrap(what string, err error) error { return &wrapped{what, err} }

type wrapped struct {
	what string
	err  error
}

func (w *wrapped) Error() string {
	return "pool: " + w.what + ": " + strings.TrimPrefix(w.err.Error(), "pool: ")
}

func (w *wrapped) Unwrap() error { return w.err }

// New takes a free slot and returns its handle and a pointer to its value, which is zero. It fails with [ErrFull],
// [ErrNoMemory] or [ErrClosed]; the pool is then unchanged.
func (p *Pool[T]) New() (Handle[T], *T, error) {
	h := p.take()
	if h == 0 {
		var err error
		if h, err = p.takeSlow(); err != nil {
			return 0, nil, err
		}
	}
	v := p.value(h & p.mask)
	clear(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))) // a few stores; *new(T) would be copied
	runtime.KeepAlive(p)
	return Handle[T](h), v, nil
}

// NewUninit is like [Pool.New] but does not zero the value: it is what an earlier one left, or zero.
func (p *Pool[T]) NewUninit() (Handle[T], *T, error) {
	h := p.take()
	if h == 0 {
		var err error
		if h, err = p.takeSlow(); err != nil {
			return 0, nil, err
		}
	}
	return Handle[T](h), p.value(h & p.mask), nil
}

func (p *Pool[T]) value(i uint32) *T {
	return (*T)(unsafe.Add(p.values, uintptr(i)*unsafe.Sizeof(*new(T))))
}

// At returns the value of a handle. It returns nil if the value was freed, for the zero Handle, for a handle that the
// pool did not return, and after Close.
func (p *Pool[T]) At(h Handle[T]) *T {
	i := uint32(h) & p.mask
	if i != 0 && *p.key(i) == uint32(h) {
		runtime.KeepAlive(p)
		return p.value(i)
	}
	return nil
}

// Free frees the slot of a handle. It reports false and does nothing where At returns nil.
func (p *Pool[T]) Free(h Handle[T]) bool { return p.release(uint32(h)) }

// All returns an iterator over the live values in the order of their slots. The loop may free values, the current one
// included; a value that is freed before it is reached is not visited. Whether values added by the loop are visited is
// undefined.
func (p *Pool[T]) All() iter.Seq2[Handle[T], *T] {
	p.check()
	return func(yield func(Handle[T], *T) bool) {
		for from := uintptr(0); from < uintptr(p.used); from += 64 {
			for set := p.liveIn(from); set != 0; set &= set - 1 {
				i := uint32(from) + uint32(bits.TrailingZeros64(set)) + 1
				if i > p.used { // the loop cleared, trimmed or closed the pool
					return
				}
				if h := *p.key(i); h&p.mask == i && !yield(Handle[T](h), p.value(i)) {
					return
				}
			}
		}
	}
}

// Len returns the number of live values.
func (p *Pool[T]) Len() int { return int(p.live) }

// Cap returns the number of slots that have memory, retired ones included.
func (p *Pool[T]) Cap() int { return int(p.capacity) }

// Retired returns the number of retired slots; see [Options].
func (p *Pool[T]) Retired() int { return int(p.retired) }

// Bytes returns how much address space the pool has reserved and how much of it is committed. Committed memory is
// promised by the system, which provides it when it is first used.
func (p *Pool[T]) Bytes() (reserved, committed uint64) {
	p.check()
	return p.memory.bytes()
}

// Clear frees all values; every handle is stale afterwards. It takes about a nanosecond for each slot that was used
// since the last Clear, because each slot has its own generation. It keeps the memory; see [Pool.Trim].
func (p *Pool[T]) Clear() { p.clear() }

// Trim returns the memory above the highest live slot to the system, except for 4 bytes a slot, which detect stale
// handles. A fixed pool keeps its memory committed, so that New cannot fail, but lets the system have it until it is
// used.
func (p *Pool[T]) Trim() { p.trim() }

// Close frees all memory. Afterwards At returns nil, Free false and New [ErrClosed]; no *T may be used. A second Close
// does nothing.
func (p *Pool[T]) Close() {
	p.close()
	p.values = nil
}
