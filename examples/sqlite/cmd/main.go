// SPDX-License-Identifier: MIT OR Apache-2.0

// The program demonstrates package sqlite, and then measures a round of calls with and without Toft.
package main

import (
	"bytes"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	"toft.dev/toft"
	"toft.dev/toft/examples/sqlite"
)

func main() {
	log.SetFlags(0)
	db, err := sqlite.Open(":memory:", "PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY")
	check(err)
	show(db)
	short := compare(db)
	check(db.Close())
	fmt.Printf("\nLeases not returned: %d\nIn short: %s\n", toft.ReadLeaseStats().Leased, short)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func prepare(db *sqlite.DB, sql string) *sqlite.Stmt {
	s, err := db.Prepare(sql)
	check(err)
	return s
}

// ---- demonstration ----

func show(db *sqlite.DB) {
	check(db.Exec(`CREATE TABLE star(id INTEGER PRIMARY KEY, name TEXT UNIQUE, magnitude REAL, spectrum BLOB)`, `BEGIN`))
	stars := make([][]any, 10_000)
	for i := range stars {
		stars[i] = []any{i, fmt.Sprintf("star %d", i), float64(i%90) / 10, []byte{byte(i), 0, byte(i >> 8)}}
	}
	insert := prepare(db, `INSERT INTO star VALUES (?, ?, ?, ?)`)
	defer insert.Close()
	start := time.Now()
	check(insert.ExecEach(stars))
	check(db.Exec(`COMMIT`))
	fmt.Printf("%d rows inserted, %d parameters bound in a call: %.1f ms\n", len(stars), 4*256, ms(start))

	query := prepare(db, `SELECT * FROM star WHERE id >= ?`)
	defer query.Close()
	start = time.Now()
	rows := 0
	for row, err := range query.Query(0) {
		check(err)
		if row[1] != stars[rows][1] || !bytes.Equal(row[3].([]byte), stars[rows][3].([]byte)) {
			log.Fatal("not what was inserted: ", row)
		}
		rows++
	}
	fmt.Printf("%d rows read, some 64 KiB in a call, and compared: %.1f ms\n", rows, ms(start))
	fmt.Println("The error for one more:", insert.Exec(10_000, "star 7", nil, nil))
}

func ms(start time.Time) float64 { return time.Since(start).Seconds() * 1e3 }

// ---- measurement ----

type contender struct {
	name    string
	prepare func(db *sqlite.DB, sql string) *sqlite.Stmt
	round   func(s *sqlite.Stmt, args []any) []any // bind, step, read the columns, reset
}

// compare prints a line for each way, and returns one about all.
func compare(db *sqlite.DB) string {
	contenders := []contender{
		{"C.CString, C.CBytes, C.free", mallocPrepare, mallocEach},
		{"Go's memory, copied by SQLite", mallocPrepare, copyEach},
		{"Toft", prepare, toftEach},
		{"one call, C.malloc, C.free", mallocPrepare, mallocArray},
		{"one call, Toft", prepare, toftQuery},
	}
	args := []any{int64(1), 2.5, "a name", []byte(strings.Repeat("blob", 16)), int64(-1), nil,
		strings.Repeat("a longer text ", 20), []byte{0, 1}}
	sql := "SELECT ?, ?, ?, ?, ?, ?, ?, ?"

	const rounds, calls = 101, 300
	times := map[string]*[2][]float64{}
	for r := range rounds {
		for i := range contenders {
			c := contenders[(r+i)%len(contenders)]
			if r == 0 {
				times[c.name] = &[2][]float64{}
			}
			start := time.Now()
			for range calls {
				s := c.prepare(db, sql)
				mustEqual(c.round(s, args), args)
				s.Close()
			}
			took := time.Since(start)
			times[c.name][0] = append(times[c.name][0], float64(took)/calls)
			s := c.prepare(db, sql)
			start = time.Now()
			for range calls {
				mustEqual(c.round(s, args), args)
			}
			took = time.Since(start)
			times[c.name][1] = append(times[c.name][1], float64(took)/calls)
			s.Close()
		}
	}
	fmt.Printf("\nNanoseconds for a round: bind 8 parameters, 4 of them text and blobs, step, read 8 columns, reset.\n"+
		"Medians of %d rotated rounds of %d calls; each result was compared.\n\n%-32s%16s%18s\n", rounds, calls, "",
		"with prepare", "prepared before")
	for _, c := range contenders {
		fmt.Printf("%-32s%16.0f%18.0f\n", c.name, median(times[c.name][0]), median(times[c.name][1]))
	}
	prepared := func(name string) float64 { return median(times[name][1]) / 1e3 }
	return fmt.Sprintf("SQLite from Go, 8 parameters bound, a row read: %.1f us with Toft; %.1f by C.malloc, %.1f a C.CString each",
		prepared("one call, Toft"), prepared("one call, C.malloc, C.free"), prepared("C.CString, C.CBytes, C.free"))
}

func median(t []float64) float64 { slices.Sort(t); return t[len(t)/2] }

func mustEqual(row, args []any) {
	for i, v := range row {
		b, blob := v.([]byte)
		if blob && !bytes.Equal(b, args[i].([]byte)) || !blob && v != args[i] {
			log.Fatalf("column %d is %v, not %v", i, v, args[i])
		}
	}
}

func toftEach(s *sqlite.Stmt, args []any) []any {
	for i, arg := range args {
		check(s.Bind(i+1, arg))
	}
	return step(s, len(args))
}

// step runs and ends a round whose parameters are bound.
func step(s *sqlite.Stmt, n int) []any {
	_, err := s.Step()
	check(err)
	row := make([]any, n)
	for i := range row {
		row[i] = s.Column(i)
	}
	s.Reset()
	return row
}

func toftQuery(s *sqlite.Stmt, args []any) (found []any) {
	for row, err := range s.Query(args...) {
		check(err)
		found = row
	}
	return found
}
