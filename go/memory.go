//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"math"
	runtimedebug "runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// The memory of this package and of pools, which the Go runtime does not count.

// Held returns how many bytes of memory the process uses for arenas and pools: the blocks and buffers of all leases and
// owned arenas, those in use too, C's caches of pages and blocks, and the pools of toft.dev/toft/pool. It includes blocks
// whose memory has not been written yet, and is otherwise what they add to the resident memory, within 5 % from some MiB
// on; on systems other than Linux the committed memory of pools. It does not include the memory of arenas that other
// libraries made and [Own] or [Wrap] took, nor what C allocates itself.
//
// Held may be called at any time. It calls the system to learn which pages of buffers and pools are resident.
func Held() uint64 {
	held := cHeld() + cFaultingBytes() + uint64(separateBuffers.Load())*bufferSize + offheap.Held()
	if rangeStart == noAddress {
		return held
	}
	resident := func(p unsafe.Pointer, size uintptr) { held += uint64(offheap.Resident(p, size)) }
	resident(unsafe.Pointer(slotAt(0)), made.Load()*bufferSize)
	n := extra.made.Load()
	resident(unsafe.Pointer(extraAt(0)), uintptr(n)*slotSize)
	resident(extraBuffer(0), uintptr(n)*bufferSize)
	return held
}

// A Metric is a number of this package, in the form of [runtime/metrics]: the name ends with the unit.
type Metric struct {
	Name, Description string
	Value             uint64
}

// Metrics returns the numbers of this package, for a collector of metrics. Names that exist stay; others may be added.
func Metrics() []Metric {
	leases := ReadLeaseStats()
	return []Metric{
		{"/toft/leases/idle:leases", "Arenas that are available to Get.", uint64(leases.Idle)},
		{"/toft/leases/leased:leases", "Leases that were got and not returned.", uint64(leases.Leased)},
		{"/toft/memory/cached:bytes", "Free pages that C caches for all arenas; part of held.", leases.Cached},
		{"/toft/memory/held:bytes", "Memory of leases, owned arenas, caches and pools, which is in no metric of Go.", Held()},
		{"/toft/memory/kept:bytes", "Memory of idle leases; part of held.", leases.Kept},
	}
}

// ---- the limit ----

// A limiter keeps the runtime's limit at a total less what is held.
var limiter struct {
	on atomic.Bool // read without the mutex
	sync.Mutex
	call   int // the number of the last AdjustMemoryLimit
	total  int64
	before int64        // the limit to restore
	near   atomic.Int64 // nearHeld at the last adjustment
	change atomic.Int64 // a growth by less waits for the next collection
	kept   atomic.Int64 // limits what leases keep, as keptLimit does
	least  int64        // what the runtime had after the last collection that was forced
}

func init() { limiter.kept.Store(math.MaxInt64) }

const (
	leastPart   = 16 // the runtime's limit is never less than the total divided by this
	keptPart    = 16 // leases keep no more than this part of the total
	sparePart   = 8  // idle memory goes when less than this part of the total is left
	changePart  = 64 // change is the total divided by this, and leastChange at least
	leastChange = 1 << 20
)

// AdjustMemoryLimit keeps the memory limit of the Go runtime ([runtime/debug.SetMemoryLimit], GOMEMLIMIT) at total less [Held], so
// that the heap and the memory of arenas and pools together stay below total if they can: the collector runs more often
// while arenas hold much. total should be some percent less than what the system allows the process. The limit is
// adjusted at each collection of garbage, and when Go code makes arenas or pools grow by 1/64 of total, and 1 MiB at least. If
// less than 1/8 of total is left then, idle leases and caches return their memory; if the Go runtime has more than the new
// limit, the collector runs and its free memory goes back to the system; both before the allocation returns. The limit is
// never less than 1/16 of total, so that a process whose arenas hold nearly all of it slows down but goes on. Leases keep 1/16 of total at most (see [LeaseLimits]).
//
// While it is in force, the program must not call debug.SetMemoryLimit. Another call replaces the total. stop ends the last
// call and restores the limit from before the first one; the stop of a call that was replaced does nothing.
func AdjustMemoryLimit(total int64) (stop func()) {
	if total <= 0 {
		panic("toft: AdjustMemoryLimit: the total is not positive")
	}
	watchCollector()
	limiter.Lock()
	if !limiter.on.Load() {
		limiter.before = runtimedebug.SetMemoryLimit(-1)
	}
	limiter.total, limiter.least = total, 0
	limiter.change.Store(max(total/changePart, leastChange))
	limiter.kept.Store(total / keptPart)
	limiter.call++
	call := limiter.call
	limiter.on.Store(true)
	offheap.OnGrowth(memoryGrew)
	limiter.Unlock()
	adjustLimit(true)
	return func() {
		limiter.Lock()
		defer limiter.Unlock()
		if call == limiter.call && limiter.on.Load() {
			limiter.on.Store(false)
			limiter.kept.Store(math.MaxInt64)
			offheap.OnGrowth(nil)
			runtimedebug.SetMemoryLimit(limiter.before)
		}
	}
}

// nearHeld returns a number that changes as Held does, in less time.
func nearHeld() int64 { return int64(cHeld() + offheap.Committed()) }

// memoryGrew is called after a growth. It adjusts the limit if the growth since the last adjustment is large.
func memoryGrew() {
	if limiter.on.Load() && nearHeld()-limiter.near.Load() >= limiter.change.Load() {
		adjustLimit(true)
	}
}

// adjustLimit sets the limit. If collect is set and the Go runtime has more memory than that, it collects garbage.
func adjustLimit(collect bool) {
	limiter.Lock()
	if !limiter.on.Load() {
		limiter.Unlock()
		return
	}
	limiter.near.Store(nearHeld())
	least := limiter.total / leastPart
	left := func() int64 {
		held := int64(Held())
		if collect { // what has just grown is not resident yet
			held = max(held, nearHeld())
		}
		return limiter.total - held
	}
	limit, used := left(), runtimeMemory()
	if limit-used < limiter.total/sparePart { // idle memory goes before the collector works for it
		trim(true)
		cTrimPages(true)
		limit = left()
	}
	limit = max(limit, least)
	if limit != runtimedebug.SetMemoryLimit(-1) {
		runtimedebug.SetMemoryLimit(limit)
	}
	limiter.least = min(limiter.least, used)
	collect = collect && used > limit && used > limiter.least+limiter.least/8 // else it would not get lower
	limiter.Unlock()
	if collect {
		runtimedebug.FreeOSMemory()
		used = runtimeMemory()
		limiter.Lock()
		limiter.least = used
		limiter.Unlock()
	}
}

// runtimeMemory returns what the Go runtime compares with its limit.
func runtimeMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
