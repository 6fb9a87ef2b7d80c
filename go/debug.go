//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"toft.dev/toft/internal/link"
)

// Debugging of leases. It costs nothing while it is off: switching it on takes the processors' slots out of use, so that
// every Get calls debugGet.

type record struct {
	goroutine     uint64
	got, returned []uintptr
	reported      bool
}

func (r *record) info(a *Arena) link.LeaseInfo {
	return link.LeaseInfo{Lease: unsafe.Pointer(a), Goroutine: r.goroutine, Got: frames(r.got), Returned: frames(r.returned)}
}

const quarantined = 1024 // the number of returned arenas whose memory is kept, so that their use is detected

var debug struct {
	sync.Mutex
	on         atomic.Bool
	any        atomic.Bool // debugging was on
	records    map[*Arena]*record
	quarantine []*slot                 // oldest first
	typed      map[*Arena][]typedValue // of debugged arenas, in the order of their allocation
	forgotten  func(link.LeaseInfo)
	profile    *pprof.Profile
}

func startDebug() {
	if isOn(os.Getenv("TOFT_DEBUG")) && !cPrivileged() || cChecked() {
		setDebug(true)
	}
}

// isOn interprets a switch of the environment as C does.
func isOn(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "off", "no", "false":
		return false
	}
	return true
}

// setDebug is leasetest.SetDebug.
func setDebug(on bool) (was bool) {
	debug.Lock()
	defer debug.Unlock()
	if on {
		startFaults()
		debug.any.Store(true)
	}
	if debug.profile == nil && on {
		debug.records = map[*Arena]*record{}
		debug.typed = map[*Arena][]typedValue{}
		if debug.profile = pprof.Lookup("toft.leases"); debug.profile == nil {
			debug.profile = pprof.NewProfile("toft.leases")
		}
	}
	useSlots(!on)
	return debug.on.Swap(on)
}

// onForgotten is leasetest.OnForgotten.
func onForgotten(f func(link.LeaseInfo)) {
	debug.Lock()
	defer debug.Unlock()
	debug.forgotten = f
}

// openLeases is leasetest.Leases.
func openLeases() []link.LeaseInfo {
	if !debug.any.Load() {
		return nil
	}
	living := goroutines()
	debug.Lock()
	defer debug.Unlock()
	var out []link.LeaseInfo
	for a, r := range debug.records {
		if r.returned == nil {
			l := r.info(a)
			l.Ended = !living[r.goroutine]
			out = append(out, l)
		}
	}
	return out
}

// checkAtEnd is leasetest.CheckReturned.
func checkAtEnd() {
	checkReturned()
	cWriteProfile()
}

func checkReturned() {
	cTrimQuarantine()
}

func reportForgotten() {
	debug.Lock()
	f := debug.forgotten
	debug.Unlock()
	if f == nil {
		return
	}
	for _, l := range openLeases() {
		if !l.Ended {
			continue
		}
		debug.Lock()
		r := debug.records[(*Arena)(l.Lease)]
		report := r != nil && r.returned == nil && !r.reported
		if report {
			r.reported = true
		}
		debug.Unlock()
		if report {
			ended := make(chan bool)
			go func() {
				defer close(ended)
				f(l)
			}()
			<-ended
		}
	}
}

// ---- Get and Return ----

// debugGet returns a leased arena if debugging is on, else nil.
func debugGet() *Arena {
	if !debug.on.Load() {
		return nil
	}
	r := &record{goroutine: goroutine(), got: callers()}
	s := newSeparate(func(s *slot) *Arena { return s.createFaulting(placeNumber("got", r.got)) })
	a := s.arena()
	must("Get", cSetChecked(a, true))
	s.setChanged()
	debug.Lock()
	defer debug.Unlock()
	debug.records[a] = r
	debug.profile.Add(a, ownFrames(r.got)) // callers and Add count from themselves on
	return a
}

