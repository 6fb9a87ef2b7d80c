//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
)

// pprofOf returns what go tool pprof prints of a profile.
func pprofOf(t *testing.T, write func(w io.Writer) error, options ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs go tool pprof")
	}
	file := t.TempDir() + "/profile"
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	options = append([]string{"tool", "pprof", "-top", "-nodefraction=0"}, options...)
	out, err := exec.Command("go", append(options, file)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// liveOf returns the bytes of a function in the profile, as pprof shows them.
func liveOf(t *testing.T, function string) (bytes int) {
	t.Helper()
	out := pprofOf(t, writeProfile, "-unit=B")
	line := regexp.MustCompile(`(?m)^\s*(\d+)B .*` + regexp.QuoteMeta(function) + "$").FindStringSubmatch(out)
	if line == nil {
		if !strings.Contains(out, "Type: inuse_space") {
			t.Fatalf("%s", out)
		}
		return 0
	}
	bytes, _ = strconv.Atoi(line[1])
	return bytes
}

//go:noinline
func allocProfiled(a *Arena, n int) {
	for range n {
		a.AllocUninit(1000, 8)
	}
}

func TestProfileHasLiveBytesByCallSite(t *testing.T) {
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
	defer setDebug(setDebug(true))
	for range 10 {
		defer forgetLease().Return()
	}
	out := pprofOf(t, func(w io.Writer) error { return pprof.Lookup("toft.leases").WriteTo(w, 0) })
	if !regexp.MustCompile(`(?m)^\s*10 .* toft\.dev/toft\.forgetLease`).MatchString(out) ||
		regexp.MustCompile(`toft\.(Get|get|debugGet|callers)`).MatchString(out) {
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
	a := must1(NewArena(Options{}))
	defer a.tag("arena")()
	a.Alloc(100000, 8)
	checkAtEnd()
}

// With TOFT_PROFILE all arenas of the process are in one file, leases too, with places in Go.
func TestProfileOfTheProcess(t *testing.T) {
	if isChild(t) {
		useProfiledLeases(t)
		return
	}
	folder, err := os.MkdirTemp("", "toft")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // fails under Wine
	file := folder + "/profile"
	if out, err := rerun(t, "TOFT_METERED=1", "TOFT_SAMPLING=4096", "TOFT_PROFILE="+file); err != nil {
		t.Skip("this system cannot run the test's program: ", err, out)
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
