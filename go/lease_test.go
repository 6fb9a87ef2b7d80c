//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	gcdebug "runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

// hold gets n leases at once and uses each.
func hold(n int, use func(a *Arena)) []*Arena {
	held := make([]*Arena, n)
	for i := range held {
		held[i] = &Get().Arena
		use(held[i])
	}
	return held
}

func returnAll(held []*Arena) {
	for _, a := range held {
		a.lease().Return()
	}
}

// What a lease may be used for, also by C: blocks and settings that a Return has to undo.
var leaseChanges = map[string]func(a *Arena){
	"nothing":   func(a *Arena) {},
	"a block":   func(a *Arena) { New[[2 * bufferSize]byte](a) },
	"a cleanup": func(a *Arena) { a.Cleanup(func() {}) },
	"a budget":  func(a *Arena) { a.SetBudget(1 << 20) },
	"checks":    func(a *Arena) { a.SetChecked(true) },
	"a meter":   func(a *Arena) { a.setMetered(true) },
	"a reset":   func(a *Arena) { a.Reset() },
	"a tag":     func(a *Arena) { a.setMetered(true); a.tag("that does not end"); a.Alloc(100, 8) },
	"samples":   func(a *Arena) { a.setSampling(1); a.Alloc(100, 8) },
	"C, budget": func(a *Arena) { must("SetBudget", cSetBudget(a, 100)) },
	"C, checks": func(a *Arena) { must("SetChecked", cSetChecked(a, true)) },
	"C, meters": func(a *Arena) { must("SetMetered", cSetMetered(a, true)) },
	"C, sample": func(a *Arena) { must("SetSampling", cSetSampling(a, 1)); a.Alloc(8, 8) },
}

// A Return ends what the lease was used for, and the next Return takes the fast path again.
func TestChangesEndWithTheLease(t *testing.T) {
	for name, change := range leaseChanges {
		for range 20 {
			returnAll(hold(1, change))
			a := Get()
			s := a.Stats()
			if r := reportOf(a); s.Live != 0 || s.Budget != NoBudget || a.epoch&1 != 0 || len(r.Tags)+len(r.Sites) != 0 {
				t.Fatalf("%s: left from the lease before: %v, %v", name, s, r)
			}
			if l := slotOf(&a.Arena); l.instrumented || l.limited || l.epoch == noEpoch {
				t.Fatalf("%s: the next Return is slow", name)
			}
			a.Return()
		}
	}
}

// The operations on an arena, which panic after its end.
var operations = map[string]func(a *Arena, m Mark){
	"New":         func(a *Arena, _ Mark) { New[int](a) },
	"TryNew":      func(a *Arena, _ Mark) { TryNew[int](a) },
	"Copy":        func(a *Arena, _ Mark) { Copy(a, 1) },
	"MakeSlice":   func(a *Arena, _ Mark) { MakeSlice[int](a, 3) },
	"Uninit":      func(a *Arena, _ Mark) { UninitOf[int]().New(a) },
	"Alloc":       func(a *Arena, _ Mark) { a.Alloc(1, 1) },
	"AllocUninit": func(a *Arena, _ Mark) { a.AllocUninit(1, 64) },
	"CString":     func(a *Arena, _ Mark) { a.CString("") },
	"Reset":       func(a *Arena, _ Mark) { a.Reset() },
	"Trim":        func(a *Arena, _ Mark) { a.Trim(0) },
	"SetBudget":   func(a *Arena, _ Mark) { a.SetBudget(1) },
	"SetChecked":  func(a *Arena, _ Mark) { a.SetChecked(true) },
	"SetMetered":  func(a *Arena, _ Mark) { a.setMetered(true) },
	"Stats":       func(a *Arena, _ Mark) { a.Stats() },
	"Contains":    func(a *Arena, _ Mark) { a.Contains(nil) },
	"Cleanup":     func(a *Arena, _ Mark) { a.Cleanup(func() {}) },
	"Tag":         func(a *Arena, _ Mark) { a.tag("x") },
	"Rewind":      func(a *Arena, m Mark) { a.Rewind(m) },
	"Scope":       func(a *Arena, _ Mark) { a.Scope(func() { New[int](a) }) },
}

