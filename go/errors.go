// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"strings"
)

// ErrNoMemory: there is no memory or address space, or no budget for it. An allocation from an arena that fails panics with an
// AllocError, or returns one, which wraps ErrNoMemory.
var ErrNoMemory = errors.New("toft: out of memory or over budget")

// failed is err, and what failed: "toft: Reset: bytes were written outside an allocation".
func failed(what string, err error) error { return &failure{what, err} }

type failure struct {
	what string
	err  error
}

func (f *failure) Error() string {
	return "toft: " + f.what + ": " + strings.TrimPrefix(f.err.Error(), "toft: ")
}

func (f *failure) Unwrap() error { return f.err }
