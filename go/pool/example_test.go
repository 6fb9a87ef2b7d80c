// SPDX-License-Identifier: MIT OR Apache-2.0

package pool_test

import (
	"errors"
	"fmt"

	"toft.dev/toft/pool"
)

// A node of a binary search tree that the garbage collector does not scan.
type node struct {
	left, right pool.Handle[node]
	key         int
}

type tree struct {
	nodes *pool.Pool[node]
	root  pool.Handle[node]
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

func (t *tree) print(h pool.Handle[node]) {
	if n := t.nodes.At(h); n != nil {
		t.print(n.left)
		fmt.Print(n.key, " ")
		t.print(n.right)
	}
}

func ExamplePool() {
	nodes, err := pool.New[node](pool.Options{})
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

func ExampleNew() {
	type account struct {
		ID    uint64
		Owner struct{ Name string }
	}
	_, err := pool.New[account](pool.Options{})
	fmt.Println(err)
	// Output: pool: Pool[pool_test.account]: field Owner.Name is a string, which memory outside the Go heap cannot hold
}

func ExampleHandle() {
	p, _ := pool.New[int](pool.Options{})
	defer p.Close()
	old, v, _ := p.New()
	*v = 1
	fmt.Println(p.Free(old), p.Free(old))
	young, v, _ := p.New() // the same slot
	*v = 2
	fmt.Println(old == young, p.At(old), *p.At(young))
	var none pool.Handle[int]
	fmt.Println(p.At(none))
	// Output:
	// true false
	// false <nil> 2
	// <nil>
}

func ExampleOptions() {
	p, _ := pool.New[[16]byte](pool.Options{Slots: 1000, MaxSlots: 60_000, Retire: true})
	defer p.Close()
	fmt.Println(p.Len(), p.Cap() >= 1000)
	// Output: 0 true
}

func ExamplePool_New() {
	p, _ := pool.New[float64](pool.Options{Slots: 1, Fixed: true})
	defer p.Close()
	h, v, err := p.New()
	fmt.Println(h != 0, *v, err)
	_, _, err = p.New()
	fmt.Println(err, errors.Is(err, pool.ErrFull))
	// Output:
	// true 0 <nil>
	// pool: full true
}

func ExamplePool_NewUninit() {
	p, _ := pool.New[[4096]byte](pool.Options{})
	defer p.Close()
	_, page, err := p.NewUninit()
	if err != nil {
		panic(err)
	}
	copy(page[:], "all of it will be written")
	fmt.Printf("%s\n", page[:6])
	// Output: all of
}

func ExamplePool_All() {
	p, _ := pool.New[int](pool.Options{})
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

func ExamplePool_Retired() {
	p, _ := pool.New[int](pool.Options{MaxSlots: 1<<24 - 1, Retire: true}) // 8 bits of generation
	defer p.Close()
	for range 1000 {
		h, _, _ := p.New()
		p.Free(h)
	}
	fmt.Println(p.Retired())
	// Output: 3
}

func ExamplePool_Trim() {
	p, _ := pool.New[[1024]byte](pool.Options{MaxSlots: 1 << 16})
	for range 10_000 {
		p.New()
	}
	reserved, before := p.Bytes()
	p.Clear()
	p.Trim()
	_, after := p.Bytes()
	fmt.Println(reserved > 64<<20, before > 10<<20, after < 1<<20)
	p.Close()
	_, _, err := p.New()
	fmt.Println(p.Bytes())
	fmt.Println(err)
	// Output:
	// true true true
	// 0 0
	// pool: closed or never made
}

// Things that move: a loop over two columns is a loop over two slices.
func ExampleTable() {
	things, err := pool.NewTable(pool.TableOptions{Packed: true})
	if err != nil {
		panic(err)
	}
	defer things.Close()
	position, err := pool.AddColumn[float32](things)
	if err != nil {
		panic(err)
	}
	speed, err := pool.AddColumn[float32](things)
	if err != nil {
		panic(err)
	}
	var rows []pool.Row
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
			fmt.Println("freed")
		}
	}
	// Output:
	// 0
	// freed
	// 20
	// 30
}

// Without Packed a freed row leaves a hole, with which Slice panics; RowAt returns 0 there.
func ExampleTableOptions() {
	for _, packed := range []bool{false, true} {
		t, _ := pool.NewTable(pool.TableOptions{Packed: packed})
		c, _ := pool.AddColumn[byte](t)
		for i := range 5 {
			row, _ := t.New()
			*c.At(row) = 'a' + byte(i)
		}
		t.Free(t.RowAt(1))
		fmt.Printf("%s, %t\n", c.Storage(), t.RowAt(1) == 0)
		t.Close()
	}
	// Output:
	// abcde, true
	// aecd, false
}

func ExampleAddColumn() {
	t, _ := pool.NewTable(pool.TableOptions{})
	defer t.Close()
	_, err := pool.AddColumn[[]byte](t)
	fmt.Println(err)
	// Output: pool: Column[[]uint8]: it is a slice, which memory outside the Go heap cannot hold
}

func ExampleRow() {
	t, _ := pool.NewTable(pool.TableOptions{})
	defer t.Close()
	old, _ := t.New()
	fmt.Println(t.Free(old), t.Free(old))
	young, _ := t.New()
	fmt.Println(t.Live(0), t.Live(old), t.Live(young), t.RowAt(0) == young)
	t.Clear()
	fmt.Println(t.Live(young), t.Len())
	// Output:
	// true false
	// false false true true
	// false 0
}

func ExampleColumn() {
	t, _ := pool.NewTable(pool.TableOptions{})
	defer t.Close()
	health, _ := pool.AddColumn[int](t)
	row, _ := t.New()
	*health.At(row) = 100
	fmt.Println(health.Slice())
	t.Free(row)
	fmt.Println(health.At(row))
	// Output:
	// [100]
	// <nil>
}

func ExampleTable_Index() {
	t, _ := pool.NewTable(pool.TableOptions{Packed: true})
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

func ExampleTable_Rows() {
	t, _ := pool.NewTable(pool.TableOptions{})
	defer t.Close()
	health, _ := pool.AddColumn[int](t)
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

func ExampleTable_Close() {
	t, _ := pool.NewTable(pool.TableOptions{})
	health, _ := pool.AddColumn[int](t)
	row, _ := t.New()
	t.Close()
	_, err := t.New()
	fmt.Println(t.Live(row), health.At(row), health.Slice(), errors.Is(err, pool.ErrClosed))
	// Output: false <nil> [] true
}
