// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/offheap"
	"toft.dev/toft/internal/testutil"
)

// mappingsOf returns how many mappings are added by 100 objects that make returns.
func mappingsOf[T any](t *testing.T, make func() T) int {
	keep := [100]T{0: make()} // what is needed once
	before := strings.Count(testutil.ReadProc(t, "maps"), "\n")
	for i := range keep {
		keep[i] = make()
	}
	after := strings.Count(testutil.ReadProc(t, "maps"), "\n")
	runtime.KeepAlive(&keep)
	return after - before
}

// The numbers that the documentation of the package states, for 100 pools; the runtime may add some of its own.
func TestMappingsOfPools(t *testing.T) {
	use := func(o Options, n int) func() *Pool[pair] {
		return func() *Pool[pair] {
			p := newPool[pair](t, o)
			for range n {
				mustNew(t, p)
			}
			p.Trim()
			return p
		}
	}
	for _, c := range []struct {
		o       Options
		n, most int
	}{
		{Options{MaxSlots: 100}, 1, 1},
		{Options{Slots: 4000, Fixed: true}, 1, 1},
		{Options{MaxSlots: 8191}, 1, 2},
		{Options{}, 1, 4},
		{Options{MaxSlots: 1 << 20}, 10_000, 4},
	} {
		n := mappingsOf(t, use(c.o, c.n))
		t.Logf("100 pools with %+v and %d values take %d mappings", c.o, c.n, n)
		if n > 100*c.most+20 {
			t.Errorf("more than %d each", c.most)
		}
	}
	n := mappingsOf(t, func() *Table {
		table := newTable(t, TableOptions{MaxRows: 100, Packed: true})
		addColumn[pair](t, table)
		mustRow(t, table)
		return table
	})
	if n > 220 {
		t.Errorf("100 tables with a small column take %d mappings, more than 2 each", n)
	}
}

// The process that reaches the limit is another one, because the Go runtime may fail there too.
func TestLimitOfMappingsIsNamed(t *testing.T) {
	const inner = "TOFT_TEST_AT_LIMIT"
	if os.Getenv(inner) != "" {
		atLimit(t)
		return
	}
	if _, limit := offheap.Mappings(); limit == 0 || limit > 1<<20 {
		t.Skip("the limit is ", limit)
	}
	command := exec.Command(os.Args[0], "-test.run=^TestLimitOfMappingsIsNamed$", "-test.v")
	command.Env = append(os.Environ(), inner+"=1", "GOGC=off")
	out, err := command.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}

func atLimit(t *testing.T) {
	ready := newPool[pair](t, Options{MaxSlots: 1 << 20})
	_, limit := offheap.Mappings()
	page := offheap.PageSize
	base, mapping := offheap.Reserve(2 * uintptr(limit) * page)
	for i := uintptr(0); offheap.Commit(unsafe.Add(base, 2*i*page), page); i++ { // each makes two mappings
	}
	offheap.Discard(base, page, false) // the runtime may need one or two
	var err error
	for err == nil {
		_, err = New[pair](Options{})
	}
	n, _ := offheap.Mappings()
	offheap.Release(mapping)
	if !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "vm.max_map_count") {
		t.Errorf("with %d mappings of %d: %v", n, limit, err)
	}
	t.Log(err)
	mustNew(t, ready)
	newPool[pair](t, Options{})
}
