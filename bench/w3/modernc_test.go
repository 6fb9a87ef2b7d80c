//go:build cgo && !without_modernc

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"unsafe"

	"modernc.org/memory"
)

// modernc.org/memory: malloc and free in Go, on memory of mmap. An allocator serves one goroutine, so each here
// keeps one and saves the Get; the calls by address are its fastest. A failure is an address of 0.

func onModernc(do func(a *memory.Allocator, n int) uintptr) factory {
	return func() (loop, func()) {
		a := new(memory.Allocator)
		return func(n int) uintptr { return do(a, n) }, func() { _ = a.Close() }
	}
}

func init() {
	small := onModernc(moderncSmall)
	add("modernc", map[string]factory{
		"Small": small, "SmallDefer": onModernc(moderncSmallDefer),
		"SmallZeroed": onModernc(moderncSmallZeroed), "SmallZeroedDefer": onModernc(moderncSmallZeroedDefer),
		"SmallWritten": onModernc(moderncSmallWritten),
		"Multi":        onModernc(moderncMulti), "MultiDefer": onModernc(moderncMultiDefer),
		"MultiZeroed": onModernc(moderncMultiZeroed), "MultiZeroedDefer": onModernc(moderncMultiZeroedDefer),
		"MultiWritten": onModernc(moderncMultiWritten),
		"Owned":        small, "Steady": onModernc(moderncSteady), "Call": onModernc(moderncCall),
	})
}

func moderncFree(a *memory.Allocator, ps ...uintptr) {
	for _, p := range ps {
		_ = a.UintptrFree(p)
	}
}

func moderncTake(a *memory.Allocator, size int) unsafe.Pointer {
	p, _ := a.UnsafeMalloc(size)
	return p
}

func moderncZeroed(a *memory.Allocator, size int) unsafe.Pointer {
	p, _ := a.UnsafeCalloc(size)
	return p
}

func moderncSmall(a *memory.Allocator, n int) (bad uintptr) {
	for range n {
		p, _ := a.UintptrMalloc(1)
		q, _ := a.UintptrMalloc(10)
		r, _ := a.UintptrMalloc(100)
		s, _ := a.UintptrMalloc(1000)
		bad |= (p - 1) | (q - 1) | (r - 1) | (s - 1)
		_ = a.UintptrFree(s)
		_ = a.UintptrFree(r)
		_ = a.UintptrFree(q)
		_ = a.UintptrFree(p)
	}
	return bad
}

