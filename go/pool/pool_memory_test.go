// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"toft.dev/toft/internal/offheap"
	"toft.dev/toft/internal/testutil"
)

// ---- limits and failures ----

func TestFixedPoolIsFull(t *testing.T) {
	const n = 1000
	p := newPool[pair](t, Options{Slots: n, Fixed: true})
	_, committed := p.Bytes()
	if p.Cap() != n {
		t.Error(p.Cap())
	}
	var hs []Handle[pair]
	for range n {
		hs = append(hs, mustNew(t, p))
	}
	for range 3 {
		if h, v, err := p.New(); h != 0 || v != nil || err != ErrFull {
			t.Fatal(h, v, err)
		}
	}
	first, last := uintptr(unsafe.Pointer(p.At(hs[0]))), uintptr(unsafe.Pointer(p.At(hs[n-1])))
	if first%64 != 0 || last-first != (n-1)*16 {
		t.Errorf("%#x to %#x", first, last)
	}
	p.Free(hs[500])
	if h, v, err := p.New(); err != nil || h == hs[500] || v == nil || p.Len() != n {
		t.Error(h, v, err)
	}
	if _, after := p.Bytes(); after != committed || p.Cap() != n {
		t.Errorf("%d bytes, then %d", committed, after)
	}
}

func TestGrowingPoolNeverMoves(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	p := newPool[pair](t, Options{MaxSlots: n})
	reserved, committed := p.Bytes()
	if committed > 256<<10 {
		t.Errorf("%d bytes committed for nothing", committed)
	}
	addresses := make([]*pair, n)
	hs := make([]Handle[pair], n)
	for i := range n {
		h, v, err := p.New()
		if err != nil {
			t.Fatal(err)
		}
		v.a = uint64(i)
		addresses[i], hs[i] = v, h
	}
	if _, _, err := p.New(); err != ErrFull {
		t.Error(err)
	}
	for i, h := range hs {
		if p.At(h) != addresses[i] || addresses[i].a != uint64(i) {
			t.Fatal(i)
		}
	}
	same, all := p.Bytes()
	if same != reserved || all > reserved || all < uint64(n)*(16+4) || p.Cap() != n {
		t.Errorf("%d of %d bytes, %d slots", all, same, p.Cap())
	}
	for _, h := range hs[n/10:] {
		p.Free(h)
	}
	p.Trim()
	if _, less := p.Bytes(); less > all/2 || p.Cap() > n/4 {
		t.Errorf("%d of %d bytes after Trim, %d slots", less, all, p.Cap())
	}
	for i, h := range hs[:n/10] {
		if p.At(h) != addresses[i] || addresses[i].a != uint64(i) {
			t.Fatal(i)
		}
	}
	for i := n / 10; i < n; i++ { // the memory comes back, and at the same place
		if h, v, err := p.New(); err != nil || v != addresses[i] || *v != (pair{}) || h == hs[i] || p.At(hs[i]) != nil {
			t.Fatal(i, h, err)
		}
	}
}

func TestNewPoolRefusesBadOptions(t *testing.T) {
	for _, o := range []Options{
		{Slots: -1}, {MaxSlots: -1}, {Fixed: true}, {Slots: 10, MaxSlots: 5}, {Slots: 10, MaxSlots: 20, Fixed: true},
	} {
		if p, err := New[byte](o); err == nil || p != nil || !strings.HasPrefix(err.Error(), "pool: Pool[uint8]: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []Options{{Slots: 10, MaxSlots: 10, Fixed: true}, {Slots: 10, MaxSlots: 10}, {MaxSlots: 1}} {
		newPool[byte](t, o)
	}
}

func TestNoAddressSpaceIsAnError(t *testing.T) {
	noAddressSpace[[1 << 20]byte](t)
}

func noAddressSpace[T any](t *testing.T) {
	p, err := New[T](Options{MaxSlots: mostSlots})
	if p != nil || !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "no address space for ") {
		t.Error(err)
	}
}

// failCommits makes the system refuse memory after k times, until goOn is called.
func failCommits(t testing.TB, k int) (goOn func()) {
	real := commitRange
	goOn = func() { commitRange = real }
	t.Cleanup(goOn)
	commitRange = func(p unsafe.Pointer, size uintptr) bool {
		k--
		return k >= 0 && real(p, size)
	}
	return goOn
}

func TestNoMemoryChangesNothing(t *testing.T) {
	build := func(p *Pool[page], n int) error {
		for range n {
			_, v, err := p.New()
			if err != nil {
				return err
			}
			stamp(v[:], 1)
		}
		return nil
	}
	for k := 0; ; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			goOn := failCommits(t, k)
			p, err := New[page](Options{Slots: 10})
			if err != nil {
				if !errors.Is(err, ErrNoMemory) || k > 1 {
					t.Error(err)
				}
				return
			}
			defer p.Close()
			if err = build(p, 300); err == nil {
				if k < 5 {
					t.Error("no failure was met")
				}
				k = -2
				return
			}
			n, cap := p.Len(), p.Cap()
			if err != ErrNoMemory || n < 10 || n != cap {
				t.Errorf("%v at %d of %d", err, n, cap)
			}
			for range 2 {
				if h, v, err := p.New(); h != 0 || v != nil || err != ErrNoMemory || p.Len() != n || p.Cap() != cap {
					t.Error(h, v, err)
				}
			}
			goOn()
			if err := build(p, 300-n); err != nil || p.Len() != 300 {
				t.Error(err)
			}
			for _, v := range p.All() {
				if !stamped(v[:], 1) {
					t.Fatal("overwritten")
				}
			}
		})
		if k < 0 {
			break
		}
	}
}

