// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

// Streams of operations on a pool or a table, compared with a map of what was written.

// A subject is a pool or a table. Handles and rows are numbers here.
type subject interface {
	take(uninit bool) (uint32, error)
	drop(h uint32) bool
	parts(h uint32) [][]byte // the bytes of a value, those of each column apart; nil if it is not live
	place(h uint32) int      // of a live value, in the order of all
	all() iter.Seq[uint32]
	inside() *slots
	agree(m *model) // compares what pools or tables alone have

	Len() int
	Cap() int
	Retired() int
	Bytes() (reserved, committed uint64)
	Clear()
	Trim()
	Close()
}

func content[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// ---- pools ----

type poolSubject[T any] struct{ *Pool[T] }

func poolOf[T any](t testing.TB, o Options) subject { return poolSubject[T]{newPool[T](t, o)} }

func (p poolSubject[T]) take(uninit bool) (uint32, error) {
	make := p.New
	if uninit {
		make = p.NewUninit
	}
	h, v, err := make()
	if (v == nil) != (err != nil) || v != p.At(h) {
		return 0, fmt.Errorf("%p for %#x: %v", v, h, err)
	}
	return uint32(h), err
}

func (p poolSubject[T]) parts(h uint32) [][]byte {
	if v := p.At(Handle[T](h)); v != nil {
		return [][]byte{content(v)}
	}
	return nil
}

func (p poolSubject[T]) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for h, v := range p.All() {
			if v != p.At(h) {
				panic("All and At differ")
			}
			if !yield(uint32(h)) {
				return
			}
		}
	}
}

func (p poolSubject[T]) drop(h uint32) bool { return p.Free(Handle[T](h)) }
func (p poolSubject[T]) place(h uint32) int { return int(h & p.mask) }
func (p poolSubject[T]) inside() *slots     { return &p.slots }
func (p poolSubject[T]) agree(*model)       {}

// ---- tables ----

type vec [3]float32

type tableSubject[T any] struct {
	*Table
	a *Column[byte]
	b *Column[vec]
	c *Column[T]
	d *Column[struct{}]
}

func tableOf[T any](t testing.TB, o Options, packed bool) subject {
	table := newTable(t, TableOptions{o.Slots, o.MaxSlots, o.Fixed, o.Retire, packed})
	return tableSubject[T]{table, addColumn[byte](t, table), addColumn[vec](t, table), addColumn[T](t, table), addColumn[struct{}](t, table)}
}

func (s tableSubject[T]) take(bool) (uint32, error) {
	row, err := s.New()
	return uint32(row), err
}

func (s tableSubject[T]) parts(h uint32) [][]byte {
	row := Row(h)
	if s.Live(row) {
		return [][]byte{content(s.a.At(row)), content(s.b.At(row)), content(s.c.At(row)), content(s.d.At(row))}
	}
	if s.Index(row) != -1 || s.a.At(row) != nil || s.b.At(row) != nil || s.c.At(row) != nil || s.d.At(row) != nil {
		panic("a row that is not live has an index or elements")
	}
	return nil
}

func (s tableSubject[T]) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for row := range s.Rows() {
			if !yield(uint32(row)) {
				return
			}
		}
	}
}

func (s tableSubject[T]) drop(h uint32) bool { return s.Free(Row(h)) }
func (s tableSubject[T]) place(h uint32) int { return s.Index(Row(h)) }
func (s tableSubject[T]) inside() *slots     { return &s.slots }

