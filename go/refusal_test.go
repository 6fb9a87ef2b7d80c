//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"bytes"
	"errors"
	"testing"

	"toft.dev/toft/internal/ctest"
)

// The source fails from its 1st, 2nd, ... k-th call on, until a run passes untouched: the call returns or panics with the
// package's error, nothing has changed, and the next try succeeds.
func TestEachRefusalOfTheSource(t *testing.T) {
	sizes := []int{10, 3000, 24, 70000, 9000, 400000, 100, 5000, 300000, 40000, 1 << 20, 2000, 16}
	refused := 0
	for k := uintptr(1); ; k++ {
		pages := ctest.NewPagesFailingFrom(k) // smaller blocks are refused too
		p := pages.Create(0, 0)
		if p == nil {
			if _, err := Own(p); err == nil || pages.Bytes() != 0 {
				t.Fatalf("call %d: error %v, %d bytes", k, err, pages.Bytes())
			}
			refused++
			pages.Grant()
			p = pages.Create(0, 0)
		}
		a, err := Own(p)
		if err != nil {
			t.Fatal(err)
		}
		var kept [][]byte
		check := func() {
			for i, b := range kept {
				if bytes.Count(b, []byte{byte(i + 1)}) != len(b) {
					t.Fatalf("call %d: allocation %d has changed", k, i)
				}
			}
		}
		for i, size := range sizes {
			before, at := a.Stats(), a.Mark()
			b, err := TryMakeSlice[byte](a, size)
			if err != nil {
				refused++
				var e *AllocError
				after := a.Stats()
				if after.SourceCalls <= before.SourceCalls {
					t.Fatalf("call %d: the source was not called", k)
				}
				before.SourceCalls = after.SourceCalls
				pages.Grant()
				if !errors.Is(err, ErrNoMemory) || !errors.As(err, &e) || after != before || a.Mark() != at {
					t.Fatalf("call %d: %v; %+v, not %+v", k, err, after, before)
				}
				check()
				b = MakeSlice[byte](a, size)
			}
			for j := range b {
				b[j] = byte(i + 1)
			}
			kept = append(kept, b)
		}
		check()
		passed := pages.Calls() < uint64(k)
		a.Release()
		if left := pages.Free(); left != 0 {
			t.Fatalf("call %d: %d blocks were not given back", k, left)
		}
		if passed {
			break
		}
	}
	if refused < 5 {
		t.Errorf("%d refusals", refused)
	}
	pages := ctest.NewPagesFailingFrom(2)
	a, err := Own(pages.Create(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	wantPanic(t, "out of memory", func() { MakeSlice[byte](a, 70000) })
	pages.Grant()
	MakeSlice[byte](a, 70000)
	a.Release()
	pages.Free()
}
