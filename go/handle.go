// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"unsafe"
)

// A Handle names a slot of a [Pool] for as long as the value in it lives: 4 bytes, no pointer, so that values can refer to
// each other without the garbage collector looking at them. The zero Handle names none.
//
// The low bits are the slot's index, as many as the pool's MaxSlots needs; the rest is the slot's generation, which grows
// by one each time the slot is freed. So a handle kept for too long is told apart, until the generations have gone
// round: see [PoolOptions]. A handle is good in its own pool only; in another of the same type it may name something else.
type Handle[T any] uint32

// Errors of pools and tables.
var (
	ErrFull   = errors.New("toft: pool is full")
	ErrClosed = errors.New("toft: pool is closed")
)

// A ledger knows which slots are live, and under which handle. It keeps one key for each slot:
//
//	live       the slot's handle: index and generation
//	free       the generation that comes next, and in place of the index the next free slot, 0 for none
//	retired    the last generation, and 0
//	never used 0; after a Clear, the generation that comes next, and 0
//
// Slot 0 is never used, no slot is linked to itself: so a key has its own slot's index in it only if that is live, and
// keys[index of h] == h tells all there is to know of h. Keys of slots that have no memory yet read as 0, key 0 is 1,
// and no handle equals the key that it leads to: the compare needs no bounds check before it.
type ledger struct {
	keys    unsafe.Pointer
	mask    uint32 // of the index
	free    uint32 // the slot freed last; 0: none
	used    uint32 // slots up to here have been used since the last Clear
	top     uint32 // used may grow so far without a look: there is memory, and no slot is retired
	live    uint32
	last    uint32 // freeing a handle above this retires its slot
	room    uint32 // slots up to here have memory
	max     uint32
	retired uint32
	fixed   bool
	retires bool
	memory  *stores // nil: closed
	cleanup runtime.Cleanup
}

// A closed ledger's keys, with 1 for a mask: no handle is found there.
var closedKeys = [2]uint32{1, 0}

// The most slots a pool may have: one bit is left for the generation.
const (
	mostSlots    = 1<<31 - 1
	defaultSlots = 1<<24 - 1
)

// The most address space taken where MaxSlots is not given.
const defaultSpan = min(1<<40, uint64(^uintptr(0))>>4)

// open takes the address space of the keys. slots is how many have memory from the start, stride the size of what the
// caller will keep for each.
func (l *ledger) open(slots, most int, fixed, retires bool, stride uintptr) error {
	switch {
	case slots < 0 || most < 0 || slots > mostSlots || most > mostSlots:
		return fmt.Errorf("number of slots out of range 0 to %d", mostSlots)
	case fixed && slots == 0:
		return errors.New("fixed, but without a number of slots")
	case fixed && most != 0 && most != slots, most != 0 && slots > most:
		return fmt.Errorf("%d slots, but %d at most", slots, most)
	case fixed:
		most = slots
	case most == 0:
		most = max(slots, min(defaultSlots, int(defaultSpan/uint64(max(stride, 4)))), 1)
	}
	width := max(bits.Len32(uint32(most)), 2)
	mask := uint32(1)<<width - 1
	keys, ok := reserveStore(mask+64, 4, 0, true) // liveIn reads 64 at a time
	if !ok {
		return errNoSpace(uint64(mask)*4, most)
	}
	*l = ledger{mask: mask, last: ^uint32(0), max: uint32(most), fixed: fixed, retires: retires, memory: &stores{}}
	if retires {
		l.last = ^mask - (mask + 1) // the last generation is the mark of a retired slot
	}
	l.memory.all = append(l.memory.all, keys)
	if !keys.commit(keys.bytes(uint32(slots))) {
		l.memory.release()
		return ErrNoMemory
	}
	l.keys = keys.at(0)
	*l.key(0) = 1
	return nil
}

func errNoSpace(bytes uint64, slots int) error {
	return fmt.Errorf("no %d bytes of address space for %d slots (see MaxSlots): %w", bytes, slots, ErrNoMemory)
}

// add takes address space for a store, and as much memory as the others have, for `slots` at least.
func (l *ledger) add(stride, lines uintptr, slots uint32) (*store, error) {
	s, ok := reserveStore(l.max, stride, lines, false)
	if !ok {
		_, bytes := bits.Mul64(uint64(l.max)+1, uint64(stride))
		return nil, errNoSpace(bytes, int(l.max))
	}
	if slots = max(slots, l.room); !s.commit(s.bytes(slots)) {
		s.release()
		return nil, ErrNoMemory
	}
	l.memory.all = append(l.memory.all, s)
	return s, nil
}

