//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// deepen enlarges the copy of a stack whose upper end is not known as far as saved frame
// pointers lead out of it. The bound is that of one stack; each round quadruples the copy.
func (s *stop) deepen(t *tracee) {
	for size := t.win.size; leadsOut(&t.regs, t.stack, t.win.top); {
		more := min(uint64(size)*3, uint64(t.win.top-t.stack.End()), uint64(max(0, min(s.windows.limit-size, s.windows.total))))
		if more == 0 || s.over() {
			t.stkErr = errStackTotal
			return
		}
		s.windows.total -= int(more)
		grown := make([]byte, size+int(more))
		copy(grown, t.stack.Data)
		n, _ := s.memory.read(grown[size:], t.stack.End())
		size += n
		t.stack.Data = grown[:size:size]
		if n < int(more) {
			return
		}
	}
}

// maxFrame bounds the size of a frame in a chain that enlarges a copy, bytes.
const maxFrame = 256 << 10

// leadsOut follows the chain of frame pointers, where [fp] is the caller's, and tells
// whether it leaves the copy at its upper end within the mapping. A register that is no
// frame pointer seldom gives a chain of three.
func leadsOut(r *regs.Registers, stack mem.Range, top mem.Addr) bool {
	a := r.Arch
	fp, ok := r.FP()
	if !ok || a != regs.AMD64 && a != regs.I386 && a != regs.ARM64 {
		return false
	}
	for links := 0; ; links++ { // ends: fp grows within the copy
		b, ok := stack.Bytes(fp, 2*a.WordSize)
		if !ok {
			return links >= 3 && fp < top && uint64(fp)%uint64(a.WordSize) == 0
		}
		next := mem.Addr(word(a, b))
		if next <= fp || next-fp > maxFrame {
			return false
		}
		fp = next
	}
}

func word(a *regs.Arch, b []byte) uint64 {
	if a.WordSize == 4 {
		return uint64(a.Order.Uint32(b))
	}
	return a.Order.Uint64(b)
}
