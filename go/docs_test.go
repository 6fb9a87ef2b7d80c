//go:build cgo && !asan

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/ctest"
	"toft.dev/toft/internal/link"
)

// The pages' tables of misuse: each row is committed here and its effect compared. A row without a test fails.

// rowsBelow returns the beginnings of the rows of the table, or of the items of the list, below a heading.
func rowsBelow(t *testing.T, page, heading string) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Skip("without the pages: ", err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", page, heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, line := range strings.Split(rest, "\n") {
		if item, ok := strings.CutPrefix(line, "* "); ok {
			rows = append(rows, item)
		} else if cells := strings.Split(line, "|"); len(cells) > 3 && !strings.HasPrefix(cells[1], "-") {
			if cell := strings.TrimSpace(cells[1]); cell != "" {
				rows = append(rows, cell)
			}
		}
	}
	return rows
}

func playRows(t *testing.T, rows []string, cases map[string]func(t *testing.T)) {
	t.Helper()
	seen := map[string]bool{}
	for _, row := range rows {
		var name string
		for begin := range cases {
			if strings.HasPrefix(row, begin) && len(begin) > len(name) {
				name = begin
			}
		}
		if name == "" || seen[name] {
			t.Errorf("no test for %q", row)
			continue
		}
		seen[name] = true
		t.Run(name, cases[name])
	}
	for name := range cases {
		if !seen[name] {
			t.Errorf("%q is not on the page", name)
		}
	}
}

