//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// #include <stdint.h>
import "C"

import (
	"runtime"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The functions of an arena's cleanups are on a stack in Go. For each, C has a cleanup that keeps its place among those of C
// and the number of the function modulo 8, so that up to seven newer ones in a row may have been cancelled in C.
// A call of this package that frees memory first calls C in steps: C runs its own cleanups up to the next one of Go, which
// then runs here, on the caller's goroutine, while the arena is busy and its memory is valid. The call that frees the memory
// comes last. A panic or runtime.Goexit of a cleanup unwinds Go only, and a deferred call does the rest.
//
// C cannot be left in the middle of its work, so the cleanups that it runs in one go, those of arenas of another provider and
// of adopted arenas, run on a goroutine of their own while the caller waits; its panic or exit is repeated.

// cleanups are those of one arena.
type cleanups struct {
	functions []func() // the newest last
	running   int
}

// The cleanups of all arenas, in parts so that few goroutines wait for each other.
var (
	cleanupCount atomic.Int64 // the number of registered functions
	cleanupParts [64]cleanupTable
)

type cleanupTable struct {
	sync.Mutex
	of map[*Arena]*cleanups
	_  [48]byte
}

func cleanupPart(a *Arena) *cleanupTable {
	return &cleanupParts[uintptr(unsafe.Pointer(a))>>6%uintptr(len(cleanupParts))]
}

// pushCleanup returns the number of the function.
func pushCleanup(a *Arena, f func()) int {
	part := cleanupPart(a)
	part.Lock()
	defer part.Unlock()
	c := part.of[a]
	if c == nil {
		if part.of == nil {
			part.of = map[*Arena]*cleanups{}
		}
		c = new(cleanups)
		part.of[a] = c
	}
	c.functions = append(c.functions, f)
	cleanupCount.Add(1)
	return len(c.functions) - 1
}

// popCleanup removes the newest cleanup with this number modulo 8, and newer ones. If it is going to run, running is 1, and
// endCleanup follows, else 0.
func popCleanup(a *Arena, number, running int) (f func()) {
	part := cleanupPart(a)
	part.Lock()
	defer part.Unlock()
	c := part.of[a]
	end := len(c.functions)
	last := end - 1 - (end-1-number)&7
	f = c.functions[last]
	clear(c.functions[last:])
	c.functions = c.functions[:last]
	c.running += running
	part.dropEmpty(a, c)
	cleanupCount.Add(int64(last - end))
	return f
}

func endCleanup(a *Arena) {
	part := cleanupPart(a)
	part.Lock()
	defer part.Unlock()
	c := part.of[a]
	c.running--
	part.dropEmpty(a, c)
}

func (t *cleanupTable) dropEmpty(a *Arena, c *cleanups) {
	if len(c.functions) == 0 && c.running == 0 {
		delete(t.of, a)
	}
}

func hasCleanups(a *Arena) bool {
	if cleanupCount.Load() == 0 {
		return false
	}
	part := cleanupPart(a)
	part.Lock()
	defer part.Unlock()
	c := part.of[a]
	return c != nil && len(c.functions) != 0
}

// runsCleanup reports whether a cleanup of the arena is running.
func runsCleanup(a *Arena) bool {
	part := cleanupPart(a)
	part.Lock()
	defer part.Unlock()
	c := part.of[a]
	return c != nil && c.running != 0
}

// runCleanup runs the newest cleanup of the arena with this number modulo 8.
func runCleanup(a *Arena, number int) {
	f := popCleanup(a, number, 1)
	defer endCleanup(a)
	f()
}

// An emptying is a call to C that frees memory and therefore runs cleanups.
type emptying struct {
	call  func(e emptying, operation uintptr) int
	a     *Arena
	place *placeText
	m     Mark // of a rewind
	made  *creation
}

// run makes the call and then calls `then`, also if a cleanup panics or calls runtime.Goexit.
func (e emptying) run(then func(code int)) {
	e.place = callerPlace(e.a)
	if debug.any.Load() {
		defer beginFreeing(e.a)()
	}
	if !hasCleanups(e.a) {
		then(e.call(e, 0))
		return
	}
	e.runCleanups(newOperation(), false, then)
}

// runCleanups is run with cleanups. again: the arena is busy because one of them did not return.
func (e emptying) runCleanups(o *operation, again bool, then func(code int)) {
	interrupted := true
	defer func() {
		if interrupted {
			e.runCleanups(o, true, then)
		}
	}()
	for {
		number := cNextCleanup(e, again, uintptr(o.handle))
		if number < 0 {
			break
		}
		again = true
		runCleanup(e.a, number)
	}
	interrupted = false
	code := e.call(e, uintptr(o.handle))
	how := o.end()
	then(code)
	if how.panicked {
		panic(how.value)
	}
	if how.exited {
		runtime.Goexit()
	}
}

// ---- cleanups that C calls ----

// An operation is an emptying that runs cleanups. It records how the last one ended that C called and that did not return.
type operation struct {
	handle cgo.Handle
	ending
}

type ending struct {
	panicked, exited bool
	value            any
}

// The operations that are not in use.
var idleOperations struct {
	sync.Mutex
	all []*operation
}

func newOperation() *operation {
	idleOperations.Lock()
	defer idleOperations.Unlock()
	if last := len(idleOperations.all) - 1; last >= 0 {
		o := idleOperations.all[last]
		idleOperations.all = idleOperations.all[:last]
		return o
	}
	o := &operation{}
	o.handle = cgo.NewHandle(o)
	return o
}

func (o *operation) end() ending {
	how := o.ending
	o.ending = ending{}
	idleOperations.Lock()
	defer idleOperations.Unlock()
	idleOperations.all = append(idleOperations.all, o)
	return how
}

// run calls f on its own goroutine and records how it ends.
func (o *operation) run(f func()) {
	done := make(chan struct{})
	go func() {
		returned := false
		defer func() {
			if !returned {
				value := recover()
				o.ending = ending{value != nil, value == nil, value}
			}
			close(done)
		}()
		f()
		returned = true
	}()
	<-done
}

// C calls this to run a cleanup of an arena. from is 0 if C itself frees the memory, else the handle of an operation.
//
//export toftgoCleanup
func toftgoCleanup(arena unsafe.Pointer, number C.int, from C.uintptr_t) {
	a := (*Arena)(arena)
	if from == 0 {
		runCleanup(a, int(number))
		return
	}
	cgo.Handle(from).Value().(*operation).run(func() { runCleanup(a, int(number)) })
}
