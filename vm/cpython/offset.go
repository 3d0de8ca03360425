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

// siteOf returns the Site of c at an offset.
func (r *Runtime) siteOf(c *code, offset int) unwind.Site {
	if n, ok := c.sites[offset]; ok {
		return n
	}
	place := r.layout.PlaceAt(c.table, offset, int(c.firstLine))
	n := r.sites.of(spot{c.function, c.file, place.Line, place.Column})
	c.sites[offset] = n
	return n
}
