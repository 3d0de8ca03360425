package hotspot

import (
	"encoding/binary"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of virtual threads.
const (
	maxVirtual = 1 << 22
	// virtualBlock is how many are read before the next ones: of a list that does not fit the last are left out. What
	// is near in a list is far apart in the heap: many at once are read by few calls.
	virtualBlock = 8 << 10
	maxChain     = 1 << 10 // of nodes in one bucket
	// maxContainers is how many lists of threads there may be. Each executor that has a thread for each task is one.
	maxContainers = 1 << 14
	maxChunks     = 64 // of one thread
	maxChunk      = 1 << 20
	usualChunk    = 768 // bytes of a stack that are read with the head of its chunk
	nameBytes     = 64
)

// virtualThread is a virtual thread as its objects say. Bytes are those of a snapshot, or what a Gatherer has.
type virtualThread struct {
	id     uint64
	at     mem.Addr
	state  int
	name   string
	chunks []chunk // of its stack, innermost first; none while a thread runs it, or before it has begun
	cut    bool    // not all of its chunks could be read
	// blocker is the object that LockSupport.park was told that it waits for, its first bytes; empty for none.
	blocker mem.Range
}

// chunk is a part of the stack of a virtual thread in the heap.
type chunk struct {
	stack mem.Range // from its stack pointer's return address to its end, or as far as it was copied
	sp    mem.Addr
	cut   bool // older frames of it were not copied
}

// virtualReader follows the lists of virtual threads, by fetch: in a stop, or in what was copied there.
type virtualReader struct {
	j     *jvm
	l     *virtualLayout
	text  *threadFields
	fetch func([]snapshot.Want) ([][]byte, bool)
	yield func([]virtualThread) // each block
	left  int                   // threads
	lost  int                   // what could not be read
	seen  map[mem.Addr]bool
}

// read reads all.
func (r *virtualReader) read() {
	r.seen = map[mem.Addr]bool{}
	var sets []mem.Addr
	for i, handle := range r.l.sets {
		b, ok := r.one(handle, wordSize)
		if !ok {
			continue
		}
		mirror := r.j.heap.Root64(binary.LittleEndian.Uint64(b))
		set := r.ref(mirror, r.l.offsets[i])
		if set == 0 {
			continue
		}
		if i == r.l.registry {
			sets = append(sets, r.containers(set)...)
			continue
		}
		sets = append(sets, set)
	}
	for _, s := range sets {
		r.keys(s, r.threads)
	}
}

// one fetches n bytes.
func (r *virtualReader) one(at mem.Addr, n int) ([]byte, bool) {
	if at == 0 {
		return nil, false
	}
	got, _ := r.fetch([]snapshot.Want{{Addr: at, Len: n}})
	if got[0] == nil {
		r.lost++
	}
	return got[0], got[0] != nil
}

// ref is the object that a field of the object at an address leads to, 0 for none.
func (r *virtualReader) ref(object mem.Addr, field int64) mem.Addr {
	if object == 0 || field < 0 {
		return 0
	}
	b, ok := r.one(object+mem.Addr(field), r.j.heap.RefBytes())
	if !ok {
		return 0
	}
	return r.j.heap.Ref(b)
}

// keys gives yield the keys of the set at an address, in blocks.
func (r *virtualReader) keys(set mem.Addr, yield func([]mem.Addr) bool) {
	table := r.ref(r.ref(set, r.l.setMap), r.l.mapTable)
	head, length := r.j.heap.ArrayHead()
	b, ok := r.one(table, head)
	if !ok {
		return
	}
	n, size := int(binary.LittleEndian.Uint32(b[length:])), r.j.heap.RefBytes()
	if n < 0 || n > maxVirtual {
		r.lost++
		return
	}
	for from := 0; from < n; from += virtualBlock {
		count := min(virtualBlock, n-from)
		elements, ok := r.one(table+mem.Addr(head+from*size), count*size)
		if !ok {
			return
		}
		var nodes []mem.Addr
		for i := range count {
			if at := r.j.heap.Ref(elements[i*size:]); at != 0 {
				nodes = append(nodes, at)
			}
		}
		if !r.chains(nodes, yield) {
			return
		}
	}
}

// chains gives yield the keys of nodes, and of those that are behind them.
func (r *virtualReader) chains(nodes []mem.Addr, yield func([]mem.Addr) bool) bool {
	for depth := 0; len(nodes) > 0 && depth < maxChain; depth++ {
		got, ok := r.objects(nodes, r.l.nodeBytes)
		var keys, next []mem.Addr
		for _, b := range got {
			if b == nil {
				r.lost++
				continue
			}
			if at := r.j.heap.Ref(b[r.l.nodeKey:]); at != 0 {
				keys = append(keys, at)
			} else {
				r.lost++ // the head of a tree, or a table that grows at this moment: these are not followed
			}
			if at := r.j.heap.Ref(b[r.l.nodeNext:]); at != 0 {
				next = append(next, at)
			}
		}
		if !yield(keys) || !ok {
			return false
		}
		nodes = next
	}
	r.lost += len(nodes)
	return true
}

// objects fetches n bytes of each object.
func (r *virtualReader) objects(at []mem.Addr, n int) ([][]byte, bool) {
	wants := make([]snapshot.Want, len(at))
	for i, a := range at {
		if a != 0 {
			wants[i] = snapshot.Want{Addr: a, Len: n}
		}
	}
	return r.fetch(wants)
}

// containers are the sets of threads of the containers whose weak references are in a set.
func (r *virtualReader) containers(registry mem.Addr) (sets []mem.Addr) {
	r.keys(registry, func(references []mem.Addr) bool {
		for _, at := range references {
			object := r.ref(at, r.l.referent)
			class, ok := r.class(object)
			field, known := r.l.containers[class]
			if !ok || !known {
				continue
			}
			set := r.ref(object, field)
			if set != 0 && len(sets) == maxContainers {
				r.lost++
				return false
			}
			if set != 0 {
				sets = append(sets, set)
			}
		}
		return true
	})
	return sets
}

// class is the class of the object at an address.
func (r *virtualReader) class(object mem.Addr) (mem.Addr, bool) {
	const head = 2 * wordSize
	b, ok := r.one(object, head)
	if !ok {
		return 0, false
	}
	v := view.Copied(nil, mem.Range{Start: object, Data: b})
	class, err := r.j.heap.Class(&v, object)
	return class, err == nil && class != 0
}

// threads reads virtual threads, and gives them to yield.
func (r *virtualReader) threads(at []mem.Addr) bool {
	var fresh []mem.Addr
	for _, a := range at {
		switch {
		case r.seen[a]:
		case r.left == 0:
			r.lost++
		default:
			r.seen[a] = true
			r.left--
			fresh = append(fresh, a)
		}
	}
	got, _ := r.objects(fresh, r.l.threadBytes)
	var all []virtualThread
	var conts, names []mem.Addr
	for i, b := range got {
		if b == nil {
			r.lost++
			continue
		}
		if v := view.Copied(nil, mem.Range{Start: fresh[i], Data: b}); !r.isVirtual(&v, fresh[i]) {
			continue // a platform thread
		}
		t := virtualThread{at: fresh[i], id: binary.LittleEndian.Uint64(b[r.l.id:]),
			state: int(int32(binary.LittleEndian.Uint32(b[r.l.state:])))}
		if at := int(r.text.blocker); at >= 0 && at+wordSize <= len(b) {
			t.blocker.Start = r.j.heap.Ref(b[at:])
		}
		all = append(all, t)
		conts = append(conts, r.j.heap.Ref(b[r.l.cont:]))
		names = append(names, r.j.heap.Ref(b[r.l.name:]))
	}
	r.names(all, names)
	r.blockers(all)
	ok := r.stacks(all, conts)
	r.yield(all)
	return ok && r.left > 0
}

func (r *virtualReader) isVirtual(v *view.View, at mem.Addr) bool {
	class, err := r.j.heap.Class(v, at)
	return err == nil && class == r.l.thread
}

// names reads the names of threads, which are Strings.
func (r *virtualReader) names(all []virtualThread, at []mem.Addr) {
	f := r.text
	const stringBytes = 32
	texts, _ := r.objects(at, stringBytes)
	values := make([]mem.Addr, len(at))
	for i, b := range texts {
		if b != nil && f.value+wordSize <= stringBytes {
			values[i] = r.j.heap.Ref(b[f.value:])
		}
	}
	got, _ := r.objects(values, r.j.heap.BytesHead()+nameBytes)
	for i, b := range got {
		if b == nil || f.coder < 0 || f.coder >= stringBytes {
			continue
		}
		v := view.Copied(nil, mem.Range{Start: values[i], Data: b})
		all[i].name, _ = r.j.heap.Begin(&v, values[i], texts[i][f.coder] != 0, nameBytes)
	}
}

// stacks reads the stacks of threads, which their continuations have.
func (r *virtualReader) stacks(all []virtualThread, conts []mem.Addr) bool {
	got, ok := r.objects(conts, r.l.contBytes)
	chunks := make([]mem.Addr, len(all))
	for i, b := range got {
		if b != nil {
			chunks[i] = r.j.heap.Ref(b[r.l.tail:])
		} else if conts[i] != 0 {
			all[i].cut = true
		}
	}
	for range maxChunks {
		var more bool
		if chunks, more = r.level(all, chunks); !more {
			ok = false
		}
		if !slices.ContainsFunc(chunks, func(at mem.Addr) bool { return at != 0 }) {
			break
		}
	}
	for i, at := range chunks {
		all[i].cut = all[i].cut || at != 0
	}
	return ok
}

// level reads one chunk of each thread, and returns those behind them: none behind one that is not whole, as frames
// between others would be missing.
func (r *virtualReader) level(all []virtualThread, chunks []mem.Addr) (older []mem.Addr, ok bool) {
	heads, ok := r.objects(chunks, r.l.chunkHeadBytes+usualChunk)
	wants := make([]snapshot.Want, len(all))
	older = make([]mem.Addr, len(all))
	cut := func(i int) { all[i].cut, older[i] = true, 0 }
	for i, b := range heads {
		if chunks[i] == 0 {
			continue
		}
		if b == nil {
			if b, _ = r.one(chunks[i], r.l.chunkHeadBytes); b == nil {
				cut(i)
				continue
			}
		}
		older[i] = r.j.heap.Ref(b[r.l.chunkParent:])
		var whole bool
		if wants[i], whole = r.l.used(chunks[i], b); !whole {
			cut(i)
		}
		if from := int(wants[i].Addr - chunks[i]); wants[i].Len > 0 && from+wants[i].Len <= len(b) {
			all[i].add(wants[i].Addr, b[from:from+wants[i].Len])
			wants[i] = snapshot.Want{}
		}
	}
	stacks, more := r.fetch(wants)
	for i, b := range stacks {
		switch {
		case wants[i].Len == 0:
		case b == nil:
			cut(i)
		default:
			all[i].add(wants[i].Addr, b)
		}
	}
	return older, ok && more
}

// add adds a chunk whose innermost return address is at an address.
func (t *virtualThread) add(at mem.Addr, stack []byte) {
	t.chunks = append(t.chunks, chunk{mem.Range{Start: at, Data: stack}, at + wordSize, t.cut})
}

// used is the part of a chunk that holds frames, of the object at an address that begins with b: from the return
// address of the innermost, which lies below its stack pointer. It is not whole where that is more than is read, or
// where it is no chunk.
// Source: src/hotspot/share/oops/stackChunkOop.inline.hpp.
func (l *virtualLayout) used(at mem.Addr, b []byte) (w snapshot.Want, whole bool) {
	word := func(field int64) int64 { return int64(int32(binary.LittleEndian.Uint32(b[field:]))) }
	size, sp, bottom := word(l.chunkSize), word(l.chunkSP), word(l.chunkBottom)
	if l.bottomIsArguments {
		const metadata = 2 // words between the arguments and the frame that has them
		if bottom > 0 {
			bottom += metadata
		}
		bottom = size - bottom
	}
	if sp < 1 || sp > size || bottom > size {
		return w, false
	}
	if sp >= bottom {
		return w, true // it has no frames
	}
	w.Addr = at + mem.Addr(l.chunkStack) + mem.Addr((sp-1)*wordSize)
	w.Len = int(min(bottom-sp, maxChunk/wordSize)+1) * wordSize
	return w, (bottom-sp)*wordSize <= maxChunk
}
