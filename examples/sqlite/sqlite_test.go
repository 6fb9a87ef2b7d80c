// SPDX-License-Identifier: MIT OR Apache-2.0

package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"toft.dev/toft"
	"toft.dev/toft/leasetest"
)

// After all tests every lease is returned; with TOFT_DEBUG=1 leaked ones are named.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, lease := range leasetest.Leases() {
		fmt.Println(lease)
		code = 1
	}
	if n := toft.ReadLeaseStats().Leased; n != 0 {
		fmt.Println("leases not returned:", n)
		code = 1
	}
	os.Exit(code)
}

func open(t *testing.T, setup ...string) *DB {
	t.Helper()
	db, err := Open(":memory:", setup...)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

func prepare(t *testing.T, db *DB, sql string) *Stmt {
	t.Helper()
	s, err := db.Prepare(sql)
	check(t, err)
	t.Cleanup(s.Close)
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func all(t *testing.T, rows iter.Seq2[[]any, error]) (out [][]any) {
	t.Helper()
	for row, err := range rows {
		check(t, err)
		out = append(out, row)
	}
	return out
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

// step runs a round with single calls.
func step(t *testing.T, s *Stmt, args ...any) (out [][]any) {
	t.Helper()
	defer s.Reset()
	for i, arg := range args {
		check(t, s.Bind(i+1, arg))
	}
	for {
		more, err := s.Step()
		check(t, err)
		if !more {
			return out
		}
		row := []any{}
		for i := range s.Columns() {
			row = append(row, s.Column(i))
		}
		out = append(out, row)
	}
}

// ---- values ----

var interesting = []any{
	nil, int64(0), int64(math.MinInt64), int64(math.MaxInt64), 0.5, math.Inf(1), -math.MaxFloat64, "", "text",
	"ünïcödé ✓", strings.Repeat("long ", 50_000), []byte{}, []byte{0}, []byte("a\x00b\x00"),
	bytes.Repeat([]byte{0, 1}, 50_000),
}

func TestValues(t *testing.T) {
	db := open(t)
	s := prepare(t, db, "SELECT ?, ?")
	for _, v := range interesting {
		want := [][]any{{v, v}}
		equal(t, step(t, s, v, v), want)
		equal(t, all(t, s.Query(v, v)), want)
	}
	equal(t, all(t, s.Query(7, math.NaN())), [][]any{{int64(7), nil}})
	equal(t, step(t, s, 7, math.NaN()), [][]any{{int64(7), nil}})
	s = prepare(t, db, "SELECT typeof(?), typeof(?), length(?)")
	equal(t, all(t, s.Query([]byte(nil), nil, "äö")), [][]any{{"blob", "null", int64(2)}})
}

// Bound values stay unchanged while other leases are used and the collector runs.
func TestLifetime(t *testing.T) {
	db := open(t)
	s := prepare(t, db, "SELECT ?, ?")
	text, blob := strings.Repeat("x", 300), bytes.Repeat([]byte{7}, 5000)
	check(t, s.Bind(1, text))
	check(t, s.Bind(2, blob))
	for range 20 {
		a := toft.Get()
		for _, b := range []int{10, 100, 10_000} {
			clear(toft.MakeSlice[byte](a, b))
		}
		a.Return()
		runtime.GC()
	}
	more, err := s.Step()
	check(t, err)
	equal(t, []any{more, s.Column(0), s.Column(1)}, []any{true, text, blob})
	s.Reset()
	more, err = s.Step() // nothing is bound any more
	check(t, err)
	equal(t, []any{more, s.Column(0), s.Column(1)}, []any{true, nil, nil})
	s.Reset()
}

// ---- tables ----

func TestCRUD(t *testing.T) {
	name := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(name, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); CREATE TABLE u(x)", "PRAGMA user_version = 7")
	check(t, err)
	insert, err := db.Prepare("INSERT INTO t VALUES (?, ?, ?)")
	check(t, err)
	check(t, insert.Exec(1, "one", nil))
	equal(t, step(t, insert, 2, []byte{0, 2, 0}, 2.5), [][]any(nil))
	check(t, insert.ExecEach([][]any{{3, nil, nil}, {4, "", []byte{}}, {5, "last", nil}}))
	check(t, insert.ExecEach(nil))
	insert.Close()
	update, err := db.Prepare("UPDATE t SET b = ? WHERE a IS ?")
	check(t, err)
	check(t, update.Exec("was null", nil))
	update.Close()
	check(t, db.Exec("DELETE FROM t WHERE id = 5"))
	check(t, db.Close())

	db, err = Open(name)
	check(t, err)
	want := [][]any{
		{int64(1), "one", nil}, {int64(2), []byte{0, 2, 0}, 2.5}, {int64(3), nil, "was null"}, {int64(4), "", []byte{}},
	}
	read, err := db.Prepare("SELECT * FROM t ORDER BY id -- no parameter\n")
	check(t, err)
	equal(t, all(t, read.Query()), want)
	equal(t, step(t, read), want)
	read.Close()
	version, err := db.Prepare("PRAGMA user_version;")
	check(t, err)
	equal(t, all(t, version.Query()), [][]any{{int64(7)}})
	version.Close()
	check(t, db.Close())
}

// Random changes, with both APIs, against a map.
func TestRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	db := open(t, "CREATE TABLE t(k INTEGER PRIMARY KEY, v, w)")
	put, drop := prepare(t, db, "REPLACE INTO t VALUES (?, ?, ?)"), prepare(t, db, "DELETE FROM t WHERE k = ?")
	get := prepare(t, db, "SELECT v, w FROM t WHERE k = ?")
	model := map[int64][]any{}
	var batch [][]any
	check(t, db.Exec("BEGIN"))
	for range 10_000 {
		k, v, w := random.Int64N(15_000), value(random), value(random)
		model[k] = []any{v, w}
		batch = append(batch, []any{k, v, w})
		if random.IntN(600) == 0 {
			check(t, put.ExecEach(batch))
			batch = nil
		}
	}
	check(t, put.ExecEach(batch))
	check(t, db.Exec("COMMIT"))
	for range 10_000 {
		k := random.Int64N(15_000)
		switch random.IntN(4) {
		case 0:
			model[k] = []any{value(random), value(random)}
			step(t, put, k, model[k][0], model[k][1])
		case 1:
			delete(model, k)
			check(t, drop.Exec(k))
		default:
			var want [][]any
			if row := model[k]; row != nil {
				want = [][]any{row}
			}
			equal(t, all(t, get.Query(k)), want)
			equal(t, step(t, get, k), want)
		}
	}
	found := map[int64][]any{}
	for row, err := range prepare(t, db, "SELECT * FROM t").Query() {
		check(t, err)
		found[row[0].(int64)] = row[1:]
	}
	if !maps.EqualFunc(found, model, func(a, b []any) bool { return reflect.DeepEqual(a, b) }) {
		t.Fatalf("%d rows are not the %d of the map", len(found), len(model))
	}
}

func value(random *rand.Rand) any {
	switch random.IntN(5) {
	case 0:
		return nil
	case 1:
		return int64(random.Uint64())
	case 2:
		return random.NormFloat64()
	}
	b := make([]byte, int(math.Exp(random.Float64()*7)))
	for i := range b {
		b[i] = byte(random.IntN(256))
	}
	if random.IntN(2) == 0 {
		return b
	}
	return strings.ToValidUTF8(strings.ReplaceAll(string(b), "\x00", "."), "?")
}

func TestConcurrent(t *testing.T) {
	var group sync.WaitGroup
	for g := range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := work(g); err != nil {
				t.Error(err)
			}
		}()
	}
	group.Wait()
}

