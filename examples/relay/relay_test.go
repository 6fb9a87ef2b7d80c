// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"toft.dev/toft"
	"toft.dev/toft/leasetest"
)

var form = regexp.MustCompile(`^([^ ]*) [^"]*"([^ "]*) ([^ "]*) [^"]*" (\d{3}) (\d{1,18}) (\d{1,9})\.(\d{1,6})$`)

// inGo is a simple implementation in Go alone.
func inGo(log []byte) []answer {
	type one struct {
		host   string
		micros int
	}
	groups, requests := map[string]*answer{}, map[string][]one{}
	for _, line := range strings.Split(string(log), "\n") {
		m := form.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		path, _, _ := strings.Cut(m[3], "?")
		g := groups[path]
		if g == nil {
			g = &answer{path: path}
			groups[path] = g
		}
		status, _ := strconv.Atoi(m[4])
		size, _ := strconv.Atoi(m[5])
		seconds, _ := strconv.Atoi(m[6])
		fraction, _ := strconv.Atoi((m[7] + "000000")[:6])
		g.requests++
		g.bytes += uint64(size)
		if status >= 500 {
			g.errors++
		}
		requests[path] = append(requests[path], one{m[1], seconds*1e6 + fraction})
	}
	var answers []answer
	for path, g := range groups {
		of := requests[path]
		slices.SortStableFunc(of, func(a, b one) int { return cmp.Compare(b.micros, a.micros) })
		g.slowest, g.slowestHost = time.Duration(of[0].micros)*time.Microsecond, of[0].host
		g.p99 = time.Duration(of[len(of)/100].micros) * time.Microsecond
		answers = append(answers, *g)
	}
	slices.SortFunc(answers, func(a, b answer) int { return cmp.Compare(a.path, b.path) })
	return answers
}

var odd = []string{
	"", "\n", "\n\n\n", " ", "no log at all", "\"", "a - \"", `h - "GET /"`, `h "GET /x" 200 1 0.1`,
	`h - "GET /x HTTP/1.1" 200 1 0.1`, // the last line has no end
	"h - \"GET /x HTTP/1.1\" 200 1 0.1\n", "h - \"GET /x HTTP/1.1\" 200 1 0.\n", "h - \"GET /x HTTP/1.1\" 200 1 0\n",
	"h - \"GET /x HTTP/1.1\" 20 1 0.1\nh - \"GET /x HTTP/1.1\" 2000 1 0.1\n",
	"h - \"GET /x HTTP/1.1\" 200 - 0.1\nh - \"GET /x HTTP/1.1\" 200 1 0.1 \n",
	"h - \"GET /x HTTP/1.1\" 200 1 0.1234567\nh - \"GET /x HTTP/1.1\" 200 1 0.123456\n",
	"h - \"GET /x HTTP/1.1\" 200 1234567890123456789 0.1\n",
	"h - \"GET /x HTTP/1.1\" 200 1 1000000000.1\nh - \"GET /x HTTP/1.1\" 200 1 999999999.1\n",
	"a - \"GET ?q HTTP/1.1\" 500 1 0.2\nb - \"GET  HTTP/1.1\" 599 1 0.2\nc - \"GET ?? HTTP/1.1\" 600 1 0.2\n",
	"a\x00 - \"GET /\x00\xff HTTP/1.1\" 200 1 0.2\n \"GET / HTTP/1.1\" 200 1 0.2\n",
}

func logs() [][]byte {
	var found [][]byte
	for _, log := range odd {
		found = append(found, []byte(log))
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		log := madeUp(r.IntN(300)+int(seed)*20, r)
		found = append(found, log)
		for range 5 { // like a network connection, which overwrites its buffer
			log = bytes.Clone(log)
			for range 1 + len(log)/50 {
				if len(log) > 0 {
					log[r.IntN(len(log))] = " \n\"?./0x"[r.IntN(8)]
				}
			}
			found = append(found, log)
		}
	}
	return found
}

func TestAnswersAreTheSame(t *testing.T) {
	for i, log := range logs() {
		want := inGo(log)
		var some []string
		for k, a := range want {
			if k%3 == 0 {
				some = append(some, a.path)
			}
		}
		some = append(some, "/not there")
		for name, relay := range map[string]func(*bytes.Reader, int, []string) ([]answer, error){
			"arena":  func(r *bytes.Reader, n int, paths []string) ([]answer, error) { return leased(r, n, paths) },
			"copies": func(r *bytes.Reader, n int, paths []string) ([]answer, error) { return copying(r, n, paths) },
		} {
			all, err := relay(bytes.NewReader(log), len(log), nil)
			if err != nil || !slices.Equal(all, want) {
				t.Fatalf("log %d, %s: %v, %v, not %v:\n%q", i, name, all, err, want, log)
			}
			found, err := relay(bytes.NewReader(log), len(log), some)
			if err != nil || len(found) != len(some)-1 {
				t.Fatalf("log %d, %s: found %v of %v, %v", i, name, found, some, err)
			}
			for k, a := range found {
				if a != want[3*k] {
					t.Fatalf("log %d, %s: %v, not %v", i, name, a, want[3*k])
				}
			}
		}
	}
	checkAllReturned(t)
}

