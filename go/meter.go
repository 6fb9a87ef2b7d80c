//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
)

// What uses the memory of an arena: exact bytes by tag, and estimates by call site. It costs nothing while it is off.

// setMetered is meter.SetMetered.
func (a *Arena) setMetered(on bool) error {
	return a.instrument("SetMetered", func() int { return cSetMetered(a, on) })
}

// setTagBudget is meter.SetTagBudget.
func (a *Arena) setTagBudget(path string, bytes uint64) error {
	name, err := nameOf(path)
	if err != nil {
		return err
	}
	return a.instrument("SetTagBudget", func() int { return cSetTagBudget(a, name, bytes) })
}

func (a *Arena) instrument(what string, set func() int) error {
	a.check(what)
	code := set()
	if s := slotOf(a); s != nil {
		s.returnSlowly()
		s.instrumented = true
	}
	if code != 0 {
		return wrap(what, errorOf(code))
	}
	return nil
}

// tag is meter.Tag.
func (a *Arena) tag(name string) (end func()) {
	if a.epoch&1 == 0 && a.cursor != a.limit { // a returned arena is sealed
		return noTag
	}
	a.check("Tag")
	if a.epoch&1 == 0 {
		return noTag
	}
	c, err := nameOf(name)
	if err != nil {
		panic(err)
	}
	cTagPush(a, c) // a tag that failed is popped too
	ended := false
	return func() {
		if !ended && a.epoch&1 != 0 {
			a.check("the end of a Tag")
			cTagPop(a)
		}
		ended = true
	}
}

var noTag = func() {}

// nameOf returns a name that ends with a NUL.
func nameOf(name string) ([]byte, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return nil, ErrNUL
	}
	return append([]byte(name), 0), nil
}

// snapshot is meter.Snapshot.
func (a *Arena) snapshot() []byte {
	a.check("Snapshot")
	text := make([]byte, 4096)
	for {
		n := cSnapshot(a, text)
		if n < len(text) {
			return text[:n]
		}
		text = make([]byte, n+1)
	}
}

// UnmarshalJSON reads the form of meter.Snapshot, in which the budget is null if there is none.
func (s *Stats) UnmarshalJSON(text []byte) error {
	plain := struct {
		Live, Allocated, Peak, Reserved, Wasted, Blocks uint64
		Budget                                          *uint64
		SourceCalls                                     uint64 `json:"source_calls"`
	}{}
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	*s = Stats{plain.Live, plain.Allocated, plain.Peak, NoBudget, plain.Reserved, plain.Wasted, plain.Blocks, plain.SourceCalls}
	if plain.Budget != nil {
		s.Budget = *plain.Budget
	}
	return nil
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (s Stats) MarshalJSON() ([]byte, error) {
	budget := "null"
	if s.Budget != NoBudget {
		budget = fmt.Sprint(s.Budget)
	}
	return fmt.Appendf(nil, `{"live":%d,"allocated":%d,"peak":%d,"budget":%s,"reserved":%d,"wasted":%d,"blocks":%d,"source_calls":%d}`,
		s.Live, s.Allocated, s.Peak, budget, s.Reserved, s.Wasted, s.Blocks, s.SourceCalls), nil
}

// String returns text such as "104 B live of 4.0 KiB in 1 block, peak 104 B, no budget".
func (s Stats) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s live of %s in %d block", size(s.Live), size(s.Reserved), s.Blocks)
	if s.Blocks != 1 {
		text.WriteByte('s')
	}
	fmt.Fprintf(&text, ", peak %s, ", size(max(s.Peak, s.Live)))
	if s.Budget == NoBudget {
		text.WriteString("no budget")
	} else {
		fmt.Fprintf(&text, "budget %s", size(s.Budget))
	}
	return text.String()
}

// String returns text such as "2 leased, 3 idle, 40.0 KiB kept".
func (s LeaseStats) String() string {
	return fmt.Sprintf("%d leased, %d idle, %s kept", s.Leased, s.Idle, size(s.Kept))
}

// size formats a number of bytes.
func size(bytes uint64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	unit := (bits.Len64(bytes) - 1) / 10
	return fmt.Sprintf("%.1f %ciB", float64(bytes)/float64(uint64(1)<<(10*unit)), "KMGTPE"[unit-1])
}
