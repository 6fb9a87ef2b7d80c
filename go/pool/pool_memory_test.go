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
		hs[i] = mustNew(t, p)
		addresses[i] = p.At(hs[i])
		addresses[i].a = uint64(i)
	}
	check := func(hs []Handle[pair]) {
		t.Helper()
		for i, h := range hs {
			if p.At(h) != addresses[i] || addresses[i].a != uint64(i) {
				t.Fatal(i)
			}
		}
	}
	check(hs)
	if _, _, err := p.New(); err != ErrFull {
		t.Error(err)
	}
	if first, last := uintptr(unsafe.Pointer(addresses[0])), uintptr(unsafe.Pointer(addresses[n-1])); first%64 != 0 || last-first != uintptr(n-1)*16 {
		t.Errorf("%#x to %#x", first, last)
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
	check(hs[:n/10])
	for i := n / 10; i < n; i++ { // the memory comes back, and at the same place
		if h, v, err := p.New(); err != nil || v != addresses[i] || *v != (pair{}) || h == hs[i] || p.At(hs[i]) != nil {
			t.Fatal(i, h, err)
		}
	}
}

func noAddressSpace[T any](t *testing.T) {
	p, err := New[T](Options{MaxSlots: mostSlots})
	if p != nil || !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "no address space for ") {
		t.Error(err)
	}
}

func TestNoAddressSpaceIsAnError(t *testing.T) {
	const most = 1 << (unsafe.Sizeof(0)*8 - 24) // with 64 bits 1 << 40, and the product has 71
	noAddressSpace[[1 << 20]byte](t)
	noAddressSpace[[most]byte](t)
	noAddressSpace[[most >> 8]byte](t)
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
	for k := range 6 {
		eachKind(t, Options{Slots: 10, MaxSlots: 1 << 14}, func(t *testing.T, m *model) {
			goOn := failCommits(t, k)
			failed := false
			for range 10_000 {
				n, cap := m.Len(), m.Cap()
				h, err := m.take(false)
				if err != nil {
					again, err2 := m.take(false)
					if err != ErrNoMemory || err2 != ErrNoMemory || h+again != 0 || n < 10 || m.Len() != n || m.Cap() != cap || n != cap {
						t.Fatalf("%#x, %v, %v at %d of %d", h, err, err2, n, cap)
					}
					failed = true
					goOn()
					if h, err = m.take(false); err != nil {
						t.Fatal(err)
					}
				}
				m.note(h, byte(n), false)
			}
			if !failed {
				t.Error("no failure was met, ", k)
			}
			m.look()
		})
	}
	for k := range 2 {
		goOn := failCommits(t, k)
		if p, err := New[page](Options{Slots: 10}); p != nil || !errors.Is(err, ErrNoMemory) {
			t.Error(p, err)
		}
		goOn()
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

// ---- trim, close ----

func TestTrimReturnsMemory(t *testing.T) {
	const n, keep = 30_000, 100
	for _, o := range []Options{{MaxSlots: 1 << 16}, {Slots: n, Fixed: true}} {
		eachKind(t, o, func(t *testing.T, m *model) {
			m.fill(n)
			full := testutil.ResidentBytes(t)
			freed := m.order[keep:]
			if m.packed { // what stays has the highest indexes
				freed = m.order[:n-keep]
			}
			for _, h := range freed {
				m.drop(h)
			}
			m.Trim()
			if less := testutil.ResidentBytes(t); full-less < 20<<20 {
				t.Errorf("%+v: %d bytes resident, then %d", o, full, less)
			}
			for _, h := range freed {
				m.forget(h)
			}
			m.order = nil
			m.fill(n - keep)
			for _, h := range freed {
				m.none(h)
			}
			m.look()
			m.Close()
		})
	}
}

// mapped reports whether a mapping begins at an address.
func mapped(t *testing.T, address uintptr) bool {
	t.Helper()
	return strings.Contains("\n"+testutil.ReadProc(t, "maps"), fmt.Sprintf("\n%x-", address))
}

// makePoolAndTable returns the addresses of their mappings.
func makePoolAndTable(t *testing.T) (p *Pool[pair], table *Table, addresses []uintptr) {
	p, err := New[pair](Options{MaxSlots: 1 << 20})
	mustNew(t, opened(t, p, err))
	table, err = NewTable(TableOptions{Packed: true})
	addColumn[pair](t, opened(t, table, err))
	mustRow(t, table)
	for _, s := range append(p.memory.all, table.memory.all...) {
		if addresses = append(addresses, uintptr(s.base)); !mapped(t, uintptr(s.base)) {
			t.Fatalf("no mapping at %p", s.base)
		}
	}
	return p, table, addresses
}

func TestClosedAndForgottenPoolsAreUnmapped(t *testing.T) {
	p, table, addresses := makePoolAndTable(t)
	p.Close()
	table.Close()
	for _, address := range addresses {
		if mapped(t, address) {
			t.Errorf("%#x is mapped", address)
		}
	}
	_, _, addresses = makePoolAndTable(t)
	for range 200 {
		runtime.GC()
		if addresses = slices.DeleteFunc(addresses, func(a uintptr) bool { return !mapped(t, a) }); len(addresses) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("still mapped after 200 collections: %#x", addresses)
}