func TestWhatDiffersFromCgoparam(t *testing.T) {
	playRows(t, rowsBelow(t, "../docs/from-cgoparam.md", "## What differs"), map[string]func(t *testing.T){
		"alignment": func(t *testing.T) {
			a := newArena(t, Options{})
			for align := 1; align <= 1<<12; align *= 2 {
				a.Alloc(1, 1)
				if p := uintptr(a.Alloc(1, align)); p%uintptr(align) != 0 {
					t.Errorf("%#x for %d", p, align)
				}
				if p := NewAligned[byte](a, uint(align)); uintptr(unsafe.Pointer(p))%uintptr(align) != 0 {
					t.Errorf("%p for %d", p, align)
				}
			}
			if p := New[uint64](a); uintptr(unsafe.Pointer(p))%8 != 0 {
				t.Errorf("%p", p)
			}
		},
		"contents": func(t *testing.T) {
			a := newArena(t, Options{})
			dirty(a)
			if p := (*uint64)(a.AllocUninit(8, 8)); *p == 0 {
				t.Error("the memory is zeroed, but the call promises uninitialized memory")
			}
			if *UninitOf[uint64]().New(a) == 0 {
				t.Error("the memory is zeroed, but the call promises uninitialized memory")
			}
			if *(*uint64)(a.Alloc(8, 8)) != 0 || *New[uint64](a) != 0 || MakeSlice[uint64](a, 1)[0] != 0 {
				t.Error("not zeroed")
			}
		},
		"size 0": func(t *testing.T) {
			a := newArena(t, Options{})
			before := a.Stats().Live
			if a.Alloc(0, 8) == nil || a.CBytes(nil) == nil || a.Stats().Live != before {
				t.Error("nil, or bytes of the arena")
			}
		},
		"a negative size": func(t *testing.T) {
			a := newArena(t, Options{})
			a.Alloc(64, 8)
			before := *(*[4]uintptr)(a.Pointer())
			wantRefusal(t, "-64 bytes", ErrArgument, func() { a.Alloc(-64, 8) })
			wantRefusal(t, "a negative length", ErrArgument, func() { MakeSlice[int](a, -1) })
			if *(*[4]uintptr)(a.Pointer()) != before {
				t.Error("the arena has changed")
			}
		},
		"no memory": func(t *testing.T) {
			a := newArena(t, Options{Budget: 100})
			_, value := panicsWith(t, func() { New[[200]byte](a) })
			if e := (*AllocError)(nil); !errors.As(value.(error), &e) || e.Size != 200 {
				t.Error(value)
			}
			if _, err := TryNew[[200]byte](a); !errors.Is(err, ErrNoMemory) {
				t.Error(err)
			}
		},
		"pages": func(t *testing.T) {
			a := newArena(t, Options{})
			for range 3000 {
				a.AllocUninit(8000, 8)
			}
			s := a.Stats()
			if mean := s.Reserved / s.Blocks; mean < 256<<10 || mean > 1<<20 {
				t.Errorf("%v", s)
			}
		},
		"what is kept after the return": func(t *testing.T) {
			TrimLeases()
			base := ReadLeaseStats().Kept
			var a *Arena
			for range 3 { // the blocks become as large as the calls need
				a = &Get().Arena
				a.AllocUninit(200_000, 8)
				a.lease().Return()
			}
			if kept := ReadLeaseStats().Kept - base; kept < 200_000 {
				t.Errorf("%d bytes are kept", kept)
			}
			defer SetLeaseLimits(SetLeaseLimits(LeaseLimits{Total: 1 << 20}))
			a = &Get().Arena
			a.AllocUninit(10<<20, 8)
			a.lease().Return()
			if kept := ReadLeaseStats().Kept - base; kept > 1<<20+4*bufferSize {
				t.Errorf("%d bytes are kept above the limit", kept)
			}
			TrimLeases()
			if now := ReadLeaseStats().Kept; now > base+4*bufferSize {
				t.Errorf("%d bytes are kept, before %d", now, base)
			}
		},
		"a second return": func(t *testing.T) {
			a := Get()
			a.Return()
			wantPanic(t, "second Return", a.Return)
			debugging(t)
			a = getHere().lease()
			returnHere(&a.Arena)
			for range 10 {
				defer Get().Return()
			}
			wantPlaces(t, panics(t, a.Return), "second Return", "toft.getHere", "toft.returnHere")
		},
		"use after the return": func(t *testing.T) {
			a := Get()
			a.Return()
			wantPanic(t, "after Return", func() { New[int](a) })
			debugging(t)
			a = getHere().lease()
			a.Return()
			for range 10 {
				defer Get().Return()
			}
			wantPlaces(t, panics(t, func() { New[int](a) }), "after Return", "toft.getHere")
			if ctest.List(a.Pointer(), 1) != nil {
				t.Error("C allocates from it")
			}
		},
		"a forgotten return": func(t *testing.T) {
			debugging(t)
			forget()
			var found []link.LeaseInfo
			for _, l := range openLeases() {
				if l.Ended {
					found = append(found, l)
				}
			}
			if len(found) != 1 || debug.profile.Count() == 0 {
				t.Errorf("%v, %d in the profile", found, debug.profile.Count())
			}
			for _, l := range found {
				(*Lease)(l.Lease).Return() // its memory was there all the time
			}
		},
		"Go types that C cannot hold": func(t *testing.T) {
			a := newArena(t, Options{})
			wantPanic(t, "field Name is a string", func() { New[struct{ Name string }](a) })
		},
	})
}

