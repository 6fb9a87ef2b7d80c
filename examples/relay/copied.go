// SPDX-License-Identifier: MIT OR Apache-2.0

package main

// #include "relay.h"
import "C"

import (
	"io"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// The same relay with a copy at each border, as in bindings: each language works on its own memory, and the receiver
// frees the results that it gets.

// A request and a group as plain Go types.
type request struct {
	host, method, path    string
	status, bytes, micros uint64
}

type group struct {
	path                    string
	requests, errors, bytes uint64
	bySlowest               []request
}

func copying(log io.Reader, size int, paths []string) ([]answer, error) {
	text := make([]byte, size)
	if _, err := io.ReadFull(log, text); err != nil {
		return nil, err
	}
	given := C.relay_malloc(C.size_t(size)) // as C.CBytes
	if given == nil {
		return nil, errNoMemory
	}
	defer C.relay_free(given)
	copy(unsafe.Slice((*byte)(given), size), text)
	C.relay_counts.copied += C.uint64_t(size)

	parsed := C.relay_copied_parse(C.relay_text{at: (*C.char)(given), size: C.size_t(size)})
	if parsed == nil {
		return nil, errNoMemory
	}
	defer C.relay_copied_log_free(parsed)
	index := C.relay_copied_index(parsed)
	defer C.relay_copied_index_free(index)
	return lookUpCopied(groupsOf(index), paths), nil
}

func groupsOf(index *C.relay_index) []group {
	groups := make([]group, index.count)
	for i := range groups {
		g := &unsafe.Slice(index.groups, index.count)[i]
		bySlowest := make([]request, g.requests)
		for k, r := range unsafe.Slice(g.by_slowest, g.requests) {
			bySlowest[k] = request{own(r.host), own(r.method), own(r.path), uint64(r.status), uint64(r.bytes), uint64(r.micros)}
		}
		groups[i] = group{own(g.path), uint64(g.requests), uint64(g.errors), uint64(g.bytes), bySlowest}
	}
	C.relay_counts.copied += C.uint64_t(uint64(len(groups)) * uint64(unsafe.Sizeof(group{})))
	return groups
}

// own is C.GoStringN with a count.
func own(t C.relay_text) string {
	C.relay_counts.copied += C.uint64_t(t.size)
	return C.GoStringN(t.at, C.int(t.size))
}

func lookUpCopied(groups []group, paths []string) []answer {
	answers := make([]answer, 0, max(len(paths), 1))
	tell := func(g *group) {
		first, hundredth := g.bySlowest[0], g.bySlowest[len(g.bySlowest)/100]
		answers = append(answers, answer{
			path: g.path, requests: g.requests, errors: g.errors, bytes: g.bytes, slowest: asDuration(first.micros),
			slowestHost: first.host, p99: asDuration(hundredth.micros),
		})
	}
	for _, path := range paths {
		i, found := slices.BinarySearchFunc(groups, path, func(g group, path string) int { return strings.Compare(g.path, path) })
		if found {
			tell(&groups[i])
		}
	}
	if paths == nil {
		for i := range groups {
			tell(&groups[i])
		}
	}
	return answers
}

func asDuration(micros uint64) time.Duration { return time.Duration(micros) * time.Microsecond }

// counts returns the totals of malloc and free calls, and of bytes copied over borders, by all three.
func counts() (allocations, frees, copied uint64) {
	return uint64(C.relay_counts.allocations), uint64(C.relay_counts.frees), uint64(C.relay_counts.copied)
}
