//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"bytes"
	"errors"
	"testing"

	"toft.dev/toft/internal/ctest"
)

// Refusals by the source of an arena, and the allocations of one run.
type refusals struct {
	t     *testing.T
	call  uintptr // the first call that is refused
	pages ctest.Pages
	a     *Arena
	count int
	kept  [][]byte
}

// The source refuses smaller blocks too.
func (r *refusals) create() {
	r.pages, r.kept = ctest.NewPagesFailingFrom(r.call), nil
	p := r.pages.Create()
	if p == nil {
		if _, err := Own(p); err == nil || r.pages.Bytes() != 0 {
			r.t.Fatalf("call %d: error %v, %d bytes", r.call, err, r.pages.Bytes())
		}
		r.count++
		r.pages.Grant()
		p = r.pages.Create()
	}
	var err error
	if r.a, err = Own(p); err != nil {
		r.t.Fatal(err)
	}
}

func (r *refusals) check() {
	for i, b := range r.kept {
		if bytes.Count(b, []byte{byte(i + 1)}) != len(b) {
			r.t.Fatalf("call %d: allocation %d has changed", r.call, i)
		}
	}
}

func (r *refusals) allocate(size int) {
	before, at := r.a.Stats(), r.a.Mark()
	b, err := TryMakeSlice[byte](r.a, size)
	if err != nil {
		r.count++
		var e *AllocError
		after := r.a.Stats()
		if after.SourceCalls <= before.SourceCalls {
			r.t.Fatalf("call %d: the source was not called", r.call)
		}
		before.SourceCalls = after.SourceCalls
		r.pages.Grant()
		if !errors.Is(err, ErrNoMemory) || !errors.As(err, &e) || after != before || r.a.Mark() != at {
			r.t.Fatalf("call %d: %v; %+v, not %+v", r.call, err, after, before)
		}
		r.check()
		b = MakeSlice[byte](r.a, size)
	}
	r.kept = append(r.kept, b)
	for j := range b {
		b[j] = byte(len(r.kept))
	}
}

// The source fails from its 1st, 2nd, ... k-th call on, until a run passes untouched: the call returns or panics with the
// package's error, nothing has changed, and the next try succeeds.
func TestEachRefusalOfTheSource(t *testing.T) {
	r := refusals{t: t}
	for passed := false; !passed; {
		r.call++
		r.create()
		for _, size := range []int{10, 3000, 24, 70000, 9000, 400000, 100, 5000, 300000, 40000, 1 << 20, 2000, 16} {
			r.allocate(size)
		}
		r.check()
		passed = r.pages.Calls() < uint64(r.call)
		r.a.Release()
		if left := r.pages.Free(); left != 0 {
			t.Fatalf("call %d: %d blocks were not given back", r.call, left)
		}
	}
	if r.count < 5 {
		t.Errorf("%d refusals", r.count)
	}
	pages := ctest.NewPagesFailingFrom(2)
	a, err := Own(pages.Create())
	if err != nil {
		t.Fatal(err)
	}
	wantPanic(t, "out of memory", func() { MakeSlice[byte](a, 70000) })
	pages.Grant()
	MakeSlice[byte](a, 70000)
	a.Release()
	pages.Free()
}
