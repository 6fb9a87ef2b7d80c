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
	"unsafe"

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
	before := ReadLeaseStats().Leased
	if err := With(func(a *Arena) error { New[int](a); return bad }); err != bad {
		t.Error(err)
	}
	wantPanic(t, "on purpose", func() { With(func(a *Arena) error { panic("on purpose") }) })
	if n := ReadLeaseStats().Leased; n != before {
		t.Errorf("%d leased, before %d", n, before)
	}
}

// Leases that are held at once are different arenas, also if there are more than a processor has.
func TestNested(t *testing.T) {
	const n = 100
	before := ReadLeaseStats()
	var arenas []*Arena
	var marks []*int
	for i := range n {
		a := Get()
		p := New[int](a)
		*p = i
		arenas, marks = append(arenas, &a.Arena), append(marks, p)
	}
	if s := ReadLeaseStats(); s.Leased != before.Leased+n {
		t.Errorf("%d leased", s.Leased)
	}
	for i, a := range arenas {
		if *marks[i] != i || a.Stats().Live != 8 {
			t.Fatalf("%d is shared", i)
		}
		a.lease().Return()
	}
	if s := ReadLeaseStats(); s.Leased != before.Leased {
		t.Errorf("%d leased", s.Leased)
	}
}

func TestUseAfterReturn(t *testing.T) {
	var arenas []*Arena
	for range 2 * perP {
		arenas = append(arenas, &Get().Arena)
	}
	for _, a := range arenas {
		New[int](a)
		m := a.Mark()
		a.lease().Return()
		wantPanic(t, "after Return", func() { New[int](a) })
		wantPanic(t, "after Return", func() { MakeSlice[int](a, 3) })
		wantPanic(t, "after Return", func() { UninitOf[int]().New(a) })
		wantPanic(t, "after Return", func() { a.Alloc(1, 1) })
		wantPanic(t, "after Return", func() { a.AllocUninit(1, 64) })
		wantPanic(t, "after Return", func() { a.CString("") })
		wantPanic(t, "after Return", a.Reset)
		wantPanic(t, "after Return", func() { a.Trim(0) })
		wantPanic(t, "after Return", func() { a.SetBudget(1) })
		wantPanic(t, "after Return", func() { a.SetChecked(true) })
		wantPanic(t, "after Return", func() { a.Stats(); a.Contains(nil) })
		wantPanic(t, "Tag after Return", func() { a.tag("x") })
		wantPanic(t, "after Return", func() { a.Cleanup(func() {}) })
		wantPanic(t, "Rewind after Return", func() { a.Rewind(m) })
		wantPanic(t, "Rewind after Return", func() { a.Rewind(Mark{}) })
		a.Rewind(a.Mark()) // changes nothing
		wantPanic(t, "after Return", func() { a.Scope(func() { New[int](a) }) })
		wantPanic(t, "after Return", func() { a.setMetered(true) })
		wantPanic(t, "second Return", a.lease().Return)
		wantPanic(t, "after Return", func() { New[int](a) })
	}
	a := Get() // all that changed nothing
	New[int](a)
	a.Return()
}

// The order of the two lines below is wrong: the Rewind runs after the Return.
func TestRewindDeferredBeforeReturn(t *testing.T) {
	var a *Lease
	wantPanic(t, "Rewind after Return", func() {
		a = Get()
		defer a.Rewind(a.Mark())
		defer a.Return()
		New[int](a)
	})
	wantPanic(t, "after Return", func() { New[int](a) })
}

