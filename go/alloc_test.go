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

func TestNewIsZeroedAndApart(t *testing.T) {
	a := newArena(t, Options{})
	for range 3 {
		dirty(a)
		var all []*mixed
		for i := range 200 {
			p := New[mixed](a)
			if *p != (mixed{}) {
				t.Fatalf("not zeroed: %+v", *p)
			}
			if uintptr(unsafe.Pointer(p))%8 != 0 {
				t.Fatalf("at %p", p)
			}
			p.b = int64(i)
			p.next = p
			all = append(all, p)
		}
		for i, p := range all {
			if p.b != int64(i) || p.next != p {
				t.Fatalf("%d was overwritten: %+v", i, *p)
			}
		}
		a.Reset()
	}
}

// Sizes around those that are zeroed without a call, also at the end of a block.
func TestNewOfEverySize(t *testing.T) {
	a := newArena(t, Options{})
	check := func(p unsafe.Pointer, n int) {
		t.Helper()
		for i, b := range unsafe.Slice((*byte)(p), n) {
			if b != 0 {
				t.Fatalf("byte %d of %d is %#x", i, n, b)
			}
		}
		for i := range n {
			*(*byte)(unsafe.Add(p, i)) = 0xEE
		}
	}
	for range 300 {
		check(unsafe.Pointer(New[[1]byte](a)), 1)
		check(unsafe.Pointer(New[[8]byte](a)), 8)
		check(unsafe.Pointer(New[[9]byte](a)), 9)
		check(unsafe.Pointer(New[[16]byte](a)), 16)
		check(unsafe.Pointer(New[[17]byte](a)), 17)
		check(unsafe.Pointer(New[[24]byte](a)), 24)
		check(unsafe.Pointer(New[[32]byte](a)), 32)
		check(unsafe.Pointer(New[[33]byte](a)), 33)
		check(unsafe.Pointer(New[[40]byte](a)), 40)
		check(unsafe.Pointer(New[[49]byte](a)), 49)
		check(unsafe.Pointer(New[[64]byte](a)), 64)
		check(unsafe.Pointer(New[[65]byte](a)), 65)
		check(unsafe.Pointer(New[[100]byte](a)), 100)
		if New[struct{}](a) == nil {
			t.Fatal("nothing")
		}
	}
	b := newArena(t, Options{})
	for b.limit != b.cursor { // up to the end of the room
		guard := b.limit
		New[[8]byte](b)
		if b.limit != guard || b.cursor > b.limit {
			t.Fatal("past the limit")
		}
	}
	if s := MakeSlice[byte](b, 0); uintptr(unsafe.Pointer(unsafe.SliceData(s))) != b.cursor {
		t.Error("size 0 at the end of a block is elsewhere")
	}
	if p := New[struct{}](b); b.limit == b.cursor || *p != struct{}{} {
		t.Error("a value without bytes took none, and its address cannot be read")
	}
}

func TestMakeSlice(t *testing.T) {
	a := newArena(t, Options{})
	dirty(a)
	for _, n := range []int{0, 1, 2, 7, 1000, 100_000} {
		s := MakeSlice[uint32](a, n)
		if len(s) != n || cap(s) != n || s == nil {
			t.Fatalf("len %d, cap %d", len(s), cap(s))
		}
		if slices.ContainsFunc(s, func(v uint32) bool { return v != 0 }) {
			t.Fatal("not zeroed")
		}
		for i := range s {
			s[i] = math.MaxUint32
		}
	}
	for _, n := range []int{-1, math.MinInt, math.MaxInt, math.MaxInt/4 + 1} {
		before := a.Stats()
		cause := ErrNoMemory
		if n < 0 {
			cause = ErrArgument
		}
		wantRefusal(t, fmt.Sprintf("%d x 4 bytes aligned to 8", n), cause, func() { MakeSlice[uint32](a, n) })
		wantRefusal(t, fmt.Sprintf("%d x 4 bytes aligned to 8", n), cause, func() { UninitOf[uint32]().MakeSlice(a, n) })
		wantRefusal(t, fmt.Sprintf("%d x 4 bytes aligned to 64", n), cause, func() { MakeSliceAligned[uint32](a, n, 64) })
		if _, err := TryMakeSlice[uint32](a, n); !errors.Is(err, cause) {
			t.Errorf("%d: %v", n, err)
		}
		if a.Stats() != before {
			t.Errorf("a length of %d changed the arena", n)
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
			if p := uintptr(unsafe.Pointer(NewAligned[[3]byte](a, align))); p%uintptr(align) != 0 {
				t.Fatalf("%#x is not aligned to %d", p, align)
			}
			if p := uintptr(a.Alloc(i, int(align))); p%uintptr(align) != 0 {
				t.Fatalf("%#x is not aligned to %d", p, align)
			}
			if p := uintptr(unsafe.Pointer(unsafe.SliceData(MakeSliceAligned[uint16](a, i, align)))); p%uintptr(align) != 0 {
				t.Fatalf("%#x is not aligned to %d", p, align)
			}
		}
	}
	for _, align := range []int{0, -8, 3, 5, 6, 7, 12, math.MinInt, math.MaxInt} {
		before := a.Stats()
		wantRefusal(t, "not a power of two", ErrArgument, func() { a.Alloc(8, align) })
		wantRefusal(t, "not a power of two", ErrArgument, func() { a.AllocUninit(8, align) })
		wantRefusal(t, "not a power of two", ErrArgument, func() { NewAligned[int](a, uint(align)) })
		wantRefusal(t, "not a power of two", ErrArgument, func() { MakeSliceAligned[int](a, 1, uint(align)) })
		if a.Stats() != before {
			t.Errorf("an alignment of %d changed the arena", align)
		}
	}
}

