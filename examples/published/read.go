// Reads a published list in Go, without cgo: read PATH. The collector ignores pointers into the file.
// SPDX-License-Identifier: MIT OR Apache-2.0
package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const rootOffset, fixedNoReplace = 4096 + 64, 0x100000

type entry struct {
	older *entry
	name  *byte
	key   int64
}

type book struct {
	generation, root uint64
	count, sum       int64
	newest           *entry
}

// Maps the file, which stays, and returns the place of its root.
func open(path, layout string) (*unsafe.Pointer, error) {
	var header [64]byte
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, err = file.ReadAt(header[:], 0)
	address, size := binary.NativeEndian.Uint64(header[8:]), binary.NativeEndian.Uint64(header[16:])
	if info, wrong := file.Stat(); err != nil || wrong != nil || string(header[:8]) != "\x89TOFTP1\n" ||
		strings.TrimRight(string(header[32:]), "\x00") != layout || uint64(info.Size()) != size || size <= rootOffset {
		return nil, fmt.Errorf("%s: no whole file of this version and layout", path)
	}
	at, _, _ := syscall.Syscall6(syscall.SYS_MMAP, uintptr(address), uintptr(size), syscall.PROT_READ,
		syscall.MAP_SHARED|fixedNoReplace, file.Fd(), 0)
	if at != uintptr(address) {
		return nil, fmt.Errorf("%s: its %d bytes at %#x are taken here", path, size, address)
	}
	at += rootOffset
	return *(**unsafe.Pointer)(unsafe.Pointer(&at)), nil
}

func main() {
	root, err := open(os.Args[1], "book 1")
	if err != nil {
		log.Fatal(err)
	}
	b := (*book)(atomic.LoadPointer(root)) // it acquires
	var count, sum int64
	for e := b.newest; e != nil; e = e.older {
		for c := e.name; *c != 0; c = (*byte)(unsafe.Add(unsafe.Pointer(c), 1)) {
			sum += int64(*c)
		}
		count, sum = count+1, sum+e.key
	}
	if count != b.count || sum != b.sum {
		os.Exit(3)
	}
	fmt.Printf("generation %d, root %d, sum %d\n", b.generation, b.root, sum)
}
