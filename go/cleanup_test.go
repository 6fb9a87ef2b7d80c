//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"runtime"
	stacks "runtime/debug"
	"slices"
	"strings"
	"testing"

	"toft.dev/toft/internal/ctest"
)

// outcome returns how f ended: the value of its panic, "Goexit", or nil.
func outcome(f func()) (how any) {
	ended := make(chan any)
	go func() {
		returned := false
		defer func() {
			if p := recover(); p != nil {
				ended <- p
			} else if returned {
				ended <- nil
			} else {
				ended <- "Goexit"
			}
		}()
		f()
		returned = true
	}()
	return <-ended
}

// The ways to empty an arena: get makes one, and returns the call that empties it and the check that follows.
var emptyings = map[string]struct {
	get   func(t *testing.T) (a *Arena, empty func())
	after func(t *testing.T, a *Arena)
}{
	"Return": {leaseToEmpty, wantReturned},
	"With": {
		func(t *testing.T) (*Arena, func()) { a := Get(); return &a.Arena, func() { defer a.Return() } },
		wantReturned,
	},
	"Return of an extra lease": {
		func(t *testing.T) (*Arena, func()) {
			useSlots(false)
			defer useSlots(true)
			return leaseToEmpty(t)
		},
		wantReturned,
	},
	"Return in debug mode": {
		func(t *testing.T) (*Arena, func()) {
			defer setDebug(setDebug(true))
			return leaseToEmpty(t)
		},
		wantReturned,
	},
	"Release":                     {arenaToRelease(Options{}), wantReleased},
	"Release of a contiguous one": {arenaToRelease(Options{Contiguous: 1 << 20}), wantReleased},
	"Reset": {
		func(t *testing.T) (*Arena, func()) { a := newArena(t, Options{}); return a, a.Reset },
		func(t *testing.T, a *Arena) { wantLive(t, a, 0) },
	},
	"Rewind":                  {arenaToRewind(Options{}), func(t *testing.T, a *Arena) { wantLive(t, a, 104) }},
	"Rewind of a checked one": {arenaToRewind(Options{Checked: true}), func(t *testing.T, a *Arena) { wantLive(t, a, 104+32) }},
}

func leaseToEmpty(*testing.T) (*Arena, func()) {
	a := Get()
	return &a.Arena, a.Return
}

func arenaToRelease(o Options) func(t *testing.T) (*Arena, func()) {
	return func(t *testing.T) (*Arena, func()) {
		a := must1(NewArena(o))
		return a, a.Release
	}
}

func arenaToRewind(o Options) func(t *testing.T) (*Arena, func()) {
	return func(t *testing.T) (*Arena, func()) {
		a := newArena(t, o)
		a.Alloc(104, 8)
		m := a.Mark()
		return a, func() { a.Rewind(m) }
	}
}

func wantReturned(t *testing.T, a *Arena) { wantPanic(t, "second Return", a.lease().Return) }
func wantReleased(t *testing.T, a *Arena) { wantPanic(t, "released", a.Release) }

func wantLive(t *testing.T, a *Arena, bytes uint64) {
	t.Helper()
	if s := a.Stats(); s.Live != bytes {
		t.Errorf("%d bytes are live, not %d", s.Live, bytes)
	}
	New[int](a)
}

// If a cleanup panics or calls Goexit, the others run and the memory is freed.
func TestCleanupsThatDoNotReturn(t *testing.T) {
	boom, bang := errors.New("boom"), errors.New("bang")
	for name, e := range emptyings {
		for how, c := range map[string]struct {
			first, last func() // the last registered runs first
			want        any
		}{
			"panic":            {nil, func() { panic(boom) }, boom},
			"panic at the end": {func() { panic(boom) }, nil, boom},
			"Goexit":           {nil, runtime.Goexit, "Goexit"},
			"two panics":       {func() { panic(bang) }, func() { panic(boom) }, bang},
			"panic and Goexit": {runtime.Goexit, func() { panic(boom) }, "Goexit"},
			"Goexit and panic": {func() { panic(bang) }, runtime.Goexit, bang},
			"neither":          {nil, nil, nil},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				handles, leased := cleanupCount.Load(), ReadLeaseStats().Leased
				a, empty := e.get(t)
				p := New[int](a)
				var ran []int
				for i := range 5 {
					a.Cleanup(func() {
						ran = append(ran, i)
						if *p != 42 {
							t.Error("memory was given back before a cleanup")
						}
						if i == 1 && c.first != nil {
							c.first()
						}
						if i == 3 && c.last != nil {
							c.last()
						}
					})
				}
				*p = 42
				if got := outcome(empty); got != c.want {
					t.Errorf("ended by %v, not %v", got, c.want)
				}
				if !slices.Equal(ran, []int{4, 3, 2, 1, 0}) {
					t.Errorf("ran %v", ran)
				}
				e.after(t, a)
				if n := cleanupCount.Load(); n != handles {
					t.Errorf("%d cleanups are registered, before %d", n, handles)
				}
				if n := ReadLeaseStats().Leased; n != leased {
					t.Errorf("%d arenas are leased, before %d", n, leased)
				}
			})
		}
	}
}

