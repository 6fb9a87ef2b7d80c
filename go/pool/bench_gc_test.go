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
func BenchmarkGC(b *testing.B) {
	n := 10_000_000
	if testing.Short() {
		n = 1_000_000
	}
	b.Run("heap", func(b *testing.B) { benchTree(b, n, heapTree) })
	b.Run("slice", func(b *testing.B) { benchTree(b, n, sliceTree(0)) })
	b.Run("slice in full", func(b *testing.B) { benchTree(b, n, sliceTree(n)) })
	b.Run("Pool", func(b *testing.B) { benchTree(b, n, poolTree) })
}

// A builder makes a tree whose keys are 0 to n - 1, numbered as nodes are made: parents before children.
type builder func(b *testing.B, n int) (walk func() uint64)

func benchTree(b *testing.B, n int, build builder) {
	sum := map[string]float64{}
	for b.Loop() {
		runtime.GC()
		gcs, cpu := collections(), gcCPU()
		timed := func(name string, f func()) {
			start := time.Now()
			f()
			sum[name+"-ns/node"] += float64(time.Since(start).Nanoseconds()) / float64(n)
		}
		var walk func() uint64
		timed("build", func() { walk = build(b, n) })
		sum["build-GCs"] += float64(collections() - gcs)
		sum["build-gc-cpu-ms"] += (gcCPU() - cpu) * 1e3
		timed("walk", func() {
			if got := walk(); got != uint64(n)*uint64(n-1)/2 {
				b.Fatal(got)
			}
		})
		runtime.GC()
		const rounds = 5
		wall := time.Duration(math.MaxInt64)
		cpu = gcCPU()
		for range rounds {
			start := time.Now()
			runtime.GC()
			wall = min(wall, time.Since(start))
		}
		sum["gc-wall-ms"] += float64(wall.Nanoseconds()) / 1e6
		sum["gc-cpu-ms"] += (gcCPU() - cpu) * 1e3 / rounds
		runtime.KeepAlive(walk)
	}
	for name, s := range sum {
		b.ReportMetric(s/float64(b.N), name)
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

// ---- on the heap ----

type heapNode struct {
	left, right *heapNode
	key         uint64
}

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

func heapTree(_ *testing.B, n int) func() uint64 { return buildHeap(new(uint64), n).walk }

// ---- in a slice ----

type sliceNode struct {
	left, right int32 // 0: none
	key         uint64
}

type slice []sliceNode

func (s *slice) make(next *uint64, n int) int32 {
	if n == 0 {
		return 0
	}
	i := int32(len(*s))
	*s = append(*s, sliceNode{key: *next})
	*next++
	left := s.make(next, (n-1)/2)
	right := s.make(next, n-1-(n-1)/2)
	(*s)[i].left, (*s)[i].right = left, right
	return i
}

func (s slice) sum(i int32) uint64 {
	if i == 0 {
		return 0
	}
	v := &s[i]
	return v.key + s.sum(v.left) + s.sum(v.right)
}

func sliceTree(size int) builder {
	return func(_ *testing.B, n int) func() uint64 {
		s := make(slice, 1, size+1)
		root := s.make(new(uint64), n)
		return func() uint64 { return s.sum(root) }
	}
}

// ---- in a pool ----

type poolNode struct {
	left, right Handle[poolNode]
	key         uint64
}

type nodes struct{ *Pool[poolNode] }

func (p nodes) make(b *testing.B, next *uint64, n int) Handle[poolNode] {
	if n == 0 {
		return 0
	}
	h, v, err := p.New()
	if err != nil {
		b.Fatal(err)
	}
	v.key = *next
	*next++
	v.left = p.make(b, next, (n-1)/2)
	v.right = p.make(b, next, n-1-(n-1)/2)
	return h
}

func (p nodes) sum(h Handle[poolNode]) uint64 {
	v := p.At(h)
	if v == nil {
		return 0
	}
	return v.key + p.sum(v.left) + p.sum(v.right)
}

func poolTree(b *testing.B, n int) func() uint64 {
	p := nodes{newPool[poolNode](b, Options{})}
	root := p.make(b, new(uint64), n)
	return func() uint64 { return p.sum(root) }
}
