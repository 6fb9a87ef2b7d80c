// SPDX-License-Identifier: MIT OR Apache-2.0

package toft_test

import (
	"errors"
	"fmt"

	"toft.dev/toft"
)

// A word in a binary search tree that the garbage collector never looks at.
type node struct {
	left, right toft.Handle[node]
	key         int
}

type tree struct {
	nodes *toft.Pool[node]
	root  toft.Handle[node]
}

func (t *tree) add(key int) error {
	place := &t.root
	for {
		n := t.nodes.At(*place)
		if n == nil {
			break
		}
		if place = &n.right; key < n.key {
			place = &n.left
		}
	}
	h, n, err := t.nodes.New() // nothing moves: place stays good
	if err != nil {
		return err
	}
	n.key = key
	*place = h
	return nil
}

func (t *tree) print(h toft.Handle[node]) {
	if n := t.nodes.At(h); n != nil {
		t.print(n.left)
		fmt.Print(n.key, " ")
		t.print(n.right)
	}
}

func ExamplePool() {
	nodes, err := toft.NewPool[node](toft.PoolOptions{})
	if err != nil {
		panic(err)
	}
	defer nodes.Close()
	t := tree{nodes: nodes}
	for _, key := range []int{5, 2, 8, 1, 9, 3} {
		if err := t.add(key); err != nil {
			panic(err)
		}
	}
	t.print(t.root)
	// Output: 1 2 3 5 8 9
}

func ExampleNewPool() {
	type account struct {
		ID    uint64
		Owner struct{ Name string }
	}
	_, err := toft.NewPool[account](toft.PoolOptions{})
	fmt.Println(err)
	// Output: toft: Pool[toft_test.account]: field Owner.Name is a string: memory outside the Go heap cannot hold it
}

func ExampleHandle() {
	p, _ := toft.NewPool[int](toft.PoolOptions{})
	defer p.Close()
	old, v, _ := p.New()
	*v = 1
	p.Free(old)
	young, v, _ := p.New() // the same slot
	*v = 2
	fmt.Println(old == young, p.At(old) == nil, *p.At(young))
	var none toft.Handle[int]
	fmt.Println(p.At(none) == nil)
	// Output:
	// false true 2
	// true
}

func ExamplePoolOptions() {
	p, _ := toft.NewPool[[16]byte](toft.PoolOptions{Slots: 1000, MaxSlots: 60_000, Retire: true})
	defer p.Close()
	fmt.Println(p.Cap() >= 1000)
	// Output: true
}

func ExamplePool_New() {
	p, _ := toft.NewPool[float64](toft.PoolOptions{Slots: 1, Fixed: true})
	defer p.Close()
	h, v, err := p.New()
	fmt.Println(h != 0, *v, err)
	_, _, err = p.New()
	fmt.Println(err)
	// Output:
	// true 0 <nil>
	// toft: pool is full
}

func ExamplePool_NewUninit() {
	p, _ := toft.NewPool[[4096]byte](toft.PoolOptions{})
	defer p.Close()
	_, page, err := p.NewUninit()
	if err != nil {
		panic(err)
	}
	copy(page[:], "all of it will be written")
	fmt.Printf("%s\n", page[:6])
	// Output: all of
}

func ExamplePool_At() {
	p, _ := toft.NewPool[int](toft.PoolOptions{})
	defer p.Close()
	h, _, _ := p.New()
	*p.At(h) = 42
	fmt.Println(*p.At(h))
	p.Free(h)
	fmt.Println(p.At(h))
	// Output:
	// 42
	// <nil>
}

func ExamplePool_Free() {
	p, _ := toft.NewPool[int](toft.PoolOptions{})
	defer p.Close()
	h, _, _ := p.New()
	fmt.Println(p.Free(h), p.Free(h))
	// Output: true false
}

func ExamplePool_All() {
	p, _ := toft.NewPool[int](toft.PoolOptions{})
	defer p.Close()
	for i := range 6 {
		_, v, _ := p.New()
		*v = i
	}
	for h, v := range p.All() {
		if *v%2 == 0 {
			p.Free(h)
		}
	}
	for _, v := range p.All() {
		fmt.Print(*v, " ")
	}
	// Output: 1 3 5
}

func ExamplePool_Len() {
	p, _ := toft.NewPool[int](toft.PoolOptions{})
	defer p.Close()
	p.New()
	h, _, _ := p.New()
	p.Free(h)
	fmt.Println(p.Len())
	// Output: 1
}