// Cleanups run once, newest first, and those that were registered before a mark stay.
func TestCleanupsRunOnce(t *testing.T) {
	a := newArena(t, Options{})
	var ran []int
	var marks []Mark
	for i := range 4 {
		marks = append(marks, a.Mark())
		a.Cleanup(func() { ran = append(ran, i) })
	}
	for _, step := range []struct {
		f    func()
		want []int
	}{
		{func() { a.Rewind(marks[2]) }, []int{3, 2}},
		{func() { a.Rewind(marks[2]) }, nil},
		{func() { a.Rewind(marks[1]) }, []int{1}},
		{a.Reset, []int{0}},
		{a.Reset, nil},
	} {
		if step.f(); !slices.Equal(ran, step.want) {
			t.Errorf("ran %v, not %v", ran, step.want)
		}
		ran = nil
	}
	b := newArena(t, Options{Budget: 8})
	wantPanic(t, "cannot allocate", func() { b.Cleanup(func() {}) })
	wantPanic(t, "nil function", func() { b.Cleanup(nil) })
}

// A cleanup runs on the thread that the caller has locked, and may use other arenas, the collector and TrimLeases. Its own arena is busy and stays unchanged.
func TestCleanupsThatCallBack(t *testing.T) {
	for name, e := range emptyings {
		t.Run(name, func(t *testing.T) {
			a, empty := e.get(t)
			inner := []string{}
			var caller uint64
			a.Cleanup(func() {
				if here := ctest.Thread(); here != caller {
					t.Errorf("on thread %d, the caller's being %d", here, caller)
				}
				b := Get()
				b.Cleanup(func() {
					inner = append(inner, "nested")
					if c := Get(); &c.Arena == a || c == b {
						t.Error("a busy arena was leased")
					} else {
						c.Return()
					}
					panic("nested")
				})
				wantPanic(t, "nested", b.Return)
				runtime.GC()
				TrimLeases()
				ReadLeaseStats()
				for what, f := range map[string]func(){
					"New": func() { New[int](a) }, "Cleanup": func() { a.Cleanup(func() {}) }, "Reset": a.Reset,
					"Return": a.lease().Return, "Release": a.Release,
				} {
					if outcome(f) == nil {
						t.Errorf("%s of an arena whose cleanup runs", what)
					}
				}
				inner = append(inner, "outer")
			})
			if how := outcome(func() { runtime.LockOSThread(); caller = ctest.Thread(); empty() }); how != nil {
				t.Error(how)
			}
			e.after(t, a)
			if !slices.Equal(inner, []string{"nested", "outer"}) {
				t.Error(inner)
			}
		})
	}
}

// With and Scope free what was allocated however their function ends.
func TestFunctionsThatDoNotReturn(t *testing.T) {
	leased := ReadLeaseStats().Leased
	bad := errors.New("bad")
	if err := With(func(a *Arena) error { New[int](a); return bad }); err != bad {
		t.Error(err)
	}
	a := newArena(t, Options{})
	New[int](a)
	for how, f := range map[string]func(){
		"panic": func() { panic("panic") }, "Goexit": runtime.Goexit,
		"nested": func() {
			before := a.Stats().Live
			outcome(func() { a.Scope(func() { New[[100]int](a); panic("inner") }) })
			if now := a.Stats().Live; now != before {
				t.Errorf("%d bytes are live, not %d", now, before)
			}
			panic("nested")
		},
	} {
		if got := outcome(func() { With(func(b *Arena) error { New[[1000]int](b); f(); return nil }) }); got != how {
			t.Errorf("With and %s: %v", how, got)
		}
		a.Reset()
		New[int](a)
		if got := outcome(func() { a.Scope(func() { New[[100]int](a); f() }) }); got != how {
			t.Errorf("Scope and %s: %v", how, got)
		}
		if s := a.Stats(); s.Live != 8 {
			t.Errorf("%s: %d bytes are live", how, s.Live)
		}
	}
	if n := ReadLeaseStats().Leased; n != leased {
		t.Errorf("%d are leased, before %d", n, leased)
	}
}

