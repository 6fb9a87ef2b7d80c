//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft_test

import (
	"context"
	"errors"
	"fmt"

	"toft.dev/toft"
)

// A tenant has 2 MiB of the process's 3 MiB, and the other one goes on when it is refused.
func ExampleBudget() {
	process, _ := toft.NewBudget(toft.BudgetOptions{Name: "process", Limit: 3 << 20})
	one, _ := toft.NewBudget(toft.BudgetOptions{Name: "tenant 1", Limit: 2 << 20, Parent: process})
	two, _ := toft.NewBudget(toft.BudgetOptions{Name: "tenant 2", Limit: 2 << 20, Parent: process})
	serve := func(tenant *toft.Budget, bytes int) error {
		a, err := toft.NewArena(toft.Options{Within: tenant})
		if err != nil {
			return err
		}
		defer a.Release()
		_, err = toft.TryMakeSlice[byte](a, bytes)
		return err
	}
	fmt.Println(errors.Is(serve(one, 2<<20), toft.ErrNoMemory), serve(two, 1<<20))
	fmt.Println(one.Parent() == process, process.Parent() == nil)
	for _, b := range []*toft.Budget{one, two, process} {
		fmt.Println(b.Name(), b.Stats().Reserved, b.Release())
	}
	// Output:
	// true <nil>
	// true true
	// tenant 1 0 <nil>
	// tenant 2 0 <nil>
	// process 0 <nil>
}

func ExampleBudgetOptions() {
	var cache *toft.Arena
	tenant, _ := toft.NewBudget(toft.BudgetOptions{Limit: 1 << 20, OnRefusal: func(*toft.Budget, uint64) bool {
		if cache == nil {
			return false
		}
		cache.Release()
		cache = nil
		return true // try again
	}})
	cache, _ = toft.NewArena(toft.Options{Within: tenant})
	cache.Alloc(700_000, 8)
	a, _ := toft.NewArena(toft.Options{Within: tenant})
	a.Alloc(700_000, 8)
	fmt.Println(cache == nil)
	a.Release()
	_ = tenant.Release()
	// Output: true
}

func ExampleNewBudget() {
	_, err := toft.NewBudget(toft.BudgetOptions{Name: "a name of more than thirty-one bytes"})
	fmt.Println(err)
	// Output: toft: NewBudget: the name has more than 31 bytes: bad argument
}

func ExampleBudget_Release() {
	b, _ := toft.NewBudget(toft.BudgetOptions{})
	a, _ := toft.NewArena(toft.Options{Within: b})
	fmt.Println(errors.Is(b.Release(), toft.ErrBusy))
	a.Release()
	fmt.Println(b.Release())
	// Output:
	// true
	// <nil>
}

func ExampleBudget_SetLiveLimit() {
	b, _ := toft.NewBudget(toft.BudgetOptions{})
	a, _ := toft.NewArena(toft.Options{Within: b})
	fmt.Println(errors.Is(b.SetLiveLimit(1000), toft.ErrBusy)) // its bytes were not counted
	a.Release()
	fmt.Println(b.SetLiveLimit(1_000_000))
	a, _ = toft.NewArena(toft.Options{Within: b})
	a.Alloc(600_000, 8)
	_, err := a.TryAlloc(500_000, 8)
	var s toft.BudgetLiveStats = b.LiveStats()
	fmt.Println(errors.Is(err, toft.ErrNoMemory), s.Limit, s.Live >= 600_000, s.Refusals)
	a.Release()
	_ = b.Release()
	// Output:
	// true
	// <nil>
	// true 1000000 true 1
}

func ExampleBudgetStats() {
	b, _ := toft.NewBudget(toft.BudgetOptions{})
	b.SetLimit(1 << 20)
	var s toft.BudgetStats = b.Stats()
	fmt.Println(s.Limit, s.Reserved, s.Peak, s.Available, s.Refusals, s.Children)
	_ = b.Release()
	// Output: 1048576 0 0 1048576 0 0
}

func ExampleBudget_Charge() {
	tenant, _ := toft.NewBudget(toft.BudgetOptions{Limit: 1 << 20})
	buffer := make([]byte, 700_000)
	fmt.Println(tenant.Charge(uint64(len(buffer))))
	fmt.Println(tenant.Charge(400_000))
	tenant.Uncharge(uint64(len(buffer)))
	fmt.Println(tenant.Release())
	// Output:
	// <nil>
	// toft: Charge: out of memory or over budget
	// <nil>
}

func ExampleBudget_Parent() {
	process, _ := toft.NewBudget(toft.BudgetOptions{Name: "process"})
	tenant, _ := toft.NewBudget(toft.BudgetOptions{Parent: process})
	fmt.Println(tenant.Parent().Name())
	_ = tenant.Release()
	_ = process.Release()
	// Output: process
}

func ExampleContextWithBudget() {
	tenant, _ := toft.NewBudget(toft.BudgetOptions{Limit: 1 << 20})
	ctx := toft.ContextWithBudget(context.Background(), tenant)
	handle := func(ctx context.Context) error {
		a, err := toft.NewArena(toft.Options{Within: toft.BudgetFrom(ctx)})
		if err != nil {
			return err
		}
		defer a.Release()
		_, err = a.TryAlloc(2<<20, 8)
		return err
	}
	fmt.Println(handle(ctx))
	_ = tenant.Release()
	// Output: toft: cannot allocate 2097152 bytes aligned to 8: out of memory or over budget
}
