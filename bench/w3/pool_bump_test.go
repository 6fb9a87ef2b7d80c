//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"runtime"
	"sync"
	"unsafe"
)

// sync.Pool + bump: ten lines that a careful author writes. A pool of 64 KiB pages of C memory, and a bump that
// the compiler inlines. A page that is full is an error: this one does not grow.

const pagePage = 64 << 10

type page struct {
	base unsafe.Pointer
	off  int
}

var pages = sync.Pool{New: func() any {
	g := &page{base: malloc(pagePage)}
	runtime.AddCleanup(g, func(p unsafe.Pointer) { free(p) }, g.base)
	return g
}}

func getPage() *page { return pages.Get().(*page) }

func (g *page) put() {
	g.off = 0
	pages.Put(g)
}

func (g *page) take(size int) unsafe.Pointer {
	off := g.off
	if g.off += (size + 7) &^ 7; g.off > pagePage {
		full()
	}
	return unsafe.Add(g.base, off)
}

func (g *page) cString(s string) *char {
	p := g.take(len(s) + 1)
	copy(unsafe.Slice((*byte)(p), len(s)), s)
	*(*byte)(unsafe.Add(p, len(s))) = 0
	return (*char)(p)
}

func init() {
	add("pool-bump", map[string]factory{
		"Small": each(pageSmall), "SmallDefer": each(pageSmallDefer),
		"SmallZeroed": each(pageSmallZeroed), "SmallZeroedDefer": each(pageSmallZeroedDefer),
		"SmallWritten": each(pageSmallWritten),
		"Multi":        each(pageMulti), "MultiDefer": each(pageMultiDefer),
		"MultiZeroed": each(pageMultiZeroed), "MultiZeroedDefer": each(pageMultiZeroedDefer),
		"MultiWritten": each(pageMultiWritten),
		"Steady":       each(pageSteady), "Call": each(pageCall),
	})
}

func pageSmall(n int) (bad uintptr) {
	for range n {
		g := getPage()
		bad |= at(g.take(1)) | at(g.take(10)) | at(g.take(100)) | at(g.take(1000))
		g.put()
	}
	return bad
}

func pageSmallDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		g := getPage()
		defer g.put()
		return at(g.take(1)) | at(g.take(10)) | at(g.take(100)) | at(g.take(1000))
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pageSmallZeroed(n int) (bad uintptr) {
	for range n {
		g := getPage()
		bad |= used(zero(g.take(1), 1), 1) | used(zero(g.take(10), 10), 10) |
			used(zero(g.take(100), 100), 100) | used(zero(g.take(1000), 1000), 1000)
		g.put()
	}
	return bad
}

func pageSmallZeroedDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		g := getPage()
		defer g.put()
		return used(zero(g.take(1), 1), 1) | used(zero(g.take(10), 10), 10) |
			used(zero(g.take(100), 100), 100) | used(zero(g.take(1000), 1000), 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pageSmallWritten(n int) (bad uintptr) {
	for range n {
		g := getPage()
		bad |= writeSmall(g.take(1), g.take(10), g.take(100), g.take(1000))
		g.put()
	}
	return bad
}

func pageMulti(n int) (bad uintptr) {
	for range n {
		g := getPage()
		for range 10 {
			bad |= at(g.take(1000))
		}
		g.put()
	}
	return bad
}

func pageMultiDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		g := getPage()
		defer g.put()
		for range 10 {
			bad |= at(g.take(1000))
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pageMultiZeroed(n int) (bad uintptr) {
	for range n {
		g := getPage()
		for range 10 {
			bad |= used(zero(g.take(1000), 1000), 1000)
		}
		g.put()
	}
	return bad
}

func pageMultiZeroedDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		g := getPage()
		defer g.put()
		for range 10 {
			bad |= used(zero(g.take(1000), 1000), 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func pageMultiWritten(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		g := getPage()
		for k := range ps {
			ps[k] = g.take(1000)
		}
		bad |= writeMulti(&ps)
		g.put()
	}
	return bad
}

func pageSteady(n int) (bad uintptr) {
	for i := range n {
		g := getPage()
		for range steadyKiB(i) {
			bad |= at(g.take(steadyA)) | at(g.take(steadyB)) | at(g.take(steadyC))
		}
		g.put()
	}
	return bad
}

func pageCall(n int) (bad uintptr) {
	for i := range n {
		g := getPage()
		p := (*params)(g.take(int(unsafe.Sizeof(params{}))))
		array := (*[3]*char)(g.take(int(unsafe.Sizeof([3]*char{}))))
		for k, name := range names {
			array[k] = g.cString(name)
		}
		var next *link
		for _, kind := range kinds {
			l := (*link)(g.take(int(unsafe.Sizeof(link{}))))
			l.next, l.kind, l.value = next, u64(kind), u64(i)
			next = l
		}
		p.kind, p.count, p.names, p.chain = paramsKind, 3, &array[0], next
		bad |= checked(p, i)
		g.put()
	}
	return bad
}