func TestWhatIsRefused(t *testing.T) {
	playRows(t, rowsBelow(t, "README.md", "## Detected and undetected misuse"), map[string]func(t *testing.T){
		"A type that holds a string, slice, map, chan, func or interface": func(t *testing.T) {
			a := newArena(t, Options{})
			for want, f := range map[string]func(){
				"[0].A is a string":       func() { New[[2]struct{ A string }](a) },
				"field A is a slice":      func() { MakeSlice[struct{ A []int }](a, 1) },
				"field A is a map":        func() { TryNew[struct{ A map[int]int }](a) },
				"field A is a chan":       func() { Copy(a, struct{ A chan int }{}) },
				"field A is a func":       func() { NewAligned[struct{ A func() }](a, 64) },
				"field A is an interface": func() { CopySlice(a, []struct{ A any }{{1}}) },
			} {
				wantPanic(t, want, f)
			}
			New[struct{ A *int }](a)
		},
		"Negative sizes and lengths, and alignments": func(t *testing.T) {
			a := newArena(t, Options{})
			before := *(*[4]uintptr)(a.Pointer())
			for _, f := range []func(){
				func() { a.Alloc(-1, 8) }, func() { a.AllocUninit(-1, 8) }, func() { MakeSlice[int](a, -1) },
				func() { MakeSliceAligned[int](a, -1, 8) }, func() { UninitOf[int]().MakeSlice(a, -1) },
				func() { a.Alloc(1, 3) }, func() { a.AllocUninit(1, 0) }, func() { NewAligned[int](a, 24) },
				func() { MakeSliceAligned[int](a, 1, 12) },
			} {
				wantRefusal(t, "cannot allocate", ErrArgument, f)
			}
			if *(*[4]uintptr)(a.Pointer()) != before {
				t.Error("the arena has changed")
			}
		},
		"A second `Return`, and the use": func(t *testing.T) {
			a := Get()
			a.Return()
			wantPanic(t, "second Return", a.Return)
			wantPanic(t, "after Return", func() { a.Alloc(1, 1) })
		},
		"A second `Release`, and the use": func(t *testing.T) {
			a, err := NewArena(Options{})
			if err != nil {
				t.Fatal(err)
			}
			a.Release()
			wantPanic(t, "released", a.Release)
			wantPanic(t, "after Release", func() { New[int](a) })
			if ctest.List(a.Pointer(), 1) != nil {
				t.Error("C allocates from it")
			}
		},
		"`Release` of a lease and `Return`": func(t *testing.T) {
			lease, arena := reflect.TypeFor[*Lease](), reflect.TypeFor[*Arena]()
			if _, has := lease.MethodByName("Release"); has {
				t.Error("a lease has a Release")
			}
			if _, has := arena.MethodByName("Return"); has {
				t.Error("an arena has a Return")
			}
			if lease.Elem().Size() != arena.Elem().Size() || unsafe.Offsetof(Lease{}.Arena) != 0 {
				t.Error("a lease is not at the address of its arena")
			}
		},
		"the leases that were not returned": func(t *testing.T) {
			debugging(t)
			a := getHere()
			if found := openLeases(); len(found) != 1 || found[0].Lease != unsafe.Pointer(a) {
				t.Error(found)
			}
			a.lease().Return()
			if found := openLeases(); len(found) != 0 {
				t.Error(found)
			}
		},
		"debug mode, and checks": func(t *testing.T) { // checked_test.go has the variable
			a := newArena(t, Options{})
			a.SetChecked(true)
			p := New[[8]byte](a)
			*(*byte)(unsafe.Add(unsafe.Pointer(p), 8)) = 1
			wantPanic(t, said(ErrCorrupt), a.Reset)
		},
		"debug mode: each lease": func(t *testing.T) {
			debugging(t)
			a := getHere()
			p := New[[8]byte](a)
			*(*byte)(unsafe.Add(unsafe.Pointer(p), 8)) = 1
			wantPlaces(t, panics(t, a.lease().Return), said(ErrCorrupt), "toft.getHere")
			wantPlaces(t, panics(t, a.lease().Return), "second Return", "toft.getHere")
		},
		"A cleanup that panics": func(t *testing.T) {
			a := Get()
			ran := false
			a.Cleanup(func() { ran = true })
			a.Cleanup(func() { panic("on purpose") })
			if how := outcome(a.Return); how != "on purpose" || !ran {
				t.Error(how, ran)
			}
			wantPanic(t, "second Return", a.Return)
		},
		"The race detector": func(t *testing.T) {}, // race_test.go
		"`a.Rewind(m)` gives back": func(t *testing.T) {
			a := newArena(t, Options{})
			before := New[int](a)
			*before = 42
			m := a.Mark()
			after := New[int](a)
			a.Rewind(m)
			if New[int](a) != after || *before != 42 {
				t.Error("what came before the mark was given back, or what came after was not")
			}
		},
		"A forgotten `Return` loses": func(t *testing.T) {
			type forgotten struct {
				a *Arena
				p *uint64
			}
			c := make(chan forgotten, 1)
			go func() {
				a := Get()
				p := New[uint64](a)
				*p = 42
				c <- forgotten{&a.Arena, p}
			}()
			f := <-c
			for range 5 {
				TrimLeases()
			}
			if *f.p != 42 || ReadLeaseStats().Leased == 0 {
				t.Error("its memory was taken back")
			}
			f.a.lease().Return() // for the other tests
		},
	})
}