func work(g int) error {
	db, err := Open(":memory:", "CREATE TABLE t(i, s, b)")
	if err != nil {
		return err
	}
	insert, err := db.Prepare("INSERT INTO t VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	read, err := db.Prepare("SELECT * FROM t WHERE i < ? ORDER BY i")
	if err != nil {
		return err
	}
	const rows = 500
	for i := range rows {
		if err := insert.Exec(i, fmt.Sprint(g, i), bytes.Repeat([]byte{byte(g)}, i)); err != nil {
			return err
		}
		runtime.Gosched()
	}
	n := 0
	for row, err := range read.Query(rows) {
		if err != nil {
			return err
		}
		if want := []any{int64(n), fmt.Sprint(g, n), bytes.Repeat([]byte{byte(g)}, n)}; !reflect.DeepEqual(row, want) {
			return fmt.Errorf("%v is not %v", row, want)
		}
		n++
	}
	if n != rows {
		return fmt.Errorf("%d rows", n)
	}
	insert.Close()
	read.Close()
	return db.Close()
}

// ---- loops ----

func TestLoops(t *testing.T) {
	db := open(t, "CREATE TABLE t(i, b)")
	insert := prepare(t, db, "INSERT INTO t VALUES (?, ?)")
	lists := make([][]any, 2000)
	for i := range lists {
		lists[i] = []any{i, bytes.Repeat([]byte{byte(i)}, 1000)}
	}
	check(t, insert.ExecEach(lists))
	// Each row reads the parameters, which must live through all batches.
	s := prepare(t, db, "SELECT i FROM t WHERE substr(?, 1 + i % 5, 1) = substr('small', 1 + i % 5, 1) AND "+
		"substr(?, 1 + i * 50, 1) = X'01' ORDER BY rowid")
	big := bytes.Repeat([]byte{1}, 100_000)
	inner := prepare(t, db, "SELECT b FROM t WHERE i = ?")
	for _, stop := range []int{0, 1, 1999, 2000} {
		n := 0
		for row, err := range s.Query("small", big) {
			check(t, err)
			if n == stop {
				break
			}
			equal(t, row[0], int64(n))
			if n%100 == 0 {
				equal(t, all(t, inner.Query(n)), [][]any{{lists[n][1]}})
				if err := s.Exec(0, 1); !errors.Is(err, errInUse) {
					t.Fatal(err)
				}
				for _, err := range s.Query(0, 1) {
					if !errors.Is(err, errInUse) {
						t.Fatal(err)
					}
				}
			}
			n++
		}
		equal(t, n, stop)
	}
	n := 0
	for _, err := range s.Query("small", big) {
		check(t, err)
		s.Reset() // ends the loop
		n++
	}
	equal(t, n, 1)
	func() {
		defer func() { equal(t, recover(), "stop") }()
		for range s.Query("small", big) {
			panic("stop")
		}
	}()
	equal(t, len(all(t, s.Query("small", big[:500]))), 10)
	for i, row := range all(t, prepare(t, db, "SELECT i, ?, randomblob(40) FROM t").Query("small")) {
		equal(t, row[:2], []any{int64(i), "small"})
	}
	closed, err := db.Prepare("SELECT i FROM t")
	check(t, err)
	for _, err := range closed.Query() {
		check(t, err)
		closed.Close()
	}
}

// ---- errors ----

func TestErrors(t *testing.T) {
	db := open(t, "CREATE TABLE t(k INTEGER PRIMARY KEY, v NOT NULL)", "INSERT INTO t VALUES (1, 1)")
	wants := func(err error, code int, message string) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.Code != code || e.Message != message {
			t.Fatalf("got %v, want %s (%d)", err, message, code)
		}
	}
	says := func(err error, message string) {
		t.Helper()
		if err == nil || err.Error() != message {
			t.Fatalf("got %v, want %s", err, message)
		}
	}
	_, err := Open(t.TempDir())
	wants(err, 14, "unable to open database file")
	_, err = Open(":memory:", "PRAGMA foreign_keys = ON", "CREATE BLUNDER")
	wants(err, 1, `near "BLUNDER": syntax error`)
	wants(db.Exec("SELECT 1", "SELECT 2; SELECT x", "CREATE BLUNDER"), 1, "no such column: x")
	_, err = db.Prepare("SELEC 1")
	wants(err, 1, `near "SELEC": syntax error`)
	_, err = db.Prepare(" -- nothing")
	says(err, "sqlite: Prepare: no statement")
	_, err = db.Prepare("SELECT 1; SELECT 2")
	says(err, "sqlite: Prepare: more than one statement")

	insert := prepare(t, db, "INSERT INTO t VALUES (?, ?)")
	wants(insert.Exec(1, 2), 1555, "UNIQUE constraint failed: t.k")
	wants(insert.ExecEach([][]any{{5, 1}, {6, nil}, {7, 1}}), 1299, "NOT NULL constraint failed: t.v")
	wants(insert.Exec(1), 25, "column index out of range")
	wants(insert.Exec(1, 2, 3), 25, "column index out of range")
	wants(insert.Bind(3, 3), 25, "column index out of range")
	says(insert.ExecEach([][]any{{8, 1}, {9}}), "sqlite: lists of 2 and 1 arguments")
	says(insert.Exec(1, struct{}{}), "sqlite: parameter 2: a struct {}")
	says(insert.Bind(1, uint8(1)), "sqlite: parameter 1: a uint8")
	check(t, insert.Bind(1, 1))
	check(t, insert.Bind(2, "x"))
	says(insert.Exec(1, 2), errInUse.Error())
	_, err = insert.Step()
	wants(err, 1555, "UNIQUE constraint failed: t.k")
	insert.Reset()
	for row, err := range insert.Query(1, 2) {
		equal(t, row, []any(nil))
		wants(err, 1555, "UNIQUE constraint failed: t.k")
	}
	for _, err := range prepare(t, db, "SELECT k FROM t").Query(1) {
		wants(err, 25, "column index out of range")
	}
	equal(t, all(t, prepare(t, db, "SELECT k FROM t").Query()), [][]any{{int64(1)}, {int64(5)}})
	n := 0
	late := prepare(t, db, "SELECT abs(column1) FROM (VALUES (1), (-2), (-9223372036854775807 - 1))")
	for row, err := range late.Query() {
		if n++; n == 3 {
			equal(t, row, []any(nil))
			wants(err, 1, "integer overflow")
		}
	}
	equal(t, n, 3) // the rows before the error were returned

	wants(db.Close(), 5, "unable to close due to unfinalized statements or unfinished backups")
}

