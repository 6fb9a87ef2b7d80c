//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	rundebug "runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

// Programs with a stale pointer. Each runs in a process with TOFT_DEBUG=1, where its last access must fault, and the
// message must name the lines that are marked "got" and "freed". What a program calls before must not fault.

type chain struct {
	value int64
	next  *chain
}

var (
	staleInt *int64
	sum      int64
)

// try prints a line, so that a fault before it is noticed, and calls the access.
func try(access func()) {
	fmt.Println("the access follows")
	access()
	fmt.Println("not detected:", sum)
}

func readInt(p *int64) { try(func() { sum += *p }) }

func readByte(p unsafe.Pointer) { try(func() { sum += int64(*(*byte)(p)) }) }

var stalePrograms = map[string]func(){
	"a value is read": func() {
		a := Get() // got
		p := New[int64](a)
		a.Return() // freed
		readInt(p)
	},
	"a value is written": func() {
		a := Get() // got
		p := Copy(a, int64(7))
		a.Return() // freed
		try(func() { *p = 8 })
	},
	"a pointer is written": func() {
		a := Get() // got
		p := New[chain](a)
		a.Return() // freed
		try(func() { p.next = nil })
	},
	"the last element of a slice": func() {
		a := Get() // got
		s := MakeSlice[int64](a, 1000)
		a.Return() // freed
		readInt(&s[999])
	},
	"a copy into a slice": func() {
		a := Get() // got
		s := CopySlice(a, []byte("some text that is longer than a word"))
		a.Return() // freed
		try(func() { copy(s, "another") })
	},
	"a C string, from Go": func() {
		a := Get() // got
		p, _ := a.CString("text")
		a.Return() // freed
		readByte(p)
	},
	"a C string, from C": func() {
		a := Get() // got
		p, _ := a.CString("text")
		a.Return() // freed
		try(func() { sum += int64(ctest.Strlen(p)) })
	},
	"a string of an array of C strings": func() {
		a := Get() // got
		p, _ := a.CStrings([]string{"one", "two"})
		two := *(*unsafe.Pointer)(unsafe.Add(p, unsafe.Sizeof(p)))
		a.Return() // freed
		readByte(two)
	},
	"a pointer that C has kept": func() {
		a := Get() // got
		ctest.Keep(Copy(a, int64(7)))
		sum += ctest.ReadKept()
		a.Return() // freed
		try(func() { sum += ctest.ReadKept() })
	},
	"a list that C has allocated": func() {
		a := Get() // got
		list := ctest.List(a.Pointer(), 3)
		a.Return() // freed
		try(func() { sum += list.Next.Value })
	},
	"another goroutine reads": func() {
		a := Get() // got
		p := New[int64](a)
		returned := make(chan bool)
		done := make(chan bool)
		go func() { <-returned; readInt(p); done <- true }()
		a.Return() // freed
		returned <- true
		<-done
	},
	"another goroutine returns": func() {
		a := Get() // got
		p := New[int64](a)
		done := make(chan bool)
		go func() {
			a.Return() // freed
			done <- true
		}()
		<-done
		readInt(p)
	},
	"after a Scope": func() {
		a := Get() // got
		before := Copy(a, int64(1))
		a.Scope(func() { staleInt = New[int64](a) }) // freed
		sum += *before
		readInt(staleInt)
	},
	"after a Scope in a Scope": func() {
		a := Get() // got
		a.Scope(func() {
			outer := Copy(a, int64(1))
			a.Scope(func() { staleInt = Copy(a, *outer) }) // freed
			sum += *outer
			readInt(staleInt)
		})
	},
	"after a Reset": func() {
		a := Get()     // got
		for range 10 { // until it would keep its blocks
			a.AllocUninit(10_000, 8)
			a.Reset()
		}
		p := &MakeSlice[int64](a, 1000)[500]
		a.Reset() // freed
		sum += *New[int64](a)
		readInt(p)
	},
	"a large block after a Rewind": func() {
		a := Get() // got
		New[int64](a)
		m := a.Mark()
		p := &New[[1 << 20]byte](a)[5]
		a.Rewind(m) // freed
		readByte(unsafe.Pointer(p))
	},
	"unsafe.Slice": func() {
		a := Get() // got
		s := unsafe.Slice((*int64)(a.Alloc(80, 8)), 10)
		a.Return() // freed
		try(func() {
			for _, v := range s {
				sum += v
			}
		})
	},
	"while another lease is in use": func() {
		a := Get() // got
		p := New[int64](a)
		a.Return() // freed
		b := Get()
		defer b.Return()
		for range 100 {
			*New[int64](b) = 7
		}
		readInt(p)
	},
	"an outer lease that is returned first": func() {
		a := Get() // got
		p := New[int64](a)
		b := Get()
		q := Copy(b, int64(2))
		a.Return() // freed
		sum += *q
		readInt(p)
	},
	"after thousands of other leases": func() {
		a := Get() // got
		p := New[int64](a)
		a.Return() // freed
		for range 3 * quarantined {
			b := Get()
			New[int64](b)
			b.Return()
		}
		readInt(p)
	},
	"after TrimLeases": func() {
		a := Get() // got
		p := New[int64](a)
		a.Return() // freed
		TrimLeases()
		readInt(p)
	},
	"after collections of garbage": func() {
		a := Get() // got
		p := New[int64](a)
		a.Return() // freed
		for range 3 {
			runtime.GC()
		}
		readInt(p)
	},
	"in a deferred function": func() {
		a := Get() // got
		p := New[int64](a)
		defer readInt(p)
		func() {
			defer a.Return()
			*p = 7
		}() // freed
	},
	"in a finalizer": func() {
		a := Get() // got
		p := New[int64](a)
		object := &struct{ p *int64 }{p}
		runtime.SetFinalizer(object, func(o *struct{ p *int64 }) { readInt(o.p); os.Exit(0) })
		a.Return() // freed
		for {
			runtime.GC()
			runtime.Gosched()
		}
	},
	"on a locked thread": func() {
		runtime.LockOSThread()
		a := Get() // got
		p := New[int64](a)
		a.Return() // freed
		readInt(p)
	},
	"a block of 1 MiB": func() {
		a := Get() // got
		p := a.Alloc(1<<20, 8)
		a.Return() // freed
		readByte(unsafe.Add(p, 1<<19))
	},
	"the last byte of a large block": func() {
		a := Get() // got
		p := a.Alloc(3<<20, 4096)
		a.Return() // freed
		readByte(unsafe.Add(p, 3<<20-1))
	},
	"a value of size 0": func() {
		a := Get() // got
		New[[8]byte](a)
		p := New[struct{}](a)
		New[[8]byte](a)
		a.Return() // freed
		readByte(unsafe.Pointer(p))
	},
	"without zeroing": func() {
		a := Get() // got
		p := UninitOf[int64]().New(&a.Arena)
		a.Return() // freed
		readInt(p)
	},
	"a value of With": func() {
		_ = With(func(a *Arena) error { staleInt = New[int64](a); return nil }) // got, freed
		readInt(staleInt)
	},
	"a pointer from another lease": func() {
		a := Get() // got
		b := Get()
		defer b.Return()
		list := Copy(b, chain{next: New[chain](a)})
		a.Return() // freed
		try(func() { sum += list.next.value })
	},
	"a released arena": func() {
		a, _ := NewArena(Options{}) // got
		p := New[int64](a)
		a.Release() // freed
		readInt(p)
	},
	"a released arena that was checked": func() {
		a, _ := NewArena(Options{Checked: true, Budget: 1 << 20}) // got
		p := New[int64](a)
		a.Release() // freed
		readInt(p)
	},
	"a reset arena": func() {
		a, _ := NewArena(Options{Reserve: 1 << 20}) // got
		p := New[int64](a)
		a.Reset() // freed
		sum += *New[int64](a)
		readInt(p)
	},
}

