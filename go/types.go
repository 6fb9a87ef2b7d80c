// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// What may live in an arena: numbers, arrays and structs of them, and pointers, since C's structs have them. Not what
// Go's runtime owns: string, slice, map, chan, func, interface. A type is looked at once.

// refused names the first field of t that cannot live in C memory, as "Header.Name is a string"; pointers: and none that
// is a pointer. "" if there is none.
func refused(t reflect.Type, pointers bool) string {
	path, kind := refusedIn(t, pointers)
	switch {
	case kind == reflect.Invalid:
		return ""
	case path == "":
		return "it is " + article(kind)
	}
	return "field " + path + " is " + article(kind)
}

func article(k reflect.Kind) string {
	switch k {
	case reflect.Interface:
		return "an interface"
	case reflect.UnsafePointer:
		return "an unsafe.Pointer"
	case reflect.Pointer:
		return "a pointer"
	}
	return "a " + k.String()
}

func refusedIn(t reflect.Type, pointers bool) (path string, kind reflect.Kind) {
	switch k := t.Kind(); k {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		return "", k
	case reflect.Pointer, reflect.UnsafePointer:
		if pointers {
			return "", k
		}
	case reflect.Array:
		if t.Len() == 0 {
			return "", reflect.Invalid
		}
		if path, kind = refusedIn(t.Elem(), pointers); kind != reflect.Invalid {
			return "[0]" + dotted(path), kind
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if path, kind = refusedIn(f.Type, pointers); kind != reflect.Invalid {
				return f.Name + dotted(path), kind
			}
		}
	}
	return "", reflect.Invalid
}

// dotted is the rest of a path.
func dotted(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}

func typeOf[T any]() reflect.Type { return reflect.TypeOf((*T)(nil)).Elem() }

// Types that passed, by the address of their descriptor: a cache in front of a map. A miss costs a look in the map.
var (
	passed   [1024]atomic.Uintptr
	examined sync.Map // reflect.Type -> verdict
)

type verdict struct {
	wrong    string // the reason to refuse it, or ""
	pointers bool
}

const holdsPointers = 1 // a bit that no address of a descriptor has

func typeWord(of any) uintptr { return *(*uintptr)(unsafe.Pointer(&of)) }

func passedAt(word uintptr) *atomic.Uintptr { return &passed[word>>5%uintptr(len(passed))] }

// examine panics if the type that `of`, a *T, points to cannot live in an arena, and tells if it holds pointers.
//
//go:noinline
func examine(of any) (pointers bool) {
	t := reflect.TypeOf(of).Elem()
	found, known := examined.Load(t)
	if !known {
		found = verdict{refused(t, false), refused(t, true) != ""}
		examined.Store(t, found)
	}
	v := found.(verdict)
	if v.wrong != "" {
		panic(fmt.Sprintf("toft: %v cannot live in an arena: %s", t, v.wrong))
	}
	word := typeWord(of)
	entry := word
	if v.pointers {
		entry |= holdsPointers
	}
	passedAt(word).Store(entry)
	return v.pointers
}