func TestAllocRefusesNegativeSizes(t *testing.T) {
	a := newArena(t, Options{})
	a.Alloc(64, 8)
	before := a.Stats()
	for _, n := range []int{-1, -32, math.MinInt} {
		wantRefusal(t, fmt.Sprintf("%d bytes aligned to 8: a negative size", n), ErrArgument, func() { a.Alloc(n, 8) })
		wantRefusal(t, fmt.Sprintf("%d bytes aligned to 8: a negative size", n), ErrArgument, func() { a.AllocUninit(n, 8) })
	}
	if _, err := a.TryAlloc(math.MaxInt, 8); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	if a.Stats() != before {
		t.Error("the arena changed")
	}
}

func TestAllocIsZeroed(t *testing.T) {
	a := newArena(t, Options{})
	for n := range 200 {
		dirty(a)
		for i, b := range unsafe.Slice((*byte)(a.Alloc(n, 1<<(n%8))), n) {
			if b != 0 {
				t.Fatalf("byte %d of %d is %#x", i, n, b)
			}
		}
	}
}

func TestCopies(t *testing.T) {
	a := newArena(t, Options{})
	dirty(a)
	first := New[mixed](a)
	v := mixed{a: -1, b: math.MaxInt, c: [3]uint16{1, 2, 3}, next: first}
	if p := Copy(a, v); *p != v || p == &v {
		t.Error(*p)
	}
	s := []mixed{v, {}, v}
	if c := CopySlice(a, s); !slices.Equal(c, s) || cap(c) != 3 || !a.Contains(unsafe.Pointer(&c[2])) {
		t.Error(c)
	}
	if c := CopySlice(a, []int32(nil)); len(c) != 0 {
		t.Error(c)
	}
	dirty(a)
	for i, b := range *(*[48]byte)(a.typed(any((*mixed)(nil)), 48)) { // what a store of a pointer will overwrite
		if b != 0 {
			t.Fatalf("byte %d is %#x", i, b)
		}
	}
	numbers := make([]int16, 12345)
	for i := range numbers {
		numbers[i] = int16(i)
	}
	if c := CopySlice(a, numbers); !slices.Equal(c, numbers) {
		t.Error("not equal")
	}
}

func TestPlain(t *testing.T) {
	a := newArena(t, Options{})
	points := UninitOf[[3]float32]()
	seen := map[*[3]float32]bool{}
	for i := range 5000 {
		p := points.New(a)
		if seen[p] || uintptr(unsafe.Pointer(p))%8 != 0 {
			t.Fatalf("%p again", p)
		}
		seen[p] = true
		*p = [3]float32{float32(i)}
	}
	if s := points.MakeSlice(a, 100); len(s) != 100 || cap(s) != 100 {
		t.Error(len(s), cap(s))
	}
	var none Uninit[[3]float32]
	wantPanic(t, "nil pointer", func() { none.New(a) })
}

