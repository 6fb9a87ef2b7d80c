//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime/cgo"
	gcdebug "runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unique"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

// ---- helpers of all tests ----

func newArena(t testing.TB, o Options) *Arena {
	t.Helper()
	a, err := NewArena(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Release)
	return a
}

// dirty fills the free bytes of the arena with bytes that look like bad pointers.
func dirty(a *Arena) {
	defer a.Rewind(a.Mark())
	for range 40 {
		p := a.AllocUninit(256, 8)
		words := unsafe.Slice((*uint64)(p), 32)
		for i := range words {
			words[i] = 0xC0_DEAD_BEE8
		}
	}
}

type mixed struct {
	a    int8
	b    int64
	c    [3]uint16
	next *mixed
	data unsafe.Pointer
}

// ---- contents and alignment ----

// sized is New of a type, with its size.
func sized[T any](a *Arena) (unsafe.Pointer, int) {
	return unsafe.Pointer(New[T](a)), int(unsafe.Sizeof(*new(T)))
}

// Sizes around those that are zeroed without a call.
var sizes = []func(a *Arena) (unsafe.Pointer, int){
	sized[[1]byte], sized[[8]byte], sized[[9]byte], sized[[16]byte], sized[[17]byte], sized[[24]byte], sized[[32]byte],
	sized[[33]byte], sized[[40]byte], sized[[49]byte], sized[[64]byte], sized[[65]byte], sized[[72]byte], sized[[100]byte],
	sized[[129]byte], sized[[200]byte], sized[[256]byte], sized[[257]byte], sized[mixed],
}

func one[T any](p *T, err error) (unsafe.Pointer, int) {
	return unsafe.Pointer(must1(p, err)), int(unsafe.Sizeof(*p))
}

func many[T any](s []T, err error) (unsafe.Pointer, int) {
	return unsafe.Pointer(unsafe.SliceData(must1(s, err))), len(s) * int(unsafe.Sizeof(*new(T)))
}

// Every call that hands out memory, with about n bytes that must be zero. Those that copy get zeros.
var handsOut = map[string]func(a *Arena, n int) (unsafe.Pointer, int){
	"New":                 func(a *Arena, n int) (unsafe.Pointer, int) { return sizes[n%len(sizes)](a) },
	"TryNew":              func(a *Arena, n int) (unsafe.Pointer, int) { return one(TryNew[mixed](a)) },
	"NewAligned":          func(a *Arena, n int) (unsafe.Pointer, int) { return one(NewAligned[mixed](a, 32), nil) },
	"TryNewAligned":       func(a *Arena, n int) (unsafe.Pointer, int) { return one(TryNewAligned[mixed](a, 8)) },
	"Copy":                func(a *Arena, n int) (unsafe.Pointer, int) { return one(Copy(a, mixed{}), nil) },
	"TryCopy":             func(a *Arena, n int) (unsafe.Pointer, int) { return one(TryCopy(a, mixed{})) },
	"MakeSlice":           func(a *Arena, n int) (unsafe.Pointer, int) { return many(MakeSlice[uintptr](a, n/8), nil) },
	"TryMakeSlice":        func(a *Arena, n int) (unsafe.Pointer, int) { return many(TryMakeSlice[mixed](a, n/48)) },
	"MakeSliceAligned":    func(a *Arena, n int) (unsafe.Pointer, int) { return many(MakeSliceAligned[byte](a, n, 16), nil) },
	"TryMakeSliceAligned": func(a *Arena, n int) (unsafe.Pointer, int) { return many(TryMakeSliceAligned[*byte](a, n/8, 16)) },
	"CopySlice":           func(a *Arena, n int) (unsafe.Pointer, int) { return many(CopySlice(a, make([]mixed, n/48)), nil) },
	"TryCopySlice":        func(a *Arena, n int) (unsafe.Pointer, int) { return many(TryCopySlice(a, make([]*byte, n/8))) },
	"Alloc":               func(a *Arena, n int) (unsafe.Pointer, int) { return a.Alloc(n, 1<<(n%6)), n },
	"TryAlloc":            func(a *Arena, n int) (unsafe.Pointer, int) { return must1(a.TryAlloc(n, 1<<(n%6))), n },
	"CBytes":              func(a *Arena, n int) (unsafe.Pointer, int) { return a.CBytes(zeros[:n]), n },
	"TryCBytes":           func(a *Arena, n int) (unsafe.Pointer, int) { return must1(a.TryCBytes(zeros[:n])), n },
	"CStringN":            func(a *Arena, n int) (unsafe.Pointer, int) { return a.CStringN(string(zeros[:n])), n },
	"TryCStringN":         func(a *Arena, n int) (unsafe.Pointer, int) { return must1(a.TryCStringN(string(zeros[:n]))), n },
	"CString":             func(a *Arena, n int) (unsafe.Pointer, int) { return must1(a.CString("")), 1 },
	"TryCString":          func(a *Arena, n int) (unsafe.Pointer, int) { return must1(a.TryCString("")), 1 },
	"CStrings":            func(a *Arena, n int) (unsafe.Pointer, int) { return must1(a.CStrings(nil)), int(unsafe.Sizeof(n)) },

	"TryCStrings": func(a *Arena, n int) (unsafe.Pointer, int) { return must1(a.TryCStrings(nil)), int(unsafe.Sizeof(n)) },
	"AllocUninit": nil,
	"Pointer":     nil, // the head
}

