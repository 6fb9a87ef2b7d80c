//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
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

func TestForgotten(t *testing.T) {
	debugging(t)
	reported := make(chan link.LeaseInfo, 100)
	onForgotten(func(l link.LeaseInfo) { reported <- l })
	defer onForgotten(nil)
	mine := Get() // its goroutine lives
	defer mine.Return()
	var p *mixed
	done := make(chan *Arena)
	go func() {
		a := getHere()
		p = New[mixed](a)
		p.b = 42
		done <- a
	}()
	a := <-done
	for {
		runtime.GC()
		select {
		case l := <-reported:
			if l.Lease != unsafe.Pointer(a) || !l.Ended {
				t.Fatalf("%v", l)
			}
			wantPlaces(t, l.String(), "which has ended", "toft.getHere")
			if p.b != 42 || !a.Contains(unsafe.Pointer(p)) {
				t.Error("its memory was freed")
			}
			for range 5 {
				runtime.GC()
			}
			time.Sleep(10 * time.Millisecond)
			if len(reported) != 0 {
				t.Error("reported twice")
			}
			a.lease().Return()
			return
		case <-time.After(time.Millisecond):
		}
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
	if os.Getenv("TOFT_DEBUG") == "1" {
		a := getHere()
		a.lease().Return()
		a.lease().Return()
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestDebugByEnvironment$")
	child.Env = append(os.Environ(), "TOFT_DEBUG=1")
	out, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err == nil {
		t.Error("the child lived")
	} else if !errors.As(err, &exit) {
		t.Skip("this system cannot run the test's program: ", err) // an emulated one
	}
	wantPlaces(t, string(out), "second Return", "toft.getHere")
}

// The function that gets a forgotten lease may trim the others.
func TestTrimOfTheForgotten(t *testing.T) {
	debugging(t)
	reported := make(chan *Arena, 1)
	onForgotten(func(l link.LeaseInfo) { TrimLeases(); reported <- (*Arena)(l.Lease) })
	defer onForgotten(nil)
	go func() { Get() }()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		runtime.GC()
		select {
		case a := <-reported:
			a.lease().Return()
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the lease was not reported, or the call waits for ever")
}

// If all arenas are checked and leases are not debugged, a trim is not reported as a late write.
func TestTrimOfCheckedLeases(t *testing.T) {
	if os.Getenv("TOFT_CHECKED") == "yes" {
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
	child := exec.Command(os.Args[0], "-test.run=^TestTrimOfCheckedLeases$")
	child.Env = append(os.Environ(), "TOFT_CHECKED=yes", "TOFT_FINDINGS=/dev/stderr")
	out, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skip("this system cannot run the test's program: ", err)
	}
	if err != nil || strings.Contains(string(out), "late write") {
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
func forget() {
	taker := make(chan uint64)
	go func() { Get(); taker <- goroutine() }()
	for id := <-taker; goroutines()[id]; {
		runtime.Gosched()
	}
}

// However the function of OnForgotten ends, it is called for the other leases too, and finalizers run.
func TestOnForgottenThatDoesNotReturn(t *testing.T) {
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
			reported := make(chan *Arena, 100)
			onForgotten(func(l link.LeaseInfo) { // f has ended before the test ends: one of them switches debugging on
				defer func() { reported <- (*Arena)(l.Lease) }()
				f()
			})
			defer onForgotten(nil)
			for range 3 {
				forget()
			}
			seen := map[*Arena]bool{}
			for end := time.Now().Add(20 * time.Second); len(seen) < 3 && time.Now().Before(end); {
				runtime.GC()
				select {
				case a := <-reported:
					if seen[a] {
						t.Error("called twice for a lease")
					}
					seen[a] = true
				case <-time.After(10 * time.Millisecond):
				}
			}
			if len(seen) < 3 {
				t.Errorf("called for %d leases", len(seen))
			}
			onForgotten(nil)
			for _, l := range openLeases() {
				if l.Ended {
					(*Lease)(l.Lease).Return()
				}
			}
			ran := make(chan bool)
			runtime.SetFinalizer(new([64]byte), func(*[64]byte) { close(ran) })
			for end := time.Now().Add(20 * time.Second); ; {
				runtime.GC()
				select {
				case <-ran:
					return
				case <-time.After(10 * time.Millisecond):
				}
				if time.Now().After(end) {
					t.Fatal("finalizers do not run any more")
				}
			}
		})
	}
}

// A panic of that function ends the program.
func TestOnForgottenThatPanics(t *testing.T) {
	if os.Getenv("TOFT_TEST_FORGOTTEN") != "" {
		setDebug(true)
		onForgotten(func(link.LeaseInfo) { panic("on purpose") })
		forget()
		for range 1000 {
			runtime.GC()
			time.Sleep(10 * time.Millisecond)
		}
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestOnForgottenThatPanics$")
	child.Env = append(os.Environ(), "TOFT_TEST_FORGOTTEN=1")
	out, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skip("this system cannot run the test's program: ", err)
	}
	if err == nil || !strings.Contains(string(out), "panic: on purpose") {
		t.Errorf("%v: %s", err, out)
	}
}
