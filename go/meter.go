//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
)

// Where an arena's memory goes: bytes by tag, exact; who allocates, by sampling. Off, it costs nothing.

// SetMetered switches the accounting by tags, which [Arena.Tag] begins; what is live then counts for no tag. Off, it ends
// all tags. That of a leased arena ends with its lease. It fails with [errors.ErrUnsupported] for an arena whose provider
// does not offer it, with [ErrNoMemory] and [ErrBusy]; nothing has changed then.
func (a *Arena) SetMetered(on bool) error {
	return a.watch("SetMetered", func() int { return cSetMetered(a, on) })
}

// SetSampling looks at about one allocation in so many bytes, notes its tag and the calls in C that led there, and
// estimates from these how many there are; 0 switches it off. That of a leased arena ends with its lease. Errors are those
// of [Arena.SetMetered].
func (a *Arena) SetSampling(bytes uint64) error {
	return a.watch("SetSampling", func() int { return cSet(a, setSample, bytes) })
}

// SetTagBudget limits the bytes that a tag, by its path, may have live while the arena is metered: to the byte, and
// without those of the tags within it. The path "" is what is under no tag; [NoBudget] lifts the limit. Errors are those
// of [Arena.SetMetered].
func (a *Arena) SetTagBudget(path string, bytes uint64) error {
	name, err := nameOf(path)
	if err != nil {
		return err
	}
	return a.watch("SetTagBudget", func() int { return cSetTagBudget(a, name, bytes) })
}

func (a *Arena) watch(what string, set func() int) error {
	a.check(what)
	code := set()
	if l := leaseOf(a); l != nil {
		l.changed()
		l.watched = true
	}
	if code != 0 {
		return failed(what, errorOf(code))
	}
	return nil
}

// Tag has what is allocated from now on counted for a tag, until the function that it returns is called; then for the one
// before. Within another tag the name is a path: "sound" within "level" is "level/sound"; "/sound" is "sound" anywhere. A
// function under a tag, in one line:
//
//	defer a.Tag("parse")()
//
// Tags end in the reverse order: each such function ends the newest tag. In an arena that is not metered, nothing happens, at the cost of a compare, so this may stay where it is. It panics with
// [ErrNUL] for a name that holds a NUL byte.
func (a *Arena) Tag(name string) (end func()) {
	if a.epoch&1 == 0 {
		return noTag
	}
	a.check("Tag")
	c, err := nameOf(name)
	if err != nil {
		panic(err)
	}
	cTagPush(a, c) // what fails is popped all the same
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

// nameOf is a name as C wants it.
func nameOf(name string) ([]byte, error) {
	if holdsNUL(name) {
		return nil, ErrNUL
	}
	return append([]byte(name), 0), nil
}

// A Report is what an arena holds, and by whom. As JSON it is what [Arena.Snapshot] writes.
type Report struct {
	Version int          `json:"version"` // 1
	Stats   Stats        `json:"stats"`
	Tags    []TagStats   `json:"tags"`   // while the arena is metered; the first: under no tag
	Phases  []PhaseStats `json:"phases"` // those that C ended, while it is metered
	Sites   []SiteStats  `json:"sites"`  // while it is sampled: estimates, in no order
}

// TagStats are the bytes of a tag, without those of the tags within it.
type TagStats struct {
	Name      string  `json:"name"`   // its path; "": none, or of a tag that has a number alone
	Number    *uint64 `json:"number"` // what another language set by the arena's table; nil: none
	Live      uint64  `json:"live"`
	Allocated uint64  `json:"allocated"`
	Budget    *uint64 `json:"budget"` // nil: no limit
}

// PhaseStats are of a stretch of the program, as C marks them.
type PhaseStats struct {
	Name      string `json:"name"`
	Entries   uint64 `json:"entries"`
	Allocated uint64 `json:"allocated"`
	Kept      int64  `json:"kept"` // by how much live grew
}

// SiteStats are allocations of one call stack under one tag: estimates.
type SiteStats struct {
	Site  Site    `json:"site"`
	Tag   string  `json:"tag"`
	Count uint64  `json:"count"`
	Bytes uint64  `json:"bytes"` // as asked for, without padding
	Stack []Frame `json:"stack"` // C's part of it, the newest call first
}

// A Frame is a call in C, with what is known of it.
type Frame struct {
	Address  string  `json:"address"`
	Function string  `json:"function,omitempty"`
	Offset   *uint64 `json:"offset,omitempty"` // in Function
	Module   string  `json:"module,omitempty"`
	File     string  `json:"file,omitempty"`
	Line     uint64  `json:"line,omitempty"`
}

// A Site is a place in the source; Line 0: it is not known.
type Site struct {
	File   string `json:"file"`
	Line   uint64 `json:"line"`
	Column uint64 `json:"column"`
	Number uint64 `json:"number"` // what another language gave for it
}

// Report tells what the arena holds now: of one of another provider its statistics alone.
func (a *Arena) Report() Report {
	var r Report
	if err := json.Unmarshal(a.Snapshot(), &r); err != nil {
		panic(failed("Report", err)) // what Snapshot writes is JSON
	}
	return r
}

// Snapshot is the report as JSON, as the C library and the Rust crate write it too.
func (a *Arena) Snapshot() []byte {
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

// UnmarshalJSON reads what [Arena.Snapshot] writes, where the budget is null if there is none.
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

// MarshalJSON writes what UnmarshalJSON reads.
func (s Stats) MarshalJSON() ([]byte, error) {
	budget := "null"
	if s.Budget != NoBudget {
		budget = fmt.Sprint(s.Budget)
	}
	return fmt.Appendf(nil, `{"live":%d,"allocated":%d,"peak":%d,"budget":%s,"reserved":%d,"wasted":%d,"blocks":%d,"source_calls":%d}`,
		s.Live, s.Allocated, s.Peak, budget, s.Reserved, s.Wasted, s.Blocks, s.SourceCalls), nil
}

// String is for people: "104 B live of 4.0 KiB in 1 block, peak 104 B, no budget".
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

// String is for people: "2 leased, 3 idle, 40.0 KiB kept".
func (s LeaseStats) String() string {
	return fmt.Sprintf("%d leased, %d idle, %s kept", s.Leased, s.Idle, size(s.Kept))
}

// size is bytes for people.
func size(bytes uint64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	unit := (bits.Len64(bytes) - 1) / 10
	return fmt.Sprintf("%.1f %ciB", float64(bytes)/float64(uint64(1)<<(10*unit)), "KMGTPE"[unit-1])
}
