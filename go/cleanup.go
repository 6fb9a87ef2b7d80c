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
)

// C is called on the goroutine and thread that frees the arena's memory, and C's own cleanups run there. A cleanup of Go
// runs on its own goroutine while that one waits, so that a panic or runtime.Goexit does not unwind C in the middle of its
// work. The caller's goroutine repeats the panic or the exit when the work is done.

type cleanup struct {
	a *Arena
	f func()
}

// The number of registered cleanups, of all arenas and of each.
var (
	cleanupCount atomic.Int64
	cleanupsOf   = map[*Arena]int{}
	cleanupLock  sync.Mutex
)

func countCleanup(a *Arena, n int) {
	cleanupLock.Lock()
	defer cleanupLock.Unlock()
	cleanupCount.Add(int64(n))
	if cleanupsOf[a] += n; cleanupsOf[a] == 0 {
		delete(cleanupsOf, a)
	}
}

func hasCleanups(a *Arena) bool {
	if cleanupCount.Load() == 0 {
		return false
	}
	cleanupLock.Lock()
	defer cleanupLock.Unlock()
	return cleanupsOf[a] != 0
}

// An emptying is a call to C that frees memory and therefore runs cleanups.
type emptying struct {
	call  func(e emptying, operation uintptr) int
	a     *Arena
	place *placeText
	m     Mark
	made  *creation
}

// An operation is an emptying that runs cleanups. It records how the last cleanup ended that did not return.
type operation struct {
	panicked, exited bool
	value            any
}

// run makes the call and then calls `then`, also if a cleanup panics or calls runtime.Goexit.
func (e emptying) run(then func(code int)) {
	e.place = callerPlace(e.a)
	if !hasCleanups(e.a) {
		then(e.call(e, 0))
		return
	}
	e.runCleanups(then)
}

func (e emptying) runCleanups(then func(code int)) {
	o := &operation{}
	h := cgo.NewHandle(o)
	code := e.call(e, uintptr(h))
	h.Delete()
	then(code)
	if o.panicked {
		panic(o.value)
	}
	if o.exited {
		runtime.Goexit()
	}
}

// run calls f and records how it ends.
func (o *operation) run(f func()) {
	done := make(chan struct{})
	go func() {
		returned := false
		defer func() {
			if !returned {
				o.value = recover()
				o.panicked, o.exited = o.value != nil, o.value == nil
			}
			close(done)
		}()
		f()
		returned = true
	}()
	<-done
}

// C calls this to run a cleanup. from is 0 if C itself freed the memory.
//
//export toftgoCleanup
func toftgoCleanup(handle, from C.uintptr_t) {
	h := cgo.Handle(handle)
	c := h.Value().(cleanup)
	h.Delete()
	countCleanup(c.a, -1)
	if from == 0 {
		c.f()
		return
	}
	cgo.Handle(from).Value().(*operation).run(c.f)
}
