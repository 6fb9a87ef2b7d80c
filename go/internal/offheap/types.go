// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import "reflect"

// Refused describes the first part of t that must not be stored outside the Go heap, such as "field Header.Name is a
// string" or "field When.loc is a *time.Location, whose field name is a string", or returns "". Refused are the types whose
// values the Go runtime manages: string, slice, map, chan, func and interface. If pointers is set, pointers are refused too;
// otherwise those whose target contains a refused type, at any depth: no C memory has such a value, so they could only
// point to the Go heap.
func Refused(t reflect.Type, pointers bool) string {
	e := examination{pointers: pointers}
	path, what := e.refused(t)
	switch {
	case what == "":
		return ""
	case path == "":
		return "it is " + what
	}
	return "field " + path + " is " + what
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

type examination struct {
	pointers bool
	targets  map[reflect.Type]bool // those of the pointers that were followed: types may be recursive
}

// refused returns the path to the first refused part of t and what it is, or "" and "".
func (e *examination) refused(t reflect.Type) (path, what string) {
	switch k := t.Kind(); k {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		return "", article(k)
	case reflect.UnsafePointer:
		if e.pointers {
			return "", article(k)
		}
	case reflect.Pointer:
		if e.pointers {
			return "", article(k)
		}
		return "", e.refusedTarget(t)
	case reflect.Array:
		if t.Len() == 0 {
			if t.Elem().Kind() == reflect.Pointer && !e.pointers { // states the target of an atomic.Pointer
				return "", e.refusedTarget(t.Elem())
			}
			return "", ""
		}
		if path, what = e.refused(t.Elem()); what != "" {
			return "[0]" + dotted(path), what
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if path, what = e.refused(f.Type); what != "" {
				return f.Name + dotted(path), what
			}
		}
	}
	return "", ""
}

// refusedTarget describes the pointer type t if the type that it points to is refused.
func (e *examination) refusedTarget(t reflect.Type) (what string) {
	target := t.Elem()
	if e.targets[target] {
		return ""
	}
	if e.targets == nil {
		e.targets = map[reflect.Type]bool{}
	}
	e.targets[target] = true
	path, what := e.refused(target)
	switch {
	case what == "":
		return ""
	case path == "":
		return "a pointer to " + what
	}
	return "a " + t.String() + ", whose field " + path + " is " + what
}

// dotted joins the rest of a path to a field's name.
func dotted(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}
