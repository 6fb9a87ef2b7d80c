// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// onHeap reports whether pools are on the Go heap.
const onHeap = offheap.DefaultSlots < 1<<24-1

// opened returns v, which was made. It ends a test that needs more address space than 32 bits or the Go heap have.
func opened[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if (unsafe.Sizeof(uintptr(0)) == 4 || onHeap) && errors.Is(err, ErrNoMemory) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newPool[T any](t testing.TB, o Options) *Pool[T] {
	t.Helper()
	p, err := New[T](o)
	opened(t, p, err)
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

func newTable(t testing.TB, o TableOptions) *Table {
	t.Helper()
	table, err := NewTable(o)
	opened(t, table, err)
	t.Cleanup(table.Close)
	return table
}

func addColumn[T any](t testing.TB, table *Table) *Column[T] {
	t.Helper()
	c, err := AddColumn[T](table)
	return opened(t, c, err)
}

func mustRow(t testing.TB, table *Table) Row {
	t.Helper()
	row, err := table.New()
	if err != nil || !table.Live(row) {
		t.Fatal(row, err)
	}
	return row
}

// eachKind runs a test on a pool and on tables.
func eachKind(t *testing.T, o Options, test func(t *testing.T, m *model)) {
	t.Helper()
	t.Run("Pool", func(t *testing.T) { test(t, newModel(t, poolOf[kilobyte](t, o), o, false)) })
	t.Run("Table", func(t *testing.T) { test(t, newModel(t, tableOf[kilobyte](t, o, false), o, false)) })
	t.Run("packed Table", func(t *testing.T) { test(t, newModel(t, tableOf[kilobyte](t, o, true), o, true)) })
}

// fill adds n values.
func (m *model) fill(n int) {
	m.t.Helper()
	for range n {
		if m.add(1, false); len(m.order) == 0 {
			m.t.Fatal("full")
		}
	}
}

// ---- handles ----

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

// ---- loops ----

// What a loop may do at its eleventh visit, and how many visits follow from that. In a packed table the row that moves to the
// place of one that was not reached is visited again.
func TestLoopsThatChangeThePool(t *testing.T) {
	const n = 1000
	free := func(m *model, hs []uint32) {
		for _, h := range hs {
			m.drop(h)
		}
	}
	for name, c := range map[string]struct {
		change         func(m *model, visited, rest []uint32)
		visits, packed int
	}{
		"clear":         {func(m *model, _, _ []uint32) { m.Clear() }, 11, 11},
		"close":         {func(m *model, _, _ []uint32) { m.Close() }, 11, 11},
		"break":         {nil, 11, 11},
		"free all":      {func(m *model, visited, rest []uint32) { free(m, append(visited, rest...)) }, 11, 11},
		"free the rest": {func(m *model, _, rest []uint32) { free(m, rest) }, 11, 22},
		"trim":          {func(m *model, _, rest []uint32) { free(m, rest); m.Trim() }, 11, 22},
		"free this one": {func(m *model, visited, _ []uint32) { free(m, visited[10:]) }, n, n},
		"free the last": {func(m *model, visited, _ []uint32) { free(m, visited[9:10]) }, n, n},
		"add":           {func(m *model, _, _ []uint32) { m.fill(100) }, -1, n}, // undefined if the new ones are behind
		"free the next": {func(m *model, _, rest []uint32) { free(m, rest[:1]) }, n - 1, n},
	} {
		eachKind(t, Options{MaxSlots: 2 * n}, func(t *testing.T, m *model) {
			m.fill(n)
			want := c.visits
			if m.packed {
				want = c.packed
				slices.Reverse(m.order)
			}
			visits := 0
			for h := range m.all() {
				if m.parts(h) == nil {
					t.Fatalf("%s: %#x is visited", name, h)
				}
				if visits++; visits != 11 {
					continue
				}
				if c.change == nil {
					break
				}
				c.change(m, slices.Clone(m.order[:11]), m.order[11:])
			}
			if visits != want && want >= 0 {
				t.Errorf("%s: %d visits, not %d", name, visits, want)
			}
		})
	}
}

// ---- types and options ----

type (
	name        struct{ Next struct{ Name string } }
	links       struct{ Links [3]*int }
	addresses   struct{ A, B unsafe.Pointer }
	number      struct{ U uintptr }
	selfHandles struct{ Left, Right Handle[selfHandles] }
	noLength    struct {
		_ [0]func()
		N int
	}
)

func refusal[T any](t *testing.T) (err [2]error) {
	_, err[0] = New[T](Options{})
	_, err[1] = AddColumn[T](newTable(t, TableOptions{}))
	return err
}

func TestPointersAreRefused(t *testing.T) {
	for want, err := range map[string][2]error{
		"pool.name]: field Next.Name is a string":         refusal[name](t),
		"pool.links]: field Links[0] is a pointer":        refusal[links](t),
		"pool.addresses]: field A is an unsafe.Pointer":   refusal[addresses](t),
		"string]: it is a string":                         refusal[string](t),
		"*int]: it is a pointer":                          refusal[*int](t),
		"[]uint8]: it is a slice":                         refusal[[]byte](t),
		"interface {}]: it is an interface":               refusal[any](t),
		"map[int]int]: it is a map":                       refusal[map[int]int](t),
		"struct { F func() }]: field F is a func":         refusal[struct{ F func() }](t),
		"struct { C [2]chan int }]: field C[0] is a chan": refusal[struct{ C [2]chan int }](t),
	} {
		for i, what := range []string{"pool: Pool[", "pool: Column["} {
			if want := what + want + ", which memory outside the Go heap cannot hold"; err[i] == nil || err[i].Error() != want {
				t.Errorf("%v\nwant %s", err[i], want)
			}
		}
	}
	newPool[number](t, Options{})
	newPool[selfHandles](t, Options{})
	newPool[noLength](t, Options{})
	newPool[[4]complex128](t, Options{})
}

func TestOptions(t *testing.T) {
	wide := []Options{}
	if unsafe.Sizeof(0) == 8 {
		for _, n := range []uint64{mostSlots + 1, 1 << 40} { // not constants: an int of 32 bits cannot hold them
			wide = append(wide, Options{MaxSlots: int(n)}, Options{Slots: int(n), Fixed: true}, Options{Slots: int(n)})
		}
	}
	for _, o := range append(wide, Options{Slots: -1}, Options{MaxSlots: -1}, Options{Fixed: true}, Options{Slots: 10, MaxSlots: 5},
		Options{Slots: 10, MaxSlots: 20, Fixed: true}) {
		if p, err := New[byte](o); err == nil || p != nil || !strings.HasPrefix(err.Error(), "pool: Pool[uint8]: ") {
			t.Errorf("%+v: %v", o, err)
		}
		table, err := NewTable(TableOptions{o.Slots, o.MaxSlots, o.Fixed, o.Retire, false})
		if err == nil || table != nil || !strings.HasPrefix(err.Error(), "pool: Table: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []Options{{Slots: 10, MaxSlots: 10, Fixed: true}, {Slots: 10, MaxSlots: 10}, {MaxSlots: 1}} {
		newPool[byte](t, o)
	}
}

// ---- the rest ----

func TestPoolsDoNotAllocate(t *testing.T) {
	p, big := newPool[pair](t, Options{}), newPool[[1 << 20]byte](t, Options{})
	mustNew(t, p)
	for _, packed := range []bool{false, true} {
		table := newTable(t, TableOptions{Packed: packed})
		c := addColumn[pair](t, table)
		mustRow(t, table)
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
			row, _ := table.New()
			for row := range table.Rows() {
				c.At(row).b++
			}
			for i := range c.Slice() {
				c.Slice()[i].b++
			}
			table.Free(row)
		}); n != 0 {
			t.Errorf("%v allocations on the Go heap", n)
		}
	}
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

// A go vet of a program that copies reports it for this reason.
func TestCopiesAreReported(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[Pool[int]](), reflect.TypeFor[Table](), reflect.TypeFor[Column[int]]()} {
		if _, ok := reflect.New(typ.Field(0).Type).Interface().(sync.Locker); !ok {
			t.Errorf("the first field of %v has no Lock", typ)
		}
	}
}

func TestTwoPoolsShareNoLine(t *testing.T) {
	if p, table := unsafe.Sizeof(Pool[byte]{}), unsafe.Sizeof(Table{}); p != 128 || table != 128 {
		t.Errorf("a Pool has %d bytes, a Table %d", p, table)
	}
}
