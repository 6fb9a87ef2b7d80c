//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"toft.dev/toft/internal/link"
)

// The comparison of pointers in debugged arenas with the Go heap. The types say where pointers are; whether one points to
// the Go heap is decided by the check that cgo makes of the arguments of a call.

// A typedValue is an allocation whose type has pointers.
type typedValue struct {
	of    reflect.Type // of the elements
	p     unsafe.Pointer
	size  uintptr // of all elements
	live  uint64  // the live bytes of the arena after the allocation
	place []uintptr
}

// noteTyped records a value of a debugged arena. typ is a *T.
func (a *Arena) noteTyped(typ any, p unsafe.Pointer, size uintptr) {
	if a.epoch&1 == 0 || size == 0 || !isDebugged(a) {
		return
	}
	v := typedValue{reflect.TypeOf(typ).Elem(), p, size, cStats(a).Live, slices.Clone(callers())}
	debug.Lock()
	defer debug.Unlock()
	debug.typed[a] = append(debug.typed[a], v)
}

// rewindTyped drops the records of freed values.
func rewindTyped(a *Arena) {
	live := cStats(a).Live
	debug.Lock()
	defer debug.Unlock()
	all := debug.typed[a]
	for len(all) != 0 && all[len(all)-1].live > live {
		all = all[:len(all)-1]
	}
	debug.typed[a] = all
}

// storedGoPointer drops the records of all values of a debugged arena and returns an error if one has a pointer to the Go
// heap. C may have freed some of them.
func storedGoPointer(what string, a *Arena) error {
	if !debug.any.Load() {
		return nil
	}
	debug.Lock()
	all := debug.typed[a]
	delete(debug.typed, a)
	debug.Unlock()
	for _, v := range all {
		if !cContains(a, v.p) {
			continue
		}
		if field := v.goPointer(); field != "" {
			return fmt.Errorf("%w; %s, allocated at %s", wrap(what, ErrGoPointer), field, link.Place(frames(v.place)))
		}
	}
	return nil
}

func panicWith(err error) {
	if err != nil {
		panic(err)
	}
}

const mostPointers = 1 << 16 // of an allocation

// goPointer returns a description of the first pointer to the Go heap, or "".
func (v *typedValue) goPointer() (field string) {
	n, left := v.size/v.of.Size(), mostPointers
	for i := range n {
		path, found := findGoPointer(v.of, unsafe.Add(v.p, i*v.of.Size()), &left)
		if found {
			if n > 1 {
				path = fmt.Sprintf("[%d]%s", i, path)
				return strings.TrimPrefix(path, ".") + " of a []" + v.of.String()
			}
			if path == "" {
				return "a " + v.of.String()
			}
			return "field " + strings.TrimPrefix(path, ".") + " of a " + v.of.String()
		}
		if left == 0 {
			break
		}
	}
	return ""
}

// findGoPointer searches the value of type t at p for a pointer to the Go heap and returns its path, ".A[1].B". It compares
// so many pointers at most as are left.
func findGoPointer(t reflect.Type, p unsafe.Pointer, left *int) (path string, found bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer:
		if *left != 0 {
			*left--
			return "", isGoPointer(*(*uintptr)(p))
		}
	case reflect.Array:
		for i := 0; i < t.Len() && *left != 0 && holdsPointer(t.Elem()); i++ {
			if path, found := findGoPointer(t.Elem(), unsafe.Add(p, uintptr(i)*t.Elem().Size()), left); found {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if path, found := findGoPointer(f.Type, unsafe.Add(p, f.Offset), left); found {
				return "." + f.Name + path, true
			}
		}
	}
	return "", false
}

// holdsPointer reports whether a type that New accepts has pointers.
func holdsPointer(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer:
		return true
	case reflect.Array:
		return t.Len() != 0 && holdsPointer(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsPointer(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// isGoPointer reports whether the word is the address of an unpinned object of the Go heap. It may be any number, so the
// collector must not see it as a pointer: the word is in a new object, which a collection that runs does not scan, for the
// length of the check, and it is stored as a number, without a write barrier.
func isGoPointer(word uintptr) (yes bool) {
	const leastAddress = 4096 // below are handles that C declares as pointers
	if word < leastAddress {
		return false
	}
	holder := new(unsafe.Pointer)
	*(*uintptr)(unsafe.Pointer(holder)) = word
	defer func() {
		*(*uintptr)(unsafe.Pointer(holder)) = 0
		switch why := recover().(type) {
		case nil:
		case runtime.Error:
			yes = true
		default:
			panic(why)
		}
	}()
	cCheckPointer(unsafe.Pointer(holder))
	return false
}
