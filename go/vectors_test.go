//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

// Plays the vectors of the ABI on arenas made by C: Go allocates, marks and rewinds inline, and C does the rest on the same
// head. The vectors are outside this module; the README beside them describes their format. The quiet mode does not read
// statistics between the operations, because these are slow calls.

type vector struct {
	Name    string
	Policy  int // 1; 0: a vector of the rules, which does not determine placement
	Word    any // 64, or "any"
	Created *bool
	FailAt  []uintptr `json:"fail_at"`
	Options struct{ Budget, Reserve amount }
	Ops     []vectorOp
	End     struct {
		Gave []int
		Ran  []string
	}
}

type vectorOp struct {
	Op                  string
	N, Align, Keep, Old amount
	ID, Of              string
	Times               int
	Policy              json.RawMessage
	Plus                int64
	EpochPlus           int64 `json:"epoch_plus"`
	Zero, Stay, Foreign bool
	At, Last, From, To  vectorAddress
	Code                int
	Live, Blocks        *uint64
	Took, Gave          []int
	Ran                 []string
	Ops                 []vectorOp
}

// vectorAddress is [block, offset]; or nil, true for any address, or "stays" for the previous one.
type vectorAddress struct{ is any }

func (a *vectorAddress) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		return json.Unmarshal(text, &a.is)
	}
	var at [2]int
	err := json.Unmarshal(text, &at)
	a.is = at
	return err
}

func (o *vectorOp) UnmarshalJSON(text []byte) error {
	type plain vectorOp
	o.Align.is = 8
	return json.Unmarshal(text, (*plain)(o))
}

// amount may be symbolic: "max", "half", "max-7", "half+1", "none".
type amount struct{ is uint64 }

func (n *amount) UnmarshalJSON(text []byte) error {
	name, err := strconv.Unquote(string(text))
	if err != nil {
		if n.is, err = strconv.ParseUint(string(text), 10, 64); err != nil {
			var less int64
			less, err = strconv.ParseInt(string(text), 10, 64)
			n.is = uint64(less)
		}
		return err
	}
	at := strings.IndexAny(name, "+-")
	if at >= 0 {
		by, err := strconv.ParseInt(name[at:], 10, 64)
		if err != nil {
			return err
		}
		n.is, name = uint64(by), name[:at]
	}
	switch name {
	case "none":
		n.is += math.MaxUint64
	case "max":
		n.is += uint64(^uintptr(0))
	case "half":
		n.is += uint64(^uintptr(0) >> 1)
	default:
		return fmt.Errorf("size %s", text)
	}
	return nil
}

type player struct {
	testing.TB
	a      *Arena
	pages  ctest.Pages
	quiet  bool
	placed bool // the vector determines placement
	blocks map[int]uintptr
	seen   map[string]vectorPiece
	marks  map[string]Mark
	ids    []string // of ranges and cleanups: their numbers in C
	op     *vectorOp
}

type vectorPiece struct{ p, n uintptr }