func moderncSmallDefer(a *memory.Allocator, n int) (bad uintptr) {
	batch := func() uintptr {
		p, _ := a.UintptrMalloc(1)
		q, _ := a.UintptrMalloc(10)
		r, _ := a.UintptrMalloc(100)
		s, _ := a.UintptrMalloc(1000)
		defer moderncFree(a, s, r, q, p)
		return (p - 1) | (q - 1) | (r - 1) | (s - 1)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func moderncSmallZeroed(a *memory.Allocator, n int) (bad uintptr) {
	for range n {
		p, q, r, s := moderncZeroed(a, 1), moderncZeroed(a, 10), moderncZeroed(a, 100), moderncZeroed(a, 1000)
		bad |= used(p, 1) | used(q, 10) | used(r, 100) | used(s, 1000)
		moderncFree(a, uintptr(s), uintptr(r), uintptr(q), uintptr(p))
	}
	return bad
}

func moderncSmallZeroedDefer(a *memory.Allocator, n int) (bad uintptr) {
	batch := func() uintptr {
		p, q, r, s := moderncZeroed(a, 1), moderncZeroed(a, 10), moderncZeroed(a, 100), moderncZeroed(a, 1000)
		defer moderncFree(a, uintptr(s), uintptr(r), uintptr(q), uintptr(p))
		return used(p, 1) | used(q, 10) | used(r, 100) | used(s, 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func moderncSmallWritten(a *memory.Allocator, n int) (bad uintptr) {
	for range n {
		p, q, r, s := moderncTake(a, 1), moderncTake(a, 10), moderncTake(a, 100), moderncTake(a, 1000)
		bad |= writeSmall(p, q, r, s)
		moderncFree(a, uintptr(s), uintptr(r), uintptr(q), uintptr(p))
	}
	return bad
}

func moderncMulti(a *memory.Allocator, n int) (bad uintptr) {
	var ps [10]uintptr
	for range n {
		for k := range ps {
			ps[k], _ = a.UintptrMalloc(1000)
			bad |= ps[k] - 1
		}
		moderncFree(a, ps[:]...)
	}
	return bad
}

func moderncMultiDefer(a *memory.Allocator, n int) (bad uintptr) {
	var ps [10]uintptr
	batch := func() (bad uintptr) {
		defer moderncFree(a, ps[:]...)
		for k := range ps {
			ps[k], _ = a.UintptrMalloc(1000)
			bad |= ps[k] - 1
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func moderncMultiZeroed(a *memory.Allocator, n int) (bad uintptr) {
	var ps [10]uintptr
	for range n {
		for k := range ps {
			p := moderncZeroed(a, 1000)
			ps[k] = uintptr(p)
			bad |= used(p, 1000)
		}
		moderncFree(a, ps[:]...)
	}
	return bad
}

func moderncMultiZeroedDefer(a *memory.Allocator, n int) (bad uintptr) {
	var ps [10]uintptr
	batch := func() (bad uintptr) {
		defer moderncFree(a, ps[:]...)
		for k := range ps {
			p := moderncZeroed(a, 1000)
			ps[k] = uintptr(p)
			bad |= used(p, 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func moderncMultiWritten(a *memory.Allocator, n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		for k := range ps {
			ps[k] = moderncTake(a, 1000)
		}
		bad |= writeMulti(&ps)
		for _, p := range ps {
			_ = a.UnsafeFree(p)
		}
	}
	return bad
}

func moderncSteady(a *memory.Allocator, n int) (bad uintptr) {
	var blocks [3 * 20]uintptr
	for i := range n {
		mine := blocks[:0]
		for range steadyKiB(i) {
			p, _ := a.UintptrMalloc(steadyA)
			q, _ := a.UintptrMalloc(steadyB)
			r, _ := a.UintptrMalloc(steadyC)
			mine = append(mine, p, q, r)
			bad |= (p - 1) | (q - 1) | (r - 1)
		}
		moderncFree(a, mine...)
	}
	return bad
}

func moderncCString(a *memory.Allocator, s string) *char {
	p := moderncTake(a, len(s)+1)
	copy(unsafe.Slice((*byte)(p), len(s)), s)
	*(*byte)(unsafe.Add(p, len(s))) = 0
	return (*char)(p)
}

func moderncCall(a *memory.Allocator, n int) (bad uintptr) {
	for i := range n {
		p := (*params)(moderncTake(a, int(unsafe.Sizeof(params{}))))
		array := (*[3]*char)(moderncTake(a, int(unsafe.Sizeof([3]*char{}))))
		for k, name := range names {
			array[k] = moderncCString(a, name)
		}
		var next *link
		for _, kind := range kinds {
			l := (*link)(moderncTake(a, int(unsafe.Sizeof(link{}))))
			l.next, l.kind, l.value = next, u64(kind), u64(i)
			next = l
		}
		p.kind, p.count, p.names, p.chain = paramsKind, 3, &array[0], next
		bad |= checked(p, i)
		for l := next; l != nil; l = next {
			next = l.next
			_ = a.UnsafeFree(unsafe.Pointer(l))
		}
		for _, name := range array {
			_ = a.UnsafeFree(unsafe.Pointer(name))
		}
		_ = a.UnsafeFree(unsafe.Pointer(array))
		_ = a.UnsafeFree(unsafe.Pointer(p))
	}
	return bad
}
