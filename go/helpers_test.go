// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
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

// wantRefusal runs f, which must panic with an AllocError that wraps cause and has this text.
func wantRefusal(t testing.TB, want string, cause error, f func()) {
	t.Helper()
	_, value := panicsWith(t, f)
	var e *AllocError
	if err, ok := value.(error); !ok || !errors.As(err, &e) || !errors.Is(err, cause) || !strings.Contains(err.Error(), want) {
		t.Errorf("the panic is %v, not an AllocError with %q and %q", value, want, cause)
	}
}

func wantPanic(t testing.TB, want string, f func()) {
	t.Helper()
	if got := panics(t, f); !strings.Contains(got, want) {
		t.Errorf("the panic is %q, without %q", got, want)
	}
}
