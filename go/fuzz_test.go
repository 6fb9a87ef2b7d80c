//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"toft.dev/toft/internal/ctest"
)

// Streams of operations compared with a shadow: live memory keeps its contents, is aligned and in the arena, and new memory
// is zero. Each byte of a stream is an operation or its argument.

type liveBytes struct {
	p    unsafe.Pointer
	n    int
	seed byte
}

type arenaModel struct {
	t      testing.TB
	a      *Arena
	live   []liveBytes
	marks  []Mark
	depths []int // of live, at each mark
	ran    int
	seed   byte
}

const largest = 255 << 10

// The contents of a region with the seed s begin at byte(s*183), the inverse of 7, and those of new memory are zero.
var contents, zeros = func() (contents [largest + 256]byte, zeros [largest]byte) {
	for i := range contents {
		contents[i] = byte(i * 7)
	}
	return
}()

func contentsOf(n int, seed byte) []byte { return contents[seed*183:][:n] }

func (m *arenaModel) add(p unsafe.Pointer, n, align int, zeroed bool) {
	if uintptr(p)%uintptr(align) != 0 {
		m.t.Fatalf("%p is not aligned to %d", p, align)
	}
	region := unsafe.Slice((*byte)(p), n)
	m.seed++
	if zeroed && !bytes.Equal(region, zeros[:n]) {
		m.t.Fatalf("a byte of %d is not zero", n)
	}
	copy(region, contentsOf(n, m.seed))
	m.live = append(m.live, liveBytes{p, n, m.seed})
}

func (m *arenaModel) check() {
	for _, l := range m.live {
		if !bytes.Equal(unsafe.Slice((*byte)(l.p), l.n), contentsOf(l.n, l.seed)) {
			m.t.Fatalf("a byte of %d was overwritten", l.n)
		}
		if l.n > 0 && !m.a.Contains(unsafe.Add(l.p, l.n-1)) {
			m.t.Fatalf("%d bytes that the arena does not contain", l.n)
		}
	}
}

func (m *arenaModel) clear() { m.live, m.marks, m.depths = nil, nil, nil }

func (m *arenaModel) rewind(i int) {
	m.check()
	m.a.Rewind(m.marks[i])
	m.live = m.live[:m.depths[i]]
	m.marks, m.depths = m.marks[:i+1], m.depths[:i+1]
}

func (m *arenaModel) run(stream []byte) {
	next := func() int {
		if len(stream) == 0 {
			return 0
		}
		b := stream[0]
		stream = stream[1:]
		return int(b)
	}
	size := func() int { return next() << (next() % 11) }
	for len(stream) > 0 {
		switch op := next(); op % 16 {
		case 0:
			m.add(unsafe.Pointer(New[[24]byte](m.a)), 24, 8, true)
		case 1:
			m.add(unsafe.Pointer(New[[7]byte](m.a)), 7, 8, true)
		case 2:
			n := size()
			m.add(unsafe.Pointer(unsafe.SliceData(MakeSlice[byte](m.a, n))), n, 8, true)
		case 3:
			n, align := size(), 1<<(next()%13)
			m.add(m.a.Alloc(n, align), n, align, true)
		case 4:
			n, align := size(), 1<<(next()%13)
			m.add(m.a.AllocUninit(n, align), n, align, false)
		case 5:
			m.add(unsafe.Pointer(UninitOf[[40]byte]().New(m.a)), 40, 8, false)
		case 6:
			m.add(unsafe.Pointer(NewAligned[[100]byte](m.a, 64)), 100, 64, true)
		case 7, 8:
			m.marks, m.depths = append(m.marks, m.a.Mark()), append(m.depths, len(m.live))
		case 9, 10:
			if len(m.marks) == 0 {
				break
			}
			m.rewind(next() % len(m.marks))
		case 11:
			m.check()
			if op&16 != 0 {
				m.a.Reset()
				m.clear()
			}
		case 12:
			m.a.Trim(uint(size()))
		case 13:
			want := m.ran + 1
			m.a.Scope(func() {
				m.a.Alloc(size(), 8)
				m.a.Cleanup(func() { m.ran++ })
			})
			if m.ran != want {
				m.t.Fatalf("%d cleanups ran, not %d", m.ran, want)
			}
		case 14:
			if !ctest.Scratch(m.a.Pointer(), size()) {
				m.t.Fatal("C failed")
			}
			list := ctest.List(m.a.Pointer(), 3)
			if list.Next.Next.Value != 3 || list.Next.Next.Next != nil {
				m.t.Fatal("not the list")
			}
		case 15:
			m.set(next() % 8)
		}
	}
	m.check()
}

func (m *arenaModel) set(what int) {
	switch what {
	case 0:
		m.a.SetChecked(true)
	case 1, 2:
		m.a.SetChecked(false)
	case 3:
		m.a.SetBudget(m.a.Stats().Live + 100)
		if _, err := m.a.TryAlloc(200, 8); err == nil {
			m.t.Fatal("beyond the budget")
		}
		m.a.SetBudget(NoBudget)
	}
}

// Runs one stream on an arena of each kind.
func playStream(t testing.TB, stream []byte) {
	held := ctest.Held()
	p := ctest.Create(0)
	made, err := Own(p)
	if err != nil {
		t.Fatal(err)
	}
	owned := must1(NewArena(Options{}))
	contiguous := must1(NewArena(Options{Contiguous: 1 << 26}))
	leased := Get()
	for _, a := range []*Arena{made, owned, contiguous, &leased.Arena} {
		(&arenaModel{t: t, a: a}).run(stream)
	}
	leased.Return()
	contiguous.Release()
	owned.Release()
	made.Release()
	if ctest.Held() != held {
		t.Errorf("%d bytes are held, not %d", ctest.Held(), held)
	}
}

func FuzzArena(f *testing.F) {
	f.Add([]byte{0, 7, 2, 200, 3, 9, 0, 27, 12, 0})
	f.Add([]byte{15, 0, 0, 7, 1, 9, 0, 13, 5, 5, 14, 1, 1})
	f.Add([]byte("J0焊\b333\xb9\xe52")) // ends where memory does, with a slice of none
	f.Fuzz(func(t *testing.T, stream []byte) {
		if len(stream) < 2000 {
			playStream(t, stream)
		}
	})
}

func TestRandomStreams(t *testing.T) {
	streams := 300
	if testing.Short() {
		streams = 30
	}
	for seed := range streams {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		stream := make([]byte, 600)
		for i := range stream {
			stream[i] = byte(r.Uint32())
		}
		playStream(t, stream)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
