//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft_test

import (
	"errors"
	"expvar"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"unsafe"

	"toft.dev/toft"
	"toft.dev/toft/internal/ctest" // stands for a C library
)

// The parameters of graphics libraries: a struct with a pointer to an array, and a chain of structs.
func Example() {
	families := []uint32{0, 2, 5}

	a := toft.Get()
	defer a.Return()
	info := toft.New[ctest.BufferCreateInfo](a)
	info.Kind = 12
	info.Size = 4096
	info.QueueFamilyCount = uint32(len(families))
	info.QueueFamilies = unsafe.SliceData(toft.CopySlice(a, families))
	info.Next = toft.New[ctest.BufferCreateInfo](a)
	info.Next.Kind = 13

	fmt.Println(ctest.SumBufferInfo(info)) // a call into C
	// Output: 4128
}

func ExampleGet() {
	a := toft.Get()
	defer a.Return()
	quotient, rest := toft.New[int32](a), toft.New[int32](a) // out-parameters
	ctest.Divide(17, 5, quotient, rest)
	fmt.Println(*quotient, *rest)
	// Output: 3 2
}

func ExampleLease() {
	a := toft.Get()
	defer a.Return()
	name, err := a.CString("toft") // a method of Arena
	fmt.Println(unsafe.String((*byte)(name), 4), err)
	show := func(a *toft.Arena) { fmt.Println(a.Stats().Live) } // must neither return nor release it
	show(&a.Arena)
	// Output:
	// toft <nil>
	// 8
}

// A function that allocates in arenas of any kind.
func ExampleAnyArena() {
	a := toft.Get()
	defer a.Return()
	fmt.Println(*answer(a))
	// Output: 42
}

func answer[A toft.AnyArena](a *A) *int32 { return toft.Copy(a, int32(42)) }

func ExampleLease_Return() {
	a := toft.Get()
	a.Return()
	defer func() { fmt.Println(recover()) }()
	a.Return()
	// Output: toft: second Return (leasetest.SetDebug shows the places)
}

func ExampleWith() {
	err := toft.With(func(a *toft.Arena) error {
		name, err := a.CString("no\x00good")
		if err != nil {
			return err
		}
		fmt.Println(ctest.Strlen(name))
		return nil
	})
	fmt.Println(err)
	// Output: toft: string contains a NUL byte
}

func ExampleArena() {
	a := toft.Get()
	defer a.Return()
	var list *ctest.Node // linked structs, in C's memory
	for i := range 3 {
		list = toft.Copy(a, ctest.Node{Value: int64(i), Next: list})
	}
	for ; list != nil; list = list.Next {
		fmt.Println(list.Value)
	}
	// Output:
	// 2
	// 1
	// 0
}

// ---- allocation ----

func ExampleNew() {
	a := toft.Get()
	defer a.Return()
	p := toft.New[struct{ X, Y int32 }](a)
	fmt.Println(*p)

	defer func() { fmt.Println(recover()) }()
	toft.New[struct{ Names [2]string }](a)
	// Output:
	// {0 0}
	// toft: struct { Names [2]string } cannot be in an arena: field Names[0] is a string
}

