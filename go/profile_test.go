//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"os"
	"os/exec"
	"regexp"
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
	if err := WriteProfile(f); err != nil {
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
		if err := a.SetSampling(10_000); err != nil {
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
