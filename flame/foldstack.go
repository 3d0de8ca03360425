package flame

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// stackHash identifies a stack: 128 bits, so that among ten million stacks two have the same with a
// chance of 1 in 10^24.
type stackHash struct{ a, b uint64 }

// stackHasher makes hashes that nobody can foresee.
type stackHasher struct{ a, b maphash.Seed }

func newStackHasher() stackHasher { return stackHasher{maphash.MakeSeed(), maphash.MakeSeed()} }

// call returns the hash of the stack in which name was called from h. For one h it distinguishes
// names apart as well as the hashes of the names do.
func (s *stackHasher) call(h stackHash, name []byte) stackHash {
	return stackHash{mix(h.a, maphash.Bytes(s.a, name)), mix(h.b, maphash.Bytes(s.b, name))}
}

func mix(h, name uint64) uint64 {
	h = (bits.RotateLeft64(h, 23) ^ name) * 0x9e3779b97f4a7c15 // odd: nothing is lost
	return h ^ h>>32
}

// stackSet finds the stacks of a tree by their hashes: the deepest that is known of a line takes the
// place of a look-up for each of its frames.
type stackSet struct {
	tree  profile.Tree
	hash  []stackHash // by node
	slots []uint64    // node and, above it, half of hash.a; open addressing, a power of two; 0 is free
}

func newStackSet() *stackSet {
	return &stackSet{hash: make([]stackHash, 1), slots: make([]uint64, 1<<10)}
}

// stackSetOf returns one of the stacks of a tree, whose hashes these are.
func stackSetOf(tree profile.Tree, hash []stackHash) *stackSet {
	s := &stackSet{tree: tree, hash: hash}
	s.index()
	return s
}

// index files all stacks in twice as many slots at least, and makes room for as many.
func (s *stackSet) index() {
	size := 1 << 10
	for size < 2*len(s.hash) {
		size *= 2
	}
	s.slots = make([]uint64, size)
	s.hash = slices.Grow(s.hash, size/2-len(s.hash))
	for n, h := range s.hash[1:] {
		s.file(h, profile.NodeID(n+1))
	}
}

// find returns the stack whose hash is h.
func (s *stackSet) find(h stackHash) (profile.NodeID, bool) {
	mask := uint64(len(s.slots) - 1)
	for at := h.a & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if slot := s.slots[at]; slot>>32 == h.a>>32 && s.hash[uint32(slot)] == h {
			return profile.NodeID(slot), true
		}
	}
	return 0, false
}

// add makes the stack in which f was called from parent, whose hash is h and not yet there.
func (s *stackSet) add(parent profile.NodeID, f profile.FrameID, h stackHash) profile.NodeID {
	n := s.tree.Push(parent, f)
	if int(n) < len(s.hash) { // the tree is full
		return n
	}
	s.hash = append(s.hash, h)
	if 2*len(s.hash) > len(s.slots) {
		s.index()
	} else {
		s.file(h, n)
	}
	return n
}

func (s *stackSet) file(h stackHash, n profile.NodeID) {
	mask := uint64(len(s.slots) - 1)
	at := h.a & mask
	for s.slots[at] != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = h.a&^(1<<32-1) | uint64(n)
}
