//go:build cgo && !race

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"testing"

	"toft.dev/toft/internal/testutil"
)

// The functions that must be inlined into their callers, and their costs. The budget of the inliner is 80; a function that
// exceeds it makes an allocation take twice as long.
func TestHotFunctionsAreInlined(t *testing.T) {
	testutil.WantInlined(t, map[string]int{
		`uninit[go.shape.[10]uint8].New`: 80,
		`(*Arena).Mark`:                  10,
		`(*Arena).Rewind`:                80,
		`(*slot).release`:                80,
		`slotAt`:                         80,
		`zero16`:                         80,
		`zero64`:                         80,
		`zero256`:                        80,
		`passedAt`:                       80,
		`New[go.shape.int64,go.shape.struct { leased; Arena }]`:       80,
		`MakeSlice[go.shape.int64,go.shape.struct { leased; Arena }]`: 80,
	})
}

var (
	_ = UninitOf[[10]byte]().New
	_ = New[int64, Lease]
	_ = MakeSlice[int64, Lease]
)
