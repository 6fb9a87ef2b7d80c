// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen_test

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"toft.dev/toft/frozen"
)

// A list of words, as libtoft would write it.
func exampleFile() (path string, remove func()) {
	folder, err := os.MkdirTemp("", "frozen")
	if err != nil {
		panic(err)
	}
	return writeWords(folder, "to", "be"), func() { os.RemoveAll(folder) }
}

func ExampleOpen() {
	path, remove := exampleFile()
	defer remove()
	f, err := frozen.Open(path, frozen.Options{Layout: "words 1"})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	first, err := frozen.Root[word](f)
	if err != nil {
		panic(err)
	}
	for w := first; w != nil; w = w.next {
		fmt.Println(unsafe.String(w.text, w.size))
	}
	// Output:
	// to
	// be
}

func ExampleOptions() {
	path, remove := exampleFile()
	defer remove()
	_, err := frozen.Open(path, frozen.Options{Layout: "words 2", Verify: true})
	fmt.Println(errors.Is(err, frozen.ErrLayout))
	// Output: true
}

func ExampleRoot() {
	path, remove := exampleFile()
	defer remove()
	f, err := frozen.Open(path, frozen.Options{})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_, err = frozen.Root[[1 << 20]word](f)
	fmt.Println(errors.Is(err, frozen.ErrLayout))
	// Output: true
}

func ExampleFile() {
	path, remove := exampleFile()
	defer remove()
	f, err := frozen.Open(path, frozen.Options{Elsewhere: true})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	first := (*word)(f.Root())
	fmt.Println(f.Moved(), f.Size() > 4096, unsafe.String(first.text, first.size))
	// Output: true true to
}

func ExampleFile_Close() {
	path, remove := exampleFile()
	defer remove()
	f, err := frozen.Open(path, frozen.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Close(), f.Root() == nil)
	// Output: <nil> true
}