func TestOutOfMemoryIsAnErrorThatLeavesTheArena(t *testing.T) {
	a := newArena(t, Options{Budget: 1000})
	New[[400]byte](a)
	before := a.Stats()
	_, value := panicsWith(t, func() { New[[601]byte](a) })
	var e *AllocError
	if err, ok := value.(error); !ok || !errors.Is(err, ErrNoMemory) || !errors.As(err, &e) || e.Size != 601 {
		t.Error(value)
	}
	wantPanic(t, "cannot allocate 601 bytes aligned to 64", func() { NewAligned[[601]byte](a, 64) })
	wantPanic(t, "over budget", func() { a.Alloc(601, 1) })
	wantPanic(t, "over budget", func() { a.CBytes(make([]byte, 601)) })
	wantPanic(t, "over budget", func() { UninitOf[[601]byte]().New(a) })
	wantPanic(t, "over budget", func() { MakeSlice[int64](a, 1<<26) })
	if p, err := TryNew[[601]byte](a); p != nil || !errors.Is(err, ErrNoMemory) {
		t.Error(p, err)
	}
	if after := a.Stats(); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	if p, err := TryNew[[600]byte](a); p == nil || err != nil {
		t.Error("the rest of the budget cannot be had: ", err)
	}
}

// ---- types ----

type inner struct {
	Deep struct{ List [2]struct{ Name string } }
}