// A mark from before a Return does not move the cursor of the next lease of the arena, which another goroutine has.
func TestMarksEndWithTheirLease(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))      // so that all leases come from the slots of one processor
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1)) // two collections free extra leases
	changes := map[string]func(a *Arena){
		"nothing":      func(a *Arena) {},
		"a block":      func(a *Arena) { New[[2 * bufferSize]byte](a) },
		"a collection": func(a *Arena) { New[[2 * bufferSize]byte](a) },
		"a cleanup":    func(a *Arena) { a.Cleanup(func() {}) },
		"a budget":     func(a *Arena) { a.SetBudget(1 << 20) },
		"checks":       func(a *Arena) { a.SetChecked(true) },
		"a meter":      func(a *Arena) { a.setMetered(true) },
		"a reset":      func(a *Arena) { a.Reset() },
	}
	for first, before := range changes {
		for second, after := range changes {
			t.Run(first+", "+second, func(t *testing.T) {
				var others []*Lease
				defer func() {
					for _, l := range others {
						l.Return()
					}
				}()
				for i := range 2 * perP { // also extra leases
					a := &Get().Arena
					empty := a.Mark()
					New[int](a)
					inside := a.Mark()
					before(a)
					late := a.Mark()
					a.lease().Return()
					if first == "a collection" {
						collect(false)
					}
					leaseAgain(t, a)
					done := make(chan bool)
					go func() { // the owner of the next lease
						defer close(done)
						fresh := a.Mark()
						x := Copy(a, i)
						after(a)
						if second == "a reset" {
							fresh, x = a.Mark(), Copy(a, i)
						}
						cursor := a.cursor
						for _, m := range []Mark{empty, inside, late} {
							wantPanic(t, said(ErrMark), func() { a.Rewind(m) })
						}
						if y := Copy(a, 7); a.cursor < cursor || x == y || *x != i {
							t.Errorf("the cursor was moved from %#x to %#x", cursor, a.cursor)
						}
						a.Rewind(fresh)
					}()
					<-done
					others = append(others, a.lease())
				}
			})
		}
	}
}

// leaseAgain leases the idle arena a, as Get does on its processor; for an extra one it gets leases until one has it.
func leaseAgain(t *testing.T, a *Arena) {
	t.Helper()
	if extraOf(a) < 0 {
		s := slotOf(a)
		if state := atomic.SwapUint32(&s.state, leasedBy); state != idle && state != unused {
			t.Fatalf("the state of an idle lease is %d", state)
		}
		a.cursor = s.start
		raceBegin(a)
		return
	}
	var others []*Lease
	defer func() {
		for _, l := range others {
			l.Return()
		}
	}()
	for range 2000 {
		l := Get()
		if &l.Arena == a {
			return
		}
		others = append(others, l)
	}
	t.Fatal("the arena was not leased again")
}

