//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"compress/gzip"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// The profile of live bytes by call site. C decides which allocations of a sampled arena are samples; Go records its own
// call stack for those that it made. Every rewind of such an arena takes the slow path, which drops the samples after the
// mark.

// A sample estimates the allocations that one sampled allocation represents.
type sample struct {
	live           uint64 // the live bytes of the arena after the allocation
	objects, bytes float64
	stack          []uintptr
}

type samples struct {
	period uint64
	all    []sample // in the order of their allocation: live increases
}

var profiled struct {
	sync.Mutex
	count atomic.Int64 // of arenas
	of    map[*Arena]*samples
}

// setSampling is meter.SetSampling.
func (a *Arena) setSampling(bytes uint64) error {
	err := a.instrument("SetSampling", func() int { return cSetSampling(a, bytes) })
	if err != nil {
		return err
	}
	stopProfile(a)
	if bytes != 0 {
		profiled.Lock()
		defer profiled.Unlock()
		if profiled.of == nil {
			profiled.of = map[*Arena]*samples{}
		}
		profiled.of[a] = &samples{period: bytes}
		profiled.count.Store(int64(len(profiled.of)))
	}
	return nil
}

// stopProfile drops all samples of an arena.
func stopProfile(a *Arena) {
	if profiled.count.Load() != 0 {
		profiled.Lock()
		defer profiled.Unlock()
		delete(profiled.of, a)
		profiled.count.Store(int64(len(profiled.of)))
	}
}

// allocInstrumented is the slow path of allocations in instrumented arenas.
func (a *Arena) allocInstrumented(size, align uintptr) unsafe.Pointer {
	p, sampled := cAllocSampled(a, size, align)
	if !sampled || p == nil {
		return p
	}
	live, stack := cStats(a).Live, callers()
	profiled.Lock()
	defer profiled.Unlock()
	if s := profiled.of[a]; s != nil {
		// An allocation of so many bytes is sampled with this probability.
		probability := -math.Expm1(-float64(max((size+7)&^7, 8)) / float64(s.period))
		s.all = append(s.all, sample{live, 1 / probability, float64(size) / probability, stack})
	}
	return p
}

// rewindProfile drops the samples of freed allocations.
func rewindProfile(a *Arena) {
	if profiled.count.Load() == 0 {
		return
	}
	profiled.Lock()
	defer profiled.Unlock()
	if s := profiled.of[a]; s != nil {
		live, n := cStats(a).Live, len(s.all)
		for n != 0 && s.all[n-1].live > live {
			n--
		}
		s.all = slices.Delete(s.all, n, len(s.all))
	}
}

// writeProfile is meter.WriteProfile.
func writeProfile(w io.Writer) error {
	var b profileBuilder
	b.add(func() {
		profiled.Lock()
		defer profiled.Unlock()
		for _, s := range profiled.of {
			for _, s := range s.all {
				b.sample(s)
			}
		}
	})
	z := gzip.NewWriter(w)
	if _, err := z.Write(b.bytes()); err != nil {
		return err
	}
	return z.Close()
}

// A profileBuilder encodes a profile as https://github.com/google/pprof/blob/main/proto/profile.proto describes it.
type profileBuilder struct {
	out       message
	strings   []string
	indices   map[string]uint64
	functions map[[2]uint64]uint64 // name and file -> id
	locations map[[2]uint64]uint64 // function and line -> id
}

// Field numbers of profile.proto.
const (
	profileSampleType, profileSample, profileLocation, profileFunction, profileStrings = 1, 2, 4, 5, 6
	profileTime, profileDefaultType                                                    = 9, 14
)

// add writes the parts before and after the samples, which f adds.
func (b *profileBuilder) add(f func()) {
	b.indices, b.functions, b.locations = map[string]uint64{}, map[[2]uint64]uint64{}, map[[2]uint64]uint64{}
	b.text("") // the first string is empty
	for _, t := range [][2]string{{"inuse_objects", "count"}, {"inuse_space", "bytes"}} {
		var value message
		value.number(1, b.text(t[0]))
		value.number(2, b.text(t[1]))
		b.out.field(profileSampleType, value)
	}
	b.out.number(profileTime, uint64(time.Now().UnixNano()))
	b.out.number(profileDefaultType, b.text("inuse_space"))
	f()
}

func (b *profileBuilder) bytes() []byte {
	for _, s := range b.strings {
		b.out.field(profileStrings, message(s))
	}
	return b.out
}

func (b *profileBuilder) text(s string) uint64 {
	i, ok := b.indices[s]
	if !ok {
		i = uint64(len(b.strings))
		b.indices[s] = i
		b.strings = append(b.strings, s)
	}
	return i
}

func (b *profileBuilder) sample(s sample) {
	var m message
	for _, f := range frames(s.stack) {
		m.number(1, b.location(f))
	}
	m.number(2, uint64(math.Round(s.objects)))
	m.number(2, uint64(math.Round(s.bytes)))
	b.out.field(profileSample, m)
}

func (b *profileBuilder) location(f runtime.Frame) uint64 {
	key := [2]uint64{b.function(f), uint64(f.Line)}
	id, ok := b.locations[key]
	if !ok {
		id = uint64(len(b.locations)) + 1
		b.locations[key] = id
		var m, line message
		line.number(1, key[0])
		line.number(2, key[1])
		m.number(1, id)
		m.field(4, line)
		b.out.field(profileLocation, m)
	}
	return id
}

func (b *profileBuilder) function(f runtime.Frame) uint64 {
	key := [2]uint64{b.text(f.Function), b.text(f.File)}
	id, ok := b.functions[key]
	if !ok {
		id = uint64(len(b.functions)) + 1
		b.functions[key] = id
		var m message
		m.number(1, id)
		m.number(2, key[0])
		m.number(3, key[0])
		m.number(4, key[1])
		b.out.field(profileFunction, m)
	}
	return id
}

// A message is an encoded protocol buffer.
type message []byte

func (m *message) varint(n uint64) {
	for ; n >= 0x80; n >>= 7 {
		*m = append(*m, byte(n)|0x80)
	}
	*m = append(*m, byte(n))
}

func (m *message) number(field, n uint64) {
	m.varint(field << 3)
	m.varint(n)
}

func (m *message) field(field uint64, content message) {
	m.varint(field<<3 | 2)
	m.varint(uint64(len(content)))
	*m = append(*m, content...)
}
