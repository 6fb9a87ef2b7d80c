//go:build !race

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// As TestHotFunctionsAreInlined, for pools.
func TestPoolFunctionsAreInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the package")
	}
	costs := inlineCosts(t)
	for name, most := range map[string]int{
		`(*Pool[go.shape.uint64]).At`:      60,
		`(*Pool[go.shape.uint64]).Free`:    80,
		`(*Pool[go.shape.uint64]).All`:     80,
		`(*ledger).take`:                   80,
		`(*ledger).give`:                   75,
		`shiftIn`:                          30,
		`(*Column[go.shape.uint64]).At`:    80,
		`(*Column[go.shape.uint64]).Slice`: 80,
		`(*Table).Live`:                    80,
		`(*Table).Index`:                   80,
		`(*Table).RowAt`:                   80,
		`(*Table).Rows`:                    80,
	} {
		switch cost, ok := costs[name]; {
		case !ok:
			t.Errorf("%s cannot be inlined", name)
		case cost > most:
			t.Errorf("%s costs %d, more than %d", name, cost, most)
		default:
			t.Logf("%s costs %d", name, cost)
		}
	}
}

var (
	_ = (*Pool[uint64]).At
	_ = (*Column[uint64]).At
)

func inlineCosts(t *testing.T) map[string]int {
	t.Helper()
	out, err := exec.Command("go", "test", "-c", "-o", t.TempDir()+"/t", "-gcflags=-m=2", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	costs := map[string]int{}
	line := regexp.MustCompile(`: can inline (?:toft\.)?(\S.*?) with cost (\d+) as`)
	for _, l := range strings.Split(string(out), "\n") {
		if m := line.FindStringSubmatch(l); m != nil {
			costs[m[1]], _ = strconv.Atoi(m[2])
		}
	}
	return costs
}
