//go:build cgo && !asan

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unique"
	"unsafe"
	"weak"
)

// The pages' tables of misuse: each row has a test, here or in another file, and a row without one fails.

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
		"alignment":                     TestAlignment,
		"contents":                      TestMemoryIsZeroAndApart,
		"size 0":                        sizeZeroTakesNothing,
		"a negative size":               TestRefusedRequests,
		"no memory":                     TestRefusedRequests,
		"pages":                         blocksGrow,
		"what is kept after the return": TestKeptMemoryIsBoundedAndReturned,
		"a second return":               TestDebugNamesBothPlaces,
		"use after the return":          TestUseAfterReturn,
		"a forgotten return":            TestOnForgotten,
		"Go types that C cannot hold":   TestRefusedTypesAreNamed,
	})
}

func sizeZeroTakesNothing(t *testing.T) {
	a := newArena(t, Options{})
	before := a.Stats().Live
	if a.Alloc(0, 8) == nil || a.CBytes(nil) == nil || a.Stats().Live != before {
		t.Error("nil, or bytes of the arena")
	}
}

func blocksGrow(t *testing.T) {
	a := newArena(t, Options{})
	for range 3000 {
		a.AllocUninit(8000, 8)
	}
	s := a.Stats()
	if mean := s.Reserved / s.Blocks; mean < 256<<10 || mean > 1<<20 {
		t.Errorf("%v", s)
	}
}

func TestWhatIsRefused(t *testing.T) {
	playRows(t, rowsBelow(t, "README.md", "## Detected and undetected misuse"), map[string]func(t *testing.T){
		"A type that holds a string, slice, map, chan, func or interface": TestRefusedTypesAreNamed,
		"Negative sizes and lengths, and alignments":                      TestRefusedRequests,
		"A second `Return`, and the use":                                  TestUseAfterReturn,
		"A second `Release`, and the use":                                 TestUseAfterRelease,
		"`Release` of a lease and `Return`":                               leaseHasNoRelease,
		"the leases that were not returned":                               TestLeases,
		"debug mode, and checks":                                          TestChecked, // checked_test.go has the variable
		"debug mode: each lease":                                          TestDebugChecksArenas,
		"A cleanup that panics":                                           TestCleanupsThatDoNotReturn,
		"The race detector":                                               func(t *testing.T) {}, // race_test.go
		"`a.Rewind(m)` gives back":                                        TestRandomStreams,
		"A forgotten `Return` loses":                                      forgottenReturnLosesMemory,
	})
}

func TestToolsOfGo(t *testing.T) {
	a := newArena(t, Options{})
	p := New[[16]byte](a)
	ends := func(f func()) func(t *testing.T) {
		return func(t *testing.T) {
			if isChild(t) {
				defer func() { _ = recover() }()
				f()
			} else if out, err := rerun(t); err == nil || !strings.Contains(out, "fatal error: ") {
				t.Errorf("%v\n%s", err, out)
			}
		}
	}
	playRows(t, rowsBelow(t, "README.md", "## Go's own tools on arena memory"), map[string]func(t *testing.T){
		"`weak.Make`":            ends(func() { _ = weak.Make(p) }),
		"`runtime.SetFinalizer`": ends(func() { runtime.SetFinalizer(p, func(*[16]byte) {}) }),
		"`testing/synctest`":     func(t *testing.T) {}, // methods_test.go
		"`runtime.AddCleanup`": func(t *testing.T) {
			if runtime.Version() >= "go1.26" {
				wantPanic(t, "AddCleanup", func() { runtime.AddCleanup(p, func(int) {}, 0) })
			}
		},
		"`runtime.Pinner`": func(t *testing.T) {
			var pinner runtime.Pinner
			pinner.Pin(p)
			pinner.Unpin()
		},
		"`unique.Make`": func(t *testing.T) {
			copy(p[:], "text")
			text := unique.Make(unsafe.String(&p[0], 4))
			copy(p[:], "next")
			if text.Value() != "text" {
				t.Error("the handle is not a copy")
			}
		},
	})
}

// The command of doc.go that writes C's header.
func TestHeaderForC(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	command := regexp.MustCompile(`(?m)^//\t(awk .*) >toft_abi.h$`).FindSubmatch(text)
	want, missing := os.ReadFile("../abi/toft_abi.h")
	if err != nil || missing != nil || command == nil || runtime.GOOS == "windows" {
		t.Skip(err, missing)
	}
	_, want, _ = bytes.Cut(want, []byte("#ifndef TOFT_ABI\n"))
	if got, err := exec.Command("sh", "-c", string(command[1])).Output(); err != nil || !bytes.Contains(got, want) {
		t.Errorf("%v\n%s", err, got)
	}
}

func leaseHasNoRelease(t *testing.T) {
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
}

func forgottenReturnLosesMemory(t *testing.T) {
	c := make(chan *Arena)
	var p *uint64
	go func() {
		a := Get()
		p = Copy(a, uint64(42))
		c <- &a.Arena
	}()
	a := <-c
	for range 5 {
		TrimLeases()
	}
	if *p != 42 || ReadLeaseStats().Leased == 0 {
		t.Error("its memory was taken back")
	}
	a.lease().Return() // for the other tests
}