// agree compares the columns by index.
func (s tableSubject[T]) agree(m *model) {
	n, live := len(s.c.Storage()), 0
	if m.packed && n != len(m.seeds) || len(s.a.Storage()) != n || len(s.b.Storage()) != n || len(s.d.Storage()) != n {
		m.t.Fatalf("slices of %d, %d, %d and %d", len(s.a.Storage()), len(s.b.Storage()), n, len(s.d.Storage()))
	}
	for i := range n {
		row := s.RowAt(i)
		if _, ok := m.seeds[uint32(row)]; ok != (row != 0) || ok && (s.Index(row) != i || s.c.At(row) != &s.c.Storage()[i]) {
			m.t.Fatalf("at %d: row %#x, Index %d", i, row, s.Index(row))
		} else if ok {
			live++
		}
	}
	slice, panicked := call(reflect.ValueOf(s.c.Slice)) // of the live rows, or none
	if holes := live != 0 && live != n; (panicked != nil) != holes || !holes && slice[0].Len() != live ||
		!holes && live != 0 && slice[0].UnsafePointer() != unsafe.Pointer(&s.c.Storage()[0]) {
		m.t.Fatalf("%v, %v; %d rows of %d", slice, panicked, live, n)
	}
	if live != len(m.seeds) || s.RowAt(-1) != 0 || s.RowAt(n) != 0 {
		m.t.Fatalf("%d of %d rows by index", live, len(m.seeds))
	}
}

// ---- the model ----

// A model is a subject and its expected contents.
type model struct {
	t testing.TB
	subject
	o       Options
	packed  bool
	seeds   map[uint32]byte // live, and what was written there
	order   []uint32        // the same, to pick from
	freed   map[uint32]bool // stale
	retired int
}

func newModel(t testing.TB, s subject, o Options, packed bool) *model {
	return &model{t: t, subject: s, o: o, packed: packed, seeds: map[uint32]byte{}, freed: map[uint32]bool{}}
}

func stamp(b []byte, seed byte) {
	for i := range b {
		b[i] = seed + byte(i)
	}
}

func stamped(b []byte, seed byte) bool {
	for i := range b {
		if b[i] != seed+byte(i) {
			return false
		}
	}
	return true
}

func (m *model) add(seed byte, uninit bool) {
	h, err := m.take(uninit)
	if err != nil {
		full := m.inside().max - m.inside().retired
		if !errors.Is(err, ErrFull) || len(m.seeds) != int(full) || h != 0 {
			m.t.Fatalf("%v with %d of %d live: %#x", err, len(m.seeds), full, h)
		}
		return
	}
	m.note(h, seed, uninit)
}

// note writes to a value that was made.
func (m *model) note(h uint32, seed byte, uninit bool) {
	m.t.Helper()
	if _, live := m.seeds[h]; live || h == 0 || m.freed[h] && m.o.Retire {
		m.t.Fatalf("%#x came again", h)
	}
	delete(m.freed, h)
	parts := m.parts(h)
	for _, part := range parts {
		if !uninit && len(bytes.Trim(part, "\x00")) != 0 {
			m.t.Fatalf("a new value is %v", part)
		}
		stamp(part, seed)
	}
	if parts == nil {
		m.t.Fatalf("%#x is not live", h)
	}
	m.seeds[h] = seed
	m.order = append(m.order, h)
}

func (m *model) holds(h uint32) bool {
	seed, live := m.seeds[h]
	for _, part := range m.parts(h) {
		live = live && stamped(part, seed)
	}
	return live && m.parts(h) != nil
}

// forget leaves the handle in m.order to the caller, because a search for each would take quadratic time.
func (m *model) forget(h uint32) {
	delete(m.seeds, h)
	m.freed[h] = true
	if h > m.inside().last {
		m.retired++
	}
}

func (m *model) free(i int) {
	if len(m.order) == 0 {
		return
	}
	i %= len(m.order)
	h := m.order[i]
	m.order[i] = m.order[len(m.order)-1]
	m.order = m.order[:len(m.order)-1]
	if !m.holds(h) {
		m.t.Fatalf("%#x was overwritten", h)
	}
	if !m.drop(h) || m.drop(h) || m.parts(h) != nil {
		m.t.Fatalf("%#x is live after it was freed", h)
	}
	m.forget(h)
}

