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

// The JSON of a report is that of Snapshot, also of one that is longer than the first buffer.
func TestReportIsTheSnapshot(t *testing.T) {
	a := newArena(t, toft.Options{Budget: 1 << 20})
	for _, sampled := range []bool{false, true} {
		if sampled {
			if err := errors.Join(meter.SetMetered(a, true), meter.SetSampling(a, 1), meter.SetTagBudget(a, "level", 1<<20)); err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				end := meter.Tag(a, "/"+strings.Repeat("long", 20)+string(rune('0'+i%10))+string(rune('a'+i/10)))
				a.Alloc(8, 8)
				end()
			}
		}
		a.Alloc(100, 8)
		r, snapshot := meter.ReportOf(a), meter.Snapshot(a)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal(snapshot, &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) || r.Stats != a.Stats() || r.Stats.Budget != 1<<20 {
			t.Errorf("%s, not %s", text, snapshot)
		}
		if sampled && (len(snapshot) < 8192 || len(r.Tags) != 102 || len(r.Sites) == 0) {
			t.Errorf("%d tags in %d bytes, %d sites", len(r.Tags), len(snapshot), len(r.Sites))
		}
	}
}
