//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
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

// What leases keep for the next calls, and what returns to the system.

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

// The buffers of a burst are returned to the system, not only to the list of empty slots.
func TestHomesOfABurstAreReturned(t *testing.T) {
	if rangeStart == noAddress {
		t.Skip("no address space")
	}
	TrimLeases()
	testutil.ResidentBytes(t) // skips where there is no such number, before leases are held
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
