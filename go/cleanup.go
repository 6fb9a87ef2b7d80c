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

// C is called on the goroutine and thread that empties the arena, and C's own cleanups run there. A cleanup of Go's runs on
// a goroutine of its own while that one waits, so that a panic or runtime.Goexit does not unwind C in the middle of its
// work; the caller's goroutine continues it when the work is done.

type cleanup struct {
	a *Arena
	f func()
}

// How many cleanups are registered, and for which arenas.
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

// An emptying is a call to C that gives back memory, and so runs cleanups.
type emptying struct {
	call  func(e emptying, operation uintptr) int
	a     *Arena
	place *placeText
	m     Mark
	limit uintptr
	made  *creation
}

// An operation is an emptying that runs cleanups, and how the last of these ended that did not return.
type operation struct {
	panicked, exited bool
	value            any
}

// run empties the arena and has `then` do what is left, also when a cleanup panics or calls runtime.Goexit.
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

// run calls f, and notes how it ends.
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

// C calls this when a cleanup's point is given back. operation: 0 where C began that by itself.
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
