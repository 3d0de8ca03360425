package cpython

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// rounds is the memory of a stopped process where many objects are read by few calls: what is asked for and not there
// yet is noted, and fetched for all of them together before they are tried again. It is read in blocks, as objects
// that belong together were mostly made together.
type rounds struct {
	fetch  func(wants []snapshot.Want) (got [][]byte, ok bool)
	have   map[mem.Addr][]byte // by where the block begins; none: it cannot be had; noted: it is fetched next
	wants  []snapshot.Want
	missed bool // what is read now has not all been there
	once   bool // fetch at once: what is read leads to the next
	spent  bool // nothing is fetched any more
	left   int  // steps; below 0: nothing is read any more
	view   view.View

	near [nearBlocks]nearBlock // some of have, by the number of the block: a map takes longer
}

// nearBlocks is a power of two.
const nearBlocks = 1 << 12

type nearBlock struct {
	at   mem.Addr
	data []byte
}

// blockSize divides a page: a block is mapped as a whole or not at all.
const blockSize = 2 << 10

// maxSpan bounds what is read of one object, blocks.
const maxSpan = 4 << 20 / blockSize

func newRounds(fetch func([]snapshot.Want) ([][]byte, bool)) *rounds {
	r := &rounds{fetch: fetch, have: map[mem.Addr][]byte{}, left: maxSteps}
	r.view = view.From(r)
	return r
}

// Err implements [view.Source].
func (r *rounds) Err() error {
	if r.spent {
		return snapshot.ErrSpent
	}
	return nil
}

// perStep is how many bytes take about as long to copy as it takes to find them.
const perStep = 64

// stepsOf is what reading n bytes at one address costs.
func stepsOf(n int) int { return 1 + max(n, 0)/perStep }

// noted stands for a block that is fetched next.
var noted = make([]byte, 0, 1)

// maxRounds bounds how often something is tried: a chain of awaits takes up to two rounds for each.
const maxRounds = 600

// maxSteps bounds what is read ([stepsOf]), as what has been fetched may be read again and again: some 50 ms.
const maxSteps = 1 << 22

// maxNoted bounds the blocks that are fetched together: four times what one ProcessCopier gets.
const maxNoted = 1 << 17

// Bytes implements [view.Source].
func (r *rounds) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if addr == 0 || n <= 0 || n > maxSpan*blockSize || addr+mem.Addr(n) < addr {
		return nil, false
	}
	if r.left -= stepsOf(n); r.left < 0 {
		r.left, r.spent = -1, true
		return nil, false
	}
	first, end := addr&^(blockSize-1), addr+mem.Addr(n)
	if end <= first+blockSize {
		b, ok := r.block(first)
		if !ok {
			return nil, false
		}
		return b[addr-first:][:n:n], true
	}
	all := true
	for at := first; at < end; at += blockSize {
		_, ok := r.block(at)
		all = all && ok
	}
	if !all {
		return nil, false
	}
	out := make([]byte, 0, n)
	for at := first; at < end; at += blockSize {
		b, _ := r.block(at)
		from := max(addr, at) - at
		out = append(out, b[from:min(end-at, blockSize)]...)
	}
	return out, true
}

// block returns the block at a.
func (r *rounds) block(a mem.Addr) ([]byte, bool) {
	near := &r.near[a/blockSize%nearBlocks]
	if near.at == a && near.data != nil {
		return near.data, true
	}
	b, known := r.have[a]
	switch {
	case len(b) > 0:
		*near = nearBlock{a, b}
		return b, true
	case known && b == nil, r.spent:
		return nil, false
	case r.once:
		got, ok := r.fetch([]snapshot.Want{{Addr: a, Len: blockSize}})
		r.spent = !ok
		r.have[a] = got[0]
		return got[0], got[0] != nil
	case !known:
		r.have[a] = noted
		r.wants = append(r.wants, snapshot.Want{Addr: a, Len: blockSize})
	}
	r.missed = true
	return nil, false
}

// inRounds tries each of the items until all that it asks of r is there, or cannot be had, or no more may be read.
func inRounds[T any](r *rounds, items []T, try func(item T)) {
	pending := slices.Clone(items)
	for n := 0; len(pending) > 0 && !r.spent && n < maxRounds; n++ {
		left := pending[:0]
		for _, item := range pending {
			if len(r.wants) >= maxNoted {
				r.fetchNoted()
			}
			if r.left < 0 {
				return
			}
			r.missed = false
			if try(item); r.missed {
				left = append(left, item)
			}
		}
		pending = left
		r.fetchNoted()
	}
}

func (r *rounds) fetchNoted() {
	if len(r.wants) == 0 {
		return
	}
	got, ok := r.fetch(r.wants)
	r.spent = !ok
	for i, w := range r.wants {
		r.have[w.Addr] = got[i]
	}
	r.wants = r.wants[:0]
}
