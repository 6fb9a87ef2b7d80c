//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package leasetest_test

import (
	"fmt"
	"strings"

	"toft.dev/toft"
	"toft.dev/toft/leasetest"
)

func ExampleSetDebug() {
	defer leasetest.SetDebug(leasetest.SetDebug(true))
	a := toft.Get()
	a.Return()
	defer func() {
		for _, place := range strings.Split(fmt.Sprint(recover()), "\n\t")[1:] {
			what, _, _ := strings.Cut(place, " at ")
			_, function, _ := strings.Cut(place, " in ")
			fmt.Println(what, "in", function)
		}
	}()
	a.Return()
	// Output:
	// returned in toft.dev/toft/leasetest_test.ExampleSetDebug
	// got in toft.dev/toft/leasetest_test.ExampleSetDebug
}

func ExampleCheckReturned() {
	// At the end of a program that runs with TOFT_CHECKED=1 and TOFT_FINDINGS=/dev/stderr:
	defer leasetest.CheckReturned()
	// Output:
}

func ExampleLeases() {
	defer leasetest.SetDebug(leasetest.SetDebug(true))
	a := toft.Get()
	for _, l := range leasetest.Leases() {
		fmt.Println(l.Lease == a, l.Got[0].Function)
	}
	a.Return()
	// Output: true toft.dev/toft/leasetest_test.ExampleLeases
}

func ExampleLeaseInfo() {
	defer leasetest.SetDebug(leasetest.SetDebug(true))
	a := toft.Get()
	var l leasetest.LeaseInfo = leasetest.Leases()[0]
	fmt.Println(l.Ended, l.Returned == nil)
	a.Return()
	// Output: false true
}

func ExampleLeaseInfo_String() {
	fmt.Println(leasetest.LeaseInfo{Goroutine: 7})
	// Output:
	// toft: lease of goroutine 7
	// 	got at an unknown place
}

func ExampleOnForgotten() {
	leasetest.OnForgotten(func(l leasetest.LeaseInfo) { fmt.Println("never returned:", l) })
	defer leasetest.OnForgotten(nil)
	// Output:
}
