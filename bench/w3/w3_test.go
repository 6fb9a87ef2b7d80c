//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import "testing"

// Small: get; 1, 10, 100 and 1000 B; return. Multi: get; 10 x 1000 B; return. Zeroed: the blocks come zeroed,
// which is looked at. Defer: it is a deferred call that returns. Written: every byte, and looked at.

func BenchmarkSmall(b *testing.B)            { run(b, "Small", 1) }
func BenchmarkSmallDefer(b *testing.B)       { run(b, "SmallDefer", 1) }
func BenchmarkSmallZeroed(b *testing.B)      { run(b, "SmallZeroed", 1) }
func BenchmarkSmallZeroedDefer(b *testing.B) { run(b, "SmallZeroedDefer", 1) }
func BenchmarkSmallWritten(b *testing.B)     { run(b, "SmallWritten", 1) }
func BenchmarkMulti(b *testing.B)            { run(b, "Multi", 1) }
func BenchmarkMultiDefer(b *testing.B)       { run(b, "MultiDefer", 1) }
func BenchmarkMultiZeroed(b *testing.B)      { run(b, "MultiZeroed", 1) }
func BenchmarkMultiZeroedDefer(b *testing.B) { run(b, "MultiZeroedDefer", 1) }
func BenchmarkMultiWritten(b *testing.B)     { run(b, "MultiWritten", 1) }

// BenchmarkEight is the small batch on 8 goroutines, however many processors there are.
func BenchmarkEight(b *testing.B) { run(b, "Small", 8) }

// BenchmarkSteady: get; blocks of 40, 216 and 768 B, 5 to 20 KiB of them, as many as the call needs; return.
func BenchmarkSteady(b *testing.B) { run(b, "Steady", 1) }

// BenchmarkOwned is the small batch in an arena that its caller keeps: mark, 4 allocations, rewind.
func BenchmarkOwned(b *testing.B) { run(b, "Owned", 1) }

// BenchmarkHeld: several arenas are held at once; see held_test.go.
func BenchmarkHeld1(b *testing.B)     { run(b, heldName(1), 1) }
func BenchmarkHeld4(b *testing.B)     { run(b, heldName(4), 1) }
func BenchmarkHeld8(b *testing.B)     { run(b, heldName(8), 1) }
func BenchmarkHeld64(b *testing.B)    { run(b, heldName(64), 1) }
func BenchmarkHeld100(b *testing.B)   { run(b, heldName(100), 1) }
func BenchmarkHeld1000(b *testing.B)  { run(b, heldName(1000), 1) }
func BenchmarkHeld3000(b *testing.B)  { run(b, heldName(3000), 1) }
func BenchmarkHeld10000(b *testing.B) { run(b, heldName(10000), 1) }
func BenchmarkHeld30000(b *testing.B) { run(b, heldName(30000), 1) }

// BenchmarkDocument: a document is parsed, walked and freed; see document_test.go.
func BenchmarkDocument10(b *testing.B)    { run(b, documentName(10), 1) }
func BenchmarkDocument100(b *testing.B)   { run(b, documentName(100), 1) }
func BenchmarkDocument10000(b *testing.B) { run(b, documentName(10_000), 1) }

// BenchmarkCall: parameters of several parts are built, a C function reads them all, they are freed.
func BenchmarkCall(b *testing.B) { run(b, "Call", 1) }

// BenchmarkNothing is a cgo call that does nothing.
func BenchmarkNothing(b *testing.B) { run(b, "Nothing", 1) }

// Blocks of a steady call: per KiB these three.
const steadyA, steadyB, steadyC = 40, 216, 768

// steadyKiB is how many KiB the i-th call needs: 5 to 20, each as often as the others, large after small.
func steadyKiB(i int) int { return 5 + i*7%16 }