// The garbage collector reads what a store of a pointer overwrites, so memory is zero also if an earlier lease filled it.
func TestMemoryIsZeroAndApart(t *testing.T) {
	defer gcdebug.SetGCPercent(gcdebug.SetGCPercent(1))
	for n := range 300 {
		used := Get()
		dirty(&used.Arena)
		used.Return()
		l := Get()
		m := &arenaModel{t: t, a: &l.Arena}
		for _, call := range handsOut {
			if call != nil {
				p, size := call(m.a, n)
				m.add(p, size, 1, true)
			}
		}
		m.add(unsafe.Pointer(UninitOf[[3]float32]().New(m.a)), 12, 8, false)
		m.check()
		if dirty(m.a); *(*uint64)(m.a.AllocUninit(8, 8)) == 0 || *UninitOf[uint64]().New(m.a) == 0 {
			t.Error("memory without a promise is zeroed")
		}
		l.Return()
	}
}

func TestNewAtTheEndOfTheRoom(t *testing.T) {
	a := newArena(t, Options{})
	for a.limit != a.cursor {
		guard := a.limit
		New[[8]byte](a)
		if a.limit != guard || a.cursor > a.limit {
			t.Fatal("past the limit")
		}
	}
	if s := MakeSlice[byte](a, 0); uintptr(unsafe.Pointer(unsafe.SliceData(s))) != a.cursor {
		t.Error("size 0 at the end of a block is elsewhere")
	}
	if p := New[struct{}](a); a.limit == a.cursor || *p != struct{}{} {
		t.Error("a value without bytes took none, and its address cannot be read")
	}
}

func TestMakeSlice(t *testing.T) {
	a := newArena(t, Options{})
	dirty(a)
	for _, n := range []int{0, 1, 2, 7, 1000, 100_000} {
		for _, s := range [][]uint32{MakeSlice[uint32](a, n), UninitOf[uint32]().MakeSlice(a, n), MakeSliceAligned[uint32](a, n, 64)} {
			if len(s) != n || cap(s) != n || s == nil {
				t.Fatalf("len %d, cap %d", len(s), cap(s))
			}
			for i := range s {
				s[i] = math.MaxUint32
			}
		}
	}
	if s := MakeSlice[struct{}](a, math.MaxInt); len(s) != math.MaxInt {
		t.Error(len(s))
	}
}

func TestAlignment(t *testing.T) {
	a := newArena(t, Options{})
	for align := uint(1); align <= 1<<16; align *= 2 {
		for i := range 20 {
			s, err := TryMakeSliceAligned[uint16](a, i, align)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []unsafe.Pointer{
				unsafe.Pointer(NewAligned[[3]byte](a, align)), unsafe.Pointer(must1(TryNewAligned[[3]byte](a, align))), a.Alloc(i, int(align)),
				a.AllocUninit(i, int(align)), unsafe.Pointer(unsafe.SliceData(MakeSliceAligned[uint16](a, i, align))),
				unsafe.Pointer(unsafe.SliceData(s)),
			} {
				if uintptr(p)%uintptr(align) != 0 {
					t.Fatalf("%p is not aligned to %d", p, align)
				}
			}
		}
	}
}

