//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"math/rand/v2"
	"runtime"
	gcdebug "runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toft.dev/toft/internal/ctest"
)

func TestGetIsEmpty(t *testing.T) {
	for i := range 100 {
		a := Get()
		if s := a.Stats(); s.Live != 0 {
			t.Fatalf("%d bytes live", s.Live)
		}
		for range i {
			a.Alloc(i*i, 8)
		}
		a.Return()
	}
}

func TestWith(t *testing.T) {
	bad := errors.New("bad")
	before := Leases().Leased
	if err := With(func(a *Arena) error { New[int](a); return bad }); err != bad {
		t.Error(err)
	}
	wantPanic(t, "on purpose", func() { With(func(a *Arena) error { panic("on purpose") }) })
	if n := Leases().Leased; n != before {
		t.Errorf("%d leased, before %d", n, before)
	}
}

// Leases within leases are different arenas; many more than a processor has are given.
func TestNested(t *testing.T) {
	const n = 100
	before := Leases()
	var arenas []*Arena
	var marks []*int
	for i := range n {
		a := Get()
		p := New[int](a)
		*p = i
		arenas, marks = append(arenas, a), append(marks, p)
	}
	if s := Leases(); s.Leased != before.Leased+n {
		t.Errorf("%d leased", s.Leased)
	}
	for i, a := range arenas {
		if *marks[i] != i || a.Stats().Live != 8 {
			t.Fatalf("%d is shared", i)
		}
		a.Return()
	}
	if s := Leases(); s.Leased != before.Leased {
		t.Errorf("%d leased", s.Leased)
	}
}

func TestTwoReturns(t *testing.T) {
	for range 2 * perP { // also those that are strays
		a := Get()
		defer wantPanic(t, "second Return", a.Return)
		defer a.Return()
	}
}

func TestUseAfterReturn(t *testing.T) {
	var arenas []*Arena
	for range 2 * perP {
		arenas = append(arenas, Get())
	}
	for _, a := range arenas {
		New[int](a)
		m := a.Mark()
		a.Return()
		wantPanic(t, "after Return", func() { New[int](a) })
		wantPanic(t, "after Return", func() { MakeSlice[int](a, 3) })
		wantPanic(t, "after Return", func() { PlainOf[int]().New(a) })
		wantPanic(t, "after Return", func() { a.Alloc(1, 1) })
		wantPanic(t, "after Return", func() { a.AllocUninit(1, 64) })
		wantPanic(t, "after Return", func() { a.CString("") })
		wantPanic(t, "after Return", a.Reset)
		wantPanic(t, "after Return", func() { a.Trim(0) })
		wantPanic(t, "after Return", func() { a.SetBudget(1) })
		wantPanic(t, "after Return", func() { a.SetChecked(true) })
		wantPanic(t, "after Return", func() { a.Stats() })
		wantPanic(t, "after Return", func() { a.Contains(nil) })
		wantPanic(t, "after Return", func() { a.Cleanup(func() {}) })
		wantPanic(t, "second Return", a.Return)
		_ = m
	}
	a := Get() // all that changed nothing
	New[int](a)
	a.Return()
}

// Where the system has no barrier, or no addresses, all leases are strays.
func TestStraysAlone(t *testing.T) {
	own := active.Swap(0)
	defer active.Store(own)
	hammer(t, 4, 500)
	a := Get()
	if l := leaseOf(a); !l.isStray() {
		t.Error("not a stray")
	}
	a.Return()
	wantPanic(t, "second Return", a.Return)
	wantPanic(t, "after Return", func() { New[int](a) })
}

// What a lease was told ends with it.
func TestBudgetAndChecksEndWithTheLease(t *testing.T) {
	for range 20 {
		a := Get()
		if s := a.Stats(); s.Budget != NoBudget || a.epoch&1 != 0 {
			t.Fatalf("%+v", s)
		}
		a.SetBudget(64)
		a.SetChecked(true)
		if _, err := TryNew[[100]byte](a); !errors.Is(err, ErrNoMemory) {
			t.Fatal(err)
		}
		a.Return()
	}
}