func TestRefusedTypesAreNamed(t *testing.T) {
	a := newArena(t, Options{})
	before := a.Stats()
	wantPanic(t, "string cannot be in an arena: it is a string", func() { New[string](a) })
	wantPanic(t, "field Deep.List[0].Name is a string", func() { New[inner](a) })
	wantPanic(t, "it is a slice", func() { New[[]byte](a) })
	wantPanic(t, "field M is a map", func() { New[struct{ M map[int]int }](a) })
	wantPanic(t, "field C is a chan", func() { MakeSlice[struct{ C chan int }](a, 1) })
	wantPanic(t, "field F is a func", func() { Copy(a, struct{ F func() }{}) })
	wantPanic(t, "field E is an interface", func() { CopySlice(a, []struct{ E error }{{}}) })
	wantPanic(t, "[0].X is a string", func() { TryNew[[4]struct{ X string }](a) })
	wantPanic(t, "it is a string", func() { NewAligned[string](a, 64) })
	wantPanic(t, "it is a string", func() { MakeSliceAligned[string](a, 1, 64) })
	wantPanic(t, "it is a string", func() { TryMakeSlice[string](a, 1) })
	for range 3 { // also the second time
		wantPanic(t, "it is a string", func() { New[string](a) })
		wantPanic(t, "field next is a pointer, which must be zeroed", func() { UninitOf[mixed]() })
		wantPanic(t, "it is an unsafe.Pointer", func() { UninitOf[unsafe.Pointer]() })
		wantPanic(t, "field Name is a string", func() { UninitOf[struct{ Name string }]() })
	}
	if a.Stats() != before {
		t.Error("the arena changed")
	}
	New[struct { // C's structs have pointers
		P *int8
		U unsafe.Pointer
		N [0]string
	}](a)
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
func TestPointersToGoTypesAreRefused(t *testing.T) {
	a := newArena(t, Options{})
	before := a.Stats()
	wantPanic(t, "time.Time cannot be in an arena: field loc is a *time.Location, whose field name is a string",
		func() { New[time.Time](a) })
	wantPanic(t, "field When.loc is a *time.Location, whose field name is a string", func() { New[event](a) })
	wantPanic(t, "it is a pointer to a string", func() { New[*string](a) })
	wantPanic(t, "it is a pointer to an interface", func() { New[*error](a) })
	wantPanic(t, "it is a pointer to a slice", func() { New[*[]int](a) })
	wantPanic(t, "it is a pointer to a pointer to a map", func() { New[**map[int]int](a) })
	wantPanic(t, "it is a pointer to a func", func() { New[*func()](a) })
	wantPanic(t, "it is a *struct { Name string }, whose field Name is a string", func() { New[*struct{ Name string }](a) })
	wantPanic(t, "field _ is a pointer to a string", func() { New[atomic.Pointer[string]](a) })
	wantPanic(t, "field _ is a *toft.event, whose field When.loc is a *time.Location, whose", func() { New[atomic.Pointer[event]](a) })
	wantPanic(t, "field Names[0] is a pointer to a string", func() { New[goNamed](a) })
	wantPanic(t, "field P is a pointer to a *[3]*toft.goNamed, whose field [0] is a *toft.goNamed, whose field Names[0] is a pointer to a string",
		func() { New[goWide](a) })
	wantPanic(t, "whose field C is a *struct { Done chan int }, whose field Done is a chan", func() { New[goThrice](a) })
	wantPanic(t, "is a pointer to a string", func() { New[struct{ h unique.Handle[string] }](a) })
	for name, f := range map[string]func(){ // each function that takes a type
		"TryNew":              func() { TryNew[event](a) },
		"NewAligned":          func() { NewAligned[event](a, 64) },
		"TryNewAligned":       func() { TryNewAligned[event](a, 64) },
		"Copy":                func() { Copy(a, event{}) },
		"TryCopy":             func() { TryCopy(a, event{}) },
		"MakeSlice":           func() { MakeSlice[event](a, 1) },
		"MakeSlice of none":   func() { MakeSlice[event](a, 0) },
		"TryMakeSlice":        func() { TryMakeSlice[event](a, 1) },
		"MakeSliceAligned":    func() { MakeSliceAligned[event](a, 1, 64) },
		"TryMakeSliceAligned": func() { TryMakeSliceAligned[event](a, 1, 64) },
		"CopySlice":           func() { CopySlice(a, []event{{}}) },
		"TryCopySlice":        func() { TryCopySlice(a, []event{{}}) },
		"UninitOf":            func() { UninitOf[event]() },
		"New in a lease":      func() { With(func(a *Arena) error { New[event](a); return nil }) },
	} {
		for range 2 {
			t.Run(name, func(t *testing.T) { wantPanic(t, "field When.loc is a", f) })
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
	if p, err := a.CString("a\x00b"); p != nil || !errors.Is(err, ErrNUL) {
		t.Error(p, err)
	}
	if p, err := a.CStrings([]string{"a", "b\x00"}); p != nil || !errors.Is(err, ErrNUL) {
		t.Error(p, err)
	}
	if a.Stats() != before {
		t.Error("the arena changed")
	}
	for n := range 80 { // a NUL at every place of every length
		for at := range n {
			b := bytes.Repeat([]byte{0x80}, n)
			if b[at] = 1; holdsNUL(string(b)) {
				t.Fatalf("%q holds none", b)
			}
			if b[at] = 0; !holdsNUL(string(b)) {
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
	if p := a.CBytes([]byte("a\x00b")); unsafe.String((*byte)(p), 3) != "a\x00b" {
		t.Error("not the bytes")
	}
	if a.CBytes(nil) == nil || a.CStringN("") == nil {
		t.Error("no address")
	}
	if p := a.CStringN("a\x00b"); unsafe.String((*byte)(p), 3) != "a\x00b" {
		t.Error("not the bytes")
	}
	small := newArena(t, Options{Budget: 16})
	long := "more than sixteen bytes"
	wantRefusal(t, "24 bytes", ErrNoMemory, func() { small.CString(long) })
	wantRefusal(t, "bytes", ErrNoMemory, func() { small.CStrings([]string{"a", "b", "c"}) })
	wantRefusal(t, "23 bytes", ErrNoMemory, func() { small.CStringN(long) })
	wantRefusal(t, "23 bytes", ErrNoMemory, func() { small.CBytes([]byte(long)) })
	if p, err := small.TryCString("a\x00b"); p != nil || err != ErrNUL {
		t.Error(p, err)
	}
}

func addressOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// A Try function returns an error with the size and alignment of the request, and leaves the arena unchanged.
func TestTryNeverPanics(t *testing.T) {
	a := newArena(t, Options{Budget: 1000})
	a.Alloc(8, 8)
	before := a.Stats().Live
	const most = math.MaxInt
	big := make([]byte, 2000)
	for _, c := range []struct {
		try  func() (any, error)
		want string
	}{
		{func() (any, error) { return a.TryAlloc(-1, 8) }, "-1 bytes aligned to 8: a negative size"},
		{func() (any, error) { return a.TryAlloc(math.MinInt, 8) }, fmt.Sprint(math.MinInt) + " bytes"},
		{func() (any, error) { return a.TryAlloc(most, 8) }, fmt.Sprint(most) + " bytes aligned to 8: out of memory"},
		{func() (any, error) { return a.TryAlloc(2000, 16) }, "2000 bytes aligned to 16: out of memory or over budget"},
		{func() (any, error) { return a.TryAlloc(8, 0) }, "8 bytes aligned to 0: not a power of two"},
		{func() (any, error) { return a.TryAlloc(8, -8) }, "8 bytes aligned to -8: not a power of two"},
		{func() (any, error) { return a.TryAlloc(8, math.MinInt) }, "not a power of two"},
		{func() (any, error) { return a.TryAlloc(8, most/2+1) }, "out of memory"},
		{func() (any, error) { return TryNew[[2000]byte](a) }, "2000 bytes"},
		{func() (any, error) { return TryNewAligned[int64](a, 3) }, "8 bytes aligned to 3: not a power of two"},
		{func() (any, error) { return TryNewAligned[int64](a, 0) }, "not a power of two"},
		{func() (any, error) { return TryNewAligned[int64](a, 1<<20) }, "8 bytes aligned to 1048576: out of memory"},
		{func() (any, error) { return TryMakeSlice[int32](a, -1) }, "-1 x 4 bytes aligned to 8: a negative length"},
		{func() (any, error) { return TryMakeSlice[struct{}](a, -1) }, "-1 x 0 bytes aligned to 8: a negative length"},
		{func() (any, error) { return TryMakeSlice[int64](a, math.MinInt) }, fmt.Sprint(math.MinInt) + " x 8 bytes"},
		{func() (any, error) { return TryMakeSlice[int64](a, most) }, fmt.Sprint(most) + " x 8 bytes aligned to 8: out of memory"},
		{func() (any, error) { return TryMakeSlice[byte](a, most) }, fmt.Sprint(most) + " x 1 bytes"},
		{func() (any, error) { return TryMakeSliceAligned[int32](a, 4, 6) }, "4 x 4 bytes aligned to 6: not a power of two"},
		{func() (any, error) { return TryMakeSliceAligned[int32](a, -4, 64) }, "-4 x 4 bytes aligned to 64: a negative length"},
		{func() (any, error) { return TryCopy(a, [2000]byte{}) }, "2000 bytes"},
		{func() (any, error) { return TryCopySlice(a, big) }, "2000 x 1 bytes"},
		{func() (any, error) { return a.TryCBytes(big) }, "2000 bytes aligned to 1"},
		{func() (any, error) { return a.TryCStringN(string(big)) }, "2000 bytes aligned to 1"},
		{func() (any, error) { return a.TryCString(strings.Repeat("x", 2000)) }, "2001 bytes aligned to 1"},
		{func() (any, error) { return a.TryCStrings([]string{strings.Repeat("x", 2000)}) }, "bytes aligned to"},
	} {
		p, err := c.try()
		var e *AllocError
		cause := ErrNoMemory
		if strings.Contains(c.want, "negative") || strings.Contains(c.want, "power") || strings.HasPrefix(c.want, "-") {
			cause = ErrArgument
		}
		if !errors.As(err, &e) || !errors.Is(err, cause) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %s", err, c.want)
		}
		if v := reflect.ValueOf(p); !v.IsNil() {
			t.Errorf("%s: %v beside the error", c.want, p)
		}
		if s := a.Stats(); s.Live != before {
			t.Errorf("%s: %d bytes are live, not %d", c.want, s.Live, before)
		}
	}
}

// If they succeed, their results are those of the other functions.
func TestTrySucceeds(t *testing.T) {
	a := newArena(t, Options{Budget: 1000})
	if p, err := TryCopy(a, 42); err != nil || *p != 42 {
		t.Error(p, err)
	}
	if s, err := TryCopySlice(a, []int{1, 2}); err != nil || !slices.Equal(s, []int{1, 2}) || cap(s) != 2 {
		t.Error(s, err)
	}
	if p, err := TryNewAligned[int](a, 128); err != nil || *p != 0 || uintptr(unsafe.Pointer(p))%128 != 0 {
		t.Error(p, err)
	}
	if s, err := TryMakeSliceAligned[int](a, 3, 128); err != nil || len(s) != 3 || uintptr(unsafe.Pointer(&s[0]))%128 != 0 {
		t.Error(s, err)
	}
	for _, text := range []string{"", "a\x00b"} {
		p, err := a.TryCBytes([]byte(text))
		q, err2 := a.TryCStringN(text)
		if err != nil || err2 != nil || p == nil || q == nil {
			t.Fatal(p, q, err, err2)
		}
		if len(text) != 0 && (unsafe.String((*byte)(p), len(text)) != text || unsafe.String((*byte)(q), len(text)) != text) {
			t.Errorf("not %q", text)
		}
	}
}
