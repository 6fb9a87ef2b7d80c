//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

// ---- marks, resets, budgets ----

func TestMarksThatAreRefused(t *testing.T) {
	a, b := newArena(t, Options{}), newArena(t, Options{})
	New[int64](a)
	m := a.Mark()
	a.Reset()
	b.Alloc(64, 8)
	before := a.Stats()
	for _, m := range []Mark{m, b.Mark()} {
		wantError(t, outcome(func() { a.Rewind(m) }), "toft: Rewind: mark of another arena, or from before a reset", ErrMark)
	}
	if a.Stats() != before {
		t.Error("a bad mark changed the arena")
	}
}

func TestContiguous(t *testing.T) {
	a := newArena(t, Options{Contiguous: 1 << 24})
	first := uintptr(a.Alloc(1, 8))
	var last uintptr
	for range 1000 {
		last = uintptr(a.Alloc(8192, 8))
	}
	if last-first != 8+999*8192 {
		t.Errorf("the last is %d bytes behind the first", last-first)
	}
	if _, err := a.TryAlloc(1<<24, 8); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	_, err := NewArena(Options{Contiguous: ^uint(0) >> 1})
	wantError(t, err, "toft: NewArena: out of memory or over budget", ErrNoMemory)
	_, err = NewArena(Options{Contiguous: 4096, Reserve: 4097})
	wantError(t, err, "toft: NewArena: Reserve exceeds Contiguous: bad argument", ErrArgument)
}

// Reading after the committed part of a range faults.
func TestNothingAtTheEndOfMemory(t *testing.T) {
	for _, align := range []int{8, 16} {
		for name, use := range map[string]func(a *Arena){
			"Alloc":            func(a *Arena) { a.Alloc(0, align) },
			"MakeSlice":        func(a *Arena) { MakeSlice[uint64](a, 0) },
			"MakeSliceAligned": func(a *Arena) { MakeSliceAligned[uint64](a, 0, uint(align)) },
			"elements":         func(a *Arena) { MakeSlice[struct{}](a, 5)[4] = struct{}{} },
			"CopySlice":        func(a *Arena) { CopySlice(a, []uint64{}) },
			"CStringN":         func(a *Arena) { a.CStringN("") },
			"CBytes":           func(a *Arena) { a.CBytes([]byte{}) },
			"nil":              func(a *Arena) { a.CBytes(nil) },
			"Plain":            func(a *Arena) { UninitOf[uint64]().MakeSlice(a, 0) },
			"New":              func(a *Arena) { *New[struct{}](a) = struct{}{} },
			"Copy":             func(a *Arena) { *Copy(a, struct{}{}) = struct{}{} },
			"NewAligned":       func(a *Arena) { *NewAligned[struct{}](a, uint(align)) = struct{}{} },
		} {
			a := newArena(t, Options{Contiguous: 1 << 20})
			a.AllocUninit(int(uintptr(a.Pointer())+committed-a.cursor), 8)
			if a.limit != a.cursor {
				t.Fatalf("%s: %d bytes are left", name, a.limit-a.cursor)
			}
			use(a)
		}
	}
}

// The bytes that a range commits at a time.
const committed = 64 << 10

func TestReserve(t *testing.T) {
	a := newArena(t, Options{Reserve: 1 << 20})
	calls := a.Stats().SourceCalls
	a.Alloc(1<<20, 8)
	if s := a.Stats(); s.SourceCalls > calls+1 {
		t.Errorf("%+v", s)
	}
}

// ---- ownership ----

func TestMisusePanics(t *testing.T) {
	var zero Arena
	wantEnded(t, &zero, Mark{epoch: 2}, "not made by this package")
	wantPanic(t, "that is not leased", zero.lease().Return)
	wantPanic(t, "NewArena or Own did not return", zero.Release)
	wantPanic(t, "nil pointer", func() { New[int]((*Arena)(nil)) })

	a := must1(NewArena(Options{}))
	wantPanic(t, "not leased", a.lease().Return)
	a.Release()
	wantPanic(t, "released before", a.Release)

	b := Get()
	wantPanic(t, "which Return ends", b.Arena.Release)
	if _, err := Own(b.Pointer()); !errors.Is(err, ErrNoArena) {
		t.Error(err)
	}
	b.Return()
}

func TestUseAfterRelease(t *testing.T) {
	for name, o := range map[string]Options{
		"heap": {}, "budget": {Budget: 1 << 20}, "reserve": {Reserve: 1 << 20}, "contiguous": {Contiguous: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			for _, used := range []bool{false, true} {
				a := must1(NewArena(o))
				if used {
					a.Alloc(200_000, 8)
				}
				m := a.Mark()
				a.Release()
				for range 100 { // which have memory of their own
					b := newArena(t, Options{})
					if b == a {
						t.Fatal("the same head")
					}
					b.Alloc(100, 8)
				}
				wantEnded(t, a, m, "after Release")
				wantPanic(t, "released before", a.Release)
				wantPanic(t, "not leased", a.lease().Return)
				if ctest.List(a.Pointer(), 1) != nil {
					t.Error("C allocates from a released arena")
				}
			}
		})
	}
}

