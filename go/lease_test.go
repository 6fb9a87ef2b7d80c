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
	"toft.dev/toft/internal/offheap"
	"toft.dev/toft/internal/testutil"
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

func TestTwoReturns(t *testing.T) {
	for range 2 * perP { // also extra ones
		a := Get()
		defer wantPanic(t, "second Return", a.Return)
		defer a.Return()
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

// Leases that were held at once are reused; two collections free the memory of a burst.
func TestManyAtOnce(t *testing.T) {
	TrimLeases()
	for _, k := range []int{perP + 1, listSize + perP, 1000, 3000} {
		held, values := make([]*Arena, k), make([]*int, k)
		burst := func() {
			for i := range held {
				held[i] = &Get().Arena
				values[i] = New[int](held[i])
				*values[i] = i
			}
			for i, a := range held {
				if *values[i] != i {
					t.Fatalf("lease %d of %d holds %d", i, k, *values[i])
				}
				a.lease().Return()
			}
		}
		burst()
		made := extra.made.Load()
		for range 20 {
			burst()
		}
		if now := extra.made.Load(); now > made+2*listSize { // the test may move to another processor
			t.Errorf("%d at once: %d leases were made, then %d more", k, made, now-made)
		}
		if s := ReadLeaseStats(); s.Leased != 0 || s.Idle < k {
			t.Errorf("%d at once: %v", k, s)
		}
	}
	for range 100 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if idleExtra() == 0 {
			break
		}
	}
	if n := idleExtra(); n != 0 {
		t.Errorf("%d extra leases are idle after collections", n)
	}
	collecting.Lock()
	defer collecting.Unlock()
	if n := extra.made.Load(); int(n) != len(extra.vacant) {
		t.Errorf("%d homes were made, %d are vacant", n, len(extra.vacant))
	}
}

func idleExtra() (n int) {
	for i := range extra.made.Load() {
		if atomic.LoadUint32(&extraAt(i).state) == idle {
			n++
		}
	}
	return n
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

// A steady workload stops requesting memory.
func TestSteadyCallsAskForNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1)) // a collection trims what is idle
	var arena *Arena
	call := func(bytes int) {
		a := Get()
		defer a.Return()
		arena = &a.Arena
		for range bytes / 1000 {
			UninitOf[[1000]byte]().New(&a.Arena)
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
		return arena.epoch == epoch+2*1000 // advanced by each Return alone
	}
	for _, size := range []int{1000, 10_000, 20_000, 200_000} {
		steady := settles(size)
		for again := 0; again < 2 && !steady; again++ { // a collection that had begun before may trim once more
			steady = settles(size)
		}
		if !steady {
			t.Errorf("%d bytes a call: the arena still grows", size)
		}
	}
}

func TestKeptMemoryIsBoundedAndReturned(t *testing.T) {
	TrimLeases()
	use := func(bytes int) {
		var all []*Arena
		for range 50 {
			a := Get()
			a.AllocUninit(bytes, 8)
			all = append(all, &a.Arena)
		}
		for _, a := range all {
			a.lease().Return()
		}
	}
	for range 3 {
		use(200_000)
		use(3_000_000)
	}
	if s := ReadLeaseStats(); s.Kept > uint64(s.Idle)*bufferSize+(64<<20) {
		t.Errorf("%d bytes are kept in %d leases", s.Kept, s.Idle)
	}
	TrimLeases()
	if s := ReadLeaseStats(); s.Kept > uint64(s.Idle)*bufferSize {
		t.Errorf("%d bytes are kept in %d leases after a trim", s.Kept, s.Idle)
	}
	if keptBytes.Load() != 0 {
		t.Errorf("%d bytes are counted", keptBytes.Load())
	}
	old := SetLeaseLimits(LeaseLimits{Total: 0})
	defer SetLeaseLimits(old)
	if old.Total != 64<<20 {
		t.Errorf("%+v", old)
	}
	use(200_000)
	if s := ReadLeaseStats(); s.Kept > uint64(s.Idle)*bufferSize {
		t.Errorf("%d bytes are kept in %d leases", s.Kept, s.Idle)
	}
}

// A lease keeps what its calls need, of any size, and serves them without another request to the heap.
func TestLeaseKeepsWhatCallsNeed(t *testing.T) {
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1))
	TrimLeases()
	for _, total := range []int{100_000, 2 << 20, 20 << 20} {
		const rounds = 40
		warm := 0 // a goroutine that moves to another processor gets a lease that has to grow first
		for range rounds {
			a := Get()
			before := a.Stats().SourceCalls
			for n := 0; n < total; n += 10_000 {
				a.AllocUninit(10_000, 8)
			}
			if a.Stats().SourceCalls-before <= 1 {
				warm++
			}
			a.Return()
		}
		if warm < rounds/2 {
			t.Errorf("%d of %d rounds of %d bytes made no more than one request", warm, rounds, total)
		}
	}
	if kept := keptBytes.Load(); kept < 20<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	TrimLeases()
}

