//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

// What every contender of BenchmarkCall hands to C in its own memory: these names as a char**, and a chain of
// three links, each of its kind, with the number of the call as value.
var names = []string{"storage", "presentation", "timeline semaphores"}

const paramsKind = 1000

var kinds = [3]uint64{3, 5, 7}

// namesSum is what walk makes of the names and the kind, computed here and not by C.
var namesSum = func() (sum uint64) {
	for _, name := range names {
		for i := range len(name) {
			sum += uint64(i+1) * uint64(name[i])
		}
	}
	return sum + paramsKind
}()

// checked has its top bit set unless C read what the i-th call wrote.
func checked(p *params, i int) uintptr {
	if walk(p) != namesSum+uint64(i)*(kinds[0]+kinds[1]+kinds[2]) {
		return topBit
	}
	return 0
}
