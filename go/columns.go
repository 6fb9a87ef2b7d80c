// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"unsafe"
)

// A Row names a row of a [Table] for as long as it lives, as a [Handle] names a value: index and generation. The zero Row
// names none.
type Row uint32

// A Table is a pool in columns, a structure of arrays: each field of its rows stands in a [Column] of its own,
// contiguous and outside the garbage collector's sight. A loop over one field reads that field only.
//
// Columns are added to an empty table; then rows come and go:
//
//	t, err := toft.NewTable(toft.TableOptions{Packed: true})
//	position, err := toft.AddColumn[Vec3](t)
//	speed, err := toft.AddColumn[Vec3](t)
//	row, err := t.New()
//	*position.At(row) = Vec3{1, 2, 3}
//
// Rows stand where they were made, with holes where rows were freed; or the table is Packed, and Free moves the last row
// into the hole. A Row stays good either way.
//
// A Table and its columns are for one goroutine at a time; several may read at once, and write different elements, while
// none makes or frees rows. A Column keeps its Table; for slices and pointers from a column the notes on [Pool] hold.
type Table struct {
	ledger
	dirty   uint32         // columns may hold anything up to this position, zeros behind it
	place   unsafe.Pointer // packed: positions, by the row's index; else nil
	rows    unsafe.Pointer // rows, by position; the keys if the table is not packed
	columns []*column
	_       [128 - unsafe.Sizeof(ledger{}) - 6*unsafe.Sizeof(uintptr(0))]byte // see Pool
}

// TableOptions of [NewTable]: as [PoolOptions], with rows for slots.
type TableOptions struct {
	Rows    int
	MaxRows int
	Fixed   bool
	Retire  bool

	// Packed keeps the live rows together: they are the first [Table.Len] elements of each column, without holes. A row
	// is found through one more table, and moves when another is freed, so that pointers into columns are good until
	// the next Free only.
	Packed bool
}

// A column is what the table knows of a Column. Positions count from 1 in here: base is one element before the first.
type column struct {
	keys, place, base unsafe.Pointer
	stride            uintptr
	mask              uint32
	store             *store
	table             *Table
}

// A Column holds one field of all rows of a [Table].
type Column[T any] struct{ column }

// NewTable makes a table without columns. It fails as [NewPool] does.
func NewTable(o TableOptions) (*Table, error) {
	t := new(Table)
	err := t.open(o.Rows, o.MaxRows, o.Fixed, o.Retire, 4)
	if t.rows = t.keys; err == nil && o.Packed {
		err = t.openPacked(uint32(o.Rows))
	}
	if err != nil {
		t.close()
		return nil, failed("Table", err)
	}
	t.begin()
	t.cleanup = runtime.AddCleanup(t, (*stores).release, t.memory)
	return t, nil
}

func (t *Table) openPacked(slots uint32) error {
	place, err := t.add(4, 0, slots)
	if err != nil {
		return err
	}
	rows, err := t.add(4, 0, slots)
	if err == nil {
		t.place, t.rows = place.at(0), rows.at(0)
	}
	return err
}

// AddColumn adds a column to a table that has no rows yet. T must hold no pointer; beside that, it fails as [NewPool]
// does, and with [ErrClosed].
func AddColumn[T any](t *Table) (*Column[T], error) {
	c := new(Column[T])
	size := unsafe.Sizeof(*new(T))
	err := refusal[T]()
	switch {
	case err != nil:
	case t.memory == nil:
		err = ErrClosed
	case t.used != 0:
		err = errors.New("the table has rows")
	default:
		c.column = column{keys: t.keys, place: t.place, stride: size, mask: t.mask, table: t}
		// Columns begin a line apart: else all elements of a row would be in the same set of the cache.
		c.store, err = t.add(size, uintptr(len(t.columns)+1)%64, t.room)
	}
	if err != nil {
		return nil, failed(fmt.Sprintf("Column[%v]", typeOf[T]()), err)
	}
	c.base = c.store.at(0)
	t.columns = append(t.columns, &c.column)
	return c, nil
}

// New makes a row, with zeros in all columns. It fails with [ErrFull], [ErrNoMemory] or [ErrClosed], and nothing has
// changed then.
func (t *Table) New() (Row, error) {
	h := t.take()
	if h == 0 {
		var err error
		if h, err = t.takeMore(); err != nil {
			return 0, err
		}
	}
	i := h & t.mask
	if t.place != nil {
		*word(t.place, i) = t.live
		*word(t.rows, t.live) = h
		i = t.live
	}
	if i > t.dirty {
		t.dirty = i // never used: the system gave zeros
	} else {
		for _, c := range t.columns {
			clear(c.bytes(i))
		}
	}
	return Row(h), nil
}