func wantEnded(t *testing.T, a *Arena, m Mark, after string) {
	t.Helper()
	for name, operation := range operations {
		if how, _ := outcome(func() { operation(a, m) }).(string); !strings.Contains(how, after) {
			t.Errorf("%s: %q", name, how)
		}
	}
}

func TestUseAfterReturn(t *testing.T) {
	for name, change := range leaseChanges {
		for _, trims := range []bool{false, true} {
			var marks []Mark
			held := hold(3*perP, func(a *Arena) { // also extra leases
				change(a)
				marks = append(marks, a.Mark())
			})
			returnAll(held)
			if trims {
				TrimLeases()
			}
			for i, a := range held {
				wantEnded(t, a, marks[i], "after Return")
				if !trims {
					wantPanic(t, "Rewind after Return", func() { a.Rewind(Mark{}) })
					a.Rewind(a.Mark()) // changes nothing
				}
				wantPanic(t, "second Return", a.lease().Return)
				wantPanic(t, "after Return", func() { New[int](a) })
			}
			if t.Failed() {
				t.Fatal(name, trims)
			}
		}
	}
	a := Get() // all that changed nothing
	New[int](a)
	a.Return()
}

// A mark from before a Return does not move the cursor of the next lease of the arena, which another goroutine has.
func TestMarksEndWithTheirLease(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))      // so that all leases come from the slots of one processor
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1)) // two collections free extra leases
	changes := maps.Clone(leaseChanges)
	changes["a collection"] = leaseChanges["a block"]
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

// withoutSlots makes all leases extra ones until the end of the test, or separate ones.
func withoutSlots(t *testing.T, separate bool) {
	useSlots(false)
	t.Cleanup(func() { useSlots(true) })
	if separate {
		TrimLeases()
		limit, vacant := extra.limit, extra.vacant
		extra.limit, extra.vacant = extra.made.Load(), nil
		t.Cleanup(func() { extra.limit, extra.vacant = limit, vacant })
	}
}

// If the system has no barrier, all leases are extra ones, under a mutex. If the range of addresses is used up, leases are on
// the C heap, and Return frees them.
func TestExtraLeasesAlone(t *testing.T) {
	for _, separate := range []bool{false, true} {
		t.Run(fmt.Sprint("separate: ", separate), func(t *testing.T) {
			withoutSlots(t, separate)
			hammer(t, 4, 500)
			held := hold(50, func(a *Arena) { New[int](a) })
			if s := ReadLeaseStats(); s.Leased != 50 {
				t.Error(s)
			}
			returnAll(held)
			if s := ReadLeaseStats(); s.Leased != 0 {
				t.Error(s)
			}
			for _, a := range held {
				if (extraOf(a) < 0) != separate {
					t.Fatal("an extra lease: ", !separate)
				}
				if separate { // its memory is not read
					wantPanic(t, "not leased", a.lease().Return)
				} else {
					wantPanic(t, "second Return", a.lease().Return)
					wantPanic(t, "after Return", func() { New[int](a) })
				}
			}
		})
	}
}

// ReadLeaseStats reads no separate lease that a Return has freed.
func TestLeasesWhileSeparateOnesEnd(t *testing.T) {
	withoutSlots(t, true)
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		start(&wg, func() {
			for !done.Load() {
				returnAll(hold(100, func(*Arena) {}))
			}
		})
	}
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		ReadLeaseStats()
	}
	done.Store(true)
	wg.Wait()
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
	if r.IntN(50) == 0 && a.Stats().Live != 0 {
		t.Error("not empty")
	}
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

// Other processors take idle leases from the list of a processor, half of them at a time.
func TestListsServeOtherProcessors(t *testing.T) {
	if rangeStart == noAddress {
		t.Skip("no address space")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	TrimLeases()
	returnAll(hold(perP+40, func(*Arena) {}))
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