func TestCopies(t *testing.T) {
	a := newArena(t, Options{})
	dirty(a)
	v := mixed{a: -1, b: math.MaxInt, c: [3]uint16{1, 2, 3}, next: New[mixed](a)}
	for _, p := range []*mixed{Copy(a, v), must1(TryCopy(a, v))} {
		if *p != v || p == &v {
			t.Error(*p)
		}
	}
	numbers := make([]int16, 12345)
	for i := range numbers {
		numbers[i] = int16(i)
	}
	for _, s := range [][]int16{nil, {1}, numbers} {
		for _, c := range [][]int16{CopySlice(a, s), must1(TryCopySlice(a, s))} {
			if !slices.Equal(c, s) || cap(c) != len(s) || len(s) != 0 && !a.Contains(unsafe.Pointer(&c[len(s)-1])) {
				t.Errorf("%d elements: %d, capacity %d", len(s), len(c), cap(c))
			}
		}
	}
	dirty(a)
	for i, b := range *(*[48]byte)(a.typed(any((*mixed)(nil)), 48)) { // what a store of a pointer will overwrite
		if b != 0 {
			t.Fatalf("byte %d is %#x", i, b)
		}
	}
}

// panicking returns what f panics with as an error.
func panicking(f func()) func() (any, error) {
	return func() (any, error) {
		err, _ := outcome(f).(error)
		return nil, err
	}
}

type request struct {
	try  func() (any, error)
	want string
}

// refusedSizes returns requests that an arena with a budget of 1000 bytes refuses.
func refusedSizes(a *Arena) []request {
	const least, most = math.MinInt, math.MaxInt
	big, long := make([]byte, 2000), strings.Repeat("x", 2000)
	bytes := UninitOf[[2000]byte]()
	return []request{
		{func() (any, error) { return a.TryAlloc(-1, 8) }, "-1 bytes aligned to 8: a negative size"},
		{func() (any, error) { return a.TryAlloc(least, 8) }, fmt.Sprint(least, " bytes aligned to 8: a negative size")},
		{panicking(func() { a.Alloc(-1, 8) }), "-1 bytes aligned to 8: a negative size"},
		{panicking(func() { a.AllocUninit(least, 8) }), fmt.Sprint(least, " bytes aligned to 8: a negative size")},
		{func() (any, error) { return a.TryAlloc(most, 8) }, fmt.Sprint(most, " bytes aligned to 8: out of memory")},
		{func() (any, error) { return a.TryAlloc(2000, 16) }, "2000 bytes aligned to 16: out of memory or over budget"},
		{panicking(func() { a.Alloc(2000, 1) }), "2000 bytes aligned to 1: out of memory or over budget"},
		{func() (any, error) { return a.TryAlloc(8, most/2+1) }, "out of memory"},
		{func() (any, error) { return TryNew[[2000]byte](a) }, "2000 bytes aligned to 8: out of memory"},
		{panicking(func() { New[[2000]byte](a) }), "2000 bytes aligned to 8: out of memory"},
		{panicking(func() { NewAligned[[2000]byte](a, 64) }), "2000 bytes aligned to 64: out of memory"},
		{panicking(func() { bytes.New(a) }), "2000 bytes aligned to 8: out of memory"},
		{func() (any, error) { return TryNewAligned[int64](a, 1<<20) }, "8 bytes aligned to 1048576: out of memory"},
		{func() (any, error) { return TryMakeSlice[int32](a, -1) }, "-1 x 4 bytes aligned to 8: a negative length"},
		{func() (any, error) { return TryMakeSlice[struct{}](a, -1) }, "-1 x 0 bytes aligned to 8: a negative length"},
		{func() (any, error) { return TryMakeSlice[int64](a, least) }, fmt.Sprint(least, " x 8 bytes aligned to 8: a negative")},
		{func() (any, error) { return TryMakeSlice[int64](a, most) }, fmt.Sprint(most, " x 8 bytes aligned to 8: out of memory")},
		{func() (any, error) { return TryMakeSlice[byte](a, most) }, fmt.Sprint(most, " x 1 bytes aligned to 8: out of memory")},
		{func() (any, error) { return TryMakeSliceAligned[int32](a, -4, 64) }, "-4 x 4 bytes aligned to 64: a negative length"},
		{func() (any, error) { return TryCopy(a, [2000]byte{}) }, "2000 bytes"},
		{func() (any, error) { return TryCopySlice(a, big) }, "2000 x 1 bytes"},
		{func() (any, error) { return a.TryCBytes(big) }, "2000 bytes aligned to 1: out of memory"},
		{panicking(func() { a.CBytes(big) }), "2000 bytes aligned to 8: out of memory"},
		{func() (any, error) { return a.TryCStringN(long) }, "2000 bytes aligned to 1: out of memory"},
		{panicking(func() { a.CStringN(long) }), "2000 bytes aligned to 8: out of memory"},
		{func() (any, error) { return a.TryCString(long) }, "2001 bytes aligned to 1: out of memory"},
		{panicking(func() { a.CString(long) }), "2001 bytes aligned to 1: out of memory"},
		{func() (any, error) { return a.TryCStrings([]string{long}) }, "out of memory"},
		{panicking(func() { a.CStrings([]string{long}) }), "out of memory"},
	}
}