// marked returns the numbers of the lines of a program with a mark in its comment.
func marked(t *testing.T, name, mark string) (places []string) {
	t.Helper()
	text, err := os.ReadFile("faults_test.go")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		if inside && strings.HasPrefix(line, "\t}") {
			break
		}
		inside = inside || strings.HasPrefix(line, fmt.Sprintf("\t%q: func() {", name))
		if _, comment, ok := strings.Cut(line, " // "); ok && inside && slices.Contains(strings.Split(comment, ", "), mark) {
			places = append(places, fmt.Sprintf("faults_test.go:%d in ", i+1))
		}
	}
	if len(places) != 1 {
		t.Fatalf("%q has %d lines with %q", name, len(places), mark)
	}
	return places
}

// runStale returns what a program of the table writes, and whether it ended with an error.
func runStale(t *testing.T, name string) (text string, failed bool) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestStalePointers$")
	child.Env = append(os.Environ(), "TOFT_DEBUG=1", "TOFT_TEST_STALE="+name)
	out, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skip("this system cannot run the test's program: ", err)
	}
	return string(out), err != nil
}

func TestStalePointers(t *testing.T) {
	if name := os.Getenv("TOFT_TEST_STALE"); name != "" {
		stalePrograms[name]()
		return
	}
	for name := range stalePrograms {
		t.Run(name, func(t *testing.T) {
			out, failed := runStale(t, name)
			if _, last, reached := strings.Cut(out, "the access follows\n"); !reached || !failed || strings.HasPrefix(last, "not detected") {
				t.Fatalf("not detected:\n%.2000s", out)
			}
			if runtime.GOOS == "windows" {
				return // Go's message only
			}
			message, _, _ := strings.Cut(out, "\nunexpected fault address")
			wantPlaces(t, message, "was used after it was freed\n\t")
			wantPlaces(t, message, marked(t, name, "got")...)
			wantPlaces(t, message, marked(t, name, "freed")...)
		})
	}
}

