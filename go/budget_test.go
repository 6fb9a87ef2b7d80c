//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"context"
	"errors"
	"testing"
)

func newBudget(t testing.TB, o BudgetOptions) *Budget {
	t.Helper()
	b := must1(NewBudget(o))
	t.Cleanup(func() {
		if err := b.Release(); err != nil {
			t.Error(err, b.Stats())
		}
	})
	return b
}

func arenaWithin(t testing.TB, b *Budget) *Arena {
	t.Helper()
	a := must1(NewArena(Options{Within: b}))
	return a
}

func TestBudgetCountsForItsParents(t *testing.T) {
	process := newBudget(t, BudgetOptions{Name: "process", Limit: 3 << 20})
	one := newBudget(t, BudgetOptions{Name: "one", Limit: 2 << 20, Parent: process})
	two := newBudget(t, BudgetOptions{Name: "two", Parent: process})
	a, b := arenaWithin(t, one), arenaWithin(t, two)
	if _, err := TryMakeSlice[byte](a, 2<<20); !errors.Is(err, ErrNoMemory) {
		t.Error("above the limit of the tenant: ", err)
	}
	MakeSlice[byte](a, 1<<20)
	if _, err := TryMakeSlice[byte](b, 2<<20); !errors.Is(err, ErrNoMemory) {
		t.Error("above the limit of the process: ", err)
	}
	MakeSlice[byte](b, 1<<20)
	s, p := one.Stats(), process.Stats()
	if s.Reserved != a.Stats().Reserved || s.Limit != 2<<20 || s.Refusals == 0 || p.Children != 2 {
		t.Error(s, p)
	}
	if p.Reserved != s.Reserved+two.Stats().Reserved || p.Available != p.Limit-p.Reserved || two.Stats().Limit != NoBudget {
		t.Error(p, two.Stats())
	}
	if err := one.Release(); !errors.Is(err, ErrBusy) {
		t.Error("Release with an arena: ", err)
	}
	a.Release()
	if one.Stats().Reserved != 0 || process.Stats().Reserved != two.Stats().Reserved {
		t.Error("a released arena counts: ", one.Stats())
	}
	b.Reset()
	if got := two.Stats(); got.Reserved > 64<<10 || got.Peak < 1<<20 {
		t.Error("after a reset: ", got)
	}
	b.Release()
	if one.Parent() != process || process.Parent() != nil || one.Name() != "one" {
		t.Error(one.Parent(), one.Name())
	}
}

func TestRefusedRequestCallsTheBudgetThatRefuses(t *testing.T) {
	var cache *Arena
	var calls []string
	var b *Budget
	drop := func(of *Budget, bytes uint64) bool {
		calls = append(calls, of.Name())
		if of != b || bytes < 700_000 || cache == nil {
			return false
		}
		cache.Release()
		cache = nil
		return true
	}
	process := newBudget(t, BudgetOptions{Name: "process", OnRefusal: drop})
	b = newBudget(t, BudgetOptions{Name: "tenant", Limit: 1 << 20, Parent: process, OnRefusal: drop})
	cache = arenaWithin(t, b)
	MakeSlice[byte](cache, 700_000)
	a := arenaWithin(t, b)
	MakeSlice[byte](a, 700_000) // in place of the cache
	if _, err := TryMakeSlice[byte](a, 700_000); !errors.Is(err, ErrNoMemory) {
		t.Error("without a cache: ", err)
	}
	if len(calls) != 2 || calls[0] != "tenant" || calls[1] != "tenant" {
		t.Error("the calls: ", calls)
	}
	process.SetLimit(1)
	if _, err := TryMakeSlice[byte](a, 70_000); err == nil || calls[len(calls)-1] != "process" {
		t.Error(err, calls)
	}
	process.SetLimit(NoBudget)
	a.Release()
}

