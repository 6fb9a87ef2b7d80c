//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package meter_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"toft.dev/toft"
	"toft.dev/toft/meter"
)

func newArena(t *testing.T, o toft.Options) *toft.Arena {
	t.Helper()
	a, err := toft.NewArena(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Release)
	return a
}

// A snapshot that is longer than the first buffer, and the report that is read from it.
func TestSnapshotRoundTrip(t *testing.T) {
	a := newArena(t, toft.Options{Budget: 1 << 20})
	meter.SetMetered(a, true)
	for i := range 100 {
		end := meter.Tag(a, "/"+strings.Repeat("long", 20)+string(rune('0'+i%10))+string(rune('a'+i/10)))
		a.Alloc(8, 8)
		end()
	}
	text := meter.Snapshot(a)
	if len(text) < 8192 || !json.Valid(text) {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
	r := meter.ReportOf(a)
	if len(r.Tags) != 101 || r.Stats != a.Stats() {
		t.Errorf("%d tags, %v, %v", len(r.Tags), r.Stats, a.Stats())
	}
	again, err := json.Marshal(r.Stats)
	var s toft.Stats
	if err != nil || json.Unmarshal(again, &s) != nil || s != r.Stats || s.Budget != 1<<20 {
		t.Errorf("%s: %v", again, err)
	}
}

// The JSON of a report is that of Snapshot.
func TestReportIsTheSnapshot(t *testing.T) {
	a := newArena(t, toft.Options{})
	for _, sampled := range []bool{false, true} {
		if sampled {
			if err := errors.Join(meter.SetMetered(a, true), meter.SetSampling(a, 1), meter.SetTagBudget(a, "level", 1<<20)); err != nil {
				t.Fatal(err)
			}
			defer meter.Tag(a, "level")()
		}
		a.Alloc(100, 8)
		text, err := json.Marshal(meter.ReportOf(a))
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal(meter.Snapshot(a), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, not %s", text, meter.Snapshot(a))
		}
	}
}
