//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
)

// liveOf returns the bytes of a function in the profile, as pprof shows them.
func liveOf(t *testing.T, function string) int {
	t.Helper()
	file := t.TempDir() + "/profile"
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeProfile(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-unit=B", "-nodefraction=0", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line := regexp.MustCompile(`(?m)^\s*(\d+)B .*` + regexp.QuoteMeta(function) + "$").FindSubmatch(out)
	if line == nil {
		if !strings.Contains(string(out), "Type: inuse_space") {
			t.Fatalf("%s", out)
		}
		return 0
	}
	n, err := strconv.Atoi(string(line[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

//go:noinline
func allocProfiled(a *Arena, n int) {
	for range n {
		a.AllocUninit(1000, 8)
	}
}

func TestProfileHasLiveBytesByCallSite(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go tool pprof")
	}
	const function = "toft.dev/toft.allocProfiled"
	for name, a := range map[string]*Arena{"owned": newArena(t, Options{}), "leased": &Get().Arena} {
		if err := a.setSampling(10_000); err != nil {
			t.Fatal(err)
		}
		about := func(want int) {
			t.Helper()
			if got := liveOf(t, function); got < want*8/10 || got > want*12/10 {
				t.Errorf("%s: %d bytes, not %d", name, got, want)
			}
		}
		allocProfiled(a, 10_000)
		about(10_000_000)
		m := a.Mark()
		allocProfiled(a, 10_000)
		about(20_000_000)
		a.Rewind(m)
		about(10_000_000)
		if name == "leased" {
			a.lease().Return()
		} else {
			a.Reset()
		}
		about(0)
	}
	if n := profiled.count.Load(); n != 1 {
		t.Errorf("%d arenas are profiled, not 1", n)
	}
}

//go:noinline
func forgetLease() *Lease { return Get() }

// The profile of leases has the caller of Get as its first frame.
func TestProfileOfLeasesHasTheCallersFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go tool pprof")
	}
	defer setDebug(setDebug(true))
	for range 10 {
		defer forgetLease().Return()
	}
	file := t.TempDir() + "/profile"
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(pprof.Lookup("toft.leases").WriteTo(f, 0), f.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-nodefraction=0", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^\s*10 .* toft\.dev/toft\.forgetLease`).Match(out) || regexp.MustCompile(`toft\.(Get|get|debugGet|callers)`).Match(out) {
		t.Errorf("%s", out)
	}
}

const profiledLeases = 2000

func useProfiledLeases(t *testing.T) {
	if debug.on.Load() {
		t.Error("meters switch debugging on")
	}
	for range profiledLeases {
		a := Get()
		end := a.tag("lease")
		a.Alloc(1000, 8)
		end()
		a.Return()
		b := Get() // no call but these
		b.Alloc(504, 8)
		b.Return()
	}
	a, err := NewArena(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.tag("arena")()
	a.Alloc(100000, 8)
	checkAtEnd()
}

// With TOFT_PROFILE all arenas of the process are in one file, leases too, with places in Go.
func TestProfileOfTheProcess(t *testing.T) {
	if os.Getenv("TOFT_PROFILE") != "" {
		useProfiledLeases(t)
		return
	}
	folder, err := os.MkdirTemp("", "toft")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // fails under Wine
	file := folder + "/profile"
	child := exec.Command(os.Args[0], "-test.run=^TestProfileOfTheProcess$")
	child.Env = append(os.Environ(), "TOFT_METERED=1", "TOFT_SAMPLING=4096", "TOFT_PROFILE="+file)
	if out, err := child.CombinedOutput(); err != nil {
		t.Skip("this system cannot run the test's program: ", err, string(out))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var profile struct {
		Process struct{ Library string }
		Tags    []struct {
			Name            string
			Live, Allocated uint64
		}
		Sites []struct {
			Site struct {
				File string
				Line int
			}
			Tag          string
			Count, Bytes uint64
		}
	}
	if err := json.Unmarshal(text, &profile); err != nil || profile.Process.Library != "toft-c" {
		t.Fatalf("%v: %s", err, text)
	}
	for _, tag := range profile.Tags {
		if tag.Name == "lease" && tag.Allocated != profiledLeases*1000 || tag.Name == "" && tag.Allocated != profiledLeases*504 || tag.Name == "arena" && (tag.Live != 100000 || tag.Allocated != 100000) {
			t.Errorf("%+v", tag)
		}
	}
	if len(profile.Tags) != 3 {
		t.Errorf("%+v", profile.Tags)
	}
	bytes := map[string]uint64{}
	for _, site := range profile.Sites {
		if strings.HasSuffix(site.Site.File, "profile_test.go") && site.Site.Line > 0 {
			bytes[site.Tag] += site.Bytes
		}
	}
	if n := bytes["lease"]; n < profiledLeases*800 || n > profiledLeases*1200 { // 490 samples
		t.Errorf("%d bytes by leases: %+v", n, profile.Sites)
	}
}
