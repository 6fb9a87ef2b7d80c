// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"unsafe"
)

// A Row refers to a row of a [Table] for as long as the row lives, as a [Handle] does: it has an index and a generation.
// The zero Row refers to no row.
type Row uint32

// A Table is a pool whose rows are stored in columns, a structure of arrays: each field of the rows is in a [Column] of
// its own, contiguous and outside the garbage collector's heap. A loop over one field reads the memory of that field
// only.
//
// Columns are added to an empty table; then rows are made and freed:
//
//	t, err := pool.NewTable(pool.TableOptions{Packed: true})
//	position, err := t.AddColumn[Vec3]() // before Go 1.27: pool.AddColumn[Vec3](t)
//	speed, err := t.AddColumn[Vec3]()
//	row, err := t.New()
//	*position.At(row) = Vec3{1, 2, 3}
//
// Rows stay where they were made, with holes where rows were freed. In a packed table Free moves the last row into the
// hole. A Row stays valid in both cases.
//
// A Table and its columns must not be copied; see [Pool]. The zero Table is a closed one, and the zero Column is one of a
// closed table. They must not be used by several goroutines at the same time, except for reading, and for writing
// different elements, while no goroutine makes or frees rows. A Column keeps its Table reachable; for slices and pointers
// from a column the rules of [Pool] hold.
type Table struct {
	_ noCopy
	slots
	dirty     uint32         // the elements up to this position may be nonzero
	positions unsafe.Pointer // packed: the position of a row, by its index; else nil
	rows      unsafe.Pointer // the row at a position; the keys if the table is not packed
	columns   []*column
	_         [128 - unsafe.Sizeof(slots{}) - 6*unsafe.Sizeof(uintptr(0))]byte // two tables do not share a cache line
}

// TableOptions are the options of [NewTable]. Rows, MaxRows, Fixed and Retire are Slots, MaxSlots, Fixed and Retire of
// [Options].
type TableOptions struct {
	Rows    int
	MaxRows int
	Fixed   bool
	Retire  bool

	// Packed keeps the live rows together: they are the first [Table.Len] elements of each column. Finding a row takes
	// one more lookup, and a row moves when another is freed, so that pointers into columns are valid until the next
	// Free only.
	Packed bool
}

// A column is the part of a Column that does not depend on its type. Positions count from 1 here: base is one element
// before the first.
type column struct {
	keys, positions, base unsafe.Pointer
	stride                uintptr
	mask                  uint32
	store                 *store
	table                 *Table
}

// A Column holds one field of all rows of a [Table].
type Column[T any] struct {
	_ noCopy
	column
}

// NewTable returns a table without columns. It fails as [New] does.
func NewTable(o TableOptions) (*Table, error) {
	t := new(Table)
	var strides []uintptr
	if o.Packed {
		strides = []uintptr{4, 4}
	}
	if err := t.open(o.Rows, o.MaxRows, o.Fixed, o.Retire, strides...); err != nil {
		t.close()
		return nil, wrap("Table", err)
	}
	t.rows = t.keys
	if o.Packed {
		t.positions, t.rows = t.memory.all[1].at(0), t.memory.all[2].at(0)
	}
	t.start()
	t.cleanup = runtime.AddCleanup(t, (*stores).release, t.memory)
	return t, nil
}

// AddColumn adds a column to a table that has no rows yet. It fails as [New] does, and with [ErrClosed].
func AddColumn[T any](t *Table) (*Column[T], error) {
	t.check()
	c := new(Column[T])
	size := unsafe.Sizeof(*new(T))
	err := checkType[T]()
	switch {
	case err != nil:
	case t.memory == nil:
		err = ErrClosed
	case t.used != 0:
		err = errors.New("the table has rows")
	default:
		c.column = column{keys: t.keys, positions: t.positions, stride: size, mask: t.mask, table: t}
		// Each column starts one line later than the one before: otherwise all elements of a row would be in the same
		// set of a cache.
		c.store = newStore(t.max, size, uintptr(len(t.columns)+1)%64)
		if err = t.add(c.store); err == nil {
			t.capacity, t.top = t.memory.capacity(t.max), 0 // the column may have memory for fewer rows
		}
	}
	if err != nil {
		return nil, wrap(fmt.Sprintf("Column[%v]", typeOf[T]()), err)
	}
	c.base = c.store.at(0)
	t.columns = append(t.columns, &c.column)
	return c, nil
}

