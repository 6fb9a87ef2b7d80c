// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/testutil"
)

func newTable(t testing.TB, o TableOptions) *Table {
	t.Helper()
	table, err := NewTable(o)
	needsSpace(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Close)
	return table
}

func addColumn[T any](t testing.TB, table *Table) *Column[T] {
	t.Helper()
	c, err := AddColumn[T](table)
	needsSpace(t, err)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustRow(t testing.TB, table *Table) Row {
	t.Helper()
	row, err := table.New()
	if err != nil || !table.Live(row) {
		t.Fatal(row, err)
	}
	return row
}

// ---- a table compared with a map ----

var tableOptions = map[string]TableOptions{
	"growing":      {},
	"bounded":      {Rows: 20, MaxRows: 70},
	"fixed":        {Rows: 50, Fixed: true},
	"narrow":       {MaxRows: 1 << 28},
	"retire":       {Rows: 40, MaxRows: 1 << 25, Retire: true},
	"retire early": {MaxRows: 1 << 28, Retire: true},
}

type vec [3]float32

// A tableModel is a table and its expected contents.
type tableModel struct {
	t     testing.TB
	table *Table
	o     TableOptions
	a     *Column[byte]
	b     *Column[vec]
	c     *Column[uint64]
	d     *Column[struct{}]
	rows  map[Row]uint64 // what was written there
	order []Row
	freed map[Row]bool
}

func newTableModel(t testing.TB, o TableOptions) *tableModel {
	table, err := NewTable(o)
	needsSpace(t, err)
	if err != nil {
		t.Fatal(err)
	}
	return &tableModel{t, table, o, addColumn[byte](t, table), addColumn[vec](t, table), addColumn[uint64](t, table),
		addColumn[struct{}](t, table), map[Row]uint64{}, nil, map[Row]bool{}}
}

func (m *tableModel) write(row Row, v uint64) {
	*m.a.At(row), *m.b.At(row), *m.c.At(row), *m.d.At(row) = byte(v), vec{float32(byte(v)), 1, 2}, v, struct{}{}
	m.rows[row] = v
}

func (m *tableModel) holds(i int, v uint64) bool {
	return m.a.Slice()[i] == byte(v) && m.b.Slice()[i] == vec{float32(byte(v)), 1, 2} && m.c.Slice()[i] == v
}

func (m *tableModel) add(v uint64) {
	row, err := m.table.New()
	if err != nil {
		if err != ErrFull || row != 0 || len(m.rows) != int(m.table.max-m.table.retired) {
			m.t.Fatal(row, err)
		}
		return
	}
	if _, live := m.rows[row]; live || row == 0 || m.freed[row] && m.o.Retire {
		m.t.Fatalf("row %#x again", row)
	}
	if *m.a.At(row) != 0 || *m.b.At(row) != (vec{}) || *m.c.At(row) != 0 {
		m.t.Fatalf("row %#x: %v %v %v", row, *m.a.At(row), *m.b.At(row), *m.c.At(row))
	}
	delete(m.freed, row)
	m.write(row, v)
	m.order = append(m.order, row)
}

// forget leaves the row in m.order to the caller, because a search for each row would take quadratic time.
func (m *tableModel) forget(row Row) {
	delete(m.rows, row)
	m.freed[row] = true
}

func (m *tableModel) free(i int) {
	if len(m.order) == 0 {
		return
	}
	i %= len(m.order)
	row := m.order[i]
	m.order = slices.Delete(m.order, i, i+1)
	if !m.table.Free(row) || m.table.Free(row) {
		m.t.Fatalf("Free(%#x)", row)
	}
	m.forget(row)
}

func (m *tableModel) none(row Row) {
	if _, live := m.rows[row]; live {
		return
	}
	before := m.table.slots
	if m.table.Live(row) || m.table.Index(row) != -1 || m.a.At(row) != nil || m.b.At(row) != nil || m.c.At(row) != nil ||
		m.d.At(row) != nil || m.table.Free(row) || m.table.slots != before {
		m.t.Fatalf("row %#x is live", row)
	}
}

func (m *tableModel) look() {
	m.t.Helper()
	n := len(m.a.Slice())
	if m.table.Len() != len(m.rows) || m.table.Len() > m.table.Cap() || m.o.Packed && n != len(m.rows) ||
		len(m.b.Slice()) != n || len(m.c.Slice()) != n || len(m.d.Slice()) != n {
		m.t.Fatalf("%d rows, %d of %d, slices of %d", len(m.rows), m.table.Len(), m.table.Cap(), n)
	}
	live := 0
	for i := range n {
		row := m.table.RowAt(i)
		v, ok := m.rows[row]
		if ok != (row != 0) || ok && (m.table.Index(row) != i || m.c.At(row) != &m.c.Slice()[i] || !m.holds(i, v)) {
			m.t.Fatalf("at %d: row %#x, Index %d", i, row, m.table.Index(row))
		}
		if ok {
			live++
		}
	}
	if live != len(m.rows) || m.table.RowAt(-1) != 0 || m.table.RowAt(n) != 0 {
		m.t.Fatalf("%d of %d rows by index", live, len(m.rows))
	}
	seen, last := map[Row]uint64{}, -1
	for row := range m.table.Rows() {
		i := m.table.Index(row)
		if m.o.Packed && last != -1 && i != last-1 || !m.o.Packed && i <= last {
			m.t.Fatalf("index %d after %d", i, last)
		}
		last = i
		seen[row] = *m.c.At(row)
	}
	if !maps.Equal(seen, m.rows) {
		m.t.Fatalf("Rows gave %d, not %d", len(seen), len(m.rows))
	}
	looked := 0
	for row := range m.freed { // a sample
		if m.none(row); looked == 300 {
			break
		}
		looked++
	}
}

func (m *tableModel) clear() {
	m.table.Clear()
	for _, row := range m.order {
		m.forget(row)
	}
	m.order = m.order[:0]
	m.look()
}

// sweep frees some rows while it ranges over all.
func (m *tableModel) sweep(every int) {
	n, all := 0, len(m.rows)
	for row := range m.table.Rows() {
		if v, live := m.rows[row]; !live || !m.holds(m.table.Index(row), v) {
			m.t.Fatalf("row %#x is visited", row)
		}
		if n++; n%every == 0 {
			if !m.table.Free(row) {
				m.t.Fatalf("Free(%#x)", row)
			}
			m.forget(row)
		}
	}
	m.order = slices.DeleteFunc(m.order, func(row Row) bool { return m.freed[row] })
	if n != all {
		m.t.Fatalf("%d of %d rows visited", n, all)
	}
	m.look()
}

func (m *tableModel) run(stream []byte) {
	for i := 0; i+1 < len(stream); i += 2 {
		arg := int(stream[i+1])
		switch op := stream[i]; {
		case op < 110:
			m.add(uint64(i) * 0x9e3779b97f4a7c15)
		case op < 190:
			m.free(arg)
		case op < 200:
			for range arg {
				m.add(uint64(arg))
			}
		case op < 210:
			for range arg {
				m.free(0)
			}
		case op < 215:
			for range arg {
				m.add(uint64(arg))
				m.free(len(m.order) - 1)
			}
		case op < 225:
			m.none(Row(arg))
			m.none(Row(arg) | Row(op)<<24)
		case op < 235:
			m.sweep(arg%5 + 1)
		case op < 240:
			m.table.Trim()
			m.look()
		case op < 244:
			m.clear()
		case len(m.order) != 0:
			m.write(m.order[arg%len(m.order)], uint64(i))
		}
	}
	m.look()
}

func runTable(t testing.TB, o TableOptions, stream []byte) {
	m := newTableModel(t, o)
	defer m.table.Close()
	m.run(stream)
	for range 2 {
		m.table.Close()
		for row := range m.rows {
			m.forget(row)
		}
		m.order = m.order[:0]
		m.look()
		m.none(0)
		if row, err := m.table.New(); row != 0 || err != ErrClosed {
			t.Error(row, err)
		}
		m.table.Clear()
		m.table.Trim()
	}
}

func TestTableAgreesWithAMap(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for name, o := range tableOptions {
		for _, o.Packed = range []bool{false, true} {
			if o.Packed {
				name += ", packed"
			}
			t.Run(name, func(t *testing.T) {
				for seed := range uint64(rounds) {
					runTable(t, o, randomStream(seed, 3000))
				}
			})
		}
	}
}

// ---- columns ----

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
		for _, c := range columns {
			s := c.Slice()
			start := uintptr(unsafe.Pointer(&s[0]))
			if start%64 != 0 || len(s) != 1000 || cap(s) != 1000 {
				t.Errorf("%#x, %d", start, len(s))
			}
			sets[start%4096]++
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
			s := c.Slice()
			for j := range s {
				s[j] = float32(i)
			}
		}
		for i, c := range columns {
			if s := c.Slice(); slices.Min(s) != float32(i) || slices.Max(s) != float32(i) {
				t.Error("column ", i)
			}
		}
	}
}

