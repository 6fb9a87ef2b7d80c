// SPDX-License-Identifier: MIT OR Apache-2.0

// Package testutil has functions that the tests of several packages use.
package testutil

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// WantInlined compiles the tests of the package in the working directory, and requires that the compiler can inline these
// functions, at these costs at most. Names are without the packages of this module.
func WantInlined(t *testing.T, want map[string]int) {
	t.Helper()
	if testing.Short() {
		t.Skip("it compiles the package")
	}
	out, err := exec.Command("go", "test", "-c", "-o", t.TempDir()+"/t", "-gcflags=-m=2", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	costs := map[string]int{}
	line := regexp.MustCompile(`: can inline (?:toft\.|pool\.)?(\S.*?) with cost (\d+) as`)
	for _, l := range strings.Split(string(out), "\n") {
		if m := line.FindStringSubmatch(l); m != nil {
			name := strings.NewReplacer("toft.dev/toft/pool.", "", "toft.dev/toft.", "").Replace(m[1])
			costs[name], _ = strconv.Atoi(m[2])
		}
	}
	for name, most := range want {
		switch cost, ok := costs[name]; {
		case !ok:
			t.Errorf("%s cannot be inlined", name)
		case cost > most:
			t.Errorf("%s costs %d, more than %d", name, cost, most)
		}
	}
}

// ReadProc returns a file of /proc/self. It skips the test if there is none, or if it is not the test's, as under Wine
// and Node.js, where it describes their process.
func ReadProc(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/" + name)
	if err == nil && (runtime.GOOS == "windows" || runtime.GOOS == "js") {
		err = errors.New("/proc is that of another process")
	}
	if err != nil {
		t.Skip(err)
	}
	return string(b)
}

// ResidentBytes returns the resident memory of the process. It skips the test if the system does not report it.
func ResidentBytes(t testing.TB) int {
	t.Helper()
	var size, resident int
	if _, err := fmt.Sscan(ReadProc(t, "statm"), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