// The Try functions return an error where the others panic.
func ExampleTryNew() {
	a, _ := toft.NewArena(toft.Options{Budget: 16})
	defer a.Release()
	try := func(_ any, err error) { fmt.Println(err) }
	try(toft.TryNew[int64](a))
	try(toft.TryNew[[2000]byte](a))
	try(toft.TryNewAligned[int64](a, 3))
	try(toft.TryMakeSlice[int64](a, math.MaxInt32))
	try(toft.TryMakeSliceAligned[int32](a, -1, 64))
	try(toft.TryCopy(a, [5]int32{}))
	try(toft.TryCopySlice(a, make([]byte, 1000)))
	try(a.TryAlloc(1000, 16))
	try(a.TryCString("no\x00good"))
	try(a.TryCStringN("more than sixteen bytes"))
	try(a.TryCBytes(make([]byte, 1000)))
	_, err := a.TryCStrings([]string{"a", "b", "c"})
	fmt.Println(errors.Is(err, toft.ErrNoMemory))
	// Output:
	// <nil>
	// toft: cannot allocate 2000 bytes aligned to 8: out of memory or over budget
	// toft: cannot allocate 8 bytes aligned to 3: not a power of two
	// toft: cannot allocate 2147483647 x 8 bytes aligned to 8: out of memory or over budget
	// toft: cannot allocate -1 x 4 bytes aligned to 64: a negative length
	// toft: cannot allocate 20 bytes aligned to 8: out of memory or over budget
	// toft: cannot allocate 1000 x 1 bytes aligned to 8: out of memory or over budget
	// toft: cannot allocate 1000 bytes aligned to 16: out of memory or over budget
	// toft: string contains a NUL byte
	// toft: cannot allocate 23 bytes aligned to 1: out of memory or over budget
	// toft: cannot allocate 1000 bytes aligned to 1: out of memory or over budget
	// true
}

func ExampleNewAligned() {
	a := toft.Get()
	defer a.Return()
	v := toft.NewAligned[[8]float32](a, 32) // for C's 256-bit vectors
	fmt.Println(uintptr(unsafe.Pointer(v)) % 32)
	// Output: 0
}

func ExampleMakeSlice() {
	a := toft.Get()
	defer a.Return()
	nodes := toft.MakeSlice[ctest.Node](a, 3) // an array of structs
	nodes[0].Next = &nodes[1]
	fmt.Println(len(nodes), nodes[1].Value)
	// Output: 3 0
}

func ExampleMakeSliceAligned() {
	a := toft.Get()
	defer a.Return()
	line := toft.MakeSliceAligned[uint64](a, 8, 64)
	fmt.Println(uintptr(unsafe.Pointer(&line[0])) % 64)
	// Output: 0
}

func ExampleCopySlice() {
	a := toft.Get()
	defer a.Return()
	s := toft.CopySlice(a, []uint16{7, 8, 9})
	fmt.Println(s, cap(s))
	// Output: [7 8 9] 3
}

func ExampleUninitOf() {
	type point struct{ X, Y float64 }
	var points toft.Uninit[point] = toft.UninitOf[point]() // usually a variable of the package

	a := toft.Get()
	defer a.Return()
	p := points.New(&a.Arena) // not zeroed: set all of it
	*p = point{1, 2}
	s := points.MakeSlice(&a.Arena, 2)
	clear(s)
	fmt.Println(*p, s)

	defer func() { fmt.Println(recover()) }()
	toft.UninitOf[ctest.Node]()
	// Output:
	// {1 2} [{0 0} {0 0}]
	// toft: UninitOf[ctest.Node]: field Next is a pointer, which must be zeroed: use New
}

func ExampleArena_Alloc() {
	a := toft.Get()
	defer a.Return()
	p := a.Alloc(100, 16)
	fmt.Println(uintptr(p)%16, *(*byte)(p))
	// Output: 0 0
}

func ExampleArena_AllocUninit() {
	a := toft.Get()
	defer a.Return()
	buffer := unsafe.Slice((*byte)(a.AllocUninit(5, 1)), 5)
	copy(buffer, "hello")
	fmt.Printf("%s\n", buffer)
	// Output: hello
}

func ExampleAllocError() {
	a, _ := toft.NewArena(toft.Options{Budget: 64})
	defer a.Release()
	defer func() {
		var e *toft.AllocError
		if errors.As(recover().(error), &e) {
			fmt.Println(e.Len, e.Size, e.Align, e.Unwrap())
			fmt.Println(e.Error())
		}
	}()
	toft.MakeSlice[int64](a, 100)
	// Output:
	// 100 8 8 toft: out of memory or over budget
	// toft: cannot allocate 100 x 8 bytes aligned to 8: out of memory or over budget
}

// ---- strings ----

func ExampleArena_CString() {
	a := toft.Get()
	defer a.Return()
	s, err := a.CString("hello") // (*C.char)(s)
	fmt.Println(ctest.Strlen(s), err)
	// Output: 5 <nil>
}