// refusedNumbers returns requests of lengths and alignments that are out of range.
func refusedNumbers(a *Arena) (rows []request) {
	const least, most = math.MinInt, math.MaxInt
	numbers := UninitOf[uint32]()
	add := func(want string, try func() (any, error)) { rows = append(rows, request{try, want}) }
	for _, n := range []int{-1, least, most, most/4 + 1} {
		why := map[bool]string{true: "a negative length", false: "out of memory or over budget"}[n < 0]
		add(fmt.Sprint(n, " x 4 bytes aligned to 8: ", why), panicking(func() { MakeSlice[uint32](a, n) }))
		add(fmt.Sprint(n, " x 4 bytes aligned to 8: ", why), panicking(func() { numbers.MakeSlice(a, n) }))
		add(fmt.Sprint(n, " x 4 bytes aligned to 64: ", why), panicking(func() { MakeSliceAligned[uint32](a, n, 64) }))
	}
	for _, align := range []int{0, -8, 3, 5, 6, 7, 12, least, most} {
		want := fmt.Sprint("8 bytes aligned to ", align, ": not a power of two")
		add(want, func() (any, error) { return a.TryAlloc(8, align) })
		add(want, func() (any, error) { return TryNewAligned[int64](a, uint(align)) })
		add("1 x "+want, func() (any, error) { return TryMakeSliceAligned[int64](a, 1, uint(align)) })
		add(want, panicking(func() { a.Alloc(8, align) }))
		add(want, panicking(func() { a.AllocUninit(8, align) }))
		add(want, panicking(func() { NewAligned[int64](a, uint(align)) }))
		add("1 x "+want, panicking(func() { MakeSliceAligned[int64](a, 1, uint(align)) }))
	}
	return rows
}

// A refused request leaves the arena unchanged. Its error has the size and alignment; Try functions return it, others panic.
func TestRefusedRequests(t *testing.T) {
	a := newArena(t, Options{Budget: 1000})
	a.Alloc(8, 8)
	before := a.Stats()
	for _, c := range append(refusedSizes(a), refusedNumbers(a)...) {
		p, err := c.try()
		cause := ErrArgument
		if strings.Contains(c.want, "out of memory") || !strings.Contains(c.want, ": ") {
			cause = ErrNoMemory
		}
		var e *AllocError
		if !errors.As(err, &e) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "cannot allocate ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %s", err, c.want)
		}
		if p != nil && !reflect.ValueOf(p).IsNil() {
			t.Errorf("%s: %v beside the error", c.want, p)
		}
		if s := a.Stats(); s != before {
			t.Fatalf("%s: %+v became %+v", c.want, before, s)
		}
	}
	if p, err := TryNew[[992]byte](a); p == nil || err != nil {
		t.Error("the rest of the budget cannot be had: ", err)
	}
}