// The limit holds for the sum of all leases, also if many goroutines return leases at once.
func TestLeaseLimitIsOneForTheProcess(t *testing.T) {
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1))
	TrimLeases()
	const limit = 5 << 20
	defer SetLeaseLimits(SetLeaseLimits(LeaseLimits{Total: limit}))
	var group sync.WaitGroup
	for g := range 8 {
		start(&group, func() {
			for round := range 50 {
				a := Get()
				for range (g + round) % 7 {
					a.AllocUninit(300_000, 8)
				}
				a.Return()
			}
		})
	}
	group.Wait()
	sum := ReadLeaseStats()
	blocks := int64(sum.Kept) - int64(sum.Idle)*bufferSize
	if blocks != keptBytes.Load() {
		t.Errorf("%d bytes are counted, and %d kept", keptBytes.Load(), blocks)
	}
	if blocks > limit || blocks < limit/8 {
		t.Errorf("%d bytes are kept, the limit is %d", blocks, limit)
	}
	TrimLeases()
}

// Without large calls the collector makes a lease keep less, also while small calls use it all the time.
func TestLeaseKeepsLessAfterSmallCalls(t *testing.T) {
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1))
	TrimLeases()
	for range 5 {
		a := Get()
		a.AllocUninit(3<<20, 8)
		a.Return()
	}
	if kept := keptBytes.Load(); kept < 3<<20 {
		t.Fatalf("%d bytes are kept", kept)
	}
	for range 200 {
		a := Get()
		a.AllocUninit(100, 8)
		a.Return()
		collect(false)
	}
	if kept := keptBytes.Load(); kept >= 3<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// Two collections free what was not used between them.
func TestCollectorReturnsMemory(t *testing.T) {
	for range 2 { // the second time the blocks are as large as the calls need
		var all []*Arena
		for range 50 {
			a := Get()
			a.AllocUninit(200_000, 8)
			all = append(all, &a.Arena)
		}
		for _, a := range all {
			a.lease().Return()
		}
	}
	if s := ReadLeaseStats(); s.Kept < 50*200_000 {
		t.Fatalf("%d bytes are kept", s.Kept)
	}
	var s LeaseStats
	for range 100 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if s = ReadLeaseStats(); s.Kept <= uint64(s.Idle)*bufferSize {
			break
		}
	}
	if n := idleExtra(); s.Kept > uint64(s.Idle)*bufferSize || n != 0 {
		t.Errorf("%d bytes are kept in %d leases, %d extra", s.Kept, s.Idle, n)
	}
	a := Get() // and they are as good as before
	if p := New[mixed](a); *p != (mixed{}) {
		t.Error("not zeroed")
	}
	a.Return()
}

// Any number of rounds of several sizes uses as much memory as the first ones.
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

// The buffers of a burst are returned to the system, not only to the list of empty slots.
func TestHomesOfABurstAreReturned(t *testing.T) {
	if rangeStart == noAddress {
		t.Skip("no address space")
	}
	TrimLeases()
	held := make([]*Arena, 4000)
	for i := range held {
		held[i] = &Get().Arena
		held[i].Alloc(3000, 8) // in its home
	}
	full := testutil.ResidentBytes(t)
	for _, a := range held {
		a.lease().Return()
	}
	TrimLeases()
	if less := testutil.ResidentBytes(t); full-less < 12<<20 {
		t.Errorf("%d bytes resident, then %d", full, less)
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

// After a burst an idle process returns the pages, without a call and without a collection; on Windows by a collection.
func TestIdleProcessReturnsPages(t *testing.T) {
	burst := 200 << 20
	if unsafe.Sizeof(uintptr(0)) == 4 {
		burst = 20 << 20 // at most 32 MiB are cached
	}
	a := Get()
	a.Alloc(burst, 8)
	a.Return()
	if cached := ReadLeaseStats().Cached; cached < uint64(burst) {
		t.Fatalf("%d bytes are cached after a burst of %d", cached, burst)
	}
	for range 600 {
		if ReadLeaseStats().Cached < 8<<20 {
			return
		}
		time.Sleep(100 * time.Millisecond)
		if runtime.GOOS == "windows" { // C has no such thread there
			runtime.GC()
		}
	}
	t.Errorf("%d bytes are still cached after a minute", ReadLeaseStats().Cached)
}

func TestTrimLeasesReturnsPages(t *testing.T) {
	a := Get()
	a.Alloc(100<<20, 8)
	a.Return()
	TrimLeases()
	if cached := ReadLeaseStats().Cached; cached != 0 {
		t.Errorf("%d bytes are cached after TrimLeases", cached)
	}
}

// The first page of the buffer has the state of the arena; the other pages read as zeros once they are returned.
func TestTrimLeasesReturnsPagesOfBuffers(t *testing.T) {
	if rangeStart == noAddress || offheap.PageSize >= bufferSize {
		t.Skip("the buffers have no pages to return")
	}
	a := Get()
	if a.epoch&1 != 0 {
		t.Skip("checked leases keep their buffers")
	}
	const size = bufferSize - 1024
	p := (*[size]byte)(a.AllocUninit(size, 8))
	for i := range p {
		p[i] = 0xA5
	}
	a.Return()
	TrimLeases()
	if last := p[size-1]; last != 0 {
		t.Errorf("the last byte of a trimmed buffer is %#x", last)
	}
}
