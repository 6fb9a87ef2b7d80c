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

// SetMetered switches the accounting by tags (see [Arena.Tag]) on or off. What was allocated before has no tag. Switching it
// off ends all tags. The accounting of a leased arena ends with its lease. SetMetered fails with [errors.ErrUnsupported] if
// the arena's provider does not offer it, with [ErrNoMemory] or [ErrBusy]; the arena is then unchanged.
func (a *Arena) SetMetered(on bool) error {
	return a.instrument("SetMetered", func() int { return cSetMetered(a, on) })
}

// SetSampling records the tag and the call stack of about one allocation in the given number of bytes, as estimates for all
// allocations; 0 switches sampling off. [Arena.Report] contains the part of the stacks in C, [WriteProfile] the part in Go.
// The sampling of a leased arena ends with its lease; that of an arena of [Wrap] must be switched off before C releases the
// arena. Errors are those of [Arena.SetMetered].
func (a *Arena) SetSampling(bytes uint64) error {
	return a.setSampling(bytes)
}

// SetTagBudget limits the live bytes of a tag, given by its path, while the arena is metered. Bytes of tags within it do not
// count. The path "" means allocations without a tag; [NoBudget] removes the limit. Errors are those of
// [Arena.SetMetered].
func (a *Arena) SetTagBudget(path string, bytes uint64) error {
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

// Tag begins a tag: later allocations are counted for it until the function that Tag returns is called. Within another tag
// the name is a path: "sound" within "level" is "level/sound", while "/sound" is "sound" everywhere. A function under a tag,
// in one line:
//
//	defer a.Tag("parse")()
//
// Tags must end in the reverse order: each of the functions ends the newest tag. In an arena that is not metered Tag makes
// two compares and does nothing. It panics with [ErrNUL] if the name contains a NUL byte.
func (a *Arena) Tag(name string) (end func()) {
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
	if holdsNUL(name) {
		return nil, ErrNUL
	}
	return append([]byte(name), 0), nil
}

// A Report describes the contents of an arena. Its JSON form is that of [Arena.Snapshot].
type Report struct {
	Version int          `json:"version"` // 1
	Stats   Stats        `json:"stats"`
	Tags    []TagStats   `json:"tags"`   // if the arena is metered; the first is for allocations without a tag
	Phases  []PhaseStats `json:"phases"` // the phases that C has ended, if it is metered
	Sites   []SiteStats  `json:"sites"`  // estimates in no order, if it is sampled
}

// TagStats are the bytes of a tag without those of the tags within it.
type TagStats struct {
	Name      string  `json:"name"`   // its path; "" for no tag and for a tag that has a number only
	Number    *uint64 `json:"number"` // the number, if another language set the tag by one
	Live      uint64  `json:"live"`
	Allocated uint64  `json:"allocated"`
	Budget    *uint64 `json:"budget"` // nil for no limit
}

// PhaseStats are the statistics of a phase of the program, which C begins and ends.
type PhaseStats struct {
	Name      string `json:"name"`
	Entries   uint64 `json:"entries"`
	Allocated uint64 `json:"allocated"`
	Kept      int64  `json:"kept"` // the growth of the live bytes
}

// SiteStats are estimates of the allocations of one call stack under one tag.
type SiteStats struct {
	Site  Site    `json:"site"`
	Tag   string  `json:"tag"`
	Count uint64  `json:"count"`
	Bytes uint64  `json:"bytes"` // as requested, without padding
	Stack []Frame `json:"stack"` // the part in C, the newest call first
}

// A Frame is a call in C.
type Frame struct {
	Address  string  `json:"address"`
	Function string  `json:"function,omitempty"`
	Offset   *uint64 `json:"offset,omitempty"` // in Function
	Module   string  `json:"module,omitempty"`
	InModule uint64  `json:"module_offset,omitempty"` // the offset of the call in Module, for addr2line
	File     string  `json:"file,omitempty"`
	Line     uint64  `json:"line,omitempty"`
}

// A Site is a place in the source. Line is 0 if the place is not known.
type Site struct {
	File   string `json:"file"`
	Line   uint64 `json:"line"`
	Column uint64 `json:"column"`
	Number uint64 `json:"number"` // the number that another language passed for it
}

// Report describes the current contents of the arena. For an arena of another provider it has the statistics only.
func (a *Arena) Report() Report {
	var r Report
	if err := json.Unmarshal(a.Snapshot(), &r); err != nil {
		panic(wrap("Report", err)) // Snapshot writes JSON
	}
	return r
}

// Snapshot returns the report as JSON, in the form of the C library and the Rust crate.
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

// UnmarshalJSON reads the form of [Arena.Snapshot], in which the budget is null if there is none.
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
