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

func init() { add("pool-bump", map[string]factory{"Call": each(pageCall)}) }

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
