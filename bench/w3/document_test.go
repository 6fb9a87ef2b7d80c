//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package w3

import (
	"bytes"
	"fmt"
	"sync"
	"unsafe"

	"toft.dev/toft"
)

// Document: a JSON text is parsed into a tree of nodes and copied strings, which is walked and then freed as a whole. A
// row of the text becomes ten nodes.

var documentRows = []int{10, 100, 10_000}

func documentName(rows int) string { return fmt.Sprintf("Document%d", rows) }

// A node has 64 bytes and pointers only into the memory of its document.
type node struct {
	next, child           *node
	key, text             *byte
	keyLength, textLength uint32
	number                float64
	kind                  uint8
}

const (
	object = 1 + iota
	array
	text
	number
)

// A store is where the nodes and strings of a document are.
type store interface {
	newNode() *node // zeroed
	copyOf(s []byte) *byte
}

type parser[S store] struct {
	store S
	in    []byte
	at    int
}

func (p *parser[S]) skipSpace() {
	for p.at < len(p.in) && p.in[p.at] <= ' ' {
		p.at++
	}
}

func (p *parser[S]) string() (*byte, uint32) {
	p.at++
	from := p.at
	for p.in[p.at] != '"' {
		if p.in[p.at] == '\\' {
			p.at++
		}
		p.at++
	}
	s := p.in[from:p.at]
	p.at++
	return p.store.copyOf(s), uint32(len(s))
}

// members parses the values between brackets.
func (p *parser[S]) members(n *node, closing byte, keys bool) {
	p.at++
	last := &n.child
	for {
		p.skipSpace()
		if p.in[p.at] == closing {
			p.at++
			return
		}
		if p.in[p.at] == ',' {
			p.at++
			p.skipSpace()
		}
		var key *byte
		var length uint32
		if keys {
			key, length = p.string()
			p.skipSpace()
			p.at++
		}
		v := p.value()
		v.key, v.keyLength = key, length
		*last, last = v, &v.next
	}
}

func (p *parser[S]) value() *node {
	p.skipSpace()
	n := p.store.newNode()
	switch p.in[p.at] {
	case '{':
		n.kind = object
		p.members(n, '}', true)
	case '[':
		n.kind = array
		p.members(n, ']', false)
	case '"':
		n.kind = text
		n.text, n.textLength = p.string()
	default:
		n.kind = number
		for ; p.at < len(p.in) && p.in[p.at]-'0' < 10; p.at++ {
			n.number = n.number*10 + float64(p.in[p.at]-'0')
		}
	}
	return n
}

func sum(n *node) (total uint64) {
	for ; n != nil; n = n.next {
		total += uint64(n.kind) + uint64(n.keyLength) + uint64(n.textLength) + uint64(n.number)
		if n.textLength != 0 {
			total += uint64(*n.text)
		}
		total += sum(n.child)
	}
	return total
}

type document struct {
	in   []byte
	want uint64
}

var documents = func() map[int]document {
	all := map[int]document{}
	for _, rows := range documentRows {
		var b bytes.Buffer
		b.WriteString(`{"rows":[`)
		for i := range rows {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":%d,"name":"name of %d","tags":["a","bb","ccc"],"pos":{"x":%d,"y":%d}}`, i, i, i*3, i*7)
		}
		b.WriteString("]}")
		all[rows] = document{b.Bytes(), parse(onGoHeap{}, b.Bytes())}
	}
	return all
}()

func parse[S store](s S, in []byte) uint64 {
	p := parser[S]{store: s, in: in}
	return sum(p.value())
}

// documentLoops is a factory for each size; read parses a text and frees the document.
func documentLoops(prepare func() (read func(in []byte) uint64, end func())) map[string]factory {
	loops := map[string]factory{}
	for _, rows := range documentRows {
		loops[documentName(rows)] = func() (loop, func()) {
			read, end := prepare()
			d := documents[rows]
			for range 3 { // memory is kept before the time is taken
				read(d.in)
			}
			return func(n int) (bad uintptr) {
				for range n {
					if read(d.in) != d.want {
						bad |= topBit
					}
				}
				return bad
			}, end
		}
	}
	return loops
}

func alone(read func(in []byte) uint64) func() (func(in []byte) uint64, func()) {
	return func() (func(in []byte) uint64, func()) { return read, func() {} }
}

func init() {
	add("toft-typed", documentLoops(alone(func(in []byte) uint64 {
		a := toft.Get()
		defer a.Return()
		return parse(inArena{&a.Arena}, in)
	})))
	add("toft-owned", documentLoops(func() (func(in []byte) uint64, func()) {
		a, err := toft.NewArena(toft.Options{})
		if err != nil {
			panic(err)
		}
		return func(in []byte) uint64 {
			defer a.Reset()
			return parse(inArena{a}, in)
		}, a.Release
	}))
	add("slabs", documentLoops(alone(func(in []byte) uint64 {
		s := slabPool.Get().(*slabs)
		defer slabPool.Put(s)
		defer s.reset()
		return parse(s, in)
	})))
	add("heap", documentLoops(alone(func(in []byte) uint64 { return parse(onGoHeap{}, in) })))
}

// ---- stores ----

type inArena struct{ a *toft.Arena }

func (s inArena) newNode() *node        { return toft.New[node](s.a) }
func (s inArena) copyOf(b []byte) *byte { return (*byte)(s.a.CBytes(b)) }

type onGoHeap struct{}

func (onGoHeap) newNode() *node        { return new(node) }
func (onGoHeap) copyOf(b []byte) *byte { return unsafe.SliceData(bytes.Clone(b)) }

// slabs are what one writes by hand: slices of nodes and of bytes, kept in a sync.Pool.
type slabs struct {
	nodes              [][]node
	bytes              [][]byte
	nodeSlab, usedNode int
	byteSlab, usedByte int
}

const nodesPerSlab, bytesPerSlab = 512, 32 << 10

var slabPool = sync.Pool{New: func() any { return new(slabs) }}

func (s *slabs) newNode() *node {
	if s.nodeSlab == len(s.nodes) {
		s.nodes = append(s.nodes, make([]node, nodesPerSlab))
	}
	n := &s.nodes[s.nodeSlab][s.usedNode]
	*n = node{}
	if s.usedNode++; s.usedNode == nodesPerSlab {
		s.nodeSlab, s.usedNode = s.nodeSlab+1, 0
	}
	return n
}

func (s *slabs) copyOf(b []byte) *byte {
	if s.byteSlab < len(s.bytes) && s.usedByte+len(b) > bytesPerSlab {
		s.byteSlab, s.usedByte = s.byteSlab+1, 0
	}
	if s.byteSlab == len(s.bytes) {
		s.bytes = append(s.bytes, make([]byte, bytesPerSlab))
	}
	c := s.bytes[s.byteSlab][s.usedByte:]
	s.usedByte += copy(c, b)
	return unsafe.SliceData(c)
}

func (s *slabs) reset() { s.nodeSlab, s.usedNode, s.byteSlab, s.usedByte = 0, 0, 0, 0 }
