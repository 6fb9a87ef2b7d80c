//go:build cgo && go1.27

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft_test

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"unsafe"

	"toft.dev/toft"
	"toft.dev/toft/internal/ctest"
)

// As the example of the package, with Go 1.27 or later.
func ExampleArena_New() {
	a := toft.Get()
	defer a.Return()
	info := a.New[ctest.BufferCreateInfo]() // before Go 1.27: toft.New[ctest.BufferCreateInfo](a)
	info.QueueFamilyCount = 3
	info.QueueFamilies = unsafe.SliceData(a.CopySlice([]uint32{0, 2, 5}))
	info.Next = a.Copy(ctest.BufferCreateInfo{Kind: 13})
	fmt.Println(ctest.SumBufferInfo(info)) // a call into C
	// Output: 20
}

func TestMethodsAreTheFunctions(t *testing.T) {
	type pair [2]int
	two := []pair{{1, 2}, {3, 4}}
	a := toft.Get()
	defer a.Return()
	try := func(f func() (any, error)) (v any, text string) {
		defer func() {
			if panicked := recover(); panicked != nil {
				text = fmt.Sprint("panic: ", panicked)
			}
		}()
		v, err := f()
		return v, fmt.Sprint(err)
	}
	rows := [][2]func() (any, error){
		{func() (any, error) { return a.New[pair](), nil }, func() (any, error) { return toft.New[pair](a), nil }},
		{func() (any, error) { return a.TryNew[pair]() }, func() (any, error) { return toft.TryNew[pair](a) }},
		{func() (any, error) { return a.NewAligned[pair](64), nil }, func() (any, error) { return toft.NewAligned[pair](a, 64), nil }},
		{func() (any, error) { return a.TryNewAligned[pair](64) }, func() (any, error) { return toft.TryNewAligned[pair](a, 64) }},
		{func() (any, error) { return a.Copy(two[0]), nil }, func() (any, error) { return toft.Copy(a, two[0]), nil }},
		{func() (any, error) { return a.TryCopy(two[0]) }, func() (any, error) { return toft.TryCopy(a, two[0]) }},
		{func() (any, error) { return a.MakeSlice[pair](2), nil }, func() (any, error) { return toft.MakeSlice[pair](a, 2), nil }},
		{func() (any, error) { return a.TryMakeSlice[pair](2) }, func() (any, error) { return toft.TryMakeSlice[pair](a, 2) }},
		{func() (any, error) { return a.MakeSliceAligned[pair](2, 64), nil }, func() (any, error) { return toft.MakeSliceAligned[pair](a, 2, 64), nil }},
		{func() (any, error) { return a.TryMakeSliceAligned[pair](2, 64) }, func() (any, error) { return toft.TryMakeSliceAligned[pair](a, 2, 64) }},
		{func() (any, error) { return a.CopySlice(two), nil }, func() (any, error) { return toft.CopySlice(a, two), nil }},
		{func() (any, error) { return a.TryCopySlice(two) }, func() (any, error) { return toft.TryCopySlice(a, two) }},
	}
	for _, budget := range []uint64{toft.NoBudget, 1} { // then each fails
		a.SetBudget(budget)
		for i, row := range rows {
			got, text := try(row[0])
			want, wrong := try(row[1])
			if !reflect.DeepEqual(got, want) || text != wrong || (text == "<nil>") != (budget != 1) {
				t.Errorf("%d: %v, %s, not %v, %s", i, got, text, want, wrong)
			}
		}
	}
}

func TestArenasInBubbles(t *testing.T) {
	var l *toft.Lease
	synctest.Test(t, func(t *testing.T) {
		go func() { l = toft.Get() }()
		synctest.Wait()
		a, err := toft.NewArena(toft.Options{})
		if err != nil {
			t.Fatal(err)
		}
		other := toft.Get()
		*other.New[int]() = *a.Copy(1)
		other.Return()
		a.Release()
		toft.TrimLeases()
	})
	if *l.New[int]() != 0 {
		t.Error("not zeroed")
	}
	l.Return()
}
