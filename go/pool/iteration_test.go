// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

import "testing"

// A pool of the numbers below n.
func numbered(t *testing.T, n int) (*Pool[int], []Handle[int]) {
	p := newPool[int](t, Options{})
	hs := make([]Handle[int], n)
	for i := range hs {
		hs[i] = mustNew(t, p)
		*p.At(hs[i]) = i
	}
	return p, hs
}

func TestAllWhileThePoolChanges(t *testing.T) {
	const n = 1000
	fill := func() (*Pool[int], []Handle[int]) { return numbered(t, n) }
	count := func(p *Pool[int], f func(Handle[int], int)) (visits int) {
		for h, v := range p.All() {
			visits++
			f(h, *v)
		}
		return visits
	}
	p, _ := fill()
	if visits := count(p, func(h Handle[int], _ int) { p.Free(h) }); visits != n || p.Len() != 0 {
		t.Error("freeing the current one: ", visits, p.Len())
	}
	p, hs := fill()
	if visits := count(p, func(_ Handle[int], i int) { p.Free(hs[i^1]) }); visits != n/2 || p.Len() != n/2 {
		t.Error("freeing the next one: ", visits, p.Len())
	}
	p, _ = fill()
	if visits := count(p, func(_ Handle[int], i int) {
		if i == 10 {
			p.Clear()
		}
	}); visits != 11 {
		t.Error("clearing: ", visits)
	}
	p, hs = fill()
	if visits := count(p, func(_ Handle[int], i int) {
		if i == 10 {
			for _, h := range hs[11:] {
				p.Free(h)
			}
			p.Trim()
		}
	}); visits != 11 {
		t.Error("trimming: ", visits)
	}
	p, _ = fill()
	if visits := count(p, func(_ Handle[int], i int) {
		if i == 10 {
			p.Close()
		}
	}); visits != 11 {
		t.Error("closing: ", visits)
	}
}

func TestAllWhileThePoolGrows(t *testing.T) {
	const n = 1000
	p, _ := numbered(t, n)
	added := map[Handle[int]]bool{}
	for h := range p.All() {
		if len(added) < 100 && !added[h] {
			added[mustNew(t, p)] = true
		}
	}
	if p.Len() != n+100 {
		t.Error("adding: ", p.Len())
	}
	visits := 0
	for range p.All() {
		if visits++; visits == 7 {
			break
		}
	}
	if visits != 7 {
		t.Error("breaking: ", visits)
	}
}