func ExampleArena_CStrings() {
	a := toft.Get()
	defer a.Return()
	argv, err := a.CStrings([]string{"ls", "-l"}) // (**C.char)(argv), ended by NULL
	_, n := ctest.SumStrings(argv)
	fmt.Println(n, err)
	// Output: 2 <nil>
}

func ExampleArena_CStringN() {
	a := toft.Get()
	defer a.Return()
	s := "any\x00bytes"
	p := a.CStringN(s) // (*C.char)(p), with C.size_t(len(s))
	fmt.Printf("%q\n", unsafe.String((*byte)(p), len(s)))
	b := a.CBytes([]byte{1, 0, 3})
	fmt.Println(unsafe.Slice((*byte)(b), 3))
	// Output:
	// "any\x00bytes"
	// [1 0 3]
}

// ---- scopes ----

func ExampleArena_Mark() {
	a := toft.Get()
	defer a.Return()
	var m toft.Mark = a.Mark()
	func() {
		defer a.Rewind(m) // a scope in one line
		a.Alloc(1000, 8)
	}()
	fmt.Println(a.Stats().Live)
	// Output: 0
}

func ExampleArena_Scope() {
	a := toft.Get()
	defer a.Return()
	a.Scope(func() { a.Alloc(1000, 8) })
	fmt.Println(a.Stats().Live)
	// Output: 0
}

func ExampleArena_Cleanup_panic() {
	a := toft.Get()
	a.Cleanup(func() { fmt.Println("runs all the same") })
	a.Cleanup(func() { panic("on purpose") })
	defer func() { fmt.Println(recover()) }()
	a.Return()
	// Output:
	// runs all the same
	// on purpose
}

func ExampleArena_Cleanup() {
	a := toft.Get()
	a.Cleanup(func() { fmt.Println("closed") })
	fmt.Println("used")
	a.Return()
	// Output:
	// used
	// closed
}

// ---- owned arenas ----

func ExampleOptions() {
	// One range of addresses, whose memory is committed as the arena grows.
	a, err := toft.NewArena(toft.Options{Contiguous: 1 << 26})
	if err != nil {
		return
	}
	defer a.Release()
	first := uintptr(a.Alloc(8192, 8))
	second := uintptr(a.Alloc(8192, 8))
	fmt.Println(second - first)
	// Output: 8192
}

func ExampleArena_Release() {
	a, _ := toft.NewArena(toft.Options{})
	a.Release()
	defer func() { fmt.Println(recover()) }()
	a.Release()
	// Output: toft: Release of an arena that NewArena or Own did not return, or that was released before
}

func ExampleArena_Reset() {
	a, _ := toft.NewArena(toft.Options{})
	defer a.Release()
	a.Alloc(100_000, 8)
	a.Reset()
	fmt.Println(a.Stats().Live)
	// Output: 0
}

func ExampleArena_Trim() {
	a, _ := toft.NewArena(toft.Options{})
	defer a.Release()
	a.Alloc(1<<20, 8)
	a.Reset()
	a.Trim(0)
	fmt.Println(a.Stats().Reserved < 8192)
	// Output: true
}

func ExampleArena_SetBudget() {
	a := toft.Get()
	defer a.Return()
	a.SetBudget(1 << 10)
	_, err := a.TryAlloc(1<<11, 8)
	fmt.Println(err != nil)
	// Output: true
}

func ExampleStats() {
	a, _ := toft.NewArena(toft.Options{Budget: 1 << 20})
	defer a.Release()
	a.Alloc(100, 8)
	var s toft.Stats = a.Stats()
	fmt.Println(s.Live, s.Budget, s.Blocks)
	fmt.Println(s.String())
	// Output:
	// 104 1048576 1
	// 104 B live of 4.0 KiB in 1 block, peak 104 B, budget 1.0 MiB
}

