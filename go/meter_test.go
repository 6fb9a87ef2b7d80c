//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// A testReport is the part of a snapshot that the tests here compare.
type testReport struct {
	Stats Stats
	Tags  []struct {
		Name string
		Live uint64
	}
	Sites []any
}

func reportOf[A AnyArena](a *A) (r testReport) {
	if err := json.Unmarshal(of(a).snapshot(), &r); err != nil {
		panic(err)
	}
	return r
}

func tagged(r testReport) map[string]uint64 {
	m := map[string]uint64{}
	for _, tag := range r.Tags {
		m[tag.Name] = tag.Live
	}
	return m
}

// Tags nest, end once, and count what the inline path allocates too.
func TestTags(t *testing.T) {
	for name, a := range map[string]*Arena{"leased": &Get().Arena, "owned": must1(NewArena(Options{}))} {
		if err := a.setMetered(true); err != nil {
			t.Fatal(name, err)
		}
		end := a.tag("level")
		for range 1000 {
			New[[5]uint64](a)
		}
		inner := a.tag("sound")
		MakeSlice[byte](a, 100_000)
		inner()
		inner() // does nothing
		a.Alloc(8, 8)
		root := a.tag("/ai")
		a.Alloc(16, 8)
		root()
		end()
		a.Alloc(24, 8)
		want := map[string]uint64{"": 24, "level": 40_008, "level/sound": 100_000, "ai": 16}
		if got := tagged(reportOf(a)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
		if err := a.setTagBudget("level", 40_016); err != nil {
			t.Fatal(err)
		}
		end = a.tag("level")
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

// In an arena that is not metered a tag is a compare.
func TestTagsOff(t *testing.T) {
	a := Get()
	defer a.Return()
	epoch := a.epoch
	if n := testing.AllocsPerRun(100, func() { a.tag("off")() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if a.epoch != epoch || len(reportOf(a).Tags) != 0 {
		t.Error("something happened")
	}
}

func TestMetersOfMisuse(t *testing.T) {
	a := Get()
	a.setMetered(true)
	if err := a.setTagBudget("a\x00b", 1); !errors.Is(err, ErrNUL) {
		t.Error(err)
	}
	panics(t, func() { a.tag("a\x00b") })
	end := a.tag("\xff") // not UTF-8: counts for the tag before, and its end ends nothing else
	a.Alloc(8, 8)
	end()
	if got := tagged(reportOf(a)); got[""] != 8 || len(got) != 1 {
		t.Error(got)
	}
	a.Return()
	panics(t, func() { a.setMetered(true) })
	panics(t, func() { a.snapshot() })
}

func TestStatsForPeople(t *testing.T) {
	for want, s := range map[string]Stats{
		"0 B live of 0 B in 0 blocks, peak 0 B, no budget":                   {Budget: NoBudget},
		"600.0 KiB live of 1023 B in 1 block, peak 600.0 KiB, no budget":     {Live: 600 << 10, Reserved: 1023, Blocks: 1, Budget: NoBudget},
		"1.5 KiB live of 2.0 MiB in 2 blocks, peak 3.0 GiB, budget 16.0 EiB": {Live: 1536, Reserved: 2 << 20, Blocks: 2, Peak: 3 << 30, Budget: NoBudget - 1},
	} {
		if got := s.String(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
