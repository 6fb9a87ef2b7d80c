// SPDX-License-Identifier: MIT OR Apache-2.0

package sqlite

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"toft.dev/toft"
)

// A Stmt is a prepared statement. This file has SQLite's own calls, each a call from Go to C; Exec and Query in rows.go
// do a whole round in one.
//
// Bound memory must stay valid until SQLite drops it: with SQLITE_STATIC it copies nothing and reads the memory in each
// Step. sqlite3_reset does not drop it, sqlite3_clear_bindings does. So a statement leases an arena when it first
// binds, and returns it after resetting and clearing.
type Stmt struct {
	p  *C.sqlite3_stmt
	db *DB
	a  *toft.Lease // nil if nothing is bound
}

// Prepare compiles one statement. Close it.
func (db *DB) Prepare(sql string) (*Stmt, error) {
	a := toft.Get()
	defer a.Return() // SQLite keeps a copy of the text
	csql, err := a.CString(sql)
	if err != nil {
		return nil, fmt.Errorf("sqlite: Prepare: %w", err)
	}
	out, tail := toft.New[*C.sqlite3_stmt](a), toft.New[*C.char](a)
	err = db.failed(C.sqlite3_prepare_v2(db.p, (*C.char)(csql), C.int(len(sql)+1), out, tail))
	if err != nil {
		return nil, err
	}
	if *out == nil {
		return nil, errors.New("sqlite: Prepare: no statement")
	}
	s := db.Own(unsafe.Pointer(*out))
	if end := uintptr(unsafe.Pointer(*tail)) - uintptr(csql); strings.TrimSpace(sql[end:]) != "" {
		s.Close()
		return nil, errors.New("sqlite: Prepare: more than one statement")
	}
	return s, nil
}

// Own makes a Stmt of a sqlite3_stmt * that other code prepared. The caller closes it.
func (db *DB) Own(p unsafe.Pointer) *Stmt { return &Stmt{p: (*C.sqlite3_stmt)(p), db: db} }

// Close ends the statement.
func (s *Stmt) Close() {
	s.Reset()
	C.sqlite3_finalize(s.p) // it can only repeat the error of the last Step
	s.p = nil
}

// Reset ends a round: the statement can be bound and stepped again, and nothing is bound. The arena is returned last.
func (s *Stmt) Reset() {
	C.sq_reset(s.p)
	if s.a != nil {
		s.a.Return()
		s.a = nil
	}
}

func (s *Stmt) arena() *toft.Lease {
	if s.a == nil {
		s.a = toft.Get()
	}
	return s.a
}

// Bind sets parameter i, counted from 1, until Reset. Text with a NUL in it is refused: its effect in SQL is undefined.
// A NaN becomes NULL.
func (s *Stmt) Bind(i int, v any) error {
	var code C.int
	switch n := C.int(i); v := v.(type) {
	case nil:
		code = C.sqlite3_bind_null(s.p, n)
	case int:
		code = C.sqlite3_bind_int64(s.p, n, C.sqlite3_int64(v))
	case int64:
		code = C.sqlite3_bind_int64(s.p, n, C.sqlite3_int64(v))
	case float64:
		code = C.sqlite3_bind_double(s.p, n, C.double(v))
	case string:
		p, err := s.arena().CString(v)
		if err != nil {
			return fmt.Errorf("sqlite: parameter %d: %w", i, err)
		}
		code = C.sqlite3_bind_text64(s.p, n, (*C.char)(p), C.sqlite3_uint64(len(v)), static, C.SQLITE_UTF8)
	case []byte:
		p := s.arena().CBytes(v) // not NULL for zero bytes either, which would be SQL's NULL
		code = C.sqlite3_bind_blob64(s.p, n, p, C.sqlite3_uint64(len(v)), static)
	default:
		return fmt.Errorf("sqlite: parameter %d: a %T", i, v)
	}
	return s.db.failed(code)
}

var static C.sqlite3_destructor_type // SQLITE_STATIC, a macro that cgo cannot read: NULL

// ---- rows ----

// Step advances to the next row, and returns whether there is one.
func (s *Stmt) Step() (bool, error) {
	switch code := C.sqlite3_step(s.p); code {
	case C.SQLITE_ROW:
		return true, nil
	case C.SQLITE_DONE:
		return false, nil
	default:
		return false, s.db.failed(code)
	}
}

// Columns returns the number of columns in a row.
func (s *Stmt) Columns() int { return int(C.sqlite3_column_count(s.p)) }

// Column returns a copy of a value of the row, counted from 0.
func (s *Stmt) Column(i int) any {
	c := C.int(i)
	switch C.sqlite3_column_type(s.p, c) {
	case C.SQLITE_INTEGER:
		return int64(C.sqlite3_column_int64(s.p, c))
	case C.SQLITE_FLOAT:
		return float64(C.sqlite3_column_double(s.p, c))
	case C.SQLITE_TEXT:
		p := C.sqlite3_column_text(s.p, c) // before its length is requested
		return C.GoStringN((*C.char)(unsafe.Pointer(p)), C.sqlite3_column_bytes(s.p, c))
	case C.SQLITE_BLOB:
		p := C.sqlite3_column_blob(s.p, c)
		return C.GoBytes(p, C.sqlite3_column_bytes(s.p, c))
	}
	return nil
}
