// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The cost of a collection while a binary tree of ten million nodes is live (a million with -short): values on the heap that
// point to each other; elements of a slice, linked by index, grown by append or made in full; slots of a Pool, linked by
// handle. Run it with -benchtime 1x -run xxx.
//
//	build, walk    time per node; building includes the collections that it triggers: build-GCs, and their CPU time
//	gc-wall        the time of runtime.GC while the tree is live, the minimum of five
//	gc-cpu         the CPU time of that, of all threads, on average
//	gc-pause       the longest time that the world was stopped for it
//	free           time per node to free the nodes one by one
//	drop           time per node to free the tree as a whole: a collection, or Close
func BenchmarkGC(b *testing.B) {
	n := 10_000_000
	if testing.Short() {
		n = 1_000_000
	}
	b.Run("heap", func(b *testing.B) { benchTree(b, n, &heapTree{}) })
	b.Run("slice", func(b *testing.B) { benchTree(b, n, &sliceTree{}) })
	b.Run("slice in full", func(b *testing.B) { benchTree(b, n, &sliceTree{sized: true}) })
	b.Run("Pool", func(b *testing.B) { benchTree(b, n, &poolTree{b: b}) })
	b.Run("Pool in full", func(b *testing.B) { benchTree(b, n, &poolTree{b: b, slots: n}) })
}

type tree interface {
	build(n int)
	walk() uint64
	free() // one by one
	drop() // all at once; the tree may have been freed before
}

func benchTree(b *testing.B, n int, t tree) {
	sum := map[string]float64{}
	for b.Loop() {
		runtime.GC()
		gcs, cpu := collections(), gcCPU()
		timed := func(name string, f func()) {
			start := time.Now()
			f()
			sum[name+"-ns/node"] += float64(time.Since(start).Nanoseconds()) / float64(n)
		}
		timed("build", func() { t.build(n) })
		sum["build-GCs"] += float64(collections() - gcs)
		sum["build-gc-cpu-ms"] += (gcCPU() - cpu) * 1e3
		timed("walk", func() {
			if got := t.walk(); got != uint64(n)*uint64(n-1)/2 {
				b.Fatal(got)
			}
		})
		runtime.GC()
		const rounds = 5
		wall, pauses := time.Duration(math.MaxInt64), gcPauses()
		cpu = gcCPU()
		for range rounds {
			start := time.Now()
			runtime.GC()
			wall = min(wall, time.Since(start))
		}
		sum["gc-wall-ms"] += float64(wall.Nanoseconds()) / 1e6
		sum["gc-cpu-ms"] += (gcCPU() - cpu) * 1e3 / rounds
		sum["gc-pause-us"] += longest(pauses, gcPauses()) * 1e6
		timed("free", t.free)
		timed("drop", t.drop)
	}
	for name, s := range sum {
		if s != 0 {
			b.ReportMetric(s/float64(b.N), name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func read(name string) metrics.Value {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value
}

func collections() uint64 { return read("/gc/cycles/total:gc-cycles").Uint64() }

func gcCPU() float64 { return read("/cpu/classes/gc/total:cpu-seconds").Float64() }

func gcPauses() *metrics.Float64Histogram {
	return read("/sched/pauses/total/gc:seconds").Float64Histogram()
}

// longest returns an upper bound of the longest pause between two readings, in seconds.
func longest(before, after *metrics.Float64Histogram) (most float64) {
	for i, n := range after.Counts {
		if n > before.Counts[i] {
			most = after.Buckets[i+1]
		}
	}
	return most
}

// ---- on the heap ----

type heapNode struct {
	left, right *heapNode
	key         uint64
}

type heapTree struct{ root *heapNode }

// The keys are 0 to n - 1, numbered as nodes are made: parents before children.
func buildHeap(next *uint64, n int) *heapNode {
	if n == 0 {
		return nil
	}
	v := &heapNode{key: *next}
	*next++
	v.left = buildHeap(next, (n-1)/2)
	v.right = buildHeap(next, n-1-(n-1)/2)
	return v
}

func (v *heapNode) walk() uint64 {
	if v == nil {
		return 0
	}
	return v.key + v.left.walk() + v.right.walk()
}

func (t *heapTree) build(n int)  { t.root = buildHeap(new(uint64), n) }
func (t *heapTree) walk() uint64 { return t.root.walk() }
func (t *heapTree) free()        {}
func (t *heapTree) drop()        { t.root = nil; runtime.GC() }

// ---- in a slice ----

type sliceNode struct {
	left, right int32 // 0: none
	key         uint64
}

type sliceTree struct {
	nodes []sliceNode
	root  int32
	freed int32
	sized bool
}

func (t *sliceTree) make(next *uint64, n int) int32 {
	if n == 0 {
		return 0
	}
	i := int32(len(t.nodes))
	t.nodes = append(t.nodes, sliceNode{key: *next})
	*next++
	left := t.make(next, (n-1)/2)
	right := t.make(next, n-1-(n-1)/2)
	t.nodes[i].left, t.nodes[i].right = left, right
	return i
}

func (t *sliceTree) sum(i int32) uint64 {
	if i == 0 {
		return 0
	}
	v := &t.nodes[i]
	return v.key + t.sum(v.left) + t.sum(v.right)
}

func (t *sliceTree) give(i int32) {
	if i == 0 {
		return
	}
	v := &t.nodes[i]
	left, right := v.left, v.right
	v.left, t.freed = t.freed, i
	t.give(left)
	t.give(right)
}

func (t *sliceTree) build(n int) {
	size := 0
	if t.sized {
		size = n
	}
	t.nodes = make([]sliceNode, 1, size+1)
	t.root = t.make(new(uint64), n)
}
func (t *sliceTree) walk() uint64 { return t.sum(t.root) }
func (t *sliceTree) free()        { t.give(t.root) }
func (t *sliceTree) drop()        { t.nodes = nil; runtime.GC() }

// ---- in a pool ----

type poolNode struct {
	left, right Handle[poolNode]
	key         uint64
}

type poolTree struct {
	b     *testing.B
	pool  *Pool[poolNode]
	root  Handle[poolNode]
	slots int
}

func (t *poolTree) make(next *uint64, n int) Handle[poolNode] {
	if n == 0 {
		return 0
	}
	h, v, err := t.pool.New()
	if err != nil {
		t.b.Fatal(err)
	}
	v.key = *next
	*next++
	v.left = t.make(next, (n-1)/2)
	v.right = t.make(next, n-1-(n-1)/2)
	return h
}

func (t *poolTree) sum(h Handle[poolNode]) uint64 {
	v := t.pool.At(h)
	if v == nil {
		return 0
	}
	return v.key + t.sum(v.left) + t.sum(v.right)
}

func (t *poolTree) give(h Handle[poolNode]) {
	v := t.pool.At(h)
	if v == nil {
		return
	}
	left, right := v.left, v.right
	t.pool.Free(h)
	t.give(left)
	t.give(right)
}

func (t *poolTree) build(n int) {
	pool, err := New[poolNode](Options{Slots: t.slots})
	if err != nil {
		t.b.Fatal(err)
	}
	t.pool = pool
	t.root = t.make(new(uint64), n)
}
func (t *poolTree) walk() uint64 { return t.sum(t.root) }
func (t *poolTree) free()        { t.give(t.root) }
func (t *poolTree) drop()        { t.pool.Close() }