func (c *column) bytes(position uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(c.base, uintptr(position)*c.stride)), c.stride)
}

// Free frees a row. It returns false, and does nothing, for a Row that is not live.
func (t *Table) Free(row Row) bool {
	if !t.give(uint32(row)) {
		return false
	}
	if t.place != nil {
		t.fill(*word(t.place, uint32(row)&t.mask))
	}
	return true
}

// fill moves the last row into the hole that a freed one left.
func (t *Table) fill(hole uint32) {
	last := t.live + 1
	if hole == last {
		return
	}
	h := *word(t.rows, last)
	*word(t.rows, hole) = h
	*word(t.place, h&t.mask) = hole
	for _, c := range t.columns {
		copy(c.bytes(hole), c.bytes(last))
	}
}

// Live tells whether a row is.
func (t *Table) Live(row Row) bool { return t.find(uint32(row)) != 0 }

// Index is where a row stands in the slices of the columns; -1: it is not live. In a packed table that changes when rows
// are freed.
func (t *Table) Index(row Row) int {
	i := t.find(uint32(row))
	if i != 0 && t.place != nil {
		i = *word(t.place, i)
	}
	return int(i) - 1
}

// RowAt is the row at an index of the columns' slices; zero: none is live there.
func (t *Table) RowAt(index int) Row {
	if uint(index) >= uint(t.height()) {
		return 0
	}
	i := uint32(index) + 1
	h := *word(t.rows, i)
	if t.place == nil && h&t.mask != i {
		return 0
	}
	runtime.KeepAlive(t)
	return Row(h)
}

// height is how many elements the columns' slices have.
func (t *Table) height() uint32 {
	if t.place != nil {
		return t.live
	}
	return t.used
}

// Rows ranges over the live rows, in the order of the columns; in a packed table, against it. While it goes on, the
// current row may be freed, and others too: one that is freed before it was reached is not visited. But in a packed table
// the row that takes the place of such another is visited twice. Whether rows made meanwhile are visited is undefined.
func (t *Table) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if t.place != nil {
			for i := t.live; i != 0; i = min(i-1, t.live) {
				if !yield(Row(*word(t.rows, i))) {
					return
				}
			}
			return
		}
		for from := uintptr(0); from < uintptr(t.used); from += 64 {
			for set := t.liveIn(from); set != 0; set &= set - 1 {
				i := uint32(from) + uint32(bits.TrailingZeros64(set)) + 1
				if i > t.used { // cleared, trimmed or closed meanwhile
					return
				}
				if h := *t.key(i); h&t.mask == i && !yield(Row(h)) {
					return
				}
			}
		}
	}
}

// Len is how many rows are live.
func (t *Table) Len() int { return int(t.live) }

// Cap is how many rows have memory, those out of use included.
func (t *Table) Cap() int { return int(t.room) }

// Retired is how many rows are out of use; see Retire in [PoolOptions].
func (t *Table) Retired() int { return int(t.retired) }

// Bytes are the address space that the table takes, and how much of it is committed; see [Pool.Bytes].
func (t *Table) Bytes() (reserved, committed uint64) { return t.memory.bytes() }

// Clear frees all rows at once, at the cost of [Pool.Clear]. Memory is kept: see Trim.
func (t *Table) Clear() { t.clear() }

// Trim gives memory behind the last live row back to the system, as [Pool.Trim] does.
func (t *Table) Trim() {
	t.trim()
	for _, c := range t.columns { // a packed table's rows stand before its highest index
		c.store.empty(c.store.bytes(t.height()), c.store.committed)
	}
}

// Close gives all memory back, that of the columns too. From then on Live is false, New fails with [ErrClosed], At
// returns nil; no pointer or slice from a column may be used. It may be called twice.
func (t *Table) Close() {
	t.close()
	for _, c := range t.columns {
		*c = column{keys: t.keys, mask: t.mask, table: t}
	}
	t.place, t.rows, t.columns, t.dirty = nil, nil, nil, 0
}

// At is the element of a row; nil: the row is not live.
func (c *Column[T]) At(row Row) *T {
	i := uint32(row) & c.mask
	if *word(c.keys, i) != uint32(row) {
		return nil
	}
	if c.place != nil {
		i = *word(c.place, i)
	}
	runtime.KeepAlive(c)
	return (*T)(unsafe.Add(c.base, uintptr(i)*unsafe.Sizeof(*new(T))))
}

// Slice is the column as a whole, on a line of 64 bytes. In a packed table these are the live rows; else all rows up to
// the last that was used, where the elements of freed ones hold what they held: [Table.RowAt] tells them apart. It does
// not grow with the table: take it anew after New and Free.
func (c *Column[T]) Slice() []T {
	n := c.table.height()
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Add(c.base, unsafe.Sizeof(*new(T)))), n)
}