func ExamplePool_Cap() {
	p, _ := toft.NewPool[int](toft.PoolOptions{Slots: 100, Fixed: true})
	defer p.Close()
	fmt.Println(p.Len(), p.Cap())
	// Output: 0 100
}

func ExamplePool_Retired() {
	p, _ := toft.NewPool[int](toft.PoolOptions{Retire: true}) // 8 bits of generation
	defer p.Close()
	for range 1000 {
		h, _, _ := p.New()
		p.Free(h)
	}
	fmt.Println(p.Retired())
	// Output: 3
}

func ExamplePool_Bytes() {
	p, _ := toft.NewPool[[64]byte](toft.PoolOptions{MaxSlots: 1 << 20})
	defer p.Close()
	reserved, committed := p.Bytes()
	fmt.Println(reserved > 64<<20, committed < 1<<20)
	// Output: true true
}

func ExamplePool_Clear() {
	p, _ := toft.NewPool[int](toft.PoolOptions{})
	defer p.Close()
	h, _, _ := p.New()
	p.Clear()
	fmt.Println(p.Len(), p.At(h))
	// Output: 0 <nil>
}

func ExamplePool_Trim() {
	p, _ := toft.NewPool[[1024]byte](toft.PoolOptions{})
	defer p.Close()
	for range 10_000 {
		p.New()
	}
	_, before := p.Bytes()
	p.Clear()
	p.Trim()
	_, after := p.Bytes()
	fmt.Println(before > 10<<20, after < 1<<20)
	// Output: true true
}

func ExamplePool_Close() {
	p, _ := toft.NewPool[int](toft.PoolOptions{})
	h, _, _ := p.New()
	p.Close()
	_, _, err := p.New()
	fmt.Println(p.At(h), p.Free(h), err)
	// Output: <nil> false toft: pool is closed
}

func Example_errFull() {
	p, _ := toft.NewPool[int](toft.PoolOptions{Slots: 2, Fixed: true})
	defer p.Close()
	for {
		if _, _, err := p.New(); errors.Is(err, toft.ErrFull) {
			fmt.Println(p.Len(), "and no more")
			return
		}
	}
	// Output: 2 and no more
}

func Example_errClosed() {
	t, _ := toft.NewTable(toft.TableOptions{})
	t.Close()
	_, err := t.New()
	fmt.Println(errors.Is(err, toft.ErrClosed))
	// Output: true
}

// Things that move: a loop over two columns is a loop over two slices.
func ExampleTable() {
	things, err := toft.NewTable(toft.TableOptions{Packed: true})
	if err != nil {
		panic(err)
	}
	defer things.Close()
	position, err := toft.AddColumn[float32](things)
	if err != nil {
		panic(err)
	}
	speed, err := toft.AddColumn[float32](things)
	if err != nil {
		panic(err)
	}
	var rows []toft.Row
	for i := range 4 {
		row, err := things.New()
		if err != nil {
			panic(err)
		}
		*speed.At(row) = float32(i)
		rows = append(rows, row)
	}
	things.Free(rows[1])

	at, by := position.Slice(), speed.Slice() // no holes
	for i := range at {
		at[i] += by[i] * 10
	}
	for _, row := range rows {
		if p := position.At(row); p != nil {
			fmt.Println(*p)
		} else {
			fmt.Println("gone")
		}
	}
	// Output:
	// 0
	// gone
	// 20
	// 30
}

func ExampleNewTable() {
	t, err := toft.NewTable(toft.TableOptions{Rows: 10, Fixed: true})
	fmt.Println(t.Cap(), err)
	t.Close()
	// Output: 10 <nil>
}

func ExampleTableOptions() {
	for _, packed := range []bool{false, true} {
		t, _ := toft.NewTable(toft.TableOptions{Packed: packed})
		c, _ := toft.AddColumn[byte](t)
		for i := range 5 {
			row, _ := t.New()
			*c.At(row) = 'a' + byte(i)
		}
		t.Free(t.RowAt(1))
		fmt.Printf("%s\n", c.Slice())
		t.Close()
	}
	// Output:
	// abcde
	// aecd
}

func ExampleAddColumn() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	_, err := toft.AddColumn[[]byte](t)
	fmt.Println(err)
	// Output: toft: Column[[]uint8]: it is a slice: memory outside the Go heap cannot hold it
}

func ExampleRow() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	old, _ := t.New()
	t.Free(old)
	young, _ := t.New()
	fmt.Println(t.Live(0), t.Live(old), t.Live(young))
	// Output: false false true
}

