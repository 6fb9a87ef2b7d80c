// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

import (
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

const RaceBuild = raceBuild

// RefuseMemory makes the system refuse a reservation, or the memory for it, until the function that it returns is called.
func RefuseMemory(address bool) (end func()) {
	if address {
		reserve = func(uintptr) (p unsafe.Pointer, m offheap.Mapping) { return nil, m }
	} else {
		commit = func(unsafe.Pointer, uintptr) bool { return false }
	}
	return func() { reserve, commit = offheap.Reserve, offheap.Commit }
}