func (c *cleanupBug) panics() { c.next.n++ } // dereferences nil

type cleanupBug struct {
	next *cleanupBug
	n    int
}

// The stack of a cleanup's panic has the cleanup and the call that freed the memory.
func TestPanicsOfCleanupsKeepTheirStack(t *testing.T) {
	a := newArena(t, Options{})
	var stack string
	func() {
		defer func() {
			recover()
			stack = string(stacks.Stack())
		}()
		a.Cleanup(func() {})
		a.Cleanup(new(cleanupBug).panics)
		a.Reset()
	}()
	for _, part := range []string{"(*cleanupBug).panics", "(*Arena).Reset", "TestPanicsOfCleanupsKeepTheirStack"} {
		if !strings.Contains(stack, part) {
			t.Errorf("the stack is without %s:\n%s", part, stack)
		}
	}
}

// An allocation in an arena whose cleanup runs fails for that reason, by each function.
func TestAllocationsInCleanups(t *testing.T) {
	for name, f := range map[string]func(a *Arena) error{
		"New":          func(a *Arena) error { New[int](a); return nil },
		"TryNew":       func(a *Arena) error { _, err := TryNew[int](a); return err },
		"TryMakeSlice": func(a *Arena) error { _, err := TryMakeSlice[int](a, 3); return err },
		"AllocUninit":  func(a *Arena) error { a.AllocUninit(1, 8); return nil },
		"CString":      func(a *Arena) error { _, err := a.CString("x"); return err },
		"CStringN":     func(a *Arena) error { a.CStringN("x"); return nil },
		"Cleanup":      func(a *Arena) error { a.Cleanup(func() {}); return nil },
	} {
		a := newArena(t, Options{})
		var err error
		a.Cleanup(func() {
			if how := outcome(func() { err = f(a) }); how != nil {
				err, _ = how.(error)
			}
		})
		a.Reset()
		var e *AllocError
		if !errors.As(err, &e) || !errors.Is(err, ErrBusy) || errors.Is(err, ErrNoMemory) || !strings.HasSuffix(err.Error(), "a cleanup of the arena is running") {
			t.Errorf("%s: %v", name, err)
		}
		a.Alloc(1, 8)
	}
}

// Cleanups of Go, of C and of an adopted arena run in one order, newest first, also if one panics.
func TestCleanupsOfGoAndC(t *testing.T) {
	boom := errors.New("boom")
	for name, e := range emptyings {
		a, empty := e.get(t)
		donor := must1(NewArena(Options{}))
		add := func(to *Arena, n int) { to.Cleanup(func() { ctest.Log(n) }) }
		add(a, 1)
		ctest.LogAtCleanup(a.Pointer(), 2)
		add(donor, 3)
		add(donor, 4)
		if !ctest.Adopt(a.Pointer(), donor.Pointer()) {
			t.Fatal("not adopted")
		}
		owned.Delete(donor)
		a.Cleanup(func() { ctest.Log(5); panic(boom) })
		ctest.LogAtCleanup(a.Pointer(), 6)
		add(a, 7)
		if how := outcome(empty); how != boom {
			t.Error(how)
		}
		if ran := ctest.TakeLog(); !slices.Equal(ran, []int{7, 6, 5, 4, 3, 2, 1}) {
			t.Errorf("%s: ran %v", name, ran)
		}
		e.after(t, a)
	}
}

// Cleanups of an arena of another provider run in order, each on a goroutine of its own, and those that C runs in order with
// its own.
func TestCleanupsThatCRuns(t *testing.T) {
	other, err := Own(ctest.Create(0))
	if err != nil {
		t.Fatal(err)
	}
	mine := newArena(t, Options{})
	for _, c := range []struct {
		a     *Arena
		empty func()
		panic any
	}{
		{other, other.Release, "boom"},
		{mine, func() { must("Reset", ctest.Reset(mine.Pointer())) }, nil},
	} {
		var ran []int
		for i := range 3 {
			c.a.Cleanup(func() {
				ran = append(ran, i)
				if i == 1 && c.panic != nil {
					panic(c.panic)
				}
			})
		}
		if how := outcome(c.empty); how != c.panic || !slices.Equal(ran, []int{2, 1, 0}) || cleanupCount.Load() != 0 {
			t.Error(how, ran, cleanupCount.Load())
		}
	}
}
