// SPDX-License-Identifier: MIT OR Apache-2.0

// Package sqlite wraps SQLite, as an example of a wrapper of a C library with Toft. It is small and complete within its
// scope, but it is no driver for database/sql: it has no connection pool, no contexts, no times, and no conversions.
//
// A DB and its statements are for one goroutine at a time. Values are nil, int64, float64, string and []byte; int is
// accepted, too.
package sqlite

// #cgo pkg-config: sqlite3
// #include "bridge.h"
import "C"

import (
	"fmt"
	"unsafe"

	"toft.dev/toft"
)

// A DB is a connection.
type DB struct{ p *C.sqlite3 }

// An Error is an error of SQLite, with its extended result code.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("sqlite: %s (%d)", e.Message, e.Code) }

// Open opens or creates a database, and executes setup there: pragmas, and other settings of each connection. The name
// ":memory:" is a new database in memory.
func Open(name string, setup ...string) (*DB, error) {
	a := toft.Get()
	defer a.Return()
	cname, err := a.CString(name) // without a free: Return frees everything
	if err != nil {
		return nil, fmt.Errorf("sqlite: Open: %w", err)
	}
	out := toft.New[*C.sqlite3](a) // an out-parameter, sqlite3 **
	const flags = C.SQLITE_OPEN_READWRITE | C.SQLITE_OPEN_CREATE | C.SQLITE_OPEN_NOMUTEX | C.SQLITE_OPEN_EXRESCODE
	code := C.sqlite3_open_v2((*C.char)(cname), out, flags, nil)
	db := &DB{*out} // SQLite returns a connection for the message, also after a failure
	if err = db.failed(code); err == nil {
		err = db.Exec(setup...)
	}
	if err != nil {
		C.sqlite3_close(db.p)
		return nil, err
	}
	return db, nil
}

// Close closes the connection. It fails, and changes nothing, if statements are still open.
func (db *DB) Close() error {
	err := db.failed(C.sqlite3_close(db.p))
	if err == nil {
		db.p = nil
	}
	return err
}

// Exec executes SQL without parameters, up to the first error. Each string may hold several statements.
func (db *DB) Exec(sql ...string) error {
	a := toft.Get()
	defer a.Return()
	list, err := a.CStrings(sql) // char **, ended by NULL
	if err != nil {
		return fmt.Errorf("sqlite: Exec: %w", err)
	}
	message := toft.New[*C.char](a) // char **, for a string that SQLite allocates
	code := C.sq_exec_all(db.p, (**C.char)(list), message)
	if *message == nil {
		return db.failed(code)
	}
	err = &Error{int(code), C.GoString(*message)}
	C.sqlite3_free(unsafe.Pointer(*message)) // SQLite owns the string; only its address was in the arena
	return err
}

// failed converts a result code to an error.
func (db *DB) failed(code C.int) error {
	if code == C.SQLITE_OK {
		return nil
	}
	message := C.sqlite3_errstr(code)
	if db.p != nil && C.sqlite3_extended_errcode(db.p) == code {
		message = C.sqlite3_errmsg(db.p)
	}
	return &Error{int(code), C.GoString(message)}
}
