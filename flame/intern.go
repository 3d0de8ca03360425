package flame

import (
	"bytes"
	"hash/maphash"
)

// maxNames bounds the distinct names of one file: each becomes a frame of some 140 bytes.
const maxNames = 1 << 24

// interner numbers names from 0 in the order in which they are first met, without an
// allocation for each.
type interner struct {
	seed  maphash.Seed
	slots []uint32 // number + 1 by hash, open addressing, a power of two; 0 is free
	hash  []uint32 // by number: most of what differs differs here
	ends  []int    // by number: behind its last byte in text
	text  []byte   // all names in a row
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), slots: make([]uint32, 1024)}
}

// len is how many names there are.
func (t *interner) len() int { return len(t.ends) }

// size is how many bytes they have.
func (t *interner) size() int { return len(t.text) }

// name returns name i, part of t until the next call of number.
func (t *interner) name(i int) []byte {
	if i == 0 {
		return t.text[:t.ends[0]]
	}
	return t.text[t.ends[i-1]:t.ends[i]]
}

// number returns the number of name and whether it is new.
func (t *interner) number(name []byte) (number uint32, fresh bool) {
	h := uint32(maphash.Bytes(t.seed, name))
	mask := uint32(len(t.slots) - 1)
	at := h & mask
	for t.slots[at] != 0 {
		if i := t.slots[at] - 1; t.hash[i] == h && bytes.Equal(t.name(int(i)), name) {
			return i, false
		}
		at = (at + 1) & mask
	}
	t.text = append(t.text, name...)
	t.ends, t.hash = append(t.ends, len(t.text)), append(t.hash, h)
	t.slots[at] = uint32(len(t.ends))
	if 2*len(t.ends) >= len(t.slots) {
		t.grow()
	}
	return uint32(len(t.ends) - 1), true
}

func (t *interner) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint32(len(t.slots) - 1)
	for i, h := range t.hash {
		at := h & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(i + 1)
	}
}

// strings returns all names. They share one piece of memory.
func (t *interner) strings() []string {
	all := string(t.text)
	names := make([]string, len(t.ends))
	start := 0
	for i, end := range t.ends {
		names[i], start = all[start:end], end
	}
	return names
}
