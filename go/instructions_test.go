//go:build cgo && amd64 && !race

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The numbers of instructions of the fast paths, up to the first return, without NOPs. Unlike times they are exact, so that
// a longer path is detected.

var plain10 = UninitOf[[10]byte]()

//go:noinline
func onePlain(a *Arena) *[10]byte { return plain10.New(a) }

//go:noinline
func twoPlain(a *Arena) *[10]byte { plain10.New(a); return plain10.New(a) }

func TestFastPathsAreShort(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), "go1.26") || testing.CoverMode() != "" || testing.Short() {
		t.Skip("counted with Go 1.26") // others may do better or worse
	}
	a := newArena(t, Options{})
	onePlain(a)
	twoPlain(a)
	program := t.TempDir() + "/t"
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	length := func(function string) int {
		out, err := exec.Command("go", "tool", "objdump", "-s", "^"+regexp.QuoteMeta("toft.dev/toft."+function)+"$", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, line := range strings.Split(string(out), "\n") {
			columns := strings.Fields(line)
			if len(columns) < 4 || strings.HasPrefix(columns[3], "NOP") {
				continue
			}
			count++
			if columns[3] == "RET" {
				return count
			}
		}
		t.Fatalf("%s is nowhere", function)
		return 0
	}
	one, two := length("onePlain"), length("twoPlain")
	if two-one > 14 { // both ways of the branch are counted
		t.Errorf("a further New of a plain type takes %d instructions", two-one)
	}
	for name, most := range map[string]int{"Get": 29, "(*Lease).Return": 20, "(*Arena).AllocUninit": 17, "(*Arena).Alloc": 28} {
		if n := length(name); n > most {
			t.Errorf("%s takes %d instructions, more than %d", name, n, most)
		}
	}
}
