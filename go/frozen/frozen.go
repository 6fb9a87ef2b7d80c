// SPDX-License-Identifier: MIT OR Apache-2.0

// Package frozen opens files of finished data structures, which toft_freeze of libtoft or the Rust crate toft-frozen has
// written, without parsing. It needs neither cgo nor a C compiler.
//
// A file contains C structs with their pointers. It is mapped at the address that the pointers are for: the structures are
// there, no page is read before it is used, and processes that open the same file share its pages. Where that address is
// not free, and on systems other than Linux, macOS and FreeBSD, the file is read, and its pointers are moved.
//
//	type word struct {        // struct word {
//		next  *word           //   struct word *next;
//		text  *byte           //   const char *text;
//		size  uint64          //   uint64_t size;
//		count uint32          //   uint32_t count; };
//	}
//
//	f, err := frozen.Open("words.frozen", frozen.Options{Layout: "words 1"})
//	...
//	first, err := frozen.Root[word](f)
//	...
//	for w := first; w != nil; w = w.next {
//		fmt.Println(unsafe.String(w.text, w.size), w.count)
//	}
//
// # Types
//
// The Go type must have the sizes, the alignments and the order of the C struct: numbers, pointers to such types, and
// arrays and structs of them. Go's string, slice, map, func and interface are not those of C. A pointer and a length in a
// struct become a string by [unsafe.String] and a slice by [unsafe.Slice], without a copy. The collector does not scan the
// content, and checkptr accepts pointers to it.
//
// # Lifetime
//
// After [File.Close] no pointer into the content and no string or slice of it may be used, nor kept: an access to memory
// that is no longer mapped ends the program, and since Go 1.26 the heap may grow into the same range, where the collector
// takes a pointer that is left for one of the heap's. A File has no finalizer; one that is not closed remains open. On js,
// wasip1, Plan 9, Solaris, illumos and AIX the content lies on the Go heap: there a File must be reachable while pointers
// that were read from its content are used, see [runtime.KeepAlive].
//
// Any number of goroutines may read the content. Writing to it ends the program.
//
// # Trust
//
// [Open] checks the header, its checksum, and the sizes; where the pointers are moved, and with [Options.Verify], also
// that each lies inside the content. The meaning of the structures is not checked: a program that follows the pointers of a
// file trusts its writer. While a file is open it may be replaced by a rename, as its writers do, but not be changed or
// truncated: an access to a page that no longer exists ends the program.
package frozen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"toft.dev/toft/internal/offheap"
)

// Errors of files. They are wrapped in a [fs.PathError] with the path, as are those of the system.
var (
	// ErrCorrupt means that it is no frozen file, or a damaged one.
	ErrCorrupt = errors.New("frozen: not a frozen file, or a damaged one")
	// ErrLayout means that the layout of the file, or its hash, is not that of the options, or that the root is not a
	// value of the type that [Root] is called for.
	ErrLayout = errors.New("frozen: the file has another layout")
	// ErrSystem means that the file is of another version, byte order or width of pointers.
	ErrSystem = errors.New("frozen: the file is of another version, byte order or width of pointers")
	// ErrNoMemory means that there is no memory or no address space.
	ErrNoMemory = errors.New("frozen: out of memory")
)

// Options for [Open]. The zero value maps the file and reads no page of it.
type Options struct {
	// Layout is the name of the content's types and their version, which must be that of the file; "": any.
	Layout string
	// LayoutHash must be that of the file; 0: any.
	LayoutHash uint64
	// Verify compares the checksum, and each pointer with the bounds of the content, which reads the whole file.
	Verify bool
	// Elsewhere reads the file to another address than its own, for tests.
	Elsewhere bool
}

// A File is an open frozen file. Its methods other than Close may be called by any number of goroutines.
type File struct {
	path    string
	content unsafe.Pointer // nil: closed
	header  header
	moved   bool
	release func()
}

// Open opens a regular file. errors.Is distinguishes [ErrCorrupt], [ErrLayout], [ErrSystem], [ErrNoMemory] and the errors
// of the system. A file descriptor is opened by its name, /dev/fd/N.
func Open(path string, o Options) (*File, error) {
	f := &File{path: path}
	if err := f.open(o); err != nil {
		if f.release != nil {
			f.release()
		}
		var inPath *fs.PathError
		if errors.As(err, &inPath) {
			return nil, err
		}
		return nil, f.fail("open", err)
	}
	return f, nil
}

