// SPDX-License-Identifier: MIT OR Apache-2.0

package main

/*
#cgo pkg-config: sqlite3
#include <stdlib.h>

#include "../bridge.h"

static int bind(sqlite3_stmt *s, int i, struct sq_value v) { return sq_bind(s, i, &v); }

static int bind_copy(sqlite3_stmt *s, int i, struct sq_value v) {
	if (v.kind == SQLITE_TEXT) return sqlite3_bind_text(s, i, v.p, (int)v.i, SQLITE_TRANSIENT);
	if (v.kind == SQLITE_BLOB) return sqlite3_bind_blob(s, i, v.p, (int)v.i, SQLITE_TRANSIENT);
	return sq_bind(s, i, &v);
}

// Binds, steps, and reads the row into v. Text and blobs stay in SQLite's memory: the row is read before the reset.
static int round_of(sqlite3_stmt *s, struct sq_value *v, int n) {
	int code = sq_bind_all(s, v, n);
	if (code == SQLITE_OK) code = sqlite3_step(s);
	for (int i = 0; i < n && code == SQLITE_ROW; i++) {
		switch (v[i].kind = sqlite3_column_type(s, i)) {
			case SQLITE_INTEGER: v[i].i = sqlite3_column_int64(s, i); break;
			case SQLITE_FLOAT: v[i].f = sqlite3_column_double(s, i); break;
			case SQLITE_TEXT: v[i].p = sqlite3_column_text(s, i), v[i].i = sqlite3_column_bytes(s, i); break;
			case SQLITE_BLOB: v[i].p = sqlite3_column_blob(s, i), v[i].i = sqlite3_column_bytes(s, i); break;
		}
	}
	return code;
}
*/
import "C"

import (
	"unsafe"

	"toft.dev/toft/examples/sqlite"
)

// Wrappers without Toft, with the same calls of SQLite: only the memory of the parameters differs.

func ok(code, wanted C.int) {
	if code != wanted {
		panic(C.GoString(C.sqlite3_errstr(code)))
	}
}

func mallocPrepare(db *sqlite.DB, sql string) *sqlite.Stmt {
	csql := C.CString(sql)
	defer C.free(unsafe.Pointer(csql))
	var s *C.sqlite3_stmt
	var tail *C.char
	ok(C.sqlite3_prepare_v2((*C.sqlite3)(db.Pointer()), csql, C.int(len(sql)+1), &s, &tail), C.SQLITE_OK)
	return db.Own(unsafe.Pointer(s))
}

// value converts arg for C: text and blobs in malloc's memory, or in Go's.
func value(arg any, malloc bool) (v C.struct_sq_value) {
	switch arg := arg.(type) {
	case nil:
		v.kind = C.SQLITE_NULL
	case int64:
		v.kind, v.i = C.SQLITE_INTEGER, C.sqlite3_int64(arg)
	case float64:
		v.kind, v.f = C.SQLITE_FLOAT, C.double(arg)
	case string:
		v.kind, v.i, v.p = C.SQLITE_TEXT, C.sqlite3_int64(len(arg)), unsafe.Pointer(unsafe.StringData(arg))
		if malloc {
			v.p = unsafe.Pointer(C.CString(arg))
		}
	case []byte:
		v.kind, v.i, v.p = C.SQLITE_BLOB, C.sqlite3_int64(len(arg)), unsafe.Pointer(unsafe.SliceData(arg))
		if malloc {
			v.p = C.CBytes(arg)
		}
	}
	return v
}

func freeAll(list *[]unsafe.Pointer) {
	for _, p := range *list {
		if p != nil {
			C.free(p)
		}
	}
}

// A call for each parameter, with a malloc and a free for each text and blob.
func mallocEach(s *sqlite.Stmt, args []any) []any {
	mallocs := make([]unsafe.Pointer, 0, 8)
	defer freeAll(&mallocs)
	for i, arg := range args {
		v := value(arg, true)
		mallocs = append(mallocs, v.p)
		ok(C.bind((*C.sqlite3_stmt)(s.Pointer()), C.int(i+1), v), C.SQLITE_OK)
	}
	return step(s, len(args))
}

// Go's memory is passed directly, and copied by SQLite (SQLITE_TRANSIENT). Few C libraries offer that.
func copyEach(s *sqlite.Stmt, args []any) []any {
	for i, arg := range args {
		ok(C.bind_copy((*C.sqlite3_stmt)(s.Pointer()), C.int(i+1), value(arg, false)), C.SQLITE_OK)
	}
	return step(s, len(args))
}

// One call for a round; the array of structs comes from malloc, too.
func mallocArray(s *sqlite.Stmt, args []any) []any {
	n := len(args)
	p := (*C.struct_sq_value)(C.malloc(C.size_t(n) * C.sizeof_struct_sq_value))
	defer C.free(unsafe.Pointer(p))
	values := unsafe.Slice(p, n)
	mallocs := make([]unsafe.Pointer, 0, 8)
	defer freeAll(&mallocs)
	for i, arg := range args {
		values[i] = value(arg, true)
		mallocs = append(mallocs, values[i].p)
	}
	ok(C.round_of((*C.sqlite3_stmt)(s.Pointer()), p, C.int(n)), C.SQLITE_ROW)
	row := make([]any, n)
	for i, v := range values {
		switch v.kind {
		case C.SQLITE_INTEGER:
			row[i] = int64(v.i)
		case C.SQLITE_FLOAT:
			row[i] = float64(v.f)
		case C.SQLITE_TEXT:
			row[i] = C.GoStringN((*C.char)(v.p), C.int(v.i))
		case C.SQLITE_BLOB:
			row[i] = C.GoBytes(v.p, C.int(v.i))
		}
	}
	s.Reset()
	return row
}
