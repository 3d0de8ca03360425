package coreclr

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// The garbage collector moves objects, and what is left of one where it was looks like it. Before it copies an object
// it has all that lives refer to where that goes, the object itself among it. So what lives and waits is referred to by
// what it waits for; what was left of it refers to that too, which leads to the other.
//
// Source: gc_heap::relocate_phase and compact_phase in src/coreclr/gc/gc.cpp of dotnet/runtime.

// searchAgain looks whether there are objects now that were not found: the collector has moved some, or others have
// begun to wait.
func (c *scan) searchAgain() {
	if c.r.searched.Replayed {
		return
	}
	c.Each(func(start mem.Addr, b []byte) bool {
		return c.words.In(b, func(i, number int) bool {
			if number%2 == 1 || len(b)-i < taskEnd || !c.machines[number/2].mayWait(b[i:]) {
				return true
			}
			if _, known := c.isBox[start+mem.Addr(i)]; !known || order.Uint64(b[i:])&marked != 0 {
				c.Change()
			}
			return true
		})
	})
}

// dropCopies leaves out what was left of boxes where they were. Of those whose awaited objects are of a class that is
// not known nothing says which they are: where copies are there they are left out too, and that is a problem.
func (c *scan) dropCopies() {
	at := map[mem.Addr]*box{}
	for i := range c.boxes {
		b := &c.boxes[i]
		at[b.at] = b
		if b.object != 0 {
			at[b.object] = b
		}
	}
	var lives, doubtful []box
	proved := c.proved(at)
	for i := range c.boxes {
		switch b := &c.boxes[i]; {
		case proved[b]:
			lives = append(lives, *b)
		case !b.leadsBack():
			doubtful = append(doubtful, *b)
		}
	}
	if len(lives)+len(doubtful) == len(c.boxes) { // there are no copies
		return
	}
	c.boxes, c.doubtful = lives, len(doubtful)
}

// leadsBack reports whether what b waits for would lead to b.
func (b *box) leadsBack() bool {
	return slices.ContainsFunc(b.classes, func(k *class) bool { return k.box || k.kind == taskClass })
}

// proved are the boxes of which what they wait for, or what waits for them, says the same as they do.
func (c *scan) proved(at map[mem.Addr]*box) map[*box]bool {
	is := make(map[*box]bool, len(c.boxes))
	for i := range c.boxes {
		b := &c.boxes[i]
		if c.letsGoOn(b.back, b.at) {
			is[b] = true
		}
		for _, o := range b.awaits {
			if x := at[o]; x != nil && c.letsGoOn(x.lets[:], b.at) {
				is[b], is[x] = true, true
			}
		}
	}
	return is
}
