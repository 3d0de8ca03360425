package profile

import "slices"

// NodeID is a stack: a node of a [Tree] and with it the way up to the root. 0 is the
// empty stack.
type NodeID uint32

// FrameID is an index in Profile.Frames.
type FrameID uint32

// MaxNodes bounds a Tree: ids are 32 bits wide, and a node takes about 20 bytes.
const MaxNodes = 1<<31 - 1

// Tree holds stacks that share their outer frames once: a node is one frame and the node of
// its caller. A parent's id is always lower than its children's, so that a walk over
// all ids from the end meets children before parents. The zero value holds the empty stack
// alone. It is for one goroutine at a time.
type Tree struct {
	parent []NodeID
	frame  []FrameID
	slots  []NodeID // open addressing by (parent, frame), a power of two; 0 is free
}

// Len is the number of nodes, the empty stack included: ids are below it.
func (t *Tree) Len() int { return max(1, len(t.parent)) }

// Parent returns the caller's stack. The empty stack is its own parent.
func (t *Tree) Parent(n NodeID) NodeID {
	if n == 0 {
		return 0
	}
	return t.parent[n]
}

// Frame returns the innermost frame of n, which must not be the empty stack.
func (t *Tree) Frame(n NodeID) FrameID { return t.frame[n] }

// Depth counts the frames of n.
func (t *Tree) Depth(n NodeID) int {
	depth := 0
	for ; n != 0; n = t.parent[n] {
		depth++
	}
	return depth
}

// Append appends the frames of n, innermost first, to buf.
func (t *Tree) Append(buf []FrameID, n NodeID) []FrameID {
	for ; n != 0; n = t.parent[n] {
		buf = append(buf, t.frame[n])
	}
	return buf
}

// Child returns the stack in which f was called from parent, making it if need be. Behind
// [MaxNodes] it returns parent itself: a stack that lacks its innermost frames.
func (t *Tree) Child(parent NodeID, f FrameID) NodeID {
	if len(t.parent) == 0 {
		t.parent, t.frame = make([]NodeID, 1, 64), make([]FrameID, 1, 64)
	}
	if 4*len(t.parent) >= 3*len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	at := hashNode(parent, f) & mask
	for t.slots[at] != 0 {
		if n := t.slots[at]; t.parent[n] == parent && t.frame[n] == f {
			return n
		}
		at = (at + 1) & mask
	}
	if len(t.parent) >= MaxNodes {
		return parent
	}
	n := NodeID(len(t.parent))
	t.parent, t.frame = append(t.parent, parent), append(t.frame, f)
	t.slots[at] = n
	return n
}

// Push is Child for a stack that t does not hold: it makes it without a search. Child and Find file what
// was pushed when they are called next.
//
// Precondition: Find(parent, f) finds nothing.
func (t *Tree) Push(parent NodeID, f FrameID) NodeID {
	if len(t.parent) == 0 {
		t.parent, t.frame = make([]NodeID, 1, 64), make([]FrameID, 1, 64)
	}
	if len(t.parent) >= MaxNodes {
		return parent
	}
	t.slots = nil
	t.parent, t.frame = append(t.parent, parent), append(t.frame, f)
	return NodeID(len(t.parent) - 1)
}

// Find returns the stack in which f was called from parent, if there is one.
func (t *Tree) Find(parent NodeID, f FrameID) (NodeID, bool) {
	if len(t.parent) < 2 {
		return 0, false
	}
	if len(t.slots) == 0 {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for at := hashNode(parent, f) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		if n := t.slots[at]; t.parent[n] == parent && t.frame[n] == f {
			return n, true
		}
	}
	return 0, false
}

// Grow makes room for n more nodes, but not for what Child and Find need to file them.
func (t *Tree) Grow(n int) {
	if len(t.parent) == 0 {
		t.parent, t.frame = make([]NodeID, 1, n+1), make([]FrameID, 1, n+1)
		return
	}
	t.parent, t.frame = slices.Grow(t.parent, n), slices.Grow(t.frame, n)
}

// Trim gives back the memory that only Child and Find need; they make it again when they are
// called.
func (t *Tree) Trim() {
	t.slots = nil
}

// grow makes a table of slots of which the nodes take at most half, and files them all.
func (t *Tree) grow() {
	size := 256
	for size < 2*len(t.parent) {
		size *= 2
	}
	t.slots = make([]NodeID, size)
	mask := uint64(len(t.slots) - 1)
	for n := 1; n < len(t.parent); n++ {
		at := hashNode(t.parent[n], t.frame[n]) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = NodeID(n)
	}
}

// hashNode mixes the bits of a pair so that each bit of the result depends on all.
// Source: the finalizer of MurmurHash3, 64 bits.
func hashNode(parent NodeID, f FrameID) uint64 {
	h := uint64(parent)<<32 | uint64(f)
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
