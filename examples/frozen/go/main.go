// SPDX-License-Identifier: MIT OR Apache-2.0

// Read answers the same queries as read.c, in Go and without cgo: read FILE NAME...
package main

import (
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"

	"toft.dev/toft/frozen"
)

// The structs of packages.h.

type text struct {
	at   *byte
	size uint64
}

func (t text) String() string { return unsafe.String(t.at, t.size) }

type pkg struct {
	name, version, description text
	depends                    *text
	dependsCount               uint64
	kib                        uint64
}

type packages struct {
	list      *pkg
	count     uint64
	index     *uint64
	indexSize uint64
}

func (all *packages) find(name string) *pkg {
	hash := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 0x100000001b3
	}
	list, index := unsafe.Slice(all.list, all.count), unsafe.Slice(all.index, all.indexSize)
	for ; ; hash++ {
		number := index[hash%all.indexSize]
		if number == 0 {
			return nil
		}
		if p := &list[number-1]; p.name.String() == name {
			return p
		}
	}
}

func (all *packages) print(name string) {
	if p := all.find(name); p != nil {
		fmt.Println(p.name, p.version, p.kib, p.dependsCount, p.description)
	} else {
		fmt.Println(name, "-")
	}
}

func (p *pkg) dependsOn(name string) bool {
	for _, d := range unsafe.Slice(p.depends, p.dependsCount) {
		if d.String() == name {
			return true
		}
	}
	return false
}

func (all *packages) neededBy(name string) (count int) {
	list := unsafe.Slice(all.list, all.count)
	for i := range list {
		if list[i].dependsOn(name) {
			count++
		}
	}
	return count
}

func run(path string, names []string) error {
	start := time.Now()
	f, err := frozen.Open(path, frozen.Options{Layout: "packages 1"})
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := frozen.Root[packages](f)
	if err != nil {
		return err
	}
	opened := time.Since(start)
	all.print(names[0])
	fmt.Println("times", opened.Nanoseconds(), time.Since(start).Nanoseconds())
	for _, name := range names {
		all.print(name)
		fmt.Println(name, "is needed by", all.neededBy(name))
	}
	fmt.Println("done")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func main() {
	if len(os.Args) < 3 {
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