func checkAllReturned(t *testing.T) {
	t.Helper()
	if allocations, frees, _ := counts(); allocations != frees {
		t.Errorf("%d calls of malloc, %d of free", allocations, frees)
	}
	if out := toft.ReadLeaseStats().Leased; out != 0 {
		t.Errorf("%d leases are out: %v", out, leasetest.Leases())
	}
}

func TestEverythingIsInTheArena(t *testing.T) {
	log := madeUp(20_000, rand.New(rand.NewPCG(3, 3))) // so long that a stable sort would allocate
	a, err := toft.NewArena(toft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, _, copied := counts()
	m := a.Mark()
	answers, err := inArena(a, bytes.NewReader(log), len(log), nil)
	if err != nil || len(answers) != 12 {
		t.Fatal(len(answers), err)
	}
	if after, _, now := counts(); after != before || now != copied {
		t.Errorf("%d calls of malloc, %d bytes copied", after-before, now-copied)
	}
	if live := a.Stats().Live; live < uint64(len(log))+19_000*72 {
		t.Errorf("%d bytes are live: less than the log and its records", live)
	}
	a.Rewind(m)
	if live := a.Stats().Live; live != 0 {
		t.Errorf("%d bytes are live after the rewind", live)
	}
	a.Release()
	checkAllReturned(t)
}

func TestAnswersOutliveTheArena(t *testing.T) {
	log := madeUp(500, rand.New(rand.NewPCG(5, 5)))
	a, err := toft.NewArena(toft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := inArena(a, bytes.NewReader(log), len(log), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Reset()
	for range 100 {
		copy(toft.MakeSlice[byte](a, 4000), bytes.Repeat([]byte("x"), 4000))
	}
	if !slices.Equal(answers, inGo(log)) {
		t.Errorf("not what it was: %v", answers)
	}
	a.Release()
	checkAllReturned(t)
}

// When any of the three exceeds the budget, the caller gets an error, and the arena stays usable.
func TestEachMayRunOut(t *testing.T) {
	log := madeUp(500, rand.New(rand.NewPCG(4, 4)))
	want := inGo(log)
	a, err := toft.NewArena(toft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]int{}
	for budget := uint64(0); ; budget += 997 {
		a.SetBudget(budget)
		m := a.Mark()
		answers, err := inArena(a, bytes.NewReader(log), len(log), nil)
		live := a.Stats().Live
		if live > budget {
			t.Fatalf("%d bytes live on a budget of %d", live, budget)
		}
		a.Rewind(m)
		if live := a.Stats().Live; live != 0 {
			t.Fatalf("%d bytes live after a rewind", live)
		}
		if err == nil {
			if !slices.Equal(answers, want) {
				t.Fatalf("other answers on a budget of %d", budget)
			}
			break
		}
		if !errors.Is(err, errNoMemory) {
			t.Fatal(budget, err)
		}
		switch text := uint64(len(log)); { // by the memory in use before
		case live < text:
			refused["Go"]++
		case live < text+64:
			refused["C"]++
		default:
			refused["Rust"]++
		}
	}
	for _, language := range []string{"Go", "C", "Rust"} {
		if refused[language] < 10 {
			t.Errorf("%s was refused %d times only", language, refused[language])
		}
	}
	a.Release()
	checkAllReturned(t)
}

func TestAReaderThatFails(t *testing.T) {
	for name, relay := range map[string]func(*bytes.Reader) ([]answer, error){
		"arena":  func(r *bytes.Reader) ([]answer, error) { return leased(r, 100, nil) },
		"copies": func(r *bytes.Reader) ([]answer, error) { return copying(r, 100, nil) },
	} {
		if answers, err := relay(bytes.NewReader([]byte("short"))); err == nil {
			t.Errorf("%s: %v", name, answers)
		}
	}
	checkAllReturned(t)
}

func TestWays(t *testing.T) {
	for way, n := range map[string]int{"arena": 1, "copies": 1, "both": 2, "": 0} {
		if ways, err := chosen(way); len(ways) != n || (err == nil) != (n > 0) {
			t.Errorf("%q: %v, %v", way, ways, err)
		}
	}
	if fmt.Sprint(asDuration(1500)) != "1.5ms" {
		t.Error("microseconds are not")
	}
}
