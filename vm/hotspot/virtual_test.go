package hotspot

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/hotspot/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// drawnVirtual is memory with lists and stacks of virtual threads, whose references are addresses.
type drawnVirtual struct {
	b []byte
}

const drawnBase = 0x100000

func (d *drawnVirtual) word(at mem.Addr, v uint64) {
	binary.LittleEndian.PutUint64(d.b[at-drawnBase:], v)
}

func (d *drawnVirtual) reader() *virtualReader {
	l := &virtualLayout{nodeKey: 16, nodeNext: 24, nodeBytes: 32, contBytes: 24, tail: 16, thread: 0x888000,
		threadBytes: 24, setMap: 16, mapTable: 16, chunkParent: 16, chunkSize: 24, chunkSP: 28, chunkBottom: 32,
		chunkStack: 40, chunkHeadBytes: 40, referent: 16, containers: map[mem.Addr]int64{drawnClass: 16}}
	fetch := func(wants []snapshot.Want) ([][]byte, bool) {
		v := view.Copied(nil, mem.Range{Start: drawnBase, Data: d.b})
		out := make([][]byte, len(wants))
		for i, w := range wants {
			if b, ok := v.Bytes(w.Addr, w.Len); ok && w.Len > 0 {
				out[i] = append([]byte(nil), b...)
			}
		}
		return out, true
	}
	return &virtualReader{j: &jvm{heap: &heap.Layout{}}, l: l, fetch: fetch, left: 2, seen: map[mem.Addr]bool{},
		yield: func([]virtualThread) {}}
}

const drawnClass = 0x777000

// TestVirtualChains: nodes that are not followed are lost.
func TestVirtualChains(t *testing.T) {
	for _, tt := range []struct {
		name       string
		next       func(i int) mem.Addr // of node i
		keys, lost int
	}{
		{"one bucket", func(i int) mem.Addr { return node(i+1) * b2a(i < 3) }, 4, 0},
		{"a ring", func(int) mem.Addr { return node(0) }, maxChain, 1},
		{"the next is nowhere", func(i int) mem.Addr { return 0x999000 * b2a(i == 0) }, 1, 1},
	} {
		d := &drawnVirtual{b: make([]byte, 1<<12)}
		for i := range 4 {
			d.word(node(i)+16, 0x5000)
			d.word(node(i)+24, uint64(tt.next(i)))
		}
		r, keys := d.reader(), 0
		r.chains([]mem.Addr{node(0)}, func(all []mem.Addr) bool { keys += len(all); return true })
		if keys != tt.keys || r.lost != tt.lost {
			t.Errorf("%s: %d keys, %d lost, want %d, %d", tt.name, keys, r.lost, tt.keys, tt.lost)
		}
	}
}

func node(i int) mem.Addr { return drawnBase + mem.Addr(i)<<6 }

func b2a(is bool) mem.Addr {
	if is {
		return 1
	}
	return 0
}

// TestVirtualBounds: behind the bounds of lists something is lost, and said to be.
func TestVirtualBounds(t *testing.T) {
	d := &drawnVirtual{b: make([]byte, 1<<20)}
	r := d.reader()
	r.text = &threadFields{coder: -1}
	if r.threads([]mem.Addr{node(0), node(1), node(0)}); r.lost != 0 {
		t.Errorf("of two threads %d are lost", r.lost)
	}
	if r.threads([]mem.Addr{node(2)}); r.lost != 1 {
		t.Errorf("behind the last thread that is read %d are lost, want 1", r.lost)
	}

	// A registry with a table of more containers than are followed: each element is a node of its own reference.
	const set, table, first = drawnBase, drawnBase + 0x100, drawnBase + 0x60000
	r = d.reader()
	d.word(set+16, set)     // its map
	d.word(first+16, first) // key, which is the reference, which is the container, which has a set
	d.word(first+8, drawnClass)
	fill := func(n int) {
		binary.LittleEndian.PutUint32(d.b[table-drawnBase:], uint32(n))
		for i := range n {
			d.word(table+8+mem.Addr(8*i), first)
		}
	}
	d.word(set+16, set+0x40) // its map
	d.word(set+0x40+16, table)
	for n, lost := range map[int]int{maxContainers: 0, maxContainers + 1: 1} {
		fill(n)
		r.lost = 0
		if sets := r.containers(set); len(sets) != maxContainers || r.lost != lost {
			t.Errorf("of %d containers %d are read, %d lost", n, len(sets), r.lost)
		}
	}
	binary.LittleEndian.PutUint32(d.b[table-drawnBase:], maxVirtual+1)
	if r.lost = 0; len(r.containers(set)) != 0 || r.lost != 1 {
		t.Errorf("of a table that is too large %d are lost", r.lost)
	}
}

