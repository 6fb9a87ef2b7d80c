//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"sync"
	"unsafe"
)

// floor_cursor: a bump with a limit check on one page, cursor and limit in registers; floor_mem: the same in
// memory. They neither grow nor lend: nothing can be faster. floor_pool, the unit of the tables, is sync.Pool's
// Get and Put alone, measured in each benchmark anew; floor_call is a cgo call whose parameters are there.

const floorPage = 64 << 10

type floor struct {
	base          unsafe.Pointer
	cursor, limit uintptr
}

func newFloor() *floor {
	p := malloc(floorPage)
	return &floor{p, uintptr(p), uintptr(p) + floorPage}
}

func full() { panic("a floor is full") }

func bump(cursor, limit, size uintptr) (p, next uintptr) {
	if limit-cursor < size {
		full()
	}
	return cursor, cursor + (size+7)&^7
}

// take is bump with the cursor in memory.
func (f *floor) take(size uintptr) (p uintptr) {
	if f.limit-f.cursor < size {
		full()
	}
	p = f.cursor
	f.cursor += (size + 7) &^ 7
	return p
}

func (f *floor) reset() { f.cursor = uintptr(f.base) }

// pointer turns an address on the page into a pointer.
func (f *floor) pointer(p uintptr) unsafe.Pointer { return unsafe.Add(f.base, p-uintptr(f.base)) }

func zero(p unsafe.Pointer, size int) unsafe.Pointer {
	clear(unsafe.Slice((*byte)(p), size))
	return p
}

func onFloor(do func(f *floor, n int) uintptr) factory {
	return func() (loop, func()) {
		f := newFloor()
		return func(n int) uintptr { return do(f, n) }, func() { free(f.base) }
	}
}

func init() {
	small, multi := onFloor(cursorSmall), onFloor(cursorMulti)
	add("floor_cursor", map[string]factory{
		"Small": small, "SmallDefer": small, "Owned": small, "Multi": multi, "MultiDefer": multi,
		"SmallZeroed": onFloor(cursorSmallZeroed), "SmallZeroedDefer": onFloor(cursorSmallZeroed),
		"MultiZeroed": onFloor(cursorMultiZeroed), "MultiZeroedDefer": onFloor(cursorMultiZeroed),
		"SmallWritten": onFloor(cursorSmallWritten), "MultiWritten": onFloor(cursorMultiWritten),
		"Steady": onFloor(cursorSteady),
	})
	small, multi = onFloor(memSmall), onFloor(memMulti)
	add("floor_mem", map[string]factory{
		"Small": small, "SmallDefer": small, "Owned": small, "Multi": multi, "MultiDefer": multi,
	})
	pool := each(poolAlone)
	add("floor_pool", map[string]factory{
		"Small": pool, "SmallDefer": pool, "SmallZeroed": pool, "SmallZeroedDefer": pool, "SmallWritten": pool,
		"Multi": pool, "MultiDefer": pool, "MultiZeroed": pool, "MultiZeroedDefer": pool, "MultiWritten": pool,
		"Steady": pool, "Owned": pool, "Call": pool,
	})
	add("floor_call", map[string]factory{"Call": callOnly, "Nothing": each(callNothing)})
}

func cursorSmall(f *floor, n int) (bad uintptr) {
	base, limit := f.cursor, f.limit
	for range n {
		p, c := bump(base, limit, 1)
		q, c := bump(c, limit, 10)
		r, c := bump(c, limit, 100)
		s, _ := bump(c, limit, 1000)
		bad |= (p - 1) | (q - 1) | (r - 1) | (s - 1)
	}
	return bad
}

func cursorMulti(f *floor, n int) (bad uintptr) {
	base, limit := f.cursor, f.limit
	for range n {
		c, p := base, uintptr(0)
		for range 10 {
			p, c = bump(c, limit, 1000)
			bad |= p - 1
		}
	}
	return bad
}