// A steady workload stops asking for memory, however large its calls are within the limit.
func TestSteadyCallsAskForNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1)) // a collection trims what is idle
	var arena *Arena
	call := func(bytes int) {
		a := Get()
		defer a.Return()
		arena = a
		for range bytes / 1000 {
			PlainOf[[1000]byte]().New(a)
		}
	}
	settles := func(size int) bool {
		for range 10 {
			call(size)
		}
		epoch := arena.epoch
		for range 1000 {
			call(size)
		}
		return arena.epoch == epoch
	}
	for _, size := range []int{1000, 10_000, 20_000, 200_000} {
		settled := settles(size)
		for again := 0; again < 2 && !settled; again++ { // a collection that had begun before may trim once more
			settled = settles(size)
		}
		if !settled {
			t.Errorf("%d bytes a call: the arena still grows", size)
		}
	}
}

func TestKeptMemoryIsBoundedAndReturned(t *testing.T) {
	TrimLeases()
	base := Leases().Kept
	use := func(bytes int) {
		var all []*Arena
		for range 50 {
			a := Get()
			a.AllocUninit(bytes, 8)
			all = append(all, a)
		}
		for _, a := range all {
			a.Return()
		}
	}
	for range 3 {
		use(200_000)
		use(3_000_000)
	}
	if s := Leases(); s.Kept > base+50*(homeSize+(256<<10)) {
		t.Errorf("%d bytes are kept in %d leases", s.Kept, s.Idle)
	}
	TrimLeases()
	if s := Leases(); s.Kept > uint64(s.Idle)*homeSize {
		t.Errorf("%d bytes are kept in %d leases after a trim", s.Kept, s.Idle)
	}
	old := SetLeaseLimits(LeaseLimits{PerLease: 0, Strays: 2})
	defer SetLeaseLimits(old)
	if old.PerLease != 256<<10 || old.Strays != 64 {
		t.Errorf("%+v", old)
	}
	use(200_000)
	if s := Leases(); s.Kept > uint64(s.Idle)*homeSize || len(stray.idle) > 2 {
		t.Errorf("%d bytes are kept in %d leases, %d strays", s.Kept, s.Idle, len(stray.idle))
	}
}

// Two collections give back what nobody uses in between.
func TestCollectorReturnsMemory(t *testing.T) {
	for range 2 { // the second time the blocks are as large as the calls need
		var all []*Arena
		for range 50 {
			a := Get()
			a.AllocUninit(200_000, 8)
			all = append(all, a)
		}
		for _, a := range all {
			a.Return()
		}
	}
	if s := Leases(); s.Kept < 50*200_000 {
		t.Fatalf("%d bytes are kept", s.Kept)
	}
	var s LeaseStats
	for range 100 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if s = Leases(); s.Kept <= uint64(s.Idle)*homeSize {
			break
		}
	}
	if s.Kept > uint64(s.Idle)*homeSize || len(stray.idle) != 0 {
		t.Errorf("%d bytes are kept in %d leases, %d strays", s.Kept, s.Idle, len(stray.idle))
	}
	a := Get() // and they are as good as before
	if p := New[mixed](a); *p != (mixed{}) {
		t.Error("not zeroed")
	}
	a.Return()
}

// Any number of rounds of any sizes end with the memory of the first ones.
func TestNoLeak(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r := rand.New(rand.NewPCG(1, 2))
	rounds := func(n int) {
		for range n {
			a := Get()
			for range r.IntN(10) {
				a.AllocUninit(r.IntN(1<<r.IntN(18)), 1<<r.IntN(8))
			}
			if r.IntN(4) == 0 {
				b := Get()
				b.CString("a string")
				b.Return()
			}
			a.Return()
			o, err := NewArena(Options{Contiguous: uint(r.IntN(2)) << 20})
			if err != nil {
				t.Fatal(err)
			}
			o.AllocUninit(r.IntN(100_000), 8)
			o.Release()
		}
		TrimLeases()
		runtime.GC()
	}
	rounds(1000)
	before := ctest.HeapInUse()
	rounds(20_000)
	if after := ctest.HeapInUse(); after > before+256<<10 {
		t.Errorf("%d bytes became %d", before, after)
	}
}

