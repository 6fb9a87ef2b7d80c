//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

// Package link gives the packages meter and leasetest functions of package toft that are not in its interface. Package toft
// sets them when it is initialized. An arena is passed as a pointer, because this package is below toft.
package link

import (
	"fmt"
	"io"
	"runtime"
	"unsafe"
)

// The functions of package meter.
var (
	SetMetered   func(a unsafe.Pointer, on bool) error
	SetSampling  func(a unsafe.Pointer, bytes uint64) error
	SetTagBudget func(a unsafe.Pointer, path string, bytes uint64) error
	Tag          func(a unsafe.Pointer, name string) (end func())
	Snapshot     func(a unsafe.Pointer) []byte
	WriteProfile func(w io.Writer) error
)

// The functions of package leasetest.
var (
	SetDebug      func(on bool) (was bool)
	OnForgotten   func(f func(LeaseInfo))
	Leases        func() []LeaseInfo
	CheckReturned func()
)

// A LeaseInfo is a leasetest.LeaseInfo whose lease is a plain pointer.
type LeaseInfo struct {
	Lease     unsafe.Pointer
	Goroutine uint64
	Ended     bool
	Got       []runtime.Frame
	Returned  []runtime.Frame
}

// String returns the goroutine and the places of Get and Return.
func (l LeaseInfo) String() string {
	s := fmt.Sprintf("toft: lease of goroutine %d\n\tgot at %s", l.Goroutine, Place(l.Got))
	if l.Ended {
		s = fmt.Sprintf("toft: lease of goroutine %d, which has ended\n\tgot at %s", l.Goroutine, Place(l.Got))
	}
	if l.Returned != nil {
		s += "\n\treturned at " + Place(l.Returned)
	}
	return s
}

// Place returns the place of the first call.
func Place(frames []runtime.Frame) string {
	if len(frames) == 0 {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d in %s", frames[0].File, frames[0].Line, frames[0].Function)
}
