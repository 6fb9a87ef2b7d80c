// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"math/rand/v2"
	"testing"
)

// Pools compared with alternatives: values on the heap, a slice with a free list of indices (without a check for stale ones,
// and with generations as in a Pool), a map. Each ns/item is the time of one operation.

type item struct {
	a uint64
	_ [2]uint64
}

// A sliceList reuses the elements of a slice.
type sliceList struct {
	items []item
	next  []int32 // free list; -1: live
	free  int32   // 0: none
}

func (l *sliceList) add() int32 {
	if i := l.free; i != 0 {
		l.free, l.next[i] = l.next[i], -1
		l.items[i] = item{}
		return i
	}
	if len(l.items) == 0 {
		l.items, l.next = append(l.items, item{}), append(l.next, -1)
	}
	l.items, l.next = append(l.items, item{}), append(l.next, -1)
	return int32(len(l.items) - 1)
}

func (l *sliceList) drop(i int32) { l.next[i], l.free = l.free, i }

// A slotMap is a sliceList with generations.
type slotMap struct {
	sliceList
	generations []uint32
}

type slotKey struct{ index, generation uint32 }

func (m *slotMap) add() slotKey {
	i := m.sliceList.add()
	if int(i) >= len(m.generations) {
		m.generations = append(m.generations, make([]uint32, int(i)+1-len(m.generations))...)
	}
	return slotKey{uint32(i), m.generations[i]}
}

func (m *slotMap) at(k slotKey) *item {
	if uint(k.index) >= uint(len(m.generations)) || m.generations[k.index] != k.generation {
		return nil
	}
	return &m.items[k.index]
}

func (m *slotMap) drop(k slotKey) bool {
	if m.at(k) == nil {
		return false
	}
	m.generations[k.index]++
	m.sliceList.drop(int32(k.index))
	return true
}

func perItem(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
	b.ReportMetric(0, "ns/op")
}

var benchSink uint64

// The timed loops are functions of their own, because the compiler inlines less in the closures of a benchmark.

// Take n, free n, in the same order.
func BenchmarkNewFree(b *testing.B) {
	const n = 1000
	b.Run("Pool", func(b *testing.B) {
		p := newPool[item](b, Options{})
		hs := make([]Handle[item], n)
		for b.Loop() {
			if !fillPool(p, hs) || !emptyPool(p, hs) {
				b.Fatal("no slot")
			}
		}
		perItem(b, n)
	})
	b.Run("Pool.Clear", func(b *testing.B) {
		p := newPool[item](b, Options{})
		hs := make([]Handle[item], n)
		for b.Loop() {
			if !fillPool(p, hs) {
				b.Fatal("no slot")
			}
			p.Clear()
		}
		perItem(b, n)
	})
	b.Run("slice", func(b *testing.B) {
		var l sliceList
		hs := make([]int32, n)
		for b.Loop() {
			fillSlice(&l, hs)
			emptySlice(&l, hs)
		}
		perItem(b, n)
	})
	b.Run("slice with generations", func(b *testing.B) {
		var l slotMap
		hs := make([]slotKey, n)
		for b.Loop() {
			fillSlotMap(&l, hs)
			if !emptySlotMap(&l, hs) {
				b.Fatal("stale")
			}
		}
		perItem(b, n)
	})
	b.Run("heap", func(b *testing.B) {
		hs := make([]*item, n)
		for b.Loop() {
			for i := range hs {
				hs[i] = &item{a: uint64(i)}
			}
			clear(hs)
		}
		perItem(b, n)
	})
	b.Run("map", func(b *testing.B) {
		m := map[uint32]item{}
		for b.Loop() {
			for i := range uint32(n) {
				m[i] = item{a: uint64(i)}
			}
			for i := range uint32(n) {
				delete(m, i)
			}
		}
		perItem(b, n)
	})
}

func fillPool(p *Pool[item], hs []Handle[item]) bool {
	for i := range hs {
		h, v, err := p.New()
		if err != nil {
			return false
		}
		v.a = uint64(i)
		hs[i] = h
	}
	return true
}

func emptyPool(p *Pool[item], hs []Handle[item]) bool {
	for _, h := range hs {
		if !p.Free(h) {
			return false
		}
	}
	return true
}

func fillSlice(l *sliceList, hs []int32) {
	for i := range hs {
		hs[i] = l.add()
		l.items[hs[i]].a = uint64(i)
	}
}

func emptySlice(l *sliceList, hs []int32) {
	for _, h := range hs {
		l.drop(h)
	}
}

func fillSlotMap(l *slotMap, hs []slotKey) {
	for i := range hs {
		hs[i] = l.add()
		l.items[hs[i].index].a = uint64(i)
	}
}

func emptySlotMap(l *slotMap, hs []slotKey) bool {
	for _, h := range hs {
		if !l.drop(h) {
			return false
		}
	}
	return true
}

func fillRows(t *Table, x, y, z *Column[uint64], rows []Row) bool {
	for i := range rows {
		row, err := t.New()
		if err != nil {
			return false
		}
		rows[i] = row
		*x.At(row), *y.At(row), *z.At(row) = 1, 2, 3
	}
	return true
}

func sumPool(p *Pool[item], hs []Handle[item]) (sum uint64) {
	for _, h := range hs {
		if v := p.At(h); v != nil {
			sum += v.a
		}
	}
	return sum
}

func sumSlice(l *sliceList, hs []int32) (sum uint64) {
	for _, h := range hs {
		sum += l.items[h].a
	}
	return sum
}

