//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"runtime"
	"strings"
	"testing"
)

// Under GOEXPERIMENT=cgocheck2 every store of a Go pointer to memory outside the Go heap is fatal. All tests run so; this
// one shows that such a store is detected.
func TestGoPointersAreCaught(t *testing.T) {
	if !strings.Contains(runtime.Version(), "cgocheck2") {
		t.Skip("for GOEXPERIMENT=cgocheck2")
	}
	if isChild(t) {
		New[mixed](Get()).next = sink
		return
	}
	if out, err := rerun(t); err == nil || !strings.Contains(out, "unpinned Go pointer stored into non-Go memory") {
		t.Errorf("%v\n%s", err, out)
	}
}

var sink = new(mixed)

// A store of a pointer makes the collector read the old contents. If these look like a pointer to freed memory of the Go
// heap, the program crashes. So memory for types with pointers is always zeroed.
func TestRecycledMemoryDoesNotCrashTheCollector(t *testing.T) {
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer close(stop)
	a := newArena(t, Options{})
	for range 3000 {
		bad := freedSpan()
		words := UninitOf[uintptr]().MakeSlice(a, 600)
		for i := range words {
			words[i] = bad
		}
		a.Reset()
		for range 50 {
			p := New[mixed](a)
			p.next = p
			q := Copy(a, mixed{next: p})
			s := CopySlice(a, []*mixed{p, q})
			s[0] = MakeSlice[mixed](a, 2)[1].next
		}
		a.Reset()
	}
}

// freedSpan returns an address of the Go heap that contains no object any more.
func freedSpan() uintptr {
	b := make([]byte, 1<<20)
	return addressOf(&b[1<<19])
}
