package coreclr

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/debuginfo"
)

// ilOffset sets where in the IL of m its NativeOffset belongs, by the debug information of c.
func (r *Runtime) ilOffset(m *Method, c *code, v mem.Reader) {
	if c.debug == 0 || c.class == DynamicMethod {
		return
	}
	if r.layout.noBounds {
		m.ILErr = fmt.Errorf("the form of debug information of version %v is not known", r.o.version)
		return
	}
	bounds, err := r.bounds(c.debug, v)
	if err != nil {
		m.ILErr = fmt.Errorf("read debug information: %w", err)
		return
	}
	m.IL, m.HasIL = debuginfo.At(bounds, m.NativeOffset)
}

// bounds reads the debug information at a.
func (r *Runtime) bounds(a mem.Addr, v mem.Reader) ([]debuginfo.Bound, error) {
	head := make([]byte, debuginfo.MaxHead)
	n, _ := v.ReadMem(head, a)
	size, err := debuginfo.Size(head[:n])
	if err != nil && n == len(head) { // what comes before the bounds is longer
		head = make([]byte, maxBefore)
		n, _ = v.ReadMem(head, a)
		size, err = debuginfo.Size(head[:n])
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := v.ReadMem(b, a); err != nil {
		return nil, err
	}
	encoding := debuginfo.Nibbles
	if r.layout.packedBounds {
		encoding = debuginfo.Packed
	}
	return debuginfo.Parse(b, encoding)
}

// maxBefore bounds what comes before the bounds: places to switch to optimized code, and what profilers get.
const maxBefore = 16 << 10
