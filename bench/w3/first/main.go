// SPDX-License-Identifier: MIT OR Apache-2.0

// A process that allocates megabytes of nodes, reads them, and frees nothing: first heap|toft MEGABYTES.
package main

import (
	"fmt"
	"os"
	"strconv"

	"toft.dev/toft"
)

type node struct {
	next   *node
	values [7]uint64
}

func sum(nodes uint64, allocate func() *node) (sum uint64) {
	var last *node
	for i := range nodes {
		n := allocate()
		n.next, n.values[6] = last, i
		last = n
	}
	for ; last != nil; last = last.next {
		sum += last.values[6]
	}
	return sum
}

func main() {
	megabytes, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		panic(err)
	}
	nodes := megabytes * 1_000_000 / 64
	if os.Args[1] == "toft" {
		arena, err := toft.NewArena(toft.Options{})
		if err != nil {
			panic(err)
		}
		fmt.Println(sum(nodes, func() *node { return toft.New[node](arena) }))
		return
	}
	fmt.Println(sum(nodes, func() *node { return new(node) }))
}
