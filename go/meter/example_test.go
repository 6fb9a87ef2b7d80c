//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package meter_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"toft.dev/toft"
	"toft.dev/toft/meter"
)

func ExampleSetMetered() {
	l := toft.Get()
	defer l.Return()
	a := &l.Arena
	if err := meter.SetMetered(a, true); err != nil {
		fmt.Println(err) // its provider does not offer it
		return
	}
	a.Alloc(100, 8)
	fmt.Println(meter.ReportOf(a).Tags[0].Live)
	// Output: 104
}

func ExampleTag() {
	l := toft.Get()
	defer l.Return()
	a := &l.Arena
	meter.SetMetered(a, true)
	parse := func() {
		defer meter.Tag(a, "parse")()
		a.Alloc(1000, 8)
	}
	parse()
	a.Alloc(10, 8)
	for _, tag := range meter.ReportOf(a).Tags {
		fmt.Printf("%q %d\n", tag.Name, tag.Live)
	}
	// Output:
	// "" 16
	// "parse" 1000
}

func ExampleSetTagBudget() {
	l := toft.Get()
	defer l.Return()
	a := &l.Arena
	meter.SetMetered(a, true)
	meter.SetTagBudget(a, "parse", 512)
	defer meter.Tag(a, "parse")()
	_, err := a.TryAlloc(513, 8)
	fmt.Println(errors.Is(err, toft.ErrNoMemory))
	// Output: true
}

func ExampleSetSampling() {
	l := toft.Get()
	defer l.Return()
	a := &l.Arena
	meter.SetSampling(a, 4096)
	for range 10_000 {
		a.Alloc(64, 8)
	}
	var count uint64
	for _, site := range meter.ReportOf(a).Sites {
		count += site.Count
	}
	fmt.Println(count > 5_000 && count < 20_000) // about
	// Output: true
}

func ExampleReportOf() {
	l := toft.Get()
	defer l.Return()
	a := &l.Arena
	var r meter.Report = meter.ReportOf(a)
	fmt.Println(r.Stats.Live, len(r.Tags), len(r.Sites)) // nothing is switched on
	meter.SetMetered(a, true)
	a.Alloc(8, 8)
	var all meter.TagStats = meter.ReportOf(a).Tags[0]
	fmt.Println(all.Live, all.Allocated, all.Budget == nil)
	// Output:
	// 0 0 0
	// 8 8 true
}

func ExampleSiteStats() {
	frame := meter.Frame{Address: "0x55d0c8a012f7", Function: "decode"}
	site := meter.SiteStats{Tag: "parse", Count: 31, Site: meter.Site{File: "decode.c", Line: 12}, Stack: []meter.Frame{frame}}
	fmt.Println(site.Tag, site.Count, site.Site.File, site.Site.Line, site.Stack[0].Function)

	module := meter.Module{Module: "/usr/bin/decode", Address: "0x55d0c8a00000", Size: 8192, Offset: 4096}
	begin, err := strconv.ParseUint(module.Address, 0, 64)
	call := uint64(0x55d0c8a012f7)
	fmt.Printf("%#x %v\n", call-begin+module.Offset, err) // the input of addr2line
	// Output:
	// parse 31 decode.c 12 decode
	// 0x22f7 <nil>
}

func ExamplePhaseStats() {
	phase := meter.PhaseStats{Name: "load", Entries: 1, Allocated: 8104, Kept: 8104}
	fmt.Println(phase.Name, phase.Kept)
	// Output: load 8104
}

func ExampleSnapshot() {
	l := toft.Get()
	defer l.Return()
	a := &l.Arena
	fmt.Println(json.Valid(meter.Snapshot(a)))
	// Output: true
}

func ExampleWriteProfile() {
	a, err := toft.NewArena(toft.Options{})
	if err != nil {
		panic(err)
	}
	defer a.Release()
	if err := meter.SetSampling(a, 512<<10); err != nil { // as Go's own heap profile
		panic(err)
	}
	a.Alloc(4<<20, 8)
	var file bytes.Buffer // or os.Create("toft.pprof"), for go tool pprof
	fmt.Println(meter.WriteProfile(&file))
	// Output: <nil>
}
