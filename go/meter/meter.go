//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

// Package meter shows what uses the memory of an arena of [toft.dev/toft]: exact bytes by tag, and estimates by call site. An
// arena that is not metered costs nothing. Functions that take a *toft.Arena take that of a lease as &l.Arena.
package meter

import (
	"encoding/json"
	"fmt"
	"io"

	"toft.dev/toft"
	"toft.dev/toft/internal/link"
)

// SetMetered switches the accounting by tags (see [Tag]) on or off. What was allocated before has no tag. Switching it
// off ends all tags. The accounting of a leased arena ends with its lease. SetMetered fails with [errors.ErrUnsupported] if
// the arena's provider does not offer it, with [toft.ErrNoMemory] or [toft.ErrBusy]; the arena is then unchanged.
func SetMetered(a *toft.Arena, on bool) error { return link.SetMetered(a.Pointer(), on) }

// SetSampling records the tag and the call stack of about one allocation in the given number of bytes, as estimates for all
// allocations; 0 switches sampling off. [ReportOf] contains the part of the stacks in C, [WriteProfile] the part in Go.
// The sampling of a leased arena ends with its lease; that of an arena of [toft.Wrap] must be switched off before C releases the
// arena. Errors are those of [SetMetered].
func SetSampling(a *toft.Arena, bytes uint64) error { return link.SetSampling(a.Pointer(), bytes) }

// SetTagBudget limits the live bytes of a tag, given by its path, while the arena is metered. Bytes of tags within it do not
// count. The path "" means allocations without a tag; [toft.NoBudget] removes the limit. Errors are those of
// [SetMetered].
func SetTagBudget(a *toft.Arena, path string, bytes uint64) error {
	return link.SetTagBudget(a.Pointer(), path, bytes)
}

// Tag begins a tag: later allocations are counted for it until the function that Tag returns is called. Within another tag
// the name is a path: "sound" within "level" is "level/sound", while "/sound" is "sound" everywhere. A function under a tag,
// in one line:
//
//	defer meter.Tag(a, "parse")()
//
// Tags must end in the reverse order: each of the functions ends the newest tag. In an arena that is not metered Tag makes
// two compares and does nothing. It panics with [toft.ErrNUL] if the name contains a NUL byte.
func Tag(a *toft.Arena, name string) (end func()) { return link.Tag(a.Pointer(), name) }

// A Report describes the contents of an arena. Its JSON form is that of [Snapshot].
type Report struct {
	Version int          `json:"version"` // 1
	Stats   toft.Stats   `json:"stats"`
	Tags    []TagStats   `json:"tags"`              // if the arena is metered; the first is for allocations without a tag
	Phases  []PhaseStats `json:"phases"`            // the phases that C has ended, if it is metered
	Sites   []SiteStats  `json:"sites"`             // estimates in no order, if it is sampled
	Modules []Module     `json:"modules,omitempty"` // of the process, if there are sites
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

// A Module is a segment of code of the program or of a shared library.
type Module struct {
	Module  string `json:"module"`             // the path of the file
	Address string `json:"address"`            // in the process
	Size    uint64 `json:"size"`               // in bytes
	Offset  uint64 `json:"offset"`             // of its first byte in the file
	BuildID string `json:"build_id,omitempty"` // hexadecimal; "" if the file has none
}

// A Site is a place in the source. Line is 0 if the place is not known.
type Site struct {
	File   string `json:"file"`
	Line   uint64 `json:"line"`
	Column uint64 `json:"column"`
	Number uint64 `json:"number"` // the number that another language passed for it
}

// ReportOf describes the current contents of the arena. For an arena of another provider it has the statistics only.
func ReportOf(a *toft.Arena) (r Report) {
	if err := json.Unmarshal(Snapshot(a), &r); err != nil {
		panic(fmt.Errorf("toft: Report: %w", err)) // Snapshot writes JSON
	}
	return r
}

// Snapshot returns the report as JSON, in the form of the C library and the Rust crate.
func Snapshot(a *toft.Arena) []byte { return link.Snapshot(a.Pointer()) }

// WriteProfile writes a profile of the live memory of all arenas for which [SetSampling] is on, in the format of
// pprof: estimates of the objects and bytes that Go code has allocated and not freed, by call stack. The command "go tool
// pprof" shows it. Allocations by C are in [ReportOf] only.
func WriteProfile(w io.Writer) error { return link.WriteProfile(w) }
