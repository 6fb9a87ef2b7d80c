// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen_test

import (
	"encoding/binary"
	"math/bits"
	"os"
	"unsafe"
)

// An image is a frozen file that a test writes by hand, from the specification alone: bytes from the start of the file, and
// the offsets of the words that are pointers.
type image struct {
	bytes      []byte
	pointers   []int
	base       uint64
	root       int
	layout     string
	layoutHash uint64
}

const (
	pointerSize = int(unsafe.Sizeof(uintptr(0)))
	objects     = 4096
	testBase    = uint64(1)<<30 | uint64(pointerSize/8)<<45 | 5<<20
)

var native = binary.NativeEndian

func newImage() *image { return &image{bytes: make([]byte, objects), base: testBase, root: objects} }

// add appends an object, aligned to 8, and returns its offset.
func (i *image) add(object []byte) int {
	at := len(i.bytes)
	i.bytes = append(i.bytes, object...)
	for len(i.bytes)%8 != 0 {
		i.bytes = append(i.bytes, 0)
	}
	return at
}

func (i *image) putWord(at int, word uint64) {
	if pointerSize == 8 {
		native.PutUint64(i.bytes[at:], word)
	} else {
		native.PutUint32(i.bytes[at:], uint32(word))
	}
}

// point makes the word at an offset a pointer to another offset.
func (i *image) point(at, to int) {
	i.putWord(at, i.base+uint64(to))
	i.pointers = append(i.pointers, at)
}

func sum(s uint64, b []byte) uint64 {
	for ; len(b) != 0; b = b[8:] {
		s = bits.RotateLeft64(s^native.Uint64(b), 29) * 0x9e3779b97f4a7c15
	}
	return s
}

// seal computes the header's checksum anew.
func seal(file []byte) []byte {
	native.PutUint64(file[96:], sum(0, file[:96]))
	return file
}

func (i *image) file() []byte {
	size := len(i.bytes)
	file := append([]byte{}, i.bytes...)
	file = append(file, make([]byte, (size/pointerSize+63)/64*8)...)
	for _, at := range i.pointers {
		set := file[size+at/pointerSize/64*8:]
		native.PutUint64(set, native.Uint64(set)|1<<(at/pointerSize%64))
	}
	copy(file, "\x89TOFT\r\n\x1a")
	native.PutUint32(file[8:], 0x01020304)
	native.PutUint16(file[12:], 1)
	native.PutUint16(file[14:], uint16(pointerSize))
	numbers := []uint64{i.base, uint64(size), uint64(i.root), uint64(len(i.pointers)), i.layoutHash}
	for n, number := range numbers {
		native.PutUint64(file[16+8*n:], number)
	}
	copy(file[56:88], i.layout)
	native.PutUint64(file[88:], max(1, sum(1, file[104:])))
	return seal(file)
}

// The structs of the content, as a C program declares them.
type word struct {
	next *word
	text *byte
	size uintptr
	code uint64
}

func (w *word) string() string { return unsafe.String(w.text, w.size) }

// words returns an image with a list of these texts, whose root is the first.
func words(texts ...string) *image {
	i := newImage()
	i.layout, i.layoutHash = "words 1", 77
	last := -1
	for n, text := range texts {
		at := i.add(make([]byte, unsafe.Sizeof(word{})))
		if last >= 0 {
			i.point(last, at)
		}
		last = at
		i.point(at+pointerSize, i.add([]byte(text)))
		i.putWord(at+2*pointerSize, uint64(len(text)))
		native.PutUint64(i.bytes[at+int(unsafe.Offsetof(word{}.code)):], uint64(n)<<40)
	}
	return i
}

// writeWords writes such a file and returns its path in the folder.
func writeWords(folder string, texts ...string) string {
	path := folder + "/words.frozen"
	if err := os.WriteFile(path, words(texts...).file(), 0o666); err != nil {
		panic(err)
	}
	return path
}
