//go:build !race

// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"testing"

	"toft.dev/toft/internal/testutil"
)

// The functions that must be inlined into their callers, and their costs; the budget of the inliner is 80.
func TestPoolFunctionsAreInlined(t *testing.T) {
	testutil.WantInlined(t, map[string]int{
		`(*Pool[go.shape.uint64]).At`:      60,
		`(*Pool[go.shape.uint64]).Free`:    80,
		`(*Pool[go.shape.uint64]).All`:     80,
		`(*slots).take`:                    80,
		`(*slots).release`:                 75,
		`shiftIn`:                          30,
		`(*Column[go.shape.uint64]).At`:    80,
		`(*Column[go.shape.uint64]).Slice`: 80,
		`(*Table).Live`:                    80,
		`(*Table).Index`:                   80,
		`(*Table).RowAt`:                   80,
		`(*Table).Rows`:                    80,
	})
}

var (
	_ = (*Pool[uint64]).At
	_ = (*Column[uint64]).At
)