// Goroutines hammer: no two ever hold the same memory, while the collector trims, and Returns come from elsewhere.
func TestNoCollisions(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2000
	}
	for _, procs := range []int{1, 2, 8} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			hammer(t, 8, rounds)
		}()
	}
	if s := Leases(); s.Leased != 0 {
		t.Errorf("%d are still leased", s.Leased)
	}
}

func start(group *sync.WaitGroup, f func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		f()
	}()
}

func hammer(t *testing.T, goroutines, rounds int) {
	stop := make(chan bool)
	var background, workers sync.WaitGroup
	start(&background, func() {
		for {
			select {
			case <-stop:
				return
			default:
				TrimLeases()
				runtime.GC()
			}
		}
	})
	type given struct {
		a    *Arena
		p    *uint64
		want uint64
	}
	handed := make(chan given, 16)
	start(&background, func() {
		for g := range handed {
			if atomic.LoadUint64(g.p) != g.want {
				t.Error("handed over, and overwritten")
			}
			g.a.Return()
		}
	})
	for id := range goroutines {
		start(&workers, func() {
			r := rand.New(rand.NewPCG(uint64(id), 0))
			for i := range rounds {
				a := Get()
				want := uint64(id)<<32 | uint64(i)
				p := New[uint64](a)
				if *p != 0 {
					t.Error("not zeroed")
				}
				atomic.StoreUint64(p, want)
				if r.IntN(50) == 0 {
					runtime.Gosched()
				}
				switch r.IntN(20) {
				case 0:
					a.AllocUninit(r.IntN(50_000), 8)
				case 1:
					b := Get()
					*New[uint64](b) = ^want
					b.Return()
				case 2:
					handed <- given{a, p, want}
					continue
				case 3:
					ctest.List(a.Pointer(), 10)
				}
				if atomic.LoadUint64(p) != want {
					t.Error("overwritten by another goroutine")
				}
				a.Return()
			}
		})
	}
	workers.Wait()
	close(handed)
	close(stop)
	background.Wait()
}

// Leases looks at no stray that a Return has freed.
func TestLeasesWhileStraysEnd(t *testing.T) {
	defer SetLeaseLimits(SetLeaseLimits(LeaseLimits{PerLease: 256 << 10}))
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var held [100]*Arena // more than the processors have
			for !done.Load() {
				for i := range held {
					held[i] = Get()
				}
				for _, a := range held {
					a.Return()
				}
			}
		}()
	}
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		Leases()
	}
	done.Store(true)
	wg.Wait()
}

// What C sets by the arena's table ends with the lease, as what Go sets does.
func TestSetByCEndsWithTheLease(t *testing.T) {
	for what, set := range map[string]func(*Arena) int{
		"budget":   func(a *Arena) int { return cSetBudget(a, 100) },
		"checks":   func(a *Arena) int { return cSetChecked(a, true) },
		"meters":   func(a *Arena) int { return cSetMetered(a, true) },
		"sampling": func(a *Arena) int { return cSet(a, setSample, 1) },
	} {
		a := Get()
		if code := set(a); code != 0 {
			t.Fatal(what, code)
		}
		a.Alloc(8, 8)
		a.Return()
		b := Get()
		if s := b.Stats(); s.Budget != NoBudget || b.epoch&1 != 0 || len(b.Report().Tags) != 0 {
			t.Errorf("%s: left from the lease before: %v", what, s)
		}
		b.Return()
	}
}

// A second Return panics where the first has freed the arena, too.
func TestSecondReturnOfAFreedStray(t *testing.T) {
	defer SetLeaseLimits(SetLeaseLimits(LeaseLimits{PerLease: 256 << 10}))
	held := make([]*Arena, 3000) // so much that malloc gives memory back
	for i := range held {
		held[i] = Get()
	}
	var freed []*Arena
	for _, a := range held {
		l := leaseOf(a)
		if a.Return(); l.isStray() {
			freed = append(freed, a)
		}
	}
	for _, a := range freed {
		panics(t, a.Return)
	}
}