// TestVirtualStacks: a stack has no hole. Behind a chunk of which something is missing none is read, and the thread
// says that it is cut.
func TestVirtualStacks(t *testing.T) {
	const cont, words, apart = drawnBase, 8, 1 << 20
	at := func(i int) mem.Addr { return drawnBase + mem.Addr(i+1)*apart }
	numbers := func(d *drawnVirtual, i int, size, sp, bottom uint32) {
		for k, v := range []uint32{size, sp, bottom} {
			binary.LittleEndian.PutUint32(d.b[int(at(i))-drawnBase+24+4*k:], v)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(d *drawnVirtual)
		chunks int
		cut    bool
	}{
		{"three", func(*drawnVirtual) {}, 3, false},
		{"the first is empty", func(d *drawnVirtual) { numbers(d, 0, words, words, words) }, 2, false},
		{"the second is no chunk", func(d *drawnVirtual) { numbers(d, 1, words, 0, words) }, 1, true},
		{"the second is nowhere", func(d *drawnVirtual) { d.word(at(0)+16, 0x999000) }, 1, true},
		{"the second is too large", func(d *drawnVirtual) {
			numbers(d, 1, maxChunk/4, 1, maxChunk/4)
		}, 2, true},
		{"the first is too large", func(d *drawnVirtual) {
			numbers(d, 0, maxChunk/4, 1, maxChunk/4)
		}, 1, true},
		{"a ring", func(d *drawnVirtual) { d.word(at(2)+16, uint64(at(0))) }, maxChunks, true},
	} {
		d := &drawnVirtual{b: make([]byte, 5*apart)}
		d.word(cont+16, uint64(at(0)))
		for i := range 3 {
			numbers(d, i, words, 2, words)
			if i < 2 {
				d.word(at(i)+16, uint64(at(i+1)))
			}
		}
		tt.change(d)
		all := []virtualThread{{}}
		d.reader().stacks(all, []mem.Addr{cont})
		if n := len(all[0].chunks); n != tt.chunks || all[0].cut != tt.cut {
			t.Errorf("%s: %d chunks, cut %v, want %d, %v", tt.name, n, all[0].cut, tt.chunks, tt.cut)
		}
		for i, c := range all[0].chunks {
			if want := len(c.stack.Data) > maxChunk; c.cut != want {
				t.Errorf("%s: chunk %d is cut: %v", tt.name, i, c.cut)
			}
		}
	}
}

// TestVirtualSigned: return addresses that are signed in the heap lead on as others do, through two frames of the
// interpreter.
func TestVirtualSigned(t *testing.T) {
	const mask, signature, code = 0x7f << 48, 0x2a << 48, 0x7f0000001000
	d := &drawnVirtual{b: make([]byte, 64*wordSize)}
	for word, v := range map[int]uint64{0: 14, 1: code | signature, // how far the frame pointer is, and where it runs
		6: 20, 13: 2, // locals and the caller's stack pointer, from the frame pointer
		14: 14, 15: code + 8 | signature, 20: 35} { // the outermost
		d.word(drawnBase+mem.Addr(word*wordSize), v)
	}
	v := view.Copied(nil, mem.Range{Start: drawnBase, Data: d.b})
	h := heapFrames{r: &Runtime{}, j: &jvm{begin: code, end: code + 0x100, bcpSlot: 9 * wordSize}, v: &v}
	h.r.signs(&snapshot.Thread{PACMask: mask})
	var at []mem.Addr
	err := h.walk(&chunk{stack: mem.Range{Start: drawnBase, Data: d.b}, sp: drawnBase + 2*wordSize},
		func(a *activation) bool { at = append(at, a.pc, a.at); return true })
	if want := []mem.Addr{code, code, code + 8, code + 8}; err != nil || !slices.Equal(at, want) {
		t.Errorf("got %#x, want %#x: %v", at, want, err)
	}
}

// TestVirtualBlockers: what a thread is parked for is copied; of one that was not, or whose class is not to be read,
// nothing more is said than that it is parked.
func TestVirtualBlockers(t *testing.T) {
	const parked, ended, far = 4, 99, 0x999000
	d := &drawnVirtual{b: make([]byte, 1<<12)}
	r := d.reader()
	all := []virtualThread{{state: parked}, {state: parked}, {state: parked}, {state: ended}}
	for i, at := range []mem.Addr{0, node(1), far, node(1)} {
		all[i].blocker.Start = at
	}
	r.blockers(all)
	for i, want := range []int{0, blockerBytes, 0, 0} {
		if got := len(all[i].blocker.Data); got != want {
			t.Errorf("of the blocker of thread %d %d bytes are copied, want %d", i, got, want)
		}
	}
	locks := virtualLocks{g: &graph{r: &Runtime{}, j: r.j}}
	for i := range all {
		f := snapshot.Fiber{State: "parked"}
		if locks.say(&f, &all[i]); f.State != "parked" || f.Object != 0 || f.HeldBy != nil {
			t.Errorf("of thread %d it says %+v", i, f)
		}
	}
}
