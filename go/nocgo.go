//go:build !cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// Arenas keep their memory in C, out of the garbage collector's sight. Without cgo there are pools and tables only: the names
// of arenas are there for the compiler to say what is missing, "cannot call non-function toft.Get (variable of struct type
// toft.arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler)".
type arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler struct{}

// Types of arenas, which have no methods here.
type (
	Arena        = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	AllocError   = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	Frame        = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	Lease        = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	LeaseLimits  = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	LeaseStats   = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	Mark         = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	Options      = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	PhaseStats   = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	Plain[T any] struct {
		arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	}
	Report    = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	Site      = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	SiteStats = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	Stats     = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
	TagStats  = arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
)

// Functions and errors of arenas.
var (
	CheckReturned, Copy, CopySlice, Get, Leases, MakeSlice, MakeSliceAligned, New, NewAligned, NewArena, OnForgotten,
	Outstanding, Own, PlainOf, SetDebug, SetLeaseLimits, TrimLeases, TryCopy, TryCopySlice, TryMakeSlice,
	TryMakeSliceAligned, TryNew, TryNewAligned, With, Wrap,
	ErrMark, ErrBusy, ErrCorrupt, ErrNoArena, ErrVersion, ErrNUL, NoBudget arenas_need_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
)
