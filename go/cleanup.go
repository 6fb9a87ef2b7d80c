//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// #include <stdint.h>
import "C"

import "runtime/cgo"

// C calls this when a cleanup's point is given back.
//
//export toftgoCleanup
func toftgoCleanup(handle C.uintptr_t) {
	h := cgo.Handle(handle)
	f := h.Value().(func())
	h.Delete()
	f()
}
