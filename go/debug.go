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

// Debugging of leases. It costs nothing while it is off: switching it on takes the processors' slots out of use, so that
// every Get calls debugGet.

// A LeaseInfo describes a lease that was got while debugging was on.
type LeaseInfo struct {
	Lease     *Lease
	Goroutine uint64          // the number of the goroutine that called Get
	Ended     bool            // whether that goroutine has ended
	Got       []runtime.Frame // the call of Get and its callers
	Returned  []runtime.Frame // the call of Return and its callers; nil if the lease was not returned
}

// String returns the goroutine and the places of Get and Return.
func (l LeaseInfo) String() string {
	s := fmt.Sprintf("toft: lease of goroutine %d\n\tgot at %s", l.Goroutine, placeOf(l.Got))
	if l.Ended {
		s = fmt.Sprintf("toft: lease of goroutine %d, which has ended\n\tgot at %s", l.Goroutine, placeOf(l.Got))
	}
	if l.Returned != nil {
		s += "\n\treturned at " + placeOf(l.Returned)
	}
	return s
}

func placeOf(frames []runtime.Frame) string {
	if len(frames) == 0 {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d in %s", frames[0].File, frames[0].Line, frames[0].Function)
}

type record struct {
	goroutine     uint64
	got, returned []uintptr
	reported      bool
}

func (r *record) info(a *Arena) LeaseInfo {
	return LeaseInfo{Lease: a.lease(), Goroutine: r.goroutine, Got: frames(r.got), Returned: frames(r.returned)}
}

const quarantined = 1024 // the number of returned arenas whose memory is kept, so that their use is detected

var debug struct {
	sync.Mutex
	on         atomic.Bool
	any        atomic.Bool // debugging was on
	records    map[*Arena]*record
	quarantine []*slot                 // oldest first
	typed      map[*Arena][]typedValue // of debugged arenas, in the order of their allocation
	forgotten  func(LeaseInfo)
	profile    *pprof.Profile
}

func startDebug() {
	if isOn(os.Getenv("TOFT_DEBUG")) && !cPrivileged() || cChecked() {
		SetDebug(true)
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

// SetDebug switches the debugging of later leases on or off, and reports whether it was on. With debugging each lease has an
// arena of its own, which is checked (see [Arena.SetChecked]); a lease then takes microseconds. A second Return and the use
// of a returned arena from Go panic with the places of Get and Return while the arena is among the last 1024 returned ones;
// C gets NULL from it.
//
// The blocks of such a lease, and of an arena that [NewArena] makes without Contiguous while debugging is on, are on pages
// of their own. They become inaccessible when they are freed: all of them by Return, Release and [Arena.Reset], those that
// f allocated by [Arena.Scope] if the arena has no budget, and by another Rewind or by Trim the blocks that become empty.
// So a stale pointer faults, in Go and in C, and a handler writes a message to standard error with the places where the
// arena was made and where the memory was freed, before Go ends the program with the stack of the access. After
// [runtime/debug.SetPanicOnFault] Go panics instead. On Windows the fault has Go's message only. A system call that gets a
// stale pointer fails with EFAULT.
//
// The memory of freed blocks returns to the system. Their addresses are used again, those of the oldest ones first, when 32
// GiB of addresses have been used, 128 MiB where addresses have 32 bits; these include a page behind each block. SetDebug
// panics with an [AllocError] if the process cannot reserve 16 MiB of addresses.
//
// Return, and for a checked arena Release and Reset, compare the pointers in the values of [New], [Copy], [MakeSlice], [CopySlice] and their Try
// forms with the Go heap, and panic with [ErrGoPointer] after their work if one of them points there, which the message
// names: its type, its field, and the place of the allocation. Pointers to objects that a [runtime.Pinner] pins and to
// global variables are allowed, as by the rules of cgo. The comparison is that of cgo calls, so GODEBUG=cgocheck=0
// switches it off. It finds no pointer to an object that was collected and whose memory has left the heap, compares the
// first 65536 pointers of an allocation, and omits values that a Rewind has freed.
//
// [Leases], [OnForgotten] and the profile "toft.leases" of runtime/pprof show the leases that were not
// returned. A lease that was forgotten keeps its memory, because C may use it.
//
// The environment variable TOFT_DEBUG=1 switches debugging on at the start. The values "", "0", "off", "no" and "false", in
// upper or lower case, mean off; a privileged process (set-user-ID, file capabilities) does not read it. TOFT_CHECKED=1
// switches debugging on too, and checks all other arenas. TOFT_FINDINGS=FILE appends the findings of checked arenas to a
// file, with their places.
func SetDebug(on bool) (was bool) {
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

// OnForgotten makes each collection of garbage call f once for each lease whose goroutine has ended without a Return, if the
// lease was got while debugging was on. Each call runs on a goroutine of its own, one after the other: f may block, call any
// function of this package, and call [runtime.Goexit]; if it panics, the program ends.
func OnForgotten(f func(LeaseInfo)) {
	debug.Lock()
	defer debug.Unlock()
	debug.forgotten = f
}

// Leases returns the leases that were got while debugging was on and were not returned.
func Leases() []LeaseInfo {
	if !debug.any.Load() {
		return nil
	}
	living := goroutines()
	debug.Lock()
	defer debug.Unlock()
	var out []LeaseInfo
	for a, r := range debug.records {
		if r.returned == nil {
			l := r.info(a)
			l.Ended = !living[r.goroutine]
			out = append(out, l)
		}
	}
	return out
}

// CheckReturned compares the memory of released arenas of C that were checked and is still kept, and reports late writes as
// findings (see TOFT_FINDINGS at [SetDebug]). While debugging is on, each collection of garbage does so too. Call it at the
// end of a program, because Go ends a program without notice to C. If the environment variable TOFT_PROFILE names a file, it
// also writes the profile of all arenas there; call it after a signal to see what a running program holds.
func CheckReturned() {
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
	for _, l := range Leases() {
		if !l.Ended {
			continue
		}
		debug.Lock()
		r := debug.records[&l.Lease.Arena]
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
		defer panic(fmt.Errorf("%w; lease\n\tgot at %s", wrap("Return", ErrCorrupt), placeOf(frames(r.got))))
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
		return "toft: " + what + " (toft.SetDebug shows the places)"
	}
	return fmt.Sprintf("toft: %s\n\treturned at %s\n\tgot at %s", what, placeOf(frames(r.returned)), placeOf(frames(r.got)))
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