func cursorSmallZeroed(f *floor, n int) (bad uintptr) {
	base, limit := f.cursor, f.limit
	for range n {
		p, c := bump(base, limit, 1)
		q, c := bump(c, limit, 10)
		r, c := bump(c, limit, 100)
		s, _ := bump(c, limit, 1000)
		bad |= used(zero(f.pointer(p), 1), 1) | used(zero(f.pointer(q), 10), 10) |
			used(zero(f.pointer(r), 100), 100) | used(zero(f.pointer(s), 1000), 1000)
	}
	return bad
}

func cursorMultiZeroed(f *floor, n int) (bad uintptr) {
	base, limit := f.cursor, f.limit
	for range n {
		c, p := base, uintptr(0)
		for range 10 {
			p, c = bump(c, limit, 1000)
			bad |= used(zero(f.pointer(p), 1000), 1000)
		}
	}
	return bad
}

func cursorSmallWritten(f *floor, n int) (bad uintptr) {
	base, limit := f.cursor, f.limit
	for range n {
		p, c := bump(base, limit, 1)
		q, c := bump(c, limit, 10)
		r, c := bump(c, limit, 100)
		s, _ := bump(c, limit, 1000)
		bad |= writeSmall(f.pointer(p), f.pointer(q), f.pointer(r), f.pointer(s))
	}
	return bad
}

func cursorMultiWritten(f *floor, n int) (bad uintptr) {
	base, limit := f.cursor, f.limit
	var ps [10]unsafe.Pointer
	for range n {
		c, p := base, uintptr(0)
		for k := range ps {
			p, c = bump(c, limit, 1000)
			ps[k] = f.pointer(p)
		}
		bad |= writeMulti(&ps)
	}
	return bad
}

func cursorSteady(f *floor, n int) (bad uintptr) {
	base, limit := f.cursor, f.limit
	for i := range n {
		c := base
		var p, q, r uintptr
		for range steadyKiB(i) {
			p, c = bump(c, limit, steadyA)
			q, c = bump(c, limit, steadyB)
			r, c = bump(c, limit, steadyC)
			bad |= (p - 1) | (q - 1) | (r - 1)
		}
	}
	return bad
}

func memSmall(f *floor, n int) (bad uintptr) {
	for range n {
		bad |= (f.take(1) - 1) | (f.take(10) - 1) | (f.take(100) - 1) | (f.take(1000) - 1)
		f.reset()
	}
	return bad
}

func memMulti(f *floor, n int) (bad uintptr) {
	for range n {
		for range 10 {
			bad |= f.take(1000) - 1
		}
		f.reset()
	}
	return bad
}

var emptyPool = sync.Pool{New: func() any { return new(floor) }}

func poolAlone(n int) (bad uintptr) {
	for range n {
		p := emptyPool.Get().(*floor)
		bad |= at(unsafe.Pointer(p))
		emptyPool.Put(p)
	}
	return bad
}

func callNothing(n int) uintptr {
	for range n {
		nothing()
	}
	return 0
}

// callOnly writes the values into parameters that are built beforehand.
func callOnly() (loop, func()) {
	array := (*[3]*char)(malloc(int(unsafe.Sizeof([3]*char{}))))
	for k, name := range names {
		array[k] = cString(name)
	}
	links := (*[3]link)(malloc(int(unsafe.Sizeof([3]link{}))))
	links[0].next, links[1].next, links[2].next = &links[1], &links[2], nil
	for k := range links {
		links[k].kind = u64(kinds[k])
	}
	p := (*params)(malloc(int(unsafe.Sizeof(params{}))))
	p.kind, p.count, p.names, p.chain = paramsKind, 3, &array[0], &links[0]
	return func(n int) (bad uintptr) {
			for i := range n {
				links[0].value, links[1].value, links[2].value = u64(i), u64(i), u64(i)
				bad |= checked(p, i)
			}
			return bad
		}, func() {
			for _, name := range array {
				free(unsafe.Pointer(name))
			}
			free(unsafe.Pointer(array))
			free(unsafe.Pointer(links))
			free(unsafe.Pointer(p))
		}
}
