// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// A Handle refers to a value in a [Pool] for as long as the value lives. It has 4 bytes and is no pointer, so that values
// can refer to each other without being scanned by the garbage collector. The zero Handle refers to no value.
//
// The low bits are the index of the slot, as many as the pool's MaxSlots needs; the others are the generation of the
// slot, which increases each time the slot is freed. A stale handle is detected until the generation wraps around; see
// [Options]. A handle is valid in its own pool only: in another pool of the same type it may refer to another value.
type Handle[T any] uint32

// slots records which slots are live and under which handle. It has one key for each slot:
//
//	live       the handle of the slot: generation and index
//	free       the next generation, and in place of the index the next free slot, 0 for none
//	retired    the last generation, and 0
//	unused     0; after a Clear, the next generation, and 0
//
// Slot 0 is never used and no slot is linked to itself, so a key contains the index of its own slot only if the slot is
// live, and one compare, keys[index of h] == h, decides whether h is live if its index is not 0. Keys of slots without
// memory read as 0, and no handle equals the key that its index leads to: the compare needs no bounds check before it.
//
// The zero slots are closed. Their mask is 0, so that each handle has the index 0 and no key is read.
type slots struct {
	keys     unsafe.Pointer
	mask     uint32 // of the index
	free     uint32 // the slot freed last, or 0
	used     uint32 // slots up to here have been used since the last Clear
	top      uint32 // used may grow to here without a check: there is memory, and no slot is retired
	live     uint32
	last     uint32 // freeing a handle above this retires its slot
	capacity uint32 // slots up to here have memory
	max      uint32
	retired  uint32
	fixed    bool
	retires  bool
	memory   *stores // nil if closed
	cleanup  runtime.Cleanup
}

// noCopy makes go vet report copies of a pool, table or column. They would use the same memory, and give out the same
// slots.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// check panics if l is a copy. The fast paths do not call it.
func (l *slots) check() {
	if l.memory != nil && l.memory.owner != uintptr(unsafe.Pointer(l)) {
		panic("pool: use of a copied Pool or Table")
	}
}

// The largest number of slots: one bit is left for the generation.
const mostSlots = 1<<31 - 1

// open reserves address space for the keys and for a store of each stride, which are memory.all from then on. count slots
// have memory from the start.
func (l *slots) open(count, limit int, fixed, retires bool, strides ...uintptr) error {
	switch {
	case count < 0 || limit < 0 || count > mostSlots || limit > mostSlots:
		return fmt.Errorf("number of slots out of range 0 to %d", mostSlots)
	case fixed && count == 0:
		return errors.New("fixed, but without a number of slots")
	case fixed && limit != 0 && limit != count, limit != 0 && count > limit:
		return fmt.Errorf("%d slots, but a maximum of %d", count, limit)
	case fixed:
		limit = count
	case limit == 0:
		limit = max(count, min(offheap.DefaultSlots, int(offheap.DefaultSpan/uint64(max(4, slices.Max(append(strides, 0)))))), 1)
	}
	width := max(bits.Len32(uint32(limit)), 2)
	mask := uint32(1)<<width - 1
	*l = slots{mask: mask, last: ^uint32(0), max: uint32(limit), fixed: fixed, retires: retires,
		memory: &stores{owner: uintptr(unsafe.Pointer(l)), least: uint32(count)}}
	if retires {
		l.last = ^mask - (mask + 1) // the last generation marks a retired slot
	}
	keys := newStore(mask+64, 4, 0) // liveIn reads 64 at a time
	keys.readable = true
	list := []*store{keys}
	for _, stride := range strides {
		list = append(list, newStore(l.max, stride, 0))
	}
	if err := l.add(list...); err != nil {
		return err
	}
	l.keys = keys.at(0)
	return nil
}

// add reserves one range for all of the stores, and commits memory for the slots that have it from the start. If it fails,
// l is unchanged.
func (l *slots) add(list ...*store) error {
	mapping, ok := reserve(list)
	if !ok {
		var stride uintptr
		for _, s := range list {
			stride += s.stride
		}
		return fmt.Errorf("no address space for %d slots of %d bytes (see MaxSlots): %w", l.max, stride, noMemory())
	}
	for _, s := range list {
		if !s.start(l.memory.least) {
			for _, started := range list {
				started.setCommitted(0)
			}
			offheap.Release(mapping)
			return noMemory()
		}
	}
	l.memory.all = append(l.memory.all, list...)
	l.memory.mappings = append(l.memory.mappings, mapping)
	return nil
}

// noMemory is ErrNoMemory, or an error that wraps it if the system's limit of mappings is a likely cause: a refused change
// of a range may need some more mappings than there are.
func noMemory() error {
	if n, limit := offheap.Mappings(); limit != 0 && n+8 >= limit {
		return fmt.Errorf("%w: the process has %d mappings, and vm.max_map_count is %d", ErrNoMemory, n, limit)
	}
	return ErrNoMemory
}

// start allows slots to be taken. Precondition: all stores have been added.
func (l *slots) start() {
	l.capacity = l.memory.capacity(l.max)
	l.top = l.capacity
}