// none requires that a handle refers to nothing, unless it is live.
func (m *model) none(h uint32) {
	if _, live := m.seeds[h]; live {
		return
	}
	before := *m.inside()
	if m.parts(h) != nil || m.drop(h) || *m.inside() != before {
		m.t.Fatalf("%#x is live", h)
	}
}

// look compares the whole subject with the model.
func (m *model) look() {
	m.t.Helper()
	if m.Len() != len(m.seeds) || m.Len() > m.Cap() || m.Retired() != m.retired || m.o.Fixed && m.Cap() != m.o.Slots {
		m.t.Fatalf("Len %d, Cap %d, Retired %d, but %d and %d", m.Len(), m.Cap(), m.Retired(), len(m.seeds), m.retired)
	}
	last, n := -1, 0
	for h := range m.all() {
		i := m.place(h)
		if !m.holds(h) || !m.packed && i <= last || m.packed && last != -1 && i != last-1 {
			m.t.Fatalf("%#x at %d, behind %d", h, i, last)
		}
		last = i
		n++
	}
	if n != len(m.seeds) {
		m.t.Fatalf("visited %d of %d", n, len(m.seeds))
	}
	m.agree(m)
	looked := 0
	for h := range m.freed { // a sample
		if m.none(h); looked == 300 {
			break
		}
		looked++
	}
}

func (m *model) clear() {
	m.Clear()
	for _, h := range m.order {
		m.forget(h)
	}
	m.order = m.order[:0]
	m.look()
}

func (m *model) trim() {
	reserved, before := m.Bytes()
	m.Trim()
	same, after := m.Bytes()
	if same != reserved || after > before || m.o.Fixed && after != before {
		m.t.Fatalf("%d committed of %d, then %d of %d", before, reserved, after, same)
	}
	m.look()
}

// sweep frees some while it ranges over all. In a packed table it frees the current one only, since another would move a row.
func (m *model) sweep(every int) {
	seen, freed := map[uint32]bool{}, map[uint32]bool{}
	for h := range m.all() {
		if freed[h] || seen[h] || !m.holds(h) {
			m.t.Fatalf("%#x: freed %v, seen %v", h, freed[h], seen[h])
		}
		seen[h] = true
		if len(seen)%every != 0 {
			continue
		}
		victims := []uint32{h, m.order[len(seen)*every%len(m.order)]}
		if m.packed {
			victims = victims[:1]
		}
		for _, h := range victims {
			if m.drop(h) == freed[h] {
				m.t.Fatalf("%#x: freed %v", h, freed[h])
			}
			freed[h] = true
		}
	}
	for h := range freed {
		m.forget(h)
	}
	m.order = slices.DeleteFunc(m.order, func(h uint32) bool { return freed[h] })
	for _, h := range m.order {
		if !seen[h] {
			m.t.Fatalf("%#x was not visited", h)
		}
	}
	m.look()
}

// run performs the operations that the bytes encode.
func (m *model) run(stream []byte) {
	byteOf := func() (b byte) {
		if len(stream) != 0 {
			b, stream = stream[0], stream[1:]
		}
		return b
	}
	wordOf := func() uint32 {
		return uint32(byteOf()) | uint32(byteOf())<<8 | uint32(byteOf())<<16 | uint32(byteOf())<<24
	}
	for len(stream) != 0 {
		switch op := byteOf(); {
		case op < 100:
			m.add(byteOf(), op%8 == 0)
		case op < 190:
			m.free(int(byteOf()))
		case op < 200:
			for range byteOf() {
				m.add(op, false)
			}
		case op < 210:
			for range byteOf() {
				m.free(int(op))
			}
		case op < 220: // one slot, over and over
			for range byteOf() {
				m.add(op, false)
				m.free(len(m.order) - 1)
			}
		case op < 230:
			m.none(wordOf())
		case op < 235:
			m.none(wordOf() & m.inside().mask)
		case op < 240 && len(m.order) != 0: // other generations of a live slot
			m.none(m.order[len(m.order)/2] ^ wordOf()&^m.inside().mask)
		case op < 245:
			m.sweep(int(byteOf())%7 + 1)
		case op < 250:
			m.trim()
		case op < 253:
			m.clear()
		default:
			m.look()
		}
	}
	m.look()
}

