//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import "unsafe"

// raw cgo: C.malloc (C.calloc where zeroed) and C.free of each block, as one writes it without an arena. The blocks of a
// batch are kept in an array of the goroutine, which loops.py's loops fill.

type blocks struct {
	n  int
	ps [3 * 20]unsafe.Pointer
}

func onBlocks(do func(b *blocks, n int) uintptr) factory {
	return func() (loop, func()) {
		b := new(blocks)
		return func(n int) uintptr { return do(b, n) }, func() {}
	}
}

func (b *blocks) keep(p unsafe.Pointer) unsafe.Pointer {
	b.ps[b.n] = p
	b.n++
	return p
}

func (b *blocks) free() {
	for b.n > 0 {
		b.n--
		free(b.ps[b.n])
	}
}

func init() {
	add("raw", map[string]factory{"Call": each(rawCall)})
}

func rawCall(n int) (bad uintptr) {
	for i := range n {
		p := (*params)(malloc(int(unsafe.Sizeof(params{}))))
		array := (*[3]*char)(malloc(int(unsafe.Sizeof([3]*char{}))))
		for k, name := range names {
			array[k] = cString(name)
		}
		var next *link
		for _, kind := range kinds {
			l := (*link)(malloc(int(unsafe.Sizeof(link{}))))
			l.next, l.kind, l.value = next, u64(kind), u64(i)
			next = l
		}
		p.kind, p.count, p.names, p.chain = paramsKind, 3, &array[0], next
		bad |= checked(p, i)
		for l := next; l != nil; l = next {
			next = l.next
			free(unsafe.Pointer(l))
		}
		for _, name := range array {
			free(unsafe.Pointer(name))
		}
		free(unsafe.Pointer(array))
		free(unsafe.Pointer(p))
	}
	return bad
}
