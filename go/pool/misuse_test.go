// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// call calls a method with zero values, and the iterator if it returns one. It returns the results and what it panicked with.
func call(method reflect.Value) (results []reflect.Value, panicked any) {
	defer func() { panicked = recover() }()
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		args = append(args, reflect.New(method.Type().In(i)).Elem())
		if args[i].CanUint() {
			args[i].SetUint(0x1000001) // a handle or row: the first that a pool returns has the index 1
		}
	}
	results = method.Call(args)
	for i, r := range results {
		if r.Kind() == reflect.Func {
			r.Call([]reflect.Value{reflect.MakeFunc(r.Type().In(0), func([]reflect.Value) []reflect.Value {
				panic("a value is visited")
			})})
			results[i] = reflect.ValueOf(0)
		}
	}
	return results, nil
}

// eachMethod calls f with all exported methods of the pool, the table and the column.
func eachMethod(f func(name string, method reflect.Value), values ...any) {
	for _, v := range values {
		typ, _, _ := strings.Cut(reflect.TypeOf(v).Elem().Name(), "[")
		for i := range reflect.TypeOf(v).NumMethod() {
			if name := reflect.TypeOf(v).Method(i).Name; name != "Lock" && name != "Unlock" {
				f(typ+"."+name, reflect.ValueOf(v).Method(i))
			}
		}
	}
}

// A closed pool and one that was never made return zeros, -1 as an index, and ErrClosed where there is an error.
func TestZeroAndClosedPoolsReturnNothing(t *testing.T) {
	p, table := newPool[pair](t, Options{}), newTable(t, TableOptions{})
	packed := newTable(t, TableOptions{Packed: true})
	c, d := addColumn[pair](t, table), addColumn[pair](t, packed)
	mustNew(t, p)
	mustRow(t, table)
	mustRow(t, packed)
	p.Close()
	table.Close()
	packed.Close()
	var zero Pool[pair]
	var zeroTable Table
	var zeroColumn Column[pair]
	n := 0
	eachMethod(func(name string, method reflect.Value) {
		n++
		results, panicked := call(method)
		if panicked != nil {
			t.Errorf("%s panics: %v", name, panicked)
		}
		for i, r := range results {
			if method.Type().Out(i) == reflect.TypeFor[error]() {
				if err, _ := r.Interface().(error); !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", name, err)
				}
			} else if !r.IsZero() && !(name == "Table.Index" && r.Int() == -1) {
				t.Errorf("%s returns %v", name, r)
			}
		}
	}, p, table, packed, c, d, &zero, &zeroTable, &zeroColumn)
	if n < 2*12+3*13+3*2 {
		t.Error("methods: ", n)
	}
	for _, table := range []*Table{table, packed, &zeroTable} {
		if c, err := AddColumn[int](table); c != nil || !errors.Is(err, ErrClosed) {
			t.Error(c, err)
		}
	}
}

// The methods that a copy may call: detecting it would cost the fast paths instructions.
var undetected = []string{
	"Pool.At", "Pool.Cap", "Pool.Free", "Pool.Len", "Pool.New", "Pool.NewUninit", "Pool.Retired",
	"Table.Cap", "Table.Free", "Table.Index", "Table.Len", "Table.Live", "Table.New", "Table.Retired", "Table.RowAt",
}

// copied returns a copy of what v points to, out of the sight of go vet.
func copied[T any](v *T) *T {
	c := reflect.New(reflect.TypeFor[T]())
	c.Elem().Set(reflect.ValueOf(v).Elem())
	return c.Interface().(*T)
}

func TestCopiesPanic(t *testing.T) {
	p, table := newPool[pair](t, Options{}), newTable(t, TableOptions{})
	for _, closed := range []bool{false, true} {
		p2, table2 := copied(p), copied(table)
		if closed {
			p, table = newPool[pair](t, Options{}), newTable(t, TableOptions{})
			p2, table2 = copied(p), copied(table)
			p.Close()
			table.Close()
		}
		eachMethod(func(name string, method reflect.Value) {
			if slices.Contains(undetected, name) {
				return
			}
			if _, panicked := call(method); panicked != "pool: use of a copied Pool or Table" {
				t.Errorf("%s of a copy: %v", name, panicked)
			}
		}, p2, table2)
		_, panicked := call(reflect.ValueOf(func() { _, _ = AddColumn[int](table2) }))
		if panicked != "pool: use of a copied Pool or Table" {
			t.Error(panicked)
		}
	}
	growing := newPool[pair](t, Options{})
	for mustNew(t, growing); growing.Len() < growing.Cap(); {
		mustNew(t, growing)
	}
	if _, panicked := call(reflect.ValueOf(func() { _, _, _ = copied(growing).New() })); panicked == nil {
		t.Error("a copy grows")
	}
}
