//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func tagged(r Report) map[string]uint64 {
	m := map[string]uint64{}
	for _, tag := range r.Tags {
		m[tag.Name] = tag.Live
	}
	return m
}

// Tags nest, end once, and count what the inline path allocates too.
func TestTags(t *testing.T) {
	for name, a := range map[string]*Arena{"leased": &Get().Arena, "owned": must2(NewArena(Options{}))} {
		if err := a.SetMetered(true); err != nil {
			t.Fatal(name, err)
		}
		end := a.Tag("level")
		for range 1000 {
			New[[5]uint64](a)
		}
		inner := a.Tag("sound")
		MakeSlice[byte](a, 100_000)
		inner()
		inner() // does nothing
		a.Alloc(8, 8)
		root := a.Tag("/ai")
		a.Alloc(16, 8)
		root()
		end()
		a.Alloc(24, 8)
		want := map[string]uint64{"": 24, "level": 40_008, "level/sound": 100_000, "ai": 16}
		if got := tagged(a.Report()); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
		if err := a.SetTagBudget("level", 40_016); err != nil {
			t.Fatal(err)
		}
		end = a.Tag("level")
		a.Alloc(8, 8)
		if _, err := a.TryAlloc(1, 8); !errors.Is(err, ErrNoMemory) {
			t.Errorf("%s: over the tag's budget: %v", name, err)
		}
		end()
		if _, err := a.TryAlloc(1, 8); err != nil {
			t.Errorf("%s: outside of the tag: %v", name, err)
		}
		if name == "leased" {
			a.lease().Return()
		} else {
			a.Release()
		}
	}
}

func must2(a *Arena, err error) *Arena {
	if err != nil {
		panic(err)
	}
	return a
}

// In an arena that is not metered a tag is a compare.
func TestTagsOff(t *testing.T) {
	a := Get()
	defer a.Return()
	epoch := a.epoch
	if n := testing.AllocsPerRun(100, func() { a.Tag("off")() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if a.epoch != epoch || len(a.Report().Tags) != 0 {
		t.Error("something happened")
	}
}

// What is switched on ends with the lease.
func TestMetersEndWithTheLease(t *testing.T) {
	for range 100 {
		a := Get()
		if len(a.Report().Tags) != 0 || len(a.Report().Sites) != 0 {
			t.Fatal("left from the lease before")
		}
		if err := errors.Join(a.SetMetered(true), a.SetSampling(64)); err != nil {
			t.Fatal(err)
		}
		a.Tag("noEpoch ended")
		for range 100 {
			a.Alloc(100, 8)
		}
		if len(a.Report().Sites) == 0 {
			t.Fatal("nothing was sampled")
		}
		a.Return()
	}
	// The next Return takes the fast path again.
	a := Get()
	l := slotOf(&a.Arena)
	if l.instrumented || l.epoch == noEpoch {
		t.Error("still instrumented")
	}
	a.Return()
}

func TestMetersOfMisuse(t *testing.T) {
	a := Get()
	a.SetMetered(true)
	if err := a.SetTagBudget("a\x00b", 1); !errors.Is(err, ErrNUL) {
		t.Error(err)
	}
	panics(t, func() { a.Tag("a\x00b") })
	end := a.Tag("\xff") // not UTF-8: counts for the tag before, and its end ends nothing else
	a.Alloc(8, 8)
	end()
	if got := tagged(a.Report()); got[""] != 8 || len(got) != 1 {
		t.Error(got)
	}
	a.Return()
	panics(t, func() { a.SetMetered(true) })
	panics(t, func() { a.Snapshot() })
}

// A snapshot that is longer than the first buffer, and the report that is read from it.
func TestSnapshotRoundTrip(t *testing.T) {
	a := must2(NewArena(Options{Budget: 1 << 20}))
	defer a.Release()
	a.SetMetered(true)
	for i := range 100 {
		end := a.Tag("/" + strings.Repeat("long", 20) + string(rune('0'+i%10)) + string(rune('a'+i/10)))
		a.Alloc(8, 8)
		end()
	}
	text := a.Snapshot()
	if len(text) < 8192 || !json.Valid(text) {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
	r := a.Report()
	if len(r.Tags) != 101 || r.Stats != a.Stats() {
		t.Errorf("%d tags, %v, %v", len(r.Tags), r.Stats, a.Stats())
	}
	again, err := json.Marshal(r.Stats)
	var s Stats
	if err != nil || json.Unmarshal(again, &s) != nil || s != r.Stats || s.Budget != 1<<20 {
		t.Errorf("%s: %v", again, err)
	}
}

func TestStatsForPeople(t *testing.T) {
	for want, s := range map[string]Stats{
		"0 B live of 0 B in 0 blocks, peak 0 B, no budget":                   {Budget: NoBudget},
		"1.5 KiB live of 2.0 MiB in 2 blocks, peak 3.0 GiB, budget 16.0 EiB": {Live: 1536, Reserved: 2 << 20, Blocks: 2, Peak: 3 << 30, Budget: NoBudget - 1},
	} {
		if got := s.String(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// The JSON of a report is that of Snapshot.
func TestReportIsTheSnapshot(t *testing.T) {
	a := must2(NewArena(Options{}))
	defer a.Release()
	for _, sampled := range []bool{false, true} {
		if sampled {
			if err := errors.Join(a.SetMetered(true), a.SetSampling(1), a.SetTagBudget("level", 1<<20)); err != nil {
				t.Fatal(err)
			}
			defer a.Tag("level")()
		}
		a.Alloc(100, 8)
		text, err := json.Marshal(a.Report())
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal(a.Snapshot(), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, not %s", text, a.Snapshot())
		}
	}
}