func TestStalePointerThatIsRecovered(t *testing.T) {
	debugging(t)
	defer rundebug.SetPanicOnFault(rundebug.SetPanicOnFault(true))
	a := Get()
	p := New[int64](a)
	*p = 7
	a.Return()
	_, value := panicsWith(t, func() { sum += *p })
	var fault interface{ Addr() uintptr }
	if err, ok := value.(error); !ok || !errors.As(err, &fault) || fault.Addr() != addressOf(p) {
		t.Errorf("%v", value)
	}
}

// The addresses of freed blocks are not used again while there are others, and blocks in use never are.
func TestAddressesAreNotReused(t *testing.T) {
	debugging(t)
	held := Get()
	defer held.Return()
	first := New[int64](held)
	*first = 42
	seen := map[uintptr]bool{}
	for range 2000 {
		a := Get()
		p := addressOf(New[int64](a)) / 4096
		if seen[p] {
			t.Fatal("an address is used again")
		}
		seen[p] = true
		a.Return()
	}
	for range 5 * mostFaulting >> 32 { // with 64 bits, as many bytes as there are addresses, and more
		a := Get()
		a.SetChecked(false) // which would write to all of it
		a.AllocUninit(1<<30, 8)
		a.Return()
	}
	if *first != 42 {
		t.Error("a block in use was used again")
	}
}

func TestFaultingBytesAreHeld(t *testing.T) {
	debugging(t)
	before := cFaultingBytes()
	a := Get()
	a.Alloc(1<<20, 8)
	if n := cFaultingBytes() - before; n < 1<<20 || n > 1<<20+64<<10 {
		t.Errorf("%d bytes", n)
	}
	a.Return()
	if n := cFaultingBytes(); n != before {
		t.Errorf("%d bytes, before %d", n, before)
	}
}
