// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"maps"
	"slices"
	"testing"
)

// The streams of TestPoolAgreesWithAMap, chosen by the fuzzer.
func FuzzPool(f *testing.F) {
	names := slices.Sorted(maps.Keys(poolOptions))
	for i := range names {
		f.Add(byte(i), randomStream(uint64(i), 300))
	}
	f.Fuzz(func(t *testing.T, kind byte, stream []byte) {
		o := poolOptions[names[int(kind)%len(names)]]
		switch stream = stream[:min(len(stream), 1000)]; kind / 64 {
		case 0:
			runPool[pair](t, o, stream)
		case 1:
			runPool[three](t, o, stream)
		case 2:
			runPool[struct{}](t, o, stream)
		default:
			if o.MaxSlots > 1<<24 {
				o.MaxSlots = 1 << 24
			}
			runPool[page](t, o, stream)
		}
	})
}

// The streams of TestTableAgreesWithAMap.
func FuzzTable(f *testing.F) {
	names := slices.Sorted(maps.Keys(tableOptions))
	for i := range names {
		f.Add(byte(i), true, randomStream(uint64(i), 300))
		f.Add(byte(i), false, randomStream(uint64(i), 300))
	}
	f.Fuzz(func(t *testing.T, kind byte, packed bool, stream []byte) {
		o := tableOptions[names[int(kind)%len(names)]]
		o.Packed = packed
		runTable(t, o, stream[:min(len(stream), 1000)])
	})
}
