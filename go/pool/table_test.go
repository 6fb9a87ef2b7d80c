// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"slices"
	"testing"
	"unsafe"
)

func TestColumnsAreAlignedAndApart(t *testing.T) {
	for _, packed := range []bool{false, true} {
		table := newTable(t, TableOptions{Packed: packed})
		var columns []*Column[float32]
		for range 70 {
			columns = append(columns, addColumn[float32](t, table))
		}
		odd := addColumn[[7]byte](t, table)
		for range 1000 {
			mustRow(t, table)
		}
		sets := map[uintptr]int{}
		for i, c := range columns {
			s := c.Slice()
			start := uintptr(unsafe.Pointer(&s[0]))
			if start%64 != 0 || len(s) != 1000 || cap(s) != 1000 {
				t.Errorf("%#x, %d", start, len(s))
			}
			sets[start%4096]++
			for j := range s {
				s[j] = float32(i)
			}
		}
		for at, n := range sets {
			if len(sets) != 64 || n > 2 {
				t.Errorf("%d columns begin at %#x, of %d", n, at, len(sets))
			}
		}
		if s := odd.Slice(); uintptr(unsafe.Pointer(&s[0]))%64 != 0 || unsafe.Pointer(&s[999]) != unsafe.Add(unsafe.Pointer(&s[0]), 999*7) {
			t.Error("a column of 7 bytes")
		}
		for i, c := range columns { // none reaches into another
			if s := c.Slice(); slices.Min(s) != float32(i) || slices.Max(s) != float32(i) {
				t.Error("column ", i)
			}
		}
	}
}

func TestColumnsAreAddedToAnEmptyTable(t *testing.T) {
	table := newTable(t, TableOptions{})
	a := addColumn[int](t, table)
	*a.At(mustRow(t, table)) = 7
	if c, err := AddColumn[int](table); c != nil || err == nil || err.Error() != "pool: Column[int]: the table has rows" {
		t.Error(err)
	}
	for range 5000 {
		mustRow(t, table)
	}
	table.Clear()
	b := addColumn[int](t, table) // as large as the others already
	for range 5000 {
		row := mustRow(t, table)
		if *a.At(row) != 0 || *b.At(row) != 0 {
			t.Fatal(*a.At(row), *b.At(row))
		}
		*b.At(row) = 1
	}
	if _, err := AddColumn[[1 << 20]byte](newTable(t, TableOptions{MaxRows: mostSlots})); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
}

func TestWideColumnsStartSmall(t *testing.T) {
	table := newTable(t, TableOptions{Rows: 3, MaxRows: 8000}) // whose rows have memory from the start
	addColumn[[10_000]byte](t, table)
	if _, committed := table.Bytes(); committed > 256<<10 || table.Cap() < 3 || table.Cap() > 100 {
		t.Errorf("%d bytes are committed for %d rows", committed, table.Cap())
	}
	for range 100 {
		mustRow(t, table)
	}
}