// New makes a row whose elements are zero. It fails with [ErrFull], [ErrNoMemory] or [ErrClosed]; the table is then
// unchanged.
func (t *Table) New() (Row, error) {
	h := t.take()
	if h == 0 {
		var err error
		if h, err = t.takeSlow(); err != nil {
			return 0, err
		}
	}
	i := h & t.mask
	if t.positions != nil {
		*word(t.positions, i) = t.live
		*word(t.rows, t.live) = h
		i = t.live
	}
	if i > t.dirty {
		t.dirty = i // never used: the system provides zeros
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

// Free frees a row. It reports false and does nothing if the row is not live.
func (t *Table) Free(row Row) bool {
	if !t.release(uint32(row)) {
		return false
	}
	if t.positions != nil {
		t.fill(*word(t.positions, uint32(row)&t.mask))
	}
	return true
}

// fill moves the last row to the position of a freed one.
func (t *Table) fill(hole uint32) {
	last := t.live + 1
	if hole == last {
		return
	}
	h := *word(t.rows, last)
	*word(t.rows, hole) = h
	*word(t.positions, h&t.mask) = hole
	for _, c := range t.columns {
		copy(c.bytes(hole), c.bytes(last))
	}
}

// Live reports whether a row is live.
func (t *Table) Live(row Row) bool { return t.find(uint32(row)) != 0 }

// Index returns the index of a row in Slice and Storage of the columns, or -1 if the row is not live. In a packed table it
// changes when rows are freed.
func (t *Table) Index(row Row) int {
	i := t.find(uint32(row))
	if i != 0 && t.positions != nil {
		i = *word(t.positions, i)
	}
	return int(i) - 1
}

// RowAt returns the row at an index of the columns' Storage, or 0 if no row is live there.
func (t *Table) RowAt(index int) Row {
	if uint(index) >= uint(t.height()) {
		return 0
	}
	i := uint32(index) + 1
	h := *word(t.rows, i)
	if t.positions == nil && h&t.mask != i {
		return 0
	}
	runtime.KeepAlive(t)
	return Row(h)
}

// height returns the length of the columns' Storage.
func (t *Table) height() uint32 {
	if t.positions != nil {
		return t.live
	}
	return t.used
}

// Rows returns an iterator over the live rows in the order of the columns, or in the reverse order if the table is
// packed. The loop may free the current row and others: a row that is freed before it is reached is not visited. In a
// packed table the row that is moved to the position of such another row is visited twice. Whether rows made by the loop
// are visited is undefined.
func (t *Table) Rows() iter.Seq[Row] {
	t.check()
	return func(yield func(Row) bool) {
		if t.positions != nil {
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
				if i > t.used { // the loop cleared, trimmed or closed the table
					return
				}
				if h := *t.key(i); h&t.mask == i && !yield(Row(h)) {
					return
				}
			}
		}
	}
}

// Len returns the number of live rows.
func (t *Table) Len() int { return int(t.live) }

// Cap returns the number of rows that have memory, retired ones included.
func (t *Table) Cap() int { return int(t.capacity) }

// Retired returns the number of retired rows; see [Options].
func (t *Table) Retired() int { return int(t.retired) }

// Bytes returns how much address space the table has reserved and how much of it is committed; see [Pool.Bytes].
func (t *Table) Bytes() (reserved, committed uint64) {
	t.check()
	return t.memory.bytes()
}

// Clear frees all rows, at the cost of [Pool.Clear]. It keeps the memory; see [Table.Trim].
func (t *Table) Clear() { t.clear() }

// Trim returns the memory after the last live row to the system, as [Pool.Trim] does.
func (t *Table) Trim() {
	t.trim()
	for _, c := range t.columns { // the rows of a packed table end before its highest index
		c.store.discard(c.store.bytes(t.height()), c.store.committed)
	}
}

// Close frees all memory, that of the columns included. Afterwards Live reports false, New fails with [ErrClosed] and At
// returns nil; no pointer or slice from a column may be used. A second Close does nothing.
func (t *Table) Close() {
	t.close()
	for _, c := range t.columns {
		*c = column{}
	}
	t.positions, t.rows, t.columns, t.dirty = nil, nil, nil, 0
}

// At returns the element of a row, or nil if the row is not live.
func (c *Column[T]) At(row Row) *T {
	i := uint32(row) & c.mask
	if i != 0 && *word(c.keys, i) == uint32(row) {
		if c.positions != nil {
			i = *word(c.positions, i)
		}
		runtime.KeepAlive(c)
		return (*T)(unsafe.Add(c.base, uintptr(i)*unsafe.Sizeof(*new(T))))
	}
	return nil
}

// Slice returns the elements of the live rows, first to last, aligned to 64 bytes. It panics if the rows have holes, which is
// so in a table without Packed from a Free on until other rows have taken the places: use [Table.Rows] and At, or Storage. The
// slice does not change with the table: call Slice again after New and Free.
func (c *Column[T]) Slice() []T {
	t := c.table
	if t == nil || t.live == 0 {
		return nil
	}
	if t.used != t.live && t.positions == nil {
		panic("pool: Slice of a Column with holes: use Rows and At, Storage, or a Packed table")
	}
	return unsafe.Slice((*T)(unsafe.Add(c.base, unsafe.Sizeof(*new(T)))), t.live)
}

// Storage returns the elements of all rows up to the last used one, as Slice does. Those of freed rows keep their contents;
// [Table.RowAt] returns 0 for them.
func (c *Column[T]) Storage() []T {
	if c.table == nil || c.table.height() == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Add(c.base, unsafe.Sizeof(*new(T)))), c.table.height())
}
