//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"flag"
	"maps"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"
)

// A loop does an operation n times. It returns the results of at, used or a check, ORed: the top
// bit is set if one of them was wrong. That is also why the compiler can leave none of them out.
type loop func(n int) uintptr

// A factory prepares what one goroutine keeps, outside the timing, and gives it back with end.
type factory func() (do loop, end func())

// each is the factory of a loop that keeps nothing.
func each(do loop) factory { return func() (loop, func()) { return do, func() {} } }

type contender struct {
	name  string
	loops map[string]factory // by the name of the benchmark that runs them
}

var contenders []contender

func add(name string, loops map[string]factory) {
	for _, c := range contenders {
		if c.name == name {
			maps.Copy(c.loops, loops)
			return
		}
	}
	contenders = append(contenders, contender{name, loops})
}

var turn = flag.Int("turn", 0, "which contender is the first")

// run measures every contender that has a loop of that name.
func run(b *testing.B, name string, goroutines int) {
	for i := range contenders {
		c := contenders[(i+*turn)%len(contenders)]
		if prepare := c.loops[name]; prepare != nil {
			b.Run(c.name, func(b *testing.B) { measure(b, prepare, goroutines) })
		}
	}
}

// grain is how many operations a goroutine does between two reads of the count that all share: a read costs as
// much as a few allocations.
const grain = 64

// measure runs on -cpu goroutines (at least on as many as are requested), the caller alone if that is one.
func measure(b *testing.B, prepare factory, goroutines int) {
	procs := runtime.GOMAXPROCS(0)
	if procs == 1 && goroutines <= 1 {
		do, end := prepare()
		defer end()
		b.ReportAllocs()
		b.ResetTimer()
		wrong(b, do(b.N))
		return
	}
	parallelism := max(1, goroutines/procs)
	type worker struct {
		do  loop
		end func()
	}
	var workers []worker
	for range procs * parallelism {
		do, end := prepare()
		defer end()
		workers = append(workers, worker{do, end})
	}
	var next, bad atomic.Uintptr
	b.SetParallelism(parallelism)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		do, found := workers[next.Add(1)-1].do, uintptr(0)
		for pb.Next() {
			found |= do(grain)
		}
		bad.Or(found)
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*grain), "ns/op")
	wrong(b, bad.Load())
}

const topBit = 1 << 63

func wrong(b *testing.B, bad uintptr) {
	b.StopTimer()
	if bad >= topBit {
		b.Fatal("wrong results")
	}
}

// at has its top bit set if p is nil.
func at(p unsafe.Pointer) uintptr { return uintptr(p) - 1 }

// used has its top bit set if p is nil or the last byte of the block was not 0, and leaves it other than 0 for the
// next.
func used(p unsafe.Pointer, size int) uintptr {
	last := (*byte)(unsafe.Add(p, size-1))
	was := *last
	*last = 1
	return at(p) | -uintptr(was)
}

var source = func() (bytes [10][1000]byte) {
	for k := range bytes {
		for i := range bytes[k] {
			bytes[k][i] = byte(k + 1)
		}
	}
	return
}()

func fill(p unsafe.Pointer, size, k int) { copy(unsafe.Slice((*byte)(p), size), source[k][:]) }

// intact has its top bit set unless what fill wrote is still at both ends.
func intact(p unsafe.Pointer, size, k int) uintptr {
	first, last := *(*byte)(p), *(*byte)(unsafe.Add(p, size-1))
	if int(first) != k+1 || int(last) != k+1 {
		return topBit
	}
	return 0
}

// writeSmall fills a small batch, then checks whether a block overlaps another. Each contender makes this call.
//
//go:noinline
func writeSmall(p, q, r, s unsafe.Pointer) uintptr {
	fill(p, 1, 0)
	fill(q, 10, 1)
	fill(r, 100, 2)
	fill(s, 1000, 3)
	return intact(p, 1, 0) | intact(q, 10, 1) | intact(r, 100, 2) | intact(s, 1000, 3)
}

// writeMulti does the same for a multi-page batch.
//
//go:noinline
func writeMulti(p *[10]unsafe.Pointer) (bad uintptr) {
	for k := range p {
		fill(p[k], 1000, k)
	}
	for k := range p {
		bad |= intact(p[k], 1000, k)
	}
	return bad
}
