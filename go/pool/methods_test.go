//go:build go1.27

// SPDX-License-Identifier: MIT OR Apache-2.0

package pool_test

import (
	"fmt"

	"toft.dev/toft/pool"
)

// With Go 1.27 or later; before, pool.AddColumn[float32](t).
func ExampleTable_AddColumn() {
	t, _ := pool.NewTable(pool.TableOptions{})
	defer t.Close()
	speed, _ := t.AddColumn[float32]()
	row, _ := t.New()
	*speed.At(row) = 1.5
	_, err := t.AddColumn[float32]()
	fmt.Println(speed.Slice(), err)
	// Output: [1.5] pool: Column[float32]: the table has rows
}
