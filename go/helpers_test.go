// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// panics runs f and returns the text of its panic.
func panics(t testing.TB, f func()) (text string) {
	t.Helper()
	text, _ = panicsWith(t, f)
	return text
}

func panicsWith(t testing.TB, f func()) (text string, value any) {
	t.Helper()
	defer func() {
		value = recover()
		if value == nil {
			t.Helper()
			t.Error("no panic")
		}
		text = fmt.Sprint(value)
	}()
	f()
	return
}

// wantError requires an error, which may be how a function ended, with exactly this text and cause.
func wantError(t testing.TB, err any, want string, cause error) {
	t.Helper()
	if e, ok := err.(error); !ok || e.Error() != want || !errors.Is(e, cause) {
		t.Errorf("%v, not an error %q that wraps %q", err, want, cause)
	}
}

// said returns the text of an error without the package's name, as other errors contain it.
func said(err error) string { return strings.TrimPrefix(err.Error(), "toft: ") }

func wantPanic(t testing.TB, want string, f func()) {
	t.Helper()
	if got := panics(t, f); !strings.Contains(got, want) {
		t.Errorf("the panic is %q, without %q", got, want)
	}
}

// A test that needs a process of its own calls rerun, and does its work where isChild is true.
const childOf = "TOFT_TEST_CHILD"

func isChild(t *testing.T) bool { return os.Getenv(childOf) == t.Name() }

// rerun runs the calling test or subtest in another process and returns what that has written and how it ended. It skips the
// test on an emulated system.
func rerun(t *testing.T, environment ...string) (out string, err error) {
	t.Helper()
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$"
	child := exec.Command(os.Args[0], "-test.v", "-test.run="+pattern)
	child.Env = append(append(os.Environ(), childOf+"="+t.Name()), environment...)
	text, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skip("this system cannot run the test's program: ", err)
	}
	return string(text), err
}

// collectUntil collects garbage until it is done.
func collectUntil(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 20 seconds")
		}
		runtime.GC()
	}
}
