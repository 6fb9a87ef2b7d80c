// SPDX-License-Identifier: MIT OR Apache-2.0

// The program demonstrates package sqlite.
package main

import (
	"bytes"
	"fmt"
	"log"
	"time"

	"toft.dev/toft"
	"toft.dev/toft/examples/sqlite"
)

func main() {
	log.SetFlags(0)
	db, err := sqlite.Open(":memory:", "PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY")
	check(err)
	inserted, read := show(db)
	check(db.Close())
	fmt.Printf("\nLeases not returned: %d\nIn short: SQLite from Go: 10,000 rows inserted in %.1f ms and read in %.1f ms\n",
		toft.ReadLeaseStats().Leased, inserted, read)
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

// show returns the milliseconds of inserting and of reading.
func show(db *sqlite.DB) (inserted, read float64) {
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
	inserted = ms(start)
	fmt.Printf("%d rows inserted, %d parameters bound in a call: %.1f ms\n", len(stars), 4*256, inserted)

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
	read = ms(start)
	fmt.Printf("%d rows read, some 64 KiB in a call, and compared: %.1f ms\n", rows, read)
	fmt.Println("The error for one more:", insert.Exec(10_000, "star 7", nil, nil))
	return inserted, read
}

func ms(start time.Time) float64 { return time.Since(start).Seconds() * 1e3 }
