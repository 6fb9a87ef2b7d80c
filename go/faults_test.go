//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"maps"
	"os"
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

func readByte(p unsafe.Pointer) func() { return func() { sum += int64(*(*byte)(p)) } }

// The program of an access or of a moment.
func useStale(allocate func(a *Lease) (access func()), between func()) {
	a := Get() // got
	access := allocate(a)
	a.Return() // freed
	between()
	try(access)
}

func noMoment() {}

func readValue(a *Lease) func() {
	p := New[int64](a)
	return func() { sum += *p }
}

var staleAccesses = map[string]func(a *Lease) (access func()){
	"a value is read": readValue,
	"a pointer is written": func(a *Lease) func() {
		p := Copy(a, chain{})
		return func() { p.next = nil }
	},
	"the last element of a slice": func(a *Lease) func() {
		s := MakeSlice[int64](a, 1000)
		return func() { sum += s[999] }
	},
	"a copy into a slice": func(a *Lease) func() {
		s := CopySlice(a, []byte("some text that is longer than a word"))
		return func() { copy(s, "another") }
	},
	"a C string, from C": func(a *Lease) func() {
		p, _ := a.CString("text")
		return func() { sum += int64(ctest.Strlen(p)) }
	},
	"a string of an array of C strings": func(a *Lease) func() {
		p, _ := a.CStrings([]string{"one", "two"})
		return readByte(*(*unsafe.Pointer)(unsafe.Add(p, unsafe.Sizeof(p))))
	},
	"a pointer that C has kept": func(a *Lease) func() {
		ctest.Keep(Copy(a, int64(7)))
		sum += ctest.ReadKept()
		return func() { sum += ctest.ReadKept() }
	},
	"a list that C has allocated": func(a *Lease) func() {
		list := ctest.List(a.Pointer(), 3)
		return func() { sum += list.Next.Value }
	},
	"a block of 1 MiB": func(a *Lease) func() { return readByte(unsafe.Add(a.Alloc(1<<20, 8), 1<<19)) },
	"the last byte of a large block": func(a *Lease) func() {
		return readByte(unsafe.Add(a.Alloc(3<<20, 4096), 3<<20-1))
	},
	"a value of size 0": func(a *Lease) func() {
		New[[8]byte](a)
		p := New[struct{}](a)
		New[[8]byte](a)
		return readByte(unsafe.Pointer(p))
	},
	"without zeroing": func(a *Lease) func() { return readByte(unsafe.Pointer(UninitOf[int64]().New(&a.Arena))) },
}

// What happens between the end of the lease and the access.
var staleMoments = map[string]func(){
	"while another lease is in use": func() {
		b := Get()
		for range 100 {
			*New[int64](b) = 7
		}
	},
	"after thousands of other leases": func() {
		for range 3 * quarantined {
			b := Get()
			New[int64](b)
			b.Return()
		}
	},
	"after TrimLeases": TrimLeases,
	"after collections of garbage": func() {
		for range 3 {
			runtime.GC()
		}
	},
}

var stalePrograms = map[string]func(){
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
		try(readByte(unsafe.Pointer(p)))
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
	"a value of With": func() {
		_ = With(func(a *Arena) error { staleInt = New[int64](a); return nil }) // got, freed
		readInt(staleInt)
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

// marked returns the place of the line with a mark in its comment, in a program or in useStale.
func marked(t *testing.T, name, mark string) (place string) {
	t.Helper()
	text, err := os.ReadFile("faults_test.go")
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "func useStale(", "}"
	if stalePrograms[name] != nil {
		begin, end = fmt.Sprintf("\t%q: func() {", name), "\t}"
	}
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		if inside && strings.HasPrefix(line, end) {
			break
		}
		inside = inside || strings.HasPrefix(line, begin)
		if _, comment, ok := strings.Cut(line, " // "); ok && inside && slices.Contains(strings.Split(comment, ", "), mark) {
			place = fmt.Sprintf("faults_test.go:%d in ", i+1)
		}
	}
	if place == "" {
		t.Fatalf("%q has no line with %q", name, mark)
	}
	return place
}

func TestStalePointers(t *testing.T) {
	programs := maps.Clone(stalePrograms)
	for name, allocate := range staleAccesses {
		programs[name] = func() { useStale(allocate, noMoment) }
	}
	for name, between := range staleMoments {
		programs[name] = func() { useStale(readValue, between) }
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			if isChild(t) {
				program()
				return
			}
			out, err := rerun(t, "TOFT_DEBUG=1")
			if _, last, reached := strings.Cut(out, "the access follows\n"); !reached || err == nil || strings.HasPrefix(last, "not detected") {
				t.Fatalf("not detected:\n%.2000s", out)
			}
			if runtime.GOOS == "windows" {
				return // Go's message only
			}
			message, _, _ := strings.Cut(out, "\nunexpected fault address")
			wantPlaces(t, message, "was used after it was freed\n\t", marked(t, name, "got"), marked(t, name, "freed"))
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
