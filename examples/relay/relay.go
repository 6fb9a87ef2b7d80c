// SPDX-License-Identifier: MIT OR Apache-2.0

// The program relays a log through three languages in one arena: Go reads it, C splits it into records, Rust groups
// them, Go searches them. It then does the same with a copy at each border, for comparison.
package main

// #cgo CFLAGS: -std=c11 -O2 -Wall -Wextra -Wconversion
// #cgo LDFLAGS: -L${SRCDIR}/../../build/relay -lrelay_index -lpthread -ldl -lm
// #include "relay.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unsafe"

	"toft.dev/toft"
)

var errNoMemory = errors.New("relay: no memory, or no budget")

// An answer is the result for a path, in Go's memory.
type answer struct {
	path                    string
	requests, errors, bytes uint64
	slowest                 time.Duration
	slowestHost             string
	p99                     time.Duration
}

// inArena reads a log of size bytes, relays it, and looks the paths up; all of them if there are none. The caller owns
// the arena: everything that the three languages allocate is freed with it.
func inArena(a *toft.Arena, log io.Reader, size int, paths []string) ([]answer, error) {
	text, err := toft.TryMakeSlice[byte](a, size)
	if err != nil {
		return nil, errNoMemory
	}
	if _, err := io.ReadFull(log, text); err != nil { // from a connection, say: straight to where C reads it
		return nil, err
	}
	head := (*C.toft_arena)(a.Pointer())
	parsed, err := toft.TryNew[C.relay_log](a)
	if err != nil {
		return nil, errNoMemory
	}
	index, err := toft.TryNew[C.relay_index](a)
	if err != nil {
		return nil, errNoMemory
	}
	whole := C.relay_text{at: (*C.char)(unsafe.Pointer(unsafe.SliceData(text))), size: C.size_t(size)}
	if code := C.relay_parse(head, whole, parsed); code != C.TOFT_OK {
		return nil, failed(code)
	}
	if code := C.relay_index_in(head, parsed, index); code != C.TOFT_OK {
		return nil, failed(code)
	}
	return lookUp(unsafe.Slice(index.groups, index.count), paths), nil
}

func failed(code C.int) error {
	if code == C.TOFT_ENOMEM {
		return errNoMemory
	}
	return fmt.Errorf("relay: code %d", code)
}

// lookUp searches the groups, which Rust has sorted.
func lookUp(groups []C.relay_group, paths []string) []answer {
	answers := make([]answer, 0, max(len(paths), 1))
	for _, path := range paths {
		i, found := slices.BinarySearchFunc(groups, path, func(g C.relay_group, path string) int {
			return strings.Compare(view(g.path), path)
		})
		if found {
			answers = append(answers, answerOf(&groups[i]))
		}
	}
	if paths == nil {
		for i := range groups {
			answers = append(answers, answerOf(&groups[i]))
		}
	}
	return answers
}

func answerOf(g *C.relay_group) answer {
	records := unsafe.Slice(g.by_slowest, g.requests)
	return answer{
		path: strings.Clone(view(g.path)), requests: uint64(g.requests), errors: uint64(g.errors), bytes: uint64(g.bytes),
		slowest: micros(records[0]), slowestHost: strings.Clone(view(records[0].host)), p99: micros(records[len(records)/100]),
	}
}

func micros(r *C.relay_record) time.Duration { return time.Duration(r.micros) * time.Microsecond }

// view returns the text without a copy: valid as long as the arena's memory.
func view(t C.relay_text) string {
	return unsafe.String((*byte)(unsafe.Pointer(t.at)), int(t.size))
}
