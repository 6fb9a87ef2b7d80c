// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import "reflect"

// Refused describes the first field of t that must not be stored outside the Go heap, such as "field Header.Name is a
// string", or returns "". Refused are the types whose values the Go runtime manages: string, slice, map, chan, func and
// interface; if pointers is set, pointers too.
func Refused(t reflect.Type, pointers bool) string {
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

// dotted joins the rest of a path to a field's name.
func dotted(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}