func TestNUL(t *testing.T) {
	db := open(t)
	s := prepare(t, db, "SELECT ?, ?")
	_, openErr := Open("a\x00b")
	_, setupErr := Open(":memory:", "SELECT 1", "SELECT '\x00'")
	_, prepareErr := db.Prepare("SELECT '\x00'")
	execErr, argErr, bindErr := db.Exec("SELECT 1\x00"), s.Exec("a", "b\x00"), s.Bind(1, "\x00")
	for i, err := range []error{openErr, setupErr, prepareErr, execErr, argErr, bindErr} {
		if !errors.Is(err, toft.ErrNUL) {
			t.Error(i, err)
		}
	}
	s.Reset()
	for _, err := range s.Query("\x00", "") {
		if !errors.Is(err, toft.ErrNUL) {
			t.Error(err)
		}
	}
}

// ---- leaks ----

// A statement that is never closed is detected, and named.
func TestForgotten(t *testing.T) {
	defer leasetest.SetDebug(leasetest.SetDebug(true))
	s := prepare(t, open(t), "SELECT ?")
	before := len(leasetest.Leases())
	check(t, s.Bind(1, "text"))
	found := leasetest.Leases()
	equal(t, len(found), before+1)
	if name := found[before].Got[0].Function; !strings.HasSuffix(name, "sqlite.(*Stmt).arena") {
		t.Error(name)
	}
	s.Reset()
	equal(t, len(leasetest.Leases()), before)
}

func TestCopyOfHeader(t *testing.T) {
	original, err := os.ReadFile("../../abi/toft_abi.h")
	check(t, err)
	ours, err := os.ReadFile("toft_abi.h")
	check(t, err)
	if !bytes.Equal(ours, original) {
		t.Error("toft_abi.h differs from abi/toft_abi.h: copy it again")
	}
}
