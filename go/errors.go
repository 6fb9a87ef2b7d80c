//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of arenas.
var (
	// ErrNoMemory means that there is no memory, no address space, or no budget. [AllocError] wraps it.
	ErrNoMemory = errors.New("toft: out of memory or over budget")
	// ErrMark means that a mark is of another arena, or from before a reset.
	ErrMark = errors.New("toft: mark of another arena, or from before a reset")
	// ErrBusy means that the arena refuses the call while C has claimed a range of it or a cleanup runs.
	ErrBusy = errors.New("toft: a range of the arena is claimed, or a cleanup is running")
	// ErrCorrupt means that a checked arena has found bytes that were written outside an allocation.
	ErrCorrupt = errors.New("toft: bytes were written outside an allocation")
	// ErrGoPointer means that a value in a debugged arena has a pointer to the Go heap; see leasetest.SetDebug.
	ErrGoPointer = errors.New("toft: a pointer to the Go heap is in an arena")
	// ErrNoArena means that a pointer does not refer to an arena.
	ErrNoArena = errors.New("toft: not the head of an arena")
	// ErrVersion means that the provider of an arena follows another version of the ABI.
	ErrVersion = errors.New("toft: the arena's provider follows another version of the ABI")
	// ErrNUL means that a string for C contains a NUL byte.
	ErrNUL = errors.New("toft: string contains a NUL byte")

	// ErrArgument means that a size, a length, an alignment or an option is out of range. [AllocError] wraps it.
	ErrArgument = errors.New("toft: bad argument")
)

// errorOf returns the error for a code of the ABI.
func errorOf(code int) error {
	switch code {
	case 0:
		return nil
	case codeNoMemory:
		return ErrNoMemory
	case codeMark:
		return ErrMark
	case codeBusy:
		return ErrBusy
	case codeCorrupt:
		return ErrCorrupt
	case codeNoSys:
		return fmt.Errorf("toft: the arena's provider does not offer this: %w", errors.ErrUnsupported)
	}
	return ErrArgument
}

// must panics if a call failed that fails on misuse only.
func must(what string, code int) {
	if code != 0 {
		panic(wrap(what, errorOf(code)))
	}
}

// wrap returns err with the call that failed: "toft: Reset: bytes were written outside an allocation".
func wrap(what string, err error) error { return &wrapped{what, err} }

type wrapped struct {
	what string
	err  error
}

func (w *wrapped) Error() string {
	return "toft: " + w.what + ": " + strings.TrimPrefix(w.err.Error(), "toft: ")
}

func (w *wrapped) Unwrap() error { return w.err }