// ---- types ----

type inner struct {
	Deep struct{ List [2]struct{ Name string } }
}

type (
	event   struct{ When time.Time }
	goList  struct{ next *goList }
	goNamed struct {
		Next, Other *goNamed
		Names       [2]*string
	}
	goWide   struct{ P **[3]*goNamed }
	goThrice struct {
		A *struct {
			B *struct{ C *struct{ Done chan int } }
		}
	}
)

// No C memory has a string, slice, map, chan, func or interface, so a pointer to what contains one is a Go pointer.
func TestRefusedTypesAreNamed(t *testing.T) {
	a := newArena(t, Options{})
	before := a.Stats()
	const location = "field When.loc is a *time.Location, whose field name is a string"
	for _, row := range []struct {
		want string
		f    func()
	}{
		{"string cannot be in an arena: it is a string", func() { New[string](a) }},
		{"field Deep.List[0].Name is a string", func() { New[inner](a) }},
		{"it is a slice", func() { New[[]byte](a) }},
		{"field M is a map", func() { New[struct{ M map[int]int }](a) }},
		{"field C is a chan", func() { MakeSlice[struct{ C chan int }](a, 1) }},
		{"field F is a func", func() { Copy(a, struct{ F func() }{}) }},
		{"field E is an interface", func() { CopySlice(a, []struct{ E error }{{}}) }},
		{"[0].X is a string", func() { TryNew[[4]struct{ X string }](a) }},
		{"field next is a pointer, which must be zeroed", func() { UninitOf[mixed]() }},
		{"it is an unsafe.Pointer", func() { UninitOf[unsafe.Pointer]() }},
		{"field Name is a string", func() { UninitOf[struct{ Name string }]() }},
		{"nil pointer", func() { Uninit[int]{}.New(a) }},

		{"it is a pointer to a string", func() { New[*string](a) }},
		{"it is a pointer to an interface", func() { New[*error](a) }},
		{"it is a pointer to a slice", func() { New[*[]int](a) }},
		{"it is a pointer to a pointer to a map", func() { New[**map[int]int](a) }},
		{"it is a pointer to a func", func() { New[*func()](a) }},
		{"it is a *struct { Name string }, whose field Name is a string", func() { New[*struct{ Name string }](a) }},
		{"field _ is a pointer to a string", func() { New[atomic.Pointer[string]](a) }},
		{"field _ is a *toft.event, whose " + location, func() { New[atomic.Pointer[event]](a) }},
		{"field Names[0] is a pointer to a string", func() { New[goNamed](a) }},
		{"field P is a pointer to a *[3]*toft.goNamed, whose field [0] is a *toft.goNamed, whose field Names[0] is a pointer to a string",
			func() { New[goWide](a) }},
		{"whose field C is a *struct { Done chan int }, whose field Done is a chan", func() { New[goThrice](a) }},
		{"is a pointer to a string", func() { New[struct{ h unique.Handle[string] }](a) }},

		{location, func() { New[event](a) }}, // each function that takes a type
		{location, func() { TryNew[event](a) }},
		{location, func() { NewAligned[event](a, 64) }},
		{location, func() { TryNewAligned[event](a, 64) }},
		{location, func() { Copy(a, event{}) }},
		{location, func() { TryCopy(a, event{}) }},
		{location, func() { MakeSlice[event](a, 1) }},
		{location, func() { MakeSlice[event](a, 0) }},
		{location, func() { TryMakeSlice[event](a, 1) }},
		{location, func() { MakeSliceAligned[event](a, 1, 64) }},
		{location, func() { TryMakeSliceAligned[event](a, 1, 64) }},
		{location, func() { CopySlice(a, []event{{}}) }},
		{location, func() { TryCopySlice(a, []event{{}}) }},
		{"field When.loc is a pointer, which must be zeroed", func() { UninitOf[event]() }},
		{location, func() { With(func(a *Arena) error { New[event](a); return nil }) }},
	} {
		for range 2 { // also the second time
			if got := fmt.Sprint(outcome(row.f)); !strings.Contains(got, row.want) {
				t.Errorf("the panic is %q, without %q", got, row.want)
			}
		}
	}
	if a.Stats() != before {
		t.Error("the arena changed")
	}
}

