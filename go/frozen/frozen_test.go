// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/frozen"
	"toft.dev/toft/internal/testutil"
)

// tempFolder returns a folder that is removed after the test. Wine does not support the removal of testing.T.TempDir.
func tempFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "frozen")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			_ = os.Remove(filepath.Join(folder, entry.Name()))
		}
		if err := os.Remove(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

func write(t testing.TB, file []byte) string {
	t.Helper()
	path := tempFolder(t) + "/test.frozen"
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, o frozen.Options) *frozen.File {
	t.Helper()
	f, err := frozen.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func root(t testing.TB, f *frozen.File) *word {
	t.Helper()
	w, err := frozen.Root[word](f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func textsOf(w *word) (texts []string) {
	for n := 0; w != nil; w = w.next {
		if w.code != uint64(n)<<40 {
			return append(texts, fmt.Sprintf("code %d", w.code))
		}
		texts = append(texts, w.string())
		n++
	}
	return texts
}

func compare(t testing.TB, w *word, want []string) {
	t.Helper()
	if got := textsOf(w); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, not %q", got, want)
	}
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, strings.Repeat("x", i%5)+fmt.Sprint(i))
	}
	return texts
}

var maps = runtime.GOOS == "linux" && runtime.GOARCH != "s390x" && !frozen.RaceBuild

func TestContent(t *testing.T) {
	for _, n := range []int{1, 2, 10, 100_000} {
		texts := numbered(n)
		image := words(texts...)
		path := write(t, image.file())
		for _, o := range []frozen.Options{{}, {Verify: true}, {Elsewhere: true}, {Elsewhere: true, Verify: true}} {
			f := open(t, path, o)
			compare(t, root(t, f), texts)
			if maps && f.Moved() != o.Elsewhere {
				t.Errorf("%d words, %+v: moved: %t", n, o, f.Moved())
			}
			if at := uintptr(f.Root()); f.Moved() == (at == uintptr(testBase)+objects) || at%65536 != objects {
				t.Errorf("the root is at %#x", at)
			}
			if f.Size() != uint64(len(image.bytes)) {
				t.Errorf("%d bytes", f.Size())
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A second user of the address has its own memory; each is closed alone.
func TestTwice(t *testing.T) {
	texts := numbered(10)
	path := write(t, words(texts...).file())
	first, second := open(t, path, frozen.Options{}), open(t, path, frozen.Options{})
	if first.Root() == second.Root() || !second.Moved() {
		t.Errorf("%p, %p, moved: %t", first.Root(), second.Root(), second.Moved())
	}
	compare(t, root(t, second), texts)
	first.Close()
	compare(t, root(t, second), texts)
	second.Close()
	again := open(t, path, frozen.Options{})
	defer again.Close()
	if maps && again.Moved() {
		t.Error("the address was not free after Close")
	}
}

func TestClosed(t *testing.T) {
	f := open(t, write(t, words("a").file()), frozen.Options{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	if f.Root() != nil {
		t.Error("a root after Close")
	}
	if _, err := frozen.Root[word](f); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

// Each row changes a file; the header's checksum is right again unless the row says otherwise.
func TestRefused(t *testing.T) {
	const size = 24 // offset of a field
	long := uint64(len(words("a", "b").bytes))
	put := func(at int, n uint64) func([]byte) []byte {
		return func(b []byte) []byte { native.PutUint64(b[at:], n); return seal(b) }
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }
	for name, row := range map[string]struct {
		want   error
		change func([]byte) []byte
	}{
		"empty":               {frozen.ErrCorrupt, func(b []byte) []byte { return nil }},
		"header alone":        {frozen.ErrCorrupt, func(b []byte) []byte { return b[:104] }},
		"shorter":             {frozen.ErrCorrupt, cut(1)},
		"without bits":        {frozen.ErrCorrupt, cut(8)},
		"longer":              {frozen.ErrCorrupt, func(b []byte) []byte { return append(b, 0) }},
		"magic":               {frozen.ErrCorrupt, func(b []byte) []byte { b[0]++; return seal(b) }},
		"order":               {frozen.ErrCorrupt, func(b []byte) []byte { b[9]++; return seal(b) }},
		"other order":         {frozen.ErrSystem, func(b []byte) []byte { native.PutUint32(b[8:], 0x04030201); return b }},
		"header checksum":     {frozen.ErrCorrupt, func(b []byte) []byte { b[40]++; return b }},
		"version":             {frozen.ErrSystem, func(b []byte) []byte { native.PutUint16(b[12:], 2); return seal(b) }},
		"width":               {frozen.ErrSystem, func(b []byte) []byte { native.PutUint16(b[14:], uint16(12-pointerSize)); return seal(b) }},
		"base 0":              {frozen.ErrCorrupt, put(16, 0)},
		"base not aligned":    {frozen.ErrCorrupt, put(16, testBase+8)},
		"base too high":       {frozen.ErrCorrupt, put(16, uint64(^uintptr(0))&^63)},
		"size 0":              {frozen.ErrCorrupt, put(size, 0)},
		"size not of words":   {frozen.ErrCorrupt, put(size, long+1)},
		"size above the file": {frozen.ErrCorrupt, put(size, long+1<<20)},
		"size that wraps":     {frozen.ErrCorrupt, put(size, ^uint64(7))},
		"root in the header":  {frozen.ErrCorrupt, put(32, objects-8)},
		"root at the end":     {frozen.ErrCorrupt, put(32, long)},
		"layout without end":  {frozen.ErrCorrupt, func(b []byte) []byte { b[87] = 'x'; return seal(b) }},
	} {
		path := write(t, row.change(words("a", "b").file()))
		for _, o := range []frozen.Options{{}, {Verify: true}, {Elsewhere: true}} {
			f, err := frozen.Open(path, o)
			if !errors.Is(err, row.want) || f != nil {
				t.Errorf("%s: %v, %v", name, f, err)
			}
			var in *fs.PathError
			if !errors.As(err, &in) || in.Path != path {
				t.Errorf("%s: no path in %v", name, err)
			}
		}
	}
}

// Damage behind the header is found where the pointers are compared.
func TestDamagedContent(t *testing.T) {
	image := words("a", "b")
	for name, row := range map[string]struct {
		change func(i *damaged)
		plain  bool // found without Verify, at another address
	}{
		"text":          {func(i *damaged) { i.file[image.root+4*8+1]++ }, false},
		"pointer below": {func(i *damaged) { i.putPointer(image.pointers[0], testBase-1) }, true},
		"pointer above": {func(i *damaged) { i.putPointer(image.pointers[0], testBase+uint64(len(image.bytes))+1) }, true},
		"a bit more":    {func(i *damaged) { i.setBit(image.root + 3*8) }, true},
		"a bit of the start": {func(i *damaged) {
			i.putPointer(objects-pointerSize, testBase)
			i.setBit(objects - pointerSize)
			native.PutUint64(i.file[40:], uint64(len(image.pointers)+1))
			seal(i.file)
		}, true},
		"a bit behind": {func(i *damaged) { i.setBit(len(image.bytes)) }, true},
		"count":        {func(i *damaged) { native.PutUint64(i.file[40:], 1); seal(i.file) }, true},
	} {
		changed := &damaged{image.file(), len(image.bytes)}
		row.change(changed)
		path := write(t, changed.file)
		for _, o := range []frozen.Options{{Verify: true}, {Elsewhere: true, Verify: true}, {Elsewhere: true}} {
			f, err := frozen.Open(path, o)
			if refused := errors.Is(err, frozen.ErrCorrupt); refused != (o.Verify || row.plain) {
				t.Errorf("%s, %+v: %v", name, o, err)
			}
			if err == nil {
				f.Close()
			}
		}
		if maps { // nothing is read
			open(t, path, frozen.Options{}).Close()
		}
	}
	meant := image.file() // without a recorded checksum
	meant[image.root+4*8]++
	native.PutUint64(meant[88:], 0)
	open(t, write(t, seal(meant)), frozen.Options{Verify: true}).Close()
	high := newImage()
	high.add([]byte("without pointers"))
	high.base = uint64(^uintptr(0)) &^ 63
	if _, err := frozen.Open(write(t, high.file()), frozen.Options{}); !errors.Is(err, frozen.ErrCorrupt) {
		t.Errorf("a base at the end of all addresses: %v", err)
	}
	end := words("a")
	end.point(end.root, len(end.bytes)) // the address behind the content is allowed
	open(t, write(t, end.file()), frozen.Options{Elsewhere: true, Verify: true}).Close()
}

// A damaged is a file to damage.
type damaged struct {
	file []byte
	size int
}

func (i *damaged) putPointer(at int, word uint64) { (&image{bytes: i.file}).putWord(at, word) }

func (i *damaged) setBit(at int) {
	set := i.file[i.size+at/pointerSize/64*8:]
	native.PutUint64(set, native.Uint64(set)^1<<(at/pointerSize%64))
}

func TestLayouts(t *testing.T) {
	path := write(t, words("a").file())
	for _, row := range []struct {
		o    frozen.Options
		want error
	}{
		{frozen.Options{Layout: "words 1"}, nil},
		{frozen.Options{LayoutHash: 77}, nil},
		{frozen.Options{Layout: "words 1", LayoutHash: 77}, nil},
		{frozen.Options{Layout: "words"}, frozen.ErrLayout},
		{frozen.Options{Layout: "words 11"}, frozen.ErrLayout},
		{frozen.Options{Layout: "words 1\x00"}, frozen.ErrLayout},
		{frozen.Options{LayoutHash: 78}, frozen.ErrLayout},
		{frozen.Options{Layout: "words 1", LayoutHash: 78}, frozen.ErrLayout},
	} {
		f, err := frozen.Open(path, row.o)
		if !errors.Is(err, row.want) {
			t.Errorf("%+v: %v", row.o, err)
		}
		if err == nil {
			f.Close()
		}
	}
}

func TestRootOfAnotherType(t *testing.T) {
	image := words("a")
	f := open(t, write(t, image.file()), frozen.Options{})
	defer f.Close()
	room := len(image.bytes) - objects
	if _, err := frozen.Root[[1 << 16]byte](f); !errors.Is(err, frozen.ErrLayout) {
		t.Errorf("a root above %d bytes: %v", room, err)
	}
	if _, err := frozen.Root[byte](f); err != nil {
		t.Error(err)
	}
	image.root++
	odd := open(t, write(t, image.file()), frozen.Options{})
	defer odd.Close()
	if _, err := frozen.Root[uint64](odd); !errors.Is(err, frozen.ErrLayout) {
		t.Errorf("a root that is not aligned: %v", err)
	}
	if _, err := frozen.Root[[8]byte](odd); err != nil {
		t.Error(err)
	}
}

func TestOtherThanFiles(t *testing.T) {
	folder := tempFolder(t)
	if _, err := frozen.Open(folder, frozen.Options{}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := frozen.Open(folder+"/none", frozen.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := frozen.Open("a\x00b", frozen.Options{}); err == nil {
		t.Error("a path with a NUL was opened")
	}
}

func TestMemoryIsRefused(t *testing.T) {
	path := write(t, words("a").file())
	for _, address := range []bool{true, false} {
		end := frozen.RefuseMemory(address)
		f, err := frozen.Open(path, frozen.Options{Elsewhere: true})
		end()
		if !errors.Is(err, frozen.ErrNoMemory) || f != nil {
			t.Errorf("%v, %v", f, err)
		}
	}
	open(t, path, frozen.Options{Elsewhere: true}).Close()
}

// A changed byte is always found by Verify. If the writer of the file means it, the file is refused, or all its pointers
// lie inside.
func TestAlteredFiles(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 4_000
	}
	image := words("one", "two", "three")
	whole, random := image.file(), rand.New(rand.NewSource(1))
	path := write(t, whole)
	out, err := os.OpenFile(path, os.O_WRONLY, 0) // written in place: a file system may wait for the disk if it is truncated
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	opened := 0
	for round := range rounds {
		file := append([]byte{}, whole...)
		for range 1 + random.Intn(3) {
			at := random.Intn(len(file))
			if random.Intn(2) == 0 { // most of a small file is the page of the header
				at = append([]int{16, 24, 32, 40, objects, objects + 8, objects + 32, len(image.bytes) + objects/8/pointerSize},
					image.pointers...)[random.Intn(8+len(image.pointers))] + random.Intn(8)
			}
			file[at] ^= byte(1 << random.Intn(8))
		}
		meant := round%2 == 0
		if meant {
			native.PutUint64(file[88:], 0)
			seal(file)
		}
		if string(file) == string(whole) {
			continue
		}
		if _, err := out.WriteAt(file, 0); err != nil {
			t.Fatal(err)
		}
		f, err := frozen.Open(path, frozen.Options{Verify: !meant || round%4 == 0, Elsewhere: round%3 == 0 || meant && round%4 != 0})
		if err != nil {
			if !errors.Is(err, frozen.ErrCorrupt) && !errors.Is(err, frozen.ErrSystem) {
				t.Fatal(err)
			}
			continue
		}
		if !meant {
			t.Fatalf("round %d: a changed file was opened", round)
		}
		opened++
		start := uintptr(f.Root()) - uintptr(native.Uint64(file[32:]))
		for _, at := range image.pointers {
			bit := native.Uint64(file[len(image.bytes)+at/pointerSize/64*8:]) >> (at / pointerSize % 64) & 1
			p := *(*uintptr)(unsafe.Add(f.Root(), uintptr(at)-(uintptr(f.Root())-start)))
			if bit != 0 && p-start > uintptr(f.Size()) {
				t.Fatalf("round %d: a pointer leads out", round)
			}
		}
		f.Close()
	}
	if opened < rounds/50 {
		t.Errorf("%d files were opened", opened)
	}
}

// A failure leaves no mapping and no descriptor.
func TestNothingIsLeft(t *testing.T) {
	file := words("a").file()
	file[len(file)-8] ^= 1
	path := write(t, file)
	closed := write(t, words("a").file())
	many := strings.Count(testutil.ReadProc(t, "maps"), "\n")
	for range 200 {
		for _, o := range []frozen.Options{{Verify: true}, {Elsewhere: true}} {
			if _, err := frozen.Open(path, o); err == nil {
				t.Fatal("a damaged file was opened")
			}
			open(t, closed, o).Close()
		}
	}
	if now := strings.Count(testutil.ReadProc(t, "maps"), "\n"); now > many+50 {
		t.Errorf("%d mappings, then %d", many, now)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err == nil && len(entries) > 100 {
		t.Errorf("%d descriptors", len(entries))
	}
}