// begin lets slots be taken, when all stores are there.
func (l *ledger) begin() {
	l.room = l.memory.room(l.max)
	l.top = l.room
}

func word(base unsafe.Pointer, i uint32) *uint32 { return (*uint32)(unsafe.Add(base, uintptr(i)*4)) }

// key is word(l.keys, i), but costs the inliner less.
func (l *ledger) key(i uint32) *uint32 { return (*uint32)(unsafe.Add(l.keys, uintptr(i)*4)) }

// find is h's slot; 0: h is no live handle.
func (l *ledger) find(h uint32) uint32 {
	i := h & l.mask
	if *l.key(i) != h {
		return 0
	}
	runtime.KeepAlive(l)
	return i
}

// take is the handle of a slot that was not live; 0: takeMore may help.
func (l *ledger) take() uint32 {
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
	l.free = was & mask // still 0 if it was
	l.live++
	return h
}

// give frees the slot of a live handle; false: h is none.
func (l *ledger) give(h uint32) bool {
	i := h & l.mask
	k := l.key(i)
	if *k != h {
		return false
	}
	l.live--
	next := (h | l.mask) + 1
	if h > l.last {
		*k = next
		l.retired++
		return true
	}
	*k = next | l.free
	l.free = i
	return true
}

// takeMore is take where that failed.
func (l *ledger) takeMore() (uint32, error) {
	if err := l.more(); err != nil {
		return 0, err
	}
	return l.take(), nil
}

// more makes take work: it finds slots that are not retired, and memory.
func (l *ledger) more() error {
	for {
		for l.used < l.room && l.isRetired(l.used+1) {
			l.used++
		}
		if l.used < l.room {
			l.top = l.room
			if l.retired != 0 {
				l.top = l.used + 1
				for l.top < l.room && !l.isRetired(l.top+1) {
					l.top++
				}
			}
			return nil
		}
		switch {
		case l.memory == nil:
			return ErrClosed
		case l.room == l.max:
			return ErrFull
		}
		step := min(l.memory.step(l.room), l.max-l.room)
		if !l.memory.commit(l.room+step) && !l.memory.commit(l.room+1) {
			return ErrNoMemory
		}
		l.room = l.memory.room(l.max)
	}
}

func (l *ledger) isRetired(i uint32) bool { return l.retires && *l.key(i) >= ^l.mask }

// liveIn tells which of the 64 slots behind i are live. It has no branch that could be mispredicted: a subtraction borrows
// where the key has its slot's index in it, and the borrow is shifted in.
func (l *ledger) liveIn(i uintptr) (set uint64) {
	keys, mask := l.keys, l.mask
	for j := i + 64; j != i; j -= 2 {
		set = shiftIn(set, (*word(keys, uint32(j))^uint32(j))&mask)
		set = shiftIn(set, (*word(keys, uint32(j-1))^uint32(j-1))&mask)
	}
	return set
}

// shiftIn shifts a bit into a set: whether n is 0.
func shiftIn(set uint64, n uint32) uint64 {
	_, zero := bits.Sub64(uint64(n), 1, 0)
	set, _ = bits.Add64(set, set, zero)
	return set
}

// clear frees all slots, in time proportional to how many have been used since the last time.
func (l *ledger) clear() {
	mask, last := l.mask, l.last
	keys := unsafe.Slice(l.key(0), uintptr(l.used)+1)[1:]
	for i, k := range keys {
		other := uint64((k ^ uint32(i+1)) & mask)
		if k > last && other == 0 {
			l.retired++
		}
		keys[i] = k&^mask + (mask+1)&uint32((other-1)>>32) // one generation on where it is live
	}
	l.free, l.used, l.live, l.top = 0, 0, 0, 0
}

// trim forgets the use of slots above the highest live one, and gives their memory back.
func (l *ledger) trim() {
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
	if l.fixed {
		for _, s := range l.memory.all[1:] {
			s.empty(s.bytes(l.used), s.committed)
		}
		return
	}
	for _, s := range l.memory.all[1:] { // keys stay, for the generations in them
		s.decommit(s.bytes(l.used))
	}
	l.room = l.memory.room(l.max)
}

func (l *ledger) close() {
	if l.memory == nil {
		return
	}
	l.cleanup.Stop()
	l.memory.release()
	*l = ledger{keys: unsafe.Pointer(&closedKeys), mask: 1}
}
