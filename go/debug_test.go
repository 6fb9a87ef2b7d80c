//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"toft.dev/toft/internal/ctest"
	"toft.dev/toft/internal/link"
)

func debugging(t *testing.T) {
	t.Helper()
	was := setDebug(true)
	t.Cleanup(func() { setDebug(was) })
}

func getHere() *Arena { return &Get().Arena }

func returnHere(a *Arena) { a.lease().Return() }

func wantPlaces(t *testing.T, text string, places ...string) {
	t.Helper()
	for _, p := range places {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not name %s", text, p)
		}
	}
}

func TestDebugNamesBothPlaces(t *testing.T) {
	debugging(t)
	a := getHere()
	New[mixed](a)
	returnHere(a)
	both := []string{"got at ", "debug_test.go", "toft.getHere", "returned at ", "toft.returnHere"}
	wantPlaces(t, panics(t, a.lease().Return), append(both, "second Return")...)
	wantPlaces(t, panics(t, func() { New[int](a) }), append(both, "allocation after Return")...)
	wantPlaces(t, panics(t, func() { a.Alloc(1, 1) }), append(both, "allocation after Return")...)
	wantPlaces(t, panics(t, a.Reset), append(both, "Reset after Return")...)

	if ctest.List(a.Pointer(), 1) != nil {
		t.Error("C allocates from a returned arena")
	}

	// Also after others got arenas.
	for range 100 {
		b := Get()
		if &b.Arena == a {
			t.Fatal("the arena was given again")
		}
		b.Return()
	}
	wantPlaces(t, panics(t, a.lease().Return), append(both, "second Return")...)
}

func TestLeases(t *testing.T) {
	before := len(openLeases())
	debugging(t)
	a := getHere()
	find := func() *link.LeaseInfo {
		for _, l := range openLeases() {
			if l.Lease == unsafe.Pointer(a) {
				return &l
			}
		}
		return nil
	}
	l := find()
	if l == nil || l.Ended || l.Goroutine != goroutine() {
		t.Fatalf("%+v", l)
	}
	wantPlaces(t, l.String(), "toft.getHere", "got at")
	if pprof.Lookup("toft.leases").Count() != before+1 {
		t.Error("not in the profile")
	}
	setDebug(false) // it ends as it began
	a.lease().Return()
	if find() != nil || pprof.Lookup("toft.leases").Count() != before {
		t.Error("still there")
	}
	b := Get()
	b.Return()
	if &b.Arena == a {
		t.Error("the arena was given again")
	}
}

// More returns than there are kept arenas.
func TestQuarantineIsBounded(t *testing.T) {
	debugging(t)
	for range quarantined + 100 {
		Get().Return()
	}
	if n := len(debug.quarantine); n != quarantined {
		t.Errorf("%d in quarantine", n)
	}
}

func TestDebugByEnvironment(t *testing.T) {
	if isChild(t) {
		a := getHere()
		a.lease().Return()
		a.lease().Return()
		return
	}
	out, err := rerun(t, "TOFT_DEBUG=1")
	if err == nil {
		t.Error("the child lived")
	}
	wantPlaces(t, out, "second Return", "toft.getHere")
}

// If all arenas are checked and leases are not debugged, a trim is not reported as a late write.
func TestTrimOfCheckedLeases(t *testing.T) {
	if isChild(t) {
		if !setDebug(false) {
			t.Error("off in spite of TOFT_CHECKED")
		}
		for range 3 {
			a := Get()
			a.Alloc(7000, 8)
			a.Return()
			TrimLeases()
		}
		return
	}
	if out, err := rerun(t, "TOFT_CHECKED=yes", "TOFT_FINDINGS=/dev/stderr"); err != nil || strings.Contains(out, "late write") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestDebugSwitch(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "0": false, "off": false, "OFF": false, "No": false, "FALSE": false, "false": false,
		"1": true, "on": true, "yes": true, "true": true, "abort": true, "00": true, " ": true,
	} {
		if isOn(value) != want {
			t.Errorf("%q: %v", value, !want)
		}
	}
}

// forget makes a goroutine take a lease and end without a Return. A goroutine that has closed a channel may still be
// running its last instructions, so forget returns only when the runtime no longer lists it.
func forget() (a *Arena, p *mixed) {
	taker := make(chan uint64)
	go func() {
		a = getHere()
		p = Copy(a, mixed{b: 42})
		taker <- goroutine()
	}()
	for id := <-taker; goroutines()[id]; {
		runtime.Gosched()
	}
	return a, p
}

// The function of OnForgotten is called once for each forgotten lease, however it ends, and finalizers run.
func TestOnForgotten(t *testing.T) {
	for name, f := range map[string]func(){
		"Goexit": runtime.Goexit,
		"waits":  func() { time.Sleep(20 * time.Millisecond) },
		"calls back": func() {
			Get().Return()
			TrimLeases()
			openLeases()
			checkAtEnd()
			runtime.GC()
			setDebug(setDebug(true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			debugging(t)
			reported := make(chan link.LeaseInfo, 100)
			onForgotten(func(l link.LeaseInfo) { // f has ended before the test ends: one of them switches debugging on
				defer func() { reported <- l }()
				f()
			})
			defer onForgotten(nil)
			mine := Get() // its goroutine lives
			defer mine.Return()
			values := map[*Arena]*mixed{}
			for range 3 {
				a, p := forget()
				values[a] = p
			}
			collectUntil(t, func() bool { return len(reported) >= 3 })
			for range 5 {
				runtime.GC()
			}
			time.Sleep(10 * time.Millisecond)
			if n := len(reported); n != 3 {
				t.Errorf("called %d times for 3 leases", n)
			}
			for range 3 {
				l := <-reported
				a := (*Arena)(l.Lease)
				if p := values[a]; p == nil || !l.Ended || p.b != 42 || !a.Contains(unsafe.Pointer(p)) {
					t.Errorf("called for %v, with %v", l, p)
				}
				delete(values, a)
				wantPlaces(t, l.String(), "which has ended", "toft.getHere")
			}
			onForgotten(nil)
			for _, l := range openLeases() {
				if l.Ended {
					(*Lease)(l.Lease).Return()
				}
			}
			var ran atomic.Bool
			runtime.SetFinalizer(new([64]byte), func(*[64]byte) { ran.Store(true) })
			collectUntil(t, ran.Load)
		})
	}
}

// A panic of that function ends the program.
func TestOnForgottenThatPanics(t *testing.T) {
	if isChild(t) {
		setDebug(true)
		onForgotten(func(link.LeaseInfo) { panic("on purpose") })
		forget()
		collectUntil(t, func() bool { return false })
	}
	if out, err := rerun(t); err == nil || !strings.Contains(out, "panic: on purpose") {
		t.Errorf("%v: %s", err, out)
	}
}
