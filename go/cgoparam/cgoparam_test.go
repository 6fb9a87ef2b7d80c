// SPDX-License-Identifier: MIT OR Apache-2.0

package cgoparam

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// A program for github.com/CannibalVox/cgoparam, with each name of its interface and the exact types.
const client = `package main

/*
#include <string.h>
typedef struct { const char *name; size_t count; const int *values; } info;
static int sum(const info *i) {
	int s = (int)strlen(i->name);
	for (size_t k = 0; k < i->count; k++) s += i->values[k];
	return s;
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/CannibalVox/cgoparam"
)

var (
	_ func() *cgoparam.Allocator                           = cgoparam.GetAlloc
	_ func(*cgoparam.Allocator)                            = cgoparam.ReturnAlloc
	_ func(*cgoparam.Allocator, int) unsafe.Pointer        = (*cgoparam.Allocator).Malloc
	_ func(*cgoparam.Allocator, string) unsafe.Pointer     = (*cgoparam.Allocator).CString
	_ func(*cgoparam.Allocator, []byte) unsafe.Pointer     = (*cgoparam.Allocator).CBytes
)

func build(allocator *cgoparam.Allocator, name string, values []int32) *C.info {
	i := (*C.info)(allocator.Malloc(C.sizeof_info))
	i.name = (*C.char)(allocator.CString(name))
	i.count = C.size_t(len(values))
	i.values = (*C.int)(allocator.CBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))))
	return i
}

func main() {
	allocator := cgoparam.GetAlloc()
	defer cgoparam.ReturnAlloc(allocator)
	fmt.Println(C.sum(build(allocator, "four", []int32{1, 2, 35})))
}
`

// A replace directive puts this module in the place of cgoparam; nothing is fetched.
func TestReplaceInAClient(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod := "module client\n\ngo 1.24\n\nrequire github.com/CannibalVox/cgoparam v1.1.0\n\nrequire toft.dev/toft v0.1.0 // indirect\n\n" +
		"replace github.com/CannibalVox/cgoparam => " + here + "\n\nreplace toft.dev/toft => " + filepath.Dir(here) + "\n"
	for name, text := range map[string]string{"go.mod": mod, "main.go": client} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command("go", "run", ".")
	run.Dir, run.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := run.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "42" {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestAllocations(t *testing.T) {
	a := GetAlloc()
	defer ReturnAlloc(a)
	if s := unsafe.String((*byte)(a.CString("WOW\x00STRING")), 11); s != "WOW\x00STRING\x00" {
		t.Errorf("%q", s)
	}
	if s := unsafe.String((*byte)(a.CString("")), 1); s != "\x00" {
		t.Errorf("%q", s)
	}
	if b := unsafe.Slice((*byte)(a.CBytes([]byte("bytes"))), 5); !bytes.Equal(b, []byte("bytes")) {
		t.Errorf("%q", b)
	}
	if a.CBytes(nil) == nil || a.Malloc(0) == nil {
		t.Error("nil for no bytes")
	}
}

// Users store pointers in what Malloc returns: the garbage collector reads the old contents.
func TestContentsAreZero(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	for size := range 300 {
		used := GetAlloc()
		copy(unsafe.Slice((*byte)(used.Malloc(7000)), 7000), bytes.Repeat([]byte{0xEE}, 7000))
		ReturnAlloc(used)
		a := GetAlloc()
		for _, n := range []int{size, size, 40 * size} {
			p := a.Malloc(n)
			if b := unsafe.Slice((*byte)(p), n); uintptr(p)%8 != 0 || !bytes.Equal(b, make([]byte, len(b))) {
				t.Fatalf("%d bytes at %p: %x", len(b), p, b)
			}
		}
		ReturnAlloc(a)
	}
}

func TestMisusePanics(t *testing.T) {
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		f()
	}
	a := GetAlloc()
	panics("negative size", func() { a.Malloc(-1) })
	ReturnAlloc(a)
	panics("second ReturnAlloc", func() { ReturnAlloc(a) })
	panics("use after ReturnAlloc", func() { a.Malloc(1) })
}
