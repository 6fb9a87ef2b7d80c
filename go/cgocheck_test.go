//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"runtime"
	"strings"
	"testing"
)

// Under GOEXPERIMENT=cgocheck2 every store of a Go pointer to memory outside the Go heap is fatal. All tests run so; this
// one shows that such a store is detected.
func TestGoPointersAreCaught(t *testing.T) {
	if !strings.Contains(runtime.Version(), "cgocheck2") {
		t.Skip("for GOEXPERIMENT=cgocheck2")
	}
	if isChild(t) {
		New[mixed](Get()).next = sink
		return
	}
	if out, err := rerun(t); err == nil || !strings.Contains(out, "unpinned Go pointer stored into non-Go memory") {
		t.Errorf("%v\n%s", err, out)
	}
}

var sink = new(mixed)