// A Return advances the epoch. Before the epochs of 32 bits begin again, the slot gets a new arena.
func TestEpochsOfManyReturns(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 4 {
		t.Skip("for 32 bits")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 2 * perP { // also extra ones
		l := Get()
		defer l.Return()
		a := &l.Arena
		a.Reset()
		s := slotOf(a)
		a.epoch = lastEpoch
		s.epoch = lastEpoch
		l.Return()
		leaseAgain(t, a)
		if a.epoch < 2 || a.epoch >= lastEpoch || s.epoch != a.epoch {
			t.Errorf("epoch %#x, %#x of the slot", a.epoch, s.epoch)
		}
	}
}

// If the system has no barrier, all leases are extra ones, under a mutex.
func TestExtraLeasesAlone(t *testing.T) {
	useSlots(false)
	defer useSlots(true)
	hammer(t, 4, 500)
	a := Get()
	if extraOf(&a.Arena) < 0 {
		t.Error("not an extra lease")
	}
	a.Return()
	wantPanic(t, "second Return", a.Return)
	wantPanic(t, "after Return", func() { New[int](a) })
}

// If the range of addresses is used up, leases are on the C heap, and Return frees them.
func TestSeparateLeases(t *testing.T) {
	useSlots(false)
	defer useSlots(true)
	TrimLeases()
	limit, made, vacant := extra.limit, extra.made.Load(), extra.vacant
	extra.limit, extra.vacant = made, nil
	defer func() { extra.limit, extra.vacant = limit, vacant }()
	hammer(t, 4, 500)
	var all []*Arena
	for range 50 {
		a := Get()
		if extraOf(&a.Arena) >= 0 {
			t.Fatal("an extra lease")
		}
		New[int](a)
		all = append(all, &a.Arena)
	}
	if s := ReadLeaseStats(); s.Leased != 50 {
		t.Error(s)
	}
	for _, a := range all {
		a.lease().Return()
	}
	if s := ReadLeaseStats(); s.Leased != 0 {
		t.Error(s)
	}
	for _, a := range all {
		wantPanic(t, "not leased", a.lease().Return)
	}
}

// Buffers are at multiples of their size, from which the size of the arena follows.
func TestBuffersAreAligned(t *testing.T) {
	if rangeStart == noAddress {
		t.Skip("no address space")
	}
	if rangeStart%bufferSize != 0 || extra.buffers%bufferSize != 0 {
		t.Errorf("homes at %#x and %#x", rangeStart, extra.buffers)
	}
	if n := extra.made.Load(); extraOf(extraArena(n)) != -1 || extraOf(extraArena(extra.limit-1)) != -1 {
		t.Error("a home that was never used is a lease's")
	}
	for i := range extra.limit {
		if room := bufferSize - uintptr(unsafe.Pointer(extraArena(i)))%bufferSize; room < bufferSize/2 {
			t.Fatalf("home %d has room for %d bytes", i, room)
		}
	}
}

// Leases that are got on some processors and returned on others do not accumulate.
func TestReturnedElsewhere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	TrimLeases()
	before := extra.made.Load()
	pass := make(chan *Arena, 100)
	var wg sync.WaitGroup
	for range 2 {
		start(&wg, func() {
			for a := range pass {
				a.lease().Return()
			}
		})
	}
	for range 100_000 {
		a := Get()
		New[int](a)
		pass <- &a.Arena
	}
	close(pass)
	wg.Wait()
	if n := extra.made.Load(); n > before+300+4*listSize {
		t.Errorf("%d leases were made, then %d more", before, n-before)
	}
}

// The settings of a lease end with it.
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

// No two goroutines hold the same memory, while the collector trims and other goroutines return leases.
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
	func() { // the number of processors changes at the same time
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		stop, ended := make(chan bool), make(chan bool)
		go func() {
			defer close(ended)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					runtime.GOMAXPROCS(1 + n%8)
				}
			}
		}()
		hammer(t, 8, rounds)
		close(stop)
		<-ended
	}()
	if s := ReadLeaseStats(); s.Leased != 0 {
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

// A lease that another goroutine returns, and what it finds in it.
type handedLease struct {
	a    *Arena
	p    *uint64
	want uint64
}

func (h handedLease) finish(t *testing.T, fault string) {
	if atomic.LoadUint64(h.p) != h.want {
		t.Error(fault)
	}
	h.a.lease().Return()
}

func getHanded(want uint64) handedLease {
	b := Get()
	h := handedLease{&b.Arena, New[uint64](b), want}
	atomic.StoreUint64(h.p, want)
	return h
}

// One lease, used in a random way.
func useLease(t *testing.T, r *rand.Rand, want uint64, handed chan handedLease) {
	a := Get()
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
		handed <- handedLease{&a.Arena, p, want}
		return
	case 3:
		ctest.List(a.Pointer(), 10)
	case 4:
		more := make([]handedLease, r.IntN(2*listSize))
		for k := range more {
			more[k] = getHanded(want + uint64(k)<<48)
		}
		for _, h := range more {
			h.finish(t, "one of many at once was overwritten")
		}
	}
	if atomic.LoadUint64(p) != want {
		t.Error("overwritten by another goroutine")
	}
	a.Return()
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
	handed := make(chan handedLease, 16)
	start(&background, func() {
		for h := range handed {
			h.finish(t, "handed over, and overwritten")
		}
	})
	for id := range goroutines {
		start(&workers, func() {
			r := rand.New(rand.NewPCG(uint64(id), 0))
			for i := range rounds {
				useLease(t, r, uint64(id)<<32|uint64(i), handed)
			}
		})
	}
	workers.Wait()
	close(handed)
	close(stop)
	background.Wait()
}