// debugReturn returns an arena of debugGet. It reports false for another arena.
func debugReturn(a *Arena) bool {
	if !debug.any.Load() {
		return false
	}
	debug.Lock()
	r := debug.records[a]
	if r == nil {
		debug.Unlock()
		return false
	}
	if r.returned != nil {
		debug.Unlock()
		panic(misuse(a, "second Return"))
	}
	r.returned = callers()
	debug.Unlock()
	s := slotOf(a)
	setFreed(s.faulting(), placeNumber("returned", r.returned))
	found := storedGoPointer("Return", a)
	emptying{call: cReset, a: a}.run(func(code int) { r.end(s, code, found) })
	return true
}

// end completes a Return when the arena is empty, and panics with found, if that is not nil.
func (r *record) end(s *slot, code int, found error) {
	a := s.arena()
	switch code {
	case 0:
		if found != nil {
			defer panic(found)
		}
	case codeCorrupt:
		defer panic(fmt.Errorf("%w; lease\n\tgot at %s", wrap("Return", ErrCorrupt), link.Place(frames(r.got))))
	default:
		debug.Lock()
		r.returned = nil
		debug.Unlock()
		panic(wrap("Return", errorOf(code)))
	}
	cShrink(a)
	cSetBudget(a, 0) // C, which does not know of leases, gets no more memory from it
	stopProfile(a)
	atomic.StoreUint32(&s.state, idle)
	s.start = a.cursor
	debug.Lock()
	defer debug.Unlock()
	debug.profile.Remove(a)
	debug.quarantine = append(debug.quarantine, s)
	if len(debug.quarantine) > quarantined {
		oldest := debug.quarantine[0]
		debug.quarantine = slices.Delete(debug.quarantine, 0, 1)
		delete(debug.records, oldest.arena())
		oldest.destroy()
	}
}

// misuse returns the message of a panic about an arena that is not leased.
func misuse(a *Arena, what string) string {
	debug.Lock()
	defer debug.Unlock()
	r := debug.records[a]
	if r == nil {
		return "toft: " + what + " (leasetest.SetDebug shows the places)"
	}
	return fmt.Sprintf("toft: %s\n\treturned at %s\n\tgot at %s", what, link.Place(frames(r.returned)), link.Place(frames(r.got)))
}

// ---- places ----

func callers() []uintptr {
	pcs := make([]uintptr, 64)
	return pcs[:runtime.Callers(1, pcs)]
}

// frames returns the calls without those of this package, except for its tests.
func frames(pcs []uintptr) []runtime.Frame {
	if pcs == nil {
		return nil
	}
	out := []runtime.Frame{}
	for fs, more := runtime.CallersFrames(pcs), len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = fs.Next()
		if len(out) > 0 || !strings.HasPrefix(f.Function, "toft.dev/toft.") || strings.HasSuffix(f.File, "_test.go") {
			out = append(out, f)
		}
	}
	return out
}

// ownFrames returns how many calls frames leaves out, which depends on what the compiler has inlined.
func ownFrames(pcs []uintptr) (n int) {
	for fs, more := runtime.CallersFrames(pcs), true; more; n++ {
		_, more = fs.Next()
	}
	return n - len(frames(pcs))
}

// goroutine returns the number of the calling goroutine, which only the text of its stack contains.
func goroutine() uint64 {
	buf := make([]byte, 64)
	return number(buf[:runtime.Stack(buf, false)])
}

func number(stack []byte) uint64 {
	rest, _ := bytes.CutPrefix(stack, []byte("goroutine "))
	digits, _, _ := bytes.Cut(rest, []byte(" "))
	n, _ := strconv.ParseUint(string(digits), 10, 64)
	return n
}

func goroutines() map[uint64]bool {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	living := map[uint64]bool{}
	for _, stack := range bytes.Split(buf[:n], []byte("\n\n")) {
		living[number(stack)] = true
	}
	return living
}
