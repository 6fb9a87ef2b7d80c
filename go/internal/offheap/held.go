// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// The committed ranges of pools, whose memory Held returns.
var committed struct {
	sync.Mutex
	ranges map[unsafe.Pointer]uintptr // start -> size
	bytes  atomic.Int64
	grown  atomic.Pointer[func()]
}

// SetCommitted records that the first size bytes of the range at p are committed. A size of 0 ends the record, and must
// precede Release.
func SetCommitted(p unsafe.Pointer, size uintptr) {
	committed.Lock()
	before := committed.ranges[p]
	if committed.ranges == nil {
		committed.ranges = map[unsafe.Pointer]uintptr{}
	}
	if size != 0 {
		committed.ranges[p] = size
	} else {
		delete(committed.ranges, p)
	}
	committed.Unlock()
	committed.bytes.Add(int64(size) - int64(before))
	if grown := committed.grown.Load(); grown != nil && size > before {
		(*grown)()
	}
}

// Committed returns the sum of the sizes of the recorded ranges.
func Committed() uint64 { return uint64(committed.bytes.Load()) }

// OnGrowth makes each SetCommitted of a larger size call f, on its goroutine; nil ends that.
func OnGrowth(f func()) {
	if f == nil {
		committed.grown.Store(nil)
		return
	}
	committed.grown.Store(&f)
}

// Held returns the resident bytes of the recorded ranges.
func Held() (bytes uint64) {
	committed.Lock()
	defer committed.Unlock()
	for p, size := range committed.ranges {
		bytes += uint64(Resident(p, size))
	}
	return bytes
}
