//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

// Package leasetest finds misuse of the arenas of [toft.dev/toft] in tests: leases that are not returned, stale pointers,
// overruns, and pointers to the Go heap. TOFT_DEBUG=1 in the environment does so for a program that does not import it.
//
//	func TestMain(m *testing.M) {
//		leasetest.SetDebug(true)
//		code := m.Run()
//		for _, l := range leasetest.Leases() {
//			fmt.Println("never returned:", l)
//			code = 1
//		}
//		os.Exit(code)
//	}
package leasetest

import (
	"runtime"
	"unsafe"

	"toft.dev/toft"
	"toft.dev/toft/internal/link"
)

// SetDebug switches the debugging of later leases on or off, and reports whether it was on. With debugging each lease has an
// arena of its own, which is checked (see [toft.Arena.SetChecked]); a lease then takes less than a tenth of a millisecond.
// A second Return and the use of a returned arena from Go panic with the places of Get and Return while the arena is among the last 1024
// returned ones; C gets NULL from it.
//
// The blocks of such a lease, and of an arena that [toft.NewArena] makes without Contiguous while debugging is on, are on pages
// of their own. They become inaccessible when they are freed: all of them by Return, Release and [toft.Arena.Reset], those that
// f allocated by [toft.Arena.Scope] if the arena has no budget, and by another Rewind or by Trim the blocks that become empty.
// So a stale pointer faults, in Go and in C, and a handler writes a message to standard error with the places where the
// arena was made and where the memory was freed, before Go ends the program with the stack of the access. After
// [runtime/debug.SetPanicOnFault] Go panics instead. On Windows the fault has Go's message only. A system call that gets a
// stale pointer fails with EFAULT.
//
// The memory of freed blocks returns to the system. Their addresses are used again, those of the oldest ones first, when 32
// GiB of addresses have been used, 128 MiB where addresses have 32 bits; these include a page behind each block. SetDebug
// panics with an [toft.AllocError] if the process cannot reserve 16 MiB of addresses.
//
// Return, and for a checked arena Release and Reset, compare the pointers in the values of [toft.New], [toft.Copy],
// [toft.MakeSlice], [toft.CopySlice] and their Try forms with the Go heap, and panic with [toft.ErrGoPointer] after their work if one of them points there, which the message
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
func SetDebug(on bool) (was bool) { return link.SetDebug(on) }

// A LeaseInfo describes a lease that was got while debugging was on.
type LeaseInfo struct {
	Lease     *toft.Lease
	Goroutine uint64          // the number of the goroutine that called Get
	Ended     bool            // whether that goroutine has ended
	Got       []runtime.Frame // the call of Get and its callers
	Returned  []runtime.Frame // the call of Return and its callers; nil if the lease was not returned
}

// String returns the goroutine and the places of Get and Return.
func (l LeaseInfo) String() string {
	return link.LeaseInfo{Lease: unsafe.Pointer(l.Lease), Goroutine: l.Goroutine, Ended: l.Ended, Got: l.Got, Returned: l.Returned}.String()
}

func infoOf(l link.LeaseInfo) LeaseInfo {
	return LeaseInfo{(*toft.Lease)(l.Lease), l.Goroutine, l.Ended, l.Got, l.Returned}
}

// Leases returns the leases that were got while debugging was on and were not returned.
func Leases() (out []LeaseInfo) {
	for _, l := range link.Leases() {
		out = append(out, infoOf(l))
	}
	return out
}

// OnForgotten makes each collection of garbage call f once for each lease whose goroutine has ended without a Return, if the
// lease was got while debugging was on. Each call runs on a goroutine of its own, one after the other: f may block, call any
// function of the module, and call [runtime.Goexit]; if it panics, the program ends.
func OnForgotten(f func(LeaseInfo)) {
	if f == nil {
		link.OnForgotten(nil)
		return
	}
	link.OnForgotten(func(l link.LeaseInfo) { f(infoOf(l)) })
}

// CheckReturned compares the memory of released arenas of C that were checked and is still kept, and reports late writes as
// findings (see TOFT_FINDINGS at [SetDebug]). While debugging is on, each collection of garbage does so too. Call it at the
// end of a program, because Go ends a program without notice to C. If the environment variable TOFT_PROFILE names a file, it
// also writes the profile of all arenas there; call it after a signal to see what a running program holds.
func CheckReturned() { link.CheckReturned() }
