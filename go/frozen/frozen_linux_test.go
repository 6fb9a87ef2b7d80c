// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"testing"

	"toft.dev/toft/frozen"
)

func TestDescriptor(t *testing.T) {
	file, err := os.Open(write(t, words("a", "b").file()))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 2 {
		f := open(t, fmt.Sprintf("/dev/fd/%d", file.Fd()), frozen.Options{Layout: "words 1", Verify: true})
		compare(t, root(t, f), []string{"a", "b"})
		f.Close()
	}
}

func TestPipe(t *testing.T) {
	path := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := frozen.Open(path, frozen.Options{}); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
}

// The content is read-only, mapped and moved.
func TestWritesFault(t *testing.T) {
	path := write(t, words("a").file())
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, elsewhere := range []bool{false, true} {
		f := open(t, path, frozen.Options{Elsewhere: elsewhere})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("elsewhere: %t: a write went through", elsewhere)
				}
			}()
			root(t, f).code = 1
		}()
		f.Close()
	}
}
