// SPDX-License-Identifier: MIT OR Apache-2.0

// Package cgoparam has the interface of github.com/CannibalVox/cgoparam and allocates in leased arenas of
// toft.dev/toft. A replace directive in go.mod puts it in the place of that package, and its users are built unchanged:
//
//	replace github.com/CannibalVox/cgoparam => toft.dev/toft/cgoparam v0.1.0
//
// It differs in errors: a negative size, an exhausted memory, a second ReturnAlloc and the use of a returned allocator
// panic. TOFT_DEBUG=1 in the environment makes the last two exact, as the package toft.dev/toft/leasetest describes.
package cgoparam

import (
	"unsafe"

	"toft.dev/toft"
)

// An Allocator allocates C memory that [ReturnAlloc] frees as a whole. One goroutine at a time may use it.
type Allocator struct{ lease toft.Lease }

// arena returns &a.lease.Arena without a check of a.
func (a *Allocator) arena() *toft.Arena { return (*toft.Arena)(unsafe.Pointer(a)) }

// GetAlloc returns an empty allocator. The caller must pass it to [ReturnAlloc]. It may be called from any goroutine.
func GetAlloc() *Allocator { return (*Allocator)(unsafe.Pointer(toft.Get())) }

// ReturnAlloc frees everything that was allocated and makes the allocator available to GetAlloc. Neither Go nor C may use
// the allocator or its memory afterwards.
func ReturnAlloc(alloc *Allocator) { alloc.lease.Return() }

// Malloc allocates size zeroed bytes at a multiple of 8, so that Go may store pointers in them: the garbage collector reads
// what such a store overwrites.
func (a *Allocator) Malloc(size int) unsafe.Pointer { return a.arena().Alloc(size, 8) }

// CString allocates a copy of str that ends with a NUL. str is copied as it is, NULs included.
func (a *Allocator) CString(str string) unsafe.Pointer {
	p := a.arena().AllocUninit(len(str)+1, 8)
	b := unsafe.Slice((*byte)(p), len(str)+1)
	copy(b, str)
	b[len(str)] = 0
	return p
}

// CBytes allocates a copy of b. If b is empty, the result must not be read.
func (a *Allocator) CBytes(b []byte) unsafe.Pointer { return a.arena().CBytes(b) }