func sumSlotMap(m *slotMap, hs []slotKey) (sum uint64) {
	for _, h := range hs {
		if v := m.at(h); v != nil {
			sum += v.a
		}
	}
	return sum
}

func sumHeap(hs []*item) (sum uint64) {
	for _, h := range hs {
		sum += h.a
	}
	return sum
}

func sumMap(m map[uint32]item, hs []uint32) (sum uint64) {
	for _, h := range hs {
		sum += m[h].a
	}
	return sum
}

func sumAll(p *Pool[item]) (sum uint64) {
	for _, v := range p.All() {
		sum += v.a
	}
	return sum
}

func sumLive(l *sliceList) (sum uint64) {
	for i := range l.items {
		if l.next[i] == -1 {
			sum += l.items[i].a
		}
	}
	return sum
}

func sumValues(m map[uint32]item) (sum uint64) {
	for _, v := range m {
		sum += v.a
	}
	return sum
}

func sumRows(t *Table, x *Column[uint64]) (sum uint64) {
	for row := range t.Rows() {
		sum += *x.At(row)
	}
	return sum
}

func sumColumn(x *Column[uint64]) (sum uint64) {
	for _, v := range x.Slice() {
		sum += v
	}
	return sum
}

// Look up n in random order.
func BenchmarkAt(b *testing.B) {
	for name, n := range map[string]int{"1000": 1000, "1M": 1_000_000} {
		order := rand.New(rand.NewPCG(1, 1)).Perm(n)
		b.Run("Pool/"+name, func(b *testing.B) {
			p := newPool[item](b, Options{})
			hs := make([]Handle[item], n)
			for _, i := range order {
				hs[i] = mustNew(b, p)
			}
			for b.Loop() {
				benchSink += sumPool(p, hs)
			}
			perItem(b, n)
		})
		b.Run("slice/"+name, func(b *testing.B) {
			var l sliceList
			hs := make([]int32, n)
			for _, i := range order {
				hs[i] = l.add()
			}
			for b.Loop() {
				benchSink += sumSlice(&l, hs)
			}
			perItem(b, n)
		})
		b.Run("slice with generations/"+name, func(b *testing.B) {
			var l slotMap
			hs := make([]slotKey, n)
			for _, i := range order {
				hs[i] = l.add()
			}
			for b.Loop() {
				benchSink += sumSlotMap(&l, hs)
			}
			perItem(b, n)
		})
		b.Run("heap/"+name, func(b *testing.B) {
			hs := make([]*item, n)
			for _, i := range order {
				hs[i] = new(item)
			}
			for b.Loop() {
				benchSink += sumHeap(hs)
			}
			perItem(b, n)
		})
		b.Run("map/"+name, func(b *testing.B) {
			m := map[uint32]item{}
			hs := make([]uint32, n)
			for _, i := range order {
				hs[i] = uint32(i)
				m[uint32(i)] = item{}
			}
			for b.Loop() {
				benchSink += sumMap(m, hs)
			}
			perItem(b, n)
		})
	}
}

// Range over all of 100,000 slots that are live, in a random half or all; per live item.
func BenchmarkAll(b *testing.B) {
	const n = 100_000
	for name, dead := range map[string]int{"full": 0, "half": n / 2} {
		order := rand.New(rand.NewPCG(1, 1)).Perm(n)[:dead]
		b.Run("Pool/"+name, func(b *testing.B) {
			p := newPool[item](b, Options{})
			hs := make([]Handle[item], n)
			for i := range hs {
				hs[i] = mustNew(b, p)
			}
			for _, i := range order {
				p.Free(hs[i])
			}
			for b.Loop() {
				benchSink += sumAll(p)
			}
			perItem(b, n-dead)
		})
		b.Run("slice/"+name, func(b *testing.B) {
			var l sliceList
			hs := make([]int32, n)
			for i := range hs {
				hs[i] = l.add()
			}
			for _, i := range order {
				l.drop(hs[i])
			}
			for b.Loop() {
				benchSink += sumLive(&l)
			}
			perItem(b, n-dead)
		})
		b.Run("map/"+name, func(b *testing.B) {
			m := map[uint32]item{}
			for i := range uint32(n) {
				m[i] = item{}
			}
			for _, i := range order {
				delete(m, uint32(i))
			}
			for b.Loop() {
				benchSink += sumValues(m)
			}
			perItem(b, n-dead)
		})
		for kind, packed := range map[string]bool{"Table": false, "packed Table": true} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				t := newTable(b, TableOptions{Packed: packed})
				x := addColumn[uint64](b, t)
				rows := make([]Row, n)
				for i := range rows {
					rows[i] = mustRow(b, t)
				}
				for _, i := range order {
					t.Free(rows[i])
				}
				for b.Loop() {
					if packed {
						benchSink += sumColumn(x)
					} else {
						benchSink += sumRows(t, x)
					}
				}
				perItem(b, n-dead)
			})
		}
	}
}

// Make and free rows of three columns.
func BenchmarkRows(b *testing.B) {
	const n = 1000
	for kind, packed := range map[string]bool{"Table": false, "packed Table": true} {
		b.Run(kind, func(b *testing.B) {
			t := newTable(b, TableOptions{Packed: packed})
			x, y, z := addColumn[uint64](b, t), addColumn[uint64](b, t), addColumn[uint64](b, t)
			rows := make([]Row, n)
			for b.Loop() {
				if !fillRows(t, x, y, z, rows) {
					b.Fatal("no row")
				}
				for _, row := range rows {
					t.Free(row)
				}
			}
			perItem(b, n)
		})
	}
}
