//go:build cgo && !race

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import "testing"

// What must be inlined into its callers, and at what cost: the inliner's budget is 80. One over, and an allocation takes
// twice as long.
func TestHotFunctionsAreInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package")
	}
	want := map[string]int{
		`plain[go.shape.[10]uint8].New`: 80,
		`(*Arena).Mark`:                 10,
		`(*Arena).Rewind`:               80,
		`(*lease).give`:                 80,
		`leaseAt`:                       80,
		`passedAt`:                      80,
		`New[go.shape.int64]`:           80,
		`MakeSlice[go.shape.int64]`:     80,
	}
	costs := inlineCosts(t)
	for name, most := range want {
		switch cost, ok := costs[name]; {
		case !ok:
			t.Errorf("%s cannot be inlined", name)
		case cost > most:
			t.Errorf("%s costs %d, more than %d", name, cost, most)
		}
	}
}

var (
	_ = PlainOf[[10]byte]().New
	_ = New[int64]
	_ = MakeSlice[int64]
)
