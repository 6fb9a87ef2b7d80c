// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"toft.dev/toft"
)

var (
	lines  = flag.Int("lines", 1000, "how many lines the log has that is made up")
	file   = flag.String("file", "", "an access log to relay instead: the combined format, and the seconds of each request")
	rounds = flag.Int("rounds", 301, "how often each way is timed")
	way    = flag.String("way", "both", "arena, copies or both")
)

func main() {
	stdlog.SetFlags(0)
	flag.Parse()
	log := madeUp(*lines, rand.New(rand.NewPCG(1, 2)))
	if *file != "" {
		var err error
		if log, err = os.ReadFile(*file); err != nil {
			stdlog.Fatal("relay: ", err)
		}
	}
	ways, err := chosen(*way)
	if err != nil || *rounds < 1 || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	all, err := ways[0].relay(bytes.NewReader(log), len(log), nil)
	check(err)
	for _, w := range ways[1:] {
		answers, err := w.relay(bytes.NewReader(log), len(log), nil)
		check(err)
		if !slices.Equal(answers, all) {
			stdlog.Fatal("relay: the ways have different answers")
		}
	}
	slices.SortStableFunc(all, func(a, b answer) int { return int(b.slowest - a.slowest) })
	all = all[:min(len(all), 4)]
	fmt.Printf("%d bytes of a log: Go lays them out, C splits them, Rust groups them by path, Go looks four up.\n\n", len(log))
	var paths []string
	for _, found := range all {
		fmt.Printf("%-14s%6d requests%5d errors%10d bytes   p99 %-9v slowest %v, for %s\n", found.path, found.requests,
			found.errors, found.bytes, found.p99, found.slowest, found.slowestHost)
		paths = append(paths, found.path)
	}
	measure(ways, log, paths, all)
	allocations, frees, _ := counts()
	if allocations != frees || toft.ReadLeaseStats().Leased != 0 {
		stdlog.Fatalf("relay: not all went back: %d allocations, %d frees, %d leases", allocations, frees, toft.ReadLeaseStats().Leased)
	}
	fmt.Println("\nAll went back: as many calls of free as of malloc, and no lease is out.")
}

func check(err error) {
	if err != nil {
		stdlog.Fatal(err)
	}
}

type contender struct {
	name  string
	relay func(log io.Reader, size int, paths []string) ([]answer, error)

	times                         []time.Duration
	allocations, copied, goAllocs uint64 // totals of all rounds; goAllocs: allocations of Go's heap
}

func chosen(way string) ([]*contender, error) {
	arena := &contender{name: "one arena, addresses passed", relay: leased}
	copies := &contender{name: "a copy at each border", relay: copying}
	switch way {
	case "arena":
		return []*contender{arena}, nil
	case "copies":
		return []*contender{copies}, nil
	case "both":
		return []*contender{arena, copies}, nil
	}
	return nil, fmt.Errorf("relay: no way %q", way)
}

// leased relays in an arena that is leased for the call: one release.
func leased(log io.Reader, size int, paths []string) ([]answer, error) {
	a := toft.Get()
	defer a.Return()
	before := a.Stats().SourceCalls
	defer func() { blocks += a.Stats().SourceCalls - before }()
	return inArena(&a.Arena, log, size, paths)
}

var blocks uint64 // calls of malloc by arenas

// measure times the ways in turn; each result is compared.
func measure(ways []*contender, log []byte, paths []string, want []answer) {
	for round := range *rounds {
		for i := range ways {
			w := ways[(round+i)%len(ways)]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			allocations, _, copied := counts()
			allocations += blocks
			start := time.Now()
			answers, err := w.relay(bytes.NewReader(log), len(log), paths)
			w.times = append(w.times, time.Since(start))
			check(err)
			if !slices.Equal(answers, want) {
				stdlog.Fatalf("relay: %s has other answers", w.name)
			}
			nowAllocations, _, nowCopied := counts()
			runtime.ReadMemStats(&after)
			w.allocations += nowAllocations + blocks - allocations
			w.copied += nowCopied - copied
			w.goAllocs += after.Mallocs - before.Mallocs
		}
	}
	fmt.Printf("\nA round, medians of %d by turns, all answers compared:\n%-30s%10s%16s%16s%18s\n", *rounds, "", "us", "calls of malloc",
		"bytes copied", "objects of Go's")
	for _, w := range ways {
		slices.Sort(w.times)
		n := uint64(*rounds)
		fmt.Printf("%-30s%10.1f%16d%16d%18d\n", w.name, middle(w), w.allocations/n, w.copied/n, w.goAllocs/n)
	}
	if len(ways) == 2 {
		fmt.Printf("In short: a log through Go, C, Rust and back to Go: %.0f us in one arena; %.0f with a copy at each border\n", middle(ways[0]),
			middle(ways[1]))
	}
}

// middle returns the microseconds of the median round; the rounds must be sorted.
func middle(w *contender) float64 { return float64(w.times[len(w.times)/2]) / 1e3 }

// madeUp returns a log with this number of lines, some of them malformed.
func madeUp(lines int, r *rand.Rand) []byte {
	var b bytes.Buffer
	at := time.Date(2026, 11, 22, 11, 12, 36, 0, time.UTC)
	for range lines {
		at = at.Add(time.Duration(r.IntN(50)) * time.Millisecond)
		if r.IntN(200) == 0 {
			fmt.Fprintf(&b, "%s worker %d restarted\n", at.Format(time.RFC3339), r.IntN(8))
			continue
		}
		status := []int{200, 200, 200, 200, 200, 200, 304, 404, 500, 503}[r.IntN(10)]
		fmt.Fprintf(&b, "203.0.113.%d - - [%s] \"%s /%s/%d?page=%d HTTP/1.1\" %d %d %.3f\n", r.IntN(256),
			at.Format("02/Jan/2006:15:04:05 -0700"), []string{"GET", "GET", "POST"}[r.IntN(3)],
			[]string{"items", "users", "search", "cart"}[r.IntN(4)], r.IntN(3), r.IntN(9), status, r.IntN(20000), r.ExpFloat64()/20)
	}
	return b.Bytes()
}