// The number of kept heads is limited.
func TestRetiredHeadsEnd(t *testing.T) {
	var before int
	for i := range 4 * mostRetired {
		was := setDebug(i%16 == 0)
		a := must1(NewArena(Options{Contiguous: uint(i%2) << 20}))
		a.Alloc(100_000, 8)
		a.Release()
		setDebug(was)
		if i == mostRetired {
			before = ctest.HeapInUse()
		}
	}
	if n := len(retired.arenas); n != mostRetired && unsafe.Sizeof(n) == 8 || n > mostRetired {
		t.Errorf("%d heads are kept", n)
	}
	if now := ctest.HeapInUse(); now > before+128<<10 {
		t.Errorf("%d bytes became %d", before, now)
	}
}

func TestWrapRefusesWhatIsNoArena(t *testing.T) {
	words := make([]uintptr, 8)
	refused := func(name string, p unsafe.Pointer, want error) {
		t.Helper()
		if a, err := Wrap(p); a != nil || !errors.Is(err, want) {
			t.Errorf("%s: %v %v", name, a, err)
		}
		if a, err := Own(p); a != nil || !errors.Is(err, want) {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
	refused("nil", nil, ErrNoArena)
	refused("zeroes", unsafe.Pointer(&words[0]), ErrNoArena)

	// A valid head, and heads with one wrong member.
	head := func(version, missing uint32) *Arena {
		p := ctest.Foreign(version, missing)
		t.Cleanup(func() { ctest.Free(p) })
		return (*Arena)(p)
	}
	good := head(1, 0)
	if a, err := Wrap(good.Pointer()); a != good || err != nil {
		t.Errorf("%v %v", a, err)
	}
	refused("version 2", head(2, 0).Pointer(), ErrVersion)
	refused("version 0", head(0, 0).Pointer(), ErrVersion)
	refused("short", head(1, 1).Pointer(), ErrVersion)
	refused("misaligned", unsafe.Add(good.Pointer(), 1), ErrNoArena)
	for name, wrong := range map[string]func(a *Arena){
		"no table":                func(a *Arena) { a.ops = 0 },
		"no cursor":               func(a *Arena) { a.cursor = 0 },
		"limit before the cursor": func(a *Arena) { a.limit = a.cursor - 8 },
		"cursor misaligned":       func(a *Arena) { a.cursor++ },
		"limit misaligned":        func(a *Arena) { a.limit-- },
	} {
		a := head(1, 0)
		wrong(a)
		refused(name, a.Pointer(), ErrNoArena)
	}
}

// ---- with C ----

// Every byte of an arena that C made is returned to C's source.
func TestArenaMadeByC(t *testing.T) {
	held := ctest.Held()
	for _, own := range []bool{false, true} {
		p := ctest.Create(0)
		a, err := Wrap(p)
		if own {
			a, err = Own(p)
		}
		if err != nil {
			t.Fatal(err)
		}
		MakeSlice[int](a, 100_000)
		ran := false
		a.Cleanup(func() { ran = true })
		if own {
			if _, err := Own(p); !errors.Is(err, ErrNoArena) {
				t.Error(err)
			}
			a.Release()
		} else {
			wantPanic(t, "did not return", a.Release)
			wantPanic(t, "not leased", a.lease().Return)
			ctest.Release(p)
		}
		if !ran || ctest.Held() != held {
			t.Errorf("cleanup ran: %v; %d bytes are held, not %d", ran, ctest.Held(), held)
		}
	}
	p := ctest.Create(200)
	defer ctest.Release(p)
	a, err := Wrap(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryNew[[300]byte](a); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	if ctest.List(p, 1000) != nil {
		t.Error("C went over the budget that Go sees")
	}
}

// While C has claimed a range, Go allocates elsewhere, and operations that would free the range are refused.
func TestClaimedByC(t *testing.T) {
	c := must1(NewArena(Options{Contiguous: 1 << 20}))
	a, b := newArena(t, Options{}), Get()
	m := a.Mark()
	for _, row := range []struct {
		a       *Arena
		name    string
		refused func()
	}{
		{a, "Rewind", func() { a.Rewind(m) }},
		{a, "Reset", a.Reset},
		{a, "SetBudget", func() { a.SetBudget(1) }},
		{c, "Release", c.Release},
		{&b.Arena, "Return", b.Return},
	} {
		New[int64](row.a)
		if !ctest.Claim(row.a.Pointer()) {
			t.Fatal("no claim")
		}
		if row.a == a {
			if p := New[mixed](a); *p != (mixed{}) {
				t.Error("not zeroed")
			}
		}
		wantError(t, outcome(row.refused), "toft: "+row.name+": a range of the arena is claimed, or a cleanup is running", ErrBusy)
		if !ctest.Give(row.a.Pointer()) {
			t.Fatal("not given")
		}
	}
	a.Rewind(m)
	c.Release()
	b.Return()
}
