//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

// Misuse commits one misuse on purpose: misuse ROW, a row of the tables in docs/checked.md. scripts/check-misuse runs it and
// compares the findings with the table.
package main

import (
	"fmt"
	"os"
	"unsafe"

	"toft.dev/toft"
	"toft.dev/toft/internal/ctest"
	"toft.dev/toft/leasetest"
)

type cell [16]byte

func write(p *cell, at int) { *(*byte)(unsafe.Add(unsafe.Pointer(p), at)) = 1 }

// Two threads are certain to use the arena at once: one is in a reset by C, which runs the cleanup.
func allocateDuringReset(a *toft.Arena) {
	a.Cleanup(func() {
		done := make(chan bool)
		go func() {
			_, err := toft.TryNew[cell](a)
			done <- err == nil
		}()
		<-done
	})
	ctest.Reset(a.Pointer())
}

func rewindToStaleMark(a *toft.Arena) {
	outer := a.Mark()
	toft.New[cell](a)
	inner := a.Mark()
	a.Rewind(outer)
	toft.New[cell](a)
	a.Rewind(inner)
}

func main() {
	a, err := toft.NewArena(toft.Options{})
	if err != nil {
		panic(err)
	}
	end := a.Release
	switch row := os.Args[1]; row {
	case "overrun":
		write(toft.New[cell](a), 16)
	case "underrun":
		write(toft.New[cell](a), -1)
	case "write after rewind":
		m := a.Mark()
		p := toft.New[cell](a)
		a.Rewind(m)
		write(p, 3)
	case "write after reset":
		p := toft.New[cell](a)
		a.Reset()
		write(p, 3)
	case "write after release":
		p := toft.New[cell](a)
		a.Release()
		write(p, 3)
		end = leasetest.CheckReturned
	case "write after return":
		l := toft.Get()
		p := toft.New[cell](l)
		l.Return()
		write(p, 3)
		leasetest.CheckReturned()
	case "read after reset":
		p := toft.New[cell](a)
		p[3] = 1
		a.Reset()
		if p[3] == 1 {
			fmt.Println("it was still there")
		}
	case "read before write":
		p := toft.UninitOf[cell]().New(a)
		if p[3] == 1 {
			fmt.Println("it happened to be 1")
		}
	case "call after release":
		a.Release()
		toft.New[cell](a)
	case "call after return":
		l := toft.Get()
		l.Return()
		toft.New[cell](l)
	case "double release":
		a.Release()
	case "double return":
		l := toft.Get()
		l.Return()
		l.Return()
	case "stale mark":
		rewindToStaleMark(a)
	case "two threads at once":
		allocateDuringReset(a)
	default:
		fmt.Fprintln(os.Stderr, "misuse: what is to be done?")
		os.Exit(2)
	}
	end()
}
