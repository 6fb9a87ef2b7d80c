//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"unsafe"

	"toft.dev/toft/internal/link"
)

// The functions of the packages meter and leasetest.
func init() {
	link.SetMetered = func(a unsafe.Pointer, on bool) error { return (*Arena)(a).setMetered(on) }
	link.SetSampling = func(a unsafe.Pointer, bytes uint64) error { return (*Arena)(a).setSampling(bytes) }
	link.SetTagBudget = func(a unsafe.Pointer, path string, bytes uint64) error { return (*Arena)(a).setTagBudget(path, bytes) }
	link.Tag = func(a unsafe.Pointer, name string) func() { return (*Arena)(a).tag(name) }
	link.Snapshot = func(a unsafe.Pointer) []byte { return (*Arena)(a).snapshot() }
	link.WriteProfile = writeProfile
	link.SetDebug, link.OnForgotten, link.Leases, link.CheckReturned = setDebug, onForgotten, openLeases, checkAtEnd
}
