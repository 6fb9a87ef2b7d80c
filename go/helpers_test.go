// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"fmt"
	"strings"
	"testing"
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

// said returns the text of an error without the package's name, as other errors contain it.
func said(err error) string { return strings.TrimPrefix(err.Error(), "toft: ") }

func wantPanic(t testing.TB, want string, f func()) {
	t.Helper()
	if got := panics(t, f); !strings.Contains(got, want) {
		t.Errorf("the panic is %q, without %q", got, want)
	}
}
