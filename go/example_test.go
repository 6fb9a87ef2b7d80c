//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft_test

import (
	"encoding/json"
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

func ExampleTryNew() {
	a, _ := toft.NewArena(toft.Options{Budget: 1000})
	defer a.Release()
	_, err := toft.TryNew[[2000]byte](a)
	fmt.Println(errors.Is(err, toft.ErrNoMemory))
	fmt.Println(err)
	// Output:
	// true
	// toft: cannot allocate 2000 bytes aligned to 8: out of memory or over budget
}

func ExampleNewAligned() {
	a := toft.Get()
	defer a.Return()
	v := toft.NewAligned[[8]float32](a, 32) // for C's 256-bit vectors
	fmt.Println(uintptr(unsafe.Pointer(v)) % 32)
	// Output: 0
}

func ExampleCopy() {
	a := toft.Get()
	defer a.Return()
	fmt.Println(*toft.Copy(a, [3]int16{1, 2, 3}))
	// Output: [1 2 3]
}

func ExampleMakeSlice() {
	a := toft.Get()
	defer a.Return()
	nodes := toft.MakeSlice[ctest.Node](a, 3) // an array of structs
	nodes[0].Next = &nodes[1]
	fmt.Println(len(nodes), nodes[1].Value)
	// Output: 3 0
}

func ExampleTryMakeSlice() {
	a := toft.Get()
	defer a.Return()
	_, err := toft.TryMakeSlice[int64](a, math.MaxInt)
	fmt.Println(errors.Is(err, toft.ErrNoMemory))
	// Output: true
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
	points := toft.UninitOf[point]() // usually a variable of the package

	a := toft.Get()
	defer a.Return()
	p := points.New(&a.Arena) // not zeroed: set all of it
	*p = point{1, 2}
	fmt.Println(*p)

	defer func() { fmt.Println(recover()) }()
	toft.UninitOf[ctest.Node]()
	// Output:
	// {1 2}
	// toft: UninitOf[ctest.Node]: field Next is a pointer, which must be zeroed: use New
}

func ExampleUninit() {
	samples := toft.UninitOf[int16]()
	a := toft.Get()
	defer a.Return()
	s := samples.MakeSlice(&a.Arena, 4)
	clear(s)
	fmt.Println(s)
	// Output: [0 0 0 0]
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

func ExampleArena_TryAlloc() {
	a := toft.Get()
	defer a.Return()
	a.SetBudget(100)
	_, err := a.TryAlloc(1000, 8)
	fmt.Println(err)
	// Output: toft: cannot allocate 1000 bytes aligned to 8: out of memory or over budget
}

func ExampleTryNewAligned() {
	a := toft.Get()
	defer a.Return()
	_, err := toft.TryNewAligned[int64](a, 3)
	fmt.Println(err)
	// Output: toft: cannot allocate 8 bytes aligned to 3: not a power of two
}

func ExampleTryMakeSliceAligned() {
	a := toft.Get()
	defer a.Return()
	_, err := toft.TryMakeSliceAligned[int32](a, -1, 64)
	fmt.Println(err)
	// Output: toft: cannot allocate -1 x 4 bytes aligned to 64: a negative length
}

func ExampleTryCopy() {
	a := toft.Get()
	defer a.Return()
	p, err := toft.TryCopy(a, [2]int32{1, 2})
	fmt.Println(*p, err)
	// Output: [1 2] <nil>
}

func ExampleTryCopySlice() {
	a := toft.Get()
	defer a.Return()
	a.SetBudget(100)
	_, err := toft.TryCopySlice(a, make([]byte, 1000))
	fmt.Println(err)
	// Output: toft: cannot allocate 1000 x 1 bytes aligned to 8: out of memory or over budget
}

func ExampleArena_TryCBytes() {
	a := toft.Get()
	defer a.Return()
	p, err := a.TryCBytes([]byte("abc"))
	fmt.Println(unsafe.String((*byte)(p), 3), err)
	// Output: abc <nil>
}

func ExampleArena_TryCStringN() {
	a := toft.Get()
	defer a.Return()
	p, err := a.TryCStringN("abc")
	fmt.Println(unsafe.String((*byte)(p), 3), err)
	// Output: abc <nil>
}

func ExampleAllocError() {
	a, _ := toft.NewArena(toft.Options{Budget: 64})
	defer a.Release()
	defer func() {
		var e *toft.AllocError
		if errors.As(recover().(error), &e) {
			fmt.Println(e.Len, e.Size, e.Align)
		}
	}()
	toft.MakeSlice[int64](a, 100)
	// Output: 100 8 8
}

func ExampleAllocError_Error() {
	fmt.Println((&toft.AllocError{Size: 10, Align: 8}).Error())
	// Output: toft: cannot allocate 10 bytes aligned to 8: out of memory or over budget
}

func ExampleAllocError_Unwrap() {
	fmt.Println(errors.Is(&toft.AllocError{Size: 10, Align: 8}, toft.ErrNoMemory))
	// Output: true
}

// ---- strings ----

func ExampleArena_CString() {
	a := toft.Get()
	defer a.Return()
	s, err := a.CString("hello") // (*C.char)(s)
	fmt.Println(ctest.Strlen(s), err)
	// Output: 5 <nil>
}

func ExampleArena_TryCString() {
	a, _ := toft.NewArena(toft.Options{Budget: 16})
	defer a.Release()
	_, err := a.TryCString("more than sixteen bytes")
	fmt.Println(err)
	// Output: toft: cannot allocate 24 bytes aligned to 1: out of memory or over budget
}

func ExampleArena_TryCStrings() {
	a, _ := toft.NewArena(toft.Options{Budget: 16})
	defer a.Release()
	_, err := a.TryCStrings([]string{"a", "b", "c"})
	fmt.Println(errors.Is(err, toft.ErrNoMemory))
	// Output: true
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
	// Output: "any\x00bytes"
}

func ExampleArena_CBytes() {
	a := toft.Get()
	defer a.Return()
	p := a.CBytes([]byte{1, 0, 3})
	fmt.Println(unsafe.Slice((*byte)(p), 3))
	// Output: [1 0 3]
}

// ---- scopes ----

func ExampleArena_Rewind() {
	a := toft.Get()
	defer a.Return()
	for range 3 {
		m := a.Mark()
		a.Alloc(1000, 8) // for this turn only
		a.Rewind(m)
	}
	fmt.Println(a.Stats().Live)
	// Output: 0
}

func ExampleArena_Mark() {
	a := toft.Get()
	defer a.Return()
	func() {
		defer a.Rewind(a.Mark()) // a scope in one line
		a.Alloc(1000, 8)
	}()
	fmt.Println(a.Stats().Live)
	// Output: 0
}

func ExampleMark() {
	a := toft.Get()
	defer a.Return()
	toft.New[int](a)
	m := a.Mark()
	toft.New[int](a)
	a.Rewind(m)
	fmt.Println(a.Stats().Live)
	// Output: 8
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

func ExampleNewArena() {
	a, err := toft.NewArena(toft.Options{Budget: 1 << 20})
	if err != nil {
		return
	}
	defer a.Release()
	for range 3 {
		toft.MakeSlice[float64](a, 1000)
		a.Reset()
	}
	fmt.Println(a.Stats().Live)
	// Output: 0
}

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

func ExampleArena_Stats() {
	a := toft.Get()
	defer a.Return()
	a.Alloc(100, 8)
	fmt.Println(a.Stats().Live)
	// Output: 104
}

func ExampleStats() {
	a, _ := toft.NewArena(toft.Options{Budget: 5000})
	defer a.Release()
	s := a.Stats()
	fmt.Println(s.Live, s.Budget, s.Blocks)
	// Output: 0 5000 1
}

func ExampleStats_String() {
	a, _ := toft.NewArena(toft.Options{Budget: 1 << 20})
	defer a.Release()
	a.Alloc(100, 8)
	fmt.Println(a.Stats())
	// Output: 104 B live of 4.0 KiB in 1 block, peak 104 B, budget 1.0 MiB
}

func ExampleStats_MarshalJSON() {
	text, _ := json.Marshal(toft.Stats{Live: 104, Budget: toft.NoBudget})
	fmt.Println(string(text))
	// Output: {"live":104,"allocated":0,"peak":0,"budget":null,"reserved":0,"wasted":0,"blocks":0,"source_calls":0}
}

func ExampleStats_UnmarshalJSON() {
	var s toft.Stats
	err := json.Unmarshal([]byte(`{"live": 104, "budget": null}`), &s)
	fmt.Println(s.Live, s.Budget == toft.NoBudget, err)
	// Output: 104 true <nil>
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
	old := toft.SetLeaseLimits(toft.LeaseLimits{Total: 1 << 30})
	fmt.Println(old.Total)
	toft.SetLeaseLimits(old)
	// Output: 67108864
}

func ExampleLeaseLimits() {
	// Keep as little as possible between calls.
	defer toft.SetLeaseLimits(toft.SetLeaseLimits(toft.LeaseLimits{}))
	toft.Get().Return()
	// Output:
}

func ExampleReadLeaseStats() {
	before := toft.ReadLeaseStats().Leased
	a := toft.Get()
	fmt.Println(toft.ReadLeaseStats().Leased - before)
	a.Return()
	// Output: 1
}

func ExampleLeaseStats() {
	var s toft.LeaseStats = toft.ReadLeaseStats()
	fmt.Println(s.Idle >= 0)
	// Output: true
}

func ExampleLeaseStats_String() {
	fmt.Println(toft.LeaseStats{Leased: 2, Idle: 3, Kept: 40 << 10})
	// Output: 2 leased, 3 idle, 40.0 KiB kept
}

// The statistics of all leases of a program, under /debug/vars.
func ExampleReadLeaseStats_expvar() {
	expvar.Publish("toft", expvar.Func(func() any { return toft.ReadLeaseStats() }))
	fmt.Println(strings.Contains(expvar.Get("toft").String(), "Leased"))
	// Output: true
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
	for _, m := range toft.Metrics() {
		fmt.Println(m.Name)
	}
	// Output:
	// /toft/leases/idle:leases
	// /toft/leases/leased:leases
	// /toft/memory/cached:bytes
	// /toft/memory/held:bytes
	// /toft/memory/kept:bytes
}

func ExampleMetric() {
	held := expvar.NewInt("/toft/memory/held:bytes")
	for _, m := range toft.Metrics() {
		if m.Name == "/toft/memory/held:bytes" {
			held.Set(int64(m.Value))
			fmt.Println(m.Description)
		}
	}
	// Output: Memory of leases, owned arenas, caches and pools, which is in no metric of Go.
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
