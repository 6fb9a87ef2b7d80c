// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

import (
	"bytes"
	"math/bits"
	"unsafe"
)

// The format: section 15 of abi/SPEC.md. Its rules have the names F1 to F7.

const (
	headerSize     = 104
	startOfObjects = 4096
	leastAlignment = 65536
	order          = 0x01020304
	otherOrder     = 0x04030201
	version        = 1
	width          = unsafe.Sizeof(uintptr(0))
)

var magic = [8]byte{0x89, 'T', 'O', 'F', 'T', '\r', '\n', 0x1a}

// A header is that of a file in the byte order of this process.
type header struct {
	magic          [8]byte
	order          uint32
	version, width uint16
	base           uint64
	size           uint64 // bytes of header and content
	root           uint64 // offset
	pointers       uint64 // their number
	layoutHash     uint64
	layout         [32]byte
	checksum       uint64 // of all that follows the header; 0: not recorded
	headerChecksum uint64
}

func (h *header) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(h)), headerSize) }

func (h *header) layoutName() string {
	name, _, _ := bytes.Cut(h.layout[:], []byte{0})
	return string(name)
}

func (h *header) ownChecksum() uint64 {
	return checksum(0, unsafe.Slice((*uint64)(unsafe.Pointer(h)), headerSize/8-1))
}

// check compares the header of a file of this length with rules F1 and F4.
func (h *header) check(length uint64) error {
	if h.magic != magic {
		return ErrCorrupt
	}
	if h.order == otherOrder {
		return ErrSystem
	}
	if h.order != order || h.headerChecksum != h.ownChecksum() {
		return ErrCorrupt
	}
	if h.version != version || h.width != uint16(width) {
		return ErrSystem
	}
	const maxAddress, maxLength = uint64(^uintptr(0)), uint64(^uintptr(0) >> 1)
	switch {
	case length > maxLength, h.size < startOfObjects, h.size%8 != 0, h.size > length, length != h.size+bitsSize(h.size),
		h.base == 0, h.base%64 != 0, h.base > maxAddress-length,
		h.root < startOfObjects, h.root >= h.size, h.layout[len(h.layout)-1] != 0:
		return ErrCorrupt
	}
	return nil
}

// bitsSize returns the bytes of the bits behind size bytes of words.
func bitsSize(size uint64) uint64 { return (size/uint64(width) + 63) / 64 * 8 }

// alignment returns that of each address that a file of this length may have: a power of two above all offsets.
func alignment(length uintptr) uintptr {
	return max(leastAlignment, uintptr(1)<<bits.Len64(uint64(length)-1))
}

func checksum(sum uint64, words []uint64) uint64 {
	for _, w := range words {
		sum = bits.RotateLeft64(sum^w, 29) * 0x9e3779b97f4a7c15
	}
	return sum
}

// bodyChecksum returns the checksum of a whole file but for its header.
func bodyChecksum(file []uint64) uint64 { return max(1, checksum(1, file[headerSize/8:])) }

// eachPointer calls visit with the number of each word whose bit is set, until it returns false.
func eachPointer(content unsafe.Pointer, size uintptr, visit func(word uintptr) bool) {
	sets := unsafe.Slice((*uint64)(unsafe.Add(content, size)), bitsSize(uint64(size))/8)
	for i, set := range sets {
		for ; set != 0; set &= set - 1 {
			if !visit(uintptr(i)*64 + uintptr(bits.TrailingZeros64(set))) {
				return
			}
		}
	}
}

// scan counts the pointers. It reports false if one is not that of an object of the content, or of its end, or if a bit
// is set that belongs to no word of an object: rule F2.
func scan(content unsafe.Pointer, size, base uintptr) (count uint64, inside bool) {
	words, inside := unsafe.Slice((*uintptr)(content), size/width), true
	eachPointer(content, size, func(word uintptr) bool {
		count++
		inside = word >= startOfObjects/width && word < uintptr(len(words)) && words[word]-base <= size
		return inside
	})
	return count, inside
}

// move adds the distance to each pointer. Precondition: scan has found all inside.
func move(content unsafe.Pointer, size, distance uintptr) {
	words := unsafe.Slice((*uintptr)(content), size/width)
	eachPointer(content, size, func(word uintptr) bool {
		words[word] += distance
		return true
	})
}
