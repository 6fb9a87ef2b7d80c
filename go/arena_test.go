//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

// ---- marks, resets, budgets ----

func TestRewind(t *testing.T) {
	a := newArena(t, Options{})
	New[int64](a)
	m := a.Mark()
	live := a.Stats().Live
	for size := 8; size < 1<<20; size *= 3 { // within a block, and over many
		for range 3 {
			first := a.Alloc(size, 8)
			a.Alloc(size, 8)
			a.Rewind(m)
			if again := a.Alloc(size, 8); size <= 1000 && again != first {
				t.Fatalf("%p, then %p", first, again)
			}
			a.Rewind(m)
			if a.Stats().Live != live {
				t.Fatalf("%d bytes live, not %d", a.Stats().Live, live)
			}
		}
	}
	a.Scope(func() { a.Alloc(100, 8) })
	func() {
		defer a.Rewind(a.Mark())
		a.Alloc(100_000, 8)
	}()
	wantPanic(t, "on purpose", func() { a.Scope(func() { a.Alloc(100, 8); panic("on purpose") }) })
	if a.Stats().Live != live {
		t.Error("a scope left something")
	}
	a.Reset()
	before := a.Stats()
	wantPanic(t, said(ErrMark), func() { a.Rewind(m) })
	b := newArena(t, Options{})
	wantPanic(t, said(ErrMark), func() { b.Alloc(64, 8); a.Rewind(b.Mark()) })
	if a.Stats() != before {
		t.Error("a bad mark changed the arena")
	}
}

func TestResetKeepsAndTrimReturns(t *testing.T) {
	a := newArena(t, Options{})
	round := func() {
		for range 100 {
			a.Alloc(10_000, 8)
		}
		a.Reset()
	}
	for range 5 {
		round()
	}
	calls := a.Stats().SourceCalls
	for range 50 {
		round()
	}
	if s := a.Stats(); s.SourceCalls != calls || s.Live != 0 || s.Reserved < 1_000_000 {
		t.Errorf("%+v", s)
	}
	a.Trim(0)
	if s := a.Stats(); s.Reserved > 10_000 {
		t.Errorf("%d bytes are kept", s.Reserved)
	}
}

