//go:build cgo && !asan

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	runtimedebug "runtime/debug"
	"strings"
	"testing"
	"time"
	"unsafe"

	"toft.dev/toft/pool"
)

// anonymous returns the resident bytes of the process that are in no file.
func anonymous(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("this system does not say what is resident: ", err)
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(text), &size, &resident, &shared); err != nil {
		t.Fatal(err)
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// unheld returns a function that returns how many more bytes are resident now that neither the runtime nor Held counts.
func unheld(t *testing.T) func() int64 {
	count := func() int64 { return anonymous(t) - int64(Held()) - runtimeMemory() }
	before := count()
	return func() int64 { return count() - before }
}

// statusOf returns a number of bytes of the process.
func statusOf(t *testing.T, name string) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	_, rest, found := strings.Cut(string(text), name)
	if _, scan := fmt.Sscan(rest, &bytes); err != nil || !found || scan != nil {
		t.Fatal(err, found, scan)
	}
	return bytes << 10
}

// inChild runs the calling test in a process of its own, and reports whether this is that process.
func inChild(t *testing.T, environment ...string) bool {
	t.Helper()
	if isChild(t) {
		return true
	}
	if out, err := rerun(t, environment...); err != nil || !regexp.MustCompile("--- (PASS|SKIP)").MatchString(out) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func fill(b []byte) {
	for i := 0; i < len(b); i += 1024 {
		b[i] = 1
	}
}

const MiB = 1 << 20

// filledPool returns a pool with n zeros.
func filledPool[T any](t *testing.T, n int) *pool.Pool[T] {
	t.Helper()
	p, err := pool.New[T](pool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, _, err := p.New(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// A balance is the resident and the held memory at a moment, to compare later ones with.
type balance struct {
	t              *testing.T
	resident, held int64
}

// compare requires that the held memory has changed as the resident memory has, and by that many bytes at least.
func (b balance) compare(what string, least int64) {
	b.t.Helper()
	r, h := anonymous(b.t)-b.resident, int64(Held())-b.held
	most := h/20 + 3*MiB
	if text, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); strings.Contains(string(text), "[always]") {
		most += 8 * MiB // huge pages of which a part is held
	}
	if d := max(r-h, h-r); d > most || h < least {
		b.t.Errorf("%s: %.1f MiB are resident, %.1f held", what, float64(r)/MiB, float64(h)/MiB)
	}
}

func (b balance) manyLeases() {
	leases := hold(20_000, func(a *Arena) { a.AllocUninit(16, 8) })
	b.compare("20,000 small leases", 80*MiB)
	for _, a := range leases {
		MakeSlice[byte](a, 3000)
	}
	b.compare("20,000 larger leases", 80*MiB)
	returnAll(leases)
	b.compare("20,000 idle leases", 80*MiB)
	TrimLeases()
	b.compare("no lease", 0)
	if h := int64(Held()) - b.held; h > 2*MiB { // the slots of the leases
		b.t.Errorf("%d bytes are held after TrimLeases", h)
	}
}

func (b balance) oneLease() {
	l := Get()
	for range 2000 {
		fill(MakeSlice[byte](l, 100_000))
	}
	b.compare("many allocations", 200*MiB)
	l.Return()
	b.compare("cached pages", 200*MiB)
	TrimLeases()
	b.compare("nothing", 0)
}

func (b balance) arenas() {
	a := must1(NewArena(Options{Contiguous: 1 << 30}))
	fill(MakeSlice[byte](a, 100*MiB))
	b.compare("a contiguous arena", 100*MiB)
	a.Release()
	a = newArena(b.t, Options{}) // released at the end
	fill(MakeSlice[byte](a, 100*MiB))
	b.compare("an owned arena", 100*MiB)
	a.Reset()
	a.Trim(0)
	TrimLeases()
	b.compare("an empty one", 0)
}

func (b balance) onePool() {
	p := filledPool[[64]byte](b.t, 1_100_000) // a little more than 64 MiB, for which more is committed
	for h := range p.All() {
		p.At(h)[0] = 1
	}
	b.compare("a pool", 64*MiB)
	p.Close()
	b.compare("a closed pool", 0)
}

// Held changes as the resident memory does, for each kind of memory, in use and idle.
func TestHeldIsWhatIsResident(t *testing.T) {
	if runtime.GOOS != "linux" || raceBuild || unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("compares with /proc, without the race detector's memory, and needs many addresses")
	}
	if !inChild(t, "GODEBUG=") {
		return
	}
	runtimedebug.SetGCPercent(-1)
	b := balance{t, anonymous(t), int64(Held())}
	b.manyLeases()
	b.oneLease()
	b.arenas()
	b.onePool()
}

func TestMetrics(t *testing.T) {
	defer Get().Return()
	values := map[string]uint64{}
	before := ""
	for _, m := range Metrics() {
		if !regexp.MustCompile(`^/toft(/[a-z]+)+:(bytes|leases)$`).MatchString(m.Name) || !strings.HasSuffix(m.Description, ".") || m.Name <= before {
			t.Errorf("%+v", m)
		}
		values[m.Name], before = m.Value, m.Name
	}
	if values["/toft/leases/leased:leases"] == 0 || values["/toft/memory/held:bytes"] < values["/toft/memory/cached:bytes"]+uint64(os.Getpagesize()) {
		t.Error(values)
	}
}

// The limit follows what leases, arenas and pools hold, and is restored.
func TestAdjustMemoryLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	const total = 4 << 30
	if math.MaxInt < total {
		t.Skip("without the addresses")
	}
	limit := func() int64 { return runtimedebug.SetMemoryLimit(-1) }
	about := func(what string, want int64) {
		t.Helper()
		if d := limit() - (total - want*MiB); d > 16*MiB || d < -80*MiB {
			t.Errorf("%s: the limit is %d MiB less than the total, not %d", what, (total-limit())/MiB, want)
		}
	}
	most := int64(total)
	wantPanic(t, "not positive", func() { AdjustMemoryLimit(0) })
	runtimedebug.SetMemoryLimit(5 << 30)
	stopFirst := AdjustMemoryLimit(total / 2)
	stop := AdjustMemoryLimit(total)
	stopFirst()
	about("nothing", 0)
	l := Get()
	l.AllocUninit(500*MiB, 8)
	about("a lease", 500)
	a := newArena(t, Options{})
	a.AllocUninit(500*MiB, 8)
	about("an arena", 1000)
	p := filledPool[[1024]byte](t, 300_000)
	collectAndWait()
	about("a pool", 1300)
	p.Close()
	l.Return()
	a.Reset()
	a.Trim(0)
	TrimLeases()
	collectAndWait()
	about("nothing again", 0)
	l = Get()
	l.AllocUninit(int(most)-100*MiB, 8)
	if limit() != total/leastPart {
		t.Errorf("the limit is %d MiB, not the least", limit()/MiB)
	}
	l.Return()
	stop()
	stop()
	if limit() != 5<<30 || limiter.kept.Load() != math.MaxInt64 {
		t.Errorf("the limit is %d MiB after the end", limit()/MiB)
	}
}

func collectAndWait() {
	for range 3 {
		runtime.GC()
		time.Sleep(20 * time.Millisecond) // the finalizer runs
	}
}

// Memory that C caches goes when a pool needs it.
func TestCachedPagesGoBeforeTheTotalIsExceeded(t *testing.T) {
	if !inChild(t) {
		return
	}
	defer AdjustMemoryLimit(256 * MiB)()
	l := Get()
	fill(unsafe.Slice((*byte)(l.AllocUninit(200*MiB, 8)), 200*MiB))
	l.Return()
	filledPool[[1024]byte](t, 150<<10)
	collectAndWait()
	if n := ReadLeaseStats().Cached; n != 0 {
		t.Errorf("%d MiB are cached", n/MiB)
	}
}

// Bursts of leases and garbage stay below the total, whatever their shape, and idle memory goes before it would exceed it.
func TestBurstsStayBelowTheTotal(t *testing.T) {
	if runtime.GOOS != "linux" || raceBuild {
		t.Skip("reads the peak from /proc")
	}
	if !inChild(t) {
		return
	}
	started := statusOf(t, "VmRSS:") // the program itself
	left := unheld(t)
	defer AdjustMemoryLimit(256 * MiB)()
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	for i := range rounds {
		done := make(chan bool)
		go func() { // on various processors
			defer close(done)
			l := Get()
			defer l.Return()
			if i%2 == 0 {
				fill(unsafe.Slice((*byte)(l.AllocUninit(200*MiB, 8)), 200*MiB))
			} else {
				for range 2000 {
					fill(unsafe.Slice((*byte)(l.AllocUninit(100_000, 8)), 100_000))
				}
			}
			for range 16 {
				fill(make([]byte, MiB))
			}
		}()
		<-done
	}
	if left := left(); left > 8*MiB {
		t.Errorf("%.1f MiB are resident that are not held", float64(left)/MiB)
	}
	if peak := statusOf(t, "VmHWM:"); peak > 256*MiB+started {
		t.Errorf("at most %d MiB were resident, %d at the start", peak/MiB, started/MiB)
	}
}

// Blocks below 1 MiB come from the C heap, which has a part for each thread and keeps pages of what is freed there. The system
// gets them.
func TestTrimReturnsPagesOfTheHeap(t *testing.T) {
	if runtime.GOOS != "linux" || raceBuild {
		t.Skip("compares with /proc, without the race detector's memory")
	}
	if !inChild(t) {
		return
	}
	use := func() { returnAll(hold(20_000, func(a *Arena) { MakeSlice[byte](a, 6000) })) }
	most := int64(8 * MiB)
	if unsafe.Sizeof(uintptr(0)) == 4 {
		most = 32 * MiB // glibc's heaps of 1 MiB each keep their last pages
	}
	for _, way := range []struct {
		name string
		trim func()
	}{{"TrimLeases", TrimLeases}, {"collections", collectAndWait}} {
		left := unheld(t)
		for range 3 {
			use()
			way.trim()
		}
		for i := 0; way.name == "collections" && left() > most && i < 100; i++ {
			collectAndWait() // on a busy machine the finalizer runs late
		}
		if left := left(); left > most {
			t.Errorf("%s: %.1f MiB are resident that are not held", way.name, float64(left)/MiB)
		}
	}
}
