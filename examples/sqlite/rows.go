// SPDX-License-Identifier: MIT OR Apache-2.0

package sqlite

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"toft.dev/toft"
)

// A call from Go to C costs more than SQLite's binding of a number. So the parameters are put into an arena as an array
// of structs, and one call binds all of them; C puts the rows into the same arena, for Go to read.

const (
	chunk  = 256      // groups of parameters in one call
	enough = 64 << 10 // bytes of rows in one call, about
)

var errInUse = errors.New("sqlite: the statement has bindings, or is in a loop over its rows: Reset it")

// Exec executes the statement once. There must be as many arguments as parameters.
func (s *Stmt) Exec(args ...any) error { return s.ExecEach([][]any{args}) }

// ExecEach executes the statement once for each list of arguments, up to the first error.
func (s *Stmt) ExecEach(lists [][]any) error {
	if s.a != nil {
		return errInUse
	}
	a := toft.Get()
	defer a.Return()
	for part := range slices.Chunk(lists, chunk) {
		m := a.Mark()
		n := len(part[0])
		params := toft.MakeSlice[C.struct_sq_value](a, n*len(part))
		for i, args := range part {
			if len(args) != n {
				return fmt.Errorf("sqlite: lists of %d and %d arguments", n, len(args))
			}
			if err := fill(params[i*n:], args, &a.Arena); err != nil {
				return err
			}
		}
		code := C.sq_exec(s.p, unsafe.SliceData(params), C.int(n), C.size_t(len(part))) // ends reset and cleared
		if err := s.db.failed(code); err != nil {
			return err
		}
		a.Rewind(m) // the next part reuses the memory
	}
	return nil
}

// Query executes the statement and returns its rows. The statement is reset when the loop ends.
func (s *Stmt) Query(args ...any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		if s.a != nil {
			yield(nil, errInUse)
			return
		}
		a := s.arena()
		defer s.Reset()
		params := toft.MakeSlice[C.struct_sq_value](a, len(args))
		if err := fill(params, args, &a.Arena); err != nil {
			yield(nil, err)
			return
		}
		first := toft.New[*C.struct_sq_row](a)
		arena := (*C.toft_arena)(a.Pointer())
		for code, n, m := C.int(C.SQLITE_ROW), C.int(len(args)), a.Mark(); code == C.SQLITE_ROW; n = -1 {
			code = C.sq_query(s.p, unsafe.SliceData(params), n, arena, enough, first)
			var rows [][]any
			for r := *first; r != nil; r = r.next {
				rows = append(rows, values(r))
			}
			a.Rewind(m) // the rows were copied to Go; SQLite still reads the parameters
			for _, row := range rows {
				if !yield(row, nil) || s.a != a {
					return
				}
			}
			if code != C.SQLITE_ROW && code != C.SQLITE_DONE {
				yield(nil, s.db.failed(code))
			}
		}
	}
}

// fill sets parameters from args; text and blobs are copied into a.
func fill(params []C.struct_sq_value, args []any, a *toft.Arena) (err error) {
	for i, arg := range args {
		v := &params[i]
		switch arg := arg.(type) {
		case nil:
			v.kind = C.SQLITE_NULL
		case int:
			v.kind, v.i = C.SQLITE_INTEGER, C.sqlite3_int64(arg)
		case int64:
			v.kind, v.i = C.SQLITE_INTEGER, C.sqlite3_int64(arg)
		case float64:
			v.kind, v.f = C.SQLITE_FLOAT, C.double(arg)
		case string:
			v.kind, v.i = C.SQLITE_TEXT, C.sqlite3_int64(len(arg))
			v.p, err = a.CString(arg)
		case []byte:
			v.kind, v.i, v.p = C.SQLITE_BLOB, C.sqlite3_int64(len(arg)), a.CBytes(arg)
		default:
			err = fmt.Errorf("a %T", arg)
		}
		if err != nil {
			return fmt.Errorf("sqlite: parameter %d: %w", i+1, err)
		}
	}
	return nil
}

// values copies a row out of the arena.
func values(r *C.struct_sq_row) []any {
	row := make([]any, r.n)
	for i, v := range unsafe.Slice(r.values, r.n) {
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
	return row
}