func TestBudget(t *testing.T) {
	a := newArena(t, Options{})
	a.SetBudget(104)
	New[[97]byte](a) // takes 104
	if _, err := TryNew[int64](a); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	if s := a.Stats(); s.Budget != 104 || s.Live != 104 {
		t.Errorf("%+v", s)
	}
	a.SetBudget(50) // below what is live
	if _, err := TryNew[int8](a); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	a.SetBudget(NoBudget)
	New[[10_000]byte](a)
	b := newArena(t, Options{Budget: 10})
	if s := b.Stats(); s.Budget != 10 {
		t.Errorf("%+v", s)
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
	if _, err := NewArena(Options{Contiguous: ^uint(0) >> 1}); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	if _, err := NewArena(Options{Contiguous: 4096, Reserve: 8192}); err == nil {
		t.Error("a reserve beyond the range")
	}
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

// ---- cleanups ----

func TestCleanups(t *testing.T) {
	var ran []int
	a, err := NewArena(Options{})
	if err != nil {
		t.Fatal(err)
	}
	note := func(i int) func() {
		return func() {
			ran = append(ran, i)
			if _, err := TryNew[int](a); err == nil {
				t.Error("a cleanup can allocate")
			}
			wantPanic(t, said(ErrBusy), a.Reset)
			With(func(b *Arena) error { New[mixed](b); return nil })
		}
	}
	want := func(list ...int) {
		t.Helper()
		if !slices.Equal(ran, list) {
			t.Errorf("%v, not %v", ran, list)
		}
		ran = nil
	}
	a.Cleanup(note(1))
	m := a.Mark()
	a.Cleanup(note(2))
	a.Cleanup(note(3))
	a.Rewind(m)
	want(3, 2)
	a.Rewind(m)
	want()
	a.Reset()
	want(1)
	a.Cleanup(note(4))
	a.Release()
	want(4)

	b := Get()
	b.Cleanup(func() { ran = append(ran, 5) })
	b.Return()
	want(5)
	Get().Return()
	want()

	c := newArena(t, Options{Budget: 8})
	wantPanic(t, "cannot allocate", func() { c.Cleanup(func() {}) })
	wantPanic(t, "nil function", func() { c.Cleanup(nil) })
}

// ---- ownership ----

func TestMisusePanics(t *testing.T) {
	var zero Arena
	wantPanic(t, "not made by this package", func() { New[int](&zero) })
	wantPanic(t, "not made by this package", func() { zero.Alloc(8, 8) })
	wantPanic(t, "not made by this package", zero.Reset)
	wantPanic(t, "that is not leased", zero.lease().Return)
	wantPanic(t, "NewArena or Own did not return", zero.Release)
	wantPanic(t, "nil pointer", func() { New[int]((*Arena)(nil)) })

	a, err := NewArena(Options{})
	if err != nil {
		t.Fatal(err)
	}
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

// Messages begin with the package's name, once, and wrap their cause.
func TestMessagesNameThePackageOnce(t *testing.T) {
	a, b := newArena(t, Options{}), Get()
	defer b.Return()
	m := a.Mark()
	a.Cleanup(func() {})
	a.Reset()
	for want, f := range map[string]func() any{
		"toft: Rewind: mark of another arena, or from before a reset": func() any { return outcome(func() { a.Rewind(m) }) },
		"toft: Reset: a range of the arena is claimed, or a cleanup is running": func() any {
			ctest.Claim(a.Pointer())
			defer ctest.Give(a.Pointer())
			return outcome(a.Reset)
		},
		"toft: Return: a range of the arena is claimed, or a cleanup is running": func() (how any) {
			c := Get()
			c.Cleanup(func() { how = outcome(c.Return) })
			c.Return()
			return how
		},
		"toft: NewArena: out of memory or over budget": func() any {
			_, err := NewArena(Options{Contiguous: ^uint(0) >> 1})
			return err
		},
		"toft: NewArena: Reserve exceeds Contiguous: bad argument": func() any {
			_, err := NewArena(Options{Contiguous: 1, Reserve: 2})
			return err
		},
	} {
		err, _ := f().(error)
		if err == nil || err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		} else if errors.Unwrap(err) == nil {
			t.Errorf("%v wraps nothing", err)
		}
	}
}

func TestUseAfterRelease(t *testing.T) {
	for name, o := range map[string]Options{
		"heap": {}, "budget": {Budget: 1 << 20}, "reserve": {Reserve: 1 << 20}, "contiguous": {Contiguous: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			for _, used := range []bool{false, true} {
				a, err := NewArena(o)
				if err != nil {
					t.Fatal(err)
				}
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
				for what, f := range map[string]func(){
					"New": func() { New[int](a) }, "MakeSlice": func() { MakeSlice[int](a, 3) }, "Plain": func() { UninitOf[int]().New(a) },
					"Alloc": func() { a.Alloc(1, 1) }, "AllocUninit": func() { a.AllocUninit(1, 64) }, "CString": func() { a.CString("") },
					"TryNew": func() { TryNew[int](a) }, "Copy": func() { Copy(a, 1) },
					"Reset": a.Reset, "Trim": func() { a.Trim(0) }, "SetBudget": func() { a.SetBudget(1) },
					"SetChecked": func() { a.SetChecked(true) }, "Stats": func() { a.Stats() }, "Contains": func() { a.Contains(nil) },
					"Cleanup": func() { a.Cleanup(func() {}) }, "Tag": func() { a.tag("x") }, "Rewind": func() { a.Rewind(m) },
				} {
					if how, _ := outcome(f).(string); !strings.HasSuffix(how, "after Release") {
						t.Errorf("%s: %q", what, how)
					}
				}
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
		a, err := NewArena(Options{Contiguous: uint(i%2) << 20})
		if err != nil {
			t.Fatal(err)
		}
		a.Alloc(100_000, 8)
		a.Release()
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

// Go and C allocate by turns in an arena that C made, and every byte is returned to C's source.
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
		takeTurns(t, a)
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

func TestArenaMadeByGoIsFilledByC(t *testing.T) {
	takeTurns(t, newArena(t, Options{}))
	takeTurns(t, newArena(t, Options{Contiguous: 1 << 26}))
	takeTurns(t, newArena(t, Options{Checked: true}))
	With(func(a *Arena) error { takeTurns(t, a); return nil })
}

func takeTurns(t *testing.T, a *Arena) {
	t.Helper()
	before := a.Stats().Live
	m := a.Mark()
	var mine []*int64
	for round := range 20 {
		mine = append(mine, New[int64](a))
		*mine[round] = int64(-round)
		n := 1 + 37*round
		list := ctest.List(a.Pointer(), n)
		if !ctest.Scratch(a.Pointer(), 3000) { // leaves dirt behind
			t.Fatal("scratch")
		}
		if p := New[mixed](a); *p != (mixed{}) {
			t.Fatal("what C left is handed out")
		}
		want := int64(1)
		for ; list != nil; list = list.Next {
			if list.Value != want || !a.Contains(unsafe.Pointer(list)) {
				t.Fatalf("%d in place of %d", list.Value, want)
			}
			want++
		}
		if want != int64(n+1) {
			t.Fatalf("%d nodes", want-1)
		}
	}
	for i, p := range mine {
		if *p != int64(-i) {
			t.Fatalf("%d was overwritten", i)
		}
	}
	a.Rewind(m)
	if a.Stats().Live != before {
		t.Error("something is left")
	}
}

// While C has claimed a range, Go allocates elsewhere, and operations that would free the range are refused.
func TestClaimedByC(t *testing.T) {
	a := newArena(t, Options{})
	New[int64](a)
	m := a.Mark()
	if !ctest.Claim(a.Pointer()) {
		t.Fatal("no claim")
	}
	if p := New[mixed](a); *p != (mixed{}) {
		t.Error("not zeroed")
	}
	wantPanic(t, said(ErrBusy), func() { a.Rewind(m) })
	wantPanic(t, said(ErrBusy), a.Reset)
	wantPanic(t, said(ErrBusy), func() { a.SetBudget(1) })
	if !ctest.Give(a.Pointer()) {
		t.Fatal("not given")
	}
	a.Rewind(m)

	c, err := NewArena(Options{Contiguous: 1 << 20})
	if err != nil || !ctest.Claim(c.Pointer()) {
		t.Fatal("no claim")
	}
	wantPanic(t, said(ErrBusy), c.Release)
	if !ctest.Give(c.Pointer()) {
		t.Fatal("not given")
	}
	c.Release()

	b := Get()
	if !ctest.Claim(b.Pointer()) {
		t.Fatal("no claim")
	}
	wantPanic(t, said(ErrBusy), b.Return)
	if !ctest.Give(b.Pointer()) {
		t.Fatal("not given")
	}
	b.Return()
}

// The parameters of graphics libraries: a struct with a pointer to an array, and a chain of structs.
func TestBufferCreateInfo(t *testing.T) {
	for i := range 1000 {
		a := Get()
		dirty(&a.Arena)
		families := CopySlice(a, []uint32{1, 2, 3, uint32(i)})
		info := Copy(a, ctest.BufferCreateInfo{
			Kind: 12, Size: 1 << 20, Usage: 3, QueueFamilyCount: 4, QueueFamilies: &families[0],
		})
		next := New[ctest.BufferCreateInfo](a)
		next.Kind = 13
		info.Next = next
		next.Next = New[ctest.BufferCreateInfo](a)
		next.Next.Flags = 1000
		if sum, want := ctest.SumBufferInfo(info), uint64(12+1<<20+3+6+i+13+1000); sum != want {
			t.Fatalf("C reads %d, not %d", sum, want)
		}
		a.Return()
	}
}

// Out-parameters: C writes into the arena, Go reads.
func TestOutParameters(t *testing.T) {
	a := Get()
	defer a.Return()
	quotient, rest := New[int32](a), New[int32](a)
	if !ctest.Divide(17, 5, quotient, rest) || *quotient != 3 || *rest != 2 {
		t.Error(*quotient, *rest)
	}
}