func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../abi/vectors/*/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("the vectors are not in this module")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var of struct{ Vectors []vector }
		if err := json.Unmarshal(text, &of); err != nil {
			t.Fatal(file, err)
		}
		for _, v := range of.Vectors {
			for _, quiet := range []bool{false, true} {
				if strconv.IntSize == 64 || v.Word == "any" {
					t.Run(fmt.Sprint(v.Policy, v.Name, quiet), func(t *testing.T) { play(t, &v, quiet) })
				}
			}
		}
	}
}

func play(t *testing.T, v *vector, quiet bool) {
	pages := ctest.NewPages(v.FailAt)
	budget := v.Options.Budget.is
	if budget == math.MaxUint64 {
		budget = 0
	}
	p := pages.Create(budget, uintptr(v.Options.Reserve.is))
	if created := v.Created == nil || *v.Created; (p != nil) != created {
		t.Fatalf("created: %v", p != nil)
	}
	if p == nil {
		pages.Free()
		return
	}
	a, err := Wrap(p)
	if err != nil {
		t.Fatal(err)
	}
	m := &player{TB: t, a: a, pages: pages, quiet: quiet, placed: v.Policy == 1, blocks: map[int]uintptr{}, seen: map[string]vectorPiece{},
		marks: map[string]Mark{}}
	m.traffic([]int{4096}, nil, nil)
	m.all(v.Ops)
	m.op = nil
	ctest.OpsRelease(p)
	m.traffic(nil, v.End.Gave, v.End.Ran)
	if pages.Open() {
		t.Error("a cleanup found the arena open")
	}
	if left := pages.Free(); left != 0 {
		t.Errorf("%d blocks were not given back", left)
	}
}

func (m *player) wrong(format string, args ...any) {
	m.Helper()
	m.Fatalf("%+v: %s", m.op, fmt.Sprintf(format, args...))
}

func (m *player) number(id string) int {
	if !slices.Contains(m.ids, id) {
		m.ids = append(m.ids, id)
	}
	return slices.Index(m.ids, id)
}

func (m *player) traffic(took, gave []int, ran []string) {
	m.Helper()
	t, g, numbers := m.pages.Traffic()
	var r []string
	for _, i := range numbers {
		r = append(r, m.ids[i])
	}
	sizes := !m.placed || slices.Equal(t, took) && slices.Equal(g, gave)
	if !sizes || !slices.Equal(r, ran) {
		m.wrong("took %v, not %v; gave %v, not %v; ran %v, not %v", t, took, g, gave, r, ran)
	}
}

func (m *player) all(ops []vectorOp) {
	for i := range ops {
		o := &ops[i]
		if o.Op == "repeat" {
			for range o.Times {
				m.all(o.Ops)
			}
			continue
		}
		m.op = o
		m.one(o)
		m.traffic(o.Took, o.Gave, o.Ran)
		if a := m.a; a.cursor == 0 || a.cursor > a.limit || (a.cursor|a.limit)%8 != 0 {
			m.wrong("the head is broken: %#x, %#x", a.cursor, a.limit)
		}
		if m.quiet {
			continue
		}
		if s := m.a.Stats(); o.Live != nil && s.Live != *o.Live || o.Blocks != nil && s.Blocks != *o.Blocks || s.Reserved != m.pages.Bytes() ||
			s.SourceCalls != m.pages.Calls() {
			m.wrong("%+v", s)
		}
	}
}

// address compares p with the expected address.
func (m *player) address(p uintptr, want vectorAddress) {
	m.Helper()
	if (p == 0) != (want.is == nil) {
		m.wrong("%#x, not %v", p, want.is)
	}
	at, ok := want.is.([2]int)
	if !ok {
		unaligned := m.op.Op == "alloc" && p&(uintptr(m.op.Align.is)-1) != 0
		if p%8 != 0 || unaligned {
			m.wrong("%#x is not aligned", p)
		}
		return
	}
	base := m.pages.Base(p, at[1])
	if known, ok := m.blocks[at[0]]; base == 0 || ok && known != base {
		m.wrong("%#x is not at %v", p, at)
	}
	m.blocks[at[0]] = base
}

func (m *player) moved() {
	for i := range m.blocks {
		if i != 0 {
			delete(m.blocks, i)
		}
	}
}

func (m *player) code(got int) {
	m.Helper()
	if got != m.op.Code {
		m.wrong("code %d, not %d", got, m.op.Code)
	}
}

// alloc allocates by a function of Go if Go's types can express the request.
func (m *player) alloc(n, align uint64, zero bool) uintptr {
	if n > math.MaxInt || align == 0 || align&(align-1) != 0 || align > math.MaxInt {
		return ctest.OpsAlloc(m.a.Pointer(), uintptr(n), uintptr(align), zero)
	}
	if zero {
		p, err := m.a.TryAlloc(int(n), int(align))
		if (p == nil) != errors.Is(err, ErrNoMemory) {
			m.wrong("%p, %v", p, err)
		}
		for i := uint64(0); p != nil && i < n; i++ {
			if *(*byte)(unsafe.Add(p, i)) != 0 {
				m.wrong("byte %d is not zeroed", i)
			}
		}
		return uintptr(p)
	}
	return uintptr(m.a.aligned(uintptr(n), uintptr(align)))
}

func (m *player) one(o *vectorOp) {
	a := m.a.Pointer()
	n, align := uintptr(o.N.is), uintptr(o.Align.is)
	switch o.Op {
	case "alloc":
		p := m.alloc(o.N.is, o.Align.is, o.Zero)
		m.address(p, o.At)
		if p != 0 {
			m.seen[o.ID] = vectorPiece{p, n}
		}
	case "allocs":
		for i := range o.Times {
			p := m.alloc(o.N.is, o.Align.is, o.Zero)
			if i == 0 {
				m.address(p, o.At)
			}
			if i == o.Times-1 {
				m.address(p, o.Last)
			}
		}
	case "resize":
		old := m.seen[o.ID]
		p := ctest.Resize(a, old.p, old.n, n, align, o.Zero, o.Stay)
		if o.At.is == "stays" && p != old.p {
			m.wrong("%#x moved to %#x", old.p, p)
		}
		m.moved()
		m.address(p, o.At)
		if p != 0 {
			m.seen[o.ID] = vectorPiece{p, n}
		}
	case "free":
		ctest.GiveBack(a, m.seen[o.ID].p, m.seen[o.ID].n)
		delete(m.seen, o.ID)
		m.moved()
	case "mark":
		m.marks[o.ID] = m.a.Mark()
	case "rewind":
		m.rewind(m.marks[o.ID])
	case "rewind_raw":
		m.rewindRaw(o)
	case "reset":
		policy, known := map[string]uint32{`"recent"`: 0, `"all"`: 1, `"bytes"`: 2}[string(o.Policy)]
		if !known {
			policy = 99
		}
		m.code(ctest.Reset(a, policy, uintptr(o.Keep.is)))
		if o.Code == 0 {
			m.moved()
		}
	case "trim":
		ctest.Trim(a, uintptr(o.Keep.is))
	case "budget":
		m.code(cSetBudget(m.a, o.N.is))
	case "set_unknown":
		m.code(ctest.Set(a, 99, 0))
	case "cleanup":
		m.address(m.pages.Cleanup(a, m.number(o.ID)), o.At)
	case "cancel":
		m.pages.Cancel(m.number(o.ID))
	case "release_early":
		ctest.OpsRelease(a)
	default:
		m.ranges(o)
	}
}

func (m *player) rewindRaw(o *vectorOp) {
	mark := m.marks[o.ID]
	cursor := mark.cursor + uintptr(o.Plus)
	if o.Foreign {
		cursor = uintptr(unsafe.Pointer(m.pages.Range(0))) &^ 7
	}
	m.code(ctest.Rewind(m.a.Pointer(), cursor, mark.epoch+uintptr(o.EpochPlus)))
	if o.Code == 0 {
		m.moved()
	}
}

// rewind calls Go's Rewind, which panics if the code is not 0.
func (m *player) rewind(mark Mark) {
	defer func() {
		switch err, _ := recover().(error); {
		case m.op.Code == 0 && err == nil:
			m.moved()
		case m.op.Code == 0 || !errors.Is(err, errorOf(m.op.Code)):
			m.wrong("%v", err)
		}
	}()
	m.a.Rewind(mark)
}

func (m *player) ranges(o *vectorOp) {
	a, r, n := m.a.Pointer(), m.pages.Range(m.number("range "+o.ID)), int64(o.N.is)
	was := *r
	switch o.Op {
	case "claim":
		p := ctest.ClaimRange(a, r, uintptr(o.N.is), uintptr(o.Align.is))
		m.address(p, o.At)
		if p == 0 {
			if *r != was && was.Provider != 0 {
				m.wrong("a failed claim changed the range")
			}
			return
		}
		if m.placed {
			m.address(r.Cursor, o.From)
			m.address(r.Limit, o.To)
		}
		if m.a.limit != m.a.cursor || m.a.epoch&1 == 0 {
			m.wrong("the head is open while claimed")
		}
	case "claim_past":
		r.Cursor += uintptr(n)
		if ctest.ClaimRange(a, r, 0, 8) != 0 {
			m.wrong("claimed")
		}
		*r = was
	case "copy":
		*r = *m.pages.Range(m.number("range " + o.Of))
	case "fill":
		r.Cursor += uintptr(n)
	case "give":
		m.code(ctest.GiveRange(a, r))
	case "give_past":
		r.Cursor += uintptr(n)
		m.code(ctest.GiveRange(a, r))
		*r = was
	default:
		m.wrong("unknown")
	}
}