func runStream(t testing.TB, s subject, o Options, packed bool, stream []byte) {
	m := newModel(t, s, o, packed)
	if o.Fixed && o.Retire { // as though the slots had been used often
		for i := range s.inside().max {
			*s.inside().key(i + 1) = ^s.inside().mask - 4*(s.inside().mask+1)
		}
	}
	m.none(0)
	m.run(stream)
	for h := range m.freed {
		m.none(h)
	}
	for range 2 {
		s.Close()
		clear(m.seeds)
		for _, h := range append(m.order, 0, 1, 2, ^uint32(0)) {
			m.none(h)
		}
		if h, err := s.take(false); h != 0 || err != ErrClosed {
			t.Error(h, err)
		}
		s.Clear()
		s.Trim()
	}
}

// Options under which every stream is run. The narrow ones have one or two bits of generation.
var streamOptions = map[string]Options{
	"growing":       {},
	"started":       {Slots: 100},
	"bounded":       {MaxSlots: 70},
	"fixed":         {Slots: 50, Fixed: true},
	"single":        {Slots: 1, Fixed: true},
	"narrow":        {MaxSlots: 1 << 30},
	"retire":        {Slots: 40, Fixed: true, Retire: true},
	"retire narrow": {MaxSlots: 1 << 29, Retire: true},
	"retire early":  {MaxSlots: 1 << 30, Retire: true},
}

type (
	pair     struct{ a, b uint64 }
	three    [3]byte
	kilobyte [1024]byte
	page     [5000]byte
)

// runPool runs a stream on a pool of one of several types.
func runPool(t testing.TB, o Options, kind int, stream []byte) {
	switch kind {
	case 0:
		runStream(t, poolOf[pair](t, o), o, false, stream)
	case 1:
		runStream(t, poolOf[three](t, o), o, false, stream)
	case 2:
		runStream(t, poolOf[byte](t, o), o, false, stream)
	case 3:
		runStream(t, poolOf[struct{}](t, o), o, false, stream)
	default:
		o.MaxSlots = min(o.MaxSlots, 1<<24)
		runStream(t, poolOf[page](t, o), o, false, stream[:min(len(stream), 500)])
	}
}

func randomStream(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func TestStreams(t *testing.T) {
	n, rounds := 4000, uint64(4)
	if testing.Short() {
		n, rounds = 1000, 1
	}
	for name, o := range streamOptions {
		for kind := range 5 {
			t.Run(fmt.Sprintf("%s/Pool %d", name, kind), func(t *testing.T) { runPool(t, o, kind, randomStream(uint64(kind), n)) })
		}
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/Table, packed %v", name, packed), func(t *testing.T) {
				for seed := range rounds {
					runStream(t, tableOf[uint64](t, o, packed), o, packed, randomStream(seed, n))
				}
			})
		}
	}
}

func FuzzPool(f *testing.F) {
	names := slices.Sorted(maps.Keys(streamOptions))
	for i := range names {
		f.Add(byte(i), randomStream(uint64(i), 300))
	}
	f.Fuzz(func(t *testing.T, kind byte, stream []byte) {
		runPool(t, streamOptions[names[int(kind)%len(names)]], int(kind/50), stream[:min(len(stream), 1000)])
	})
}

func FuzzTable(f *testing.F) {
	names := slices.Sorted(maps.Keys(streamOptions))
	for i := range names {
		f.Add(byte(i), true, randomStream(uint64(i), 300))
		f.Add(byte(i), false, randomStream(uint64(i), 300))
	}
	f.Fuzz(func(t *testing.T, kind byte, packed bool, stream []byte) {
		o := streamOptions[names[int(kind)%len(names)]]
		runStream(t, tableOf[uint64](t, o, packed), o, packed, stream[:min(len(stream), 1000)])
	})
}