func (f *File) fail(what string, err error) error {
	return &fs.PathError{Op: what, Path: f.path, Err: err}
}

func (f *File) open(o Options) error {
	if info, err := os.Stat(f.path); err != nil { // a pipe would block
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("not a regular file: %w", fs.ErrInvalid)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	length := uint64(info.Size())
	if err := f.readHeader(file, length); err != nil {
		return err
	}
	if (o.Layout != "" && o.Layout != f.header.layoutName()) || (o.LayoutHash != 0 && o.LayoutHash != f.header.layoutHash) {
		return fmt.Errorf("%w: %q, hash %#x", ErrLayout, f.header.layoutName(), f.header.layoutHash)
	}
	return f.take(file, uintptr(length), o)
}

func (f *File) readHeader(file *os.File, length uint64) error {
	if length < startOfObjects {
		return ErrCorrupt
	}
	if _, err := file.ReadAt(f.header.bytes(), 0); err != nil {
		return err
	}
	return f.header.check(length)
}

// take maps or reads the file and makes the checks that need the content.
func (f *File) take(file *os.File, length uintptr, o Options) error {
	base := uintptr(f.header.base)
	if !o.Elsewhere && !raceBuild {
		f.content, f.release = mapAt(file, base, length)
	}
	f.moved = f.content == nil
	if f.moved {
		if err := f.load(file, length); err != nil {
			return err
		}
	}
	words := unsafe.Slice((*uint64)(f.content), length/8)
	if o.Verify && f.header.checksum != 0 && f.header.checksum != bodyChecksum(words) {
		return ErrCorrupt
	}
	if o.Verify || f.moved {
		if count, inside := scan(f.content, uintptr(f.header.size), base); !inside || count != f.header.pointers {
			return ErrCorrupt
		}
	}
	if f.moved {
		move(f.content, uintptr(f.header.size), uintptr(f.content)-base)
		offheap.Readable(f.content, offheap.RoundUp(length, offheap.PageSize)) // makes it read-only, where that is possible
	}
	return nil
}

// Variables, so that tests can make them fail.
var reserve, commit = offheap.Reserve, offheap.Commit

// load reads the file into memory of its own, aligned as the content needs it.
func (f *File) load(file *os.File, length uintptr) error {
	align := alignment(length)
	reserved := offheap.RoundUp(length, offheap.PageSize) + align
	if reserved < length {
		return ErrNoMemory
	}
	start, mapping := reserve(reserved)
	if start == nil {
		return ErrNoMemory
	}
	f.release = func() { offheap.Release(mapping) }
	f.content = unsafe.Add(start, -uintptr(start)&(align-1))
	if !commit(f.content, offheap.RoundUp(length, offheap.PageSize)) {
		return ErrNoMemory
	}
	content := unsafe.Slice((*byte)(f.content), length)
	copy(content, f.header.bytes())
	_, err := file.ReadAt(content[headerSize:], headerSize)
	return err
}

// Root returns the root object, or nil after Close.
func (f *File) Root() unsafe.Pointer {
	if f.content == nil {
		return nil
	}
	return unsafe.Add(f.content, f.header.root)
}

// Root returns the root object of a file as a *T. T must be the Go form of the type that the file's writer has; what can
// be compared is whether a T fits at the root: [ErrLayout]. After Close the error is [fs.ErrClosed].
func Root[T any](f *File) (*T, error) {
	var t T
	p := f.Root()
	if p == nil {
		return nil, f.fail("root", fs.ErrClosed)
	}
	if unsafe.Sizeof(t) > uintptr(f.header.size-f.header.root) || uintptr(p)%unsafe.Alignof(t) != 0 {
		return nil, f.fail("root", fmt.Errorf("%w: no %T fits at the root", ErrLayout, t))
	}
	return (*T)(p), nil
}

// Size returns the bytes of the content.
func (f *File) Size() uint64 { return f.header.size }

// Moved reports whether the content is at another address than its own, so that this process does not share its pages.
func (f *File) Moved() bool { return f.moved }

// Close unmaps the content. A second Close returns [fs.ErrClosed].
func (f *File) Close() error {
	if f.content == nil {
		return f.fail("close", fs.ErrClosed)
	}
	f.content = nil
	f.release()
	f.release = nil
	return nil
}