func ExampleColumn() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	health, _ := toft.AddColumn[int](t)
	row, _ := t.New()
	*health.At(row) = 100
	fmt.Println(health.Slice())
	// Output: [100]
}

func ExampleColumn_At() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	health, _ := toft.AddColumn[int](t)
	row, _ := t.New()
	*health.At(row) -= 7
	fmt.Println(*health.At(row))
	t.Free(row)
	fmt.Println(health.At(row))
	// Output:
	// -7
	// <nil>
}

// Without Packed there are holes: RowAt tells.
func ExampleColumn_Slice() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	health, _ := toft.AddColumn[int](t)
	for range 4 {
		t.New()
	}
	t.Free(t.RowAt(2))
	all := health.Slice()
	for i := range all {
		if t.RowAt(i) != 0 {
			all[i] = 100
		}
	}
	fmt.Println(all)
	// Output: [100 100 0 100]
}

func ExampleTable_New() {
	t, _ := toft.NewTable(toft.TableOptions{Rows: 1, Fixed: true})
	defer t.Close()
	row, err := t.New()
	fmt.Println(row != 0, err)
	row, err = t.New()
	fmt.Println(row != 0, err)
	// Output:
	// true <nil>
	// false toft: pool is full
}

func ExampleTable_Free() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	row, _ := t.New()
	fmt.Println(t.Free(row), t.Free(row))
	// Output: true false
}

func ExampleTable_Live() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	row, _ := t.New()
	fmt.Println(t.Live(row))
	t.Free(row)
	fmt.Println(t.Live(row))
	// Output:
	// true
	// false
}

func ExampleTable_Index() {
	t, _ := toft.NewTable(toft.TableOptions{Packed: true})
	defer t.Close()
	first, _ := t.New()
	second, _ := t.New()
	fmt.Println(t.Index(first), t.Index(second))
	t.Free(first) // the last row takes its place
	fmt.Println(t.Index(first), t.Index(second))
	// Output:
	// 0 1
	// -1 0
}

func ExampleTable_RowAt() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	row, _ := t.New()
	fmt.Println(t.RowAt(0) == row, t.RowAt(1) == 0)
	// Output: true true
}

func ExampleTable_Rows() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	health, _ := toft.AddColumn[int](t)
	for i := range 5 {
		row, _ := t.New()
		*health.At(row) = i % 2
	}
	for row := range t.Rows() {
		if *health.At(row) == 0 {
			t.Free(row)
		}
	}
	fmt.Println(t.Len())
	// Output: 2
}

func ExampleTable_Len() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	t.New()
	fmt.Println(t.Len())
	// Output: 1
}

func ExampleTable_Cap() {
	t, _ := toft.NewTable(toft.TableOptions{Rows: 100, Fixed: true})
	defer t.Close()
	fmt.Println(t.Cap())
	// Output: 100
}

func ExampleTable_Retired() {
	t, _ := toft.NewTable(toft.TableOptions{Retire: true}) // 8 bits of generation
	defer t.Close()
	for range 255 {
		row, _ := t.New()
		t.Free(row)
	}
	fmt.Println(t.Retired())
	// Output: 1
}

func ExampleTable_Bytes() {
	t, _ := toft.NewTable(toft.TableOptions{MaxRows: 1 << 20})
	defer t.Close()
	toft.AddColumn[uint64](t)
	reserved, committed := t.Bytes()
	fmt.Println(reserved > 8<<20, committed < 1<<20)
	// Output: true true
}

func ExampleTable_Clear() {
	t, _ := toft.NewTable(toft.TableOptions{})
	defer t.Close()
	row, _ := t.New()
	t.Clear()
	fmt.Println(t.Len(), t.Live(row))
	// Output: 0 false
}

func ExampleTable_Trim() {
	t, _ := toft.NewTable(toft.TableOptions{MaxRows: 1 << 16})
	defer t.Close()
	toft.AddColumn[[1024]byte](t)
	for range 10_000 {
		t.New()
	}
	_, before := t.Bytes()
	t.Clear()
	t.Trim()
	_, after := t.Bytes()
	fmt.Println(before > 10<<20, after < 1<<20)
	// Output: true true
}

func ExampleTable_Close() {
	t, _ := toft.NewTable(toft.TableOptions{})
	health, _ := toft.AddColumn[int](t)
	row, _ := t.New()
	t.Close()
	fmt.Println(t.Live(row), health.At(row), health.Slice())
	// Output: false <nil> []
}
