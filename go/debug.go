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
)

// Debugging of leases. Off, it costs nothing: switched on, it takes the processors' leases out of use, so that every Get
// comes here.

// A Lease is what debugging knows of an arena that was leased.
type Lease struct {
	Arena     *Arena
	Goroutine uint64          // that called Get
	Ended     bool            // that goroutine is no more
	Got       []runtime.Frame // the call of Get; the callers' follow
	Returned  []runtime.Frame // the call of Return; nil: none yet
}

func (l Lease) String() string {
	s := fmt.Sprintf("toft: lease of goroutine %d\n\tgot at %s", l.Goroutine, place(l.Got))
	if l.Ended {
		s = fmt.Sprintf("toft: lease of goroutine %d, which has ended\n\tgot at %s", l.Goroutine, place(l.Got))
	}
	if l.Returned != nil {
		s += "\n\treturned at " + place(l.Returned)
	}
	return s
}

func place(frames []runtime.Frame) string {
	if len(frames) == 0 {
		return "a place unknown"
	}
	return fmt.Sprintf("%s:%d in %s", frames[0].File, frames[0].Line, frames[0].Function)
}

type record struct {
	goroutine     uint64
	got, returned []uintptr
	reported      bool
}

func (r *record) lease(a *Arena) Lease {
	return Lease{Arena: a, Goroutine: r.goroutine, Got: frames(r.got), Returned: frames(r.returned)}
}

const quarantined = 1024 // returned arenas whose memory waits, so that their use is noticed

var debug struct {
	sync.Mutex
	on         atomic.Bool
	any        atomic.Bool // there are records
	records    map[*Arena]*record
	quarantine []*lease // oldest first
	forgotten  func(Lease)
	profile    *pprof.Profile
}

func startDebug() {
	if isOn(os.Getenv("TOFT_DEBUG")) && !cPrivileged() || cChecked() {
		SetDebug(true)
	}
}

// isOn reads a switch of the environment as C does.
func isOn(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "off", "no", "false":
		return false
	}
	return true
}

// SetDebug switches the debugging of leases, for those got from now on, and returns whether it was on. Each lease is then an
// arena of its own, and checked (see [Arena.SetChecked]), which costs microseconds. A second Return and the use of a
// returned arena from Go panic with the places of Get and Return, as long as the arena is among the last 1024 returned
// ones; C gets NULL from it. Leases that are out are listed by [Outstanding], by [OnForgotten], and with their stacks in the
// profile "toft.leases" of runtime/pprof. A lease that was forgotten keeps its memory, which C may hold.
//
// The environment variable TOFT_DEBUG=1 switches it on from the start; off are "", "0", "off", "no" and "false", in any
// case, and a privileged process (set-user-ID, file capabilities) does not read it. TOFT_CHECKED=1 switches it on too, and
// checks all other arenas. With TOFT_FINDINGS=FILE what checked arenas find is appended to that file, with the places.
func SetDebug(on bool) (was bool) {
	debug.Lock()
	defer debug.Unlock()
	if debug.profile == nil && on {
		debug.records = map[*Arena]*record{}
		if debug.profile = pprof.Lookup("toft.leases"); debug.profile == nil {
			debug.profile = pprof.NewProfile("toft.leases")
		}
	}
	if on {
		active.Store(0)
	} else if canPin {
		active.Store(maxP)
	}
	return debug.on.Swap(on)
}

// OnForgotten has f called, after a collection of garbage, for each lease whose goroutine has ended without a Return,
// once. While debugging is off, nothing is noticed. Each call is on a goroutine of its own, one after the other: f may wait,
// call anything of this package, and call [runtime.Goexit]; if it panics, the program ends.
func OnForgotten(f func(Lease)) {
	debug.Lock()
	defer debug.Unlock()
	debug.forgotten = f
}

// Outstanding tells the leases that were got while debugging was on and are not returned.
func Outstanding() []Lease {
	if !debug.any.Load() {
		return nil
	}
	living := goroutines()
	debug.Lock()
	defer debug.Unlock()
	var out []Lease
	for a, r := range debug.records {
		if r.returned == nil {
			l := r.lease(a)
			l.Ended = !living[r.goroutine]
			out = append(out, l)
		}
	}
	return out
}

// CheckReturned looks at the memory of leases that were returned, and of arenas that were released, and are still
// remembered, for writes that came after: findings in the file that TOFT_FINDINGS names. While debugging, each collection
// of garbage does so too; at the end of a program, which Go ends without a word to C, it is the program that asks.
func CheckReturned() {
	debug.Lock()
	for _, l := range debug.quarantine {
		cReset(emptying{a: l.arena()}, 0)
	}
	debug.Unlock()
	cTrimQuarantine()
}

func reportForgotten() {
	debug.Lock()
	f := debug.forgotten
	debug.Unlock()
	if f == nil {
		return
	}
	for _, l := range Outstanding() {
		if !l.Ended {
			continue
		}
		debug.Lock()
		r := debug.records[l.Arena]
		tell := r != nil && r.returned == nil && !r.reported
		if tell {
			r.reported = true
		}
		debug.Unlock()
		if tell {
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

// debugGet gives an arena while debugging is on, else nil.
func debugGet() *Arena {
	if !debug.on.Load() {
		return nil
	}
	l := newSeparate()
	a := l.arena()
	must("Get", cSetChecked(a, true))
	l.changed()
	r := &record{goroutine: goroutine(), got: callers()}
	debug.Lock()
	defer debug.Unlock()
	debug.records[a] = r
	debug.any.Store(true)
	debug.profile.Add(a, 3)
	return a
}

// debugReturn returns an arena that debugGet gave; false: it did not.
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
	l := leaseOf(a)
	emptying{call: cResetLease, a: a}.run(func(code int) { r.end(l, code) })
	return true
}

// end is what is left of a Return when the arena is empty.
func (r *record) end(l *lease, code int) {
	a := l.arena()
	switch code {
	case 0:
	case codeCorrupt:
		defer panic(fmt.Errorf("%w; lease\n\tgot at %s", failed("Return", ErrCorrupt), place(frames(r.got))))
	default:
		debug.Lock()
		r.returned = nil
		debug.Unlock()
		panic(failed("Return", errorOf(code)))
	}
	cSetBudget(a, 0) // C, which does not look at leases, gets nothing more from it
	atomic.StoreUint32(&l.state, idle)
	l.start = a.cursor
	debug.Lock()
	defer debug.Unlock()
	debug.profile.Remove(a)
	debug.quarantine = append(debug.quarantine, l)
	if len(debug.quarantine) > quarantined {
		oldest := debug.quarantine[0]
		debug.quarantine = slices.Delete(debug.quarantine, 0, 1)
		delete(debug.records, oldest.arena())
		oldest.destroy()
	}
}

// misuse is what a panic says of an arena that is not leased.
func misuse(a *Arena, what string) string {
	debug.Lock()
	defer debug.Unlock()
	r := debug.records[a]
	if r == nil {
		return "toft: " + what + " (toft.SetDebug tells more)"
	}
	return fmt.Sprintf("toft: %s\n\treturned at %s\n\tgot at %s", what, place(frames(r.returned)), place(frames(r.got)))
}

// ---- places ----

func callers() []uintptr {
	pcs := make([]uintptr, 64)
	return pcs[:runtime.Callers(1, pcs)]
}

// frames leaves out this package's own, but for its tests.
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

// goroutine is the number of the caller's, which only its stack's text tells.
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
