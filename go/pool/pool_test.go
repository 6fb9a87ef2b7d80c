// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"bytes"
	"errors"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// onHeap reports whether pools are on the Go heap.
const onHeap = offheap.DefaultSlots < 1<<24-1

// needsSpace ends a test that needs more address space than 32 bits or the Go heap have.
func needsSpace(t testing.TB, err error) {
	t.Helper()
	if (unsafe.Sizeof(uintptr(0)) == 4 || onHeap) && errors.Is(err, ErrNoMemory) {
		t.Skip(err)
	}
}

func newPool[T any](t testing.TB, o Options) *Pool[T] {
	t.Helper()
	p, err := New[T](o)
	needsSpace(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func mustNew[T any](t testing.TB, p *Pool[T]) Handle[T] {
	t.Helper()
	h, v, err := p.New()
	if err != nil || h == 0 || v == nil || v != p.At(h) {
		t.Fatal(h, v, err)
	}
	return h
}

// ---- a pool compared with a map ----

// Options under which every stream is run. The narrow ones have one or two bits of generation.
var poolOptions = map[string]Options{
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

// A poolModel is a pool and its expected contents.
type poolModel[T any] struct {
	t     testing.TB
	p     *Pool[T]
	o     Options
	seeds map[Handle[T]]byte // live, and what was written there
	order []Handle[T]        // the same, to pick from
	freed map[Handle[T]]bool // stale
}

func content[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

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

func (m *poolModel[T]) add(seed byte, uninit bool) {
	make := m.p.New
	if uninit {
		make = m.p.NewUninit
	}
	h, v, err := make()
	if err != nil {
		full := m.p.max - m.p.retired
		if !errors.Is(err, ErrFull) || len(m.seeds) != int(full) || h != 0 || v != nil {
			m.t.Fatalf("%v with %d of %d live: %v, %v", err, len(m.seeds), full, h, v)
		}
		return
	}
	if _, live := m.seeds[h]; live || h == 0 || v == nil || m.p.At(h) != v {
		m.t.Fatalf("handle %#x was live already", h)
	}
	if m.freed[h] {
		if m.o.Retire {
			m.t.Fatalf("handle %#x came again", h)
		}
		delete(m.freed, h)
	}
	if !uninit && len(bytes.Trim(content(v), "\x00")) != 0 {
		m.t.Fatalf("New gave %v", content(v))
	}
	stamp(content(v), seed)
	m.seeds[h] = seed
	m.order = append(m.order, h)
}

func (m *poolModel[T]) forget(h Handle[T]) {
	delete(m.seeds, h)
	m.freed[h] = true
}

func (m *poolModel[T]) free(i int) {
	if len(m.order) == 0 {
		return
	}
	i %= len(m.order)
	h := m.order[i]
	m.order[i] = m.order[len(m.order)-1]
	m.order = m.order[:len(m.order)-1]
	if v := m.p.At(h); v == nil || !stamped(content(v), m.seeds[h]) {
		m.t.Fatalf("%#x was overwritten", h)
	}
	if !m.p.Free(h) {
		m.t.Fatalf("Free(%#x) of a live value", h)
	}
	if m.p.Free(h) || m.p.At(h) != nil {
		m.t.Fatalf("%#x is live after Free", h)
	}
	m.forget(h)
}

func (m *poolModel[T]) none(h Handle[T]) {
	if _, live := m.seeds[h]; live {
		return
	}
	before := m.p.slots
	if v := m.p.At(h); v != nil || m.p.Free(h) {
		m.t.Fatalf("%#x names %p", h, v)
	}
	if m.p.slots != before {
		m.t.Fatalf("Free(%#x) changed something", h)
	}
}

// look compares the whole pool with the model.
func (m *poolModel[T]) look() {
	m.t.Helper()
	if m.p.Len() != len(m.seeds) || m.p.Len() > m.p.Cap() {
		m.t.Fatalf("Len %d, Cap %d, but %d", m.p.Len(), m.p.Cap(), len(m.seeds))
	}
	last, n := uint32(0), 0
	for h, v := range m.p.All() {
		i := uint32(h) & m.p.mask
		seed, live := m.seeds[h]
		if !live || i <= last || v != m.p.At(h) || !stamped(content(v), seed) {
			m.t.Fatalf("%#x: live %v, behind slot %d, %p", h, live, last, v)
		}
		last = i
		n++
	}
	if n != len(m.seeds) {
		m.t.Fatalf("All visited %d of %d", n, len(m.seeds))
	}
	looked := 0
	for h := range m.freed { // a sample
		if m.none(h); looked == 300 {
			break
		}
		looked++
	}
	if m.o.Retire == false && m.p.Retired() != 0 {
		m.t.Fatal("retired ", m.p.Retired())
	}
}

func (m *poolModel[T]) clear() {
	m.p.Clear()
	for _, h := range m.order {
		m.forget(h)
	}
	m.order = m.order[:0]
	m.look()
}

func (m *poolModel[T]) trim() {
	reserved, before := m.p.Bytes()
	m.p.Trim()
	same, after := m.p.Bytes()
	if same != reserved || after > before || m.o.Fixed && after != before {
		m.t.Fatalf("%d committed of %d, then %d of %d", before, reserved, after, same)
	}
	m.look()
}

// sweep frees some while it ranges over all.
func (m *poolModel[T]) sweep(every int) {
	n, freed := 0, map[Handle[T]]bool{}
	for h, v := range m.p.All() {
		if freed[h] || !stamped(content(v), m.seeds[h]) {
			m.t.Fatalf("%#x: %v", h, freed[h])
		}
		if n++; n%every == 0 { // this one, and another
			for _, h := range []Handle[T]{h, m.order[n*every%len(m.order)]} {
				if m.p.Free(h) == freed[h] {
					m.t.Fatalf("Free(%#x): %v", h, freed[h])
				}
				freed[h] = true
			}
		}
	}
	for h := range freed {
		m.forget(h)
	}
	m.order = slices.DeleteFunc(m.order, func(h Handle[T]) bool { return freed[h] })
	m.look()
}

// run performs the operations that the bytes encode.
func (m *poolModel[T]) run(stream []byte) {
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
			m.none(Handle[T](wordOf()))
		case op < 235:
			m.none(Handle[T](wordOf() & m.p.mask))
		case op < 240 && len(m.order) != 0: // other generations of a live slot
			m.none(m.order[len(m.order)/2] ^ Handle[T](wordOf()&^m.p.mask))
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

func runPool[T any](t testing.TB, o Options, stream []byte) {
	p, err := New[T](o)
	needsSpace(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m := &poolModel[T]{t: t, p: p, o: o, seeds: map[Handle[T]]byte{}, freed: map[Handle[T]]bool{}}
	m.none(0)
	m.run(stream)
	p.Close()
	clear(m.seeds)
	for _, h := range m.order {
		m.none(h)
	}
	for h := range m.freed {
		m.none(h)
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

type (
	pair  struct{ a, b uint64 }
	three [3]byte
	page  [5000]byte
)

func TestPoolAgreesWithAMap(t *testing.T) {
	rounds, n := 6, 4000
	if testing.Short() {
		n = 1000
	}
	for name, o := range poolOptions {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(rounds) {
				stream := randomStream(seed, n)
				switch seed % 6 {
				case 0, 1:
					runPool[pair](t, o, stream)
				case 2:
					runPool[three](t, o, stream)
				case 3:
					runPool[byte](t, o, stream)
				case 4:
					runPool[struct{}](t, o, stream)
				case 5:
					if o.MaxSlots <= 1<<24 {
						runPool[page](t, o, stream[:500])
					}
				}
			}
		})
	}
}

// ---- handles ----

func TestForgedHandlesFindNothing(t *testing.T) {
	p := newPool[pair](t, Options{})
	var live []Handle[pair]
	for range 1000 {
		live = append(live, mustNew(t, p))
	}
	for _, h := range live[:500] {
		p.Free(h)
	}
	live = live[500:]
	found := 0
	for i := range uint32(1 << 24) { // each index that a handle can have
		if p.At(Handle[pair](i)) != nil {
			found++
		}
		if h := Handle[pair](i | 1<<24); p.At(h) != nil {
			t.Fatalf("%#x found", h)
		}
	}
	if found != len(live) {
		t.Errorf("%d found, %d live", found, len(live))
	}
	for _, h := range []Handle[pair]{^Handle[pair](0), 1 << 31, 0} {
		if p.At(h) != nil || p.Free(h) {
			t.Errorf("%#x found", h)
		}
	}
}

func TestHandlesOfASmallPool(t *testing.T) {
	p := newPool[byte](t, Options{Slots: 3, Fixed: true})
	a, b := mustNew(t, p), mustNew(t, p)
	p.Free(a)
	const step = 263 // a sample of all there are
	for h := Handle[byte](1); h < ^Handle[byte](0)-step; h += step {
		if p.At(h) != nil && h != b {
			t.Fatalf("%#x found", h)
		}
	}
}

// generations returns how often the only slot of a pool can be used before a handle is repeated.
func generations(t *testing.T, p *Pool[byte]) int {
	first := mustNew(t, p)
	p.Free(first)
	for n := 1; ; n++ {
		h, _, err := p.New()
		if err != nil || h == first || h&Handle[byte](p.mask) != first&Handle[byte](p.mask) {
			p.Free(h)
			return n
		}
		if p.At(first) != nil || !p.Free(h) {
			t.Fatalf("%#x after %#x", h, first)
		}
	}
}

func TestGenerationsGoRound(t *testing.T) {
	for most, want := range map[int]int{1 << 30: 2, 1 << 29: 4, 1<<29 - 1: 8, 1<<24 - 1: 256, 1 << 23: 256, 60_000: 65536} {
		if onHeap && most >= 1<<29-1 {
			continue // that many keys are refused
		}
		if n := generations(t, newPool[byte](t, Options{MaxSlots: most})); n != want {
			t.Errorf("%d slots: a handle came again after %d uses, not %d", most, n, want)
		}
		if most > 1<<24-1 {
			continue
		}
		if n := generations(t, newPool[byte](t, Options{Slots: 1, MaxSlots: most, Retire: true})); n != want-1 {
			t.Errorf("%d slots: one was retired after %d uses, not %d", most, n, want-1)
		}
	}
	if n := generations(t, newPool[byte](t, Options{})); n != 1<<(32-bits.Len(offheap.DefaultSlots)) {
		t.Errorf("by default a handle came again after %d uses", n)
	}
}

func TestRetiredSlotsStayOut(t *testing.T) {
	const slots = 100
	p := newPool[pair](t, Options{MaxSlots: 1<<29 - 1, Retire: true}) // 7 uses for each slot
	seen := map[Handle[pair]]bool{}
	for round := range 20 {
		var hs []Handle[pair]
		for range slots {
			h := mustNew(t, p)
			if seen[h] {
				t.Fatalf("%#x came again", h)
			}
			seen[h] = true
			hs = append(hs, h)
		}
		switch round % 4 {
		case 0:
			p.Clear()
		case 1:
			for _, h := range hs {
				p.Free(h)
			}
			p.Trim()
		case 2:
			for _, h := range hs[:slots/2] {
				p.Free(h)
			}
			p.Clear()
			p.Trim()
		default:
			for _, h := range hs {
				p.Free(h)
			}
		}
		for h := range seen {
			if p.At(h) != nil || p.Free(h) {
				t.Fatalf("round %d: stale %#x found", round, h)
			}
		}
	}
	if p.Retired() != 20/7*slots || p.Len() != 0 {
		t.Errorf("%d retired, %d live", p.Retired(), p.Len())
	}
}

func TestRetiredUntilFull(t *testing.T) {
	p := newPool[byte](t, Options{Slots: 5, MaxSlots: 1 << 20, Retire: true})
	f := newPool[byte](t, Options{Slots: 5, Fixed: true, Retire: true})
	if f.mask != 7 || p.Cap() < 5 {
		t.Fatal(f.mask, p.Cap())
	}
	for i := range f.max { // as though they had been used often
		*f.key(i + 1) = ^f.mask - 4*(f.mask+1)
	}
	n := 0
	for {
		h, _, err := f.New()
		if err != nil {
			if !errors.Is(err, ErrFull) || f.Cap() != 5 || f.Retired() != 5 {
				t.Error(err, f.Cap(), f.Retired())
			}
			break
		}
		n++
		f.Free(h)
	}
	if n != 5*4 {
		t.Errorf("%d uses", n)
	}
	f.Clear()
	f.Trim()
	if _, _, err := f.New(); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

type (
	inPool   struct{ Next struct{ Name string } }
	inPool2  struct{ Links [3]*int }
	inPool3  struct{ U uintptr }
	inPool4  struct{ Left, Right Handle[inPool4] }
	inPool5  struct{ A, B unsafe.Pointer }
	noLength struct {
		_ [0]func()
		N int
	}
)

func TestPoolsHoldNoPointers(t *testing.T) {
	refuse := func(err error, want string) {
		t.Helper()
		want = "pool: Pool[" + want + ", which memory outside the Go heap cannot hold"
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	_, err := New[inPool](Options{})
	refuse(err, "pool.inPool]: field Next.Name is a string")
	_, err = New[inPool2](Options{})
	refuse(err, "pool.inPool2]: field Links[0] is a pointer")
	_, err = New[inPool5](Options{})
	refuse(err, "pool.inPool5]: field A is an unsafe.Pointer")
	_, err = New[string](Options{})
	refuse(err, "string]: it is a string")
	_, err = New[*int](Options{})
	refuse(err, "*int]: it is a pointer")
	_, err = New[[]byte](Options{})
	refuse(err, "[]uint8]: it is a slice")
	_, err = New[any](Options{})
	refuse(err, "interface {}]: it is an interface")
	_, err = New[map[int]int](Options{})
	refuse(err, "map[int]int]: it is a map")
	newPool[inPool3](t, Options{})
	newPool[inPool4](t, Options{})
	newPool[noLength](t, Options{})
	newPool[[4]complex128](t, Options{})
}

// ---- the rest ----

func TestPoolsDoNotAllocate(t *testing.T) {
	p := newPool[pair](t, Options{})
	big := newPool[[1 << 20]byte](t, Options{})
	h := mustNew(t, p)
	if n := testing.AllocsPerRun(100, func() {
		h, v, _ := p.New()
		v.a = 1
		for _, v := range p.All() {
			v.b++
		}
		p.At(h).b++
		p.Free(h)
		b, _, _ := big.New()
		big.Free(b)
	}); n != 0 {
		t.Errorf("%v allocations on the Go heap", n)
	}
	p.Free(h)
}

func TestPoolsAreReadByMany(t *testing.T) {
	p := newPool[pair](t, Options{})
	want := map[Handle[pair]]uint64{}
	for i := range uint64(10_000) {
		h := mustNew(t, p)
		p.At(h).a = i
		want[h] = i
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			got := map[Handle[pair]]uint64{}
			for h, v := range p.All() {
				got[h] = p.At(h).a + v.b
			}
			if !maps.Equal(got, want) {
				t.Error("not the same")
			}
		}()
	}
	readers.Wait()
}

func TestTwoPoolsShareNoLine(t *testing.T) {
	if n := unsafe.Sizeof(Pool[byte]{}); n != 128 {
		t.Errorf("a Pool has %d bytes", n)
	}
	if n := unsafe.Sizeof(Table{}); n != 128 {
		t.Errorf("a Table has %d bytes", n)
	}
}