func ExampleStats_MarshalJSON() {
	text, err := toft.Stats{Live: 104, Budget: toft.NoBudget}.MarshalJSON()
	fmt.Println(string(text), err)
	var s toft.Stats
	err = s.UnmarshalJSON(text)
	fmt.Println(s.Live, s.Budget == toft.NoBudget, err)
	// Output:
	// {"live":104,"allocated":0,"peak":0,"budget":null,"reserved":0,"wasted":0,"blocks":0,"source_calls":0} <nil>
	// 104 true <nil>
}

func ExampleArena_Contains() {
	a := toft.Get()
	defer a.Return()
	p := toft.New[int](a)
	fmt.Println(a.Contains(unsafe.Pointer(p)), a.Contains(unsafe.Pointer(new(int))))
	// Output: true false
}

// ---- with C ----

func ExampleArena_Pointer() {
	a := toft.Get()
	defer a.Return()
	list := ctest.List(a.Pointer(), 3) // C allocates from the arena
	for ; list != nil; list = list.Next {
		fmt.Println(list.Value)
	}
	// Output:
	// 1
	// 2
	// 3
}

func ExampleWrap() {
	p := ctest.Create(0) // a toft_arena *, made in C
	defer ctest.Release(p)
	a, err := toft.Wrap(p)
	if err != nil {
		return
	}
	fmt.Println(*toft.Copy(a, 42))
	// Output: 42
}

func ExampleOwn() {
	a, err := toft.Own(ctest.Create(0)) // C gave it away
	if err != nil {
		return
	}
	toft.MakeSlice[int](a, 1000)
	a.Release()
	fmt.Println(ctest.Held())
	// Output: 0
}

// ---- leases ----

func ExampleSetLeaseLimits() {
	var old toft.LeaseLimits = toft.SetLeaseLimits(toft.LeaseLimits{Total: 1 << 30})
	fmt.Println(old.Total)
	toft.SetLeaseLimits(old)
	// Output: 67108864
}

// The statistics are also a variable of the program, under /debug/vars.
func ExampleReadLeaseStats() {
	expvar.Publish("toft", expvar.Func(func() any { return toft.ReadLeaseStats() }))
	before := toft.ReadLeaseStats().Leased
	a := toft.Get()
	fmt.Println(toft.ReadLeaseStats().Leased - before)
	a.Return()
	fmt.Println(toft.LeaseStats{Leased: 2, Idle: 3, Kept: 40 << 10}.String())
	fmt.Println(strings.Contains(expvar.Get("toft").String(), "Leased"))
	// Output:
	// 1
	// 2 leased, 3 idle, 40.0 KiB kept
	// true
}

func ExampleTrimLeases() {
	a := toft.Get()
	a.Alloc(100_000, 8)
	a.Return()
	toft.TrimLeases()
	s := toft.ReadLeaseStats()
	fmt.Println(s.Kept <= uint64(s.Idle)*8192)
	// Output: true
}

// ---- debugging ----

// The memory of arenas and pools beside the metrics of the runtime.
func ExampleHeld() {
	toft.TrimLeases()
	before := toft.Held()
	a := toft.Get()
	a.AllocUninit(100<<20, 8)
	fmt.Println((toft.Held() - before) >> 20)
	a.Return()
	toft.TrimLeases()
	// Output: 100
}

func ExampleMetrics() {
	show := func(m toft.Metric) { expvar.NewInt(m.Name).Set(int64(m.Value)) }
	for _, m := range toft.Metrics() {
		fmt.Println(m.Name)
		show(m)
	}
	// Output:
	// /toft/leases/idle:leases
	// /toft/leases/leased:leases
	// /toft/memory/cached:bytes
	// /toft/memory/held:bytes
	// /toft/memory/kept:bytes
}

// A server in a container of 1 GiB leaves some percent to the system.
func ExampleAdjustMemoryLimit() {
	toft.TrimLeases()
	stop := toft.AdjustMemoryLimit(950 << 20)
	defer stop()
	before := debug.SetMemoryLimit(-1)
	a := toft.Get()
	defer a.Return()
	a.AllocUninit(100<<20, 8)
	fmt.Println((before - debug.SetMemoryLimit(-1)) >> 20)
	// Output: 100
}