func TestSmallStepWhereALargeOneFails(t *testing.T) {
	p := newPool[[4096]byte](t, Options{MaxSlots: 20_000})
	for range 5000 {
		mustNew(t, p)
	}
	real := commitRange
	defer func() { commitRange = real }()
	commitRange = func(q unsafe.Pointer, size uintptr) bool { return size <= offheap.HugePage && real(q, size) }
	for range 10_000 {
		mustNew(t, p)
	}
}

// ---- clear, trim, close ----

func TestClearMakesHandlesStale(t *testing.T) {
	p := newPool[pair](t, Options{})
	var all []Handle[pair]
	for round := range 10 {
		for i := range 5000 {
			h := mustNew(t, p)
			if i%3 == round%3 {
				p.Free(h)
			}
			all = append(all, h)
		}
		p.Clear()
		if p.Len() != 0 {
			t.Fatal(p.Len())
		}
		for range p.All() {
			t.Fatal("not empty")
		}
		for range 100 {
			mustNew(t, p)
		}
		for _, h := range all {
			if p.At(h) != nil || p.Free(h) {
				t.Fatalf("%#x is live after Clear", h)
			}
		}
	}
}

func TestTrimReturnsMemory(t *testing.T) {
	for _, o := range []Options{{MaxSlots: 1 << 20}, {Slots: 100_000, Fixed: true}} {
		p := newPool[[256]byte](t, o)
		var hs []Handle[[256]byte]
		for range 100_000 {
			h := mustNew(t, p)
			p.At(h)[7] = 7
			hs = append(hs, h)
		}
		full := testutil.ResidentBytes(t)
		for _, h := range hs[100:] {
			p.Free(h)
		}
		p.Trim()
		if less := testutil.ResidentBytes(t); full-less < 20<<20 {
			t.Errorf("%+v: %d bytes resident, then %d", o, full, less)
		}
		for i := range 99_900 {
			h, v, err := p.New()
			if err != nil || *v != [256]byte{} {
				t.Fatal(i, err)
			}
			if p.At(hs[100+i]) != nil {
				t.Fatalf("%#x is live again as %#x", hs[100+i], h)
			}
		}
		p.Close()
	}
}

func TestUseAfterClose(t *testing.T) {
	p := newPool[pair](t, Options{})
	h := mustNew(t, p)
	mustNew(t, p)
	for range 2 {
		p.Close()
		p.Clear()
		p.Trim()
		for _, h := range []Handle[pair]{0, 1, 2, h, ^Handle[pair](0)} {
			if p.At(h) != nil || p.Free(h) {
				t.Error(h)
			}
		}
		for _, make := range []func() (Handle[pair], *pair, error){p.New, p.NewUninit} {
			if h, v, err := make(); h != 0 || v != nil || err != ErrClosed {
				t.Error(h, v, err)
			}
		}
		for range p.All() {
			t.Error("not empty")
		}
		if reserved, committed := p.Bytes(); p.Len()+p.Cap()+p.Retired() != 0 || reserved+committed != 0 {
			t.Error(p.Len(), p.Cap(), reserved, committed)
		}
	}
}

// mapped reports whether a mapping begins at an address.
func mapped(t *testing.T, address uintptr) bool {
	t.Helper()
	return strings.Contains("\n"+testutil.ReadProc(t, "maps"), fmt.Sprintf("\n%x-", address))
}

func makePoolAndTable(t *testing.T) (p *Pool[pair], table *Table, addresses []uintptr) {
	p, err := New[pair](Options{MaxSlots: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	mustNew(t, p)
	if table, err = NewTable(TableOptions{Packed: true}); err != nil {
		t.Fatal(err)
	}
	addColumn[pair](t, table)
	mustRow(t, table)
	for _, s := range append(p.memory.all, table.memory.all...) {
		if addresses = append(addresses, uintptr(s.base)); !mapped(t, uintptr(s.base)) {
			t.Fatalf("no mapping at %p", s.base)
		}
	}
	return p, table, addresses
}

func TestCloseUnmaps(t *testing.T) {
	p, table, addresses := makePoolAndTable(t)
	p.Close()
	table.Close()
	for _, address := range addresses {
		if mapped(t, address) {
			t.Errorf("%#x is mapped", address)
		}
	}
}

func TestForgottenPoolIsUnmapped(t *testing.T) {
	forget := func() []uintptr {
		_, _, addresses := makePoolAndTable(t)
		return addresses
	}
	addresses := forget()
	for range 200 {
		runtime.GC()
		if addresses = slices.DeleteFunc(addresses, func(a uintptr) bool { return !mapped(t, a) }); len(addresses) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("still mapped after 200 collections: %#x", addresses)
}