// ReadLeaseStats reads no separate lease that a Return has freed.
func TestLeasesWhileSeparateOnesEnd(t *testing.T) {
	useSlots(false)
	defer useSlots(true)
	TrimLeases()
	limit, vacant := extra.limit, extra.vacant
	extra.limit, extra.vacant = extra.made.Load(), nil
	defer func() { extra.limit, extra.vacant = limit, vacant }()
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		start(&wg, func() {
			var held [100]*Arena
			for !done.Load() {
				for i := range held {
					held[i] = &Get().Arena
				}
				for _, a := range held {
					a.lease().Return()
				}
			}
		})
	}
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		ReadLeaseStats()
	}
	done.Store(true)
	wg.Wait()
}

// The settings that C makes by the arena's table end with the lease, as those of Go do.
func TestSetByCEndsWithTheLease(t *testing.T) {
	for what, set := range map[string]func(*Arena) int{
		"budget":   func(a *Arena) int { return cSetBudget(a, 100) },
		"checks":   func(a *Arena) int { return cSetChecked(a, true) },
		"meters":   func(a *Arena) int { return cSetMetered(a, true) },
		"sampling": func(a *Arena) int { return cSetSampling(a, 1) },
	} {
		a := Get()
		if code := set(&a.Arena); code != 0 {
			t.Fatal(what, code)
		}
		a.Alloc(8, 8)
		a.Return()
		b := Get()
		if s := b.Stats(); s.Budget != NoBudget || b.epoch&1 != 0 || len(reportOf(b).Tags) != 0 {
			t.Errorf("%s: left from the lease before: %v", what, s)
		}
		b.Return()
	}
}

// Other processors take idle leases from the list of a processor, half of them at a time.
func TestListsServeOtherProcessors(t *testing.T) {
	if rangeStart == noAddress {
		t.Skip("no address space")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	TrimLeases()
	held := make([]*Arena, perP+40)
	for i := range held {
		held[i] = &Get().Arena
	}
	for _, a := range held {
		a.lease().Return()
	}
	var some [listSize / 2]uint32
	n := takeFromOthers(&some)
	if n == 0 {
		t.Error("none was found")
	}
	for _, i := range some[:n] {
		if l := extraAt(i); l.state != idle {
			t.Errorf("lease %d is in state %d", i, l.state)
		}
	}
	moveExtra(some[:n])
}

// The use of an arena after a Return by the slow path panics too.
func TestUseAfterTheReturnOfAChangedLease(t *testing.T) {
	changes := []func(*Arena){
		func(a *Arena) { a.Alloc(1<<20, 8) },
		func(a *Arena) { a.SetBudget(100) },
		func(a *Arena) { a.SetChecked(true) },
	}
	for n := range 3 * (perP + 3) {
		held := make([]*Arena, n)
		for i := range held {
			held[i] = &Get().Arena
			changes[n%3](held[i])
		}
		for _, a := range held {
			a.lease().Return()
			wantPanic(t, "after Return", func() { New[int](a) })
			wantPanic(t, "after Return", func() { a.Alloc(1, 1) })
			wantPanic(t, "second Return", a.lease().Return)
		}
	}
}

// A second Return and the use after Return panic also if the memory of the lease has been freed.
func TestUseOfAnEndedLease(t *testing.T) {
	held := make([]*Arena, 3000)
	for i := range held {
		held[i] = &Get().Arena
	}
	for _, a := range held {
		a.lease().Return()
	}
	TrimLeases()
	for _, a := range held {
		wantPanic(t, "second Return", a.lease().Return)
		wantPanic(t, "after Return", func() { New[int](a) })
		wantPanic(t, "after Return", func() { a.Stats() })
	}
}