func TestPanicOfOnRefusalCountsAsFalse(t *testing.T) {
	b := newBudget(t, BudgetOptions{Limit: 1 << 16, OnRefusal: func(*Budget, uint64) bool { panic("here") }})
	a := arenaWithin(t, b)
	defer a.Release()
	wantError(t, outcome(func() { MakeSlice[byte](a, 1<<20) }),
		"toft: cannot allocate 1048576 x 1 bytes aligned to 8: out of memory or over budget", ErrNoMemory)
	MakeSlice[byte](a, 1000)
}

// The stack of the goroutine grows in OnRefusal, and moves, while C waits for the result.
func TestOnRefusalMayUseAnyStack(t *testing.T) {
	var deep func(n int) int
	deep = func(n int) int {
		var frame [1024]byte
		if n == 0 {
			return int(frame[0])
		}
		return deep(n-1) + int(frame[n%1024])
	}
	b := newBudget(t, BudgetOptions{OnRefusal: func(b *Budget, _ uint64) bool {
		b.SetLimit(NoBudget)
		return deep(4000) == 0
	}})
	done := make(chan *Arena)
	for range 8 {
		b.SetLimit(1)
		go func() {
			a, _ := NewArena(Options{Within: b})
			done <- a
		}()
		a := <-done
		if a == nil {
			t.Fatal("not made")
		}
		b.SetLimit(1)
		go func() {
			must("SetSampling", cSetSampling(a, 1))
			if p, sampled := cAllocSampled(a, 100_000, 8); p == nil || !sampled {
				t.Error(p, sampled)
			}
			done <- a
		}()
		(<-done).Release()
	}
}

func TestLiveLimit(t *testing.T) {
	b := newBudget(t, BudgetOptions{LiveLimit: 3 << 20})
	a := arenaWithin(t, b)
	defer a.Release()
	a.Alloc(1<<20, 8)
	if _, err := a.TryAlloc(2<<20+8, 8); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	s := b.LiveStats()
	if s.Live < 1<<20 || s.Live > 1<<20+s.Parked || s.Limit != 3<<20 || s.Available != s.Limit-s.Live || s.Parked > 64<<10 || s.Refusals != 1 {
		t.Error(s)
	}
	a.Reset()
	if s = b.LiveStats(); s.Live != 0 || s.Peak < 1<<20 {
		t.Error(s)
	}
	if err := b.SetLiveLimit(NoBudget); err != nil || b.LiveStats().Limit != NoBudget {
		t.Error(err, b.LiveStats())
	}
}

func TestContextCarriesABudget(t *testing.T) {
	b := newBudget(t, BudgetOptions{Limit: 1 << 16})
	ctx := ContextWithBudget(context.Background(), b)
	if BudgetFrom(ctx) != b || BudgetFrom(context.Background()) != nil {
		t.Error("another budget")
	}
	a := must1(NewArena(Options{Within: BudgetFrom(context.Background())}))
	MakeSlice[byte](a, 1<<20)
	a.Release()
}

func TestMisuseOfABudgetIsRefused(t *testing.T) {
	if _, err := NewBudget(BudgetOptions{Name: "a name that has thirty-two bytes"}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	b := must1(NewBudget(BudgetOptions{}))
	if _, err := NewArena(Options{Within: b, Contiguous: 1 << 20}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	child := must1(NewBudget(BudgetOptions{Parent: b}))
	if err := b.Release(); !errors.Is(err, ErrBusy) {
		t.Error("Release with a child: ", err)
	}
	if err := child.Release(); err != nil {
		t.Error(err)
	}
	if err := b.Release(); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]func(){
		"Stats":        func() { b.Stats() },
		"SetLimit":     func() { b.SetLimit(1) },
		"Release":      func() { _ = b.Release() },
		"SetLiveLimit": func() { _ = b.SetLiveLimit(1) },
		"LiveStats":    func() { b.LiveStats() },
		"NewArena":     func() { _, _ = NewArena(Options{Within: b}) },
	} {
		wantPanic(t, "toft: "+name+" of a released budget", f)
	}
	if _, err := NewBudget(BudgetOptions{Parent: b}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
}