// Types that C memory can have, as a wrapper writes them and as cgo declares them.
func TestCTypesAreAccepted(t *testing.T) {
	a := newArena(t, Options{})
	New[goList](a).next = New[goList](a)
	New[struct{ N [0]string }](a)
	New[mixed](a)
	New[atomic.Pointer[goList]](a)
	New[atomic.Pointer[int32]](a)
	New[*struct{ a *[0]byte }](a)
	New[**uintptr](a)
	New[cgo.Handle](a)
	New[*cgo.Incomplete](a)
	New[*Arena](a)
	New[*Lease](a)
	New[Mark](a)
	New[ctest.BufferCreateInfo](a)
	New[ctest.EveryKind](a)
	New[*ctest.EveryKind](a)
	New[ctest.Linked](a)
	New[ctest.Linking](a)
	New[ctest.Opaque](a)
	New[ctest.Number](a)
	New[ctest.Function](a)
	New[ctest.Text](a)
	New[ctest.ForeignArena](a)
}

func TestManyTypesShareTheCache(t *testing.T) {
	a := newArena(t, Options{})
	for range passed { // no entry at all: each is looked up in the map
		for i := range passed {
			passed[i].Store(0)
		}
		New[mixed](a)
		New[int32](a)
	}
	wantPanic(t, "it is a string", func() { New[string](a) })
}

// ---- strings ----

func TestCStrings(t *testing.T) {
	a := newArena(t, Options{})
	for _, s := range []string{"", "a", "1234567", "12345678", "müsli", strings.Repeat("x", 100_000)} {
		dirty(a)
		p, err := a.CString(s)
		if err != nil || ctest.Strlen(p) != len(s) || unsafe.String((*byte)(p), len(s)) != s {
			t.Errorf("%.10q: %v", s, err)
		}
	}
	before := a.Stats()
	for _, f := range []func(s string) (unsafe.Pointer, error){
		a.CString, a.TryCString,
		func(s string) (unsafe.Pointer, error) { return a.CStrings([]string{"a", s}) },
		func(s string) (unsafe.Pointer, error) { return a.TryCStrings([]string{s, "a"}) },
	} {
		if p, err := f("a\x00b"); p != nil || err != ErrNUL {
			t.Error(p, err)
		}
	}
	if a.Stats() != before {
		t.Error("the arena changed")
	}
	for n := range 80 { // a NUL at every place of every length
		for at := range n {
			b, to := bytes.Repeat([]byte{0x80}, n), make([]byte, n+1)
			if b[at] = 1; copyText(unsafe.Pointer(&to[0]), string(b)) || string(to) != string(b)+"\x00" {
				t.Fatalf("%q became %q", b, to)
			}
			if b[at] = 0; !copyText(unsafe.Pointer(&to[0]), string(b)) {
				t.Fatalf("%q holds one", b)
			}
		}
	}
	for _, list := range [][]string{nil, {""}, {"a"}, {"one", "two", "three"}} {
		dirty(a)
		p, err := a.CStrings(list)
		want := 0
		for _, s := range list {
			for i := range len(s) {
				want += int(s[i])
			}
		}
		if sum, n := ctest.SumStrings(p); err != nil || n != len(list) || sum != want {
			t.Errorf("%q: %d strings, sum %d: %v", list, n, sum, err)
		}
	}
	for _, text := range []string{"", "a\x00b"} {
		for _, p := range []unsafe.Pointer{
			a.CBytes([]byte(text)), a.CStringN(text), must1(a.TryCBytes([]byte(text))), must1(a.TryCStringN(text)),
		} {
			if p == nil || len(text) != 0 && unsafe.String((*byte)(p), len(text)) != text {
				t.Errorf("not %q", text)
			}
		}
	}
}

func addressOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
