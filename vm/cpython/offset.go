package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// offsetOf is how many bytes f is into the instructions of c.
func (r *Runtime) offsetOf(c *code, _ bool, f *object.Frame) int {
	return r.layout.Offset(f, c.addr+mem.Addr(r.layout.Code.Bytecode))
}

// maxOffsets bounds the offsets of one code object that are known by their Sites.
const maxOffsets = 1 << 14

// siteOf returns the Site of c at an offset. What reading its line table takes is taken from left, steps ([stepsOf]);
// where that is not enough it is the Site of its first line.
func (r *Runtime) siteOf(c *code, offset int, left *int) unwind.Site {
	if n, ok := c.sites[offset]; ok {
		return n
	}
	if *left -= stepsOf(len(c.table)); *left < 0 {
		return r.sites.of(spot{c.function, c.file, int(c.firstLine), 0})
	}
	place := r.layout.PlaceAt(c.table, offset, int(c.firstLine))
	n := r.sites.of(spot{c.function, c.file, place.Line, place.Column})
	if len(c.sites) < maxOffsets {
		c.sites[offset] = n
	}
	return n
}
