//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import "unsafe"

// raw cgo: C.malloc (C.calloc where zeroed) and C.free of each block, as one writes it without an arena. The
// blocks of a multi-page batch are kept in an array; the original appended them to a slice.

func init() {
	add("raw", map[string]factory{
		"Small": each(rawSmall), "SmallDefer": each(rawSmallDefer),
		"SmallZeroed": each(rawSmallZeroed), "SmallZeroedDefer": each(rawSmallZeroedDefer),
		"SmallWritten": each(rawSmallWritten),
		"Multi":        each(rawMulti), "MultiDefer": each(rawMultiDefer),
		"MultiZeroed": each(rawMultiZeroed), "MultiZeroedDefer": each(rawMultiZeroedDefer),
		"MultiWritten": each(rawMultiWritten),
		"Owned":        each(rawSmall), "Steady": each(rawSteady), "Call": each(rawCall),
	})
}

func freeFour(p, q, r, s unsafe.Pointer) {
	free(s)
	free(r)
	free(q)
	free(p)
}

func freeTen(ps *[10]unsafe.Pointer) {
	for _, p := range ps {
		free(p)
	}
}

func rawSmall(n int) (bad uintptr) {
	for range n {
		p, q, r, s := malloc(1), malloc(10), malloc(100), malloc(1000)
		bad |= at(p) | at(q) | at(r) | at(s)
		freeFour(p, q, r, s)
	}
	return bad
}

func rawSmallDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		p, q, r, s := malloc(1), malloc(10), malloc(100), malloc(1000)
		defer freeFour(p, q, r, s)
		return at(p) | at(q) | at(r) | at(s)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func rawSmallZeroed(n int) (bad uintptr) {
	for range n {
		p, q, r, s := calloc(1), calloc(10), calloc(100), calloc(1000)
		bad |= used(p, 1) | used(q, 10) | used(r, 100) | used(s, 1000)
		freeFour(p, q, r, s)
	}
	return bad
}

func rawSmallZeroedDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		p, q, r, s := calloc(1), calloc(10), calloc(100), calloc(1000)
		defer freeFour(p, q, r, s)
		return used(p, 1) | used(q, 10) | used(r, 100) | used(s, 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func rawSmallWritten(n int) (bad uintptr) {
	for range n {
		p, q, r, s := malloc(1), malloc(10), malloc(100), malloc(1000)
		bad |= writeSmall(p, q, r, s)
		freeFour(p, q, r, s)
	}
	return bad
}

func rawMulti(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		for k := range ps {
			ps[k] = malloc(1000)
			bad |= at(ps[k])
		}
		freeTen(&ps)
	}
	return bad
}

func rawMultiDefer(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	batch := func() (bad uintptr) {
		defer freeTen(&ps)
		for k := range ps {
			ps[k] = malloc(1000)
			bad |= at(ps[k])
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func rawMultiZeroed(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		for k := range ps {
			ps[k] = calloc(1000)
			bad |= used(ps[k], 1000)
		}
		freeTen(&ps)
	}
	return bad
}

func rawMultiZeroedDefer(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	batch := func() (bad uintptr) {
		defer freeTen(&ps)
		for k := range ps {
			ps[k] = calloc(1000)
			bad |= used(ps[k], 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func rawMultiWritten(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		for k := range ps {
			ps[k] = malloc(1000)
		}
		bad |= writeMulti(&ps)
		freeTen(&ps)
	}
	return bad
}

func rawSteady(n int) (bad uintptr) {
	var blocks [3 * 20]unsafe.Pointer
	for i := range n {
		mine := blocks[:0]
		for range steadyKiB(i) {
			mine = append(mine, malloc(steadyA), malloc(steadyB), malloc(steadyC))
		}
		for _, p := range mine {
			bad |= at(p)
			free(p)
		}
	}
	return bad
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
