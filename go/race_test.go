//go:build cgo && race

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"strings"
	"sync"
	"testing"
)

// Pairs of operations that two goroutines of a child process do at once, and whether the race detector must report them.
var together = map[string]struct {
	race bool
	do   func(a *Arena) [2]func()
}{
	"New":       {true, func(a *Arena) [2]func() { return both(func() { New[int](a) }) }},
	"Uninit":    {true, func(a *Arena) [2]func() { return both(func() { UninitOf[int]().New(a) }) }},
	"MakeSlice": {true, func(a *Arena) [2]func() { return both(func() { MakeSlice[int](a, 2) }) }},
	"Alloc":     {true, func(a *Arena) [2]func() { return both(func() { a.AllocUninit(8, 8) }) }},
	"CString":   {true, func(a *Arena) [2]func() { return both(func() { _, _ = a.CString("text") }) }},
	"Stats":     {true, func(a *Arena) [2]func() { return [2]func(){func() { New[int](a) }, func() { a.Stats() }} }},
	"Mark":      {true, func(a *Arena) [2]func() { return [2]func(){func() { New[int](a) }, func() { a.Mark() }} }},
	"Reset":     {true, func(a *Arena) [2]func() { return [2]func(){func() { New[int](a) }, a.Reset} }},
	"apart":     {false, func(a *Arena) [2]func() { return both(func() { b := Get(); New[int](b); b.Return() }) }},
	"under lock": {false, func(a *Arena) [2]func() {
		var m sync.Mutex
		return both(func() { m.Lock(); defer m.Unlock(); New[int](a) })
	}},
	"handed over": {false, func(a *Arena) [2]func() {
		c := make(chan *Arena, 1)
		return [2]func(){func() { New[int](a); c <- a }, func() { b := <-c; New[int](b); b.Reset() }}
	}},
	"returned elsewhere": {false, func(*Arena) [2]func() {
		c := make(chan *Lease, 1)
		return [2]func(){func() { b := Get(); New[int](b); c <- b }, func() { b := <-c; New[int](b); b.Return() }}
	}},
}

func both(f func()) [2]func() { return [2]func(){f, f} }

func TestRacesInOneArena(t *testing.T) {
	for name, c := range together {
		t.Run(name, func(t *testing.T) {
			if !isChild(t) {
				out, _ := rerun(t)
				if found := strings.Contains(out, "DATA RACE"); found != c.race {
					t.Errorf("a race was reported: %v\n%s", found, out)
				}
				return
			}
			var wg sync.WaitGroup
			for _, f := range c.do(newArena(t, Options{})) {
				start(&wg, func() {
					for range 100 {
						f()
						if name == "handed over" || name == "returned elsewhere" {
							break
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
