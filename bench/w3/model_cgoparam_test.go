//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"runtime"
	"sync"
	"unsafe"
)

// A few lines of our own that follow the scheme of cgoparam: a sync.Pool of objects that hold one page of C memory
// each, filled in steps of 8 bytes. What does not fit goes to a further page, from 1024 bytes on to a block of its
// own; all but the first page are freed when the object is returned. Nothing is zeroed: that is its user's task.

const modelPage, modelLarge = 4096, 1024

type model struct {
	first, page unsafe.Pointer
	off         int
	others      []unsafe.Pointer
}

var models = sync.Pool{New: func() any {
	m := &model{first: malloc(modelPage)}
	m.page = m.first
	runtime.AddCleanup(m, func(p unsafe.Pointer) { free(p) }, m.first)
	return m
}}

func getModel() *model { return models.Get().(*model) }

func (m *model) put() {
	for _, p := range m.others {
		free(p)
	}
	m.others = m.others[:0]
	m.page, m.off = m.first, 0
	models.Put(m)
}

func (m *model) malloc(size int) unsafe.Pointer {
	size = (size + 7) &^ 7
	if m.off+size <= modelPage {
		p := unsafe.Add(m.page, m.off)
		m.off += size
		return p
	}
	bytes := modelPage
	if size >= modelLarge {
		bytes = size
	}
	p := malloc(bytes)
	m.others = append(m.others, p)
	if size < modelLarge {
		m.page, m.off = p, size
	}
	return p
}

func (m *model) cString(s string) *char {
	p := m.malloc(len(s) + 1)
	copy(unsafe.Slice((*byte)(p), len(s)), s)
	*(*byte)(unsafe.Add(p, len(s))) = 0
	return (*char)(p)
}

func init() {
	add("model-cgoparam", map[string]factory{
		"Small": each(modelSmall), "SmallDefer": each(modelSmallDefer),
		"SmallZeroed": each(modelSmallZeroed), "SmallZeroedDefer": each(modelSmallZeroedDefer),
		"SmallWritten": each(modelSmallWritten),
		"Multi":        each(modelMulti), "MultiDefer": each(modelMultiDefer),
		"MultiZeroed": each(modelMultiZeroed), "MultiZeroedDefer": each(modelMultiZeroedDefer),
		"MultiWritten": each(modelMultiWritten),
		"Steady":       each(modelSteady), "Call": each(modelCall),
	})
}

func modelSmall(n int) (bad uintptr) {
	for range n {
		m := getModel()
		bad |= at(m.malloc(1)) | at(m.malloc(10)) | at(m.malloc(100)) | at(m.malloc(1000))
		m.put()
	}
	return bad
}

func modelSmallDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		m := getModel()
		defer m.put()
		return at(m.malloc(1)) | at(m.malloc(10)) | at(m.malloc(100)) | at(m.malloc(1000))
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func modelSmallZeroed(n int) (bad uintptr) {
	for range n {
		m := getModel()
		bad |= used(zero(m.malloc(1), 1), 1) | used(zero(m.malloc(10), 10), 10) |
			used(zero(m.malloc(100), 100), 100) | used(zero(m.malloc(1000), 1000), 1000)
		m.put()
	}
	return bad
}

func modelSmallZeroedDefer(n int) (bad uintptr) {
	batch := func() uintptr {
		m := getModel()
		defer m.put()
		return used(zero(m.malloc(1), 1), 1) | used(zero(m.malloc(10), 10), 10) |
			used(zero(m.malloc(100), 100), 100) | used(zero(m.malloc(1000), 1000), 1000)
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func modelSmallWritten(n int) (bad uintptr) {
	for range n {
		m := getModel()
		bad |= writeSmall(m.malloc(1), m.malloc(10), m.malloc(100), m.malloc(1000))
		m.put()
	}
	return bad
}

func modelMulti(n int) (bad uintptr) {
	for range n {
		m := getModel()
		for range 10 {
			bad |= at(m.malloc(1000))
		}
		m.put()
	}
	return bad
}

func modelMultiDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		m := getModel()
		defer m.put()
		for range 10 {
			bad |= at(m.malloc(1000))
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func modelMultiZeroed(n int) (bad uintptr) {
	for range n {
		m := getModel()
		for range 10 {
			bad |= used(zero(m.malloc(1000), 1000), 1000)
		}
		m.put()
	}
	return bad
}

func modelMultiZeroedDefer(n int) (bad uintptr) {
	batch := func() (bad uintptr) {
		m := getModel()
		defer m.put()
		for range 10 {
			bad |= used(zero(m.malloc(1000), 1000), 1000)
		}
		return bad
	}
	for range n {
		bad |= batch()
	}
	return bad
}

func modelMultiWritten(n int) (bad uintptr) {
	var ps [10]unsafe.Pointer
	for range n {
		m := getModel()
		for k := range ps {
			ps[k] = m.malloc(1000)
		}
		bad |= writeMulti(&ps)
		m.put()
	}
	return bad
}

func modelSteady(n int) (bad uintptr) {
	for i := range n {
		m := getModel()
		for range steadyKiB(i) {
			bad |= at(m.malloc(steadyA)) | at(m.malloc(steadyB)) | at(m.malloc(steadyC))
		}
		m.put()
	}
	return bad
}

func modelCall(n int) (bad uintptr) {
	for i := range n {
		m := getModel()
		p := (*params)(m.malloc(int(unsafe.Sizeof(params{}))))
		array := (*[3]*char)(m.malloc(int(unsafe.Sizeof([3]*char{}))))
		for k, name := range names {
			array[k] = m.cString(name)
		}
		var next *link
		for _, kind := range kinds {
			l := (*link)(m.malloc(int(unsafe.Sizeof(link{}))))
			l.next, l.kind, l.value = next, u64(kind), u64(i)
			next = l
		}
		p.kind, p.count, p.names, p.chain = paramsKind, 3, &array[0], next
		bad |= checked(p, i)
		m.put()
	}
	return bad
}