func TestPackedRowsStayTogether(t *testing.T) {
	table := newTable(t, TableOptions{Packed: true})
	x := addColumn[int](t, table)
	rows := make([]Row, 100)
	for i := range rows {
		rows[i] = mustRow(t, table)
		*x.At(rows[i]) = i
	}
	for i := 0; i < 100; i += 2 {
		table.Free(rows[i])
	}
	got := slices.Sorted(slices.Values(x.Slice()))
	for i, v := range got {
		if v != 2*i+1 {
			t.Fatal(got)
		}
	}
	if len(got) != 50 || table.Len() != 50 {
		t.Error(len(got))
	}
	for i := 1; i < 100; i += 2 {
		if *x.At(rows[i]) != i || x.Slice()[table.Index(rows[i])] != i || table.RowAt(table.Index(rows[i])) != rows[i] {
			t.Errorf("row %d", i)
		}
	}
}

func TestColumnsAreAddedToAnEmptyTable(t *testing.T) {
	table := newTable(t, TableOptions{})
	a := addColumn[int](t, table)
	row := mustRow(t, table)
	*a.At(row) = 7
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
	if c, err := AddColumn[struct{ P *int }](newTable(t, TableOptions{})); c != nil || err == nil ||
		!strings.Contains(err.Error(), "field P is a pointer, which memory outside the Go heap cannot hold") {
		t.Error(err)
	}
	if _, err := AddColumn[[1 << 20]byte](newTable(t, TableOptions{MaxRows: mostSlots})); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	for _, o := range []TableOptions{{Rows: -1}, {Fixed: true}, {Rows: 9, MaxRows: 8}} {
		if _, err := NewTable(o); err == nil || !strings.HasPrefix(err.Error(), "pool: Table: ") {
			t.Error(err)
		}
	}
	closed := newTable(t, TableOptions{})
	closed.Close()
	if _, err := AddColumn[int](closed); !errors.Is(err, ErrClosed) {
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

func TestTableWithoutMemoryChangesNothing(t *testing.T) {
	for k := range 6 {
		for _, packed := range []bool{false, true} {
			table := newTable(t, TableOptions{Packed: packed})
			a, b := addColumn[[900]byte](t, table), addColumn[uint64](t, table)
			mustRow(t, table)
			goOn := failCommits(t, k)
			failed := false
			for i := uint64(1); i < 20_000; i++ {
				n, cap := table.Len(), table.Cap()
				row, err := table.New()
				if err == ErrNoMemory && row == 0 && table.Len() == n && table.Cap() == cap {
					failed = true
					goOn()
					row, err = table.New()
				}
				if err != nil {
					t.Fatal(err)
				}
				a.At(row)[899], *b.At(row) = byte(i), i
			}
			if !failed {
				t.Error("no failure was met, ", k)
			}
			goOn()
			for i, v := range b.Slice() {
				if v != uint64(i) || a.Slice()[i][899] != byte(i) {
					t.Fatal(i, v)
				}
			}
		}
	}
}

func TestPackedTrimReturnsWhatIsBehindTheRows(t *testing.T) {
	table := newTable(t, TableOptions{Packed: true})
	c := addColumn[[256]byte](t, table)
	var rows []Row
	for range 100_000 {
		row := mustRow(t, table)
		c.At(row)[0] = 1
		rows = append(rows, row)
	}
	full := testutil.ResidentBytes(t)
	for _, row := range rows[:99_900] { // what stays has the highest indexes
		table.Free(row)
	}
	table.Trim()
	if less := testutil.ResidentBytes(t); full-less < 20<<20 {
		t.Errorf("%d bytes resident, then %d", full, less)
	}
	for range 99_900 {
		if row := mustRow(t, table); *c.At(row) != [256]byte{} {
			t.Fatal("not zero")
		}
	}
}

func TestRowsWhileTheTableChanges(t *testing.T) {
	const n = 1000
	for _, packed := range []bool{false, true} {
		visit := func(f func(table *Table, row Row, visits int)) (visits int) {
			table := newTable(t, TableOptions{Packed: packed})
			for range n {
				mustRow(t, table)
			}
			for row := range table.Rows() {
				if !table.Live(row) {
					t.Fatalf("row %#x is visited", row)
				}
				visits++
				f(table, row, visits)
			}
			return visits
		}
		for name, f := range map[string]func(*Table){
			"clear": (*Table).Clear,
			"close": (*Table).Close,
			"free": func(table *Table) {
				for table.Len() != 0 {
					for row := range table.Rows() {
						table.Free(row)
					}
				}
			},
		} {
			if visits := visit(func(table *Table, _ Row, visits int) {
				if visits == 11 {
					f(table)
				}
			}); visits != 11 {
				t.Errorf("%s: %d visits, packed: %v", name, visits, packed)
			}
		}
		visits := visit(func(table *Table, row Row, visits int) { // the one visited before
			if i := table.Index(row); packed && i+1 < table.Len() {
				table.Free(table.RowAt(i + 1))
			} else if !packed && i > 0 {
				table.Free(table.RowAt(i - 1))
			}
		})
		if visits != n {
			t.Errorf("%d visits, packed: %v", visits, packed)
		}
	}
}

func TestTablesDoNotAllocate(t *testing.T) {
	for _, packed := range []bool{false, true} {
		table := newTable(t, TableOptions{Packed: packed})
		c := addColumn[pair](t, table)
		mustRow(t, table)
		if n := testing.AllocsPerRun(100, func() {
			row, _ := table.New()
			c.At(row).a++
			for row := range table.Rows() {
				c.At(row).b++
			}
			for i := range c.Slice() {
				c.Slice()[i].b++
			}
			table.Free(row)
		}); n != 0 {
			t.Errorf("%v allocations on the Go heap", n)
		}
	}
}