func word(base unsafe.Pointer, i uint32) *uint32 { return (*uint32)(unsafe.Add(base, uintptr(i)*4)) }

// key is word(l.keys, i), but costs the inliner less.
func (l *slots) key(i uint32) *uint32 { return (*uint32)(unsafe.Add(l.keys, uintptr(i)*4)) }

// find returns the slot of h, or 0 if h is not a live handle.
func (l *slots) find(h uint32) uint32 {
	i := h & l.mask
	if i == 0 || *l.key(i) != h {
		return 0
	}
	runtime.KeepAlive(l)
	return i
}

// take makes a slot live and returns its handle. It returns 0 if takeSlow must be called.
func (l *slots) take() uint32 {
	i := l.free
	if i == 0 {
		if l.used >= l.top {
			return 0
		}
		l.used++
		i = l.used
	}
	k, mask := l.key(i), l.mask
	was := *k
	h := was&^mask | i
	*k = h
	l.free = was & mask // stays 0 if it was 0
	l.live++
	return h
}

// release frees the slot of a live handle. It reports false if h is not live.
func (l *slots) release(h uint32) bool {
	i := h & l.mask
	k := l.key(i)
	if i == 0 || *k != h {
		return false
	}
	l.live--
	next := (h | l.mask) + 1
	if h > l.last {
		*k = next
		l.retired++
	} else {
		*k = next | l.free
		l.free = i
	}
	return true
}

// takeSlow is called if take has failed: it commits memory and skips retired slots.
func (l *slots) takeSlow() (uint32, error) {
	if err := l.grow(); err != nil {
		return 0, err
	}
	return l.take(), nil
}

// grow makes the next take succeed: it finds a slot that is not retired, or commits memory.
func (l *slots) grow() error {
	l.check()
	for {
		for l.used < l.capacity && l.isRetired(l.used+1) {
			l.used++
		}
		if l.used < l.capacity {
			l.top = l.capacity
			if l.retired != 0 {
				l.top = l.used + 1
				for l.top < l.capacity && !l.isRetired(l.top+1) {
					l.top++
				}
			}
			return nil
		}
		switch {
		case l.memory == nil:
			return ErrClosed
		case l.capacity == l.max:
			return ErrFull
		}
		step := min(l.memory.step(l.capacity), l.max-l.capacity)
		if !l.memory.commit(l.capacity+step) && !l.memory.commit(l.capacity+1) {
			return noMemory()
		}
		l.capacity = l.memory.capacity(l.max)
	}
}

func (l *slots) isRetired(i uint32) bool { return l.retires && *l.key(i) >= ^l.mask }

// liveIn returns the set of live slots among the 64 after i. It has no branch that could be mispredicted: a subtraction
// borrows if the key contains the index of its slot, and the borrow is shifted in.
func (l *slots) liveIn(i uintptr) (set uint64) {
	keys, mask := l.keys, l.mask
	for j := i + 64; j != i; j -= 2 {
		set = shiftIn(set, (*word(keys, uint32(j))^uint32(j))&mask)
		set = shiftIn(set, (*word(keys, uint32(j-1))^uint32(j-1))&mask)
	}
	return set
}

// shiftIn shifts a bit into a set: 1 if n is 0.
func shiftIn(set uint64, n uint32) uint64 {
	_, zero := bits.Sub64(uint64(n), 1, 0)
	set, _ = bits.Add64(set, set, zero)
	return set
}

// clear frees all slots, in time proportional to how many have been used since the last clear.
func (l *slots) clear() {
	l.check()
	if l.used == 0 {
		return
	}
	mask, last := l.mask, l.last
	keys := unsafe.Slice(l.key(0), uintptr(l.used)+1)[1:]
	for i, k := range keys {
		other := uint64((k ^ uint32(i+1)) & mask)
		if k > last && other == 0 {
			l.retired++
		}
		keys[i] = k&^mask + (mask+1)&uint32((other-1)>>32) // the next generation if it is live
	}
	l.free, l.used, l.live, l.top = 0, 0, 0, 0
}

// trim makes the slots above the highest live one unused and returns their memory.
func (l *slots) trim() {
	l.check()
	if l.memory == nil {
		return
	}
	n := l.used
	for n != 0 && *l.key(n)&l.mask != n {
		*l.key(n) &^= l.mask
		n--
	}
	l.used, l.top, l.free = n, n, 0
	for ; n != 0; n-- { // the lowest first
		if k := l.key(n); *k&l.mask != n && !l.isRetired(n) {
			*k = *k&^l.mask | l.free
			l.free = n
		}
	}
	for _, s := range l.memory.all[1:] { // the keys stay, because they hold the generations
		if l.fixed || s.whole() {
			s.discard(s.bytes(l.used), s.committed)
		} else {
			s.decommit(s.bytes(l.used))
		}
	}
	l.capacity = l.memory.capacity(l.max)
}

func (l *slots) close() {
	l.check()
	if l.memory == nil {
		return
	}
	l.cleanup.Stop()
	l.memory.release()
	*l = slots{}
}
