//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"runtime"
	gcdebug "runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"toft.dev/toft/internal/offheap"
	"toft.dev/toft/internal/testutil"
)

// What leases keep for the next calls, and what returns to the system.

// Leases that were held at once are different, and reused; two collections free the memory of a burst.
func TestManyAtOnce(t *testing.T) {
	TrimLeases()
	for _, k := range []int{perP + 1, listSize + perP, 1000, 3000} {
		burst := func() {
			var values []*int
			held := hold(k, func(a *Arena) { values = append(values, Copy(a, len(values))) })
			if s := ReadLeaseStats(); s.Leased != k {
				t.Errorf("%d of %d are leased", s.Leased, k)
			}
			for i, v := range values {
				if *v != i {
					t.Fatalf("lease %d of %d holds %d", i, k, *v)
				}
			}
			returnAll(held)
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
	collectUntil(t, func() bool { return idleExtra() == 0 })
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

// A lease keeps what its calls need, of any size: a steady workload stops requesting memory, but for one block of several.
func TestSteadyCallsAskForNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(-1)) // a collection trims what is idle
	TrimLeases()
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
		const rounds = 200
		for range 10 {
			call(size)
		}
		epoch, requests := arena.epoch, cStats(arena).SourceCalls
		for range rounds {
			call(size)
		}
		if size > 1<<20 {
			return cStats(arena).SourceCalls <= requests+rounds
		}
		return arena.epoch == epoch+2*rounds // advanced by each Return alone
	}
	for _, size := range []int{1000, 10_000, 20_000, 200_000, 2 << 20, 20 << 20} {
		steady := settles(size)
		for again := 0; again < 2 && !steady; again++ { // a collection that had begun before may trim once more
			steady = settles(size)
		}
		if !steady {
			t.Errorf("%d bytes a call: the arena still grows", size)
		}
	}
	if kept := keptBytes.Load(); kept < 20<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	TrimLeases()
}

func TestKeptMemoryIsBoundedAndReturned(t *testing.T) {
	TrimLeases()
	use := func(bytes int) { returnAll(hold(50, func(a *Arena) { a.AllocUninit(bytes, 8) })) }
	kept := func(least, most uint64) {
		t.Helper()
		s := ReadLeaseStats()
		blocks := s.Kept - uint64(s.Idle)*bufferSize
		if blocks < least || blocks > most || blocks != uint64(keptBytes.Load()) {
			t.Errorf("%d bytes are kept in %d leases, %d are counted", s.Kept, s.Idle, keptBytes.Load())
		}
	}
	for range 3 {
		use(200_000)
		use(3_000_000)
	}
	kept(3_000_000, 64<<20)
	TrimLeases()
	kept(0, 0)
	old := SetLeaseLimits(LeaseLimits{Total: 0})
	defer SetLeaseLimits(old)
	if old.Total != 64<<20 {
		t.Errorf("%+v", old)
	}
	use(200_000)
	kept(0, 0)
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
		returnAll(hold(1, func(a *Arena) { a.AllocUninit(3<<20, 8) }))
	}
	if kept := keptBytes.Load(); kept < 3<<20 {
		t.Fatalf("%d bytes are kept", kept)
	}
	for range 200 {
		returnAll(hold(1, func(a *Arena) { a.AllocUninit(100, 8) }))
		collect(false)
	}
	if kept := keptBytes.Load(); kept >= 3<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// Two collections free what was not used between them.
func TestCollectorReturnsMemory(t *testing.T) {
	for range 2 { // the second time the blocks are as large as the calls need
		returnAll(hold(50, func(a *Arena) { a.AllocUninit(200_000, 8) }))
	}
	if s := ReadLeaseStats(); s.Kept < 50*200_000 {
		t.Fatalf("%d bytes are kept", s.Kept)
	}
	collectUntil(t, func() bool {
		s := ReadLeaseStats()
		return s.Kept <= uint64(s.Idle)*bufferSize && idleExtra() == 0
	})
	a := Get() // and they are as good as before
	if p := New[mixed](a); *p != (mixed{}) {
		t.Error("not zeroed")
	}
	a.Return()
}

// The buffers of a burst are returned to the system, not only to the list of empty slots.
func TestHomesOfABurstAreReturned(t *testing.T) {
	if rangeStart == noAddress {
		t.Skip("no address space")
	}
	TrimLeases()
	testutil.ResidentBytes(t)                               // skips where there is no such number, before leases are held
	held := hold(4000, func(a *Arena) { a.Alloc(3000, 8) }) // in its home
	full := testutil.ResidentBytes(t)
	returnAll(held)
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
	returnAll(hold(1, func(a *Arena) { a.Alloc(burst, 8) }))
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
	returnAll(hold(1, func(a *Arena) { a.Alloc(100<<20, 8) }))
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
